"""Programs around a run: what an engine may do, and that nothing of it is
left, whatever ends.

The engine is a script of each test."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal

import pytest

from downloads_help import downloads, media  # noqa: F401: fixtures
from test_rights import landlock
from weir import SANITIZED, open_way, read_text, stat_of, wait_for

ROOT = os.geteuid() == 0
URL = "http://127.0.0.1/film"
DIES = r"fetcher \(pid \d+\) (ended with status 1|was ended by signal 9)"
HOLDS_SIGNALS = 6  # the version of Landlock that holds all of it

ENGINE = r"""#!%s
import json, os, sys
url = sys.argv[-1]
if "--version" in sys.argv:
    print("1.0")
    sys.exit()
if "--dump-single-json" in sys.argv:
    print(json.dumps({"id": "film", "title": "film", "ext": "txt", "url": url,
                      "webpage_url": url}))
    sys.exit()
%s
"""


@pytest.fixture
def engine(downloads, tmp_path):  # noqa: F811
    """A weir whose engine downloads by that piece of Python."""
    def start(script, interpreter="/usr/bin/python3", settings="", **more):
        path = tmp_path / "engine"
        path.write_text(ENGINE % (interpreter, script))
        path.chmod(0o755)
        open_way(str(tmp_path))
        return downloads(f'engine_path = "{path}"; {settings}', **more)
    return start


def result(d):
    """What the engine has written, when it has ended."""
    d.added(URL)
    return d.file(d.wait_done(URL)).body.decode()


# ---- interpreters ----

SAYS_HELLO = """
open("media.txt", "w").write("hello")
print("F|media.txt")
"""


@pytest.mark.parametrize("interpreter", [
    "/usr/bin/python3", " /usr/bin/python3 -I", "/usr/bin/env python3",
    "/usr/bin/env -S python3 -I"])
def test_interpreters(engine, interpreter):
    assert result(engine(SAYS_HELLO, interpreter)) == "hello"


def test_a_python_of_its_own(engine, tmp_path):
    """Elsewhere than below /usr: what is beside it may be read."""
    version = os.path.basename(os.path.realpath("/usr/bin/python3"))
    library = tmp_path / f"own/lib/{version}/site-packages"
    library.mkdir(parents=True)
    (library / "greeting.py").write_text('text = "hello"')
    (tmp_path / "own/bin").mkdir()
    (tmp_path / "own/bin/python3").symlink_to("/usr/bin/python3")
    (tmp_path / "own/pyvenv.cfg").write_text("home = /usr/bin\n")
    open_way(str(tmp_path / "own"))
    d = engine('import greeting\nopen("media.txt", "w").write(greeting.text)\n'
               'print("F|media.txt")', f"{tmp_path}/own/bin/python3")
    assert result(d) == "hello"


# ---- installed anew ----

def install(path, text):
    """As packages do it: a new file takes the name."""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as f:
        f.write(ENGINE % ("/usr/bin/python3", SAYS_HELLO.replace(
            "hello", text)))
    os.chmod(new, 0o755)
    os.rename(new, path)


def again(d, n):
    d.added(f"{URL}{n}")
    return d.file(d.wait_done(f"{URL}{n}")).body.decode()


def test_an_engine_that_is_installed_anew(engine, tmp_path):
    d = engine(SAYS_HELLO)
    assert again(d, 1) == "hello"
    install(tmp_path / "engine", "newer")
    assert again(d, 2) == "newer"


def test_one_behind_a_link_that_is_installed_anew(downloads, tmp_path):  # noqa: F811
    (tmp_path / "bin").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "bin/engine").symlink_to(tmp_path / "own/engine")
    install(tmp_path / "own/engine", "hello")
    open_way(str(tmp_path / "own"))
    d = downloads(f'engine_path = "{tmp_path}/bin/engine";')
    assert again(d, 1) == "hello"
    install(tmp_path / "own/engine", "newer")
    assert again(d, 2) == "newer"


def test_one_that_was_not_there(downloads, tmp_path):  # noqa: F811
    """Until then another takes its place (test_downloads_direct.py)."""
    open_way(str(tmp_path))
    d = downloads(f'engine_path = "{tmp_path}/engine";')
    assert "engine_error" in d.get("version").json()
    install(tmp_path / "engine", "hello")
    assert again(d, 1) == "hello"
    wait_for(lambda: d.get("version").json()["engine"] == "1.0", 10,
             "its version")
    assert "engine_error" not in d.get("version").json()


# ---- whatever ends, all ends ----

HIDES = """
import signal, time
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setpgid(0, 0)
        open("hidden", "w")
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(%s)
open("media.txt", "w").write("hello")
print("F|media.txt")
"""


def family(d):
    """The supervisor, the engine, and the process that hides."""
    return wait_for(lambda: len(p := d.processes("engine")) == 3 and p, 10,
                    "three processes")


def wait_gone(pids):
    wait_for(lambda: not any(map(stat_of, pids)), 5, "their end")


def test_what_hides_ends_with_its_run(engine):
    d = engine(HIDES % 1)
    d.added(URL)
    pids = family(d)
    d.wait_done(URL)
    assert not any(map(stat_of, pids))


def test_what_hides_ends_with_a_cancelled_run(engine):
    d = engine(HIDES % 1000)
    with d.listen() as ears:
        d.added(URL)
        pids = family(d)
        d.delete(URL)
        ears.wait_for("canceled", URL)
        assert not any(map(stat_of, pids))
    assert d.run_folders() == []


def test_what_hides_ends_when_its_supervisor_was_killed_and_it_is_cancelled(
        engine):
    """Whichever of the two the fetcher sees first."""
    d = engine(HIDES % 1000)
    d.added(URL)
    pids = family(d)
    os.kill(d.processes("weir-supervisor")[0], signal.SIGKILL)
    d.delete(URL)
    wait_gone(pids)
    wait_for(lambda: d.run_folders() == [], 5, "no folder of a run")


@pytest.mark.parametrize("victim", ["weir-supervisor", "weir starter: fetcher",
                                    "weir: fetcher", "weir: master"])
def test_all_end_when_one_is_killed(engine, victim):
    d = engine(HIDES % 1000)
    d.weir.allowed.append(DIES)
    d.added(URL)
    pids = family(d)
    os.kill(d.weir.pid if victim == "weir: master" else
            d.processes(victim)[0], signal.SIGKILL)
    wait_gone(pids)
    if victim == "weir: master":
        d.weir.wait_exit()
        d.weir.status = 0


# ---- what an engine cannot do ----

TRIES = r"""
import ctypes, errno, re, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
out = open("media.txt", "w")
directory, outside = %r, %r

def attempt(what, f, *a):
    try:
        f(*a)
        came = "done"
    except OSError as e:
        came = errno.errorcode[e.errno]
    print(what + ":", came, file=out)

def call(f, *a):
    if f(*a) == -1:
        raise OSError(ctypes.get_errno(), "")

def execute(path):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(path, [path])
        except OSError as e:
            os._exit(e.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise OSError(status, "")

def connect(port, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.connect(("127.0.0.1", port))

def unix():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(outside + "/nobody.sock")

proxy = int(re.search(r":(\d+)$", os.environ["http_proxy"])[1])
attempt("write", open, "new", "w")
attempt("rename", os.rename, "new", "newer")
attempt("remove", os.remove, "newer")
attempt("write beside", open, directory + "/stolen", "w")
attempt("write outside", open, outside + "/stolen", "w")
attempt("write in /tmp", open, "/tmp/stolen", "w")
attempt("a folder", os.mkdir, "folder")
attempt("a link", os.symlink, "/etc/passwd", "link")
attempt("read a secret", open, outside + "/secret")
attempt("read /etc/passwd", open, "/etc/passwd")
attempt("a shell", execute, "/bin/sh")
attempt("kill the supervisor's parent", os.kill, %s, 0)
attempt("the proxy", connect, proxy)
attempt("another port", connect, %s)
attempt("datagrams", connect, proxy, socket.SOCK_DGRAM)
attempt("a local socket", unix)
attempt("unshare", call, libc.unshare, 0x10000000)
print("ignores:", [s.name for s in signal.valid_signals()
      if isinstance(s, signal.Signals) and s not in (signal.SIGPIPE,
          signal.SIGXFSZ) and signal.getsignal(s) == signal.SIG_IGN], file=out)
print("knows:", *sorted(os.environ), file=out)
print("at home:", os.environ["HOME"], os.environ["TMPDIR"], file=out)
out.close()
print("F|media.txt")
"""

EXPECTED = {
    "write": "done", "rename": "done", "remove": "done",
    "write beside": "EACCES", "write outside": "EACCES",
    "write in /tmp": "EACCES", "a folder": "EACCES", "a link": "EACCES",
    "read a secret": "EACCES", "read /etc/passwd": "EACCES",
    "a shell": "EACCES", "kill the supervisor's parent": "EPERM",
    "the proxy": "done", "another port": "EACCES", "datagrams": "EACCES",
    "a local socket": "EACCES", "unshare": "ENOSYS", "ignores": "[]",
    "at home": ". .",
}
KNOWS = {"HOME", "LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE",
         "TMPDIR"}  # and its proxies


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
@pytest.mark.usefixtures("landlock_told")
def test_what_an_engine_cannot_do(engine, media, tmp_path):  # noqa: F811
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("s3cret")
    folder.chmod(0o777)
    open_way(str(folder))
    d = engine("")
    starter = d.processes("weir starter: fetcher")[0]
    script = TRIES % (os.path.abspath(d.directory), str(folder), starter,
                      media.port)
    (tmp_path / "engine").write_text(ENGINE % ("/usr/bin/python3", script))
    said = dict(line.split(": ", 1) if ": " in line else (line, "")
                for line in result(d).splitlines())
    knows = set(said.pop("knows").split())
    expected = dict(EXPECTED)
    if landlock(d.weir) < HOLDS_SIGNALS and not ROOT:
        del expected["kill the supervisor's parent"]
    assert {k: v for k, v in said.items() if k in expected} == expected
    assert {k for k in knows if not k.lower().endswith("_proxy")} == KNOWS
    assert not os.path.exists("/tmp/stolen")


@pytest.mark.skipif(not ROOT, reason="one user has no others")
def test_its_user_is_another(engine):
    d = engine('open("media.txt", "w").write(f"{os.getuid()} {os.getgid()}")'
               '\nprint("F|media.txt")')
    uid, gid = map(int, result(d).split())
    worker = int(re.search(r"Uid:\s+(\d+)", read_text(
        f"/proc/{d.weir.workers()[0]}/status"))[1])
    assert uid not in (0, worker) and gid != 0
    made = os.stat(f"{d.directory}/.weir")
    assert made.st_uid == worker and made.st_mode & 0o077 == 0
