"""FLV over WebSocket: the same bytes as over HTTP, in messages."""
# SPDX-License-Identifier: BSD-2-Clause

import shutil
import socket
import time

import pytest

import flv
import tls_files
from browser import AUTOPLAY, Browser
from control_client import Control, wait_players
from feed import Feed, kind, kinds, video_numbers
from flv_client import FlvPlayer
from http_client import Http, get
from media import QUIET, Tool
from patience import busy
from rtmp_client import AUDIO, DATA, VIDEO
from socket_help import (BINARY, CLOSE, PACKAGES, PING, PONG, Closed,
                         WebSocket)
from weir import SANITIZED, resident, wait_for

GATHER = ["0", "20ms"]


class WsPlayer:
    """Plays APP/NAME.flv, message by message: each is a tag, or all that comes
    before a first frame."""

    def __init__(self, port, name="room", *headers, app="live", http=None):
        self.ws = WebSocket(http or Http(port), f"/{app}/{name}.flv",
                            *headers)
        self.reader = flv.Reader()
        self.kept = []
        self.bytes = b""
        self.messages = 0

    def take(self, message):
        tags = self.reader.feed(message)
        assert not self.reader.buffer, "a message ends within a tag"
        assert len(tags) == 1 or all(t.type == DATA or flv.is_header(t)
                                     for t in tags)
        self.messages += 1
        self.bytes += message
        self.kept += tags

    def tag(self):
        """The next one; Closed is raised at the end."""
        while not self.kept:
            last, opcode, data = self.ws.read_frame()
            assert last
            if opcode == CLOSE:
                raise Closed(int.from_bytes(data[:2], "big"),
                             data[2:].decode())
            assert opcode == BINARY, opcode
            self.take(data)
        return self.kept.pop(0)

    def read_until(self, wanted):
        got = []
        while not got or kind(got[-1].type, got[-1].payload) != wanted:
            got.append(self.tag())
        return got

    def until_closed(self):
        """(tags, code, reason)."""
        got = []
        try:
            while True:
                got.append(self.tag())
        except Closed as e:
            return got, e.code, e.reason

    def close(self):
        self.ws.close()


def closed_by(c):
    """Code of the close, behind whatever comes."""
    return c.until_closed()[1]


# ---- the stream ----

def test_head_of_the_answer(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    c = WsPlayer(w.http)
    a = c.ws.handshake
    assert a.header("upgrade") == "websocket"
    assert a.header("connection") == "Upgrade"
    assert a.header("sec-websocket-protocol") is None
    assert a.header("sec-websocket-extensions") is None
    assert c.reader.flags is None
    assert set(kinds(c.read_until("key 0"))) >= {"meta", "video header",
                                                 "audio header"}
    assert c.reader.flags == 5
    c.close()
    f.stop()


@pytest.mark.parametrize("io_uring", ["true", "false"])
@pytest.mark.parametrize("gather", GATHER)
def test_same_bytes_as_over_http(weir, io_uring, gather):
    """Messages of all three lengths of headers."""
    w = weir(workers=2, live=f"io_uring = {io_uring};",
             app=f'gather = "{gather}";')
    sockets = []
    f = Feed(w.rtmp).head().frames(1)
    for _ in range(4):
        sockets.append(WsPlayer(w.http))
    over_http = [FlvPlayer(w.http, "room") for _ in range(2)]
    begun = {c: c.read_until("key 0") for c in over_http + sockets}
    for n in range(1, 60):
        f.size = (50, 1000, 70_000, 200_000, 111)[n % 5]
        f.frame()
    f.frames(1)
    expected, second = (begun[c] + c.read_until("video 60")
                        for c in over_http)
    assert second == expected
    for c in sockets:
        got = begun[c] + c.read_until("video 60")
        assert [(t.type, t.time, t.payload) for t in got] == \
            [(m.type, m.time, m.payload) for m in expected]
        c.close()
    for c in over_http:
        c.close()
    f.stop()


def test_no_byte_differs(weir):
    w = weir(hold="0s")
    f = Feed(w.rtmp, gop=1000).head().frames(3)
    c = WsPlayer(w.http)
    h = Http(w.http)
    h.send("GET", "/live/room.flv")
    assert h.head().status == 200
    f.frames(100)
    f.stop()
    assert c.until_closed()[1:] == (1000, "the stream is over")
    while h._more():
        pass
    assert c.bytes == h.buffer
    c.close()
    h.close()


def test_waits_for_a_publisher(weir):
    w = weir(workers=2, flv='flv_wait = "1h";')
    waiting = []
    for _ in range(4):
        h = Http(w.http)
        h.send("GET", "/live/room.flv", *UPGRADE)
        waiting.append(h)
    wait_players(w, 4)
    f = Feed(w.rtmp).head().frames(3)
    for h in waiting:
        assert h.head().status == 101
        h.close()
    f.stop()


def test_republish_within_hold_goes_on(weir):
    w = weir(hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    c = WsPlayer(w.http)
    old = c.read_until("video 2")
    f.stop()
    g = Feed(w.rtmp, first=25).head().frames(3)
    new = c.read_until("video 27")
    times = [m.time for m in old + new if m.type in (AUDIO, VIDEO)]
    assert times == sorted(times)
    c.close()
    g.stop()


@pytest.mark.parametrize("io_uring", ["true", "false"])
def test_slow_player_stays_whole(weir, io_uring):
    """It stops inside messages, falls behind, and goes on with a key frame;
    its pings are answered between messages."""
    w = weir(live='window = "30s"; max_stream_memory = "4M"; '
             f"io_uring = {io_uring};")
    f = Feed(w.rtmp, size=60_000, gop=10).head().frames(1)
    h = Http(w.http)
    h.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c = WsPlayer(w.http, http=h)
    pongs = []
    for n in range(1, 250):  # more than sockets and window hold: 15 MB
        f.frame()
        if n % 50 == 10:
            c.ws.frame(PING, b"%d" % n)
        time.sleep(0.005)
    got = []
    while not got or kind(got[-1].type, got[-1].payload) != "video 249":
        last, opcode, data = c.ws.read_frame()
        assert last and opcode in (BINARY, PONG)
        if opcode == PONG:
            pongs.append(int(data))
        else:
            c.take(data)
            got, c.kept = got + c.kept, []
    numbers = video_numbers(got)
    assert numbers == sorted(numbers)
    assert len(numbers) < 249, "nothing was skipped: the test is too weak"
    for a, b in zip(numbers, numbers[1:]):
        assert b == a + 1 or b % 10 == 0, f"{a} then {b}"
    assert pongs == [10, 60, 110, 160, 210]
    c.close()
    f.stop()


def test_never_reading_players_cost_nothing(weir):
    w = weir(live='window = "1s"; max_stream_memory = "8M";')
    f = Feed(w.rtmp, size=20_000, gop=25).head().frames(1)
    stuck = [WsPlayer(w.http) for _ in range(10)]
    healthy = WsPlayer(w.http)
    before = resident(w.workers()[0])
    for n in range(1, 200):
        f.frame()
        assert video_numbers(healthy.read_until(
            f"{'key' if n % 25 == 0 else 'video'} {n}"))[-1] == n
        for c in stuck if n % 20 == 0 else []:
            c.ws.frame(PING, b"x" * 125)
    limit = 200 << 20 if SANITIZED else 8 << 20
    assert resident(w.workers()[0]) - before < limit
    for c in [healthy, *stuck]:
        c.close()
    f.stop()


def test_a_flood_of_pings_without_reading_ends(weir):
    w = weir(live='window = "60s";')
    f = Feed(w.rtmp, size=60_000, gop=10).head().frames(1)
    h = Http(w.http)
    h.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c = WsPlayer(w.http, http=h)
    f.run(speed=10)

    def flood():
        for _ in range(100_000):
            c.ws.frame(PING, b"x" * 125)
    with pytest.raises(OSError):
        flood()
    f.stop()
    c.close()


# ---- what the client says ----

def test_pings_are_answered(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    c = WsPlayer(w.http)
    c.read_until("video 2")
    for data in (b"", b"hello", b"x" * 125):
        c.ws.frame(PING, data)
        assert c.ws.read_frame() == (0x80, PONG, data)
    c.ws.frame(PONG, b"nobody asked")
    f.frames(1)
    c.read_until("video 3")
    c.close()
    f.stop()


@pytest.mark.parametrize("said, answer", [
    (b"", b""), (b"\x03\xe8", b"\x03\xe8"),
    (b"\x03\xe9bye", b"\x03\xe9bye")])
def test_close_is_answered(weir, said, answer):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    c = WsPlayer(w.http)
    c.read_until("video 2")
    wait_players(w, 1)
    c.ws.frame(CLOSE, said)
    assert c.ws.read_frame() == (0x80, CLOSE, answer)
    assert c.ws.http.ended()
    wait_players(w, 0)
    c.close()
    f.stop()


def test_close_of_a_slow_player_ends_its_message(weir):
    """The rest of the message under way comes first."""
    w = weir(live='window = "60s";')
    f = Feed(w.rtmp, size=10_000, audio=False).head().frames(1)
    h = Http(w.http)
    h.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c = WsPlayer(w.http, http=h)
    f.frames(1200)
    c.ws.frame(CLOSE, b"\x03\xe8")
    wait_players(w, 0)
    got, code, _ = c.until_closed()
    assert code == 1000
    assert video_numbers(got) == list(range(len(video_numbers(got))))
    c.close()
    f.stop()


HOSTILE = [
    (b"\x89\x02hi", 1002),              # no mask
    (b"\x09\x80abcd", 1002),            # a control frame in fragments
    (b"\x89\xfe\x00\x7eabcd", 1002),    # a long one
    (b"\xc9\x80abcd", 1002),            # a reserved bit
    (b"\x83\x80abcd", 1002),            # an opcode that there is not
    (b"\x80\x80abcd", 1002),            # a fragment of nothing
    (b"\x82\xff" + b"\xff" * 8 + b"abcd", 1002),
    (b"\x82\xff" + b"\0\0\0\1\0\0\0\0abcd", 1009),
    (b"\x88\x81abcdx", 1002),           # a close of one byte
    (b"\x88\x82\0\0\0\0\x03\xed", 1002),  # and with 1005
    (b"\x81\x82\0\0\0\0hi", 1003),
    (b"\x82\x82\0\0\0\0hi", 1003),
    (b"\x01\x81\0\0\0\0h\x80\x81\0\0\0\0i", 1003),
    (b"\x01\x81\0\0\0\0h\x81\x81\0\0\0\0i", 1002),
]


def test_hostile_frames(weir):
    w = weir()
    f = Feed(w.rtmp).head().run()
    for bytes_, code in HOSTILE:
        c = WsPlayer(w.http)
        c.tag()
        c.ws.http.raw(bytes_)
        assert closed_by(c) == code, bytes_
        c.close()
    for bytes_, _ in HOSTILE:  # the client goes in between
        for cut in range(1, len(bytes_)):
            c = WsPlayer(w.http)
            c.ws.http.raw(bytes_[:cut])
            c.close()
    wait_players(w, 0)
    f.stop()


def test_frames_right_behind_the_request(weir):
    """A client that does not wait for 101: what it says counts after it."""
    w = weir(flv='flv_wait = "1h";')
    h = Http(w.http)
    h.send("GET", "/live/room.flv", *UPGRADE)
    h.raw(b"\x89\x82\0\0\0\0hi")
    wait_players(w, 1)
    f = Feed(w.rtmp).head().frames(3)
    assert h.head().status == 101
    opcodes = []
    while PONG not in opcodes:
        first, length = h._exactly(2)
        size = int.from_bytes(h._exactly(2), "big") if length == 126 \
            else length
        h._exactly(size)
        opcodes.append(first & 15)
    assert opcodes[0] == BINARY
    h.close()
    f.stop()


# ---- handshakes ----

KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = ["Connection: keep-alive, Upgrade", "Upgrade: websocket",
           "Sec-WebSocket-Version: 13", KEY]


def test_handshakes_that_are_wrong(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)

    def ask(*headers, name="room"):
        return get(w.http, f"/live/{name}.flv", *headers)
    for name in ("room", "nobody"):
        a = ask(*UPGRADE[:2], "Sec-WebSocket-Version: 8", KEY, name=name)
        assert a.status == 426
        assert a.header("sec-websocket-version") == "13"
        assert a.header("upgrade") == "websocket"
    assert ask(*UPGRADE[:2], KEY).status == 426
    assert ask(*UPGRADE[:3]).status == 400
    assert ask(*UPGRADE[:3], "Sec-WebSocket-Key: short").status == 400
    assert ask("Upgrade: websocket", *UPGRADE[2:]).status == 400
    with Http(w.http) as c:  # other upgrades need not be heard
        c.send("GET", "/live/room.flv", "Upgrade: h2c", "Connection: Upgrade")
        assert c.head().status == 200
    f.stop()


def test_refusals_come_before_the_upgrade(weir):
    w = weir(flv='flv_wait = "300ms";', apps=', { name = "noplay"; '
             'publish = "open"; play_access = [ "deny all" ]; }')
    began = time.monotonic()
    a = get(w.http, "/live/nobody.flv", *UPGRADE)
    assert a.status == 404
    assert time.monotonic() - began > 0.2
    assert get(w.http, "/noplay/room.flv", *UPGRADE).status == 403
    assert get(w.http, "/nothere/room.flv", *UPGRADE).status == 404


def test_sessions_are_limited(weir):
    w = weir(live="max_sessions = 3;")
    f = Feed(w.rtmp).head().frames(3)
    both = [WsPlayer(w.http) for _ in range(2)]
    assert get(w.http, "/live/room.flv", *UPGRADE).status == 503
    for c in both:
        c.close()
    f.stop()


@pytest.mark.parametrize("allowed, origin, status", [
    ("*", "https://a.example", 101), ("*", None, 101), ("*", "null", 101),
    ("", None, 101), ("", "http://test", 101), ("", "https://a.example", 403),
    ("", "null", 403), ("https://a.example", "https://a.example", 101),
    ("https://a.example", "http://test", 101),
    ("https://a.example", "https://b.example", 403)])
def test_pages_of_other_sites(weir, allowed, origin, status):
    w = weir(flv=f'allow_origin = "{allowed}";')
    f = Feed(w.rtmp).head().frames(3)
    more = [f"Origin: {origin}"] if origin else []
    with Http(w.http) as c:
        c.send("GET", "/live/room.flv", *UPGRADE, *more)
        assert c.head().status == status
    f.stop()


def test_cors_of_the_location_counts(weir):
    w = weir(locations="""
        { path = "/of"; module = "flv";
          cors = { allow_origins = "https://a.example"; }; },""")
    f = Feed(w.rtmp).head().frames(3)
    for origin, status in (("https://a.example", 101),
                           ("https://b.example", 403)):
        with Http(w.http) as c:
            c.send("GET", "/of/live/room.flv", *UPGRADE, f"Origin: {origin}")
            assert c.head().status == status
    f.stop()


# ---- ends, operators ----

def test_kick_and_statistics(weir):
    w = weir(locations='{ path = "/s"; module = "stat"; },')
    f = Feed(w.rtmp).head().frames(3)
    players = [WsPlayer(w.http) for _ in range(2)]
    for c in players:
        c.read_until("video 2")
    seen = get(w.http, "/s/sessions").json()["sessions"]
    assert [s["protocol"] for s in seen if s["role"] == "player"] == \
        ["ws", "ws"]
    metrics = get(w.http, "/metrics").body.decode()
    assert 'weir_flv_websocket_players{app="live"} 2\n' in metrics
    assert get(w.http, "/s/server").json()["players"] == 2
    with Control(w) as c:
        rows = [r for r in c.ask("show sess") if "/live/room.flv" in r]
        assert len(rows) == 2
        assert c.ask("kick stream live/room players") == ["kicked: 2"]
    for c in players:
        assert c.until_closed()[1:] == (1008, "kicked by the operator")
        c.close()
    f.stop()


def test_reload_goes_on(weir):
    w = weir(workers=2, top="max_generations = 8;", live='window = "60s";')
    f = Feed(w.rtmp).head().frames(3)
    players = [WsPlayer(w.http) for _ in range(6)]
    for _ in range(3):
        w.reload()
        f.frames(10)
        for c in players:
            c.read_until(f"{'key' if f.next == 26 else 'video'} {f.next - 1}")
    for c in players:
        c.ws.frame(PING, b"still there")
        assert c.ws.read_frame() == (0x80, PONG, b"still there")
        c.close()
    f.stop()


def test_access_log(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(10)
    c = WsPlayer(w.http)
    c.read_until("video 9")
    c.ws.frame(CLOSE)
    assert closed_by(c) == 0
    c.close()
    wait_for(lambda: '"GET /live/room.flv HTTP/1.1" 101 ' in w.access_log(),
             what="access log")
    f.stop()


def test_tls(weir, certificates):
    w = weir(http_listen=tls_files.listen(certificates.group("localhost")))
    f = Feed(w.rtmp, size=70_000).head().frames(3)
    h = Http.__new__(Http)
    h.sock, h.buffer = tls_files.connect(w.port("https"),
                                         certificates.root), bytearray()
    c = WsPlayer(None, http=h)
    c.read_until("video 2")
    f.frames(30)
    assert video_numbers(c.read_until("video 32")) == list(range(3, 33))
    c.ws.frame(PING, b"hi")
    assert c.ws.read_frame() == (0x80, PONG, b"hi")
    c.ws.frame(CLOSE, b"\x03\xe8")
    assert closed_by(c) == 1000
    c.close()
    f.stop()


# ---- players in browsers ----

PLAYERS = {"mpegts": ("/vendor/mpegts.js", "mpegts"),
           "flv": ("/flv.min.js", "flvjs")}
PAGE = """<!doctype html><video muted autoplay></video>
<script src="{script}"></script><script>
const player = {global}.createPlayer({{ type: 'flv', isLive: true,
  url: `ws://${{location.host}}/live/film.flv` }});
player.attachMediaElement(document.querySelector('video'));
player.load(); player.play();
</script>"""


@pytest.fixture(name="browser")
def open_browser():
    b = Browser(AUTOPLAY)
    yield b
    b.quit()


@pytest.mark.once
@pytest.mark.parametrize("name", PLAYERS)
def test_players_in_chromium(weir, browser, name):
    script, name_there = PLAYERS[name]
    w = weir()
    shutil.copytree("html", f"{w.prefix}/html", dirs_exist_ok=True)
    shutil.copy(f"{PACKAGES}/flv.js/dist/flv.min.js", f"{w.prefix}/html")
    with open(f"{w.prefix}/html/play.html", "w", encoding="utf-8") as page:
        page.write(PAGE.format(script=script, **{"global": name_there}))
    tool = Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi",
              "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi",
              "-i", "sine=frequency=440", "-c:v", "libx264", "-preset",
              "ultrafast", "-tune", "zerolatency", "-g", "25", "-pix_fmt",
              "yuv420p", "-c:a", "aac", "-b:a", "64k", "-f", "flv",
              f"rtmp://127.0.0.1:{w.rtmp}/live/film")
    browser.open(f"http://127.0.0.1:{w.http}/play.html")
    first = browser.picture()
    second = browser.picture(after=first["at"] + 2)
    assert first["points"] != second["points"]
    wait_players(w, 1)
    tool.kill()
