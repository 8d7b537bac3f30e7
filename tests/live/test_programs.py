"""Programs of a role: who they are, what they cannot do, and that they end
with whatever ends.

The role is that of modules/runner of this folder."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import sys

import pytest

import weir as weir_py
from cgroup_help import cgroup_of, own_cgroup
from test_rights import landlock
from weir import SANITIZED, open_way, read_text, stat_of, title, wait_for

ROOT = os.geteuid() == 0
HOLDS_FILES, HOLDS_SIGNALS = 1, 6  # versions of Landlock
PYTHON = os.path.realpath(sys.executable)
DIES = r"runner \(pid \d+\) (ended with status 1|was ended by signal 9)"


@pytest.fixture(scope="module")
def runner_binary(binary_with):
    return binary_with("runner")


@pytest.fixture
def runner(runner_binary, weir, monkeypatch, tmp_path):
    """A weir whose role runs that script."""
    monkeypatch.setattr(weir_py, "BINARY", runner_binary)

    def start(script, row="", **parts):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        os.chmod(folder, 0o777)
        open_way(str(folder))
        path = tmp_path / "script"
        path.write_text(script)
        return weir(top=f'runner = {{ script = "{path}"; python = "{PYTHON}"; '
                         f'folder = "{folder}"; }};' + row, **parts)
    return start


def said(w, pattern, count=1):
    return w.wait_log("runner: " + pattern, count=count)


def test_a_role_without_programs_has_no_starter(runner_binary, weir,
                                                monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", runner_binary)
    w = weir()
    said(w, "no starter")
    assert "programs of roles" not in w.log()


@pytest.mark.parametrize("ends, status", [("exit 0", 0), ("exit 7", 7 << 8),
                                          ("kill -TERM $$", 15)])
def test_its_output_and_how_it_ended(runner, ends, status):
    w = runner(f"echo it runs in $PWD; {ends}")
    said(w, r"it runs in \S+/mine\n")
    said(w, rf"ended with {status} \n")


def test_what_it_starts_is_killed_with_it(runner):
    w = runner("sleep 1000 & sleep 1000 & echo pids $$ $!; echo kill me; wait")
    m = said(w, r"pids (\d+) (\d+)\n")
    said(w, "ended with 9")
    wait_for(lambda: not stat_of(m[1]) and not stat_of(m[2]), 2, "their end")


# The filter lets nobody leave the session.
FREE = 'sandbox = { seccomp = "off"; };'
DAEMONS = """
setsid sleep 1000 & one=$!
setsid sh -c 'sh -c "setsid sleep 1000 & echo two \\$!" & wait' &
echo one $one
sleep %s
"""


def strays(w):
    return [int(said(w, rf"{name} (\d+)\n")[1]) for name in ("one", "two")]


def test_daemons_go_when_their_program_has_ended(runner):
    w = runner(DAEMONS % "0.2", FREE)
    pids = strays(w)
    said(w, "ended with 0")
    wait_for(lambda: not any(map(stat_of, pids)), 2, "their end")


def test_nobody_leaves_the_session(runner):
    w = runner("setsid sleep 1000; echo left $?")
    said(w, r"left 1\n")


# ---- whatever ends, all ends ----

def family(w, count=1):
    """The shell, their starter, and the role."""
    m = said(w, r"shell (\d+) (\d+)\n", count)
    shell, starter = int(m[1]), int(m[2])
    return shell, starter, stat_of(starter)[0]


@pytest.mark.parametrize("victim", ["starter", "role", "master"])
def test_all_end_when_one_is_killed(runner, victim):
    w = runner(DAEMONS % 0 + "echo shell $$ $PPID; sleep 1000", FREE)
    w.allowed.append(DIES)
    pids = strays(w)
    shell, starter, role = family(w)
    assert title(starter) == "weir starter: runner"
    assert title(role) == "weir: runner"
    os.kill({"starter": starter, "role": role, "master": w.pid}[victim],
            signal.SIGKILL)
    wait_for(lambda: not any(map(stat_of, pids + [shell, starter])), 3,
             "the end of all")
    if victim == "master":
        w.wait_exit()
        w.status = 0
    else:
        family(w, count=2)
    if victim == "starter":
        w.wait_log("the starter of this role's programs has ended")
        w.wait_log(r"runner \(pid \d+\) ended with status 1")


def test_a_stop_ends_them(runner):
    w = runner("echo shell $$ $PPID; trap '' TERM; sleep 1000")
    shell, starter, _ = family(w)
    w.stop()
    assert not stat_of(shell) and not stat_of(starter)


# ---- cgroups ----

def wait_gone(folder):
    """Another weir that starts or ends may be the one that removes it."""
    wait_for(lambda: not os.path.exists(folder), 5, f"no {folder}")


WITHOUT = "runs are not in cgroups of their own: ."


def test_a_run_has_a_cgroup_of_its_own(runner):
    above = own_cgroup()
    w = runner(DAEMONS % 0 + "echo shell $$ $PPID; sleep 1000", FREE)
    pids = strays(w)
    shell, starter, role = family(w)
    if above is None:
        w.wait_log(WITHOUT)
        return
    assert cgroup_of(shell).endswith(f"/weir.{role}/1")
    assert cgroup_of(starter) == cgroup_of(w.pid)
    assert all(cgroup_of(p) == cgroup_of(shell) for p in pids if stat_of(p))
    assert os.listdir(f"{above}/weir.{role}")
    assert not re.search(WITHOUT, w.log())
    w.stop()
    wait_gone(f"{above}/weir.{role}")


@pytest.mark.parametrize("victim", ["starter", "role", "master"])
def test_no_cgroup_is_left_when_one_is_killed(runner, victim):
    w = runner("echo shell $$ $PPID; sleep 1000")
    w.allowed.append(DIES)
    shell, starter, role = family(w)
    above = own_cgroup()
    if above is None:
        w.wait_log(WITHOUT)
        return
    folder = f"{above}/weir.{role}"
    assert os.path.exists(folder)
    os.kill({"starter": starter, "role": role, "master": w.pid}[victim],
            signal.SIGKILL)
    wait_for(lambda: not any(map(stat_of, [shell, starter])), 5, "their end")
    if victim == "master":
        w.wait_exit()
        w.start()
    if victim == "role":  # its starter may have it while the next begins
        family(w, count=2)
    else:
        wait_gone(folder)
    w.stop()
    wait_gone(folder)


# ---- who they are, and what they cannot do ----

@pytest.mark.skipif(not ROOT, reason="one user has no others")
@pytest.mark.parametrize("row, uid", [("", None),
                                      ('program_user = "54321";', 54321)])
def test_they_have_a_user_of_their_own(runner, row, uid):
    w = runner("echo ids $(id -u) $(id -g) $(id -G)", row)
    m = said(w, r"ids (\d+) (\d+) (.*)\n")
    assert m[1] != "0" and m[2] == m[3] != "0"
    worker = os.stat(f"/proc/{w.workers()[0]}/stat").st_uid
    assert int(m[1]) == uid if uid else int(m[1]) != worker
    told = re.findall(r"\[notice\] \d+ programs of roles run as user (\d+)",
                      w.log())
    assert told == [m[1]]


TRIES = r"""
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
mine, starter = sys.argv[1], int(sys.argv[2])
role, worker = map(int, sys.argv[3:5])

def call(f, *a):
    if f(*a) == -1:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))

def attempt(what, f, *a):
    try:
        f(*a)
        came = "done"
    except OSError as e:
        came = errno.errorcode[e.errno]
    print("tried", what + ":", came, flush=True)

def fork(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise OSError(status, "")

attempt("write inside", lambda: open(mine + "/new", "w").write("x"))
attempt("write outside", lambda: open(mine + "/../outside", "w"))
attempt("read outside", lambda: open("/etc/hostname"))
attempt("read a process", lambda: open(f"/proc/{starter}/status"))
attempt("execute", fork, lambda: os.execv("/usr/bin/env", ["env"]))
attempt("execute its own", fork,
        lambda: (open(mine + "/p", "w").write("#!/bin/sh\n"),
                 os.chmod(os.open(mine + "/p", 0), 0o755), os.execv(mine + "/p", ["p"])))
attempt("change a mode", os.chmod, mine + "/p", 0o700)
attempt("mount", call, libc.mount, b"none", b"/", b"tmpfs", 0, None)
attempt("unshare", call, libc.unshare, 0x10000000)
for who, pid in ("starter", starter), ("role", role), ("worker", worker):
    attempt(f"kill the {who}", os.kill, pid, 0)
    attempt(f"trace the {who}", call, libc.ptrace, 0x4206, pid, 0, 0)
for path in sys.argv[5:]:
    attempt("read " + os.path.basename(path), open, path)
print("tried all", flush=True)
"""


def tried(runner, tmp_path, row=""):
    """What came of each."""
    secret = tmp_path / "secret.key"
    secret.write_text("s3cret")
    os.chmod(secret, 0o600)
    tries = tmp_path / "mine" / "tries.py"
    tries.parent.mkdir()
    tries.write_text(TRIES)
    files = [f"{tmp_path}/weir0/run/weir.db", str(secret)]
    w = runner('echo shell $$ $PPID\n'
               'until test -e "$2"/go; do sleep 0.05; done\n'
               f'$1 -I -S "$2"/tries.py "$2" $PPID $(cat "$2"/go) '
               f'{" ".join(files)}', row,
               apps=',{ name = "keys"; publish = "key"; }')
    (tmp_path / "mine" / "going").write_text(
        f"{family(w)[2]} {w.workers()[0]}")
    os.rename(tmp_path / "mine" / "going", tmp_path / "mine" / "go")
    said(w, "tried all")
    assert all(map(os.path.exists, files))
    return w, dict(re.findall(r"runner: tried ([^:\n]+): (\w+)", w.log()))


@pytest.mark.skipif(SANITIZED, reason="the sandbox of that build is wide")
def test_they_are_in_a_sandbox(runner, tmp_path):
    w, came = tried(runner, tmp_path)
    if landlock(w) < HOLDS_FILES or (landlock(w) < HOLDS_SIGNALS and not ROOT):
        pytest.skip(f"Landlock {landlock(w)} does not hold all of it")
    assert came.pop("write inside") == "done"
    assert len(came) == 16
    for what, how in came.items():
        unknown = what in ("mount", "unshare") or what.startswith("trace")
        assert how in (("ENOSYS",) if unknown else ("EPERM", "EACCES")), what


@pytest.mark.skipif(not ROOT, reason="one user has no others")
def test_their_user_alone_keeps_them_from_weir(runner, tmp_path):
    _, came = tried(runner, tmp_path,
                    'sandbox = { landlock = false; seccomp = "off"; };')
    assert came["execute"] == "done", "there is no sandbox"
    for what in ("kill the starter", "kill the role", "kill the worker",
                 "trace the starter", "trace the role", "trace the worker",
                 "read weir.db", "read secret.key"):
        assert came[what] in ("EPERM", "EACCES"), what


# ---- program_user ----

@pytest.mark.skipif(not ROOT, reason="it counts where root starts weir")
@pytest.mark.parametrize("value, why", [
    ("root", "program_user is root"),
    ("no-such-user", 'no user "no-such-user"'),
    ("nobody", "has to be another than user"),
])
def test_a_program_user_that_is_refused(tmp_path, value, why):
    folder = tmp_path / "w"
    folder.mkdir()
    text = weir_py.configuration(
        top=f'user = "nobody"; program_user = "{value}";')
    weir_py.place(str(folder), text)
    told = weir_py.run("-t", "-c", f"{folder}/weir.conf", "-p", str(folder))
    assert told.returncode != 0
    assert why in told.stdout + told.stderr
