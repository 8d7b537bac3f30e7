"""Bodies that a choice of versions looks into: their beginning alone, whatever
client_max_body_size allows."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json
import socket
import threading

import pytest

from http_client import Http, get, request
from patience import busy
from weir import SANITIZED, resident

LOOK = 64 * 1024
HUGE = 300 << 20
PIECE = b"a" * (1 << 20)
UNITS = """
    {{ path = "/api"; client_max_body_size = "1G"; layers = (
      {{ module = "version"; strategy = "param"; units = (
        {{ versions = "v2"; layers = ( {layer} ); }},
        {{ versions = "v1"; layers = ( {layer} ); }} ); }} ); }},"""
ECHO = '{ module = "echo"; stream = true; routes = [ "* /*" ]; }'
JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
PARTS = "Content-Type: multipart/form-data; boundary=b"
HELD = (64 if SANITIZED else 24) << 20


class Sink:
    """A server that counts the bytes of bodies."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(sock,),
                                 daemon=True).start()

    def serve(self, sock):
        with contextlib.suppress(OSError), sock, sock.makefile("rb") as f:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += f.readline()
            length = [int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")]
            count = 0
            if length:
                while count < length[0]:
                    count += len(f.read1(min(1 << 20, length[0] - count)))
            else:
                while size := int(f.readline(), 16):
                    count += len(f.read(size))
                    f.readline()
                f.readline()
            said = b"%d" % count
            sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(said), said))

    def kill(self):
        self.listener.close()


@pytest.fixture
def sink(tool):
    return tool(Sink())


@pytest.fixture
def api(weir):
    """Two versions, which send bodies back; or their layer."""
    return lambda layer=ECHO, **more: weir(
        top='egress = [ "allow loopback", "allow all" ];',
        locations=UNITS.format(layer=layer), **more)


def proxied(sink):
    return f'{{ module = "proxy"; upstream = "http://127.0.0.1:{sink.port}"; }}'


def version(w, body, *headers, chunked=False):
    """Which one answered; the body has to come back whole."""
    if chunked:
        parts = [body[i:i + 5000] for i in range(0, len(body), 5000)]
        framed = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts)
        with Http(w.http) as c:
            c.raw(b"POST /api/x HTTP/1.1\r\nHost: t\r\n" +
                  "".join(h + "\r\n" for h in headers).encode() +
                  b"Transfer-Encoding: chunked\r\n\r\n")
            sender = threading.Thread(target=c.raw,
                                      args=(framed + b"0\r\n\r\n",))
            sender.start()
            a = c.answer()
            sender.join()
    else:
        with Http(w.http) as c:
            c.raw("POST /api/x HTTP/1.1\r\nHost: t\r\nContent-Length: "
                  f"{len(body)}\r\n" + "".join(h + "\r\n" for h in headers) +
                  "\r\n")
            sender = threading.Thread(target=c.raw, args=(body,))
            sender.start()
            a = c.answer()
            sender.join()
            c.send("GET", "/healthz")  # what is behind it is a request
            assert c.answer().status == 200
    assert a.status == 200 and a.body == body
    return a.header("api-version")


def padded(first, last=b"", size=3 * LOOK):
    return first + b"x" * (size - len(first) - len(last)) + last


PART = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'


@pytest.mark.parametrize("chunked", [False, True])
def test_the_beginning_of_a_long_body_counts(api, chunked):
    w = api()
    for header, body in (
            (JSON, padded(b'{"a": [1], "apiver": "v1", "b": "', b'"}')),
            (JSON + "; charset=utf-8", padded(
                b'{"apiver": "v1", "c": {"apiver": "v9"}, "b": "', b'"}')),
            (FORM, padded(b"a=1&apiver=v1&b=")),
            (PARTS, padded(PART % (b"apiver", b"v1") +
                           PART[:-4] % b"b", b"\r\n--b--\r\n"))):
        assert version(w, body, header, chunked=chunked) == "v1", header


@pytest.mark.parametrize("chunked", [False, True])
def test_what_lies_behind_it_does_not(api, chunked):
    """And what is cut there is none: v10 is no v1."""
    w = api()
    for header, first, last in (
            (JSON, b'{"b": "', b'", "apiver": "v1"}'),
            (FORM, b"b=", b"&apiver=v1"),
            (PARTS, PART[:-4] % b"b",
             b"\r\n" + PART % (b"apiver", b"v1") + b"--b--\r\n")):
        assert version(w, padded(first, last), header,
                       chunked=chunked) == "v2", header
    assert version(w, padded(b"b=", b"&apiver=v1", LOOK - 1), FORM,
                   chunked=chunked) == "v1"
    assert version(w, padded(b"b=", b"&apiver=v1", LOOK) + b"0", FORM,
                   chunked=chunked) == "v2"


@pytest.mark.parametrize("letter", ["я", "世", "𝄞"])
def test_a_letter_that_is_cut(api, letter):
    """The look ends anywhere in one of several bytes."""
    w = api()
    for more in range(len(letter.encode())):
        first = b'{"apiver": "v1", "b": "' + b"x" * more
        body = first + letter.encode() * LOOK + b'"}'
        assert version(w, body, JSON) == "v1", more


def test_a_number_that_is_cut(weir):
    """1 is a version, and 12 is none."""
    w = weir(locations=UNITS.format(layer=ECHO).replace('"v1"', '"1"'))
    first = b'{"b": "'
    assert version(w, padded(first, b'", "apiver":1 ', LOOK) + b"}", JSON) == "1"
    assert version(w, padded(first, b'", "apiver":1', LOOK) + b"2}",
                   JSON) == "v2"


def test_the_query_names_it_for_any_body(api):
    w = api()
    body = padded(b'{"b": "', b'", "apiver": "v1"}')
    a = request(w.http, "POST", "/api/x?apiver=v1", JSON, body=body)
    assert a.header("api-version") == "v1" and a.body == body


def test_an_expectation(api):
    w = api()
    body = padded(b'{"apiver": "v1", "b": "', b'"}')
    with Http(w.http) as c:
        c.raw(f"POST /api/x HTTP/1.1\r\nHost: t\r\n{JSON}\r\n"
              f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
        assert c.head().status == 100
        c.raw(body)
        a = c.answer()
        assert a.body == body and a.header("api-version") == "v1"


# ---- a huge one ----

HEADS = {
    "json": (JSON, b'{"apiver": "v1", "b": "', b'"}'),
    "json, behind": (JSON, b'{"b": "', b'", "apiver": "v1"}'),
    "form": (FORM, b"apiver=v1&b=", b""),
    "parts": (PARTS, PART % (b"apiver", b"v1") + PART[:-4] % b"b",
              b"\r\n--b--\r\n"),
}


def send_huge(c, header, first, last, chunked, size=HUGE):
    """Made up on the way; stops when nobody reads it any more."""
    def say(piece):
        c.raw(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked and piece
              else piece)

    length = len(first) + size + len(last)
    c.raw(f"POST /api/articles HTTP/1.1\r\nHost: t\r\n{header}\r\n" +
          ("Transfer-Encoding: chunked" if chunked else
           f"Content-Length: {length}") + "\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        say(first)
        for _ in range(size // len(PIECE)):
            say(PIECE)
        say(last)
        if chunked:
            c.raw(b"0\r\n\r\n")
    return length


def others_are_served(w, over):
    """A client that asks again and again, on one connection."""
    with Http(w.http) as c:
        while not over.wait(0.02):
            c.send("GET", "/healthz")
            assert c.answer().status == 200


def huge(w, name, chunked):
    """What came of it; all of it went past the worker."""
    pid = w.workers()[0]
    before = resident(pid)
    most, over, wrong = [before], threading.Event(), []

    def watch():
        try:
            others_are_served(w, over)
        except Exception as e:  # pylint: disable=broad-except
            wrong.append(repr(e))

    def measure():
        while not over.wait(0.05):
            most.append(resident(pid))

    threads = [threading.Thread(target=f) for f in (watch, measure)]
    for t in threads:
        t.start()
    try:
        with Http(w.http, timeout=busy(60)) as c:
            length = send_huge(c, *HEADS[name], chunked)
            try:
                a = c.answer()
            except (ConnectionError, EOFError):
                a = None
    finally:
        over.set()
        for t in threads:
            t.join()
    assert wrong == [] and w.workers() == [pid]
    assert max(most) - before < HELD
    return a, length


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", HEADS)
def test_a_huge_body_through_the_proxy(api, sink, name, chunked):
    w = api(proxied(sink))
    a, length = huge(w, name, chunked)
    assert a.status == 200 and int(a.body) == length
    assert a.header("api-version") == ("v2" if "behind" in name else "v1")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_for_a_module_that_takes_it_whole(api, chunked):
    """None is parsed that would stop the worker."""
    w = api('{ module = "articles"; }')
    a, _ = huge(w, "json", chunked)
    assert a is None or a.status == 413
    made = {"apiver": "v1", "title": "t", "content": "x" * (3 * LOOK),
            "author": {"id": 1}}
    a = request(w.http, "POST", "/api/articles", JSON,
                body=json.dumps(made).encode())
    assert (a.status, a.header("api-version")) == (201, "v1")
    assert get(w.http, "/healthz").status == 200
