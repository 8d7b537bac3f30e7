"""HTTP serving: keep-alive, pipelining, bodies, limits, locations."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import time

import pytest

from http_client import Http, get, request
from patience import busy
from weir import wait_for

ECHO = """
    { path = "/e"; module = "echo"; name = "one";
      routes = [ "GET /hello", "POST /x/:id" ]; },"""


# ---- connections ----

def test_keep_alive_and_close(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        for _ in range(5):
            c.send("GET", "/e/hello")
            a = c.answer()
            assert a.status == 200
            assert (a.header("connection") or "keep-alive") == "keep-alive"
        c.send("GET", "/e/hello", "Connection: close")
        a = c.answer()
        assert a.header("connection") == "close"
        assert c.ended()


def test_http_1_0_closes_unless_asked(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        c.send("GET", "/e/hello", version="1.0", host=None)
        a = c.answer()
        assert a.status == 200
        assert a.header("content-length")
        assert a.header("transfer-encoding") is None
        assert c.ended()
    with Http(w.http) as c:
        for _ in range(2):
            c.send("GET", "/e/hello", "Connection: keep-alive",
                   version="1.0")
            assert c.answer().header("connection") == "keep-alive"


def test_pipelined_requests_are_answered_in_order(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        one = "".join(f"POST /e/x/{n} HTTP/1.1\r\nHost: t\r\n"
                      "Content-Length: 2\r\n\r\nab" for n in range(50))
        c.raw(one)
        for n in range(50):
            a = c.answer()
            assert a.status == 201
            assert a.json()["params"] == {"id": str(n)}


def test_request_byte_by_byte(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        for byte in b"POST /e/x/7 HTTP/1.1\r\nHost: t\r\n" \
                    b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n":
            c.raw(bytes([byte]))
        assert c.answer().json()["params"] == {"id": "7"}


def test_bodies_are_read_whole_before_the_next_request(weir):
    """With length and chunked, with trailers and extensions, wanted or
    not."""
    w = weir(locations=ECHO)
    body = b"x" * 50_000
    chunked = b"c350;name=value\r\n" + body + b"\r\n0\r\nX-T: 1\r\n\r\n"
    with Http(w.http) as c:
        for target, method in (("/e/x/1", "POST"), ("/nothing", "POST"),
                               ("/e/hello", "GET")):
            c.send(method, target, body=body)
            first = c.answer().status
            c.send(method, target, "Transfer-Encoding: chunked")
            c.raw(chunked)
            assert c.answer().status == first
        c.send("GET", "/e/hello")
        assert c.answer().status == 200


def test_expect_100_continue(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 3",
               "Expect: 100-continue")
        assert c.head().status == 100
        c.raw("abc")
        assert c.answer().status == 201


def test_expect_with_a_body_too_large_is_refused_at_once(weir):
    w = weir(http='client_max_body_size = "1k";', locations=ECHO)
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 3000",
               "Expect: 100-continue")
        assert c.answer().status == 413


def test_absolute_form_and_options_star(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        c.send("GET", "http://test/e/hello")
        assert c.answer().status == 200
        c.send("OPTIONS", "*")
        assert c.answer().status in (200, 204)


def test_keepalive_limits(weir):
    w = weir(http="keepalive_requests = 3;", locations=ECHO)
    with Http(w.http) as c:
        for n in range(3):
            c.send("GET", "/e/hello")
            a = c.answer()
        assert a.header("connection") == "close"
        assert c.ended()


def test_keepalive_timeout(weir):
    w = weir(http='keepalive_timeout = "500ms";', locations=ECHO)
    with Http(w.http) as c:
        began = time.monotonic()
        c.send("GET", "/e/hello")
        c.answer()
        assert c.ended()
        assert 0.4 < time.monotonic() - began < busy(3)  # 75 s unless told


def test_slow_head_and_slow_body_are_ended(weir):
    w = weir(http='client_header_timeout = "500ms";'
                  'client_body_timeout = "500ms";', locations=ECHO)
    with Http(w.http) as c:
        c.raw("GET /e/hello HTTP/1.1\r\n")
        assert c.answer().status == 408
        assert c.ended()
    with Http(w.http) as c:  # a head that trickles is slow as well
        c.raw("GET /e/hello HTTP/1.1\r\nX-Long-Header: ")
        with pytest.raises(OSError):
            for _ in range(1000):
                c.raw("a")
                time.sleep(0.05)
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 10")
        c.raw("abc")
        assert c.answer().status == 408
        assert c.ended()


def test_date_and_server_and_length(weir):
    w = weir(locations=ECHO)
    a = get(w.http, "/e/hello")
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT",
                        a.header("date"))
    assert int(a.header("content-length")) == len(a.body)
    assert a.header("content-type").startswith("application/json")


# ---- locations, layers, access ----

def test_longest_location_first_then_layers_then_shorter(weir):
    def unit(path, name, routes):
        return (f'{{ path = "{path}"; layers = ( {{ module = "echo"; '
                f'name = "{name}"; routes = [ {routes} ]; }}, '
                f'{{ module = "echo"; name = "{name}2"; '
                f'routes = [ "GET /second" ]; }} ); }},')
    w = weir(locations=unit("/a", "short", '"* /*"') +
             unit("/a/b", "long", '"GET /here"'))

    def who(target):
        return get(w.http, target).json()["unit"]
    assert who("/a/b/here") == "long"
    assert who("/a/b/second") == "long2"
    assert who("/a/b/other") == "short"   # PASS, PASS, the next location
    assert who("/a/bb") == "short"        # whole segments
    assert who("/a") == "short"
    assert get(w.http, "/c").status == 404


def test_access_of_a_location(weir):
    w = weir(locations='{ path = "/no"; module = "hello";'
                       ' access = [ "deny loopback", "allow all" ]; },'
                       '{ path = "/yes"; module = "hello";'
                       ' access = "allow 127.0.0.1"; },'
                       '{ path = "/none"; module = "hello";'
                       ' access = [ "allow 192.0.2.0/24" ]; },')
    assert get(w.http, "/no/hello").status == 403
    assert get(w.http, "/none/hello").status == 403
    assert get(w.http, "/yes/hello").status == 200


def test_body_limit_of_a_location(weir):
    w = weir(http='client_max_body_size = "1k";',
             locations='{ path = "/small"; module = "echo";'
                       '  routes = [ "POST /*" ]; },'
                       '{ path = "/large"; module = "echo";'
                       '  routes = [ "POST /*" ];'
                       '  client_max_body_size = "1M"; },')
    body = b"x" * 5000
    assert request(w.http, "POST", "/small/x", body=body).status == 413
    assert request(w.http, "POST", "/large/x", body=body).status == 201
    with Http(w.http) as c:
        c.send("POST", "/small/x", "Transfer-Encoding: chunked")
        c.raw(b"1388\r\n" + body + b"\r\n0\r\n\r\n")
        assert c.answer().status == 413
        assert c.ended()
    for sizes in (b"401\r\n", b"100\r\n" + b"x" * 256 + b"\r\n301;a=b\r\n",
                  b"FFFFFFFFFFFFFFF\r\n"):  # what comes is too much
        with Http(w.http) as c:
            c.send("POST", "/small/x", "Transfer-Encoding: chunked")
            c.raw(sizes)
            assert c.answer().status == 413
    with Http(w.http) as c:
        c.send("POST", "/small/x", "Transfer-Encoding: chunked")
        c.raw(b"200\r\n" + b"x" * 512 + b"\r\n200\r\n")
        c.raw(b"x" * 512 + b"\r\n0\r\n\r\n")
        assert c.answer().status == 201


def test_error_answers_suit_the_client(weir):
    w = weir()
    a = get(w.http, "/nothing")
    assert a.status == 404
    assert a.json()["status"] == 404
    assert a.json()["message"]
    a = get(w.http, "/nothing", "Accept: text/html")
    assert a.header("content-type").startswith("text/html")
    assert b"404" in a.body
    a = get(w.http, "/<script>alert(1)</script>", "Accept: text/html")
    assert b"<script>" not in a.body


# ---- access log ----

def test_access_log_combined(weir):
    w = weir(locations=ECHO)
    get(w.http, "/e/hello?a=%22b", "User-Agent: me \"quoted\"",
        "Referer: http://r/")
    get(w.http, "/nothing")
    text = wait_for(lambda: w.access_log().count("\n") >= 2 and
                    w.access_log(), what="two lines")
    one, two = text.splitlines()
    assert re.match(r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d '
                    r'\+0000\] "GET /e/hello\?a=%22b HTTP/1\.1" 200 \d+ '
                    r'"http://r/" "me ', one)
    assert ' 404 ' in two
    assert '"me "' not in one  # quotes are escaped


def test_access_log_json(weir):
    w = weir(http='access_log_format = "json";', locations=ECHO)
    get(w.http, "/e/hello", "User-Agent: a\"b\\c\u00fc")
    line = wait_for(lambda: w.access_log().count("\n") and w.access_log(),
                    what="a line")
    row = json.loads(line)
    assert row["status"] == 200
    assert "/e/hello" in json.dumps(row)


def test_access_log_off_and_refused_requests(weir):
    w = weir(locations=ECHO)
    with Http(w.http) as c:
        c.raw("GET / HTTP/1.1\r\n\r\n")
        assert c.answer().status == 400
    wait_for(lambda: " 400 " in w.access_log(), what="the 400 in the log")


def test_many_connections_at_once(weir):
    w = weir(workers=2, locations=ECHO)
    clients = [Http(w.http) for _ in range(200)]
    for c in clients:
        c.send("GET", "/e/hello")
    for c in clients:
        assert c.answer().status == 200
        c.close()
