"""The control socket and reloads: what a reload changes of the socket, and
what the socket tells of reloads."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import stat
import threading

import pytest

from control_client import Control, ctl, ctl_json
from http_client import Http, get
from patience import busy
from rtmp_client import Rtmp, player
from weir import title, wait_for


def control(more):
    return f"control = {{ {more} }};"


def mode_of(w, path):
    return stat.S_IMODE(os.stat(f"{w.prefix}/{path}").st_mode)


# ---- the socket itself ----

def test_socket_moves(weir):
    w = weir()
    with Control(w) as old:
        w.set_config(top=control('socket = "run/other.sock"; mode = "0660";'))
        assert old.ask("reload")[0].startswith("generation 2 is in force")
        assert old.ask("ping") == ["PONG"]  # who is there stays
        with Control(w, "run/other.sock") as c:
            assert c.json("show info")["generation"] == 2
    assert mode_of(w, "run/other.sock") == 0o660
    assert not os.path.exists(f"{w.prefix}/run/control.sock")
    w.set_config()
    w.reload()
    with Control(w) as c:
        assert c.ask("ping") == ["PONG"]
    assert not os.path.exists(f"{w.prefix}/run/other.sock")


def test_mode_changes_in_place(weir):
    w = weir()
    node = os.stat(f"{w.prefix}/run/control.sock").st_ino
    for mode in ("0666", "0600"):
        w.set_config(top=control(f'mode = "{mode}";'))
        w.reload()
        assert mode_of(w, "run/control.sock") == int(mode, 8)
    assert os.stat(f"{w.prefix}/run/control.sock").st_ino == node


def test_socket_goes_and_comes(weir):
    w = weir()
    with Control(w) as c:
        w.set_config(top=control('socket = "";'))
        c.ask("reload")
        assert not os.path.exists(f"{w.prefix}/run/control.sock")
        assert c.ask("ping") == ["PONG"]
    w.set_config()
    w.reload()
    assert ctl(w, "ping").returncode == 0


@pytest.mark.parametrize("path", ["weir.conf/c.sock", "weir.conf"])
def test_bad_path_changes_nothing(weir, path):
    w = weir()
    before = w.workers()
    w.set_config(top=control(f'socket = "{path}";'), workers=2)
    with Control(w) as c:
        answer = c.ask("reload")
        assert answer[0].startswith("ERR failed ") and path in answer[0]
        info = c.json("show info")
        assert info["generation"] == 1 and info["last_reload"] == "failure"
        assert (info["reloads"], info["reload_failures"]) == (0, 1)
        w.set_config()
        c.ask("reload")
        info = c.json("show info")
        assert info["generation"] == 2 and info["last_reload"] == "success"
        assert (info["reloads"], info["reload_failures"]) == (1, 1)
    wait_for(lambda: not set(before) & set(w.workers()), 10)
    assert os.path.isfile(f"{w.prefix}/weir.conf")


def test_log_level_set_for_a_time_ends_with_a_reload(weir):
    """In new workers and in old ones that drain, and it does not come back."""
    def unknown(r):
        r.command("fooBar", None)
        r.answer(r.command("_checkbw", None))

    w = weir()
    with Control(w) as c, Rtmp(w.rtmp) as old:
        old.connect("live")
        c.ask("set log level debug for 1h")
        unknown(old)
        line = r"\[debug\] \d+ rtmp \S+ command fooBar,"
        w.wait_log(line)
        c.ask("reload")
        assert c.json("show info")["log_level"] == "info"
        unknown(old)
        with Rtmp(w.rtmp) as new:
            new.connect("live")
            unknown(new)
        # A failed reload leaves a level alone.
        c.ask("set log level error for 1h")
        w.set_config(workers="none")
        assert c.ask("reload")[0].startswith("ERR failed ")
        assert c.json("show info")["log_level"] == "error"
        c.ask("set log level info")
    w.wait_log(r"reload failed")
    assert len(re.findall(line, w.log())) == 1


# ---- weirctl reload and test ----

def test_every_mistake_is_told_with_its_line(weir):
    w = weir()
    with open(f"{w.prefix}/weir.conf", "a", encoding="utf-8") as f:
        f.write("".join(f"mistake_{n} = {n};\n" for n in range(30)))
    lines = len(w.config.splitlines())
    for command in ("reload", "test"):
        r = ctl(w, command)
        assert r.returncode == 1
        told = re.findall(r"weir\.conf:(\d+): mistake_(\d+)", r.stderr)
        first = int(told[0][0])
        assert abs(first - lines) <= 1
        assert told == [(str(first + n), str(n)) for n in range(len(told))]
        assert len(told) >= 20
    assert ctl_json(w, "show", "info")["generation"] == 1


def test_reload_succeeds(weir):
    w = weir(workers=2)
    assert ctl(w, "test").returncode == 0
    r = ctl(w, "reload")
    assert r.returncode == 0
    assert r.stdout.startswith("generation 2 is in force: 2 workers")
    assert ctl(w, "wait", "5m", "drained").returncode == 0
    assert len(w.workers()) == 2


def serves(pid):
    return re.fullmatch(r"weir: worker \d+", title(pid))


class Reload(threading.Thread):
    """Asks for one; what the answer was, and which workers, of those that were
    there before, had not heard of the reload then."""

    def __init__(self, w):
        super().__init__(daemon=True)
        self.w, self.before = w, w.workers()
        self.lines, self.unaware = None, None
        self.start()

    def run(self):
        with Control(self.w) as c:
            self.lines = c.ask("reload")
            self.unaware = [pid for pid in self.before if serves(pid)]


def test_answer_comes_when_no_old_worker_accepts(weir):
    """One is slow to hear of the reload: whoever connects behind the answer
    still gets the new configuration."""
    w = weir(workers=2, top="watchdog = 0;")
    slow = w.workers()[1]
    os.kill(slow, signal.SIGSTOP)
    reload = Reload(w)
    w.wait_log("generation 2 is in force")
    with Control(w) as c:  # the master has had turns since
        for _ in range(3):
            assert c.json("show info")["generation"] == 2
    os.kill(slow, signal.SIGCONT)
    reload.join(busy(10))
    line, = reload.lines
    assert line.startswith("generation 2 is in force: 2 workers")
    assert not reload.unaware


def test_answer_tells_of_old_workers_that_may_accept(weir):
    w = weir(workers=2, top="watchdog = 0;")
    slow = w.workers()[1]
    os.kill(slow, signal.SIGSTOP)
    with Control(w) as c:
        first, second = c.ask("reload")
        assert first.startswith("generation 2 is in force: 2 workers")
        assert second == "old workers that may still accept connections: 1"
        info = c.json("show info")
        assert (info["reloads"], info["reload_failures"]) == (1, 0)
        os.kill(slow, signal.SIGCONT)
        wait_for(lambda: not serves(slow), what="it hears of the reload")
        assert len(c.ask("reload")) == 1


def test_weir_stops_while_an_old_worker_is_slow(weir):
    w = weir(workers=2, top="watchdog = 0;")
    os.kill(w.workers()[1], signal.SIGSTOP)
    reload = Reload(w)
    w.wait_log("generation 2 is in force")
    w.kill(signal.SIGTERM)
    reload.join(busy(10))
    assert reload.lines[0].startswith("generation 2 is in force")
    w.wait_exit()
    assert "reload failed" not in w.log()


def test_three_reloads_at_once(weir):
    """Everybody gets an answer to a reload that began after it asked."""
    w = weir(workers=2)
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        ctl(w, "reload"))) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    numbers = [int(re.match(r"generation (\d) is in force", r.stdout)[1])
               for r in results]
    last = ctl_json(w, "show", "info")["generation"]
    assert 2 <= min(numbers) and max(numbers) == last <= 4
    assert [r.returncode for r in results] == [0, 0, 0]
    assert ctl(w, "wait", "5m", "drained").returncode == 0


def test_waiting_for_a_generation_to_go(weir):
    w = weir()
    p = player(w.rtmp, "live", "room")
    with Control(w) as c, Control(w) as one, Control(w) as two:
        c.ask("reload")
        assert c.ask("wait 100ms drained")[0].startswith("ERR timeout ")
        assert c.ask("wait 100ms gen 1 gone")[0].startswith("ERR timeout ")
        assert [r["state"] for r in c.json("show proc")[1:]] in (
            ["draining", "ready"], ["ready", "draining"])
        one.send("wait 1h drained")
        two.send("wait 1h gen 1 gone")
        assert c.ask("ping") == ["PONG"]
        p.close()
        assert one.answer() == ["OK"] and two.answer() == ["OK"]
        assert {r["gen"] for r in c.json("show proc")[1:]} == {2}


# ---- the node's state ----

def test_state_is_told_to_balancers(weir):
    """Also after a reload, and by connections that were there before."""
    w = weir(workers=2, top='keepalive_min_timeout = "1h";')
    with Control(w) as c, Http(w.http) as kept:
        kept.send("GET", "/healthz")
        assert kept.answer().header("connection") != "close"
        for state, status in (("drain", 503), ("maint", 503), ("ready", 200)):
            c.ask(f"set state {state}")
            assert get(w.http, "/readyz").status == status
            assert get(w.http, "/healthz").status == 200
            if state == "drain":
                c.ask("reload")
                assert get(w.http, "/readyz").status == 503
                wait_for(lambda: closes(w), 5, "Connection: close")
                kept.send("GET", "/healthz")
                assert kept.answer().header("connection") == "close"
                assert kept.ended()
        wait_for(lambda: not closes(w), 5, "connections that stay")


def closes(w):
    with Http(w.http) as c:
        c.send("GET", "/healthz")
        return c.answer().header("connection") == "close"


# ---- what a reload does to old generations ----

def limit_of(w, name):
    rows = {row["name"]: row for row in ctl_json(w, "show", "limits")}
    return rows[name]["used"], rows[name]["limit"]


def test_sessions_that_the_next_reload_closes_are_foretold(weir):
    """One reload before, where they can still be waited for."""
    w = weir(top="max_generations = 3;")
    closes = "generation 1 is closed by the next reload: 1 connections end"
    with player(w.rtmp, "live", "room") as old:
        assert limit_of(w, "max_generations") == (1, 3)
        with Control(w) as c:
            assert len(c.ask("reload")) == 1, "nothing is foretold"
            w.wait_log("worker 0 of generation 1 drains")
            with player(w.rtmp, "live", "room"):
                assert closes not in c.ask("reload --dry")
                answer = c.ask("reload")
                assert answer[1:] == [closes]
                assert limit_of(w, "max_generations") == (3, 3)
                text = get(w.http, "/metrics").body.decode()
                assert "\nweir_generations 3\n" in text
                assert closes in c.ask("reload --dry")
                assert "generation 3 is in force" in answer[0]
                assert "is closed" not in w.log()
                c.ask("reload")
                w.wait_log("generation 1 is closed: more than")
                old.wait_closed()
                wait_for(lambda: limit_of(w, "max_generations") == (2, 3),
                         what="generation 3 ends: it has no connections")
    w.wait_log("generation 2 has ended")


def test_a_reload_is_rehearsed(weir):
    w = weir(workers=2, http_listen='"127.0.0.1:0", "127.0.0.2:0"')
    before = w.workers()
    w.set_config(workers=3, http_listen='"127.0.0.1:0", "127.0.0.3:0"')
    with Control(w) as c:
        lines = c.ask("reload --dry")
        assert lines[0].endswith("weir.conf: ok")
        assert set(lines[1:]) == {
            "workers: 3, now 2", "listener added: 127.0.0.3:0",
            "listener removed: 127.0.0.2:0", "listeners kept: 2"}
        assert ctl(w, "reload", "--wet").returncode != 0
    w.set_config(live='max_streams = 7;', log="nowhere/error.log")
    r = ctl(w, "reload", "--dry")
    assert r.returncode != 0
    assert "a reload cannot change live.max_streams" in r.stdout + r.stderr
    assert w.workers() == before
    assert "reload: reading" not in w.log()
