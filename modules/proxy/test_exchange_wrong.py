"""What no client and no server should say: nothing of it goes through
modules/proxy, and nothing stands in for what others are sent."""
# SPDX-License-Identifier: BSD-2-Clause

import threading

import pytest

from exchange_help import at_root, ok, server  # noqa: F401
from http_client import Http, get
from patience import busy
from test_http_malformed import ACCEPTED, ONE_BODY, REFUSED, SMUGGLED
from weir import wait_for

H = "HTTP/1.1 200 OK\r\n"
BEHIND = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"

WRONG = {
    "both": H + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                "0\r\n\r\n",
    "lengths that differ": H + "Content-Length: 3\r\nContent-Length: 4\r\n"
                               "\r\nabcd",
    "length list": H + "Content-Length: 3, 4\r\n\r\nabcd",
    "length with plus": H + "Content-Length: +3\r\n\r\nabc",
    "length negative": H + "Content-Length: -3\r\n\r\nabc",
    "length hexadecimal": H + "Content-Length: 0x3\r\n\r\nabc",
    "length too long": H + "Content-Length: 99999999999999999999\r\n\r\n",
    "coding xchunked": H + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding gzip, chunked": H + "Transfer-Encoding: gzip, chunked\r\n\r\n"
                                "0\r\n\r\n",
    "coding twice": H + "Transfer-Encoding: chunked\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding in 1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "0\r\n\r\n",
    "LF only": "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
    "one LF only": H + "X: 1\nContent-Length: 3\r\n\r\nabc",
    "bare CR": H + "X: a\rContent-Length: 3\r\n\r\nabc",
    "folded": H + "X: a\r\n Content-Length: 3\r\n\r\n",
    "space before the colon": H + "Content-Length : 3\r\n\r\nabc",
    "NUL": H + "X: a\0b\r\nContent-Length: 3\r\n\r\nabc",
    "no colon": H + "Xyz\r\n\r\n",
    "status 99": "HTTP/1.1 99 No\r\n\r\n",
    "status 600": "HTTP/1.1 600 No\r\n\r\n",
    "status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
    "status abc": "HTTP/1.1 abc OK\r\n\r\n",
    "HTTP/2.0": "HTTP/2.0 200 OK\r\n\r\n",
    "HTTP/0.9": "<html>hello</html>\r\n\r\n",
    "an empty line first": "\r\n" + H + "Content-Length: 3\r\n\r\nabc",
    "a head that is too long": H + f"X: {'x' * 40000}\r\n\r\n",
    "too many headers": H + "X: y\r\n" * 300 + "\r\n",
    "a switch": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                "Connection: upgrade\r\n\r\n",
    "nothing": "",
    "half a head": H + "Content-Le",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(weir, server, name):
    """502, the connection ended, and what stands behind it is nobody's."""
    def answer(r, p):
        if r.target == "/good":
            return ok()
        p.say(WRONG[name] + (BEHIND if WRONG[name].endswith("c") or
                             WRONG[name].endswith("\r\n\r\n") else ""))
        return None

    s = server(answer)
    w = weir(at_root(s, 'tries = 1;'))
    with Http(w.http) as c:
        c.send("GET", "/bad")
        a = c.answer()
        assert a.status == 502 and b"smuggled" not in a.body
        for _ in range(3):
            c.send("GET", "/good")
            assert c.answer().body == b"good"
    assert s.last.connection > s.requests[0].connection


BROKEN = {
    "a short body": H + "Content-Length: 10\r\n\r\nabc",
    "a chunk without its end": H + "Transfer-Encoding: chunked\r\n\r\n"
                                   "5\r\nabcde",
    "no last chunk": H + "Transfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n",
    "a size that is none": H + "Transfer-Encoding: chunked\r\n\r\n"
                               "3\r\nabc\r\nxyz\r\n",
    "a chunk that is too long": H + "Transfer-Encoding: chunked\r\n\r\n"
                                    "3\r\nabcd\r\n0\r\n\r\n",
    "LF behind a size": H + "Transfer-Encoding: chunked\r\n\r\n"
                            "3\nabc\r\n0\r\n\r\n",
    "a trailer that frames": H + "Transfer-Encoding: chunked\r\n\r\n"
                                 "3\r\nabc\r\n0\r\nContent-Length: 1\r\n\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_bodies_that_break_off(weir, server, name):
    """The client sees that its answer is not whole."""
    def answer(r, p):
        p.say(BROKEN[name])

    s = server(answer)
    w = weir(at_root(s))
    with Http(w.http) as c:
        c.send("GET", "/bad")
        with pytest.raises((EOFError, ConnectionResetError)):
            c.answer()


def test_bytes_behind_an_answer_are_nobodys(weir, server):
    def answer(r, p):
        return ok("first") + BEHIND.encode()

    s = server(answer)
    w = weir(at_root(s))
    with Http(w.http) as c:
        for _ in range(5):
            c.send("GET", "/x")
            assert c.answer().body == b"first"
    assert s.connections == 5


def test_bytes_on_an_idle_link_are_nobodys(weir, server):
    said = threading.Event()

    def answer(r, p):
        p.say(ok("first"))
        if len(s.requests) == 1:
            p.say(BEHIND)
        said.set()
        return b""

    s = server(answer)
    w = weir(at_root(s))
    with Http(w.http) as c:
        for _ in range(3):
            c.send("GET", "/x")
            assert c.answer().body == b"first"
            assert said.wait(busy(5))  # else it answers the next request


def test_no_request_is_smuggled(weir, server):
    """All rows of wrong requests, each with a request behind it: the server
    gets none of these, and reads every byte that it gets as we meant it."""
    whole = []

    def answer(r, p):
        whole.append(r)
        return ok()

    s = server(answer)
    w = weir(at_root(s))
    for bad in REFUSED.values():
        with Http(w.http) as c:
            try:
                c.raw(bad.encode("latin-1") + SMUGGLED.encode())
                while c.sock.recv(65536):
                    pass
            except OSError:
                pass
    assert whole == [], [(r.method, r.target) for r in whole]
    for name, text in ONE_BODY.items():
        before = len(whole)
        with Http(w.http) as c:
            text = text.format(n=len(SMUGGLED), x=f"{len(SMUGGLED):x}")
            c.raw(text + SMUGGLED + "\r\n0\r\n\r\n")
            assert c.answer().status == 200, name
            assert c.ended(), name
        assert len(whole) == before + 1, name
        for header in ("content_length", "connection"):
            assert whole[-1].header(header) is None, name
    for name, text in ACCEPTED.items():
        with Http(w.http) as c:
            c.raw(text.encode("latin-1"))
            assert c.answer().status == 200, name
    wait_for(lambda: get(w.http, "/end").status == 200)
    assert not [r for r in whole if r.target.startswith("/smuggled")
                and r.method == "GET"]
