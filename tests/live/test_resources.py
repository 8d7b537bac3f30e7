"""Descriptors, limits, full disks: what weir is started with, what its
processes hold, and what they do when something runs out."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import re
import signal
import subprocess
import time

import pytest

from feed import Feed, read_until
from http_client import get
from patience import busy
from rtmp_client import player
from weir import (BINARY, SANITIZED, configuration, descendants, descriptors,
                  free_port, place, read_text, wait_for)


def start_by_shell(folder, text, before="", after=""):
    """weir as a shell starts it; its pid is the process's."""
    place(folder, text)
    return subprocess.Popen(
        f"{before} exec {BINARY} -c weir.conf {after}", shell=True,
        cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True)


def wait_ready(folder, p):
    def ready():
        assert p.poll() is None, f"exit status {p.returncode}"
        return " ready: " in read_text(f"{folder}/run/error.log")
    wait_for(ready, 20, "ready")


@pytest.mark.parametrize("closed", ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_descriptors(tmp_path, closed):
    """Log lines for standard error go nowhere, and not to the pid file or
    whatever else is opened first."""
    p = start_by_shell(tmp_path, configuration(), after=closed)
    try:
        pid = tmp_path / "run/weir.pid"
        wait_for(lambda: read_text(pid) and p.poll() is None, 10)
        old = wait_for(lambda: set(descendants(p.pid)), what="workers")
        p.send_signal(signal.SIGHUP)  # is said in the log
        wait_for(lambda: descendants(p.pid) and
                 not old & set(descendants(p.pid)), what="other workers")
        assert read_text(pid) == f"{p.pid}\n"
        held = descriptors(p.pid)
        assert all(held[str(n)] == "/dev/null"
                   for n in range(3) if f"{n}>&-" in closed
                   or f"{n}<&-" in closed), held
    finally:
        p.terminate()
    assert p.wait(busy(15)) == 0


def test_signal_as_soon_as_the_pid_file_is_there(tmp_path):
    place(tmp_path, configuration(workers=2, log="run/error.log"))
    pid = tmp_path / "run/weir.pid"
    for _ in range(20):
        p = subprocess.Popen([BINARY, "-c", "weir.conf"], cwd=tmp_path)
        while read_text(pid) != f"{p.pid}\n":
            assert p.poll() is None
        p.send_signal(signal.SIGUSR1)
        p.send_signal(signal.SIGTERM)
        assert p.wait(busy(15)) == 0


def test_daemon_with_closed_standard_descriptors(tmp_path):
    p = start_by_shell(
        tmp_path, configuration(top="daemon = true;", log="run/error.log"),
        after="0<&- 1>&- 2>&-")
    assert p.wait(busy(15)) == 0
    os.kill(int(read_text(tmp_path / "run/weir.pid")), signal.SIGTERM)
    wait_for(lambda: " stopped" in read_text(tmp_path / "run/error.log"), 15)


def test_workers_hold_nothing_of_the_masters(weir):
    w = weir(workers=2, log="run/error.log")
    for pid in w.workers():
        held = list(descriptors(pid).values())
        assert not [name for name in held if name.endswith(
            ("weir.pid", "error.log", "access.log"))], held
        assert len([name for name in held if "signalfd" in name]) == 1
        assert len([name for name in held if "eventpoll" in name]) == 1


@pytest.mark.parametrize("workers, top", [
    (64, "worker_connections = 100;"),
    (2, "worker_connections = 10; worker_rlimit_nofile = 50;")])
def test_limit_of_files_leaves_room_for_weir_itself(tmp_path, workers, top):
    if SANITIZED and workers > 8:
        return  # 64 processes of that kind are too much for a test
    p = start_by_shell(
        tmp_path,
        configuration(workers=workers, top=top, log="run/error.log"),
        before="ulimit -S -n 1024;")
    try:
        wait_ready(tmp_path, p)
    finally:
        p.terminate()
    assert p.wait(busy(15)) == 0


def touched(pid):
    """Bytes of shared memory that a process has looked at."""
    found = re.search(r"RssShmem:\s+(\d+) kB", read_text(f"/proc/{pid}/status"))
    return int(found[1]) << 10


def test_size_of_the_session_table_costs_nothing_when_workers_end(weir):
    w = weir(workers=2, live="max_sessions = 10000000;")
    before = touched(w.pid)
    os.kill(w.workers()[0], signal.SIGKILL)
    wait_for(lambda: "signal 9" in w.log() and len(w.workers()) == 2, 10)
    assert touched(w.pid) - before < 16 << 20
    w.may_grow = True
    assert w.stop(signal.SIGTERM) == 0


def test_error_log_on_a_full_disk(tmp_path):
    port = free_port()
    place(tmp_path, configuration(log="/dev/full",
                                  http_listen=f'"127.0.0.1:{port}"'))
    p = subprocess.Popen([BINARY, "-c", "weir.conf"], cwd=tmp_path)
    try:
        def healthy():
            try:
                return get(port, "/healthz").status == 200
            except OSError:
                return False
        wait_for(healthy, 10, "an answer")
    finally:
        p.terminate()
    assert p.wait(busy(15)) == 0


def test_access_log_on_a_full_disk_is_said_once(weir):
    w = weir(http='access_log_format = "json";', text=configuration()
             .replace("run/access.log", "/dev/full"))
    get(w.http, "/healthz")
    w.wait_log("cannot write log file /dev/full: No space left on device")
    for _ in range(15):
        assert get(w.http, "/healthz").status == 200
        time.sleep(0.1)
    assert w.log().count("/dev/full") == 1


def test_stalled_pipe_as_error_log_holds_up_nobody(tmp_path):
    """1 MB of lines for a reader that does not read."""
    place(tmp_path, configuration())
    out, into = os.pipe()
    p = subprocess.Popen([BINARY, "-c", "weir.conf"], cwd=tmp_path,
                         stderr=into)
    os.close(into)
    try:
        head = b""
        while b"ready: " not in head:
            head += os.read(out, 4096)
        port = int(head.split(b"listening on http 127.0.0.1:")[1].split()[0])
        for _ in range(5000):
            p.send_signal(signal.SIGHUP)  # a line each
        for _ in range(200):
            assert get(port, "/healthz").status == 200
    finally:
        p.terminate()
    assert p.wait(busy(15)) == 0
    os.close(out)


def test_start_right_after_the_master_was_killed(weir):
    """Addresses and pid file are free, or become so while it starts; one of
    the workers is held up to make that take a while."""
    http = free_port()
    w = weir(workers=3, rtmp_listen=f'"127.0.0.1:{free_port()}"',
             http_listen=f'"127.0.0.1:{http}"')
    old = w.workers()
    os.kill(old[0], signal.SIGSTOP)
    w.kill(signal.SIGKILL)
    w.process.wait()
    p = subprocess.Popen([BINARY, "-c", "weir.conf"], cwd=w.prefix,
                         stderr=subprocess.PIPE)
    time.sleep(0.3)
    # The kernel itself may have woken it: its process group is an orphan.
    with contextlib.suppress(ProcessLookupError):
        os.kill(old[0], signal.SIGCONT)
    try:
        line = b""
        while b" ready: " not in line:
            line = p.stderr.readline()
            assert line, "it ended"
        assert get(http, "/healthz").status == 200
    finally:
        p.terminate()
        p.stderr.close()
    assert p.wait(busy(15)) == 0
    w.status = 0  # the first one was killed


def test_stopped_worker_is_not_killed_for_sleeping(weir):
    """SIGSTOP for longer than the watchdog's time, between two turns or in
    one: the worker, or its successor, serves again."""
    w = weir(workers=2, top='watchdog = "500ms";')
    pid = w.workers()[1]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)
    with contextlib.suppress(ProcessLookupError):  # it has a successor
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: len(w.workers()) == 2, 5)
    f = Feed(w.rtmp).head().frames(3)
    for _ in range(8):
        with player(w.rtmp, "live", "room") as c:
            read_until(c, "video 2")
    f.stop()
    w.may_grow = True
