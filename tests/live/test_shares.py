"""Nobody keeps others out: how much of each pool one address may hold.

The hog is 127.0.0.2 and takes all that it is given; everybody else is served
meanwhile."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import re
import socket
import threading

import pytest

from control_client import Control
from enhanced_publisher import Clips, EnhancedPublisher, Track
from feed import Feed
from http_client import Http
from patience import busy
from rtmp_client import Closed, Refused, Rtmp
from share_help import HOG, NOBODY_EXEMPT, gave, refusals, row
from socket_help import Place, location
from weir import wait_for

CONTROL = 'control = { socket = "run/control.sock"; };'
HLS = '{ path = "/hls"; module = "hls"; },'
FRIEND = "127.0.0.3"
TARGET = "/hls/live/room.m3u8"
ROUNDS = 20  # in which others come, while the hog is at it
BROKEN = (OSError, EOFError, AssertionError, Closed, Refused)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def rtmp(w, source):
    """Connected to application "live"."""
    s = socket.create_connection(("127.0.0.1", w.rtmp), busy(10),
                                 source_address=(source, 0))
    c = Rtmp(accepted=s)
    c.handshake("simple")
    c.connect("live")
    return c


class Hogs:
    """Threads that do something again and again, whatever comes of it."""

    def __init__(self, count, act):
        self.act, self.stopping, self.done = act, threading.Event(), 0
        self.threads = [threading.Thread(target=self._run, daemon=True)
                        for _ in range(count)]

    def _run(self):
        while not self.stopping.is_set():
            with contextlib.suppress(*BROKEN):
                self.act(self.stopping)
                self.done += 1

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for t in self.threads:
            t.join()


def publish(w, clips):
    """A stream that HLS can offer, by 127.0.0.1."""
    p = EnhancedPublisher(w.rtmp, name="room", tracks=[
        Track(clips.make("h264", seconds=2, size="160x90")),
        Track(clips.make("aac", seconds=2))])
    p.send(9)
    return p


def ask(w, source, http=None):
    """The answer to a new viewer's request for its media playlist."""
    with contextlib.ExitStack() as stack:
        http = http or stack.enter_context(Http(w.http, source=source))
        http.send("GET", TARGET)
        a = http.answer()
        uri = re.search(rb"^[^#\s].*$", a.body, re.M)
        if a.status == 200 and uri:
            http.send("GET", f"/hls/live/{uri[0].decode()}")
            a = http.answer()
        return a


def watches(w, source="127.0.0.1"):
    return ask(w, source).status == 200


def comes_and_goes(w, source="127.0.0.1", name="other"):
    """A publisher, and a player of its stream."""
    p, c = rtmp(w, source), rtmp(w, source)
    p.publish(name)
    c.play(name)
    c.sock.close()
    p.sock.close()


def is_bounded(w, pool, size, most):
    told = row(w, pool)
    assert told["limit"] == size
    assert told["used"] <= size
    assert told["largest"] == HOG and told["holds"] <= most, told


# ---- sessions ----

def test_viewers_of_one_address(weir, clips):
    """It draws a viewer with each request, on eight connections."""
    w = weir(workers=2, locations=HLS, top=NOBODY_EXEMPT + CONTROL,
             live="max_sessions = 256;")
    p = publish(w, clips)
    wait_for(lambda: watches(w), 20, "a playlist")

    def draw(stopping):
        with Http(w.http, source=HOG) as http:
            while not stopping.is_set():
                ask(w, HOG, http)

    def is_refused():
        a = ask(w, HOG)
        return a.status == 503 and a.header("retry-after") == "1" and \
            b"your address has its share of live.max_sessions" in a.body

    with Hogs(8, draw):
        wait_for(lambda: row(w, "live.max_sessions")["holds"] >= 128, 20,
                 "the hog's share")
        for n in range(ROUNDS):
            assert watches(w)
            comes_and_goes(w, name=f"room{n}")
        is_bounded(w, "live.max_sessions", 256, 256 * 5 // 8 + 8)
        wait_for(is_refused, 20, "a refusal")
    p.c.sock.close()
    wait_for(lambda: row(w, "live.max_sessions")["used"] == 0, 60,
             "the places back")
    assert refusals(w, "live.max_sessions") > 0
    w.wait_log("live.max_sessions: 127.0.0.2 is refused, it has its share")


def fill(w, source, names,
         why="your address has its share of live.max_sessions"):
    """Connections with eight players each, as many as are let in."""
    all_of_it, failed = [], 0
    for name in names:
        if not all_of_it or all_of_it[-1].count == 8 or failed:
            all_of_it.append(rtmp(w, source))
            all_of_it[-1].count = 0
        try:
            all_of_it[-1].count += 1
            all_of_it[-1].play(name)
        except Refused as e:
            assert e.code == "NetStream.Play.Failed"
            assert why in e.text
            failed += 1
    return all_of_it, failed


def test_players_that_wait_for_names(weir):
    """Of streams that nobody publishes: its oldest goes for its newest."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL, live="max_sessions = 64;")
    waiting, _ = fill(w, HOG, [f"nobody{n}" for n in range(128)])
    assert gave(w, "live.max_sessions") > 60
    is_bounded(w, "live.max_sessions", 64, 64 * 5 // 8 + 1)
    for n in range(ROUNDS):
        comes_and_goes(w, name=f"room{n}")
    for c in waiting:
        c.sock.close()
    wait_for(lambda: row(w, "live.max_sessions")["used"] == 0, 20,
             "the places back")


def test_players_in_use(weir):
    """The newest is refused."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL, live="max_sessions = 64;")
    p = rtmp(w, "127.0.0.1")
    p.publish("room")
    players, failed = fill(w, HOG, ["room"] * 32)
    assert failed == 0
    assert fill(w, HOG, ["room"] * 8)[1] == 8
    is_bounded(w, "live.max_sessions", 64, 32)
    assert refusals(w, "live.max_sessions") == 8
    for n in range(ROUNDS):
        comes_and_goes(w, name=f"room{n}")
    for c in players + [p]:
        c.sock.close()


def test_the_largest_gives_when_all_is_full(weir):
    """Two addresses hold all, in one process and in another: a third one has
    room, and those that go wait for names that nobody publishes."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL, live="max_sessions = 64;")
    both = []
    for source in (HOG, FRIEND):
        # Full, too, where those that give way are slow to go.
        both += fill(w, source, [f"{source}x{n}" for n in range(48)],
                     why="live.max_sessions")[0]
    assert row(w, "live.max_sessions")["used"] >= 60
    p = rtmp(w, "127.0.0.1")
    p.publish("room")
    players = []
    for _ in range(ROUNDS // 2):
        c = rtmp(w, "127.0.0.1")
        wait_for(lambda c=c: plays(c, "room"), 5, "a place")
        players.append(c)
        assert row(w, "live.max_sessions")["used"] <= 64
    assert gave(w, "live.max_sessions") >= ROUNDS // 2 - 4
    assert row(w, "live.max_sessions")["largest"] != "127.0.0.1"
    for c in both + players + [p]:
        c.sock.close()


def plays(c, name):
    try:
        c.play(name)
        return True
    except Refused as e:
        assert "no room for another session" in e.text
        return False


def test_one_address_on_a_node_that_is_half_empty(weir):
    """A school is one address: all of it may play."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL,
             live="max_sessions = 128;")
    others = [rtmp(w, f"127.0.1.{n}") for n in range(1, 9)]
    for c in others:
        for k in range(7):
            c.play(f"a{k}")
    school = [rtmp(w, HOG) for _ in range(8)]
    for c in school:
        for k in range(7):
            c.play(f"b{k}")
    assert row(w, "live.max_sessions")["used"] == 112
    for c in others + school:
        c.sock.close()


def test_the_exempt_are_not_bound(weir):
    w = weir(top='limits = { exempt = [ "allow 127.0.0.2", "deny all" ]; };'
             + CONTROL, live="max_sessions = 16;")
    both = [rtmp(w, HOG) for _ in range(2)]
    for c in both:
        for k in range(8):
            c.play(f"nobody{k}")
    told = row(w, "live.max_sessions")
    assert told["used"] == 16 and told["largest"] == "exempt"
    for c in both:
        c.sock.close()


# ---- streams ----

def test_streams_of_one_address(weir):
    """It publishes name after name, and leaves each on hold."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL, live="max_streams = 64;")
    names = iter(range(1000000))

    def make(stopping):
        c = rtmp(w, HOG)
        while not stopping.is_set():
            c.msid = c.publish(f"hog{next(names)}")
            Feed(w.rtmp, client=c).head().frames(1)
            c.command("deleteStream", None, c.msid)

    with Hogs(8, make):
        wait_for(lambda: row(w, "live.max_streams")["holds"] >= 32, 20,
                 "the hog's share")
        for n in range(ROUNDS):
            comes_and_goes(w, name=f"room{n}")
        is_bounded(w, "live.max_streams", 64, 64 * 5 // 8 + 8)
    wait_for(lambda: row(w, "live.max_streams")["used"] == 0, 30,
             "the places back")


def test_live_streams_stay(weir):
    """The largest holder keeps what it publishes; what others hold of the
    rest, too."""
    w = weir(workers=2, top=NOBODY_EXEMPT + CONTROL, live="max_streams = 16;")
    publishers = [rtmp(w, HOG) for _ in range(2)]
    names = [f"hog{n}" for n in range(8)]
    for n, name in enumerate(names):
        publishers[n // 4].publish(name)
    with pytest.raises(Refused) as caught:
        rtmp(w, HOG).publish("one-more")
    assert caught.value.code == "NetStream.Publish.BadName"
    assert "your address has its share of live.max_streams" in \
        caught.value.text
    for n in range(ROUNDS):
        comes_and_goes(w, name=f"room{n}")
    with Control(w) as c:
        assert {f"live/{n}" for n in names} <= \
            {r["name"] for r in c.json("show streams")}
    for c in publishers:
        c.sock.close()


# ---- sockets ----

def test_sockets_of_one_address(weir):
    """Ten thousand handshakes on eight connections, and none is used."""
    w = weir(locations=location(), top=NOBODY_EXEMPT + CONTROL +
             "channel = { max_sessions = 64; };")
    opened = "/echo/socket.io/?EIO=4&transport=polling"

    def shake(stopping):
        with Http(w.http, source=HOG) as http:
            while not stopping.is_set():
                http.send("GET", opened)
                http.answer()

    with Hogs(8, shake) as hogs:
        wait_for(lambda: hogs.done or
                 row(w, "channel.max_sessions")["holds"] >= 32, 20,
                 "the hog's share")
        for _ in range(ROUNDS):
            session = Place(w.http).polling()
            session.send("40")
            assert session.receive_message().startswith("40{")
            session.send("41", "1")
        is_bounded(w, "channel.max_sessions", 64, 33)
    assert gave(w, "channel.max_sessions") > 0


def test_sockets_in_use(weir):
    """They stay; the newest of their address is refused."""
    w = weir(locations=location(), top=NOBODY_EXEMPT + CONTROL +
             "channel = { max_sessions = 16; };")
    hog = Place(w.http, HOG)
    used = [hog.polling() for _ in range(8)]
    for session in used:
        session.send("40")
    a = hog.request("socket.io")
    assert a.status == 503 and a.header("retry-after") == "1"
    assert a.json()["message"] == "Your address has its share of sessions"
    for _ in range(ROUNDS):
        session = Place(w.http).polling()
        session.send("40")
        session.send("41", "1")
    for session in used:
        assert session.receive_message().startswith("40{")
