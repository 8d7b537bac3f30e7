"""Subscribers: one address, or two together, cannot take the places of all."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json

import pytest

from http_client import Http
from share_help import gave, Hog, NOBODY_EXEMPT, refusals, row
from stat_client import Events
from weir import wait_for

EVENTS, SOCKETS = "stat.subscribers", "stat.sockets"
SIZE = 8
AT = f'{{ path = "/stat"; module = "stat"; subscribers = {SIZE}; }},'
ROUNDS = 10


@pytest.fixture
def node(weir):
    return weir(locations=AT, top=NOBODY_EXEMPT)


def hogs(count):
    return [f"127.0.0.{2 + i}" for i in range(count)]


@pytest.mark.parametrize("count", [1, 2])
def test_others_get_events(node, count):
    w = node
    with contextlib.ExitStack() as all_of_them:
        took = [all_of_them.enter_context(
            Hog(w, 2 * SIZE, "/stat/events", source=source))
            for source in hogs(count)]
        wait_for(lambda: all(h.refused() for h in took), 20, "refusals")
        for _ in range(ROUNDS):
            e = Events(w.http)
            assert e.head.status == 200
            assert e.next()[0] == "retry" and e.next()[0] == "server"
            e.close()
        told = row(w, EVENTS)
        assert told["limit"] == SIZE and told["holds"] <= SIZE // 2
        assert told["largest"] in [h.source for h in took]
        a = took[0].refused()[0]
        assert a.header("retry-after") == "5"
        assert refusals(w, EVENTS) > 0
        assert count == 1 or gave(w, EVENTS) > 0
    wait_for(lambda: row(w, EVENTS)["used"] == 0, 20, "nobody subscribes")
    w.wait_log(r"stat\.subscribers: 127\.0\.0\.\d is refused")


class Socket:
    """A client over polling that asks to join and says no more."""

    def __init__(self, w, source):
        self.http = Http(w.http, source=source)
        self.at = "/stat/socket.io/?EIO=4&transport=polling"
        opened = self._ask("GET")
        assert opened[0] == "0"
        self.at += "&sid=" + json.loads(opened[1:])["sid"]
        assert self._ask("POST", b"40") == "ok"
        self.told = self._ask("GET")
        self.joined = self.told.startswith("40")

    def _ask(self, method, body=b""):
        self.http.send(method, self.at, body=body)
        a = self.http.answer()
        assert a.status == 200, a.body
        return a.body.decode()

    def leave(self):
        self._ask("POST", b"41\x1e1")
        self.http.close()


@pytest.mark.parametrize("count", [1, 2])
def test_others_join(node, count):
    w = node
    took = [Socket(w, source) for _ in range(SIZE) for source in hogs(count)]
    assert sum(s.joined for s in took) == count * SIZE // 2
    assert "share" in took[-1].told
    told = row(w, SOCKETS)
    assert told["limit"] == SIZE and told["largest"] in hogs(count)
    assert told["holds"] == SIZE // 2
    for _ in range(ROUNDS):
        s = Socket(w, "127.0.0.1")
        assert s.joined, s.told
        s.leave()
    assert refusals(w, SOCKETS) > 0
    assert count == 1 or gave(w, SOCKETS) == 1
    for s in took:
        s.http.close()
