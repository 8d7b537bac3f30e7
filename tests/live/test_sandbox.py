"""The sandbox of real workers, seen from outside."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import resource

import pytest

from http_client import get
from weir import SANITIZED, read_text, wait_for


def status(pid):
    return dict(re.findall(r"(\w+):\t(.*)", read_text(f"/proc/{pid}/status")))


def test_every_worker_has_given_up_what_it_can(weir):
    w = weir(workers=3)
    for pid in w.workers():
        s = status(pid)
        assert s["NoNewPrivs"] == "1" and s["Seccomp"] == "2"
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(s[name], 16) == 0, name
        if os.geteuid() == 0:
            assert int(s["CapBnd"], 16) == 0
            assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
    assert re.search(r"\[info\] \d+ sandbox: no new privileges, capabilities "
                     r"dropped, system calls filtered \(enforce\), files "
                     r"\w+", w.log())


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
    w = weir(top="sandbox = { capabilities = false; };")
    assert int(status(w.workers()[0])["CapEff"], 16) != 0


def test_core_dumps_can_be_had(weir):
    w = weir(top="sandbox = { core_dumps = true; };")
    mine = resource.getrlimit(resource.RLIMIT_CORE)
    assert resource.prlimit(w.workers()[0], resource.RLIMIT_CORE) == mine


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
    assert len(re.findall("sandbox:", w.log())) == 1
