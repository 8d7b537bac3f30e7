"""Requests and answers through modules/proxy, whole and in order."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import socket
import subprocess
import threading
import time

from exchange_help import (EGRESS, group, layer, location, ok,
                           server)  # noqa: F401
from http_client import Http, get, request
from patience import busy
from weir import SANITIZED, free_port, resident, wait_for

SIZE = 50_000_000
HELD = (16 if SANITIZED else 4) << 20  # freed memory is kept for the checks


def through(weir, s, more="", path="/p", **parts):
    return weir(top=EGRESS, locations=location(s, path, more), **parts)


def test_a_request_and_its_answer(weir, server):
    s = server(lambda r, p: ok("found", "X-Own: 1", "Set-Cookie: a=1",
                               "Set-Cookie: b=2", "Server: other",
                               "Vary: Accept"))
    w = through(weir, s)
    a = get(w.http, "/p/a%20b/%2e%2e/c?q=%41&r", "X-Mine: 7", "Cookie: c=1",
            host="web.test")
    assert a.status == 200 and a.body == b"found"
    assert a.header("x-own") == "1" and a.header("vary") == "Accept"
    assert [v for n, v in a.headers if n == "set-cookie"] == ["a=1", "b=2"]
    assert a.header("server") == "weir" and a.header("date")
    r = s.last
    assert (r.method, r.target, r.version) == ("GET", "/p/a%20b/%2e%2e/c?q=%41&r",
                                               "HTTP/1.1")
    assert r.header("host") == "web.test"
    assert r.header("x-mine") == "7" and r.header("cookie") == "c=1"
    assert r.header("content-length") is None
    assert r.header("x-request-id") == a.header("x-request-id")
    assert r.header("traceparent").startswith("00-")
    for name in ("connection", "transfer-encoding", "expect"):
        assert r.header(name) is None


def test_headers_for_one_connection_go_no_further(weir, server):
    s = server(lambda r, p: ok("x", "Connection: keep-alive, X-Hop",
                               "X-Hop: 1", "Keep-Alive: timeout=5",
                               "X-Stays: 1", "Upgrade: h2c"))
    w = through(weir, s)
    a = get(w.http, "/p", "Connection: X-Secret, keep-alive", "X-Secret: 1",
            "Keep-Alive: 3", "TE: gzip", "Proxy-Connection: close",
            "X-Stays: 1", "Upgrade: foo")
    for name in ("x-hop", "keep-alive", "upgrade", "connection"):
        assert a.header(name) is None, name
    assert a.header("x-stays") == "1"
    for name in ("connection", "x-secret", "keep-alive", "te",
                 "proxy-connection", "upgrade"):
        assert s.last.header(name) is None, name
    assert s.last.header("x-stays") == "1"


def test_who_asks(weir, server):
    s = server()
    w = through(weir, s)
    lies = ("X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https",
            "X-Forwarded-Host: evil", "Forwarded: for=1.2.3.4",
            "X-Real-IP: 1.2.3.4", "X-Forwarded-Port: 1")
    get(w.http, "/p", *lies, host="a:81")
    r = s.last
    assert r.header("x-forwarded-for") == "127.0.0.1"
    assert r.header("x-forwarded-proto") == "http"
    assert r.header("x-forwarded-host") == "a:81"
    assert r.header("x-forwarded-port") == "81"
    assert r.header("x-real-ip") == "127.0.0.1"
    assert r.header("forwarded") == 'for=127.0.0.1;host="a:81";proto=http'


def test_a_trusted_proxy_is_added_to_the_list(weir, server):
    s = server()
    w = through(weir, s, http='trusted_proxies = [ "127.0.0.1" ];')
    get(w.http, "/p", "X-Forwarded-For: 9.9.9.9, 192.0.2.7",
        "X-Forwarded-Proto: https")
    assert s.last.header("x-forwarded-for") == "9.9.9.9, 192.0.2.7, 127.0.0.1"
    assert s.last.header("x-forwarded-proto") == "https"
    assert s.last.header("x-real-ip") == "192.0.2.7"


def test_paths_hosts_and_headers_by_the_settings(weir, server):
    s = server(lambda r, p: ok("x", "X-Internal: 1"))
    w = weir(top=EGRESS, locations="".join([
        location(s, "/one", 'uri = "/v2";'),
        location(s, "/two", 'uri = "/"; host = "upstream";'),
        location(s, "/three", 'host = "api.example"; set_headers = '
                 '[ "X-Set: ours", "Cookie:", "X-Forwarded-For: me" ];'
                 'hide_headers = [ "x-internal" ];')]))
    for path, target in (("/one", "/v2"), ("/one/", "/v2/"),
                         ("/one/a%3fb", "/v2/a%3Fb"), ("/two", "/"),
                         ("/two/a", "/a"), ("/three/a", "/three/a")):
        a = get(w.http, path, "X-Set: theirs", "Cookie: a=1", host="web.test")
        assert s.last.target == target
    assert s.last.header("host") == "api.example"
    assert s.last.header("x-set") == "ours"
    assert s.last.header("cookie") is None
    assert s.last.header("x-forwarded-for") == "me"
    assert a.header("x-internal") is None
    get(w.http, "/two")
    assert s.last.header("host") == f"127.0.0.1:{s.port}"


# ---- bodies ----

def test_bodies_by_length_and_in_chunks(weir, server):
    s = server(lambda r, p: ok(r.body))
    w = through(weir, s)
    a = request(w.http, "POST", "/p", body=b"abc")
    assert a.body == b"abc" and s.last.header("content-length") == "3"
    with Http(w.http) as c:
        c.raw("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
              "Trailer: Sum\r\n\r\n3;x=1\r\nabc\r\n1\r\nd\r\n0\r\nSum: 4\r\n"
              "Content-Type: no\r\n\r\n")
        assert c.answer().body == b"abcd"
    assert s.last.header("content-length") is None
    assert s.last.trailers == ["Sum: 4"]
    request(w.http, "POST", "/p", "Content-Length: 0")
    assert s.last.header("content-length") == "0"


def test_50_mb_each_way(weir, server, tmp_path):
    def answer(r, p):
        if r.header("expect"):
            p.say("HTTP/1.1 100 Continue\r\n\r\n")
        p.body(r)
        return ok(r.body)

    s = server(answer, whole=False)
    w = through(weir, s)
    film, copy = tmp_path / "film", tmp_path / "copy"
    film.write_bytes(os.urandom(SIZE))
    before = resident(w.workers()[0])
    for how in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect:"]):
        subprocess.run(
            ["curl", "-sSf", "-T", film, "-o", copy, *how, "-m",
             str(busy(60)), w.http_url("/p/film")], check=True)
        assert copy.read_bytes() == film.read_bytes()
    assert resident(w.workers()[0]) < before + 2 * HELD


def test_answers_of_every_framing(weir, server):
    answers = {
        "/p/length": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "/p/chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                     "Trailer: Sum\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nSum: 3\r\n"
                     "\r\n",
        "/p/close": "HTTP/1.1 200 OK\r\n\r\nabc",
        "/p/old": "HTTP/1.0 200 OK\r\n\r\nabc",
        "/p/oldlength": "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    }

    def answer(r, p):
        p.say(answers[r.target])
        return b"" if r.target in ("/p/length", "/p/chunks") else None

    s = server(answer)
    w = through(weir, s)
    with Http(w.http) as c:
        for path in answers:
            c.send("GET", path, "TE: trailers")
            raw = c.head()
            if raw.header("content-length"):
                assert c._exactly(3) == b"abc"
            else:
                body = b""
                while (size := int(c._until(b"\r\n"), 16)) > 0:
                    body += c._exactly(size)
                    c._until(b"\r\n")
                assert body == b"abc"
                trailer = c._until(b"\r\n")
                if path == "/p/chunks":
                    assert trailer == b"Sum: 3"
                    assert c._until(b"\r\n") == b""
    a = get(w.http, "/p/close", version="1.0")
    assert a.body == b"abc" and a.header("connection") == "close"


def test_answers_without_a_body(weir, server):
    says = {
        "HEAD": "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
        "204": "HTTP/1.1 204 No Content\r\n\r\n",
        "304": 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
        "chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    }
    s = server(lambda r, p: says[r.target.rsplit("/", 1)[1]])
    w = through(weir, s)
    with Http(w.http) as c:
        c.send("HEAD", "/p/HEAD")
        a = c.answer("HEAD")
        assert a.header("content-length") == "99"
        c.send("HEAD", "/p/chunked")
        assert c.answer("HEAD").status == 200
        c.send("GET", "/p/204")
        assert c.answer().status == 204
        c.send("GET", "/p/304")
        a = c.answer()
        assert a.status == 304 and a.header("etag") == '"a"'
    assert s.connections == 1


def test_interim_answers(weir, server):
    def answer(r, p):
        p.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
              "Link: </a.css>; rel=preload\r\n\r\n")
        return ok("after")

    s = server(answer)
    w = through(weir, s)
    with Http(w.http) as c:
        c.send("GET", "/p")
        a = c.answer()
        assert a.status == 103
        assert a.header("link") == "</a.css>; rel=preload"
        a = c.answer()
        assert a.status == 200 and a.body == b"after"


def test_an_answer_instead_of_continue(weir, server):
    s = server(lambda r, p: ok("no", status="417 No"), whole=False)
    w = through(weir, s)
    with Http(w.http) as c:
        c.raw("PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
              "Expect: 100-continue\r\n\r\n")
        a = c.answer()
        assert a.status == 417
        assert c.ended()


def test_an_answer_before_the_body_ends(weir, server):
    s = server(lambda r, p: ok("too much", status="413 Too Large"),
               whole=False)
    w = through(weir, s)
    with Http(w.http) as c:
        c.raw("PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
              + "x" * 1000)
        assert c.answer().status == 413


def test_events_come_at_once(weir, server):
    go = threading.Event()

    def answer(r, p):
        p.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
              "data: 1\n\n")
        assert go.wait(busy(20))
        p.say("data: 2\n\n")

    s = server(answer)
    w = through(weir, s)
    with Http(w.http) as c:
        c.send("GET", "/p")
        assert c.head().header("content-type") == "text/event-stream"
        assert c._until(b"\n\n").endswith(b"data: 1")
        go.set()
        assert c._until(b"\n\n").endswith(b"data: 2")
        assert c._until(b"0\r\n\r\n") == b"\r\n"


def test_a_slow_client_is_waited_for(weir, server):
    """Neither weir nor the server sends on meanwhile."""
    sent = [0]

    def answer(r, p):
        p.say(f"HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")
        block = b"x" * 100_000
        while sent[0] < SIZE:
            p.say(block)
            sent[0] += len(block)
        return b""

    s = server(answer)
    w = through(weir, s)
    before = resident(w.workers()[0])
    with Http(w.http) as c:
        c.send("GET", "/p")
        c.head()
        last = [-1]

        def stands():
            last[0], was = sent[0], last[0]
            time.sleep(0.1)
            return was == sent[0]

        wait_for(stands, 20)
        assert sent[0] < SIZE
        assert resident(w.workers()[0]) < before + HELD
        assert len(c._exactly(SIZE)) == SIZE


def test_a_slow_server_is_waited_for(weir, server):
    """Its client is not read meanwhile."""
    go = threading.Event()

    def answer(r, p):
        assert go.wait(busy(60))
        p.body(r)
        return ok(str(len(r.body)))

    s = server(answer, whole=False)
    w = through(weir, s)
    before = resident(w.workers()[0])
    for framing in (f"Content-Length: {SIZE}", "Transfer-Encoding: chunked"):
        go.clear()
        sent = [0]
        with Http(w.http, timeout=busy(60)) as c:
            c.raw(f"PUT /p HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")

            def send():
                block = b"x" * 100_000
                while sent[0] < SIZE:
                    c.raw(block if "Len" in framing
                          else b"186a0\r\n" + block + b"\r\n")
                    sent[0] += len(block)
                c.raw(b"" if "Len" in framing else b"0\r\n\r\n")

            sender = threading.Thread(target=send)
            sender.start()
            last = [-1]

            def stands():
                last[0], was = sent[0], last[0]
                time.sleep(0.1)
                return was == sent[0] > 0

            wait_for(stands, 20)
            assert sent[0] < SIZE
            assert resident(w.workers()[0]) < before + HELD
            go.set()
            sender.join()
            assert c.answer().body == str(SIZE).encode()


# ---- links ----

def test_links_are_kept(weir, server):
    s = server()
    w = through(weir, s)
    for _ in range(20):
        assert get(w.http, "/p").body == b"good"
    assert s.connections == 1


def test_a_stale_link_is_noticed(weir, server):
    """The server ends each connection behind its answer without a word; of a
    POST that meets the end nobody could tell whether it was taken."""
    said = []

    def answer(r, p):
        said.append(r)
        p.say(ok())

    s = server(answer)
    w = through(weir, s)
    for _ in range(30):
        for method in ("GET", "POST"):
            assert request(w.http, method, "/p").status == 200
            if method == "GET":
                wait_for(lambda: not s.peers)
    assert len(said) == 60


def test_who_ends_a_kept_link_on_a_request(weir, server):
    """The request was read: a GET is asked again, a POST is not."""
    def answer(r, p):
        p.served = getattr(p, "served", 0) + 1
        return ok() if p.served == 1 else None

    s = server(answer)
    w = through(weir, s)
    assert get(w.http, "/p").status == 200
    assert get(w.http, "/p").status == 200
    assert s.connections == 2
    assert request(w.http, "POST", "/p").status == 502
    assert len(s.requests) == 4


def test_servers_are_tried_in_turn(weir, server):
    broken = server(lambda r, p: None)
    good = server()
    w = weir(top=group([broken, good]),
             locations=f'{{ path = "/p"; layers = ( {layer("group")} ); }},')
    for _ in range(4):
        assert get(w.http, "/p").status == 200
    assert len(broken.requests) >= 1
    assert request(w.http, "PUT", "/p", body=b"abc").status == 200
    assert good.last.body == b"abc"


def test_what_may_not_be_done_twice_is_not(weir, server):
    s, t = server(lambda r, p: None), server(lambda r, p: None)
    w = weir(top=group([s, t]),
             locations=f'{{ path = "/p"; layers = ( {layer("group")} ); }},')
    assert request(w.http, "POST", "/p", body=b"abc").status == 502
    assert len(s.requests) + len(t.requests) == 1


def test_refused_and_silent_servers(weir, server):
    s = server(lambda r, p: time.sleep(busy(30)))
    port = free_port()
    w = weir(top=EGRESS, locations=location(s, "/slow",
                                            'read_timeout = "200ms"; tries = 1;')
             + f'{{ path = "/none"; layers = ( '
               f'{layer(f"http://127.0.0.1:{port}")} ); }},')
    assert get(w.http, "/slow").status == 504
    assert get(w.http, "/none").status == 502


# ---- tunnels ----

def upgrade(r, p):
    p.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
          "Upgrade: echo\r\nX-Own: 1\r\n\r\nhello")
    while data := p.file.read1(65536):
        p.say(data)
    p.say("bye")


def test_a_tunnel(weir, server):
    s = server(upgrade)
    w = through(weir, s)
    with Http(w.http) as c:
        c.raw("GET /p HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
              "Upgrade: echo\r\n\r\nfirst")
        a = c.head()
        assert a.status == 101 and a.header("upgrade") == "echo"
        assert a.header("connection") == "Upgrade" and a.header("x-own") == "1"
        assert c._exactly(10) == b"hellofirst"
        data = os.urandom(3_000_000)
        sender = threading.Thread(target=c.raw, args=(data,))
        sender.start()
        assert c._exactly(len(data)) == data
        sender.join()
        c.sock.shutdown(socket.SHUT_WR)
        assert c._exactly(3) == b"bye"
        assert c.ended()
    assert s.last.header("upgrade") == "echo"


def test_a_tunnel_ends_when_nothing_goes_through(weir, server):
    s = server(upgrade)
    w = through(weir, s, 'tunnel_timeout = "300ms";')
    with Http(w.http) as c:
        c.raw("GET /p HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
              "Upgrade: echo\r\n\r\n")
        assert c.head().status == 101
        assert c._exactly(5) == b"hello"
        assert c.ended()


def test_an_upgrade_that_is_refused_or_not_asked_for(weir, server):
    s = server(lambda r, p: ok("plain") if r.header("upgrade") else
               upgrade(r, p))
    w = through(weir, s)
    with Http(w.http) as c:
        c.send("GET", "/p", "Connection: upgrade", "Upgrade: echo")
        assert c.answer().body == b"plain"
        c.send("GET", "/p")
        assert c.answer().status == 502


# ---- addresses and cookies ----

def test_addresses_and_cookies_are_rewritten(weir, server):
    def answer(r, p):
        own = f"http://127.0.0.1:{s.port}"
        return ok("", f"Location: {own}/v2/next", f"Refresh: 5; url={own}/v2",
                  "Set-Cookie: a=1; Path=/v2/x; Domain=in.example; Secure",
                  status="302 Found")

    s = server(answer)
    w = through(weir, s, 'uri = "/v2"; cookies = [ "path /v2 /p", '
                '"domain in.example web.test" ];')
    a = get(w.http, "/p/x")
    assert a.header("location") == "/p/next"
    assert a.header("refresh") == "5; url=/p"
    assert a.header("set-cookie") == \
        "a=1; Path=/p/x; Domain=web.test; Secure"


# ---- below a choice of versions ----

def test_versions(weir, server):
    one = server(lambda r, p: ok("one"))
    two = server(lambda r, p: ok("two", "API-Version: 9") if "new" in r.target
                 else ok("none", status="404 Not Found"))
    units = "units = (" + ", ".join(
        f'{{ versions = [ "{v}" ]; layers = ( {layer(s.url, more)} ); }}'
        for v, s, more in (("v2", two, 'pass_on = [ "404" ];'),
                           ("v1", one, ""))) + ");"
    w = weir(top=EGRESS, locations="".join(
        f'{{ path = "/{name}"; layers = ( {{ module = "version"; {how} '
        f'{units} }} ); }},' for name, how in (
            ("path", 'strategy = "path"; default_version = "v1";'),
            ("head", 'strategy = "header"; vendor = "acme";'),
            ("param", 'strategy = "param";'))))
    a = get(w.http, "/path/v1/x?a=1")
    assert a.body == b"one" and a.header("api-version") == "v1"
    assert one.last.target == "/path/x?a=1"
    assert one.last.header("x-api-version") == "v1"
    a = get(w.http, "/path/v2/new")
    assert a.body == b"two" and a.header("api-version") == "v2"
    a = get(w.http, "/head/x", "Accept: application/vnd.acme-v2+json;q=0.9, "
            "application/vnd.acme-v1+json;q=0.5")
    assert a.body == b"one" and "Accept" in a.header("vary")
    assert one.last.header("x-api-vendor") == "acme"
    assert one.last.header("x-api-format") == "json"
    a = get(w.http, "/param/new?a=1&apiver=v2&b=2", "X-API-Version: v7")
    assert a.body == b"two" and two.last.target == "/param/new?a=1&b=2"
    assert two.last.header("x-api-version") == "v2"
