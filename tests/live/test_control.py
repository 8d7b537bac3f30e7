"""The control socket: protocol, bounds, what it tells and what it does."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json
import os
import random
import re
import signal
import socket
import stat
import time

import pytest

from control_client import Control, connect
from feed import Feed, read_until
from flv_client import FlvPlayer
from http_client import Http, get
from patience import busy
from rtmp_client import Closed, Rtmp, player
from weir import (SANITIZED, configuration, count_open, descriptors, place,
                  resident, run, wait_for)

TABLES = {
    "show proc": "slot pid name gen state uptime_s conns pumps accepted "
                 "rss_kb failures starts_in_ms why",
    "show listeners": "proto address sockets queued backlog state names",
    "show limits": "name used limit largest holds",
    "show fd": "slot pid name open limit conns",
    "show memory": "slot pid name rss_kb private_kb file_kb shared_kb peak_kb "
                   "swap_kb threads",
    "show activity": "slot pid name cpu_ms turns in_turn_ms accepted "
                     "log_dropped waits preempted",
    "show streams": "name state publisher uptime_s video audio kbps players "
                    "frames dropped memory_kb",
    "show sess": "id kind protocol stream peer uptime_s video_kb audio_kb "
                 "dropped pid url",
    "show errors": "time proto peer pid offset bytes reason",
    "show events": "time level pid message",
}


@pytest.mark.parametrize("command", sorted(TABLES))
def test_tables(weir, command):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    http = Http(w.http)
    http.raw(b"GET /\r\n\r\n")
    http.answer()
    with Control(w) as c:
        lines = c.ask(command)
        rows = c.json(command)
    columns = TABLES[command].split()
    assert lines[0].split() == columns
    assert rows and len(lines) > 1
    for row in rows:
        assert list(row) == columns
    for line in lines[1:]:
        assert len(line.split(None, len(columns) - 1)) == len(columns), line
    f.stop()


def test_pairs(weir):
    w = weir(workers=2)
    with Control(w) as c:
        info = dict(line.split(": ", 1) for line in c.ask("show info"))
        data = c.json("show info")
        assert list(info) == list(data)
        assert data["pid"] == w.master() and info["workers"] == "2"
        assert data["processes"] == 3 and data["phase"] == "serving"
        assert data["file"].endswith("weir.conf")
        assert c.json("version")["version"] == data["version"]
        assert "module_hello" in c.json("build")


@pytest.mark.parametrize("command", ["help", "help show", "ping",
                                     "show config", "test"])
def test_lines(weir, command):
    w = weir()
    with Control(w) as c:
        lines = c.ask(command)
        assert lines and all(lines)
        assert c.json(command)["lines"] == lines


def test_listeners_are_those_in_use(weir):
    w = weir(workers=2)
    with Control(w) as c:
        found = {(r["proto"], r["address"]): r for r in
                 c.json("show listeners")}
    assert found[("rtmp", f"127.0.0.1:{w.rtmp}")]["sockets"] == 2
    assert ("http", f"127.0.0.1:{w.http}") in found


def test_config_masks_and_can_be_read_again(weir, tmp_path):
    w = weir()
    with Control(w) as c:
        text = "\n".join(c.ask("show config"))
    place(tmp_path / "again", text)
    assert run("-t", "-c", str(tmp_path / "again/weir.conf")).returncode == 0


# ---- the protocol ----

def test_several_on_a_line_and_quotes(weir):
    w = weir()
    with Control(w) as c:
        c.send('ping;  ; hello "a; b" ;version;')
        assert c.answer() == ["PONG"]
        assert c.answer() == ["OK hello, a; b"]
        assert c.answer()[0].startswith("version: ")
        assert c.ask("\rprompting\r") == ["ERR unknown no command "
                                          '"\\x0dprompting"; help lists them']
        assert c.ask("ping\r") == ["PONG"]


@pytest.mark.parametrize("line, code", [
    ("shw info", "unknown"), ("show", "unknown"), ("ping now", "usage"),
    ("kick sess x", "usage"), ("kick sess 1:999999", "missing"),
    ("kick addr somewhere", "usage"), ("kick stream", "usage"),
    ("kick stream live/a everybody", "usage"), ("set state away", "usage"),
    ("set log level loud", "usage"), ("set log level info for", "usage"),
    ("set log level info for 5", "usage"), ("wait", "usage"),
    ("wait 1s for", "usage"), ("show errors 0", "usage"),
    ("show sess 1:2 peer", "usage"), ("show events loud", "usage"),
    ('hello "x', "usage"), ("a " * 30, "usage"), ("help xyz", "unknown"),
])
def test_failures(weir, line, code):
    w = weir()
    with Control(w) as c:
        for suffix in ("", " --json"):
            assert c.ask(line + suffix)[0].startswith(f"ERR {code} ")
        assert c.ask("ping") == ["PONG"]


@pytest.mark.parametrize("verb", ["help", "help wait", "show", "kick",
                                  "set log", "wait", "reload", "stop"])
def test_many_long_words(weir, verb):
    """Words may be longer than the places they are put together in."""
    w = weir()
    with Control(w) as c:
        for count in range(1, 22):
            c.ask(f"{verb} {' '.join(['A' * 300] * count)}")
            assert c.ask("ping") == ["PONG"]


def test_prompt(weir):
    w = weir()
    with Control(w) as c:
        assert c.ask("prompt") == ["OK prompt is on"]
        c.send("ping")
        assert c.answer() == ["> PONG"]
        c.send("prompt")
        assert c.answer() == ["> OK prompt is off"]
        assert c.ask("ping") == ["PONG"]


def test_half_closed_clients_get_their_answers(weir):
    w = weir()
    s = connect(w)
    s.sendall(b"show info; ping\nversion\n")
    s.shutdown(socket.SHUT_WR)
    data = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        data += more
    assert data.count(b"\n\n") == 3 and b"\n\nPONG\n\n" in data


def test_byte_by_byte(weir):
    w = weir()
    with Control(w) as c:
        for byte in b"show proc\n":
            c.s.sendall(bytes([byte]))
        assert c.answer()[0].startswith("slot")


def test_garbage(weir):
    w = weir()
    r = random.Random(5)
    for _ in range(20):
        with Control(w) as c:
            data = bytes(r.choice(b" ;\"\x00\xff\n\rshowping--json%s")
                         for _ in range(3000))
            try:
                c.s.sendall(data + b'"\n')
                c.s.shutdown(socket.SHUT_WR)
            except ConnectionError:
                pass
            assert c.ended()
    with Control(w) as c:
        assert c.ask("ping") == ["PONG"]


def test_long_lines(weir):
    w = weir()
    with Control(w) as c:
        assert c.ask("hello " + "x" * 900)[0].startswith("OK hello, xxx")
        c.s.sendall(b"x" * 20000)
        assert c.answer()[0].startswith("ERR long ")
        assert c.ended()


def test_a_line_must_be_finished_in_time(weir):
    w = weir(top='control = { timeout = "300ms"; };')
    with Control(w) as c:
        c.s.sendall(b"pi")
        assert c.answer()[0].startswith("ERR timeout ")
        assert c.ended()
    with Control(w) as c:  # nothing at all is not a half line
        time.sleep(0.5)
        assert c.ask("ping") == ["PONG"]


def test_who_does_not_read_is_dropped(weir):
    w = weir(top='control = { timeout = "300ms"; };')
    before = resident(w.master())
    clients = [Control(w) for _ in range(20)]
    for c in clients:
        c.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.send(";".join(["show config"] * 600))
    w.wait_log(r"does not read its answer and is dropped", count=20)
    assert SANITIZED or resident(w.master()) - before < 8 << 20
    for c in clients:
        assert c.ended()
    with Control(w) as c:
        assert c.ask("ping") == ["PONG"]


def test_clients_are_bounded(weir):
    w = weir()
    clients = [Control(w) for _ in range(64)]
    for c in clients:
        assert c.ask("ping") == ["PONG"]
    with Control(w) as late:
        assert late.answer()[0].startswith("ERR busy ")
        assert late.ended()
    clients.pop().s.close()

    def there_is_room():
        with Control(w) as c:
            try:
                return c.ask("ping") == ["PONG"]
            except (AssertionError, ConnectionError):
                return False
    wait_for(there_is_room)
    for c in clients:
        assert c.ask("ping") == ["PONG"]
        c.s.close()


def test_others_do_not_keep_an_admin_out(weir, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    w = weir(top='control = { mode = "0666"; };')
    monkeypatch.chdir(f"{w.prefix}/run")

    def other(uid=65534):
        os.seteuid(uid)
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect("control.sock")  # waits while the queue is full
            s.settimeout(busy(10))
            return s
        finally:
            os.seteuid(0)
    crowd = [other() for _ in range(70)]
    for s in crowd[:56]:
        s.sendall(b"ping\n")
        assert s.recv(64) == b"PONG\n\n"
    assert b"ERR busy " in crowd[56].recv(64)
    with Control(w) as admin:
        assert admin.ask("ping") == ["PONG"]
    # Nor do they fill the log with what they may not.
    for s in crowd[:4]:
        s.sendall((";".join(["stop"] * 1000) + "\n").encode())
    for s in crowd[:4]:
        data = b""
        while data.count(b"ERR denied ") < 1000:
            data += s.recv(65536)
    w.wait_log(r"more like this were not written")
    assert len(re.findall(": stop: denied", w.log())) < 2000
    for s in crowd:
        s.close()


def test_children_do_not_hold_clients(weir):
    """A worker that is forked while a client is there knows nothing of it."""
    w = weir()
    old, = w.workers()
    before = len(descriptors(old))
    clients = [Control(w) for _ in range(10)]
    os.kill(old, signal.SIGKILL)

    def successor():
        row = clients[0].json("show proc")[1]
        return row["state"] == "ready" and row["pid"] not in (0, old) and row
    pid = wait_for(successor)["pid"]
    assert 0 < len(descriptors(pid)) <= before
    for _ in range(3):  # forked in the middle of answers
        for c in clients:
            c.send("ping;" * 200)
        os.kill(pid, signal.SIGKILL)
        for c in clients:
            assert [c.answer() for _ in range(200)] == [["PONG"]] * 200
        old, pid = pid, wait_for(lambda: w.workers() != [pid] and
                                 w.workers())[0]
    for c in clients:
        c.s.close()


def test_memory_is_given_back(weir):
    w = weir()
    with Control(w) as c:
        c.json("show sess")
        before = resident(w.master())
        for _ in range(300):
            c.send("show info; show proc --json; show streams; foo; "
                   "show events --json; help; show config --json")
            for _ in range(7):
                c.answer()
        assert SANITIZED or resident(w.master()) - before < 2 << 20


# ---- the socket ----

def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_mode_and_removal(weir):
    w = weir(top='control = { mode = "0640"; };')
    path = f"{w.prefix}/run/control.sock"
    assert mode_of(path) == 0o640
    assert not os.path.exists(path + ".new")
    w.stop()
    assert not os.path.exists(path)


def test_no_socket(weir):
    w = weir(top='control = { socket = ""; };')
    assert "control.sock" not in os.listdir(f"{w.prefix}/run")


def test_stale_socket_is_replaced(weir):
    w = weir()
    w.kill(signal.SIGKILL)
    w.process.wait()
    assert os.path.exists(f"{w.prefix}/run/control.sock")
    wait_for(lambda: not w.workers(), 5)
    w.start()
    with Control(w) as c:
        assert c.json("show info")["pid"] == w.master()


def test_removed_socket_is_made_again_by_a_reload(weir):
    w = weir()
    os.unlink(f"{w.prefix}/run/control.sock")
    w.reload()
    with Control(w) as c:
        assert c.json("show info")["pid"] == w.master()
    w.stop()
    assert not os.path.exists(f"{w.prefix}/run/control.sock")


def test_live_socket_is_refused(weir):
    w = weir()
    text = configuration().replace("run/weir.pid", "run/other.pid")
    with open(f"{w.prefix}/other.conf", "w", encoding="utf-8") as f:
        f.write(text)
    r = run("-c", f"{w.prefix}/other.conf", "-p", w.prefix)
    assert r.returncode == 2
    assert "control.socket: another process listens on" in r.stderr
    with Control(w) as c:
        assert c.json("show info")["pid"] == w.master()


def test_folder_that_everybody_may_write_to(tmp_path):
    place(tmp_path, configuration(
        top='control = { socket = "open/control.sock"; };'))
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    r = run("-c", "weir.conf", prefix=tmp_path)
    assert r.returncode == 2 and "everybody may write" in r.stderr


# ---- what is told ----

def test_streams_and_sessions(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp, "one").head().frames(3)
    players = [player(w.rtmp, "live", "one") for _ in range(3)]
    flv = FlvPlayer(w.http, "one")
    flv.read_until("video 2")
    for p in players:
        read_until(p, "video 2")
    with Control(w) as c:
        s, = c.json("show streams")
        assert s["name"] == "live/one" and s["state"] == "live"
        assert s["players"] == 4 and s["video"] == "H.264"
        assert s["publisher"] == f"127.0.0.1:{f.c.local_port()}"
        assert s["frames"] >= 6
        assert c.json("show streams live/two") == []
        rows = c.json("show sess")
        assert len({r["id"] for r in rows}) == 5
        assert {r["pid"] for r in rows} <= set(w.workers())
        assert [r["kind"] for r in rows].count("publisher") == 1
        port = players[0].local_port()
        mine, = [r for r in rows if r["peer"] == f"127.0.0.1:{port}"]
        found, = c.json(f"show sess {mine['id']}")
        assert {**found, "uptime_s": 0} == {**mine, "uptime_s": 0}
        assert len(c.json("show sess all addr 127.0.0.1 stream live/one")) == 5
        assert len(c.json("show sess addr 127.0.0.0/8")) == 5
        assert c.json("show sess addr 192.0.2.1") == []
        assert c.json("show sess stream live/two") == []
        assert c.json("show sess older 1h") == []
    f.stop()
    flv.close()
    for p in players:
        p.close()


def test_errors_without_secrets(weir):
    w = weir(app='publish_access = [ "deny all" ];')
    with Http(w.http) as h:
        head = (b"GET /a?token=PSST1 HTTP/1.1\r\nAuthorization: Basic PSST2"
                b"\r\nCookie: PSST3\r\nBad Name: x\r\n\r\n")
        h.raw(head)
        assert h.answer().status == 400
        peer = f"127.0.0.1:{h.sock.getsockname()[1]}"
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("publish", None, "PSST4secretkey", "live",
                  msid=c.create_stream())
        with pytest.raises(Exception):
            c.status()
    with socket.create_connection(("127.0.0.1", w.rtmp)) as s:
        s.sendall(b"\x16\x03\x01 tls?")
        s.recv(100)
    with Control(w) as c:
        rows = c.json("show errors")
        text = "\n".join(c.ask("show errors"))
        http, rtmp, tls = rows
        assert http["proto"] == "http" and http["peer"] == peer
        assert http["reason"] == "malformed header name"
        assert " malformed header name\n" in text  # words, as they are read
        assert http["offset"] == head.index(b" Name")
        assert http["bytes"].endswith("Bad Name: x\\x0d\\x0a\\x0d\\x0a")
        assert "Bad_Name:_x\\x0d\\x0a\\x0d\\x0a " in text  # escaped once
        assert rtmp["reason"] == "not allowed from this address"
        assert rtmp["bytes"] == "publish live/PSST..."
        assert tls["bytes"].startswith("\\x16\\x03\\x01")
        for secret in ("PSST1", "PSST2", "PSST3", "secretkey"):
            assert secret not in text
        assert c.json("show errors 1") == [tls]
        assert c.ask("clear counters") == ["OK"]
        assert c.json("show errors") == []


def test_errors_of_filters_limits_and_time(weir):
    """What is refused after its head was read, or before one came."""
    # A server of its own for the head that comes late.
    late = ('client_header_timeout = "200ms"; locations = ( { path = "/"; '
            'module = "status"; } ); }, { listen = "127.0.0.1:0";')
    w = weir(top='limits = { exempt = "deny all"; '
                 'connections_per_address = 3; };', http=late,
             locations="""{ path = "/no"; access = [ "deny all" ];
                            module = "status"; },
                          { path = "/who"; module = "status";
                            auth = { type = "bearer";
                                     tokens = "PSSTsecretPSSTsecret"; }; },
                          { path = "/few"; module = "status";
                            rate = { rate = "1/m"; burst = 1; }; },""")
    for path, status in (("/no/healthz", 403), ("/who/healthz", 401),
                         ("/few/healthz", 200),
                         ("/few/healthz?token=PSSTarg", 429)):
        assert get(w.port("http", 1), path).status == status, path
    with Http(w.http) as c:
        c.raw("GET /late HT")
        assert c.answer().status == 408
    wait_for(w.settled, 5)
    # Where heads may come late, and the worker has taken all of them.
    some = [socket.create_connection(("127.0.0.1", w.port("http", 1)))
            for _ in range(3)]
    wait_for(lambda: sum(count_open(pid) for pid in w.workers()) >=
             sum(w.at_start.values()) + 3, 5, "three connections")
    with socket.create_connection(("127.0.0.1", w.rtmp)) as s:
        assert s.recv(1) == b""
    for s in some:
        s.close()
    with Control(w) as c:
        rows = c.json("show errors")
    assert [r["reason"] for r in rows] == [
        "address not allowed", "not authenticated", "asked too often",
        "the request head took too long",
        "too many connections of this address"]
    assert [r["proto"] for r in rows] == ["http"] * 4 + ["rtmp"]
    for row, begin in zip(rows, ("GET /no/healthz ", "GET /who/healthz ",
                                 "GET /few/healthz?*****", "GET /late HT")):
        assert row["bytes"].startswith(begin)
    assert "PSST" not in str(rows)


def test_many_errors_cost_no_memory(weir):
    w = weir()
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", w.http)) as s:
            s.sendall(b"GET /" + b"a" * 4000 + b"\x01 HTTP/1.1\r\n\r\n")
            s.recv(10)
    with Control(w) as c:
        assert 200 <= len(c.json("show errors")) <= 256


def test_events(weir):
    w = weir()
    with Control(w) as c:
        assert any("ready" in r["message"] for r in c.json("show events"))
        assert c.json("show events error") == []
        assert all("listening" in r["message"] for r in
                   c.json("show events match listening"))
        w.set_config(app='publish_conflict = "loud";')
        c.ask("reload")
        said = c.json("show events match loud")[0]["message"]
        assert '"loud"' in said
        assert said in "\n".join(c.ask("show events error"))


def test_events_are_followed(weir):
    w = weir()
    with Control(w) as follower, Control(w) as c, Control(w) as j:
        follower.send("show events -w warn match \"ended by signal\"")
        assert follower.line().split()[:2] == ["time", "level"]
        j.send("show events -w warn --json")
        os.kill(w.workers()[0], signal.SIGKILL)
        assert "warn" in follower.line()
        assert '"level":"warn"' in j.line()
        assert c.ask("ping") == ["PONG"]


def test_a_process_that_dies_is_seen(weir):
    w = weir()
    old = w.workers()[0]
    with Control(w) as c:
        for _ in range(4):
            pid = wait_for(w.workers, 10)[0]
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda p=pid: p not in w.workers(), 5)

        def waiting():
            row = c.json("show proc")[1]
            if row["state"] == "ready":  # it was not looked at in time
                with contextlib.suppress(ProcessLookupError):
                    os.kill(row["pid"], signal.SIGKILL)
            return row if row["pid"] == 0 else None
        row = wait_for(waiting, 5)
        assert row["failures"] >= 2 and row["starts_in_ms"] > 0
        assert row["name"] == "worker 0" and row["state"] == "crash loop"
        wait_for(lambda: c.json("show proc")[1]["pid"] not in (0, old), 10)
        wait_for(lambda: c.json("show proc")[1]["state"] == "ready", 20)


def test_two_thousand_sessions(weir):
    """They are listed whole, and others are answered meanwhile."""
    w = weir(workers=2, flv='flv_wait = "1h";')
    players = []
    for _ in range(2000):
        s = socket.create_connection(("127.0.0.1", w.http))
        s.sendall(b"GET /live/nobody.flv HTTP/1.1\r\nHost: x\r\n\r\n")
        players.append(s)
    with Control(w) as c, Control(w) as other:
        wait_for(lambda: c.json("show info")["sessions"] == 2000, 20)
        for _ in range(5):
            c.send("show sess; show sess --json; show sess --json")
            # More than the socket holds: it is under way until it is read.
            assert other.ask("ping") == ["PONG"]
            assert len(c.answer()) == 2001
            assert other.ask("ping") == ["PONG"]
            for _ in range(2):
                assert len(json.loads(c.answer()[0])) == 2000
        assert len({r["id"] for r in c.json("show sess")}) == 2000
        assert c.json("kick addr loopback")["kicked"] == 2000
        wait_for(lambda: c.json("show info")["sessions"] == 0, 10)
    for s in players:
        s.close()


# ---- what is done ----

def test_kick_one_of_several(weir):
    w = weir(workers=3)
    f = Feed(w.rtmp).head().frames(2)
    players = [player(w.rtmp, "live", "room") for _ in range(8)]
    for p in players:
        read_until(p, "video 1")
    with Control(w) as c:
        ports = {p.local_port(): p for p in players}
        rows = {r["id"]: int(r["peer"].rsplit(":")[1]) for r in
                c.json("show sess") if r["kind"] == "player"}
        assert len(rows) == 8
        for count, (id_, port) in enumerate(list(rows.items())[:4]):
            assert c.json(f"kick sess {id_}") == {"kicked": 1}
            gone = ports.pop(port)
            info = gone.status("NetStream.Play.UnpublishNotify")
            assert "kicked by the operator" in info["description"]
            gone.wait_closed()
            wait_for(lambda n=count: len(c.json("show sess")) == 8 - n)
        assert c.ask(f"kick sess {id_}")[0].startswith("ERR missing")
        f.frames(3)
        for p in ports.values():
            read_until(p, "video 4")
            p.close()
    f.stop()


def test_kick_the_players_of_a_stream(weir):
    w = weir(workers=3)
    f = Feed(w.rtmp, "a").head().frames(2)
    other = Feed(w.rtmp, "b").head().frames(2)
    players = [player(w.rtmp, "live", "a") for _ in range(6)]
    flv = FlvPlayer(w.http, "a")
    stays = player(w.rtmp, "live", "b")
    for p in players:
        read_until(p, "video 1")
    flv.read_until("video 1")
    read_until(stays, "video 1")
    with Control(w) as c:
        assert c.json("kick stream live/a players") == {"kicked": 7}
        for p in players:
            p.wait_closed()
        while flv.tag():
            pass
        assert c.ask("kick stream live/a players") == [
            "ERR missing nobody is there who is meant"]
        assert len(c.json("show streams")) == 2
    f.frames(2)
    other.frames(2)
    read_until(stays, "video 3")
    for x in (f, other):
        x.stop()
    stays.close()
    flv.close()


def test_kick_the_publisher(weir):
    w = weir(workers=2, hold="1h")
    f = Feed(w.rtmp).head().frames(2)
    players = [player(w.rtmp, "live", "room") for _ in range(4)]
    for p in players:
        read_until(p, "video 1")
    with Control(w) as c:
        assert c.json("kick stream live/room publisher") == {"kicked": 1}
        with pytest.raises(Exception) as refused:
            f.c.status()
        assert "kicked by the operator" in str(refused.value.args)
        f.c.wait_closed()
        wait_for(lambda: c.json("show streams")[0]["state"] == "hold")
        g = Feed(w.rtmp, first=2).head().frames(2)  # and may come back
        assert c.json("show streams")[0]["state"] == "live"
        for p in players:
            read_until(p, "video 3")
            p.close()
    g.stop()


def test_kick_by_address(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp).head().frames(2)
    near = player(w.rtmp, "live", "room")
    with Control(w) as c:
        assert c.ask("kick addr 192.0.2.0/24")[0].startswith("ERR missing ")
        assert c.json("kick addr 127.0.0.0/8") == {"kicked": 2}
        near.wait_closed()
        f.c.wait_closed()
        wait_for(lambda: c.json("show sess") == [], what="no session")
    f.stop()


def test_log_level_goes_back(weir):
    w = weir(workers=2)
    with Control(w) as c:
        for old, new in (("info", "debug"), ("debug", "warn")):
            assert c.ask(f"set log level {new}") == [f"OK {old} -> {new}"]
            assert c.json("show info")["log_level"] == new
        c.ask("set log level debug for 1h")
        for _ in range(8):  # every worker says a line of level debug
            with Rtmp(w.rtmp) as r:
                r.connect("live")
                r.command("fooBar", None)
                r.answer(r.command("_checkbw", None))
        said = r"\[debug\] (\d+) rtmp \S+ command fooBar,"
        w.wait_log(said, count=8)
        lines = re.findall(said, w.log())
        assert {int(pid) for pid in lines} <= set(w.workers())
        assert len(lines) == 8
        c.ask("set log level debug for 1s")
        victim = w.workers()[0]
        os.kill(victim, signal.SIGKILL)  # its successor inherits it
        wait_for(lambda: victim not in w.workers() and len(w.workers()) == 2)
        wait_for(lambda: c.json("show info")["log_level"] == "info", 10)
        with Rtmp(w.rtmp) as r:
            r.connect("live")
            r.command("barFoo", None)
            r.answer(r.command("_checkbw", None))
            peer = f"127.0.0.1:{r.local_port()}"
        w.wait_log(f"rtmp {peer}: closed")
        assert "barFoo" not in w.log()
    w.allowed.append("")


def test_state(weir):
    w = weir()
    with Control(w) as c:
        assert c.ask("set state drain") == ["OK ready -> drain"]
        assert c.ask("set state maint") == ["OK drain -> maint"]
        assert c.json("show info")["state"] == "maint"
        assert c.ask("set state ready") == ["OK maint -> ready"]


def test_reopen(weir):
    w = weir()
    log = f"{w.prefix}/run/access.log"
    os.rename(log, log + ".1")
    with Control(w) as c:
        assert c.ask("reopen") == ["OK"]
    wait_for(lambda: os.path.exists(log), what="a new access log")


def test_wait(weir):
    w = weir(workers=2)
    with Control(w) as c, Control(w) as other:
        began = time.monotonic()
        assert c.ask("wait 200ms") == ["OK"]
        assert time.monotonic() - began >= 0.19
        assert c.ask("wait 1h drained") == ["OK"]
        assert c.ask("wait 1h gen 7 gone") == ["OK"]
        assert c.ask("wait 100ms gen 1 gone")[0].startswith("ERR timeout ")
        assert c.ask("wait 0s stream live/room up")[0].startswith(
            "ERR timeout ")
        c.send("wait 1h stream live/room up; ping")
        assert other.ask("ping") == ["PONG"]
        f = Feed(w.rtmp).head().frames(1)
        assert c.answer() == ["OK"]
        assert c.answer() == ["PONG"]
        f.stop()
        c.send("wait 1h")  # who goes while waiting leaves nothing
    with Control(w) as c:
        wait_for(lambda: c.json("show info")["control_clients"] == 1)


def test_audit(weir):
    w = weir()
    with Control(w) as c:
        c.ask("ping")
        c.ask("show info")
        c.ask("kick stream live/a?key=PSST players")
        c.ask("kick sess 1:77")
        c.ask("kick sess \"1\x01:2\"")
    me = rf"pid {os.getpid()} uid {os.getuid()} \(\S+\) level admin"
    w.wait_log(rf"\[notice\] \d+ control: {me}: kick stream live/a\?\*+ "
               "players\n")
    w.wait_log(rf"control: {me}: kick sess 1:77: missing ")
    w.wait_log(rf"control: {me}: kick sess 1\\x01:2")
    assert "PSST" not in w.log()
    assert not re.search(r"level admin: (ping|show info)", w.log())


def test_stop_answers_when_all_is_over(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp).head().frames(2)
    with Control(w) as c:
        lines = c.ask("stop")
        assert lines[-1] == "OK stopped"
        assert c.ended()
    assert w.wait_exit() == 0
    f.stop()


def test_quit_waits_for_sessions(weir):
    w = weir(workers=2, top='stop_drain = "1h";')
    f = Feed(w.rtmp).head().frames(2)
    with Control(w) as c, Control(w) as other:
        c.send("quit")
        assert c.line().startswith("stopping: 2 processes")
        assert other.json("show info")["phase"] == "draining"
        assert "1 connections" in wait_for(
            lambda: (lambda x: x if "stopping: 1 processes" in x else None)
            (c.line()), 10)
        f.frames(2)
        f.stop()
        assert c.answer()[-1] == "OK stopped"
    assert w.wait_exit() == 0


def test_quit_with_a_time(weir):
    w = weir(top='stop_drain = "1h";')
    f = Feed(w.rtmp).head().frames(2)
    with Control(w) as c:
        began = time.monotonic()
        assert c.json("quit 300ms") == {"ok": True, "text": "stopped"}
        assert time.monotonic() - began > 0.25
    with pytest.raises((Closed, OSError)):
        f.frames(1)
    assert w.wait_exit() == 0
    f.stop()


def test_show_config_changed(weir):
    """What somebody has set, without the rest."""
    w = weir(top='stop_drain = "31s";')
    with Control(w) as c:
        text = "\n".join(c.ask("show config changed"))
        whole = "\n".join(c.ask("show config"))
        assert 'stop_drain = "31s";' in text and "watchdog" not in text
        assert "watchdog" in whole and len(text) < len(whole) / 2
        assert c.ask("show config all")[0].startswith("ERR usage ")


def test_each_process_is_looked_at(weir):
    w = weir(workers=2)
    http = Http(w.http)
    http.send("GET", "/healthz")
    assert http.answer().status == 200  # a worker has the connection

    def count(c):
        """What "show fd" says when nothing has changed beside it."""
        files = c.json("show fd")
        return all(os.geteuid() != 0 or r["pid"] == w.master() or
                   r["open"] == len(os.listdir(f"/proc/{r['pid']}/fd"))
                   for r in files) and files

    with Control(w) as c:
        files = wait_for(lambda: count(c), 10, "as many as there are")
        memory = c.json("show memory")
        before = {r["pid"]: r for r in c.json("show activity")}
        assert get(w.http, "/healthz").status
        after = {r["pid"]: r for r in c.json("show activity")}
    pids = {w.master(), *w.workers()}
    assert {r["pid"] for r in files} == {r["pid"] for r in memory} == pids
    assert set(before) == pids
    assert sum(r["conns"] for r in files) >= 1
    for r in files:
        assert 3 < r["open"] < r["limit"], r
    for r in memory:
        assert 0 < r["private_kb"] < r["rss_kb"] <= r["peak_kb"]
        assert r["threads"] >= 1
    for pid, r in after.items():
        assert r["turns"] >= before[pid]["turns"] and r["waits"] > 0
    assert sum(r["accepted"] for r in after.values()) > \
        sum(r["accepted"] for r in before.values())
    http.close()


def test_a_listener_is_disabled_and_enabled(weir):
    """The others go on, and so do connections that are there."""
    w = weir(workers=2)
    address = f"127.0.0.1:{w.http}"

    def state(c):
        return [r["state"] for r in c.json("show listeners")
                if r["address"] == address]

    def is_answered(timeout=0.5):
        try:
            socket.create_connection(("127.0.0.1", w.http), timeout).close()
            return True
        except socket.timeout:
            return False

    there = Http(w.http)
    with Control(w) as c:
        assert state(c) == ["ready"] and is_answered(busy(5))
        assert c.ask(f"disable listener {address}") == ["OK"]
        assert state(c) == ["disabled"] and not is_answered()
        there.send("GET", "/healthz")
        assert there.answer().status == 200
        with socket.create_connection(("127.0.0.1", w.rtmp), busy(5)):
            pass
        assert c.ask(f"enable listener {address}") == ["OK"]
        assert state(c) == ["ready"] and is_answered(busy(5))
        assert c.ask(f"disable listener {address}") == ["OK"]
        assert "is in force" in c.ask("reload")[0]
        assert state(c) == ["ready"] and is_answered(busy(5))
        assert c.ask("disable listener 127.0.0.1:9")[0].startswith(
            "ERR missing ")
        assert c.ask("disable listener")[0].startswith("ERR usage ")
    there.close()
