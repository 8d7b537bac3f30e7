"""A body of 1 GB for each module that reads bodies, where the settings allow 2:
the module's own bound holds, the worker's memory does not grow, and others on
the same worker are served meanwhile."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import threading
import time

import pytest

from http_client import Http, get, request
from patience import busy
from test_bodies_looked_at import FORM, JSON, PIECE, Sink, proxied
from weir import SANITIZED, resident

HUGE = (64 if SANITIZED else 1024) << 20
SAID = 1 << 30  # by a Content-Length of which nothing is sent
HELD = (64 if SANITIZED else 24) << 20
XML = "Content-Type: application/xml"
TEXT = "Content-Type: text/plain"
POLL = "EIO=4&transport=polling"

LOCATIONS = """
    {{ path = "/a"; module = "articles"; edit = true; }},
    {{ path = "/d"; module = "downloads"; }},
    {{ path = "/t"; module = "tts"; }},
    {{ path = "/e"; module = "echo"; routes = [ "* /*" ]; }},
    {{ path = "/x"; module = "echo"; routes = [ "* /*" ]; stream = true; }},
    {{ path = "/s"; module = "echo"; socket_io = {{ max_payload = "16M"; }};
       routes = [ "GET /" ]; }},
    {{ path = "/p"; layers = ( {proxied} ); }},
    {{ path = "/v"; layers = (
       {{ module = "version"; strategy = "param"; units = (
          {{ versions = "v1"; layers = ( {{ module = "articles"; }} ); }} );
       }} ); }},
    {{ path = "/h"; module = "hello"; }},
    {{ path = "/c"; module = "visits"; }},
    {{ path = "/stat"; module = "stat"; }},
    {{ path = "/r"; module = "relay"; }},
"""

# Name, method, target, headers: a body above the module's own bound is refused
# before any of it is read.
BOUNDED = [
    ("articles, json", "POST", "/a/articles", [JSON]),
    ("articles, xml", "POST", "/a/articles", [XML]),
    ("articles, once", "POST", "/a/articles", [JSON, "Idempotency-Key: 1"]),
    ("articles, no type of theirs", "POST", "/a/articles", [TEXT]),
    ("articles, put", "PUT", "/a/articles/1", [JSON]),
    ("articles, patch", "PATCH", "/a/articles/1",
     ["Content-Type: application/merge-patch+json"]),
    ("downloads, add", "POST", "/d/add", [JSON]),
    ("downloads, delete", "POST", "/d/delete", [JSON]),
    ("downloads, start", "POST", "/d/start", [FORM]),
    ("speech", "POST", "/t/", [JSON]),
    ("speech, synthesize", "POST", "/t/synthesize", [JSON]),
    ("speech, timings", "POST", "/t/timings", [JSON]),
    ("speech, as OpenAI's", "POST", "/t/v1/audio/speech", [JSON]),
    ("socket.io", "POST", f"/s/socket.io/?{POLL}&sid=x", [TEXT]),
]
# The version is looked for in the first 64 KB; then the module's bound holds.
LOOKED_AT = [
    ("version, json", "POST", "/v/articles", [JSON]),
    ("version, form", "POST", "/v/articles", [FORM]),
    ("version, parts", "POST", "/v/articles",
     ["Content-Type: multipart/form-data; boundary=b"]),
]
# Nobody looks into it: it goes on, or is dropped as it comes.
PASSED = [
    ("proxy", "POST", "/p/x", [TEXT], 200),
    ("echo", "POST", "/e/x", [JSON], 201),
    ("hello", "POST", "/h/hello", [JSON], 405),
    ("visits", "POST", "/c/", [JSON], None),
    ("stat", "POST", "/stat/streams", [JSON], 405),
    ("relay", "POST", "/r/pull", [JSON], 405),
    ("nobody", "POST", "/none", [JSON], 405),
]


def rows(table):
    return pytest.mark.parametrize(
        "row", table, ids=[row[0].replace(", ", "-") for row in table])


@pytest.fixture
def server(weir, tool):
    sink = tool(Sink())
    return weir(top='egress = [ "allow loopback", "allow all" ];'
                    'tts = { name = "main"; }; '
                    'visits = { name = "main"; }; '
                    'downloads = { name = "main"; directory = "got"; };',
                http='client_max_body_size = "2G";',
                locations=LOCATIONS.format(proxied=proxied(sink)))


def head(row, *more):
    _, method, target, headers = row[:4]
    lines = [f"{method} {target} HTTP/1.1", "Host: t", *headers, *more]
    return "\r\n".join(lines) + "\r\n\r\n"


class Watch:
    """Another client of the only worker, who asks again and again."""

    def __init__(self, w):
        self.w = w
        self.pid, = w.workers()
        self.before = self.most = resident(self.pid)
        self.over = threading.Event()
        self.asked, self.slowest, self.wrong = 0, 0, None
        self.thread = threading.Thread(target=self.ask)

    def ask(self):
        try:
            c = Http(self.w.http)
            with contextlib.closing(c):
                while not self.over.wait(0.01):
                    began = time.monotonic()
                    c.send("GET", "/healthz")
                    a = c.answer()
                    assert a.status == 200
                    if a.header("connection") == "close":
                        c.close()
                        c = Http(self.w.http)
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    self.most = max(self.most, resident(self.pid))
                    self.asked += 1
        except Exception as e:  # pylint: disable=broad-except
            self.wrong = repr(e)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        assert self.wrong is None
        assert self.w.workers() == [self.pid]
        assert self.most - self.before < HELD
        assert self.slowest < busy(1)


def chunked(c, first=b""):
    """Made up on the way, in a thread; stops when nobody reads it any more."""
    def send():
        with contextlib.suppress(OSError):
            for piece in [first or PIECE] + [PIECE] * (HUGE // len(PIECE) - 1):
                c.raw(b"%x\r\n%s\r\n" % (len(piece), piece))
            c.raw(b"0\r\n\r\n")

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def counted(c):
    def send():
        with contextlib.suppress(OSError):
            for _ in range(HUGE // len(PIECE)):
                c.raw(PIECE)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@rows(BOUNDED)
@pytest.mark.parametrize("asks", [False, True])
def test_a_length_above_the_bound_is_refused_at_once(server, row, asks):
    """No byte of it is sent; nobody is told to send any."""
    more = ["Expect: 100-continue"] if asks else []
    with Watch(server), Http(server.http) as c:
        c.raw(head(row, f"Content-Length: {SAID}", *more))
        a = c.answer()
        assert a.status == 413 and a.header("connection") == "close"


@rows(LOOKED_AT)
def test_it_is_refused_after_the_look(server, row):
    with Watch(server), Http(server.http) as c:
        c.raw(head(row, f"Content-Length: {SAID}"))
        c.raw(b"a" * (64 << 10))
        assert c.answer().status == 413


@rows(BOUNDED + LOOKED_AT)
def test_one_without_a_length_is_read_up_to_the_bound(server, row):
    first = b"<article>" if XML in row[3] else b'{"text": "'
    with Watch(server), Http(server.http, timeout=busy(60)) as c:
        c.raw(head(row, "Transfer-Encoding: chunked"))
        sender = chunked(c, first)
        a = c.answer()
        assert a.status == 413 and a.header("connection") == "close"
        sender.join()


@rows(PASSED)
@pytest.mark.parametrize("send", [counted, chunked])
def test_what_nobody_looks_into_is_not_kept(server, row, send):
    how = f"Content-Length: {HUGE}" if send is counted else \
        "Transfer-Encoding: chunked"
    with Watch(server) as watch, Http(server.http, timeout=busy(60)) as c:
        c.raw(head(row, how))
        sender = send(c)
        a = c.answer()
        sender.join()
        assert a.status == row[4] or row[4] is None
        if row[0] == "proxy":
            assert int(a.body) == HUGE
        assert watch.asked > 0


@pytest.mark.parametrize("asks", [False, True])
def test_a_stream_there_and_back(server, asks):
    more = ["Expect: 100-continue"] if asks else []
    with Watch(server), Http(server.http, timeout=busy(60)) as c:
        c.raw(head(PASSED[0][:2] + ("/x/y", [TEXT]),
                   f"Content-Length: {HUGE}", *more))
        if asks:
            assert c.head().status == 100
        sender = counted(c)
        a = c.head()
        assert a.status == 200 and a.header("content-length") == str(HUGE)
        left = HUGE - len(c.buffer)
        while left > 0:
            left -= len(c.sock.recv(1 << 20))
        sender.join()
        assert left == 0


# ---- bodies below the bound, which are looked into piece by piece ----

def article(size):
    return b'{"title": "t%d", "author": {"id": 1}, "created_at": null, ' \
        b'"x": [%s0]}' % (size, b"0," * 90000) + b" " * size


BELOW = {
    "json, many values": (JSON, article(5 << 20), 400),
    "json, many names": (JSON, b"{" + b",".join(
        b'"n%d":0' % n for n in range(90000)) + b"}", 400),
    "json, escapes": (JSON, b'{"author": {"id": 1}, "title": "e", "content": "' +
                      b"\\u00e9" * (500 << 10) + b'"}', 201),
    "json, pairs": (JSON, b'{"author": {"id": 1}, "title": "p", "content": "' +
                    b"\\ud83d\\ude00" * (250 << 10) + b'"}', 201),
    "json, backslashes": (
        JSON, b'{"author": {"id": 1}, "title": "b", "content": "' +
        b"\\\\" * (1 << 20) + b'"}', 201),
    "json, letters": (JSON, '{"author": {"id": 1}, "title": "l", "content": '
                      f'"a{"𝄞" * ((256 << 10) - 1)}"}}'.encode(), 201),
    "json, wrong at its end": (JSON, article(5 << 20) + b"x", 422),
    "xml, text": (XML, b"<article><author><id>1</id></author><title>x</title>"
                  b"<content>" + b"y" * (1 << 20) + b"</content></article>", 201),
    "xml, references": (
        XML, b"<article><author><id>1</id></author><title>r</title>"
        b"<content>" + b"&#233;" * (512 << 10) + b"</content></article>", 201),
    "xml, sections": (
        XML, b"<article><author><id>1</id></author><title>s</title>"
        b"<content>" + b"<![CDATA[yyyyyyyyyyyyyyyy]]>" * (64 << 10) +
        b"</content></article>", 201),
    "xml, a long comment": (
        XML, b"<article><!--" + b"- " * (2 << 20) + b"--><author><id>1</id>"
        b"</author><title>c</title><content>c</content></article>", 201),
    "xml, cut": (XML, b"<article><content>" + b"y" * (5 << 20), 422),
}


@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("how", ["length", "chunked"])
def test_a_body_below_the_bound_is_read(server, name, how):
    header, body, status = BELOW[name]
    accept = header.replace("Content-Type", "Accept")
    with Watch(server):
        if how == "length":
            a = request(server.http, "POST", "/a/articles", header, accept,
                        body=body)
        else:
            with Http(server.http) as c:
                c.raw(head(("", "POST", "/a/articles", [header, accept]),
                           "Transfer-Encoding: chunked"))
                for at in range(0, len(body), 7777):
                    piece = body[at:at + 7777]
                    c.raw(b"%x\r\n%s\r\n" % (len(piece), piece))
                c.raw(b"0\r\n\r\n")
                a = c.answer()
        assert a.status == status, a.body[:300]
        if status == 201:
            made = get(server.http, "/a/articles/1", accept)
            assert made.status == 200 and made.body == a.body
