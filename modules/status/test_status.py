"""modules/status as a load balancer sees it."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import resource
import signal

import pytest

from feed import Feed
from http_client import Http, get, request
from weir import AS_STARTED, descendants, run, title, wait_for

JSON = "Accept: application/json"


def test_status(weir):
    w = weir(workers=2)
    for path in ("/healthz", "/readyz", "/startupz"):
        a = get(w.http, path)
        assert a.status == 200, path
        assert a.header("Cache-Control") == "no-store"
        a = request(w.http, "HEAD", path)
        assert a.status == 200 and a.body == b""


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_checks_of_old(weir, path):
    """HTTP/1.0, and no Host."""
    w = weir()
    for method in ("GET", "HEAD", "OPTIONS"):
        a = request(w.http, method, path, host=None, version="1.0")
        assert a.status in (200, 204), method
        assert a.header("Connection") == "close"
    assert request(w.http, "OPTIONS", "*", host=None,
                   version="1.0").status in (200, 204)
    assert request(w.http, "OPTIONS", "*").status in (200, 204)


def test_verbose(weir):
    w = weir()
    lines = get(w.http, "/readyz?verbose").body.decode().splitlines()
    assert lines[-1] == "ready"
    assert {line.split(":")[0] for line in lines[:-1]} == {
        f"[+] {name}" for name in
        ("shutdown", "state", "connections", "memory", "roles", "store")}
    a = get(w.http, "/readyz", JSON)
    assert a.header("Content-Type") == "application/json"
    assert a.json()["status"] == "ready"
    assert all(c["ok"] for c in a.json()["checks"])
    assert get(w.http, "/healthz", JSON).json()["status"] == "ok"


def test_stop_is_seen_first(weir):
    """QUIT: 503 from /readyz and an end to keep-alive, while everything else
    goes on as before; then the end."""
    w = weir(top='stop_grace = "1h";', grace="")
    with Http(w.http) as kept:
        kept.send("GET", "/healthz")
        assert kept.answer().header("Connection") is None
        w.kill(signal.SIGQUIT)
        a = wait_for(lambda: not_ready(w), 5, "503")
        assert a.header("Retry-After") and a.body == b"shutting down\n"
        assert get(w.http, "/healthz").status == 200
        checks = get(w.http, "/readyz", JSON).json()
        assert checks["status"] == "not ready"
        assert [c["name"] for c in checks["checks"] if not c["ok"]] == [
            "shutdown"]
        wait_for(lambda: closes(w), 4, "Connection: close")
        kept.send("GET", "/healthz")
        assert kept.answer().header("Connection") == "close"
    assert w.stop(signal.SIGQUIT) == 0  # it need not take the hour


def not_ready(w):
    a = get(w.http, "/readyz")
    return a if a.status == 503 else None


def closes(w):
    with Http(w.http) as c:
        c.send("GET", "/healthz")
        return c.answer().header("Connection") == "close"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT,
                                    signal.SIGQUIT])
def test_asked_again_it_hurries(weir, number):
    w = weir(top='stop_grace = "1h";', grace="")
    w.kill(signal.SIGQUIT)
    wait_for(lambda: not_ready(w), 5, "503")
    assert w.stop(number, 10) == 0


def test_memory(weir):
    """The arena full of media is a reason to send others elsewhere."""
    w = weir(live='memory = "4M"; max_stream_memory = "4M"; window = "600s";')
    with Http(w.http) as kept:
        kept.send("GET", "/readyz?verbose")
        assert b"[+] memory" in kept.answer().body
        feed = Feed(w.rtmp, size=60000, gop=1000).head().frames(80)
        kept.send("GET", "/readyz")
        a = kept.answer()
        feed.stop()
    assert a.status == 503 and b"segments are in use" in a.body


CONTROL = '{ path = "/control"; module = "relay"; },' \
    '{ path = "/near"; layers = ( { module = "status"; degraded = "store"; } ); },'


def fill_disk(w):
    """The keeper can write no byte more; returns what undoes it."""
    pid, = [p for p in descendants(w.pid) if title(p) == "weir: keeper"]
    limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    size = os.stat(f"{w.prefix}/run/weir.db-wal").st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, limit[1]))
    return lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)


def test_a_full_disk(weir):
    w = weir(workers=2, locations=CONTROL, top=AS_STARTED)
    key = "/control/get?room="
    assert get(w.http, key + "a").status == 200
    assert get(w.http, "/readyz").status == 200
    empty = fill_disk(w)
    for n in range(8):
        assert get(w.http, key + f"b{n}").status == 503
    a = get(w.http, "/readyz")
    assert (a.status, a.body) == (503, b"the store has no room left\n")
    a = get(w.http, "/near/readyz")
    assert (a.status, a.body) == (200,
                                  b"degraded: the store has no room left\n")
    assert a.header("Retry-After") is None
    a = get(w.http, "/near/readyz", JSON).json()
    assert a["status"] == "degraded"
    assert [c["name"] for c in a["checks"] if not c["ok"]] == ["store"]
    lines = get(w.http, "/near/readyz?verbose").body.decode().splitlines()
    assert "[-] store: the store has no room left" in lines
    assert lines[-1] == "degraded"
    assert get(w.http, "/near/startupz").body == b"started\n"
    empty()
    assert get(w.http, key + "c").status == 200
    for path in ("/readyz", "/near/readyz") * 4:  # of both workers
        assert get(w.http, path).body == b"ready\n"


def test_what_degrades_is_checked(weir):
    w = weir()
    w.set_config(locations='{ path = "/x"; module = "status"; '
                           'degraded = [ "memory", "shutdown" ]; },')
    done = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert done.returncode == 1
    assert 'degraded: "shutdown" must be "connections", "memory" or ' \
        '"store"' in done.stderr


def test_connections(weir):
    w = weir(top="worker_connections = 2;")
    with Http(w.http) as kept, Http(w.http) as other:
        for c in (kept, other):
            c.send("GET", "/healthz")
            assert c.answer().status == 200
        kept.send("GET", "/readyz")
        a = kept.answer()
        assert a.status == 503
        assert a.body == b"2 of 2 connections are in use\n"
    wait_for(lambda: get(w.http, "/readyz").status == 200, 5, "200")


def test_stop_without_grace(weir):
    """Who is still connected is told at once."""
    w = weir(top='stop_drain = "1h";')
    with Http(w.http) as kept:  # one that did not ask yet may ask once
        w.kill(signal.SIGQUIT)
        w.wait_log("worker 0 of generation 1 drains")
        kept.send("GET", "/readyz")
        a = kept.answer()
        assert a.status == 503 and a.header("Connection") == "close"
    assert w.wait_exit() == 0
