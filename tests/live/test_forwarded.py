"""What trusted proxies say of the client, and names of requests."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re

import proxy_header
from http_client import Http, get

TRUST = 'trusted_proxies = [ "127.0.0.1", "10.0.0.0/8" ];'
ECHO = """{ path = "/echo"; module = "echo"; client = true;
            routes = [ "GET /*" ]; },
          { path = "/inside"; access = [ "deny 127.0.0.1",
              "allow 192.0.2.0/24" ]; module = "status"; },"""
JSON = 'access_log_format = "json";'
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def ask(port, *headers, path="/echo/x", **more):
    return get(port, path, *headers, **more).json()["client"]


def test_trusted(weir):
    w = weir(http=TRUST + JSON, locations=ECHO)
    me = ask(w.http, "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.1.1.1",
             "X-Forwarded-Proto: https", "X-Forwarded-Host: media.example",
             "X-Forwarded-Port: 8443")
    assert me["address"] == "192.0.2.1" and me["peer"] == "127.0.0.1"
    assert me["url"] == "https://media.example:8443/echo/x"
    me = ask(w.http, 'Forwarded: for="[2001:db8::1]:99";proto=https;host=a.b')
    assert (me["address"], me["url"]) == ("2001:db8::1", "https://a.b/echo/x")
    assert get(w.http, "/inside/healthz",
               "X-Forwarded-For: 192.0.2.1").status == 200
    assert get(w.http, "/inside/healthz",
               "X-Forwarded-For: 192.0.3.1").status == 403
    assert get(w.http, "/inside/healthz").status == 403
    line = w.wait_access_log(r'.*"client":"192\.0\.2\.1".*')
    entry = json.loads(line[0])
    assert entry["peer"] == "127.0.0.1"
    assert entry["host"] == "media.example:8443"


def test_spoofing(weir):
    """What an untrusted peer says of itself is passed over."""
    w = weir(http='trusted_proxies = "192.0.2.0/24";', locations=ECHO)
    lies = ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1",
            "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example",
            "X-Real-IP: 192.0.2.1", "X-Request-ID: mine"]
    me = ask(w.http, *lies)
    assert me["address"] == "127.0.0.1"
    assert me["url"] == "http://test/echo/x"
    assert me["request_id"] != "mine"
    assert get(w.http, "/inside/healthz", *lies).status == 403
    w.wait_access_log(r"^127\.0\.0\.1 ")
    assert "192.0.2.1 " not in w.access_log()


def test_headers_behind_the_proxy_protocol(weir):
    """The client of the PROXY header is the peer whose headers count."""
    w = weir(http=TRUST, locations=ECHO, http_listen='{ '
             'address = "127.0.0.1:0"; proxy_protocol = true; }')
    for client, seen in (("192.0.2.7", "192.0.2.7"),
                         ("10.9.9.9", "192.0.2.1")):
        with Http(w.http) as c:
            c.raw(proxy_header.v1(client))
            c.send("GET", "/echo/x", "X-Forwarded-For: 192.0.2.1")
            assert c.answer().json()["client"]["address"] == seen
    tls = proxy_header.field(0x20, b"\1\0\0\0\0")
    with Http(w.http) as c:
        c.raw(proxy_header.v2(fields=tls))
        c.send("GET", "/echo/x")
        assert c.answer().json()["client"]["url"] == "https://test/echo/x"


def test_request_id(weir):
    w = weir(http=TRUST + JSON, locations=ECHO)
    a = get(w.http, "/echo/x", "X-Request-ID: abc-123_x.Y")
    assert a.header("X-Request-ID") == "abc-123_x.Y"
    assert a.json()["client"]["request_id"] == "abc-123_x.Y"
    w.wait_access_log(r'"request_id":"abc-123_x.Y"')
    seen = set()
    for wrong in ("a b", 'a"b', "x" * 129, "a\x80"):
        own = get(w.http, "/echo/x", f"X-Request-ID: {wrong}").header(
            "X-Request-ID")
        assert re.fullmatch("[0-9a-f]{32}", own)
        seen.add(own)
    assert len(seen) == 4
    with Http(w.http) as c:  # those that are refused have one as well
        c.raw("nonsense\r\n\r\n")
        own = c.answer().header("X-Request-ID")
    assert re.fullmatch("[0-9a-f]{32}", own)
    w.wait_access_log(rf'"request_id":"{own}"')


def test_ids_of_workers_differ(weir):
    """Each process draws its own: a fork copies no random state."""
    w = weir(workers=4)
    ids = [get(w.http, "/healthz").header("X-Request-ID") for _ in range(64)]
    assert len(set(ids)) == 64


def test_trace(weir):
    w = weir(http=JSON, locations=ECHO)
    me = ask(w.http, f"traceparent: {PARENT}", "tracestate: a=1,b=2",
             "tracestate: c=3")
    assert me["trace_id"] == TRACE and me["tracestate"] == "a=1,b=2,c=3"
    assert re.fullmatch(rf"00-{TRACE}-[0-9a-f]{{16}}-01", me["traceparent"])
    assert "00f067aa0ba902b7" not in me["traceparent"]
    w.wait_access_log(rf'"trace_id":"{TRACE}"')
    me = ask(w.http, f"traceparent: {PARENT.upper()}", "tracestate: a=1")
    assert me["trace_id"] != TRACE and me["tracestate"] == ""


def test_bodies_and_chains_are_bounded(weir):
    w = weir(http=TRUST, locations=ECHO)
    hops = ", ".join(["10.1.1.1"] * 20)
    assert ask(w.http, f"X-Forwarded-For: 192.0.2.1, {hops}")["address"] == \
        "10.1.1.1"
    assert ask(w.http, "X-Forwarded-For: 192.0.2.1, what, 10.1.1.1")[
        "address"] == "10.1.1.1"
    for i in range(40):  # many headers, each a list
        assert ask(w.http, *["X-Forwarded-For: 192.0.2.1"] * i,
                   "X-Forwarded-For: 192.0.2.2, 10.0.0.1")["address"] == \
            "192.0.2.2"
