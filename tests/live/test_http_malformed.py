"""Requests that may not be served: each is answered with its status (or
none) and the connection ends, so that no byte behind it is a request."""
# SPDX-License-Identifier: BSD-2-Clause

import os

import pytest

from http_client import Http, get
from weir import wait_for

G = "GET / HTTP/1.1\r\nHost: t\r\n"
P = "POST / HTTP/1.1\r\nHost: t\r\n"
SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n"

REFUSED = {
    # framing: Content-Length and Transfer-Encoding
    "both": P + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                "0\r\n\r\n",
    "both, the other way": P + "Transfer-Encoding: chunked\r\n"
                               "Content-Length: 3\r\n\r\n0\r\n\r\n",
    "length twice": P + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "length twice, different": P + "Content-Length: 3\r\n"
                                   "Content-Length: 4\r\n\r\nabc",
    "length list": P + "Content-Length: 3, 3\r\n\r\nabc",
    "length with plus": P + "Content-Length: +3\r\n\r\nabc",
    "length negative": P + "Content-Length: -3\r\n\r\nabc",
    "length hexadecimal": P + "Content-Length: 0x3\r\n\r\nabc",
    "length too long": P + "Content-Length: 99999999999999999999999\r\n\r\n",
    "length empty": P + "Content-Length:\r\n\r\n",
    "length with a space inside": P + "Content-Length: 3 3\r\n\r\nabc",
    "coding xchunked": P + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding identity": P + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "coding chunked first": P + "Transfer-Encoding: chunked, identity\r\n"
                                "\r\n0\r\n\r\n",
    "coding gzip, chunked": P + "Transfer-Encoding: gzip, chunked\r\n"
                                "\r\n0\r\n\r\n",
    "coding quoted": P + 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "coding twice": P + "Transfer-Encoding: chunked\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding in 1.0": "POST / HTTP/1.0\r\nHost: t\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "length quoted": P + 'Content-Length: "3"\r\n\r\nabc',
    "length with a point": P + "Content-Length: 3.0\r\n\r\nabc",
    "length after a vertical tab": P + "Content-Length: \x0b3\r\n\r\nabc",
    "coding empty": P + "Transfer-Encoding:\r\n\r\n0\r\n\r\n",
    "coding chunked, chunked": P + "Transfer-Encoding: chunked, chunked\r\n"
                                   "\r\n0\r\n\r\n",
    "coding with a parameter": P + "Transfer-Encoding: chunked;q=1\r\n"
                                   "\r\n0\r\n\r\n",
    "coding gzip in 1.0": "POST / HTTP/1.0\r\nHost: t\r\n"
                          "Transfer-Encoding: gzip, chunked\r\n\r\n",
    "coding behind a vertical tab": P + "Transfer-Encoding: \x0bchunked\r\n"
                                        "\r\n0\r\n\r\n",
    "both, one twice": P + "Content-Length: 3\r\nContent-Length: 3\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n"
                           "0\r\n\r\n",
    "space before the colon of coding": P + "Transfer-Encoding : chunked\r\n"
                                            "\r\n0\r\n\r\n",
    "upgrade with a body": P + "Connection: upgrade\r\nUpgrade: websocket\r\n"
                               "Content-Length: 3\r\n\r\nabc",
    "upgrade with chunks": P + "Connection: upgrade\r\n"
                               "Upgrade: h2c, websocket\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n"
                               "0\r\n\r\n",
    # lines
    "folded header": G + "X: a\r\n b\r\n\r\n",
    "folded with tab": G + "X: a\r\n\tb\r\n\r\n",
    "length folded away": P + "X: a\r\n Content-Length: 2\r\n\r\nab",
    "first header folded": "GET / HTTP/1.1\r\n Host: t\r\n\r\n",
    "space before the colon": G + "X : a\r\n\r\n",
    "LF only": "GET / HTTP/1.1\nHost: t\n\n",
    "one LF only": G + "X: a\nY: b\r\n\r\n",
    "bare CR in a value": G + "X: a\rTransfer-Encoding: chunked\r\n\r\n",
    "CR CR LF": G + "X: a\r\r\n\r\n",
    "head ends with CR LF CR X": G + "X: a\r\n\rX",
    "empty header name": G + ": a\r\n\r\n",
    "header without colon": G + "Xyz\r\n\r\n",
    "NUL in a value": G + "X: a\0b\r\n\r\n",
    "NUL in the target": "GET /a\0b HTTP/1.1\r\nHost: t\r\n\r\n",
    "control in a value": G + "X: a\x01b\r\n\r\n",
    "control in a name": G + "X\x01: a\r\n\r\n",
    "DEL in a value": G + "X: a\x7fb\r\n\r\n",
    "NUL in a name": G + "X\0: a\r\n\r\n",
    "LF alone ends the head": G + "X: a\n\n",
    "LF alone between head and body": P + "Content-Length: 3\r\n\nabc",
    "bytes above 127 in a name": G + "X\xfc: a\r\n\r\n",
    "tab before the colon": G + "X\t: a\r\n\r\n",
    "name not a token": G + "X(y): a\r\n\r\n",
    # request line
    "HTTP/0.9": "GET /\r\n",
    "port above 65535": "GET / HTTP/1.1\r\nHost: t:65536\r\n\r\n",
    "port of five nines": "GET / HTTP/1.1\r\nHost: [::1]:99999\r\n\r\n",
    "port above 65535 in the target": "GET http://t:70000/ HTTP/1.1\r\n"
                                      "Host: t:70000\r\n\r\n",
    "HTTP/0.9 with version": "GET / HTTP/0.9\r\nHost: t\r\n\r\n",
    "HTTP/2.0": "GET / HTTP/2.0\r\nHost: t\r\n\r\n",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": "GET / HTTP/1.2\r\nHost: t\r\n\r\n",
    "HTTP/1.10": "GET / HTTP/1.10\r\nHost: t\r\n\r\n",
    "http in small letters": "GET / http/1.1\r\nHost: t\r\n\r\n",
    "two spaces": "GET  / HTTP/1.1\r\nHost: t\r\n\r\n",
    "tab": "GET\t/ HTTP/1.1\r\nHost: t\r\n\r\n",
    "space in the target": "GET /a b HTTP/1.1\r\nHost: t\r\n\r\n",
    "space at the end": "GET / HTTP/1.1 \r\nHost: t\r\n\r\n",
    "fragment": "GET /a#b HTTP/1.1\r\nHost: t\r\n\r\n",
    "no slash": "GET a HTTP/1.1\r\nHost: t\r\n\r\n",
    "method in small letters": "get / HTTP/1.1\r\nHost: t\r\n\r\n",
    "method with a digit or sign": "GE<T / HTTP/1.1\r\nHost: t\r\n\r\n",
    "unknown method": "BREW / HTTP/1.1\r\nHost: t\r\n\r\n",
    "method of 33 letters": "A" * 33 + " / HTTP/1.1\r\nHost: t\r\n\r\n",
    "no method": " / HTTP/1.1\r\nHost: t\r\n\r\n",
    "bytes above 127 in the target": "GET /\xfc HTTP/1.1\r\nHost: t\r\n\r\n",
    "DEL in the target": "GET /\x7f HTTP/1.1\r\nHost: t\r\n\r\n",
    "another scheme": "GET ftp://t/ HTTP/1.1\r\nHost: t\r\n\r\n",
    "absolute target without host": "GET http:///x HTTP/1.1\r\nHost: t\r\n"
                                    "\r\n",
    "absolute target with user": "GET http://u@t/ HTTP/1.1\r\nHost: t\r\n"
                                 "\r\n",
    "star of a GET": "GET * HTTP/1.1\r\nHost: t\r\n\r\n",
    "TRACE": "TRACE /smuggled HTTP/1.1\r\nHost: t\r\n\r\n",
    "TRACE of nothing": "TRACE /nothing HTTP/1.1\r\nHost: t\r\n\r\n",
    "CONNECT": "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "bad percent": "GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n",
    "percent cut": "GET /% HTTP/1.1\r\nHost: t\r\n\r\n",
    "encoded NUL": "GET /%00 HTTP/1.1\r\nHost: t\r\n\r\n",
    "above the root": "GET /../x HTTP/1.1\r\nHost: t\r\n\r\n",
    # host
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "host with a slash": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "host with a space": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "host with an at": "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "host other than the target's": "GET http://a/ HTTP/1.1\r\n"
                                    "Host: b\r\n\r\n",
    "two hosts in 1.0": "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    "host empty": "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "host list": "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "host with a long port": "GET / HTTP/1.1\r\nHost: a:123456\r\n\r\n",
    "host with a name as port": "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
    "host hidden behind _": "GET / HTTP/1.1\r\nHo_st: a\r\n\r\n",
    # chunks
    "chunk without CRLF": P + "Transfer-Encoding: chunked\r\n\r\n"
                              "3\r\nabcX0\r\n\r\n",
    "chunk size empty": P + "Transfer-Encoding: chunked\r\n\r\n\r\nabc",
    "chunk size not hex": P + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "chunk size with 0x": P + "Transfer-Encoding: chunked\r\n\r\n"
                              "0x3\r\nabc\r\n0\r\n\r\n",
    "chunk size negative": P + "Transfer-Encoding: chunked\r\n\r\n-3\r\n",
    "chunk size overflow": P + "Transfer-Encoding: chunked\r\n\r\n"
                               "fffffffffffffffff\r\n",
    "chunk extension with LF": P + "Transfer-Encoding: chunked\r\n\r\n"
                                   "3;a\nb\r\nabc\r\n0\r\n\r\n",
    "chunk size line with LF": P + "Transfer-Encoding: chunked\r\n\r\n"
                                   "3\nabc\r\n0\r\n\r\n",
    "chunk extension without end": P + "Transfer-Encoding: chunked\r\n\r\n"
                                       "3;" + "a" * 20000,
    "chunk size of 17 digits": P + "Transfer-Encoding: chunked\r\n\r\n"
                                   "00000000000000003\r\nabc\r\n0\r\n\r\n",
    "chunk size with a space": P + "Transfer-Encoding: chunked\r\n\r\n"
                                   " 3\r\nabc\r\n0\r\n\r\n",
    "chunk size with plus": P + "Transfer-Encoding: chunked\r\n\r\n"
                                "+3\r\nabc\r\n0\r\n\r\n",
    "chunk size ended by CR": P + "Transfer-Encoding: chunked\r\n\r\n"
                                  "3\rXabc\r\n0\r\n\r\n",
    "chunk data ended by LF": P + "Transfer-Encoding: chunked\r\n\r\n"
                                  "3\r\nabc\n0\r\n\r\n",
    "chunk data too long": P + "Transfer-Encoding: chunked\r\n\r\n"
                               "3\r\nabcde\r\n0\r\n\r\n",
    "chunk extension of 300 bytes": P + "Transfer-Encoding: chunked\r\n\r\n"
                                        "3;a=" + "b" * 300 +
                                    "\r\nabc\r\n0\r\n\r\n",
    "many small chunk extensions": P + "Transfer-Encoding: chunked\r\n\r\n" +
                                   "1;a=b\r\nx\r\n" * 100 + "0\r\n\r\n",
    "chunk extension with NUL": P + "Transfer-Encoding: chunked\r\n\r\n"
                                    "3;a\0\r\nabc\r\n0\r\n\r\n",
    "folded trailer": P + "Transfer-Encoding: chunked\r\n\r\n"
                          "0\r\nX: a\r\n b\r\n\r\n",
    "trailer ended by LF": P + "Transfer-Encoding: chunked\r\n\r\n"
                               "0\r\nX: a\n\r\n",
    "trailer without colon": P + "Transfer-Encoding: chunked\r\n\r\n"
                                 "0\r\nabc\r\n\r\n",
    "host in trailers": P + "Transfer-Encoding: chunked\r\n\r\n"
                            "0\r\nHost: b\r\n\r\n",
    "length in trailers": P + "Transfer-Encoding: chunked\r\n\r\n"
                              "0\r\nContent-Length: 5\r\n\r\n",
    "coding in trailers": P + "Transfer-Encoding: chunked\r\n\r\n"
                              "0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "trailers without end": P + "Transfer-Encoding: chunked\r\n\r\n0\r\n" +
                            "X: aaaaaaaaaa\r\n" * 5000,
    # other
    "unknown expectation": P + "Expect: a miracle\r\n"
                               "Content-Length: 1\r\n\r\na",
    # sizes
    "long target": "GET /" + "a" * 9000 + " HTTP/1.1\r\nHost: t\r\n\r\n",
    "long header": G + "X: " + "a" * 9000 + "\r\n\r\n",
    "many headers": G + "X: a\r\n" * 200 + "\r\n",
    "long head": G + "".join(f"X{n}: {'a' * 900}\r\n" for n in range(50)) +
                 "\r\n",
    "no line end at all": "G" * 30000,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One weir for the whole table: none of it may harm it."""
    from weir import Weir
    w = Weir(tmp_path_factory.mktemp("weir"),
             locations='{ path = "/smuggled"; module = "echo";'
                       ' routes = [ "* /*" ]; },')
    workers = w.workers()
    yield w
    try:
        assert w.workers() == workers, "a worker died"
    finally:
        w.finish()


@pytest.mark.parametrize("name", REFUSED)
def test_refused(server, name):
    with Http(server.http) as c:
        try:
            c.raw(REFUSED[name].encode("latin-1") + SMUGGLED.encode())
        except OSError:
            pass
        try:
            a = c.answer()
        except (EOFError, ConnectionResetError):
            return  # closed without an answer
        assert 400 <= a.status < 600, f"{a.status} {a.body!r}"
        assert a.header("connection") == "close"
        assert c.ended(), "something behind it was answered"


STATUS = {
    "long target": 414, "long header": 431, "many headers": 431,
    "long head": 431, "HTTP/2.0": 505, "unknown method": 501,
    "no host": 400, "two hosts": 400, "both": 400, "length twice": 400,
    "folded header": 400, "unknown expectation": 417,
    "coding gzip, chunked": 501, "TRACE": 405, "TRACE of nothing": 405,
    "CONNECT": 405, "upgrade with a body": 400, "coding in 1.0": 400,
    "HTTP/0.9": 505, "two hosts in 1.0": 400, "method of 33 letters": 400,
}


@pytest.mark.parametrize("name", STATUS)
def test_status_says_why(server, name):
    with Http(server.http) as c:
        c.raw(REFUSED[name].encode("latin-1"))
        a = c.answer()
        assert a.status == STATUS[name]
        if a.status == 405:  # RFC 9110, 15.5.6: what there is instead
            assert set(a.header("allow").split(", ")) == {
                "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


ACCEPTED = {
    "header names in any case": "GET /healthz HTTP/1.1\r\nhOST: t\r\n\r\n",
    "no space after the colon": "GET /healthz HTTP/1.1\r\nHost:t\r\n\r\n",
    "spaces around a value": "GET /healthz HTTP/1.1\r\nHost:  t \t\r\n\r\n",
    "empty value": "GET /healthz HTTP/1.1\r\nHost: t\r\nX:\r\n\r\n",
    "an empty line first": "\r\nGET /healthz HTTP/1.1\r\nHost: t\r\n\r\n",
    "bytes above 127 in a value": "GET /healthz HTTP/1.1\r\nHost: t\r\n"
                                  "X: \xfc\xff\r\n\r\n",
    "host with port": "GET /healthz HTTP/1.1\r\nHost: t:80\r\n\r\n",
    "host is an IPv6 address": "GET /healthz HTTP/1.1\r\n"
                               "Host: [::1]:80\r\n\r\n",
    "chunked in capitals": "GET /healthz HTTP/1.1\r\nHost: t\r\n"
                           "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
    "length with leading zeros": "GET /healthz HTTP/1.1\r\nHost: t\r\n"
                                 "Content-Length: 000\r\n\r\n",
    "encoded letters": "GET /%68ealthz HTTP/1.1\r\nHost: t\r\n\r\n",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(server, name):
    with Http(server.http) as c:
        c.raw(ACCEPTED[name].encode("latin-1"))
        assert c.answer().status == 200
        c.send("GET", "/healthz")
        assert c.answer().status == 200


def test_nothing_smuggled_was_served(server):
    """Of all requests behind the refused ones, none reached a handler: the
    access log has a line for everything that was read as a request."""
    with Http(server.http) as c:
        for bad in REFUSED.values():
            with Http(server.http) as other:
                try:
                    other.raw(bad.encode("latin-1") + SMUGGLED.encode())
                    while other.sock.recv(65536):
                        pass
                except OSError:
                    pass
        c.send("GET", "/healthz?the-end")
        assert c.answer().status == 200
    wait_for(lambda: "/healthz?the-end" in server.access_log(), 5)
    lines = server.access_log().splitlines()
    smuggled = [line for line in lines if '"GET /smuggled ' in line]
    assert not smuggled, smuggled


ONE_BODY = {
    "hop-by-hop length": P.replace("/ ", "/smuggled ") +
                         "Connection: close, Content-Length\r\n"
                         "Content-Length: {n}\r\n\r\n",
    "hop-by-hop coding": P.replace("/ ", "/smuggled ") +
                         "Connection: close, Transfer-Encoding\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"
                         "{x}\r\n",
    "length beside one with _": P.replace("/ ", "/smuggled ") +
                                "Connection: close\r\nContent_Length: 0\r\n"
                                "Content-Length: {n}\r\n\r\n",
    "behind Connection: close": "GET /healthz HTTP/1.1\r\nHost: t\r\n"
                                "Connection: close\r\n\r\n",
    "behind the end of 1.0": "GET /healthz HTTP/1.0\r\n\r\n",
}


@pytest.mark.parametrize("name", ONE_BODY)
def test_one_request_only(server, name):
    """What looks like a second request is the first one's body, or is not
    looked at."""
    with Http(server.http) as c:
        text = ONE_BODY[name].format(n=len(SMUGGLED), x=f"{len(SMUGGLED):x}")
        c.raw(text + SMUGGLED + "\r\n0\r\n\r\n")
        assert c.answer().status in (200, 201)
        assert c.ended()


def test_underscored_headers_are_not_there(server):
    with Http(server.http) as c:
        c.raw("GET /healthz HTTP/1.1\r\nHost: t\r\nConnec_tion: close\r\n"
              "Expect_: x\r\n\r\n")
        assert c.answer().status == 200
        c.send("GET", "/healthz")
        assert c.answer().status == 200


def test_many_sent_ahead(server):
    """100 requests in one piece: all are answered in order, and a neighbour
    is served meanwhile."""
    with Http(server.http) as c:
        c.raw("".join(f"GET /smuggled/{n} HTTP/1.1\r\nHost: t\r\n\r\n"
                      for n in range(100)))
        assert get(server.http, "/healthz").status == 200
        for n in range(100):
            assert c.answer().json()["path"] == f"/{n}"


def test_garbage(server):
    for n in range(60):
        with Http(server.http) as c:
            try:
                c.raw(os.urandom(100 * n))
                c.raw(b"\r\n\r\n")
                c.answer()
            except (EOFError, OSError, AssertionError):
                pass
    assert get(server.http, "/healthz").status == 200
