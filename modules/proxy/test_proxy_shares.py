"""What clients share of an upstream: open requests and its queue."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import signal
import time

import pytest

from http_client import Http
from patience import busy
from share_help import gave, HOG, Hog, NOBODY_EXEMPT, refusals, row
from upstream_help import item, LOCATION, Upstream, upstreams
from weir import wait_for

OPEN, QUEUE = "upstreams.max_connections", "upstreams.queue"
ROUNDS = 20


@pytest.fixture
def server():
    """Requests for /api/slow wait until it is set free."""
    s = Upstream("a")
    s.slow = "slow"
    s.free.clear()
    yield s
    s.end()


def start(weir, server, most, queue, **more):
    return weir(locations=LOCATION, top=NOBODY_EXEMPT + upstreams(
        [item(server, f"max_connections = {most};")],
        f'queue = {queue}; queue_timeout = "1h";'), **more)


def asked(server, path):
    return server.requests.count(path)


@contextlib.contextmanager
def asking(w, path, source):
    """A request that is not waited for."""
    with Http(w.http, source=source) as h:
        h.send("GET", path)
        yield h


@pytest.mark.parametrize("workers", [1, 2])
def test_others_are_answered(weir, server, workers):
    """One address takes half of the servers and half of the queue, no more."""
    w = start(weir, server, 8, 8, workers=workers)
    with Hog(w, 32, "/api/slow") as hog:
        wait_for(lambda: asked(server, "/api/slow") == 4 and hog.refused(), 20,
                 "its share")
        for _ in range(ROUNDS):
            began = time.monotonic()
            with asking(w, "/api/quick", "127.0.0.1") as h:
                assert h.answer().status == 200
            assert time.monotonic() - began < busy(1)
        assert asked(server, "/api/slow") == 4
        a = hog.refused()[0]
        assert a.header("retry-after") == "1" and b"share" in a.body
        for pool in (OPEN, QUEUE):
            told = row(w, pool)
            assert told["limit"] == 8 and told["largest"] == HOG
            assert told["holds"] == 4, told
        assert refusals(w, QUEUE) > 0
    server.free.set()
    for pool in (OPEN, QUEUE):
        wait_for(lambda: row(w, pool)["used"] == 0, 20, "nothing is left")
    w.wait_log(r"upstreams\.queue: 127\.0\.0\.2 is refused, it has its share")


def test_without_a_queue(weir, server):
    w = start(weir, server, 8, 0)
    with Hog(w, 16, "/api/slow") as hog:
        wait_for(lambda: asked(server, "/api/slow") == 4 and hog.refused(), 20,
                 "its share")
        for _ in range(ROUNDS):
            with asking(w, "/api/quick", "127.0.0.1") as h:
                assert h.answer().status == 200
        assert refusals(w, OPEN) > 0


def test_clients_are_served_in_turn(weir, server):
    """Three requests that come behind twenty of another address."""
    w = start(weir, server, 1, 40)
    with contextlib.ExitStack() as open_ones:
        def ask(path, source, count):
            return [open_ones.enter_context(asking(w, path, source))
                    for _ in range(count)]
        first = ask("/api/slow", "127.0.0.3", 1)
        wait_for(lambda: server.requests, 20, "the server is busy")
        all_of_them = first + ask("/api/hog", HOG, 20)
        wait_for(lambda: row(w, QUEUE)["used"] == 20, 20, "they wait")
        all_of_them += ask("/api/other", "127.0.0.1", 3)
        wait_for(lambda: row(w, QUEUE)["used"] == 23, 20, "all wait")
        server.free.set()
        for h in all_of_them:
            assert h.answer().status == 200
    turns = [i for i, p in enumerate(server.requests) if p == "/api/other"]
    assert turns == [2, 4, 6], server.requests


def test_the_last_of_many_gives_way(weir, server):
    """Two addresses have filled the queue: the third one gets in."""
    w = start(weir, server, 1, 16)
    with contextlib.ExitStack() as open_ones:
        open_ones.enter_context(asking(w, "/api/slow", "127.0.0.4"))
        wait_for(lambda: server.requests, 20, "the server is busy")
        hogs = [open_ones.enter_context(
            Hog(w, 16, "/api/hog", source=f"127.0.0.{n}")) for n in (2, 3)]
        wait_for(lambda: row(w, QUEUE)["used"] == 16 and
                 all(h.refused() for h in hogs), 20, "the queue is full")
        h = open_ones.enter_context(asking(w, "/api/other", "127.0.0.1"))
        wait_for(lambda: gave(w, QUEUE), 20, "one gives way")
        assert row(w, QUEUE)["used"] == 16
        server.free.set()
        assert h.answer().status == 200


def test_a_killed_worker_has_nothing(weir, server):
    w = start(weir, server, 8, 8)
    w.children_may_crash = True
    with Hog(w, 16, "/api/slow") as hog:
        wait_for(lambda: asked(server, "/api/slow") == 4 and hog.refused(), 20,
                 "its share")
        wait_for(lambda: row(w, OPEN)["used"] == row(w, QUEUE)["used"] == 4, 20,
                 "all it gets")
        hog.ends.set()
        for pid in w.workers():
            os.kill(pid, signal.SIGKILL)
    for pool in (OPEN, QUEUE):
        wait_for(lambda: row(w, pool)["used"] == 0, 20, "all is given back")
