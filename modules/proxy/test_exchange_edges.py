"""Requests and answers through modules/proxy at the edges of its buffers, its
times and what it hands on."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import socket
import threading
import time

import pytest

from control_client import ctl_json
from exchange_help import (EGRESS, at_root, group, layer, location, ok,
                           server)  # noqa: F401
from http_client import Http, get, request
from patience import busy
from weir import TRACED, place, run, wait_for


def through(weir, s, more="", path="/p", **parts):
    return weir(top=EGRESS, locations=location(s, path, more), **parts)


# ---- reading on ----

def test_an_answer_that_pauses_within_the_size_of_a_chunk(weir, server):
    def answer(r, p):
        p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n")
        time.sleep(0.2)
        return "hello\r\n0\r\n\r\n"

    s = server(answer)
    w = through(weir, s)
    assert get(w.http, "/p").body == b"hello"


@pytest.mark.parametrize("framing, body", [
    ("Content-Length: 4", b"abcd"),
    ("Transfer-Encoding: chunked", b"4\r\nabcd\r\n0\r\n\r\n")])
def test_a_head_does_not_wait_for_a_late_body(weir, server, framing, body):
    s = server()
    w = through(weir, s)
    with Http(w.http) as c:
        c.raw(f"PUT /p HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")
        wait_for(lambda: s.requests, 5, "the head")
        c.raw(body)
        assert c.answer().status == 200
    assert s.last.body == b"abcd"


def test_a_body_that_was_read_whole_before(weir, server):
    """A choice of versions looks for its parameter there."""
    s = server(lambda r, p: ok(str(len(r.body))))
    w = weir(top=EGRESS, locations=f"""{{ path = "/p"; layers = ( {{
      module = "version"; strategy = "param"; units = ( {{
        versions = [ "v1" ]; layers = ( {layer(s.url, 'buffer = "4k";')} );
      }} ); }} ); }},""")
    body = b"apiver=v1&text=" + b"x" * 50_000
    a = request(w.http, "POST", "/p",
                "Content-Type: application/x-www-form-urlencoded", body=body)
    assert a.body == str(len(body)).encode()
    assert s.last.body == body


def test_a_long_answer_instead_of_continue(weir, server):
    """The client does not send its body any more, and nobody waits for it."""
    def answer(r, p):
        p.say("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n")
        for _ in range(15):
            p.say("x")
            time.sleep(0.2)
        return b""

    s = server(answer, whole=False)
    w = through(weir, s, http='client_body_timeout = "500ms";')
    with Http(w.http) as c:
        c.raw("PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
              "Expect: 100-continue\r\n\r\n")
        assert c.answer().body == b"x" * 15


# ---- asking again ----

def test_a_server_that_is_only_slow_keeps_its_request(weir, server):
    """A kept link whose other end takes nothing: what was sent is on its way,
    and a POST goes to nobody else."""
    def answer(r, p):
        p.say(ok())
        stop.recv(1)
        return None

    stop, other = socket.socketpair()
    stuck, good = server(answer, whole=False), server()
    stuck.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    w = weir(top=group([stuck, good]), locations='{ path = "/p"; layers = ( '
             + layer("group", 'read_timeout = "500ms";') + ' ); },')
    while not stuck.requests:
        assert request(w.http, "PUT", "/p", body=b"x" * 40_000).status == 200
    said = [request(w.http, "POST", "/p", body=b"x").status for _ in range(2)]
    assert sorted(said) == [200, 504]
    other.close()


def test_the_last_server_is_silent(weir, server):
    """It is 504 also when there would be further tries, but no server."""
    def answer(r, p):
        stop.recv(1)

    stop, other = socket.socketpair()
    servers = [server(answer), server(answer)]
    w = weir(top=group(servers), locations='{ path = "/p"; layers = ( '
             + layer("group", 'read_timeout = "300ms"; tries = 5;') + ' ); },')
    assert get(w.http, "/p").status == 504
    other.close()


def test_a_head_that_is_too_long_for_a_small_buffer(weir, server):
    def answer(r, p):
        p.say("HTTP/1.1 200 OK\r\nX: " + "x" * 40_000)
        stop.recv(1)

    stop, other = socket.socketpair()
    s = server(answer)
    w = through(weir, s, 'buffer = "4k"; tries = 1; read_timeout = "5s";')
    assert get(w.http, "/p").status == 502
    other.close()


def test_an_interim_answer_ends_the_link(weir, server):
    """It says so, or has the headers of a body that it cannot have."""
    s = server(lambda r, p: f"HTTP/1.1 103 Early\r\n{says}\r\n".encode()
               + ok())
    w = through(weir, s)
    for says in ("Connection: close\r\n", "Content-Length: 9\r\n",
                 "Transfer-Encoding: chunked\r\n"):
        before = s.connections
        for _ in range(2):
            with Http(w.http) as c:
                c.send("GET", "/p")
                assert c.head().status == 103
                assert c.answer().body == b"good"
        assert s.connections == before + 2, says


# ---- what goes on ----

def test_addresses_stay_with_this_host(weir, server):
    s = server(lambda r, p: ok(
        "", f"Location: http://127.0.0.1:{s.port}{says}",
        status="302 Found"))
    w = weir(top=EGRESS, locations=location(s, "/p", 'uri = "/v2";')
             + location(s, "/s", 'uri = "/v2/";') + location(s, "/whole"))
    root = weir(at_root(s, 'uri = "/v2";'))
    for path, says, is_now in (
            ("/whole", "//evil.example/", "/evil.example/"),
            ("/whole", "/\\evil.example", "/evil.example"),
            ("/whole", "/\t/evil.example", "/evil.example"),
            ("/whole", "", "/"), ("/whole", "/a//b", "/a//b"),
            ("/", "/v2//evil.example", "/evil.example"),
            ("/", "/v2/\\evil.example", "/evil.example"),
            ("/", "/v2?a", "/?a"), ("/p", "/v2", "/p"),
            ("/p", "/v2#a", "/p#a"), ("/p", "/v2/a", "/p/a"),
            ("/p", "/v23", None), ("/s", "/v2/a", "/s/a")):
        a = get(root.http if path == "/" else w.http, path)
        assert a.header("location") == (
            is_now or f"http://127.0.0.1:{s.port}{says}"), (path, says)


def test_a_rule_for_addresses_names_no_other_host(weir, server):
    s = server(lambda r, p: ok("", f"Location: http://in.test{says}",
                               status="302 Found"))
    w = through(weir, s, 'redirects = [ "http://in.test/ /" ];')
    for says, is_now in (("/a", "/a"), ("//evil.example", "/evil.example"),
                         ("/\\evil.example", "/evil.example"),
                         ("", "http://in.test")):
        assert get(w.http, "/p").header("location") == is_now


@pytest.mark.parametrize("rule,says,is_now", [
    ("http://in.test https://out.test", "/a", "https://out.test/a"),
    ("http://in.test https://out.test", "?a", "https://out.test?a"),
    ("http://in.test https://out.test", ".evil.example/a", None),
    ("http://in.test https://out.test", ":81/a", None),
    ("http://in.test:8 https://out.test", ":80/a", None),
    ("http://in.test/a https://out.test/b", "/ab", "https://out.test/bb"),
    ("http:// https://", "/a", "https://in.test/a"),
])
def test_a_rule_for_a_host_is_for_all_of_it(weir, server, rule, says, is_now):
    s = server(lambda r, p: ok("", f"Location: http://in.test{says}",
                               status="302 Found"))
    w = through(weir, s, f'redirects = [ "{rule}" ];')
    assert get(w.http, "/p").header("location") == (
        is_now or f"http://in.test{says}")


def test_no_trailer_says_what_headers_may_not(weir, server):
    bad = ("X-Real-IP", "traceparent", "tracestate", "X-API-Version", "X-Set",
           "X-Hop", "X-Forwarded-For", "Forwarded", "Connection", "Cookie")

    def answer(r, p):
        return ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                "Connection: X-Hop\r\n\r\n0\r\nX-Hop: 1\r\nServer: no\r\n"
                "X-Hidden: 1\r\nSum: 1\r\n\r\n")

    s = server(answer)
    w = through(weir, s, 'set_headers = [ "X-Set: ours" ]; '
                'hide_headers = [ "X-Hidden" ];')
    with Http(w.http) as c:
        c.raw("POST /p HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n"
              "Connection: X-Hop, TE\r\nTransfer-Encoding: chunked\r\n\r\n"
              "1\r\nx\r\n0\r\n" + "".join(f"{n}: 6.6.6.6\r\n" for n in bad)
              + "Sum: 1\r\n\r\n")
        c.head()
        assert c._until(b"\r\n\r\n") == b"0\r\nSum: 1"
    assert s.last.trailers == ["Sum: 1"]


def test_paths_in_locations_of_every_kind(weir, server):
    s = server()
    w = weir(top=EGRESS, locations=location(s, "= /one", 'uri = "/v2";')
             + location(s, "~ ^/pa(.*)$"))
    for path, target in (("/one", "/v2"), ("/pa/a", "/pa/a")):
        assert get(w.http, path).body == b"good"
        assert s.last.target == target
    w = weir(at_root(s, "raw_path = true;"))
    get(w.http, "/a/%2e%2e/b%2fc?d")
    assert s.last.target == "/a/%2e%2e/b%2fc?d"
    w = weir(at_root(s, "raw_path = true;").replace(
        "locations = (", 'rewrite = ( { pattern = "^/secret"; to = "/none"; } ); '
        "locations = ("))
    get(w.http, "/secret")
    assert s.last.target == "/none"


@pytest.mark.parametrize("path, more", [
    ("~ ^/x", 'uri = "/v2";'), ("~ ^/x", 'set_headers = "X: $none";'),
    ("/x", 'set_headers = "X: $1";')])
def test_settings_that_do_not_fit_their_location(weir, server, path, more):
    with pytest.raises(AssertionError, match=r"weir.conf:\d+: (uri|set_headers)"):
        through(weir, server(), more, path)


@pytest.mark.parametrize("path, more, fits", [
    ("~ ^/x", 'uri = "/v2";', False),
    ("/x", 'set_headers = "X: $none";', False),
    ("/x", 'uri = "/v2";', True)])
def test_such_settings_are_refused_before_a_start(tmp_path, server, path, more,
                                                  fits):
    s = server()
    version = (f'{{ path = "{path}"; layers = ( {{ module = "version"; '
               f'units = ( {{ versions = "v1"; layers = ( '
               f'{layer(s.url, more)} ); }} ); }} ); }}')
    for place_of in (location(s, path, more).rstrip(","), version):
        place(tmp_path, f'{EGRESS} {TRACED} http = {{ servers = ( {{ listen = '
              f'"127.0.0.1:0"; locations = ( {place_of} ); }} ); }};')
        done = run("-t", "-c", "weir.conf", "-p", str(tmp_path),
                   prefix=tmp_path)
        assert (done.returncode == 0) == fits, done.stderr
        assert fits or re.search(r"weir.conf:1: (uri|set_headers)", done.stderr)


# ---- other protocols ----

def test_a_switch_to_what_nobody_has_asked_for(weir, server):
    def answer(r, p):
        p.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
              f"Upgrade: {says}\r\n\r\n")

    s = server(answer)
    w = through(weir, s)
    for asks, says, status in (("echo", "h2c", 502), ("a, Echo", "echo", 101),
                               ("echo", "a, echo", 502), ("echo", "", 502)):
        with Http(w.http) as c:
            c.send("GET", "/p", "Connection: Upgrade", f"Upgrade: {asks}")
            assert c.head().status == status, (asks, says)
            assert s.last.header("upgrade") == asks


def test_another_http_is_not_asked_for(weir, server):
    s = server()
    w = through(weir, s)
    for asks in ("h2c", "HTTP/2.0", "h2c, HTTP/2.0"):
        a = get(w.http, "/p", "Connection: Upgrade, HTTP2-Settings",
                f"Upgrade: {asks}", "HTTP2-Settings: AAMAAABkAAQAAP__")
        assert a.body == b"good"
        for name in ("upgrade", "connection", "http2-settings"):
            assert s.last.header(name) is None


def test_others_of_the_list_are(weir, server):
    s = server()
    w = through(weir, s)
    for asks, goes_on in (("h2c, websocket", "websocket"),
                          ("websocket, h2c", "websocket"),
                          ("HTTP/2.0, echo , h2c, x/1", "echo, x/1")):
        get(w.http, "/p", "Connection: Upgrade", f"Upgrade: {asks}")
        assert s.last.header("upgrade") == goes_on
        assert s.last.header("connection") == "Upgrade"


def test_a_client_that_ends_its_side_before_the_tunnel(weir, server):
    def answer(r, p):
        time.sleep(0.3)
        p.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
              "Upgrade: echo\r\n\r\n")
        while data := p.file.read1(65536):
            p.say(data)
        p.say("bye")

    s = server(answer)
    w = through(weir, s)
    for first in (b"first", b""):
        with Http(w.http) as c:
            c.raw(b"GET /p HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                  b"Upgrade: echo\r\n\r\n" + first)
            c.sock.shutdown(socket.SHUT_WR)
            assert c.head().status == 101
            assert c._exactly(len(first) + 3) == first + b"bye"
            assert c.ended()


# ---- clients that leave ----

def holding(asked, ended, free):
    """A server that tells when it was asked, and when its connection ends
    before it is free to answer."""
    def answer(r, p):
        asked.set()
        p.sock.settimeout(0.05)
        while not free.is_set():
            try:
                if p.sock.recv(1) == b"":
                    ended.set()
                    return None
            except TimeoutError:
                pass
        return ok("late")
    return answer


@pytest.fixture
def events():
    asked, ended, free = (threading.Event() for _ in range(3))
    yield asked, ended, free
    free.set()


REQUESTS = ["GET /p HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"]


@pytest.mark.parametrize("words", REQUESTS, ids=["get", "post"])
@pytest.mark.parametrize("half", [False, True], ids=["all", "its-side"])
def test_a_client_that_leaves_ends_its_request(weir, server, events, words,
                                               half):
    asked, ended, _ = events
    s = server(holding(*events))
    w = weir(top=EGRESS + 'upstreams = ( { name = "one"; servers = '
             f'( {{ address = "127.0.0.1:{s.port}"; max_connections = 1; }} ); '
             '} );', locations='{ path = "/p"; layers = ( '
             '{ module = "proxy"; upstream = "one"; } ); },')
    with Http(w.http) as c:
        c.raw(words)
        assert asked.wait(busy(5))
        if half:
            c.sock.shutdown(socket.SHUT_WR)
            assert c.ended()
    assert ended.wait(busy(5))
    wait_for(lambda: ctl_json(w, "show", "upstreams")[0]["open"] == 0, 5,
             "its place")


def test_who_only_ends_its_side_may_be_waited_for(weir, server, events):
    asked, ended, free = events
    s = server(holding(*events))
    w = through(weir, s, 'on_client_close = "go on";')
    with Http(w.http) as c:
        c.raw(REQUESTS[0])
        assert asked.wait(busy(5))
        c.sock.shutdown(socket.SHUT_WR)
        assert not ended.wait(0.3)
        free.set()
        assert c.answer().body == b"late"
    assert not ended.is_set()


def test_an_answer_that_has_begun_goes_on(weir, server):
    def answer(r, p):
        p.say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        time.sleep(0.3)
        return "def"

    s = server(answer)
    w = through(weir, s)
    with Http(w.http) as c:
        c.raw(REQUESTS[0])
        assert c.head().status == 200
        c.sock.shutdown(socket.SHUT_WR)
        assert c._exactly(6) == b"abcdef"
