"""What weir has started may nothing on the control socket.

The module modules/escape of this folder asks it to stop weir."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal

import pytest

import weir as weir_py
from control_client import Control
from http_client import get

# As the master's own user, whom the socket takes for an admin.  A worker that
# waits for an answer makes no turn of its loop.
TAKEN_OVER = ("sandbox = { seccomp = \"off\"; landlock = false; };"
              "watchdog = \"0\";" +
              ('user = "root";' if os.geteuid() == 0 else ""))


@pytest.fixture(scope="module")
def escape_binary(binary_with):
    return binary_with("escape")


@pytest.fixture
def escaping(escape_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", escape_binary)

    def start(top=""):
        w = weir(locations='{ path = "/escape"; module = "escape"; },',
                 top=TAKEN_OVER + top)
        w.may_grow = True
        return w
    return start


def refused(w):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(r'weir_control_refused_total\{reason="descendant"\} '
                         r"(\d+)", text)[1])


@pytest.mark.parametrize("generations", [0, 1])
def test_descendants_may_nothing(escaping, generations):
    """The one below a worker has a session of its own."""
    w = escaping()
    answer = get(w.http, f"/escape/{generations}").body.decode()
    assert answer.startswith("ERR denied "), answer
    assert answer.endswith("\n\n")
    w.wait_log(r"\[warn\] \d+ control: pid \d+ uid \d+ \(\S+, "
               r'"weir: worker 0"\) is refused: weir has started it')
    assert refused(w) == 1
    with Control(w) as c:  # this test has started weir
        assert c.ask("ping") == ["PONG"]
    assert w.process.poll() is None and "stopping" not in w.log()


def killed(w):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(r"weir_orphans_killed_total (\d+)", text)[1])


@pytest.mark.parametrize("generations", [2, 5])
def test_orphans_are_killed(escaping, generations):
    """Those that have lost their parents are the master's then; who is quick
    has asked before, and is refused."""
    w = escaping()
    for _ in range(3):
        answer = get(w.http, f"/escape/{generations}").body
        assert answer == b"" or answer.startswith(b"ERR denied "), answer
    weir_py.wait_for(lambda: not zombies(w), what="orphans that are reaped")
    assert w.process.poll() is None and "stopping" not in w.log()


def zombies(w):
    return [name for name in os.listdir("/proc") if name.isdigit() and
            re.search(rf"\) Z {w.master()} ",
                      weir_py.read_text(f"/proc/{name}/stat"))]


def hang(w, words):
    """Somebody below a worker who stays; its pid."""
    return int(get(w.http, f"/escape/hang?{words}").body)


def test_who_stays_is_killed_when_it_falls_to_the_master(escaping):
    """Its parent ends, or the worker; in either case it goes within a
    second or so, is named, and counted."""
    w = escaping()
    pid = hang(w, "orphan")
    weir_py.wait_for(lambda: not weir_py.stat_of(pid), what="its end")
    w.wait_log(rf'\[warn\] \d+ process {pid} "a\\x22b" of a process that '
               r"has ended is killed: it has lost its parent")
    weir_py.wait_for(lambda: killed(w) == 1, what="a count")
    worker = w.workers()[0]
    pid = hang(w, "child")
    os.kill(worker, signal.SIGKILL)
    weir_py.wait_for(lambda: not weir_py.stat_of(pid), what="its end")
    w.wait_log(rf'process {pid} "a\\x22b" of worker 0 is killed')


def test_daemon(escape_binary, tmp_path, monkeypatch):
    """The one that stays is who takes the orphans."""
    text = weir_py.configuration(
        locations='{ path = "/escape"; module = "escape"; },',
        log="run/error.log", top=TAKEN_OVER + "daemon = true;")
    weir_py.place(tmp_path, text)
    monkeypatch.setattr(weir_py, "BINARY", escape_binary)
    done = weir_py.run("-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert done.returncode == 0, done.stderr
    master = int(weir_py.read_text(f"{tmp_path}/run/weir.pid"))
    try:
        port = weir_py.wait_for(lambda: re.search(
            r"listening on http 127.0.0.1:(\d+)",
            weir_py.read_text(f"{tmp_path}/run/error.log")), what="a port")
        answer = get(int(port[1]), "/escape/2").body
        assert answer == b"" or answer.startswith(b"ERR denied ")
        assert weir_py.stat_of(master)
    finally:
        os.kill(master, signal.SIGTERM)
        weir_py.wait_for(lambda: not weir_py.stat_of(master), 15, "its end")
