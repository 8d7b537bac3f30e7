"""Clients of all that weir serves, each of which knows what is due to it: a
kind is one whole use of a service, which raises where it was not served right.

    w = weir(**parts(servers))   # servers: Servers()
    site = Site(w)
    KINDS["hls"](site, rng)
    site.stop()

What goes wrong while processes die is for the caller to judge (chaos_load.py).
"""
# SPDX-License-Identifier: BSD-2-Clause

import http.server
import itertools
import json
import os
import re
import socket
import struct
import threading

from feed import Feed, kind, read_two_keys
from flv_client import FlvPlayer
from http_client import Http, get, request
from rtmp_client import Closed, Refused, player, publisher
from socket_help import Closed as SocketClosed
from socket_help import Refused as SocketRefused
from socket_help import Place, WebSocket
from weir import SANITIZED

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.abspath(f"{HERE}/../../modules/downloads/fake_engine_help.py")
PATIENCE = 5 * (1 + SANITIZED)  # seconds that a client gives the server
STEADY = "steady"               # a room that is always on, as far as it can
ROLES = {"weir: fetcher", "weir: channel", "weir: speaker"}
SOCKET = "socket.io/?EIO=4&transport=websocket"
ANSWER = b"from behind"
UNSERVED = (OSError, EOFError, Closed, Refused, SocketClosed, SocketRefused,
            AssertionError, ValueError, KeyError, IndexError, TypeError,
            AttributeError, struct.error)

HLS = '{ path = "/hls"; module = "hls"; },'
LOCATIONS = HLS + '''
  { path = "/speech"; module = "tts"; },
  { path = "/downloads"; module = "downloads"; },
  { path = "/echo"; layers = ( { module = "echo"; socket_io = { }; } ); },
  { path = "/library"; module = "articles"; },
  { path = "/api"; module = "proxy"; upstream = "api"; },'''

TOP = '''tts = ( {{ name = "main"; }} );
  downloads = ( {{ name = "main"; directory = "run/downloads"; min_free = "0";
                  engine_path = "{fake}"; }} );'''

UPSTREAM = '''{{ name = "api"; keepalive = 4;
    servers = ( "127.0.0.1:{good}",
      {{ address = "127.0.0.1:{bad}"; max_fails = 1;
         fail_timeout = "200ms"; }} );
    health = {{ path = "/"; interval = "200ms"; }}; }}'''



def parts(servers):
    """Of weir.conf, for weir()."""
    return {"top": TOP.format(fake=FAKE), "upstreams": servers.upstream(),
            "locations": LOCATIONS}


# ---- servers behind the proxy ----

class Behind(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    works = True

    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200 if self.works else 503)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Fails(Behind):
    """Each second request is not answered: the connection ends."""

    numbers = itertools.count()

    def do_GET(self):
        if next(self.numbers) % 2:
            super().do_GET()
        else:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that are killed reset their connections."""


class Servers:
    """One that works and one that fails."""

    def __init__(self):
        self.all = [Server(("127.0.0.1", 0), each) for each in (Behind, Fails)]
        for s in self.all:
            threading.Thread(target=s.serve_forever, daemon=True).start()

    def upstream(self):
        good, bad = (s.server_address[1] for s in self.all)
        return UPSTREAM.format(good=good, bad=bad)

    def kill(self):
        for s in self.all:
            s.shutdown()
            s.server_close()


# ---- the site ----

class Site:
    """A weir, and the publisher of a room that is always on."""

    def __init__(self, w):
        self.w, self.http, self.rtmp = w, w.http, w.rtmp
        self.numbers = itertools.count()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._publish, daemon=True)
        self.thread.start()

    def _publish(self):
        while not self.stopping.wait(0.1):
            try:
                c = publisher(self.rtmp, "live", STEADY, timeout=PATIENCE)
                feed = Feed(0, client=c).head().run()
                while feed.thread.is_alive() and not self.stopping.wait(0.1):
                    pass
                feed.stop()
            except UNSERVED:
                pass

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def get(self, path, *headers):
        """The body."""
        a = get(self.http, path, *headers, timeout=PATIENCE)
        assert a.status == 200, (path, a.status, a.body[:200])
        return a.body

    def post(self, path, **body):
        a = request(self.http, "POST", path, "Content-Type: application/json",
                    body=json.dumps(body).encode(), timeout=PATIENCE)
        assert a.status in (200, 201), (path, a.status, a.body[:200])
        return a

    def connect(self):
        return Http(self.http, timeout=PATIENCE)


class Hurried(Place):
    def connect(self):
        return Http(self.port, timeout=PATIENCE)


# ---- kinds ----

def rtmp(site, _rng):
    """A new room can be published and played."""
    name = f"new{next(site.numbers) % 4}"
    feed = Feed(0, client=publisher(site.rtmp, "live", name, timeout=PATIENCE))
    try:
        feed.head().run(speed=4)
        with player(site.rtmp, "live", name, timeout=PATIENCE) as c:
            read_two_keys(c, PATIENCE / 10)
    finally:
        feed.stop()


def flv(site, _rng):
    """Of a tag that is longer than what comes, it sees no end by itself."""
    c = FlvPlayer(site.http, STEADY, timeout=PATIENCE)
    late = threading.Timer(PATIENCE, c.http.sock.shutdown,
                           (socket.SHUT_RDWR,))
    late.start()
    try:
        while not (tag := c.tag()) or \
                not kind(tag.type, tag.payload).startswith("key"):
            assert tag, "the stream ended"
    finally:
        late.cancel()
        c.close()


def flv_socket(site, _rng):
    with WebSocket(site.connect(), f"/live/{STEADY}.flv") as ws:
        assert ws.receive().startswith(b"FLV")


def hls(site, _rng):
    """A viewer: playlists, a segment, a part, and one that is waited for."""
    at = "/hls/live/"
    media = site.get(f"{at}{STEADY}.m3u8").decode().split()[-1]
    text = site.get(at + media).decode()
    segments = [li for li in text.split("\n") if li and li[0] != "#"]
    first = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
    for name in (segments[-1],
                 *re.findall(r'#EXT-X-PART:.*URI="([^"]*)"', text)[-1:]):
        body = site.get(at + name)
        assert b"moof" in body[:200], body[:200]
    mark = "&" if "?" in media else "?"
    number = first + len(segments)
    text = site.get(f"{at}{media}{mark}_HLS_msn={number}&_HLS_part=1")
    assert text.startswith(b"#EXTM3U")


def speech(site, rng):
    body = site.post("/speech/", text=f"Number {rng.randrange(1000)}.").body
    assert body[:4] == b"RIFF" and len(body) > 10_000, body[:50]


def downloads(site, _rng):
    """One is added, its end is told, its file is fetched."""
    url = f"http://fake.test/{os.getpid()}n{next(site.numbers)}"
    with WebSocket(site.connect(), f"/downloads/{SOCKET}") as ws:
        ws.opened()
        ws.send("40")
        hear(ws, "all")
        said = site.post("/downloads/add", url=url, quality="best").json()
        assert said["status"] == "ok", said
        entry = hear(ws, "completed", lambda e: e["url"] == url)
    assert entry["status"] == "finished", entry
    assert site.get("/downloads/download/" + entry["filename"]) == url.encode()
    site.post("/downloads/delete", ids=[url], where="done")


def hear(ws, name, which=lambda _: True):
    """The argument of the first such event."""
    while True:
        packet = ws.receive_data()
        if packet[:2] == "42":
            event, *said = json.loads(packet[2:])
            if event == name and which(said[0]):
                return said[0]


def proxy(site, rng):
    """Requests of one connection, to servers of which one fails."""
    with site.connect() as c:
        for _ in range(rng.randrange(1, 6)):
            c.send("GET", "/api/x")
            a = c.answer()
            assert (a.status, a.body) == (200, ANSWER), a.body[:200]


def sockets(site, _rng):
    """A session that is echoed to."""
    with WebSocket(site.connect(), f"/echo/{SOCKET}") as ws:
        ws.opened()
        ws.send("40")
        while not ws.receive_data().startswith("40{"):
            pass
        ws.send('421["message-with-ack","a",2]')
        while (packet := ws.receive_data()) != '431["a",2]':
            assert packet[:2] == "42", packet


def polling(site, _rng):
    session = Hurried(site.http).polling()
    session.send("40")
    while not session.receive_data().startswith("40{"):
        pass
    session.send('421["message-with-ack","a",2]')
    while (packet := session.receive_data()) != '431["a",2]':
        assert packet[:2] == "42", packet
    session.send("41")


def articles(site, rng):
    title = f"{next(site.numbers)} {rng.random()}"
    at = site.post("/library/articles", title=title, content="c",
                   author={"id": 1}).json()["id"]
    assert json.loads(site.get(f"/library/articles/{at}"))["title"] == title
    a = request(site.http, "DELETE", f"/library/articles/{at}",
                timeout=PATIENCE)
    assert a.status == 204, (a.status, a.body)


KINDS = {each.__name__: each for each in (
    rtmp, flv, flv_socket, hls, speech, downloads, proxy, sockets, polling,
    articles)}
