"""Reload: another configuration in force while everything goes on."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import time

import pytest

from feed import Feed, read_until, video_numbers
from http_client import Http, get
from patience import busy
from rtmp_client import Rtmp, player
from weir import (configuration, descendants, descriptors, free_port,
                  read_text, run, stat_of, title, wait_for)


def one_generation(w, workers):
    wait_for(lambda: not w.old_workers() and len(w.workers()) == workers, 15,
             what="workers of one generation only")


# ---- what it is ----

def test_new_workers_serve_and_old_ones_end(weir):
    w = weir(workers=2)
    port, before = w.http, w.workers()
    w.reload()
    one_generation(w, 2)
    assert not set(before) & set(w.workers())
    assert get(port, "/healthz").status == 200
    w.wait_log("generation 1 has ended")
    log = w.log()
    assert len(re.findall("generation 1 has ended", log)) == 1
    assert len(re.findall("reload: reading", log)) == 1
    assert len(re.findall(r"listening on http", log)) == 1


def test_titles_of_old_workers(weir):
    w = weir(workers=2)
    c = Http(w.http)
    c.send("GET", "/healthz")
    c.answer()
    with player(w.rtmp, "live", "room") as p:
        old = w.worker_of(p.sock)
        w.reload()
        number = re.search(r"worker (\d)", title(old))[1]
        wait_for(lambda: "draining" in title(old), what="title")
        assert title(old) == f"weir: worker {number} (generation 1, draining)"
        assert {title(p) for p in w.workers()} == \
            {"weir: worker 0", "weir: worker 1"}
    wait_for(lambda: stat_of(old) is None, what="the old worker's end")
    c.close()


def test_reload_by_option(weir):
    w = weir()
    before = w.workers()
    done = run("-s", "reload", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    w.wait_log("generation 2 is in force")
    assert w.workers() != before


def test_nothing_grows_over_reloads(weir):
    w = weir(workers=2)
    get(w.http, "/healthz")
    w.reload()
    one_generation(w, 2)
    count = len(descriptors(w.pid))
    workers = sorted(len(descriptors(p)) for p in w.workers())
    for _ in range(5):
        w.reload()
        one_generation(w, 2)
    wait_for(lambda: len(descriptors(w.pid)) <= count, 5, "descriptors")
    wait_for(lambda: sorted(len(descriptors(p)) for p in w.workers())
             == workers, 5, "descriptors of workers")


def test_hups_while_a_reload_runs_are_one_more_reload(weir):
    w = weir(workers=2)
    for _ in range(10):
        w.kill(signal.SIGHUP)
        time.sleep(0.002)
    w.wait_log("generation [2-9] is in force")
    one_generation(w, 2)

    def count(words):
        return len(re.findall(words, w.log()))
    wait_for(lambda: count("reload: reading") == count("is in force"), 5,
             "the end of each reload")
    assert 1 <= count("is in force") <= 10
    assert get(w.http, "/healthz").status == 200


# ---- what is refused ----

def test_bad_file_changes_nothing_and_every_mistake_is_told(weir):
    w = weir(workers=2)
    before = w.workers()
    good = w.config
    w.set_config(good.replace("worker_processes", "worker_prozesses")
                 .replace('publish = "open"', 'publish = "maybe"'))
    w.reload(good=False)
    assert w.workers() == before
    told = re.findall(r"\[error\] \d+ reload: (.*weir\.conf:\d+: .*)", w.log())
    assert len(told) == 2, w.log()
    assert "worker_prozesses" in told[0] and "publish" in told[1]
    assert get(w.http, "/healthz").status == 200
    w.set_config(good)
    w.reload()
    one_generation(w, 2)


def test_missing_file_changes_nothing(weir):
    w = weir()
    before = w.workers()
    os.rename(f"{w.prefix}/weir.conf", f"{w.prefix}/other")
    w.reload(good=False)
    assert w.workers() == before
    os.rename(f"{w.prefix}/other", f"{w.prefix}/weir.conf")
    w.reload()


def test_settings_that_need_a_restart_are_refused_by_name(weir):
    w = weir()
    before = w.workers()
    w.set_config(live='memory = "64M"; max_streams = 77;',
                 top='daemon = true;')
    w.reload(good=False)
    log = w.log()
    assert re.search(r"cannot change live\.memory \(from \"?512M\"? to "
                     r"\"?64M\"?\)", log), log
    assert "live.max_streams (from 4096 to 77)" in log
    assert "daemon (from false to true)" in log
    assert w.workers() == before
    assert get(w.http, "/healthz").status == 200


def test_address_in_use_changes_nothing(weir):
    w = weir(workers=2)
    before = w.workers()
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    fds = len(descriptors(w.pid))
    w.set_config(workers=3, http="", http_listen='"127.0.0.1:0", "127.0.0.2:0"'
                 f', "127.0.0.1:{port}"')
    w.reload(good=False)
    assert f"127.0.0.1:{port}" in w.log()
    assert w.workers() == before
    assert len(descriptors(w.pid)) == fds
    for _ in range(20):  # no socket without an owner is in the group
        assert get(w.http, "/healthz").status == 200
    taken.close()
    w.reload()
    one_generation(w, 3)
    assert get(port, "/healthz").status == 200


def test_log_that_cannot_be_opened_changes_nothing(weir):
    w = weir(log="run/error.log")
    before = w.workers()
    w.set_config(log="nowhere/error.log")
    w.reload(good=False)
    assert "nowhere/error.log" in w.log()
    w.set_config(configuration(log="run/error.log").replace(
        'access_log = "run/access.log"', 'access_log = "nowhere/access.log"'))
    w.reload(good=False)
    assert w.workers() == before
    assert get(w.http, "/healthz").status == 200


# ---- listeners ----

def test_listener_added_and_removed(weir):
    w = weir(workers=2)
    old_port = w.http
    w.set_config(workers=2, http_listen='"127.0.0.1:0", "127.0.0.2:0"')
    w.reload()
    one_generation(w, 2)
    assert get(old_port, "/healthz").status == 200
    new_port = w.port("http", 1)
    assert get(new_port, "/healthz", address="127.0.0.2").status == 200
    w.set_config(workers=2, http_listen='"127.0.0.2:0"')
    w.reload()
    one_generation(w, 2)
    assert get(new_port, "/healthz", address="127.0.0.2").status == 200
    with pytest.raises(ConnectionRefusedError):
        get(old_port, "/healthz")


# A weir with a role that goes on over reloads: the keeper.
ROLE = ', { name = "keys"; publish = "key"; }'


def can_bind(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            s.listen()
            return True
        except OSError:
            return False


def test_a_removed_port_is_anybodys_and_can_be_had_back(weir):
    """No process holds on to it: roles were forked when it was there."""
    port = free_port()
    both = f'"127.0.0.1:0", "127.0.0.1:{port}"'
    w = weir(workers=2, apps=ROLE, http_listen=both)
    for _ in range(2):
        assert get(port, "/healthz").status == 200
        w.set_config(workers=2, apps=ROLE)
        w.reload()
        wait_for(lambda: can_bind(port), 5, "the port is free")
        with pytest.raises(ConnectionRefusedError):
            get(port, "/healthz")
        w.set_config(workers=2, apps=ROLE, http_listen=both)
        w.reload()
    assert get(port, "/healthz").status == 200


def test_what_waits_at_a_removed_listener_is_served(weir):
    """Connections that nobody had accepted yet when it was removed."""
    w = weir(http_listen='"127.0.0.1:0", "127.0.0.2:0"',
             top="watchdog = 0;")
    port = w.port("http", 1)
    pid = w.workers()[0]
    os.kill(pid, signal.SIGSTOP)
    waiting = []
    for _ in range(10):
        c = Http(port, host="127.0.0.2")
        c.send("GET", "/healthz")
        waiting.append(c)
    w.set_config(http_listen='"127.0.0.1:0"', top="watchdog = 0;")
    w.kill(signal.SIGHUP)
    w.wait_log("generation 2 is in force")
    os.kill(pid, signal.SIGCONT)
    for c in waiting:
        assert c.answer().status == 200
        assert c.ended()
        c.close()


def test_port_zero_keeps_its_port(weir):
    w = weir(workers=2, http_listen='"127.0.0.1:0", "127.0.0.1:0"')
    ports = {w.rtmp, w.http, w.port("http", 1)}
    for workers in (3, 1, 2):
        w.set_config(workers=workers,
                     rtmp_listen='"127.0.0.1:0", "127.0.0.2:0"',
                     http_listen='"127.0.0.1:0", "127.0.0.1:0"')
        w.reload()
        one_generation(w, workers)
        assert ports <= {w.port("rtmp"), w.port("http"), w.port("http", 1)}
        assert get(w.http, "/healthz").status == 200
        assert get(w.port("http", 1), "/healthz").status == 200
        with Rtmp(w.rtmp) as c:
            c.connect("live")


def test_listener_moves_from_http_to_rtmp_and_to_all_addresses(weir):
    port = free_port()
    w = weir(workers=2, http_listen=f'"127.0.0.1:0", "127.0.0.1:{port}"')
    w.set_config(workers=2, http_listen='"127.0.0.1:0"',
                 rtmp_listen=f'"127.0.0.1:0", "127.0.0.1:{port}"')
    w.reload()
    w.wait_log("generation 1 has ended")  # its workers take connections no more
    with Rtmp(port) as c:
        c.connect("live")
    w.set_config(workers=2, http_listen='"127.0.0.1:0"',
                 rtmp_listen=f'"127.0.0.1:0", "{port}"')
    w.reload()
    one_generation(w, 2)
    for host in ("127.0.0.1", "127.0.0.3", "::1"):
        with Rtmp(port, host=host) as c:
            c.connect("live")


def test_unix_listeners(weir, tmp_path):
    first, second = f"{tmp_path}/a.sock", f"{tmp_path}/b.sock"
    w = weir(workers=2, http_listen=f'"127.0.0.1:0", "unix:{first}"')
    w.reload()
    assert get(None, "/healthz", path=first).status == 200
    w.set_config(workers=3, http_listen=f'"127.0.0.1:0", "unix:{second}"')
    w.reload()
    one_generation(w, 3)
    assert get(None, "/healthz", path=second).status == 200
    assert not os.path.exists(first)
    w.set_config(workers=3, http_listen=f'"127.0.0.1:0", "unix:{second}", '
                 f'"unix:{tmp_path}/no/such"')
    w.reload(good=False)
    assert get(None, "/healthz", path=second).status == 200


# ---- what takes effect ----

def test_count_of_workers(weir):
    w = weir(workers=1)
    for workers in (4, 2, 5, 1):
        w.set_config(workers=workers)
        w.reload()
        one_generation(w, workers)
        for _ in range(20):
            assert get(w.http, "/healthz").status == 200


def test_new_settings_hold_for_what_comes_after(weir):
    w = weir()
    assert get(w.http, "/new/healthz").status == 404
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        w.set_config(
            apps=', { name = "second"; publish = "open"; }',
            locations='{ path = "/new"; module = "status"; },')
        w.reload()
        assert get(w.http, "/new/healthz").status == 200
        f = Feed(w.rtmp, app="second").head().frames(3)
        c.play("room")  # an old session goes on by the old file
        f.stop()
    with Rtmp(w.rtmp) as c:
        c.connect("second")


def test_logs_change(weir):
    w = weir(log="run/error.log")
    old_access = f"{w.prefix}/run/access.log"
    get(w.http, "/healthz?one")
    wait_for(lambda: "?one" in read_text(old_access))
    text = configuration(log="run/second.log").replace(
        "run/access.log", "run/access2.log").replace(
        'level = "info"', 'level = "debug"; format = "json"')
    port = w.http
    w.set_config(text)
    w.kill(signal.SIGHUP)
    second = f"{w.prefix}/run/second.log"
    wait_for(lambda: "generation 2 is in force" in read_text(second), 10)
    assert '"message":"generation 2 is in force' in read_text(second)
    assert "in force" not in read_text(f"{w.prefix}/run/error.log")
    get(port, "/healthz?two")
    wait_for(lambda: "?two" in read_text(f"{w.prefix}/run/access2.log"))
    assert "?two" not in read_text(old_access)
    wait_for(lambda: "debug" in read_text(second), what="debug lines")
    wait_for(lambda: old_access not in descriptors(w.pid).values(), 5,
             "the old access log is closed")
    os.rename(second, second + ".1")
    w.kill(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(second), what="a new error log")
    w.set_config(text.replace("access2", "access3").replace(
        "run/second.log", "stderr"))
    w.kill(signal.SIGHUP)
    wait_for(lambda: "generation 3 is in force" in read_text(w.stderr), 10)


def test_seventy_access_logs_one_after_the_other(weir):
    w = weir()
    for n in range(70):
        w.set_config(w.config.replace("run/access.log", f"run/a{n}.log"))
        w.reload()
        one_generation(w, 1)  # or an old worker may still answer
        get(w.http, f"/healthz?{n}")
        wait_for(lambda n=n: f"?{n} " in read_text(f"{w.prefix}/run/a{n}.log"))


# ---- old generations ----

def test_max_generations(weir):
    w = weir(top="max_generations = 3;", hold="30s")
    players = []
    for n in range(3):
        players.append(player(w.rtmp, "live", f"room{n}"))
        w.reload()
    w.wait_log("generation 1 is closed: more than max_generations")
    info = players[0].status("NetConnection.Connect.AppShutdown")
    assert "newer configuration" in info["description"]
    players[0].wait_closed()
    w.wait_log("generation 1 has ended")
    for n in (1, 2):
        f = Feed(w.rtmp, name=f"room{n}").head().frames(2)
        read_until(players[n], "video 1")
        f.stop()
        players[n].close()


def test_reload_drain(weir):
    w = weir(top='reload_drain = "1s";')
    f = Feed(w.rtmp).head().frames(1)
    p = player(w.rtmp, "live", "room")
    began = time.monotonic()
    w.reload()
    info = p.status("NetConnection.Connect.AppShutdown")
    assert "newer configuration" in info["description"]
    assert time.monotonic() - began > 0.9
    p.wait_closed()
    f.c.wait_closed()
    w.wait_log("reload_drain is over; 2 connections end")
    w.wait_log("generation 1 has ended")


def test_stop_ends_all_generations(weir):
    w = weir(workers=2, top='stop_drain = "1h"; reload_drain = "1h";')
    players = []
    for _ in range(3):
        players.append(player(w.rtmp, "live", "room"))
        w.reload()
    everybody = descendants(w.pid)
    assert len(everybody) > 2
    assert w.stop(signal.SIGTERM) == 0
    for p in players:
        p.wait_closed()
    assert not any(stat_of(p) for p in everybody)


def test_graceful_stop_lets_all_generations_drain(weir):
    w = weir(workers=2, top='stop_drain = "1h";')
    players = []
    for _ in range(3):
        players.append(player(w.rtmp, "live", "room"))
        w.reload()
    w.kill(signal.SIGQUIT)
    w.wait_log("stopping gracefully")
    for p in players:
        assert w.process.poll() is None
        p.close()
    assert w.wait_exit() == 0


# ---- HTTP ----

def test_idle_connection_is_answered_once_more(weir):
    w = weir(top='keepalive_min_timeout = "1h";')
    with Http(w.http) as c:
        c.send("GET", "/healthz")
        assert c.answer().header("connection") != "close"
        w.reload()
        wait_for(w.old_workers, what="an old worker")
        c.send("GET", "/healthz")
        a = c.answer()
        assert (a.status, a.header("connection")) == (200, "close")
        assert c.ended()
    one_generation(w, 1)


def test_idle_connection_ends_after_the_grace(weir):
    w = weir(top='keepalive_min_timeout = "1s";',
             http='keepalive_timeout = "1h";')
    with Http(w.http) as young, Http(w.http) as old:
        old.send("GET", "/healthz")
        old.answer()
        time.sleep(1.1)
        began = time.monotonic()
        young.send("GET", "/healthz")
        young.answer()
        w.reload()
        assert old.ended()
        assert young.ended()
        assert time.monotonic() - began > 0.9
    one_generation(w, 1)


def test_pipelined_requests_are_all_answered(weir):
    w = weir()
    with open(f"{w.prefix}/html/large", "wb") as f:
        f.write(os.urandom(20 << 20))
    with Http(w.http) as c:
        c.send("GET", "/large")
        head = c.head()
        c.raw("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 5)
        w.reload()
        c._exactly(int(head.header("content-length")))
        answers = [c.answer() for _ in range(5)]
        assert [a.status for a in answers] == [200] * 5
        assert answers[-1].header("connection") == "close"
        assert c.ended()


def test_ready_for_the_balancer_while_old_workers_drain(weir):
    """A reload is no reason to take this node out."""
    w = weir(top='keepalive_min_timeout = "1h";')
    with Http(w.http) as c, player(w.rtmp, "live", "room"):
        c.send("GET", "/readyz")
        c.answer()
        w.reload()
        wait_for(w.old_workers, what="an old worker")
        c.send("GET", "/readyz")
        assert c.answer().status == 200
        assert get(w.http, "/readyz").status == 200


# ---- dying ----

def test_killed_old_worker_takes_only_its_own(weir):
    w = weir(workers=2, hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    old = w.worker_of(f.c.sock)
    w.reload()
    with player(w.rtmp, "live", "room") as p:
        read_until(p, "video 2")
        os.kill(old, signal.SIGKILL)
        f.c.wait_closed()
        w.wait_log("its publisher's process died, on hold")
        g = Feed(w.rtmp, first=25).head().frames(2)
        assert video_numbers(read_until(p, "video 26"))[-2:] == [25, 26]
        g.stop()
    one_generation(w, 2)


def new_children(w, known, act):
    """Calls act for children of the master that are new, as soon as they are
    there, until it returns True."""
    path = f"/proc/{w.pid}/task/{w.pid}/children"
    end = time.monotonic() + busy(10)
    while time.monotonic() < end:
        with open(path, encoding="ascii") as f:
            fresh = set(map(int, f.read().split())) - known
        known |= fresh
        for pid in fresh:
            if act(pid):
                return
    raise AssertionError("no new child")


def test_killed_new_workers_do_not_fail_the_reload(weir):
    """Killed before it is ready (or just after): it is started again."""
    w = weir(workers=4)
    for _ in range(10):
        count = len(re.findall("is in force", w.log()))

        def kill(pid):
            os.kill(pid, signal.SIGKILL)
            return True
        known = set(descendants(w.pid))
        w.kill(signal.SIGHUP)
        new_children(w, known, kill)
        w.wait_log("is in force", 15, count + 1)
        one_generation(w, 4)
        assert get(w.http, "/healthz").status == 200


def test_workers_that_cannot_start_leave_all_as_it_was(weir, tmp_path):
    """A folder that the master may read and workers may not, though they hold
    the way to it."""
    if os.getuid() != 0:
        return  # only root can
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        os.chmod(folder, 0o755)
    w = weir(workers=1, top='user = "nobody";', log="run/error.log")
    os.mkdir(f"{w.prefix}/secret", 0o700)
    os.mkdir(f"{w.prefix}/secret/inner", 0o700)
    before, fds = w.workers(), len(descriptors(w.pid))
    with player(w.rtmp, "live", "room") as p:
        w.set_config(w.config.replace('root = "html"', 'root = "secret/inner"')
                     .replace("worker_processes = 1", "worker_processes = 3"))
        for _ in range(5):
            w.reload(good=False)
        assert re.search(r"reload: worker \d cannot start: .*secret", w.log())
        wait_for(lambda: set(descendants(w.pid)) == set(before))
        assert len(descriptors(w.pid)) == fds
        for _ in range(50):
            assert get(w.http, "/healthz").status == 200
        f = Feed(w.rtmp).head().frames(2)
        read_until(p, "video 1")
        f.stop()
    w.set_config(w.config.replace("worker_processes = 1",
                                  "worker_processes = 3"))
    w.reload()
    one_generation(w, 3)


def test_workers_that_are_never_ready(weir):
    """They hang: after 10 s they are killed, and nobody has noticed."""
    w = weir(workers=1, top="watchdog = 0;")

    def stop(pid):
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)
        return True

    def in_force():
        return len(re.findall("is in force", w.log()))

    def serves():
        try:
            return get(w.http, "/healthz", timeout=1).status == 200
        except socket.timeout:  # asked the one that is stopped
            return False
    for workers in range(3, 30):  # until one is caught before it is ready
        stopped, before = [], w.workers()
        known = set(descendants(w.pid))
        count = in_force()
        w.set_config(workers=workers % 3 + 2, top="watchdog = 0;")
        w.kill(signal.SIGHUP)
        new_children(w, known, stop)
        while in_force() == count and "reload failed" not in w.log():
            assert serves() or in_force() > count
            time.sleep(0.05)
        if in_force() == count:
            break
        os.kill(stopped[0], signal.SIGCONT)
        one_generation(w, workers % 3 + 2)
    assert "not ready within 10 s" in w.log()
    wait_for(lambda: set(descendants(w.pid)) == set(before))
    w.reload()
    one_generation(w, workers % 3 + 2)


def test_killed_worker_is_back_within_100_ms(weir):
    w = weir(workers=2)
    took = []
    for n in range(5):
        victim = w.workers()[n % 2]
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        while len(w.workers()) < 2 or victim in w.workers():
            assert time.monotonic() - began < busy(5)
        took.append(time.monotonic() - began)
        time.sleep(0.6)
    assert min(took) < busy(0.1), took


def is_refused(port):
    try:
        get(port, "/healthz")
    except ConnectionRefusedError:
        return True
    except (OSError, EOFError):
        pass
    return False


def test_killed_master_in_the_midst_of_reloads(weir):
    ports = (free_port(), free_port())
    w = weir(workers=2, rtmp_listen=f'"127.0.0.1:{ports[0]}"',
             http_listen=f'"127.0.0.1:{ports[1]}"')
    p = player(w.rtmp, "live", "room")
    w.reload()
    w.kill(signal.SIGHUP)
    everybody = set(descendants(w.pid))
    w.kill(signal.SIGKILL)
    w.process.wait()
    wait_for(lambda: not any(stat_of(x) for x in everybody), 1,
             "the end of all")
    p.wait_closed()
    for port in ports:
        # A worker that was not among them yet has it for a moment.
        wait_for(lambda port=port: is_refused(port), 10, "the port is free")
    w.start()
    assert get(ports[1], "/healthz").status == 200


def test_stopped_process_is_noticed(weir):
    w = weir(workers=2, top='watchdog = "500ms";')
    victim = w.workers()[1]
    os.kill(victim, signal.SIGSTOP)
    w.wait_log(rf"\(pid {victim}\) is stopped for \d+ ms and is killed", 5)
    wait_for(lambda: victim not in w.workers() and len(w.workers()) == 2)


def test_continued_process_is_left_alone(weir):
    """Stopped for longer than the watchdog's time on the whole, and not at
    once."""
    w = weir(top='watchdog = "3s";')
    victim = w.workers()[0]
    for _ in range(6):
        os.kill(victim, signal.SIGSTOP)
        time.sleep(0.6)
        os.kill(victim, signal.SIGCONT)
        time.sleep(0.1)
    assert w.workers() == [victim]


# ---- around it ----

def test_winch_drains_the_workers_of_a_daemon(tmp_path):
    from weir import place
    place(tmp_path, configuration(top="daemon = true;", log="run/error.log",
                                  workers=2))
    assert run("-c", "weir.conf", "-p", str(tmp_path)).returncode == 0
    pid = int(read_text(tmp_path / "run/weir.pid"))
    log = tmp_path / "run/error.log"
    try:
        assert len(descendants(pid)) == 2
        os.kill(pid, signal.SIGWINCH)
        wait_for(lambda: not descendants(pid), what="no workers")
        os.kill(pid, signal.SIGHUP)
        wait_for(lambda: "generation 2 is in force" in read_text(log))
        port = int(re.search(r"listening on http \S+:(\d+)",
                             read_text(log))[1])
        assert get(port, "/healthz").status == 200
    finally:
        run("-s", "stop", "-c", "weir.conf", "-p", str(tmp_path))
    wait_for(lambda: stat_of(pid) is None, what="the daemon's end")
    assert "[alert]" not in read_text(log)


def test_systemd_is_told(tmp_path):
    import subprocess
    from weir import BINARY, place
    path = str(tmp_path / "notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(busy(10))
    place(tmp_path, configuration(log="run/error.log"))
    p = subprocess.Popen([BINARY, "-c", "weir.conf", "-p", str(tmp_path)],
                         env={**os.environ, "NOTIFY_SOCKET": path})
    try:
        assert s.recv(1000) == b"READY=1"
        for text in (None, "worker_processes = 1x;"):
            if text:
                (tmp_path / "weir.conf").write_text(text)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            p.send_signal(signal.SIGHUP)
            told = s.recv(1000).decode()
            match = re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)", told)
            assert match and int(match[1]) >= before, told
            assert s.recv(1000) == b"READY=1"
    finally:
        p.terminate()
        assert p.wait(busy(15)) == 0
    s.close()


def test_check_finds_unknown_user_and_group_alone(tmp_path):
    from weir import place
    place(tmp_path, configuration(top='user = "nobody-like-that";'))
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 1
    assert re.match(r"weir\.conf:\d+: user: .*nobody-like-that", done.stderr)
    place(tmp_path, configuration(top='group = "nogroup";'))
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 1 and "needs a user" in done.stderr
    place(tmp_path, configuration(top='watchdog = "100ms";'))
    assert run("-t", "-c", "weir.conf", "-p",
               str(tmp_path)).returncode == 1
    place(tmp_path, configuration(top="watchdog = 0;"))
    assert run("-t", "-c", "weir.conf", "-p",
               str(tmp_path)).returncode == 0
