"""Thousands of connections come and go: descriptors and memory stay flat."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import time

import pytest

from feed import Feed
from http_client import Http
from patience import busy
from rtmp_client import Closed, Refused, Rtmp
from weir import SANITIZED, descriptors, resident, wait_for

COUNT = 5000


def visit(w, n):
    """One of the many ways to come and go."""
    kind = n % 8
    if kind == 0:
        Rtmp(w.rtmp, handshake=None).close()
        return
    if kind in (1, 2):
        with Http(w.http) as c:
            c.send("GET", "/healthz" if kind == 1 else "/none")
            c.answer()
        return
    if kind == 3:
        with Http(w.http) as c:
            c.send("GET", "/live/room.flv")
            c.head()
        return
    c = Rtmp(w.rtmp)
    try:
        c.connect("live" if kind != 4 else "nothere")
        if kind == 5:
            c.play("room")
        elif kind == 6:
            c.publish(f"s{n % 50}")
        elif kind == 7:
            c.play(f"nobody{n}")
    except (Refused, Closed):
        pass
    if n % 2:
        c.reset()
    else:
        c.close()


def measure(w):
    pids = w.workers()
    return ([len(descriptors(p)) for p in pids],
            [resident(p) for p in pids])


def test_descriptors_and_memory_are_flat(weir):
    w = weir(workers=2, hold="500ms")
    f = Feed(w.rtmp).head().frames(10)
    count = COUNT // 5 if SANITIZED else COUNT
    for n in range(count // 5):
        visit(w, n)
    wait_for(lambda: sum(measure(w)[0]) <= sum(w.at_start.values()) + 1)
    fds, memory = measure(w)
    for n in range(count // 5, count):
        visit(w, n)
    wait_for(lambda: sum(measure(w)[0]) <= sum(fds), 10, "descriptors")
    grown = sum(measure(w)[1]) - sum(memory)
    # A sanitizer keeps what was freed for a while.
    assert grown < (200 << 20 if SANITIZED else 2 << 20), grown
    f.stop()


def test_idle_players_are_cheap(weir):
    """4 KB an idle RTMP player, the kernel's buffers left out."""
    if SANITIZED:
        return  # red zones are not what is measured
    w = weir(top="worker_connections = 4096;")
    worker = w.workers()[0]

    def open_players(count):
        all_players = []
        for _ in range(count):
            c = Rtmp(w.rtmp)
            c.connect("live")
            c.play("room")
            all_players.append(c)
        return all_players
    first = open_players(50)
    before = resident(worker)
    more = open_players(500)
    each = (resident(worker) - before) / 500
    assert each <= 4096, f"{each:.0f} bytes a player"
    for c in first + more:
        c.close()


ECHO = '{ path = "/e"; module = "echo"; routes = "* /*"; },'


def test_worker_connections_is_a_limit(weir):
    w = weir(top="worker_connections = 64;", locations=ECHO)
    clients = []
    for _ in range(64):
        c = Http(w.http)  # at work: idle ones would make room
        c.raw("POST /e HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\n")
        clients.append(c)
    w.wait_log("64. are in use")
    late = Http(w.http, timeout=1)
    late.send("GET", "/healthz")
    with pytest.raises(OSError):
        late.answer()
    clients.pop().close()
    late.sock.settimeout(busy(5))
    assert late.answer().status == 200
    for c in clients + [late]:
        c.close()


@pytest.mark.soak
def test_everything_for_minutes(weir):
    """Streams, players and visitors for $WEIR_SOAK seconds."""
    w = weir(workers=2, hold="1s")
    feeds = [Feed(w.rtmp, name).head().run()
             for name in ["room"] + [f"room{n}" for n in range(9)]]
    end = time.monotonic() + int(os.environ["WEIR_SOAK"])
    n, samples = 0, []
    while time.monotonic() < end:
        visit(w, n)
        n += 1
        if n % 500 == 0:
            samples.append(sum(measure(w)[1]))
    for f in feeds:
        f.stop()
    assert samples[-1] - samples[len(samples) // 3] < 4 << 20, samples
