"""More events at once than wait for a client: it gets a new "all" in their
place, stays connected, and ends with what there is."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import signal
import socket
import threading

import pytest

from downloads_help import (downloads, media, plain)  # pylint: disable=W0611
from http_client import Http, get
from patience import busy
from socket_help import Closed, WebSocket, payload
from test_downloads_clients import NodeClient, Original, PythonClient, see
from test_downloads_events import Below, add_list, lists_of, many, role
from weir import wait_for

__all__ = ["downloads", "media", "many"]  # fixtures
SMALL = 'socket_io = { max_queue = "64k"; %s };'
STRING = '''{ path = "/original"; layers = ( { module = "downloads";
  instance = "main"; event_payload = "string";
  socket_io = { max_queue = "64k"; ping_timeout = "10m"; }; } ); },'''


def metric(d, name):
    text = get(d.port, "/metrics").body.decode()
    return int(re.search(f"^{re.escape(name)} (\\d+)$", text, re.M)[1])


def outdated(d):
    """Events that were left out for a client, as a snapshot has them in it."""
    return metric(d, 'weir_channel_events_dropped_total{reason="outdated"}')


def ended(d, reason="too_slow"):
    return metric(d, 'weir_channel_sessions_ended_total{reason="%s"}' % reason)


def burst(d, enough=None):
    """Until more was told than waits, and than the system takes beside."""
    enough = enough or (lambda before=outdated(d): outdated(d) > before)
    for n in range(8):
        add_list(d, 2000 + n, letters=400)
        if enough():
            return
    raise AssertionError("everything was taken")


class Page:
    """The lists as a client has them, by what it was told."""

    def __init__(self, client):
        self.client = client
        self.active, self.done, self.heard = {}, {}, []

    def next(self):
        name, argument = self.client.next()
        argument = plain(argument)
        self.heard.append(name)
        if name == "all":
            assert isinstance(argument, dict)
            self.active = {e["url"]: e for e in
                           argument["queue"] + argument["pending"]}
            self.done = {e["url"]: e for e in argument["done"]}
        elif name == "added":
            assert argument["url"] not in self.active
            self.active[argument["url"]] = argument
        elif name == "updated":
            assert argument["url"] in self.active
            self.active[argument["url"]] = argument
        elif name == "completed":
            self.done[argument["url"]] = self.active.pop(argument["url"])
        elif name == "canceled":
            del self.active[argument]
        elif name == "cleared":
            del self.done[argument]

    def until(self, name):
        while name not in self.heard:
            self.next()
        return self

    def follow(self, d):
        """Until it has seen what is added last; then it has all."""
        mark = f"http://fake.test/marks/{len(self.heard)}"
        d.added(mark, auto_start=False)
        while mark not in self.active:
            self.next()
        assert list(self.active) == d.urls("queue") + d.urls("pending")
        assert list(self.done) == d.urls("done")


class ByHand:
    """A session that reads when it is asked to."""

    def __init__(self, d):
        self.place = Below(d.port)
        self.packets = []

    def next(self):
        while True:
            if not self.packets:
                self.packets = self.read()
            packet = self.packets.pop(0)
            if packet.startswith("42"):
                return json.loads(packet[2:])

    def hold(self):
        pass

    def go_on(self):
        pass


class PollingByHand(ByHand):
    def __init__(self, d):
        super().__init__(d)
        self.session = self.place.polling()
        self.session.send("40")

    def read(self):
        said = payload(self.session.get().body)
        for _ in range(said.count("2")):
            self.session.send("3")
        return said

    def leave(self):
        self.session.send("41")


class WebSocketByHand(ByHand):
    def __init__(self, d):
        super().__init__(d)
        http = Http(d.port)
        http.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.http = http
        self.session = WebSocket(http, self.place.target(
            "socket.io", {"transport": "websocket"}))
        self.session.send("40")

    def read(self):
        return [self.session.receive_data()]

    def go_on(self):
        # What has been sent would come through 4 kB in many seconds.
        self.http.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def leave(self):
        self.session.close()


class Stopped(NodeClient):
    def hold(self):
        os.kill(self.lines.process.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.lines.process.pid, signal.SIGCONT)


class Blocked(PythonClient):
    """A handler that takes long; it reads nothing meanwhile."""

    def __init__(self, d, transports):
        self.free = threading.Event()
        self.free.set()
        super().__init__(d, transports)
        put = self.told.put

        def later(event):
            self.free.wait(busy(120))
            put(event)
        self.told.put = later

    def hold(self):
        self.free.clear()

    def go_on(self):
        self.free.set()


KINDS = {
    "hand-polling": lambda d, tool: PollingByHand(d),
    "hand-websocket": lambda d, tool: WebSocketByHand(d),
    "node-polling": lambda d, tool: Stopped(tool, d, ["polling"]),
    "node-websocket": lambda d, tool: Stopped(tool, d, ["websocket"]),
    "node-default": lambda d, tool: Stopped(tool, d,
                                            ["polling", "websocket"]),
    "python-polling": lambda d, tool: Blocked(d, ["polling"]),
    "python-websocket": lambda d, tool: Blocked(d, ["websocket"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_rests_gets_a_new_all(many, tool, kind):
    d = many(layer=SMALL % 'ping_timeout = "10m";')
    client = KINDS[kind](d, tool)
    page = Page(client).until("custom_dirs")
    page.follow(d)
    client.hold()
    try:
        burst(d)
    finally:
        client.go_on()
    page.follow(d)
    assert page.heard.count("all") >= 2
    # Nothing but the lists had to be told again.
    assert page.heard.count("configuration") == 1
    told = len(page.heard)
    d.delete(*d.urls("pending")[:3])
    while page.heard[told:].count("canceled") < 3:
        page.next()
    page.follow(d)
    assert page.heard[told:].count("all") == 0
    assert ended(d) == 0 and ended(d, "client") == 0
    client.leave()


def test_a_page_of_the_original_gets_a_new_all(many, tool):
    d = many(locations=STRING)
    client = tool(Original(d))
    client.until(told="custom_dirs")
    os.kill(client.process.pid, signal.SIGSTOP)
    try:
        burst(d)
    finally:
        os.kill(client.process.pid, signal.SIGCONT)
    d.added("http://fake.test/last", auto_start=False)
    state = see(client, lambda s: "http://fake.test/last" in s["queue"], 10000)
    assert list(state["queue"]) == d.urls("pending") and not state["done"]
    assert ended(d) == 0


def test_more_than_waits_for_the_channel(many, tool):
    """The fetcher keeps 4 MB of events for it; clients stay all the same."""
    d = many(locations=STRING, top='watchdog = "60s";')
    page = Page(Stopped(tool, d, ["websocket"])).until("custom_dirs")
    theirs = tool(Original(d))
    theirs.until(told="custom_dirs")
    channel = role(d, "channel")
    os.kill(channel, signal.SIGSTOP)
    try:
        for n in range(3):
            add_list(d, 4000 + n, letters=400)
        d.weir.wait_log("clients will be told all anew")
    finally:
        os.kill(channel, signal.SIGCONT)
    page.follow(d)
    d.added("http://fake.test/last", auto_start=False)
    state = see(theirs, lambda s: "http://fake.test/last" in s["queue"], 20000)
    assert list(state["queue"]) == d.urls("pending")
    assert ended(d) == 0 and ended(d, "module") == 0
    page.client.leave()


def test_one_that_never_reads_is_closed_in_time(many):
    """What it is told meanwhile, and its pings, win it no time."""
    d = many(layer=SMALL % 'connect_timeout = "3s"; ping_interval = "10m";')
    client = WebSocketByHand(d)
    Page(client).until("custom_dirs")
    burst(d)
    asked = metric(d, 'weir_channel_snapshots_total{result="asked"}')
    stop = threading.Event()

    def change():
        while not stop.is_set():
            add_list(d, 20 + len(d.urls("pending")) % 1000)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        wait_for(lambda: ended(d) == 1, 10, "its end")
    finally:
        stop.set()
        thread.join()
    assert metric(d, "weir_channel_queued_bytes") < 65536
    # Nothing was asked for it.
    assert metric(d, 'weir_channel_snapshots_total{result="asked"}') == asked
    client.go_on()
    with pytest.raises(Closed):
        while True:
            client.session.receive()
    client.leave()


# ---- recovery ----

def connected(client):
    """Its id and pid."""
    while True:
        for packet in client.read():
            if packet.startswith("40{"):
                said = json.loads(packet[2:])
                return said["sid"], said["pid"]


def test_one_that_is_lost_while_it_is_behind_begins_anew(many):
    """Its last offset says that it has what it has not."""
    d = many(layer=SMALL % 'recovery = "2m";')
    client = WebSocketByHand(d)
    sid, pid = connected(client)
    name = None
    while name != "custom_dirs":
        name, _, offset = client.next()
    burst(d)
    client.session.http.sock.close()
    wait_for(lambda: metric(d, "weir_channel_sockets") == 0, 10, "its end")
    again = Below(d.port).polling()
    again.send("40" + json.dumps({"pid": pid, "offset": offset}))
    events = []
    while "all" not in events:
        for packet in payload(again.get().body):
            if packet.startswith("40{"):
                assert json.loads(packet[2:])["sid"] != sid
            elif packet.startswith("42"):
                event, argument, *_ = json.loads(packet[2:])
                events.append(event)
                if event == "all":
                    assert lists_of(argument) == [d.urls("pending"), []]
    assert events[0] == "all"
