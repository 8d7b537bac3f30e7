"""What /metrics tells: read by a real parser, and compared with what was
done."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import subprocess
import time

import pytest
from prometheus_client.openmetrics.parser import \
    text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

import proxy_header
from control_client import Control
from feed import Feed, read_until
from flv_client import FlvPlayer
from http_client import Http, get, request
from rtmp_client import Refused, Rtmp, player
from test_http_malformed import REFUSED
from tls_files import connect, listen
from weir import BINARY, wait_for

DENIED = ('{ path = "/denied"; access = [ "deny all" ]; module = "hello"; },'
          '{ path = "/h"; module = "hello"; },')


class Metrics:
    """One scrape: m("weir_x", reason="y") is the sum of what fits."""

    def __init__(self, w, openmetrics=False, port=None):
        headers = ["Accept: application/openmetrics-text; version=1.0.0,"
                   "text/plain;q=0.5"] if openmetrics else []
        answer = get(port or w.http, "/metrics", *headers)
        assert answer.status == 200
        self.type = answer.header("content-type")
        self.text = answer.body.decode()
        read = parse_openmetrics if openmetrics else parse
        self.families = list(read(self.text))
        self.samples = [s for f in self.families for s in f.samples]

    def __call__(self, name, **labels):
        found = [s.value for s in self.samples if s.name == name and
                 labels.items() <= s.labels.items()]
        assert found, f"no {name} {labels}"
        return sum(found)

    def sums(self):
        """Every counter as one number."""
        return {(s.name, tuple(sorted(s.labels.items()))): s.value
                for f in self.families if f.type in ("counter", "histogram")
                for s in f.samples}


def reaches(w, name, value, **labels):
    """Waits until it is told: a request counts when it is over."""
    return wait_for(lambda: Metrics(w)(name, **labels) == value, 5,
                    f"{name} {labels} = {value}")


def test_formats(weir):
    w = weir()
    text, openmetrics = Metrics(w), Metrics(w, openmetrics=True)
    assert text.type == "text/plain; version=0.0.4; charset=utf-8"
    assert openmetrics.type == \
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    names = {f.name: f.type for f in text.families}
    assert names == {f.name: f.type for f in openmetrics.families}
    assert all(f.documentation for f in text.families)
    assert openmetrics.text.endswith("# EOF\n")
    for f in text.families:
        if f.name.startswith("weir_"):
            assert re.fullmatch(r"[a-z_]+", f.name)
    head = request(w.http, "HEAD", "/metrics")
    assert head.status == 200 and head.body == b""


def test_names_are_those_that_are_listed(weir):
    """weir -M, which the manual is compared with, is what is told."""
    out = subprocess.run([BINARY, "-M"], check=True, text=True,
                         capture_output=True).stdout
    listed = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    told = dict(re.findall(r"^# TYPE (\S+) (\S+)$", Metrics(weir()).text,
                           re.M))
    assert listed == told


def test_only_told_to_whom_it_may_be(weir):
    location = ('{{ path = "/m"; module = "status"; '
                'metrics_access = [ "{}" ]; }},')
    w = weir(locations=location.format("allow 192.0.2.1"))
    assert get(w.http, "/m/metrics").status == 403
    assert get(w.http, "/metrics").status == 200


def test_http_requests_are_counted(weir):
    w = weir(workers=2, locations=DENIED)
    for _ in range(7):
        assert get(w.http, "/h/hello").status == 200
    for _ in range(3):
        assert get(w.http, "/nothing").status == 404
    assert get(w.http, "/denied/hello").status == 403
    # A client may have its answer before its request is over.
    requests = "weir_http_requests_total"
    reaches(w, requests, 1, module="none", code="403")
    reaches(w, "weir_http_requests_in_flight", 1)  # the scrape itself
    m = Metrics(w)
    assert m("weir_http_refusals_total", reason="access") == 1
    assert m(requests, module="hello", method="GET", code="200") == 7
    assert m(requests, method="GET", code="404") == 3
    assert m("weir_hello_greetings_total") == 7
    assert m("weir_http_request_duration_seconds_count", module="hello") == 7
    assert m("weir_connections", proto="http") >= 1
    assert m("weir_connections_accepted_total", proto="http") >= 12
    told = {s.labels["listener"] for s in m.samples
            if s.name == "weir_connections"}
    assert told == {f"127.0.0.1:{w.http}", f"127.0.0.1:{w.rtmp}"}


def test_bytes_of_a_request_are_counted(weir):
    w = weir()
    before = Metrics(w)
    with Http(w.http) as c:
        c.send("GET", "/healthz", "X: " + "a" * 5000)
        c.answer()
    # Its own and the scrape's, which came in between, on the wire.
    m = Metrics(w)
    assert 5000 < m("weir_http_bytes_total", dir="in") - \
        before("weir_http_bytes_total", dir="in") < 6000
    assert m("weir_http_bytes_total", dir="out") > \
        before("weir_http_bytes_total", dir="out") + len(before.text)


def test_each_refusal_has_its_counter(weir):
    """Whatever a peer breaks, exactly one reason is counted."""
    w = weir()
    name = "weir_http_refusals_total"
    for count, data in enumerate(REFUSED.values()):
        with Http(w.http) as c:
            c.raw(data)
            try:
                assert c.head().status >= 400
            except EOFError:
                pass  # what is no HTTP is not answered in HTTP
        reaches(w, name, count + 1)
    m = Metrics(w)
    counted = {s.labels["reason"] for s in m.samples
               if s.name == name and s.value > 0}
    assert {"both", "lengths", "coding", "folded", "no_host", "chunk",
            "version", "header_long", "target_long"} <= counted
    assert len(counted) >= 25
    assert m("weir_http_requests_total", module="none") >= len(REFUSED)


def test_slow_heads_are_counted(weir):
    # A server of its own: scrapes may be slow as well.
    w = weir(http='client_header_timeout = "200ms"; locations = ( { path = "/";'
                  ' module = "status"; } ); }, { listen = "127.0.0.1:0";')
    with Http(w.http) as c:
        c.raw("GET / HT")
        assert c.answer().status == 408
    wait_for(lambda: Metrics(w, port=w.port("http", 1))(
        "weir_http_refusals_total", reason="head_slow") == 1, what="a refusal")


def test_streams_are_counted(weir):
    w = weir(workers=2, top="metrics = { stream_labels = true; };", hold="1h")
    feed = Feed(w.rtmp).head().frames(25)
    with player(w.rtmp, "live", "room") as c:
        flv = FlvPlayer(w.http, "room")
        read_until(c, "video 24")
        reaches(w, "weir_flv_players", 1, app="live")
        m = Metrics(w)
        assert m("weir_streams", state="live") == 1
        assert m("weir_rtmp_publishers", app="live") == 1
        assert m("weir_rtmp_players", app="live") == 1
        assert m("weir_live_sessions") == 3
        assert m("weir_connections", proto="rtmp") == 2
        assert m("weir_rtmp_first_frame_seconds_count") >= 1
        assert m("weir_rtmp_publish_gap_seconds_count") >= 25
        assert m("weir_live_memory_bytes", state="used") > 0
        assert m("weir_stream_players", app="live", stream="room") == 2
        assert m("weir_stream_live", app="live", stream="room") == 1
        assert m("weir_stream_bytes_total", stream="room") > 25 * 1000
        # All that was published came in, and all of it went out again.
        published = m("weir_stream_bytes_total", stream="room")
        assert m("weir_rtmp_bytes_total", dir="in", app="live") > published
        assert m("weir_rtmp_bytes_total", dir="out", app="live") > \
            25 * 1000
        flv.close()
        reaches(w, "weir_flv_players", 0, app="live")
    feed.stop()
    reaches(w, "weir_streams", 1, state="hold")
    m = Metrics(w)
    assert m("weir_live_streams_ended_total") == 0
    assert m("weir_rtmp_publishers") == m("weir_rtmp_players") == 0
    assert m("weir_live_sessions") == 0


def test_streams_end_after_hold(weir):
    w = weir(hold="200ms")
    Feed(w.rtmp).head().frames(2).stop()
    reaches(w, "weir_live_streams_ended_total", 1)
    assert Metrics(w)("weir_streams") == 0


def test_streams_have_no_labels_unless_wanted(weir):
    w = weir()
    feed = Feed(w.rtmp, name="studio").head().frames(2)
    reaches(w, "weir_streams", 1, state="live")
    assert "studio" not in Metrics(w).text
    feed.stop()


def test_rtmp_refusals_are_counted(weir):
    w = weir(workers=2, app='publish_conflict = "refuse"; play_access = '
                            '[ "deny all" ];',
             apps=', { name = "keys"; publish = "key"; }')
    feed = Feed(w.rtmp).head().frames(2)
    name = "weir_rtmp_refused_total"

    def refuse(app, command, stream):
        with Rtmp(w.rtmp) as c:
            with pytest.raises(Refused):
                c.connect(app)
                getattr(c, command)(stream)
            c.wait_closed()

    refuse("none", "play", "x")
    refuse("live", "play", "room")
    refuse("live", "publish", "room")
    refuse("keys", "publish", "secret")
    reaches(w, name, 4)
    m = Metrics(w)
    assert m(name, command="connect", reason="app") == 1
    assert m(name, command="play", reason="access") == 1
    assert m(name, command="publish", reason="live") == 1
    assert m(name, command="publish", reason="key") == 1
    assert m("weir_live_refused_total", reason="has_publisher") == 1
    assert m("weir_rtmp_sessions_closed_total", reason="refused") == 4
    feed.stop()


def test_rtmp_ends_are_counted(weir):
    w = weir(rtmp='handshake_timeout = "2s"; connect_timeout = "2s";')
    ends = "weir_rtmp_sessions_closed_total"
    with Http(w.rtmp) as c:
        c.raw(b"\x09")
        assert c.ended()
    with Http(w.rtmp) as half, Rtmp(w.rtmp) as silent, Rtmp(w.rtmp) as idle:
        half.raw(b"\x03")
        idle.connect("live")
        assert half.ended()
        silent.wait_closed()
        idle.wait_closed()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.raw(b"\x03" + b"\x00" * 3 + b"\xff\xff\xff" + b"\x14" + b"\x00" * 4)
        c.raw(b"\x02" + b"\x00" * 3 + b"\x00\x00\x04\x01" + b"\x00" * 8)
        c.wait_closed()
    reaches(w, ends, 5)
    m = Metrics(w)
    handshakes = "weir_rtmp_handshake_errors_total"
    assert m(handshakes, reason="version") == 1
    assert m(handshakes, reason="timeout") == 1
    assert m(ends, reason="handshake") == 1
    assert m(ends, reason="handshake_timeout") == 1
    assert m(ends, reason="connect_timeout") == 1
    assert m(ends, reason="unused") == 1
    assert m(ends, reason="protocol") == 1


def test_replaced_publishers_are_counted(weir):
    w = weir(workers=2)
    old = Feed(w.rtmp).head().frames(1)
    new = Feed(w.rtmp, first=25).head().frames(1)
    old.c.wait_closed()
    reaches(w, "weir_live_publishers_stopped_total", 1, reason="replaced")
    assert Metrics(w)("weir_rtmp_publishers", app="live") == 1
    new.stop()


def test_processes(weir):
    w = weir(workers=3)

    def measured():
        m = Metrics(w)
        return m if m("weir_process_open_fds", kind="worker") > 0 and \
            m("weir_process_resident_memory_bytes", kind="worker") > 0 and \
            m("weir_process_cpu_seconds_total", kind="worker") > 0 else None

    m = wait_for(measured, 5, "workers to be measured")
    assert m("weir_workers", state="ready") == 3
    assert m("weir_workers", state="draining") == 0
    fds = max(len(os.listdir(f"/proc/{p}/fd"))
              for p in [w.pid, *w.workers()])
    assert abs(m("process_open_fds") - fds) < 10
    assert m("process_max_fds") >= fds
    assert m("process_cpu_seconds_total") > 0
    assert m("weir_build_info") == 1
    assert m("weir_generation") == 1
    assert m("weir_config_last_reload_successful") == 1
    assert m("weir_event_loop_lag_seconds_count") > 0


def test_counters_never_fall(weir):
    """Workers are killed while they count and while others read."""
    w = weir(workers=2, locations=DENIED, hold="5s")
    feed = Feed(w.rtmp).head().frames(5)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 4")
        for _ in range(20):
            get(w.http, "/h/hello")
        w.allowed = []
        before = Metrics(w).sums()
        for count in range(1, 4):
            victim = w.workers()[0]
            os.kill(victim, signal.SIGKILL)
            wait_for(lambda: Metrics(w)("weir_worker_restarts_total",
                                        reason="killed") == count, 5)
            now = Metrics(w).sums()
            fallen = {k: (v, now.get(k)) for k, v in before.items()
                      if now.get(k, 0) < v}
            assert not fallen
            before = now
            wait_for(lambda: len(w.workers()) == 2 and Metrics(w)(
                "weir_workers", state="ready") == 2, 5, "two workers")
    feed.stop()
    m = Metrics(w)
    assert m("weir_http_requests_total", module="hello") == 20
    # What dead workers had open is not open any more.
    reaches(w, "weir_connections", 0, proto="rtmp")
    reaches(w, "weir_rtmp_players", 0)
    reaches(w, "weir_rtmp_publishers", 0)


def test_doors_are_counted(weir, certificates):
    """PROXY protocol and TLS: each way in, each way not to get in."""
    name = "weir_proxy_protocol_errors_total"
    hand = "weir_tls_handshakes_total"
    w = weir(http_listen=listen(
        certificates.group("localhost"), "127.0.0.1:0"),
        rtmp_listen='{ address = "127.0.0.1:0"; proxy_protocol = true; }',
        rtmp='trusted_proxies = "127.0.0.1";')
    w.allowed += ["handshake failed", "proxy protocol"]
    port = w.port("https")
    with connect(port, certificates.root) as s:
        version = s.version().replace("TLSv", "")
    with Http(port) as c:
        c.raw(b"\x16\x03\x01\x00\x05hello")
        while c.sock.recv(100):
            pass  # an alert
    for header in (b"GET / HTTP/1.1\r\n", proxy_header.v1()[:-3]):
        with Http(w.rtmp) as c:
            c.raw(header)
            if header.startswith(b"PROXY"):
                c.sock.shutdown(1)
            assert c.ended(), header
    reaches(w, hand, 1, version=version, result="full")
    reaches(w, hand, 1, result="failed")
    reaches(w, name, 1, reason="malformed")
    reaches(w, name, 1, reason="cut")
    m = Metrics(w)
    assert m(hand) == 2 and m(name) == 2
    expires = m("weir_tls_cert_expiry_timestamp_seconds", proto="http")
    assert abs(expires - time.time() - 30 * 86400) < 86400
    assert 'cert_expiry_timestamp_seconds{listener="127.0.0.1:' in m.text
    assert m.text.count("\nweir_tls_cert_expiry") == 1


def test_show_metrics(weir):
    """The control socket tells the same, and clears none of it."""
    w = weir()
    for _ in range(3):
        get(w.http, "/healthz")
    with Http(w.http) as c:
        c.raw("BAD\x01\r\n\r\n")
        assert c.answer().status == 400
    reaches(w, "weir_http_refusals_total", 1)
    before = Metrics(w)
    with Control(w) as c:
        told = "\n".join(c.ask("show metrics")) + "\n"
        names = {f.name for f in parse(told)}
        assert {f.name for f in before.families} <= names
        assert "\n".join(c.json("show metrics")["lines"]).count("# TYPE") == \
            told.count("# TYPE")
        assert c.ask("clear counters") == ["OK"]
        assert c.json("show errors") == []
    after = Metrics(w).sums()
    fallen = {k for k, v in before.sums().items() if after.get(k, 0) < v}
    assert not fallen
