"""The arena's memory follows what streams hold, however many came and went."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import concurrent.futures
import os
import re
import time

import pytest

from control_client import Control
from feed import GOP, Feed, read_until
from http_client import get
from rtmp_client import player
from weir import wait_for

MB = 1 << 20
AT_ONCE = 60   # streams
MAKERS = 6     # threads that publish them
LIFE = 1       # second of each


def arena_of(w):
    folder = f"/proc/{w.pid}/fd"
    for name in os.listdir(folder):
        if "memfd:weir-live" in os.readlink(f"{folder}/{name}"):
            return f"{folder}/{name}"
    raise AssertionError("the master has no arena")


def touched(arena):
    """Bytes that the system holds for it."""
    return os.stat(arena).st_blocks * 512


def used(w):
    """Bytes that streams hold."""
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(r'weir_live_memory_bytes\{state="used"\} (\d+)',
                         text)[1])


def test_what_may_be_used_again_is_told_apart(weir):
    """In the words of the control socket as in the metrics."""
    w = weir(hold="0")
    f = Feed(w.rtmp, size=60_000, audio=False).head().frames(20)
    assert used(w) > 20 * 60_000
    with Control(w) as c:
        def limit():
            return next(row for row in c.json("show limits")
                        if row["name"] == "live.memory")
        info = c.json("show info")
        assert info["live_memory_used"] == used(w) == limit()["used"]
        f.stop()
        wait_for(lambda: used(w) == 0, 10, "the stream's end")
        info = c.json("show info")
        assert info["live_memory_used"] == limit()["used"] == 0
        assert info["live_memory_retired"] >= 0
        assert info["live_memory"] == limit()["limit"]


def test_a_window_is_kept_for_players_only(weir):
    w = weir(workers=2, live='window = "10m";')
    f = Feed(w.rtmp, size=20_000, audio=False).head()
    gop = GOP * 20_000
    # A start is looked at when it comes, and workers look for players before.
    wait_for(lambda: f.frames(GOP) and used(w) < 2 * gop, 10, "a GOP")
    p = player(w.rtmp, "live", "room")
    read_until(p, f"key {f.next - GOP}")
    f.frames(5 * GOP)
    assert used(w) > 5 * gop
    p.close()
    wait_for(lambda: f.frames(GOP) and used(w) < 2 * gop, 10, "a GOP")
    f.stop()


class Maker:
    """Short streams, a few at a time."""

    def __init__(self, w, number):
        self.w, self.number, self.streams = w, number, 0
        self.live = collections.deque()  # (when it ends, its publisher)

    def step(self):
        now = time.monotonic()
        while self.live and self.live[0][0] <= now:
            self.live.popleft()[1].stop()
        if len(self.live) < AT_ONCE // MAKERS:
            f = Feed(self.w.rtmp, f"m{self.number}-{self.streams}",
                     size=10_000, audio=False)
            f.head().frames(40)
            self.live.append((time.monotonic() + LIFE, f))
            self.streams += 1
        else:
            time.sleep(max(0, self.live[0][0] - now))

    def end(self):
        while self.live:
            self.live.popleft()[1].stop()


class Churn:
    """Streams of several makers, and what memory they cost."""

    def __init__(self, w):
        self.w, self.arena = w, arena_of(w)
        self.makers = [Maker(w, n) for n in range(MAKERS)]
        self.most_used = self.most_touched = 0
        self.looks = self.at_once = 0

    def run(self, until):
        with concurrent.futures.ThreadPoolExecutor(MAKERS) as pool:
            done = [pool.submit(self._make, m, until) for m in self.makers]
            while not all(d.done() for d in done):
                self._look()
                time.sleep(0.1)
            for d in done:
                d.result()

    @staticmethod
    def _make(maker, until):
        while not until():
            maker.step()

    def streams(self):
        return sum(m.streams for m in self.makers)

    def _look(self):
        self.most_used = max(self.most_used, used(self.w))
        self.most_touched = max(self.most_touched, touched(self.arena))
        self.looks += 1
        self.at_once += sum(len(m.live) for m in self.makers)

    def end(self):
        print(f"{self.streams()} streams, {self.at_once / self.looks:.0f} at a "
              f"time, used at most {self.most_used / MB:.1f} MB, touched at "
              f"most {self.most_touched / MB:.1f} MB")
        assert self.most_touched <= 2 * self.most_used + 16 * MB
        for m in self.makers:
            m.end()
        wait_for(lambda: used(self.w) == 0, what="all streams ended")
        wait_for(lambda: touched(self.arena) <= 16 * MB,
                 what="memory given back")


def start(weir):
    return Churn(weir(workers=2, hold="100ms", live='memory = "1G";'))


def test_memory_follows_the_streams(weir):
    churn = start(weir)
    churn.run(lambda: churn.streams() >= 400)
    churn.end()


@pytest.mark.soak
def test_memory_follows_the_streams_for_long(weir):
    """For $WEIR_SOAK seconds."""
    churn = start(weir)
    end = time.monotonic() + int(os.environ["WEIR_SOAK"])
    churn.run(lambda: time.monotonic() > end)
    churn.end()
