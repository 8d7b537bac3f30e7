"""The PROXY protocol on HTTP and RTMP listeners, from raw sockets."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import socket
import time

import pytest

import proxy_header
from control_client import Control
from http_client import Http, request
from rtmp_client import Refused, Rtmp
from weir import place, read_text, run, wait_for

PROXY = '{ address = "127.0.0.1:0"; proxy_protocol = true; }'
TRUST = 'trusted_proxies = "127.0.0.1";'
RULES = """{ path = "/inside"; access = [ "allow 192.0.2.0/24" ];
             module = "status"; },"""


def both(weir, trust=TRUST, **more):
    return weir(http_listen=PROXY, rtmp_listen=PROXY, http=trust, rtmp=trust,
                locations=RULES, **more)



@pytest.mark.parametrize("header", [
    proxy_header.v1(), proxy_header.v2(),
    proxy_header.v2(fields=proxy_header.field(4, b"\0" * 3000))],
    ids=["v1", "v2", "long v2"])
def test_client_is_in_rules_and_log(weir, header):
    w = both(weir)
    with Http(w.http) as c:
        c.raw(header)
        for _ in range(2):  # it holds for the whole connection
            c.send("GET", "/inside/healthz")
            assert c.answer().status == 200
    line = w.wait_access_log(r".+")
    assert line[0].startswith("192.0.2.1 "), line[0]
    with Http(w.http) as c:
        c.raw(proxy_header.v1("198.51.100.7"))
        c.send("GET", "/inside/healthz")
        assert c.answer().status == 403


def test_byte_by_byte(weir):
    w = both(weir)
    for header in (proxy_header.v1(), proxy_header.v2()):
        with Http(w.http) as c:
            c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = header + b"GET /inside/healthz HTTP/1.1\r\nHost: x\r\n\r\n"
            for i in range(len(data)):
                c.raw(data[i:i + 1])
            assert c.answer().status == 200


def test_local_is_the_proxy_itself(weir):
    w = both(weir)
    for header in (b"PROXY UNKNOWN\r\n", proxy_header.LOCAL):
        with Http(w.http) as c:
            c.raw(header)
            c.send("GET", "/inside/healthz")
            assert c.answer().status == 403
            c.send("GET", "/healthz")
            assert c.answer().status == 200
    w.wait_access_log(r"127\.0\.0\.1 .*/healthz")


@pytest.mark.parametrize("proto", ["http", "rtmp"])
def test_malformed(weir, proto):
    w = both(weir)
    for name, header in proxy_header.WRONG.items():
        with Http(w.port(proto)) as c:
            c.raw(header)
            assert c.ended(2), name
    w.wait_log(r"proxy protocol: 127\.0\.0\.1:\d+ refused: ",
               count=len(proxy_header.WRONG))
    assert w.access_log() == ""


@pytest.mark.parametrize("proto", ["http", "rtmp"])
def test_untrusted(weir, proto):
    w = both(weir, trust='trusted_proxies = "192.0.2.0/24";')
    with Http(w.port(proto)) as c:
        w.wait_log(r"refused: it is not among trusted_proxies")
        assert c.ended()


def test_slow_and_silent(weir):
    """A header must be whole within 3 s; meanwhile others are served."""
    w = both(weir)
    began = time.monotonic()
    with Http(w.http) as slow, Http(w.http) as silent:
        slow.raw(proxy_header.v1()[:-1])
        with Http(w.http) as c:
            c.raw(proxy_header.v1())
            c.send("GET", "/healthz")
            assert c.answer().status == 200
        assert slow.ended(20) and silent.ended(20)
    assert time.monotonic() - began > 2.9
    w.wait_log(r"refused: the header did not come within 3 s", count=2)


def test_health_checks_are_quiet(weir):
    w = both(weir)
    for _ in range(5):
        with Http(w.http), Http(w.rtmp):
            pass
    with Http(w.http) as c:
        c.raw(proxy_header.v1())
        c.send("GET", "/healthz")
        assert c.answer().status == 200
    assert "proxy protocol" not in w.log()


def test_stop_while_some_wait(weir):
    w = both(weir)
    with Http(w.http) as c:
        c.raw(b"PROXY ")
        assert w.stop() == 0
        assert c.ended()


def test_header_on_a_plain_listener(weir):
    """Nobody may speak for others where no proxy is expected."""
    w = weir(http=TRUST, rtmp=TRUST)
    for header in (proxy_header.v1(), proxy_header.v2()):
        with Http(w.http) as c:
            c.raw(header)
            c.send("GET", "/healthz")
            a = c.answer()
            assert a.status == 400
            assert c.ended()
        with Http(w.rtmp) as c:
            c.raw(header + b"\x03" + bytes(1536))
            assert c.ended()
    w.wait_log(r"rtmp 127\.0\.0\.1:\d+: .*not RTMP: the first byte", count=2)


def test_rtmp_session_has_the_client(weir):
    w = weir(http=TRUST, http_listen=PROXY, rtmp_listen=PROXY, rtmp=TRUST,
             app='publish_access = [ "allow 192.0.2.1", "deny all" ];')
    for header in (proxy_header.v1(), proxy_header.v2()):
        c = Rtmp(w.rtmp, before=header)
        c.connect("live")
        c.publish("cam")
        w.wait_log(r"publish.*192\.0\.2\.1:40000|192\.0\.2\.1:40000.*publish")
        c.close()


def test_views_of_live_have_the_client(weir):
    """show sess, show errors and the access log of RTMP: never the proxy."""
    w = weir(http=TRUST, http_listen=PROXY, rtmp_listen=PROXY,
             rtmp=TRUST + 'access_log = "run/rtmp.log";',
             apps=', { name = "shut"; publish_access = [ "deny all" ]; }')
    live = Rtmp(w.rtmp, before=proxy_header.v1())
    live.connect("live")
    live.publish("cam")
    flv = Http(w.http)
    flv.raw(proxy_header.v2())
    flv.send("GET", "/live/cam.flv")
    with Control(w) as c:
        rows = wait_for(lambda: (lambda r: r if len(r) == 2 else None)
                        (c.json("show sess")), 5, "two sessions")
        assert {r["peer"].rsplit(":", 1)[0] for r in rows} == {"192.0.2.1"}
        refused = Rtmp(w.rtmp, before=proxy_header.v1())
        refused.connect("shut")
        with pytest.raises(Refused):
            refused.publish("cam")
        assert c.json("show errors")[-1]["peer"] == "192.0.2.1:40000"
    for one in (live, refused, flv):
        one.close()
    lines = wait_for(lambda: (lambda t: t if t.count("\n") >= 2 else None)
                     (read_text(f"{w.prefix}/run/rtmp.log")), 5)
    assert all(line.startswith("192.0.2.1 ") for line in lines.splitlines())


def test_proxy_protocol_needs_trust(tmp_path):
    place(tmp_path, """http = { servers = ( {
        listen = ( { address = "0"; proxy_protocol = true; } );
        locations = ( { path = "/"; module = "status"; } ); } ); };
    rtmp = { servers = ( { trusted_proxies = "10.0.0.0/33";
        listen = "0"; applications = ( { name = "a"; } ); } ); };
    """)
    done = run("-t", "-c", "weir.conf", prefix=tmp_path)
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert re.search(r'weir.conf:1: .*proxy_protocol of listen "0" needs '
                     r"trusted_proxies", text), text
    assert re.search(r"weir.conf:4: .*trusted_proxies.*10.0.0.0/33", text)


def test_unix_listener(weir):
    w = weir(http_listen='{ address = "unix:run/w.sock"; '
             'proxy_protocol = true; }, "127.0.0.1:0"',
             http='trusted_proxies = "unix:";', locations=RULES)
    with Http(path=f"{w.prefix}/run/w.sock") as c:
        for part in (proxy_header.v2()[:20], proxy_header.v2()[20:]):
            c.raw(part)
        c.send("GET", "/inside/healthz")
        assert c.answer().status == 200
    assert request(w.port("http", 1), "GET", "/inside/healthz").status == 403
