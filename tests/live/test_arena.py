"""The arena's memory follows what streams hold, however many came and went."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import os
import re
import time

import pytest

from control_client import Control
from feed import Feed
from http_client import get
from weir import wait_for

MB = 1 << 20
AT_ONCE = 60   # streams
LIFE = 2       # seconds of each


def touched(w):
    """Bytes that the system holds for the arena."""
    folder = f"/proc/{w.pid}/fd"
    for name in os.listdir(folder):
        if "memfd:weir-live" in os.readlink(f"{folder}/{name}"):
            return os.stat(f"{folder}/{name}").st_blocks * 512
    raise AssertionError("the master has no arena")


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


class Churn:
    """Short streams, AT_ONCE at a time, and what memory they cost."""

    def __init__(self, w):
        self.w = w
        self.live = collections.deque()  # (when it ends, its publisher)
        self.streams = 0
        self.most_used = self.most_touched = 0

    def step(self):
        now = time.monotonic()
        while self.live and self.live[0][0] <= now:
            self.live.popleft()[1].stop()
        if len(self.live) < AT_ONCE:
            f = Feed(self.w.rtmp, f"s{self.streams}", size=10_000,
                     audio=False)
            f.head().frames(40)
            self.live.append((time.monotonic() + LIFE, f))
            self.streams += 1
        else:
            time.sleep(max(0, self.live[0][0] - now))
        if self.streams % 5 == 0:
            self.look()

    def look(self):
        self.most_used = max(self.most_used, used(self.w))
        self.most_touched = max(self.most_touched, touched(self.w))

    def end(self):
        print(f"{self.streams} streams, used at most "
              f"{self.most_used / MB:.1f} MB, touched at most "
              f"{self.most_touched / MB:.1f} MB")
        assert self.most_touched <= 2 * self.most_used + 16 * MB
        while self.live:
            self.live.popleft()[1].stop()
        wait_for(lambda: used(self.w) == 0, what="all streams ended")
        wait_for(lambda: touched(self.w) <= 16 * MB,
                 what="memory given back")


def start(weir):
    return Churn(weir(workers=2, hold="100ms", live='memory = "1G";'))


def test_memory_follows_the_streams(weir):
    churn = start(weir)
    while churn.streams < 400:
        churn.step()
    churn.end()


@pytest.mark.soak
def test_memory_follows_the_streams_for_long(weir):
    """For $WEIR_SOAK seconds."""
    churn = start(weir)
    end = time.monotonic() + int(os.environ["WEIR_SOAK"])
    while time.monotonic() < end:
        churn.step()
    churn.end()
