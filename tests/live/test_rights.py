"""Rights in the sandbox: what workers and roles can do from inside, try by try.

The module modules/rights of this folder makes the tries."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import socket

import pytest

import weir as weir_py
from http_client import get
from module_tree import build_with
from weir import LANDLOCKS, SANITIZED, at_version, wait_for

EPERM, EACCES, DONE = "EPERM", "EACCES", "done"

# Who has no right at all, for example a worker without PostgreSQL.
NOTHING = {
    "read outside": EACCES,
    "write outside": EPERM,
    "truncate outside": EPERM,
    "make outside": EPERM,
    "write through a link": EPERM,
    "rename out": EPERM,
    "hard link": EPERM,
    "write inside": EPERM,
    "change a size": EPERM,
    "execute": EPERM,
    "execute memory": EPERM,
    "fork": EPERM,
    "ptrace a sibling": EPERM,
    "kill a sibling": EPERM,
    "limit a sibling": EPERM,
    "limit itself": EPERM,
    "connect": EPERM,
    "connect elsewhere": EPERM,
    "connect by sending": EPERM,
    "bind": EPERM,
    "listen": EPERM,
    "mount": EPERM,
    "unshare": EPERM,
    "keyctl": EPERM,
    "bpf": EPERM,
    "io_uring_setup": EPERM,
}

# What each right changes.
ROLES = {
    "bare": {},
    "writer": {
        "write outside": EACCES,
        "truncate outside": EACCES,
        "make outside": EACCES,
        "write through a link": EACCES,
        "rename out": (EACCES, "EXDEV"),
        "write inside": DONE,
        "change a size": DONE,
    },
    "forker": {"fork": DONE},
    "caller": {"connect": DONE, "connect elsewhere": EACCES},
    "dialler": {"connect": DONE, "connect elsewhere": DONE},
    "sizer": {"change a size": DONE},
}

# What Landlock holds alone, and the version that it needs.
HELD = {
    "read outside": 1, "write outside": 1, "make outside": 1,
    "write through a link": 1, "rename out": 1, "truncate outside": 3,
    "connect elsewhere": 4,
}


@pytest.fixture(scope="module")
def rights_binary(made_once):
    return made_once("with-rights",
                     lambda tree: build_with("rights", tree, LANDLOCKS))


def listener():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(64)
    return s


@pytest.fixture(params=LANDLOCKS)
def tried(request, rights_binary, weir, monkeypatch, tmp_path):
    """What came of each try, by who made it."""
    if SANITIZED:
        pytest.skip("sanitizers fork, trace and write, and Landlock is off")
    monkeypatch.setattr(weir_py, "BINARY",
                        at_version(rights_binary, request.param))
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
        os.chmod(tmp_path / name, 0o777)
        os.chmod(tmp_path / name / "file", 0o666)
    os.symlink(tmp_path / "other", tmp_path / "mine" / "out")
    with listener() as ours, listener() as other:
        w = weir(locations='{ path = "/rights"; module = "rights"; },',
                 top=f'rights = {{ mine = "{tmp_path}/mine"; '
                     f'other = "{tmp_path}/other"; '
                     f'port = {ours.getsockname()[1]}; '
                     f'other_port = {other.getsockname()[1]}; }};')
        for role in ROLES:
            wait_for(lambda role=role: f"{role} has tried all" in w.log(), 10,
                     f"the tries of {role}")
        assert get(w.http, "/rights").body == b"done"
        wait_for(lambda: "worker has tried all" in w.log(), 5)
    answers = {}
    for who, what, said in re.findall(r"(\w+) tried ([a-z_ ]+): (\w+)\n",
                                      w.log()):
        answers.setdefault(who, {})[what] = said
    w.told, w.landlock_told = answers, request.param
    return w


def landlock(w):
    """Its version, as weir says at its start."""
    found = re.search(r"files restricted \(Landlock (\d+)\)", w.log())
    return int(found.group(1)) if found else 0


def compare(told, expected, version):
    """What is not as it should be; and what nothing could refuse here."""
    wrong, not_run = {}, []
    for what, should in expected.items():
        if should != EPERM and should != DONE and HELD[what] > version:
            not_run.append(what)
        elif told.get(what) not in (should if isinstance(should, tuple)
                                    else (should,)):
            wrong[what] = told.get(what)
    return wrong, not_run


def test_each_try(tried):
    wrong, not_run = {}, {}
    for who, changes in {**ROLES, "worker": {}}.items():
        expected = {**NOTHING, **changes}
        if who == "worker":
            expected["read outside"] = EACCES
        bad, left = compare(tried.told[who], expected, landlock(tried))
        wrong.update({who: bad} if bad else {})
        not_run.update({who: left} if left else {})
    assert not wrong
    if tried.landlock_told:
        assert landlock(tried) <= tried.landlock_told
        came = tried.told["caller"]["connect elsewhere"]
        assert (came == DONE) == (landlock(tried) < HELD["connect elsewhere"])
    elif not_run:
        pytest.skip(f"Landlock {landlock(tried)} does not hold {not_run}")


def test_rights_are_told(tried):
    assert re.search(r"\[info\] \d+ rights: writes below \S+/mine\n",
                     tried.log())
    assert re.search(r"\[info\] \d+ rights: connects to ports \d+\n",
                     tried.log())
    assert "rights: forks\n" in tried.log()
    assert "rights: connects to any port\n" in tried.log()
    assert "rights: changes sizes of its files\n" in tried.log()
