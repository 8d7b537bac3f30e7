"""What a client of Socket.IO is told when it joins, and clients that never take
it.

The module modules/board of this folder has a state of 256 KB, more than the
system takes for a client that reads nothing; each "change" makes its next
version."""
# SPDX-License-Identifier: BSD-2-Clause

import itertools
import json
import socket
import threading
import time

import pytest

import weir as weir_py
from http_client import Http
from patience import busy
from socket_help import PONG, WebSocket
from test_unread import metric
from weir import SANITIZED, descendants, resident, title, wait_for

TARGET = "/board/socket.io/?EIO=4&transport=websocket"
LONG = "10m"
MANY = 200
SHARED = (8 << 20) * (8 if SANITIZED else 1)  # with a copy each it is 40 MB


@pytest.fixture(scope="module")
def board_binary(binary_with):
    return binary_with("board")


@pytest.fixture
def board(board_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", board_binary)

    def start(connect_timeout=LONG):
        return weir(locations=f'''{{ path = "/board"; layers = ( {{
            module = "board"; large = true;
            socket_io = {{ ping_interval = "{LONG}";
            connect_timeout = "{connect_timeout}"; }}; }} ); }},''')
    return start


class Client(WebSocket):
    def __init__(self, w, http=Http):
        super().__init__(http(w.http), TARGET)
        self.send("40")

    def event(self):
        """Its name and arguments."""
        packet = self.receive_data()
        assert packet[:2] == "42", packet[:80]
        return json.loads(packet[2:])

    def joined(self):
        """The version of the snapshot that it gets."""
        self.opened()
        self.connected()
        return self.snapshot()

    def connected(self):
        assert self.receive_data().startswith('40{"sid":')

    def snapshot(self):
        name, state = self.event()
        assert name == "board" and len(state["pad"]) > 260_000
        return state["version"]

    def changed(self):
        name, state, *_ = self.event()
        assert name == "changed"
        return state["version"]

    def change(self):
        """Until it has been told."""
        self.send('42["change"]')
        return self.changed()

    def ping(self):
        """Until it is answered: what came before stays unread if it is a
        message."""
        self.frame(9, b"still there?")
        return self.read_frame()[1] == PONG


class Deaf(Http):
    """Takes some bytes into buffers of the system, and reads none."""

    def __init__(self, port):  # pylint: disable=super-init-not-called
        self.buffer = bytearray()
        self.sock = socket.socket()
        self.sock.settimeout(busy(10))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self.sock.connect(("127.0.0.1", port))


def deaf(w):
    return Client(w, Deaf)


def sockets(w):
    return metric(w, "weir_channel_sockets")


def ended(w, reason):
    return metric(w,
                  f'weir_channel_sessions_ended_total{{reason="{reason}"}}')


def stuck(w, one, count=1):
    """Clients that do not take a version which nobody else has."""
    before = sockets(w)
    made = [deaf(w) for _ in range(count)]
    wait_for(lambda: sockets(w) == before + count, 10, "the new sockets")
    one.change()
    return made


def close(clients):
    for c in clients:
        c.close()


# ---- order ----

def test_a_snapshot_comes_first_and_each_event_after_it(board):
    w = board()
    over = threading.Event()

    def change():
        with Client(w) as one:
            last = one.joined()
            while not over.is_set():
                now = one.change()
                assert now == last + 1
                last = now
        seen.append(last)

    seen = []
    busy_one = threading.Thread(target=change)
    busy_one.start()
    try:
        for _ in range(40):
            with Client(w) as c:
                first = c.joined()
                assert [c.changed() for _ in range(5)] == \
                    list(range(first + 1, first + 6))
    finally:
        over.set()
        busy_one.join()
    assert seen and seen[0] > 40


def test_a_snapshot_is_shared_until_it_is_stale(board):
    w = board()

    def asked():
        return metric(w, 'weir_channel_snapshots_total{result="asked"}')

    with Client(w) as one, Client(w) as two:
        assert (one.joined(), two.joined()) == (0, 0)
        count = asked()
        with Client(w) as c:
            assert c.joined() == 0
        assert asked() == count
        one.change()
        with Client(w) as c:
            assert c.joined() == 1
        assert asked() == count + 1
        assert two.changed() == 1


# ---- clients that never read ----

def test_the_fifth_version_waits_for_a_place(board):
    w = board()
    with Client(w) as one:
        one.joined()
        others = list(itertools.chain(*(stuck(w, one) for _ in range(4))))
        with Client(w) as fifth:
            fifth.opened()
            assert fifth.ping()
            # Were it asked for, the role would answer before it changes.
            assert one.change() == 5
            assert fifth.ping()
            others.pop(1).close()
            fifth.connected()
            version = fifth.snapshot()
            assert version == 5
            assert one.change() == fifth.changed() == 6
        close(others)


def test_who_does_not_take_it_is_closed(board):
    w = board("2s")
    with Client(w) as one:
        one.joined()
        began = time.monotonic()
        with deaf(w):
            wait_for(lambda: ended(w, "too_slow") == 1, 10, "its end")
        assert 2 <= time.monotonic() - began < busy(4)
        w.wait_log("it has not taken its snapshot within connect_timeout")
        assert one.change() == 1
    with Client(w) as c:
        assert c.joined() == 1


def test_many_that_never_read_share_what_they_wait_for(board):
    w = board()
    channel = next(p for p in descendants(w.pid)
                   if title(p).startswith("weir: channel"))
    with Client(w) as one:
        one.joined()
        before = resident(channel)
        others = list(itertools.chain(
            *(stuck(w, one, MANY // 5) for _ in range(4))))
        others += [deaf(w) for _ in range(MANY // 5)]  # they wait
        wait_for(lambda: metric(
            w, 'weir_channel_sessions{transport="websocket"}') == MANY + 1)
        for _ in range(100):
            one.change()
        grown = resident(channel) - before
        assert sockets(w) == 1 + MANY // 5 * 4
        close(others)
        assert grown < SHARED, grown
        wait_for(lambda: sockets(w) == 1)
        with Client(w) as c:
            assert c.joined() == 104
