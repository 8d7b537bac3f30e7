"""Several workers: spread, one stream on all of them, and one that dies."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import time

from feed import Feed, read_until, video_numbers
from patience import busy
from rtmp_client import Closed, player
from flv_client import FlvPlayer
from weir import wait_for


def on_each_worker(w, opener, sock_of):
    """Opens until every worker has one: {pid: client}, and the rest."""
    found, rest = {}, []
    for _ in range(400):
        c = opener()
        pid = w.worker_of(sock_of(c))
        if pid in found:
            rest.append(c)
        else:
            found[pid] = c
        if len(found) == len(w.workers()):
            return found, rest
    raise AssertionError(f"only {len(found)} workers get connections")


def test_players_on_each_of_four_workers(weir):
    w = weir(workers=4)
    assert len(w.workers()) == 4
    f = Feed(w.rtmp).head().frames(30)
    players, rest = on_each_worker(
        w, lambda: player(w.rtmp, "live", "room"), lambda c: c.sock)
    flv_players, flv_rest = on_each_worker(
        w, lambda: FlvPlayer(w.http, "room"), lambda c: c.http.sock)
    f.frames(30)
    for c in list(players.values()) + rest:
        assert video_numbers(read_until(c, "video 59")) == \
            list(range(25, 60))
        c.close()
    for c in list(flv_players.values()) + flv_rest:
        assert video_numbers(c.read_until("video 59")) == \
            list(range(25, 60))
        c.close()
    f.stop()


def test_first_key_frame_comes_at_once_from_another_worker(weir):
    w = weir(workers=4)
    f = Feed(w.rtmp, size=5000).head().frames(20)
    own, elsewhere = w.worker_of(f.c.sock), []
    for _ in range(30):
        began = time.monotonic()
        c = player(w.rtmp, "live", "room")
        read_until(c, "video 19")
        took = time.monotonic() - began
        pid = w.worker_of(c.sock)
        c.close()
        if pid != own:
            elsewhere.append(took)
    assert min(elsewhere) < 0.3  # a wait for something would be in each
    f.stop()


def test_connections_spread_over_the_workers(weir):
    w = weir(workers=4)
    clients = [player(w.rtmp, "live", "room") for _ in range(200)]
    counts = {pid: 0 for pid in w.workers()}
    for pid in w.workers_of([c.sock for c in clients]):
        counts[pid] += 1
    for c in clients:
        c.close()
    assert min(counts.values()) >= 20, counts


def test_killed_worker_costs_its_own_connections_only(weir):
    w = weir(workers=3, hold="1h")
    f = Feed(w.rtmp, size=500).head()
    f.run()
    publishers = w.worker_of(f.c.sock)
    players, rest = on_each_worker(
        w, lambda: player(w.rtmp, "live", "room"), lambda c: c.sock)
    victim = next(p for p in w.workers() if p != publishers)
    before = w.workers()
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    wait_for(lambda: len(w.workers()) == 3 and victim not in w.workers(), 5,
             "the worker's successor")
    assert time.monotonic() - began < busy(1)
    for pid, c in players.items():
        if pid == victim:
            c.wait_closed()
        else:
            c.read(9)
            c.read(9)
    assert set(before) - {victim} <= set(w.workers())
    w.wait_log("signal 9|killed")
    # New players are served by all three again, the successor included.
    more, others = on_each_worker(
        w, lambda: player(w.rtmp, "live", "room"), lambda c: c.sock)
    for c in list(more.values()):
        c.read(9)
    f.stop()
    for c in list(players.values()) + rest + list(more.values()) + others:
        c.close()
    w.may_grow = True


def test_killed_publishers_worker_puts_the_stream_on_hold(weir):
    w = weir(workers=3, hold="1h")
    f = Feed(w.rtmp).head().frames(5)
    victim = w.worker_of(f.c.sock)
    players, rest = on_each_worker(
        w, lambda: player(w.rtmp, "live", "room"), lambda c: c.sock)
    for c in list(players.values()) + rest:
        read_until(c, "video 4")
    os.kill(victim, signal.SIGKILL)
    f.c.wait_closed()
    wait_for(lambda: len(w.workers()) == 3 and victim not in w.workers(), 5)
    g = Feed(w.rtmp, first=25).head().frames(3)
    for pid, c in players.items():
        if pid != victim:
            assert video_numbers(read_until(c, "video 27"))[-3:] == \
                [25, 26, 27]
    g.stop()
    for c in list(players.values()) + rest:
        c.close()
    w.may_grow = True


def test_worker_killed_again_and_again(weir):
    """A stream lives through it, and the back-off is said in the log."""
    w = weir(workers=2, hold="1h")
    for n in range(4):
        victim = w.workers()[n % 2]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in w.workers()
                 and len(w.workers()) == 2, 10, "two workers")
    f = Feed(w.rtmp).head().frames(2)
    with player(w.rtmp, "live", "room") as c:
        try:
            read_until(c, "video 1")
        except Closed:
            raise AssertionError("the new worker does not serve") from None
    f.stop()
    w.may_grow = True


def test_killed_master_leaves_nobody(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp).head().frames(2)
    workers = w.workers()
    w.kill(signal.SIGKILL)
    w.process.wait()
    from weir import stat_of
    wait_for(lambda: not any(stat_of(p) for p in workers), 1,
             "workers ended")
    f.stop()
    w.status = 0  # it was killed; finish() looks at the logs only
