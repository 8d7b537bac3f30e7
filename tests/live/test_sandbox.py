"""The sandbox of real workers, seen from outside."""
# SPDX-License-Identifier: BSD-2-Clause

import glob
import os
import pwd
import re

import pytest

from http_client import get
from weir import (AS_STARTED, SANITIZED, configuration, descendants, place,
                  read_text, run, wait_for)


def status(pid):
    return dict(re.findall(r"(\w+):\t(.*)", read_text(f"/proc/{pid}/status")))


def core_limit(pid):
    return re.search(r"Max core file size +(\S+) +(\S+)",
                     read_text(f"/proc/{pid}/limits")).groups()


def test_every_worker_has_given_up_what_it_can(weir):
    w = weir(workers=3)
    for pid in w.workers():
        s = status(pid)
        assert s["NoNewPrivs"] == "1" and s["Seccomp"] == "2"
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(s[name], 16) == 0, name
        if os.geteuid() == 0:
            assert int(s["CapBnd"], 16) == 0
            assert core_limit(pid) == ("0", "0")
    assert re.search(r"\[info\] \d+ sandbox: no new privileges, capabilities "
                     r"dropped, system calls filtered \(enforce\), files "
                     r"\w+", w.log())


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become "
                             "somebody else")


KEYS = '{ path = "/control"; module = "relay"; },'


def uids(w):
    return {status(pid)["Uid"] for pid in descendants(w.master())}


def our_user():
    """Who children of root's weir are, where nothing is said of it."""
    try:
        return pwd.getpwnam("weir")
    except KeyError:
        return pwd.getpwnam("nobody")


@AS_ROOT
def test_processes_are_not_roots(weir):
    """In a folder that is root's alone too, which they could not walk to."""
    w = weir(workers=2, locations=KEYS)
    assert w.stop() == 0
    os.chmod(os.path.dirname(w.prefix), 0o700)
    for name in glob.glob(f"{w.prefix}/run/weir.db*"):
        os.unlink(name)
    w.status = None
    w.start()
    user = our_user()
    assert uids(w) == {"\t".join([str(user.pw_uid)] * 4)}
    assert status(w.master())["Uid"].split()[0] == "0"
    assert len(re.findall(rf'\[notice\] \d+ workers run as user '
                          rf'"{user.pw_name}": root has started', w.log())) == 1
    with open(f"{w.prefix}/html/a", "w", encoding="ascii") as f:
        f.write("x")
    assert get(w.http, "/a").body == b"x"
    assert get(w.http, "/control/get?room=a").status == 200
    assert os.stat(f"{w.prefix}/run/weir.db").st_uid == user.pw_uid


@AS_ROOT
def test_what_root_kept_before_goes_to_the_user(weir):
    """An operator who leaves user = "root" keeps what is in the store."""
    w = weir(top='user = "root";', locations=KEYS)
    assert uids(w) == {"\t".join("0000")}
    assert re.search(r"\[warn\] \d+ workers run as root", w.log())
    key = get(w.http, "/control/get?room=a").body
    assert w.stop() == 0
    w.set_config(locations=KEYS)
    w.start()
    w.status = None
    assert get(w.http, "/control/get?room=a").body == key
    assert os.stat(f"{w.prefix}/run/weir.db").st_uid == our_user().pw_uid


@AS_ROOT
def test_a_root_that_the_user_may_not_enter(weir, tmp_path):
    os.mkdir(f"{tmp_path}/closed", 0o700)
    place(tmp_path, configuration(locations='{ path = "/x"; module = '
                                  '"static"; root = "closed"; },'))
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 2
    assert (f'user "{our_user().pw_name}" cannot enter root "closed": '
            "Permission denied") in done.stderr


def test_threads_of_a_worker_are_inside_too(weir):
    """They are made by the first file that is not in memory."""
    w = weir()
    path = f"{w.prefix}/html/big"
    with open(path, "wb") as f:
        f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    pid = w.workers()[0]
    assert len(get(w.http, "/big").body) == 1 << 20
    for tid in os.listdir(f"/proc/{pid}/task"):
        s = status(f"{pid}/task/{tid}")
        assert s["NoNewPrivs"] == "1" and s["Seccomp"] == "2"
        assert int(s["CapEff"], 16) == 0


def test_the_master_is_as_it_was(weir):
    w = weir()
    assert status(w.master())["Seccomp"] == "0"


@pytest.mark.parametrize("setting, key, value", [
    ('seccomp = "off"', "Seccomp", "0"), ('seccomp = "log"', "Seccomp", "2"),
])
def test_seccomp_setting(weir, setting, key, value):
    w = weir(top=f"sandbox = {{ {setting}; }};")
    assert status(w.workers()[0])[key] == value
    assert get(w.http, "/healthz").status == 200


def test_capabilities_can_be_kept(weir):
    if os.geteuid() != 0:
        pytest.skip("who is not root has none")
    w = weir(top="sandbox = { capabilities = false; };" + AS_STARTED)
    assert int(status(w.workers()[0])["CapEff"], 16) != 0


def test_core_dumps_can_be_had(weir):
    w = weir(top="sandbox = { core_dumps = true; };")
    assert core_limit(w.workers()[0]) == core_limit("self")


def test_a_reload_changes_the_sandbox(weir):
    w = weir()
    w.set_config(top='sandbox = { seccomp = "off"; };')
    w.reload()
    w.may_grow = True
    wait_for(lambda: len(w.workers()) == 1 and
             status(w.workers()[0])["Seccomp"] == "0", 5)


def test_roots_are_readable_and_nothing_else(weir, tmp_path):
    """What leads out of a root is not followed, whoever checks it first."""
    for name in ("second", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    w = weir(locations=f'{{ path = "/second"; module = "static"; '
                       f'root = "{tmp_path}/second"; }},')
    os.symlink(tmp_path / "secret", f"{w.prefix}/html/out")
    os.symlink(tmp_path / "secret" / "file", tmp_path / "second" / "link")
    assert get(w.http, "/second/file").body == b"second"
    assert get(w.http, "/out/file").status in (403, 404)
    assert get(w.http, "/second/link").status in (403, 404)


@pytest.mark.skipif(SANITIZED, reason="files are not restricted there")
def test_what_is_in_force_is_told_once(weir):
    w = weir(workers=2)
    assert len(re.findall("sandbox: no new privileges", w.log())) == 1


def test_what_does_not_hold_is_told(weir, landlock_told):
    """One line has all: files, their sizes, ports, abstract sockets."""
    w = weir()
    found = re.search(r"files restricted \(Landlock (\d+)\)", w.log())
    version = int(found.group(1)) if found else 0
    assert version <= (landlock_told or version)
    told = re.findall(r"\[notice\] \d+ sandbox: (?:this kernel|a build with "
                      r"sanitizers) does not hold: (.*)", w.log())
    lacks = [part in "".join(told) for part in (
        "files that processes use", "sizes of files",
        "ports that processes connect to", "abstract unix sockets")]
    assert lacks == [version < needed for needed in (1, 3, 4, 6)]
    assert len(told) <= 1


def test_what_is_off_is_not_told_as_lacking(weir):
    w = weir(top="sandbox = { landlock = false; };")
    assert "files not restricted" in w.log()
    assert "files that processes use" not in w.log()
