"""Which server gets a request, and what becomes of the others."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import threading
import time

import pytest

import tls_files
from control_client import ctl
from http_client import Http, get
from upstream_help import (EGRESS, LOCATION, Upstream, item, set_upstream,
                           shown, state, upstreams)
from weir import (configuration, descendants, open_way, place, run, title,
                  wait_for)


@pytest.fixture
def server():
    """server("a") is one that ends with the test."""
    made = []

    def make(*arguments, **named):
        made.append(Upstream(*arguments, **named))
        return made[-1]

    yield make
    for s in made:
        s.end()


def ask(w, path="/api/x"):
    """(status, name of the server)"""
    a = get(w.http, path)
    return a.status, a.body.decode()


def names(w, count, path="/api/x"):
    return "".join(ask(w, path)[1] for _ in range(count))


def start(weir, servers, more="", **parts):
    return weir(top=upstreams(servers, more), locations=LOCATION, **parts)


@contextlib.contextmanager
def asking(w, count, path="/api/x"):
    """Requests that wait for their answers; yields where these come."""
    answers = []

    def one():
        with contextlib.suppress(OSError, EOFError, AssertionError):
            answers.append(ask(w, path))

    threads = [threading.Thread(target=one) for _ in range(count)]
    for t in threads:
        t.start()
    yield answers
    for t in threads:
        t.join()


def total(w, column):
    return sum(row[column] for row in shown(w).values())


# ---- the order ----

def test_round_robin_is_smooth_and_goes_by_weight(weir, server):
    a, b, c = server("a"), server("b"), server("c")
    w = start(weir, [item(a, "weight = 5;"), b, c])
    assert names(w, 14) == "aabacaa" * 2
    rows = shown(w)
    assert rows[a.address]["requests"] == 10
    assert rows[b.address]["requests"] == 2
    assert total(w, "open") == 0


def test_the_least_busy_is_chosen(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, b], 'balance = "least_connections";', workers=2)
    a.free.clear()
    with contextlib.ExitStack() as held:
        while not a.requests:  # those before were b's
            before = len(b.requests)
            held.enter_context(asking(w, 1))
            wait_for(lambda: a.requests or len(b.requests) > before)
        assert names(w, 6) == "b" * 6
        a.free.set()


def test_a_hash_keeps_to_its_server(weir, server):
    servers = [server(n) for n in "abcd"]
    w = start(weir, servers, 'balance = "hash"; hash_key = "$query_k";')
    before = {k: ask(w, f"/api/x?k={k}")[1] for k in range(40)}
    assert len(set(before.values())) == 4
    assert {k: ask(w, f"/api/x?k={k}")[1] for k in before} == before
    gone = servers[1]
    set_upstream(w, gone, "drain")
    after = {k: ask(w, f"/api/x?k={k}")[1] for k in before}
    assert all(after[k] == n for k, n in before.items() if n != "b")
    assert "b" not in after.values()


def test_backup_servers_serve_when_no_other_can(weir, server, tmp_path):
    open_way(tmp_path)
    a, b = server("a"), server("b", path=f"{tmp_path}/b.sock")
    w = start(weir, [a, item(b, "backup = true;")])
    assert names(w, 3) == "aaa"
    assert state(w, b) == "backup"
    a.stop()
    assert names(w, 3) == "bbb"
    assert state(w, a) == "down"
    assert "Connection refused" in shown(w)[a.address]["why"] or \
        shown(w)[a.address]["why"] == "it cannot be connected to"


# ---- fails ----

def test_fails_shut_a_server_and_one_request_tries(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [item(a, 'max_fails = 2; fail_timeout = "2s";'), b])
    a.broken = True
    assert names(w, 8) == "b" * 8
    assert len(a.requests) == 2
    assert state(w, a) == "down"
    w.wait_log("upstream api: server 127.0.0.1:[0-9]+ is down for 2000 ms")
    a.broken = False
    wait_for(lambda: "a" in names(w, 2), 5)
    w.wait_log("upstream api: server 127.0.0.1:[0-9]+ is back")
    assert state(w, a) == "up"
    assert len(w.log().split("is down for")) == 2
    assert len(w.log().split(" is back")) == 2


def test_all_are_asked_when_all_are_shut(weir, server):
    """A refusal would be sure, and one that is back is found at once."""
    a, b = server("a"), server("b")
    w = start(weir, [item(s, 'fail_timeout = "1h";') for s in (a, b)])
    a.stop()
    b.stop()
    assert [ask(w)[0] for _ in range(3)] == [502] * 3
    row = shown(w)[a.address]
    assert row["fails"] == 3 and row["open"] == 0
    assert state(w, a) == state(w, b) == "down"
    b.listen()
    assert names(w, 3) == "bbb"
    assert state(w, b) == "up"


def test_backup_servers_that_are_shut_come_last(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, item(b, "backup = true;")])
    a.stop()
    b.stop()
    assert ask(w)[0] == 502
    a.listen()
    b.listen()
    assert names(w, 3) == "aaa"


def test_nobody_left_is_a_503(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, b])
    set_upstream(w, a, "drain")
    set_upstream(w, b, "drain")
    assert ask(w)[0] == 503


def test_the_only_server_is_never_shut(weir, server):
    a = server("a")
    w = start(weir, [a])
    a.stop()
    assert [ask(w)[0] for _ in range(3)] == [502] * 3
    w.wait_log(f"upstream api: server {a.address} failed a request: connect "
               f"to {a.address}: Connection refused")
    row = shown(w)[a.address]
    assert "Connection refused" in row["why"] and row["fails"] == 3
    assert row["state"] == "up"
    a.listen()
    assert ask(w) == (200, "a")


def test_one_that_is_back_starts_slowly(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [item(a, 'slow_start = "6s";'), b])
    assert names(w, 40).count("a") == 20
    set_upstream(w, a, "drain")
    assert names(w, 4) == "bbbb"
    set_upstream(w, a, "ready")
    began = time.monotonic()
    got = names(w, 40).count("a")
    if time.monotonic() - began < 1:  # a sixth of its weight at most
        assert got <= 6
    wait_for(lambda: names(w, 8).count("a") == 4, 20)


def test_the_log_tells_which_servers_were_asked(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, item(b, "backup = true;")], "keepalive = 0;",
              http='access_log_format = '
              '"$request_uri|$status|$upstream_addr|$upstream_status|'
              '$upstream_connect_time|$upstream_header_time|'
              '$upstream_response_time";')
    assert ask(w, "/api/first") == (200, "a")
    a.broken = True
    assert ask(w, "/api/second") == (200, "b")
    assert get(w.http, "/healthz").status == 200
    time_of = r"[0-9]+\.[0-9]{3}"
    addresses = (re.escape(a.address), re.escape(b.address))
    w.wait_access_log(r"(?m)^/api/first\|200\|%s\|200\|%s\|%s\|%s$"
                      % (addresses[0], time_of, time_of, time_of))
    w.wait_access_log(r"(?m)^/api/second\|200\|%s, %s\|-, 200\|%s, %s\|-, %s"
                      r"\|%s, %s$" % (*addresses, *([time_of] * 5)))
    w.wait_access_log(r"(?m)^/healthz\|200\|-\|-\|-\|-\|-$")


# ---- max_connections ----

def test_requests_wait_in_a_bounded_queue(weir, server):
    a = server("a")
    w = start(weir, [item(a, "max_connections = 2;")],
              'queue = 3; queue_timeout = "1h";', workers=2)
    a.free.clear()
    with asking(w, 5) as answers:
        wait_for(lambda: total(w, "open") == 2 and total(w, "waiting") == 3)
        assert len(a.requests) == 2
        assert ask(w)[0] == 503
        a.free.set()
    assert answers == [(200, "a")] * 5
    assert total(w, "open") == total(w, "waiting") == 0


def test_the_queue_has_an_end(weir, server):
    a = server("a")
    w = start(weir, [item(a, "max_connections = 1;")],
              'queue = 3; queue_timeout = "300ms";')
    a.free.clear()
    with asking(w, 1):
        wait_for(lambda: a.requests)
        assert ask(w)[0] == 503
        a.free.set()
    assert total(w, "waiting") == 0


def test_the_first_of_the_queue_may_need_another_server(weir, server):
    """It has tried the one that is free: those behind it have not."""
    a, b = server("a"), server("b")
    one = "max_connections = 1; max_fails = 0;"
    w = start(weir, [item(a, one), item(b, one)],
              'queue = 3; queue_timeout = "1h";')
    b.free.clear()
    set_upstream(w, a, "drain")
    with asking(w, 1):
        wait_for(lambda: b.requests)
        set_upstream(w, a, "ready")
        a.broken = True
        with asking(w, 1) as first:
            wait_for(lambda: total(w, "waiting") == 1)
            a.broken = False
            assert [ask(w) for _ in range(3)] == [(200, "a")] * 3
            assert not first and total(w, "waiting") == 1
            b.free.set()
        assert first == [(200, "b")]


def test_who_leaves_the_queue_is_not_counted(weir, server):
    a = server("a")
    w = start(weir, [item(a, "max_connections = 1;")],
              'queue = 3; queue_timeout = "1h";')
    a.free.clear()
    with asking(w, 1):
        wait_for(lambda: a.requests)
        with Http(w.http) as c:
            c.send("GET", "/api/y")
            wait_for(lambda: total(w, "waiting") == 1)
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
        wait_for(lambda: total(w, "waiting") == 0)
        a.free.set()
    assert a.requests == ["/api/x"]


# ---- counts are the node's ----

def test_a_killed_worker_gives_back_what_it_had(weir, server):
    a = server("a")
    w = start(weir, [a], workers=2)
    w.children_may_crash = True
    a.free.clear()
    with asking(w, 6):
        wait_for(lambda: total(w, "open") == 6)
        for pid in w.workers():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: total(w, "open") == 0)
        a.free.set()


def test_a_reload_keeps_what_is_known(weir, server):
    a, b = server("a"), server("b")
    parts = {"locations": LOCATION}
    w = start(weir, [a, b], grace='stop_grace = "0"; reload_drain = "1h";')
    assert sorted(names(w, 4)) == ["a", "a", "b", "b"]
    set_upstream(w, a, "drain")
    set_upstream(w, b, "weight", "9")
    b.free.clear()
    with asking(w, 2) as answers:
        wait_for(lambda: total(w, "open") == 2)
        w.set_config(top=upstreams([a, b], "keepalive = 1;"),
                     grace='stop_grace = "0"; reload_drain = "1h";', **parts)
        w.reload()
        rows = shown(w)
        assert rows[b.address]["open"] == 2
        assert rows[b.address]["weight"] == 9
        assert rows[a.address]["state"] == "drain"
        assert rows[a.address]["requests"] == 2
        b.free.set()
    assert answers == [(200, "b")] * 2
    wait_for(lambda: total(w, "open") == 0)
    set_upstream(w, a, "ready")
    set_upstream(w, b, "weight", "file")
    assert sorted(names(w, 4)) == ["a", "a", "b", "b"]


def test_words_of_weirctl_that_are_wrong(weir, server):
    a = server("a")
    w = start(weir, [a])
    for words in (["api/127.0.0.1:1", "drain"], [f"api/{a.address}", "shut"],
                  [f"api/{a.address}", "weight"],
                  [f"api/{a.address}", "weight", "0"],
                  [f"api/{a.address}", "drain", "now"]):
        assert ctl(w, "set", "upstream", *words).returncode != 0, words
    assert state(w, a) == "up"


# ---- checks ----

HEALTH = ('health = { path = "/healthz"; interval = "100ms"; rise = 2; '
          'fall = 2; };')


def prober(w):
    return next((pid for pid in descendants(w.pid)
                 if title(pid) == "weir: prober"), None)


def test_checks_take_servers_out_and_in(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, b], HEALTH, workers=2)
    wait_for(lambda: shown(w)[a.address]["check"] == "good")
    assert shown(w)[a.address]["checked_by"] == "prober"
    a.health = 500
    w.wait_log(f"server {a.address} is down: 2 checks failed, the last "
               "because it answered 500")
    assert state(w, a) == "down"
    assert shown(w)[a.address]["why"] == "it answered 500"
    assert names(w, 4) == "bbbb"
    a.health = 200
    w.wait_log(f"server {a.address} is up")
    assert set(names(w, 4)) == {"a", "b"}  # one of two workers gets two
    b.stop()
    w.wait_log(f"server {b.address} is down: 2 checks failed")
    assert names(w, 3) == "aaa"
    a.stop()
    w.wait_log(f"server {a.address} is down: 2 checks failed", count=2)
    assert ask(w)[0] == 503


def test_good_checks_open_what_fails_have_shut(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [item(a, 'fail_timeout = "1h";'), b], HEALTH)
    wait_for(lambda: shown(w)[a.address]["check"] == "good")
    a.broken = True
    assert names(w, 2) == "bb"
    w.wait_log(f"server {a.address} is down for 3600000 ms")
    a.broken = False
    w.wait_log(f"server {a.address} is back: 2 checks were good")
    assert names(w, 2) in ("ab", "ba")


def test_the_role_is_killed_and_checks_go_on(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, b], HEALTH)
    w.children_may_crash = True
    a.health = 500
    wait_for(lambda: state(w, a) == "down")
    os.kill(prober(w), signal.SIGKILL)
    assert state(w, a) == "down"
    assert names(w, 3) == "bbb"
    a.health = 200
    wait_for(lambda: state(w, a) == "up", 20)
    assert len(w.log().split(f"server {a.address} is down")) == 2


def test_the_role_goes_on_through_reloads(weir, server):
    a, b = server("a"), server("b")
    w = start(weir, [a, b], HEALTH)
    before = prober(w)
    a.health = 500
    wait_for(lambda: state(w, a) == "down")
    w.set_config(top=upstreams([a, b], HEALTH.replace("/healthz", "/other")),
                 locations=LOCATION)
    w.reload()
    assert prober(w) == before
    wait_for(lambda: state(w, a) == "up")  # /other is well
    c = server("c")
    w.set_config(top=upstreams([a, b, c], HEALTH), locations=LOCATION)
    w.reload()  # to a port that it has no right to
    wait_for(lambda: shown(w)[c.address]["check"] == "good", 20)
    assert prober(w) != before
    w.set_config(top=upstreams([a, b, c]), locations=LOCATION)
    w.reload()
    wait_for(lambda: prober(w) is None)
    assert sorted(names(w, 3)) == ["a", "b", "c"]


# ---- TLS ----

def test_servers_are_verified_by_their_name(weir, server, tmp_path):
    made = tls_files.Certificates(tmp_path / "tls")
    made.make("good", "api.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.path("good.pem"), made.path("good.key"))
    a = server("a", tls=context)
    tls = f'tls = {{ ca = "{made.root}"; server_name = "%s"; }};'
    w = start(weir, [a], tls % "api.test" + HEALTH)
    assert ask(w) == (200, "a")
    wait_for(lambda: shown(w)[a.address]["check"] == "good")
    w.set_config(top=upstreams([a], tls % "other.test"), locations=LOCATION)
    w.reload()
    assert ask(w)[0] == 502
    assert "certificate" in shown(w)[a.address]["why"]
    w.wait_log(f"upstream api: server {a.address} failed a request: .*"
               "certificate")
    metrics = get(w.http, "/metrics").body.decode()
    assert re.search(r'weir_proxy_fails_total\{.*reason="tls"\} 1\n', metrics)


def test_a_reload_reads_the_cas_of_checks_anew(weir, server, tmp_path):
    good = tls_files.Certificates(tmp_path / "tls")
    good.make("good", "api.test")
    other = tls_files.Certificates(tmp_path / "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(good.path("good.pem"), good.path("good.key"))
    a = server("a", tls=context)
    ca = tmp_path / "ca.pem"
    shutil.copy(other.root, ca)
    w = start(weir, [a], f'tls = {{ ca = "{ca}"; server_name = "api.test"; }};'
              + HEALTH)
    wait_for(lambda: shown(w)[a.address]["check"] == "bad")
    shutil.copy(good.root, ca)
    w.reload()
    wait_for(lambda: shown(w)[a.address]["check"] == "good", 20)
    assert ask(w) == (200, "a")


# ---- the file ----

@pytest.mark.parametrize("top, location, words", [
    (upstreams(["\"127.0.0.1:1\""]), LOCATION.replace('"api"', '"apl"'),
     'there is no upstream "apl"; did you mean "api"?'),
    (upstreams(["\"127.0.0.1:1\""]).replace(EGRESS, ""), LOCATION,
     '"allow 127.0.0.1" in egress would allow it'),
    (upstreams(["\"127.0.0.1\""]), LOCATION, "must be HOST:PORT"),
    (upstreams(["\"unix:here\""]), LOCATION, "unix:/PATH"),
    (upstreams(["\"a:1\"", "\"a:1\""]), LOCATION, "already"),
    (upstreams(["{ address = \"a:1\"; backup = true; }"]), LOCATION,
     "none but backup servers"),
    (upstreams(["\"a:1\""], 'balance = "hash";'), LOCATION,
     "needs a hash_key"),
    (upstreams(["\"a:1\""], 'balance = "hash"; hash_key = "$ip";'), LOCATION,
     "$header_NAME"),
    (upstreams(["\"a:1\""], 'health = { path = "x"; };'), LOCATION,
     "must begin with '/'"),
    (EGRESS, LOCATION.replace('"api"', '"http://127.0.0.1:1/x"'),
     "ends behind the port"),
    (EGRESS + "upstreams = ( " + ", ".join(
        f'{{ name = "u{i}"; servers = ( ' + ", ".join(
            f'"h{k}:{i + 1}"' for k in range(43)) + "); }"
        for i in range(6)) + " );",
     "".join(f'{{ path = "/{i}"; module = "proxy"; upstream = "u{i}"; }},'
             for i in range(6)),
     'with those of "u5" the upstreams of all layers have more than 256'),
    ("", LOCATION.replace('"api"', '"http://10.0.0.1"'),
     '"allow 10.0.0.1" before it in egress would allow it'),
])
def test_mistakes_are_told(tmp_path, top, location, words):
    place(str(tmp_path), configuration(top=top, locations=location))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0
    assert words in r.stderr, r.stderr


def test_an_upstream_that_nobody_uses_is_a_warning(tmp_path):
    place(str(tmp_path), configuration(top=upstreams(["\"127.0.0.1:1\""])))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode == 0, r.stderr
    assert 'no layer has upstream "api"' in r.stderr
