"""Starting, stopping, signals, pid file, daemon mode, listeners."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import subprocess
import time

import pytest

import weir as weir_py
from feed import Feed, read_until
from http_client import Http, get
from patience import busy
from rtmp_client import Rtmp, player
from weir import (BINARY, configuration, descendants, place, read_text,
                  run, stat_of, title, wait_for)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_fast_stop(weir, number):
    w = weir(workers=2, top='stop_drain = "1h";')
    f = Feed(w.rtmp).head().frames(2)
    c = player(w.rtmp, "live", "room")
    assert w.stop(number) == 0
    c.wait_closed()
    f.stop()
    assert not os.path.exists(f"{w.prefix}/run/weir.pid")


def test_graceful_stop_waits_for_sessions(weir):
    w = weir(workers=2, top='stop_drain = "1h";')
    f = Feed(w.rtmp).head().frames(2)
    c = player(w.rtmp, "live", "room")
    read_until(c, "video 1")
    idle = Http(w.http)
    idle.send("GET", "/healthz")
    idle.answer()
    port = w.rtmp
    w.kill(signal.SIGQUIT)

    def refused():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return False
        except OSError:
            return True
    wait_for(refused, what="no new connections")
    assert idle.ended()
    f.frames(3)  # what is there goes on
    read_until(c, "video 4")
    assert w.process.poll() is None
    c.close()
    f.stop()
    assert w.wait_exit() == 0


def test_term_may_be_graceful(weir):
    """As containers stop; a second one is not patient."""
    w = weir(top='stop_drain = "1h"; term = "graceful";')
    f = Feed(w.rtmp).head().frames(2)
    c = player(w.rtmp, "live", "room")
    read_until(c, "video 1")
    w.kill(signal.SIGTERM)
    w.wait_log("signal 15: stopping gracefully")
    f.frames(3)
    read_until(c, "video 4")
    w.kill(signal.SIGTERM)
    c.wait_closed()
    assert w.wait_exit() == 0
    f.stop()


def test_a_start_names_who_has_the_address(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        place(tmp_path, configuration(rtmp_listen=f'"127.0.0.1:{port}"'))
        ended = run("-c", "weir.conf", "-p", str(tmp_path))
    assert ended.returncode == 2
    assert f"pid {os.getpid()}" in ended.stderr, ended.stderr


def test_an_address_that_is_not_there_yet(tmp_path, weir):
    """192.0.2.0/24 is nobody's (RFC 5737)."""
    address = f"192.0.2.1:{weir_py.free_port()}"
    place(tmp_path, configuration(rtmp_listen=f'"{address}"'))
    ended = run("-t", "-c", "weir.conf", "-p", str(tmp_path))
    assert ended.returncode == 1 and "Cannot assign" in ended.stderr
    free = f'{{ address = "{address}"; freebind = true; }}'
    w = weir(workers=2, rtmp_listen=free)
    assert f"listening on rtmp {address}" in w.log()
    w.set_config(workers=3, rtmp_listen=free)
    w.reload()
    assert get(w.http, "/readyz").status == 200


def test_graceful_stop_ends_after_stop_drain(weir):
    w = weir(top='stop_drain = "1s";')
    c = player(w.rtmp, "live", "room")
    began = time.monotonic()
    assert w.stop(signal.SIGQUIT) == 0
    assert 0.9 < time.monotonic() - began < busy(2)  # 30 s unless told
    c.close()


def test_term_after_quit_is_fast(weir):
    w = weir(top='stop_drain = "1h";')
    c = player(w.rtmp, "live", "room")
    w.kill(signal.SIGQUIT)
    w.wait_log("drains: 1 connections are open")
    assert w.stop(signal.SIGTERM) == 0
    c.close()


def test_answer_that_is_on_its_way_survives_a_graceful_stop(weir):
    w = weir(top='stop_drain = "1h";')
    data = os.urandom(20 << 20)
    with open(f"{w.prefix}/html/large", "wb") as f:
        f.write(data)
    with Http(w.http) as c:
        c.send("GET", "/large")
        head = c.head()
        w.kill(signal.SIGQUIT)
        w.wait_log("drains: 1 connections are open")
        assert c._exactly(int(head.header("content-length"))) == data
    assert w.wait_exit() == 0


def test_pid_file(weir):
    w = weir()
    path = f"{w.prefix}/run/weir.pid"
    assert int(read_text(path)) == w.pid
    done = run("-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert done.returncode == 2
    assert str(w.pid) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert int(read_text(path)) == w.pid


def test_stale_pid_file_is_no_hindrance(weir, tmp_path):
    os.makedirs(tmp_path / "weir0" / "run", exist_ok=True)
    # the fixture makes the folder: a pid file of somebody else's pid
    os.rmdir(tmp_path / "weir0" / "run")
    os.rmdir(tmp_path / "weir0")
    w = weir()
    w.stop(signal.SIGTERM)
    with open(f"{w.prefix}/run/weir.pid", "w", encoding="utf-8") as f:
        f.write("1\n")
    w.status = None
    w.start()
    assert int(read_text(f"{w.prefix}/run/weir.pid")) == w.pid


@pytest.mark.parametrize("word", ["stop", "quit"])
def test_signal_option(weir, word):
    w = weir()
    done = run("-s", word, "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert done.returncode == 0, done.stderr
    assert w.wait_exit() == 0
    done = run("-s", word, "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert done.returncode in (1, 2)  # nobody there to tell
    assert done.stderr


def test_reopen(weir):
    w = weir(log="run/error.log")
    log = f"{w.prefix}/run/error.log"
    access = f"{w.prefix}/run/access.log"
    get(w.http, "/healthz")
    wait_for(lambda: "/healthz" in w.access_log(), what="access log")
    os.rename(log, log + ".1")
    os.rename(access, access + ".1")
    done = run("-s", "reopen", "-c", f"{w.prefix}/weir.conf",
               "-p", w.prefix)
    assert done.returncode == 0
    wait_for(lambda: os.path.exists(log) and os.path.exists(access),
             what="new files")
    port = int(re.search(r"listening on http \S+:(\d+)",
                         read_text(log + ".1"))[1])
    get(port, "/readyz")
    wait_for(lambda: "/readyz" in read_text(access), what="new access log")
    assert "/readyz" not in read_text(access + ".1")


def test_daemon(tmp_path):
    text = configuration(top="daemon = true;", log="run/error.log")
    place(tmp_path, text)
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 0, done.stderr
    pid = int(wait_for(lambda: read_text(tmp_path / "run/weir.pid"),
                       what="pid file"))
    try:
        log = tmp_path / "run/error.log"
        wait_for(lambda: "ready:" in read_text(log), 10, "ready")
        assert os.getsid(pid) != os.getsid(0)
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        port = int(re.search(r"listening on http \S+:(\d+)",
                             read_text(log))[1])
        assert get(port, "/healthz").status == 200
    finally:
        done = run("-s", "stop", "-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 0, done.stderr
    wait_for(lambda: stat_of(pid) is None, what="the daemon's end")
    assert "[alert]" not in read_text(log)
    assert not os.path.exists(tmp_path / "run/weir.pid")


def test_daemon_that_cannot_start_says_so(tmp_path, weir):
    w = weir()
    text = configuration(top="daemon = true;", log="run/error.log",
                         http_listen=f'"127.0.0.1:{w.http}"')
    place(tmp_path, text)
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 2
    assert str(w.http) in done.stderr


def test_address_in_use_is_status_2_in_one_line(tmp_path, weir):
    w = weir()
    for part in ("rtmp_listen", "http_listen"):
        text = configuration(**{part: f'"127.0.0.1:{w.http}"'})
        place(tmp_path, text)
        done = run("-c", "weir.conf", "-p", str(tmp_path))
        assert done.returncode == 2
        wrong = [line for line in done.stderr.splitlines()
                 if "[notice]" not in line and "[info]" not in line]
        assert len(wrong) == 1, done.stderr
        assert f"127.0.0.1:{w.http}" in wrong[0]


def test_log_that_cannot_be_opened_is_status_2(tmp_path):
    place(tmp_path, configuration(log="nowhere/error.log"))
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 2
    assert "nowhere/error.log" in done.stderr


def test_titles_and_tree(weir):
    w = weir(workers=3)
    assert title(w.pid).startswith("weir: master")
    children = descendants(w.pid)
    assert sorted(title(p) for p in children) == \
        ["weir: worker 0", "weir: worker 1", "weir: worker 2"]
    assert {stat_of(p)[0] for p in children} == {w.pid}


def test_terminal_signals_reach_the_master_only(weir):
    """Ctrl-C goes to the foreground process group: the master's."""
    w = weir(workers=2)
    for pid in w.workers():
        assert os.getpgid(pid) != os.getpgid(w.pid)
    os.killpg(os.getpgid(w.pid), signal.SIGINT)
    assert w.wait_exit() == 0


def test_json_log(weir, tmp_path):
    import json
    text = configuration(log="run/error.log").replace(
        'level = "info"', 'level = "info"; format = "json"')
    place(tmp_path, text)
    p = subprocess.Popen([BINARY, "-c", "weir.conf", "-p", str(tmp_path)])
    log = tmp_path / "run/error.log"
    try:
        wait_for(lambda: "ready:" in read_text(log), 10, "ready")
    finally:
        p.terminate()
        assert p.wait(busy(15)) == 0
    rows = [json.loads(line) for line in read_text(log).splitlines()]
    assert {"time", "level", "pid", "message"} <= set(rows[0])


def test_log_words_of_peers_are_escaped(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        try:
            c.connect("evil\n2026-01-01T00:00:00.000Z [alert] 1 forged")
        except Exception:  # noqa: refused, as it should be
            pass
    w.wait_log("connect .*refused")
    assert not re.search(r"^2026-01-01T00:00:00.000Z \[alert\]", w.log(),
                         re.M)


# ---- listeners ----

def test_unix_and_ipv6_listeners(weir, tmp_path):
    rtmp_path, http_path = f"{tmp_path}/r.sock", f"{tmp_path}/h.sock"
    w = weir(workers=2,
             rtmp_listen=f'"127.0.0.1:0", "[::1]:0", "unix:{rtmp_path}"',
             http_listen=f'"127.0.0.1:0", "[::1]:0", "unix:{http_path}"')
    f = Feed(w.rtmp).head().frames(2)
    six = w.port("rtmp", 1)
    for c in (Rtmp(six, host="::1"), Rtmp(path=rtmp_path)):
        c.connect("live")
        c.play("room")
        read_until(c, "video 1")
        c.close()
    assert get(w.port("http", 1), "/healthz", address="::1").status == 200
    assert get(None, "/healthz", path=http_path).status == 200
    f.stop()
    w.stop(signal.SIGTERM)
    assert not os.path.exists(rtmp_path)
    assert not os.path.exists(http_path)


def test_unix_listener_is_shared_by_all_workers(weir, tmp_path):
    path = f"{tmp_path}/h.sock"
    w = weir(workers=2, http_listen=f'"127.0.0.1:0", "unix:{path}"')
    for _ in range(50):
        assert get(None, "/healthz", path=path).status == 200


def test_stale_unix_socket_is_replaced_and_a_live_one_refused(weir,
                                                              tmp_path):
    path = f"{tmp_path}/h.sock"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    w = weir(http_listen=f'"127.0.0.1:0", "unix:{path}"')
    assert get(None, "/healthz", path=path).status == 200
    place(tmp_path, configuration(http_listen=f'"unix:{path}"'))
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 2
    assert path in done.stderr
    assert get(None, "/healthz", path=path).status == 200
    w.stop(signal.SIGTERM)


def test_any_address_takes_both_families(weir):
    w = weir(http_listen='"0"')
    port = w.http
    assert get(port, "/healthz").status == 200
    assert get(port, "/healthz", address="::1").status == 200


def test_several_addresses_and_servers(weir):
    w = weir(rtmp_listen='"127.0.0.1:0", "127.0.0.2:0"')
    assert len(w.listening("rtmp")) == 2
    port = w.port("rtmp", 1)
    with Rtmp(port, host="127.0.0.2") as c:
        c.connect("live")


def test_port_zero_is_one_port_for_all_workers(weir):
    w = weir(workers=4)
    assert len(w.listening("rtmp")) == 1
    for _ in range(20):
        with Rtmp(w.rtmp) as c:
            c.connect("live")


def test_privilege_drop(weir, tmp_path):
    if os.getuid() != 0:
        return  # only root can
    os.chmod(tmp_path, 0o755)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        os.chmod(folder, 0o755)
    w = weir(workers=2, top='user = "nobody";', log="run/error.log")
    for pid in w.workers():
        status = read_text(f"/proc/{pid}/status")
        assert re.search(r"^Uid:\s+65534\s+65534\s+65534\s+65534$", status,
                         re.M)
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)
        assert re.search(r"^Groups:\s*(65534)?\s*$", status, re.M)
    assert get(w.http, "/healthz").status == 200
    f = Feed(w.rtmp).head().frames(2)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 1")
    f.stop()


def test_systemd_notification(tmp_path):
    path = str(tmp_path / "notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(busy(10))
    place(tmp_path, configuration(log="run/error.log"))
    p = subprocess.Popen([BINARY, "-c", "weir.conf", "-p", str(tmp_path)],
                         env={**os.environ, "NOTIFY_SOCKET": path})
    try:
        assert b"READY=1" in s.recv(1000)
    finally:
        p.terminate()
        assert p.wait(busy(15)) == 0
    assert b"STOPPING=1" in s.recv(1000)
    s.close()


WITH_USERS = """#!/bin/sh
exec unshare -m --propagation private sh -c '
mount --bind {users} /etc/passwd && exec {binary} "$@"' weir "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_name_service_that_is_away_keeps_nobody_down(weir, tmp_path,
                                                       monkeypatch):
    """Who the processes become is known since the file was read."""
    users = tmp_path / "passwd"
    with open("/etc/passwd", encoding="utf-8") as f:
        users.write_text(f.read() + "guest:x:4321:4321::/:/bin/false\n")
    program = tmp_path / "weir"
    program.write_text(WITH_USERS.format(users=users,
                                         binary=weir_py.BINARY))
    program.chmod(0o755)
    monkeypatch.setattr(weir_py, "BINARY", str(program))
    w = weir(workers=1, top='user = "guest";')
    users.write_text("root:x:0:0::/root:/bin/sh\n")
    for _ in range(2):
        w.reload(good=False)
        assert 'there is no user "guest"' in w.log()
        before = w.workers()
        os.kill(before[0], signal.SIGKILL)
        after = wait_for(lambda old=before: w.workers() != old and w.workers(),
                         10, "another worker")
        wait_for(lambda pid=after[0]: os.stat(f"/proc/{pid}").st_uid == 4321,
                 10, "a worker that is the user")
