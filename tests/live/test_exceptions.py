"""What an operator wants otherwise for one client or one stream."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import socket

import pytest

from control_client import Control
from feed import Feed
from flv_client import FlvPlayer
from patience import busy
from rtmp_client import Refused, Rtmp, player
from weir import wait_for

KEYED = ', { name = "keyed"; publish = "key"; }'
COLUMNS = ["what", "of", "name", "limit", "left_s", "struck"]


def connect(port, address):
    s = socket.socket()
    s.settimeout(busy(10))
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    return s


def rtmp(port, address, app="live"):
    c = Rtmp(accepted=connect(port, address))
    c.handshake("simple")
    c.connect(app)
    return c


def http(port, address, target="/healthz"):
    """The head of the answer, "" if there is none."""
    try:
        with connect(port, address) as s:
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: t\r\n"
                      "Connection: close\r\n\r\n".encode())
            text = b""
            while data := s.recv(65536):
                text += data
            return text.decode().split("\r\n\r\n")[0]
    except ConnectionError:
        return ""


def in_force(w, count=1):
    """So many changes of the table have come to every worker; at level
    debug."""
    for pid in w.workers():
        w.wait_log(f" {pid} exceptions of the operator have changed",
                   count=count)


# ---- the table ----

def test_show(weir):
    w = weir()
    with Control(w) as c:
        assert c.json("show exceptions") == []
        assert c.ask("debug client 192.0.2.77/24 for 1h") == [
            "OK debug of 192.0.2.0/24"]
        assert c.ask("debug stream live/room") == ["OK debug of live/room"]
        rows = c.json("show exceptions")
        assert [list(r) for r in rows] == [COLUMNS] * 2
        assert [list(r.values())[:4] for r in rows] == [
            ["debug", "client", "192.0.2.0/24", ""],
            ["debug", "stream", "live/room", ""]]
        assert 3500 < rows[0]["left_s"] <= 3600 and rows[1]["left_s"] == 0
        lines = c.ask("show exceptions")
        assert lines[0].split() == COLUMNS
        assert lines[2].split() == ["debug", "stream", "live/room", "-", "0",
                                    "0"]
        assert c.ask("debug client 192.0.2.1/24 off") == ["OK"]
        assert c.ask("debug client 192.0.2.0/24 off")[0].startswith(
            "ERR missing ")
        assert c.ask("debug stream live/room off") == ["OK"]
        assert c.json("show exceptions") == []


@pytest.mark.parametrize("line", [
    "debug client", "debug client localhost", "debug client 192.0.2.0/33",
    "debug client 192.0.2.1 for", "debug client 192.0.2.1 for ever",
    "debug client 192.0.2.1 for 8d", "debug client 192.0.2.1 5s",
    "debug stream", "debug stream room", "debug stream /room",
    "debug stream live/", "debug stream live/" + 251 * "x",
    "debug stream live/room off now",
])
def test_usage(weir, line):
    w = weir()
    with Control(w) as c:
        assert c.ask(line)[0].startswith("ERR usage "), line
        assert c.json("show exceptions") == []


def test_no_more_than_64(weir):
    w = weir()
    with Control(w) as c:
        for i in range(64):
            assert c.ask(f"debug stream live/{i}")[0].startswith("OK ")
        assert c.ask("debug stream live/64")[0].startswith(
            "ERR busy there are 64 exceptions already")
        assert c.ask("debug stream live/63 for 1h")[0].startswith("OK ")
        assert len(c.json("show exceptions")) == 64


def test_time(weir):
    w = weir()
    with Control(w) as c:
        c.ask("debug stream live/long for 1h")
        c.ask("debug stream live/ever")
        c.ask("debug stream live/short for 100ms")
        c.ask("debug stream live/longer for 2h")
        w.wait_log("control: debug of live/short has ended: its time is up")
        assert [r["name"] for r in c.json("show exceptions")] == [
            "live/long", "live/ever", "live/longer"]


def test_reload_and_death_change_nothing(weir):
    """Also workers that are forked later have the table."""
    w = weir(workers=2)
    with Control(w) as c:
        c.ask("debug client 127.0.0.2 for 1h")
        c.ask("debug stream live/room")
    before = w.workers()
    w.reload()
    for pid in w.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(set(w.workers()) - set(before)) == 2, 10, "workers")
    with Control(w) as c:
        c.ask("set log level warn")
        assert [r["name"] for r in c.json("show exceptions")] == [
            "127.0.0.2", "live/room"]
    wait_for(lambda: " 200 " in http(w.http, "127.0.0.2"), 10, "an answer")
    w.wait_log(r"http 127\.0\.0\.2:\d+: \"GET /healthz HTTP/1.1\" 200, ")
    w.may_grow = True


# ---- debug ----

def quiet(w, *commands):
    """Level warn and what these commands change are in force in the one worker
    there is: it tells of a client that is debugged, and of none before it."""
    with Control(w) as c:
        for command in (*commands, "debug client 127.0.0.9",
                        "set log level warn"):
            assert c.ask(command)[0].startswith("OK")

    def is_quiet():
        at = len(w.log())
        http(w.http, "127.0.0.8")
        http(w.http, "127.0.0.9")
        wait_for(lambda: "http 127.0.0.9" in w.log()[at:], 10, "a line")
        return "127.0.0.8" not in w.log()[at:]
    wait_for(is_quiet, 10, "silence")
    return len(w.log())


def test_debug_of_a_client(weir):
    w = weir(apps=KEYED)
    at = quiet(w, "debug client 127.0.0.2")
    c = rtmp(w.rtmp, "127.0.0.2")
    port = c.local_port()
    c.msid = c.publish("room")
    f = Feed(w.rtmp, client=c).head().frames(3)
    other = player(w.rtmp, "live", "room")
    f.stop()
    other.close()
    peer = rf"rtmp 127\.0\.0\.2:{port}: "
    for line in ("connection accepted at 127", "command connect, number 1",
                 "connect on stream 0: yes", "command createStream",
                 "command publish, number .*, on stream 1",
                 "publish on stream 1: yes", "closed after .* ms"):
        w.wait_log(peer + line)
    w.wait_log(rf"\[info\] \d+ stream live/room: published by 127.0.0.2:{port}")
    w.wait_log("stream live/room: publisher left: ")
    assert "200" in http(w.http, "127.0.0.2", "/healthz?token=PSST&a=b")
    w.wait_log(r'\[debug\] .*"GET /healthz\?token=\*\*\*&a=b HTTP/1.1" 200, ')
    w.wait_log(r"http 127\.0\.0\.2:\d+: closed after 1 requests: ")
    # No secret, and nothing of anybody else.
    key = rtmp(w.rtmp, "127.0.0.2", "keyed")
    key.command("publish", None, "PSST-secret", "live",
                msid=key.create_stream())
    key.wait_closed()
    w.wait_log(r"rtmp 127\.0\.0\.2:\d+: publish keyed/\*\*\* refused: ")
    said = w.log()[at:]
    assert "PSST" not in said
    assert " 127.0.0.1:" not in said.replace("accepted at 127.0.0.1:", "")
    with Control(w) as c:
        row = c.json("show exceptions")[0]
    assert row["name"] == "127.0.0.2" and row["struck"] >= 10


def test_debug_of_a_stream(weir):
    """Its publishers and players, whoever they are, and no others."""
    w = weir(hold="1h")
    at = quiet(w, "debug stream live/room")
    feed = Feed(w.rtmp).head().frames(2)
    watching = player(w.rtmp, "live", "room")
    flv = FlvPlayer(w.http, "room")
    other = Feed(w.rtmp, "other").head().frames(2)
    w.wait_log(r"player live/room: 127.0.0.1:\d+ starts after \d+ ms", count=2)
    feed.stop()
    w.wait_log("stream live/room: publisher left: ")
    w.wait_log("player live/room: .* is on hold with its stream", count=2)
    feed = Feed(w.rtmp, first=2).head().frames(2)
    w.wait_log("player live/room: .* goes on with its stream", count=2)
    watching.close()
    flv.http.close()
    w.wait_log("stream live/room: player left: ")
    other.stop()
    feed.stop()
    w.wait_log("stream live/room: publisher left: ", count=2)
    assert "live/other" not in w.log()[at:]


def test_debug_ends(weir):
    """What is debugged no more is silent again."""
    w = weir()
    quiet(w, "debug client 127.0.0.2")
    http(w.http, "127.0.0.2")
    w.wait_log("http 127.0.0.2")
    with Control(w) as c:
        c.ask("debug client 127.0.0.2 off")

    def is_quiet():
        at = len(w.log())
        http(w.http, "127.0.0.2")
        http(w.http, "127.0.0.9")
        wait_for(lambda: "http 127.0.0.9" in w.log()[at:], 10, "a line")
        return "127.0.0.2" not in w.log()[at:]
    wait_for(is_quiet, 10, "silence")


# ---- limits ----

def limited(weir, *commands, **parts):
    """Two workers in which these limits are in force."""
    w = weir(workers=2, **parts)
    with Control(w) as c:
        c.ask("set log level debug")
        for command in commands:
            assert c.ask(command)[0].startswith("OK"), command
    in_force(w, len(commands))
    return w


def struck(w):
    with Control(w) as c:
        return [r["struck"] for r in c.json("show exceptions")]


@pytest.mark.parametrize("line", [
    "limit client", "limit client 192.0.2.1", "limit client x connections 1",
    "limit client 192.0.2.1 connections", "limit client 192.0.2.1 players 1",
    "limit client 192.0.2.1 connections -1",
    "limit client 192.0.2.1 connections 1000001",
    "limit client 192.0.2.1 connections 1 for", "limit stream live/a",
    "limit client 192.0.2.1 requests 5", "limit client 192.0.2.1 requests 0/s",
    "limit stream live/a connections 1", "limit stream live/a players some",
    "limit stream a players 1", "limit stream live/a rate 0",
    "limit stream live/a rate fast",
])
def test_usage_of_limits(weir, line):
    w = weir()
    with Control(w) as c:
        assert c.ask(line)[0].startswith("ERR usage "), line
        assert c.json("show exceptions") == []


def test_limits_are_taken_back(weir):
    w = weir()
    with Control(w) as c:
        assert c.ask("limit client 192.0.2.1 connections 5 for 1h") == [
            "OK connections of 192.0.2.1: 5"]
        c.ask("limit client 192.0.2.1 requests 5/s")
        c.ask("debug client 192.0.2.1")
        assert c.ask("limit client 192.0.2.1 connections off") == ["OK"]
        assert sorted((r["what"], r["limit"]) for r in
                      c.json("show exceptions")) == [
            ("debug", ""), ("requests", "5/s")]
        assert c.ask("limit client 192.0.2.1 off") == ["OK"]
        assert [r["what"] for r in c.json("show exceptions")] == ["debug"]
        assert c.ask("limit client 192.0.2.1 off")[0].startswith(
            "ERR missing ")


def test_connections_of_a_client(weir):
    """Over all workers and both protocols; those that were there count and
    stay, and what the operator says goes before the settings."""
    w = weir(workers=2, top="limits = { connections_per_address = 2; };")
    there = [connect(w.rtmp, "127.0.0.2") for _ in range(2)]
    for s in there:
        w.worker_of(s)
    with Control(w) as c:
        c.ask("set log level debug")
        c.ask("limit client 127.0.0.0/24 connections 3")
        in_force(w)
        there.append(connect(w.http, "127.0.0.2"))
        w.worker_of(there[-1])
        for _ in range(3):
            assert http(w.http, "127.0.0.2") == ""
        with connect(w.rtmp, "127.0.0.2") as s:
            assert s.recv(1) == b""
        assert " 200" in http(w.http, "127.0.0.3")
        assert struck(w) == [4]
        assert "too many connections of this address" in "".join(
            c.ask("show errors"))
        c.ask("limit client 127.0.0.0/24 connections 10")
        in_force(w, 2)
        assert " 200" in http(w.http, "127.0.0.2")
        c.ask("limit client 127.0.0.2 connections 0")
        in_force(w, 3)
        assert http(w.http, "127.0.0.2") == ""
        assert " 200" in http(w.http, "127.0.0.3")
    there[2].sendall(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
    assert there[2].recv(100).startswith(b"HTTP/1.1 200")
    for s in there:
        s.close()


def test_requests_of_a_client(weir):
    """Counted by all workers together."""
    w = limited(weir, "limit client 127.0.0.2 requests 3/h")
    answers = [http(w.http, "127.0.0.2", "/nothing") for _ in range(5)]
    assert [a.split()[1] for a in answers] == ["404"] + 4 * ["429"]
    assert "Retry-After: 1" in answers[1]  # 1200 or less
    assert " 200" in http(w.http, "127.0.0.3")
    assert struck(w) == [4]
    with Control(w) as c:
        assert "asked too often" in "".join(c.ask("show errors"))
    # The connection goes on.
    with connect(w.http, "127.0.0.2") as s:
        for _ in range(2):
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
            assert s.recv(4096).startswith(b"HTTP/1.1 429 ")
        s.sendall(b"POST /healthz HTTP/1.1\r\nHost: t\r\n"
                  b"Content-Length: 5\r\n\r\n")
        data = b""
        while more := s.recv(4096):
            data += more
        assert data.startswith(b"HTTP/1.1 429 ")


def test_players_of_a_stream(weir):
    """Over all workers, RTMP and HTTP-FLV; those that are there stay."""
    w = limited(weir, "limit stream live/room players 3")
    feed = Feed(w.rtmp).head().frames(2)
    there = [player(w.rtmp, "live", "room") for _ in range(2)]
    flv = FlvPlayer(w.http, "room")
    assert flv.tag() is not None
    for _ in range(3):
        c = Rtmp(w.rtmp)
        c.connect("live")
        c.play("room", wait=False)
        with pytest.raises(Refused) as refused:
            c.status("NetStream.Play.Start")
        assert "as many players as the operator allows" in str(
            refused.value.args)
        c.close()
    assert " 503 " in http(w.http, "127.0.0.2", "/live/room.flv")
    other = player(w.rtmp, "live", "other")
    assert struck(w) == [4]
    with Control(w) as c:
        assert "as many players as the operator allows" in "".join(
            c.ask("show errors"))
        c.ask("limit stream live/room players 1")
        in_force(w, 2)
    feed.frames(2)
    assert flv.tag() is not None
    there.pop().close()
    wait_for(lambda: "player left" in w.log(), 10, "the end of a player")
    assert " 503 " in http(w.http, "127.0.0.2", "/live/room.flv")
    for c in there + [other]:
        c.close()
    flv.http.close()
    feed.stop()


def test_rate_of_a_stream(weir):
    """A publisher that sends too much is told so; others go on."""
    w = limited(weir, "limit stream live/room rate 10k",
                "limit stream live/other rate 1g")
    other = Feed(w.rtmp, "other", size=20000).head().run()
    feed = Feed(w.rtmp, size=20000).head().run()
    with pytest.raises(Refused) as refused:
        feed.c.status("NetStream.Publish.Start", timeout=busy(30))
    assert "more than the operator allows the stream" in str(
        refused.value.args)
    w.wait_log("stream live/room: publisher stopped: it sends more than")
    assert struck(w) == [1, 0]
    with Control(w) as c:
        assert "more than the operator allows" in "".join(
            c.ask("show errors"))
        streams = {r["name"]: r["state"] for r in c.json("show streams")}
        assert streams["live/other"] == "live"
        c.ask("limit stream live/room off")
        in_force(w, 3)
    feed.stop()
    again = Feed(w.rtmp).head().frames(2)
    again.stop()
    other.stop()
