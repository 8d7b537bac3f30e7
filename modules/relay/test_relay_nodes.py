"""Relays of several weirs on one database: each runs on one of them.

Remotes are counted at the remote: what it has accepted and not seen the end
of."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import threading
from urllib.parse import urlencode

import pytest

import database
import weir as weir_py
from control_client import ctl
from feed import Feed
from http_client import get
from rtmp_client import player
from rtmp_server import Server
from weir import descendants, title, wait_for

EGRESS = 'egress = [ "allow loopback" ];'
PLACES = '{ path = "/control"; module = "relay"; ' \
    'rate = { rate = "100000/s"; }; },'
OK = (200, "Ok")


class Remote(Server):
    """Knows how many relays are connected; most: at once."""

    def __init__(self):
        self.now = self.most = 0
        self.counting = threading.Lock()
        super().__init__()

    def count(self, n):
        with self.counting:
            self.now += n
            self.most = max(self.most, self.now)

    def _serve(self, sock):
        self.count(1)
        try:
            super()._serve(sock)
        finally:
            self.count(-1)


@pytest.fixture
def own_server(monkeypatch):
    """A database on a server that the test may stop."""
    server = database.Server()
    backend = database.Postgres(server, "relays")
    monkeypatch.setitem(weir_py.DEFAULTS, "backend", backend.settings)
    yield server
    server.drop()


@pytest.fixture
def lone_node(own_server, weir):  # the server outlives the weirs
    assert own_server
    return starter(weir)


@pytest.fixture
def node(postgres, weir):
    assert postgres
    return starter(weir)


def starter(weir):
    """Starts a weir on the test's database: node("a")."""
    def start(name, expiry="60s", **parts):
        w = weir(top=EGRESS, locations=PLACES,
                 store=f'node = "{name}"; node_expiry = "{expiry}";', **parts)
        w.name = name
        return w
    return start


def task(w, kind="pull", oper="start", name="x", **more):
    query = urlencode({"oper": oper, "app": "live", "name": name, **more})
    answer = get(w.http, f"/control/{kind}?{query}")
    return answer.status, answer.json()["data"]


def relays(w):
    return get(w.http, "/control/relays").json()["data"]


def runner(*nodes, name="x"):
    """Which node all of them say that it runs on; None: not one."""
    shown = [r for w in nodes for r in relays(w) if r["name"] == name]
    says = {(r["node"], r["state"]) for r in shown}
    where, state = says.pop() if len(says) == 1 else (None, "")
    if len(shown) < len(nodes) or state != "running":
        return None
    return next((w for w in nodes if w.name == where), where)


def wait_runs(where, *nodes, **which):
    """All of them say that it runs there."""
    wait_for(lambda: runner(*nodes, **which) is where, 30,
             f"{where.name} to run it")


def signal_all(w, number):
    """The whole weir; the master first, for it would start others anew."""
    for pid in [w.pid] + descendants(w.pid):
        os.kill(pid, number)


def metric(w, name):
    text = get(w.http, "/metrics").body.decode()
    return sum(float(n) for n in
               re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M))


# ---- one of them ----

def test_a_weir_that_shares_nothing(weir):
    w = weir(top=EGRESS, locations=PLACES)
    with Remote() as r:
        assert task(w, url=r.url("live/1"), wait=20) == OK
        assert relays(w)[0]["node"] == \
            f"{socket.gethostname()}:{w.prefix}/run/weir.pid"


def test_each_relay_runs_once(node):
    with Remote() as r:
        a, b = node("a"), node("b")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        first = wait_for(lambda: runner(a, b), 30, "one that runs it")
        for w in (a, b):
            shown, = relays(w)
            here = w is first
            assert (shown["attempts"] is None) == (not here)
            assert (shown["frames"] is None) == (not here)
            assert f" {first.name} " in ctl(w, "show", "relays").stdout
        assert task(b, name="y", url=r.url("live/2"), wait=20) == OK
        wait_for(lambda: runner(a, b, name="y"), 30, "one that runs it")
        wait_for(lambda: r.now == 2, 5, "two pulls")
        assert sum(metric(w, "weir_store_leases") for w in (a, b)) == 2
        assert sorted(name for _, name in r.wishes) == ["1", "2"]
        assert task(b, oper="stop", url="rtmp://h/a/b") == OK
        assert task(a, oper="stop", name="y", url="rtmp://h/a/b") == OK
        wait_for(lambda: relays(a) == relays(b) == [], 10, "no relays")
        wait_for(lambda: r.now == 0, 10, "no connections")
        assert r.most == 2


def test_what_failed_is_told_by_any_node(node):
    a, b = node("a"), node("b")
    assert task(a, url="rtmp://127.0.0.1:1/live/x") == OK
    for w in (a, b):
        wait_for(lambda w=w: any("Connection refused" in r["reason"]
                                 for r in relays(w)), 10, "its reason")
        status, words = task(w, url="rtmp://127.0.0.1:1/live/x", wait=1)
        assert (status, "Connection refused" in words) == (502, True)


def test_a_node_that_joins_takes_nothing(node):
    with Remote() as r:
        a = node("a")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b")
        wait_runs(a, a, b)
        assert r.most == 1


# ---- another one takes over ----

def test_a_stop_hands_over(node):
    with Remote() as r:
        a = node("a")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b")
        wait_runs(a, a, b)
        assert a.stop() == 0
        wait_runs(b, b)  # the expiry is a minute: it was told
        wait_for(lambda: r.now == 1, 5, "one pull")
        assert [name for _, name in r.wishes] == ["1", "1"]


def test_the_relayers_death_hands_nothing_over(node):
    with Remote() as r:
        a = node("a")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b")
        pid, = (p for p in descendants(a.pid) if title(p) == "weir: relayer")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: len(r.wishes) == 2, 10, "it pulls again")
        wait_runs(a, a, b)


def test_a_weir_that_was_killed_goes_on(node):
    with Remote() as r:
        a = node("a")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b")
        wait_runs(a, a, b)
        a.end_all()
        a.start()
        wait_runs(a, a, b)
        wait_for(lambda: len(r.wishes) == 2, 10, "it pulls again")
        wait_for(lambda: r.now == 1, 5, "one pull")


def test_a_weir_that_was_killed_is_replaced(node):
    with Remote() as r:
        a = node("a", expiry="3s")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b")
        wait_runs(a, a, b)
        a.end_all()
        a.status = 0
        wait_runs(b, b)
        b.wait_log('node "a" has been silent for too long')
        wait_for(lambda: r.now == 1, 5, "one pull")
        assert len(r.wishes) == 2


def test_a_weir_that_slept_gives_way(node):
    with Remote() as r:
        a = node("a", expiry="3s")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        b = node("b", expiry="60s")
        wait_runs(a, a, b)
        signal_all(a, signal.SIGSTOP)
        wait_runs(b, b)
        signal_all(a, signal.SIGCONT)
        a.wait_log("lease relay/1: lost")
        assert metric(
            a, 'weir_store_lease_events_total{event="lost"}') == 1
        wait_runs(b, a, b)
        wait_for(lambda: r.now == 1, 5, "one pull")
        assert len(r.wishes) == 2


def test_all_nodes_tell_the_last_failure(node):
    a, b = node("a"), node("b")
    with Remote() as r:
        url = r.url("live/1")
    assert task(a, url=url) == OK
    wait_for(lambda: ["refused" in t["last_failure"]
                      for w in (a, b) for t in relays(w)] == [True, True], 30,
             "the reason of its failure")


# ---- without the database ----

def test_a_node_alone_goes_on_without_the_database(lone_node, own_server):
    with Remote() as r:
        a = lone_node("a", expiry="2s")
        assert task(a, url=r.url("live/1"), wait=20) == OK
        own_server.stop()
        a.wait_log("what this node holds goes on", 30)
        frames = relays(a)[0]["frames"]
        own_server.start()
        a.wait_log("leases are renewed", 30)
        wait_for(lambda: relays(a)[0]["frames"] > frames, 10, "more frames")
        assert relays(a)[0]["attempts"] == len(r.wishes) == 1
        assert "lost" not in a.log()


def test_one_of_several_stops_in_time(lone_node, own_server):
    """And one of them begins when the database is back."""
    with Remote() as r:
        a, b = lone_node("a", expiry="2s"), lone_node("b", expiry="2s")
        assert task(a, "pull", url=r.url("live/1"), wait=20) == OK
        first = wait_for(lambda: runner(a, b), 30, "one that runs it")
        own_server.stop()
        first.wait_log("lease relay/1: lost: the store did not confirm", 30)
        wait_for(lambda: r.now == 0, 10, "no connections")
        own_server.start()
        wait_for(lambda: runner(a, b), 30, "one that runs it")
        assert r.most == 1


# ---- pushes ----

def test_a_push_runs_where_the_stream_is(node):
    with Remote() as r:
        a, b = node("a", hold="0s"), node("b", hold="0s")
        assert task(b, "push", url=r.url("live/key")) == OK
        f = Feed(a.rtmp, "x").head().run()
        wait_runs(a, a, b)
        g = Feed(b.rtmp, "x").head().run()
        with player(b.rtmp, "live", "x") as p:
            p.read()
        wait_runs(a, a, b)
        assert len(r.wishes) == 1
        f.stop()
        wait_runs(b, a, b)
        assert r.most == 1
        g.stop()
        for w in (a, b):
            wait_for(lambda w=w: relays(w)[0]["state"] ==
                     "waiting for the local stream", 10, "nobody pushes")
            assert relays(w)[0]["node"] is None
