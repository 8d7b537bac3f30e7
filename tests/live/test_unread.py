"""Clients that ask and never read the answer: what each of them costs, and
that it is given back."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import resource
import socket

import pytest

from feed import Feed
from http_client import get
from media import Tool
from patience import busy
from weir import SANITIZED, descendants, read_text, title, wait_for

EACH = 16 << 10  # bytes that one may cost
BIG = 4 << 20    # bytes of an answer: more than the system takes
A_SOURCE = 5000  # connections from one address
MORE = """worker_connections = 20000;
worker_rlimit_nofile = 20000;"""


class Crowd:
    """Connections that sent a request and read nothing."""

    def __init__(self, port, count, path):
        self.socks = []
        for n in range(count):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.bind((f"127.0.0.{2 + n // A_SOURCE}", 0))
            s.connect(("127.0.0.1", port))
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            self.socks.append(s)

    def close(self):
        for s in self.socks:
            s.close()


@pytest.fixture
def descriptors_for_thousands():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def shares(w):
    """KB of each process, its own and of what it shares.  Not those of
    programs and libraries: they are shared with whoever else runs them."""
    return {f"{title(pid)} ({pid})": [int(n) for n in re.findall(
        r"^Pss_(?:Anon|Shmem):\s+(\d+)",
        read_text(f"/proc/{pid}/smaps_rollup"), re.M)]
        for pid in [w.pid] + descendants(w.pid)}


def memory(w):
    """Bytes of all processes, what they share counted once."""
    return sum(map(sum, shares(w).values())) << 10


def own_memory(w):
    """Bytes that they do not share: not the window of a stream, which is as
    long as the frames that came late make it."""
    return sum(own for own, _ in shares(w).values()) << 10


def metric(w, name):
    """The sum of its values."""
    text = get(w.http, "/metrics").body.decode()
    if "{" not in name:
        name += "{"
    return sum(int(float(line.split()[-1])) for line in text.splitlines()
               if (line.split(" ")[0] + "{").startswith(name))


def in_flight(w):
    return metric(w, "weir_http_requests_in_flight") - 1  # that of the metric


class Still:
    """True when a number has stayed as it is for a few looks."""

    def __init__(self, look):
        self.look, self.last, self.times = look, None, 0

    def __call__(self):
        now = self.look()
        self.times = self.times + 1 if now == self.last else 0
        self.last = now
        return self.times >= 20


class Most:
    """The most that a number has been."""

    def __init__(self, look):
        self.look, self.most = look, 0

    def __call__(self):
        self.most = max(self.most, self.look())
        return self.most


def start(weir, **parts):
    w = weir(workers=2, top=MORE, **parts)
    w.big = os.urandom(BIG)
    with open(f"{w.prefix}/html/big", "wb") as f:
        f.write(w.big)
    return w


def warm(w):
    """What every worker has in the end: once round its ring of log lines, and
    the buffers of the process."""
    crowd = Crowd(w.http, 50, "/big")
    wait_for(lambda: in_flight(w) == 50, 10)
    crowd.close()
    crowd = Crowd(w.http, 400, "/healthz")
    for s in crowd.socks:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 15)
    wait_for(lambda: in_flight(w) == 0, 10)
    crowd.close()
    wait_for(Still(lambda: memory(w) >> 15), 10, "memory that stays")


def given_back(w, before, look=memory):
    """Within five in a hundred of what it was."""
    wait_for(lambda: in_flight(w) == 0, 10, "connections that are gone")
    if not SANITIZED:
        try:
            wait_for(lambda: look(w) < before * 1.05, 10)
        except AssertionError:
            raise AssertionError(f"{look(w)} bytes, not {before}: "
                                 f"{shares(w)}") from None


def all_wait(w, count):
    """All clients of a crowd are served as far as their sockets take it."""
    wait_for(lambda: in_flight(w) == count, 20, "requests under way")
    wait_for(Still(lambda: memory(w) >> 20), 20, "clients that take nothing")


def read_answer(s):
    """The body of what one of a crowd did not read so far."""
    s.settimeout(busy(10))
    with s.makefile("rb") as f:
        while f.readline() != b"\r\n":
            pass
        return f.read(BIG)


THOUSANDS = [1000, pytest.param(10000, marks=pytest.mark.soak)]


@pytest.mark.parametrize("count", THOUSANDS)
def test_files_that_nobody_reads(weir, descriptors_for_thousands, count):
    w = start(weir)
    warm(w)
    before = memory(w)
    crowd = Crowd(w.http, count, "/big")
    all_wait(w, count)
    each = (memory(w) - before) / count
    assert SANITIZED or each < EACH
    for s in crowd.socks[::count // 10]:
        assert read_answer(s) == w.big  # whole all the same
    crowd.close()
    given_back(w, before)


LISTED = """{ path = "/many"; layers = (
    { module = "static"; root = "html"; autoindex = true; } ); },"""


def make_long_listing(w):
    """/many/ is an answer of almost 1 MB, made whole."""
    for n in range(2000):
        with open(f"{w.prefix}/html/{n:0200}", "w", encoding="ascii"):
            pass


SMALL_SOCKETS = '{ address = "127.0.0.1:0"; sndbuf = "64k"; }'


def cuts(w):
    return metric(w, "weir_http_unsent_cut_total")


def test_answers_over_max_unsent(weir, descriptors_for_thousands):
    """Whoever has waited longest is cut; those who read get all."""
    bound, count = 8 << 20, 60
    w = start(weir, locations=LISTED, http_block='max_unsent = "8M";',
              http_listen=SMALL_SOCKETS)
    make_long_listing(w)
    whole = get(w.http, "/many/").body
    assert len(whole) > 3 << 18
    crowd = Crowd(w.http, count, "/many/")
    wait_for(lambda: 0 < in_flight(w) <= bound // (len(whole) // 2) and
             in_flight(w) + cuts(w) == count, 30, "all others are cut")
    assert 0 < metric(w, "weir_http_unsent_bytes") <= bound
    cut = cuts(w)
    ends = 'weir_http_connections_closed_total{reason="max_unsent"}'
    assert metric(w, ends) == cut
    assert metric(w, 'weir_http_refusals_total{reason="unsent"}') == cut
    assert "http.max_unsent (8388608 bytes) is kept for clients" in w.log()
    w.wait_access_log(r'"GET /many/ HTTP/1.1" 200 ')
    assert get(w.http, "/many/").body == whole
    crowd.close()
    wait_for(lambda: metric(w, "weir_http_unsent_bytes") == 0, 10,
             "nothing kept")


def most_of(w, count, before):
    """What each player cost at most, and the most that was kept of frames,
    until all are closed as too slow."""
    most, kept = 0, 0

    def over():
        nonlocal most, kept
        most = max(most, (memory(w) - before) / count)
        kept = max(kept, metric(w, "weir_http_unsent_bytes"))
        return metric(w, 'weir_live_players_closed_total{reason="slow"}') == \
            count

    wait_for(over, 40, "players that are closed")
    return most, kept


@pytest.mark.parametrize("count", THOUSANDS)
def test_players_that_never_read(weir, tool, descriptors_for_thousands, count):
    """The frame in which they stand goes out of the arena: it is copied once
    for all."""
    size = 60_000
    w = start(weir, live='window = "10s";')
    warm(w)
    feed = Feed(w.rtmp, size=size).head().run()
    # The window is kept for one that reads.
    tool(Tool("rtmpdump", "-q", "--live", "-r", w.rtmp_url("room"),
              "-o", "/dev/null"))
    wait_for(lambda: feed.next > 300, 20, "a full window")
    most = Most(lambda: memory(w))  # what was sent may not be there yet
    wait_for(Still(lambda: most() >> 20), 20, "memory that grows no more")
    before, own = most.most, own_memory(w)
    crowd = Crowd(w.http, count, "/live/room.flv")
    each, kept = most_of(w, count, before)
    assert SANITIZED or each < EACH
    assert size < kept < 40 * size
    crowd.close()
    given_back(w, own, own_memory)
    assert SANITIZED or memory(w) < 2 * before
    feed.stop()
