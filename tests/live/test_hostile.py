"""Whatever strangers send, one publisher and its players notice nothing."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import socket
import threading
import time

import flv
import hostile
from feed import Feed, number, read_until
from patience import busy
from rtmp_client import VIDEO, Closed, Refused, Rtmp, chunks, player
from weir import SANITIZED, read_text, wait_for

# Seconds that three of four frames may be under way beside an attack.
LATE = busy(0.5) if SANITIZED else busy(0.1)
GROWTH = (700 if SANITIZED else 48) << 20


def private(pid):
    """Bytes of memory of its own, media in shared memory left out."""
    text = read_text(f"/proc/{pid}/smaps_rollup")
    return int(re.search(r"Anonymous:\s+(\d+)", text)[1]) * 1024


class TimedFeed(Feed):
    def frame(self):
        self.sent[self.next] = time.monotonic()
        super().frame()


class Room:
    """A publisher and two players; how long each frame was under way."""

    def __init__(self, w):
        self.feed = TimedFeed(w.rtmp, size=5000)
        self.feed.sent = {}
        self.feed.head()
        self.players = [player(w.rtmp, "live", "room") for _ in range(2)]
        self.late = [{} for _ in self.players]
        self.over = False
        self.threads = [threading.Thread(target=self.watch, args=each)
                        for each in zip(self.players, self.late)]
        self.feed.run()
        for t in self.threads:
            t.start()

    def watch(self, c, late):
        while not self.over:
            try:
                m = c.read(VIDEO, timeout=0.3)
            except socket.timeout:
                continue
            except (Closed, OSError):
                return
            if not flv.is_header(flv.Tag(m.type, 0, m.payload)):
                n = number(m.payload)
                late[n] = time.monotonic() - self.feed.sent[n]

    def check(self):
        self.feed.stopping = True
        self.feed.thread.join()
        last = self.feed.next - 1
        wait_for(lambda: all(last in late for late in self.late), 10,
                 "the last frame")
        self.over = True
        self.feed.stop()
        for t in self.threads:
            t.join()
        for c, late in zip(self.players, self.late):
            c.close()
            assert late, "nothing came"
            lost = set(range(min(late), self.feed.next)) - set(late)
            assert not lost, f"lost: {sorted(lost)}"
            took = sorted(late.values())
            assert took[len(took) * 3 // 4] < LATE, took


def beside(w, attack, *arguments):
    """Runs the attack beside a room: nobody dies, nobody waits."""
    workers = w.workers()
    mob = hostile.start(attack, w.rtmp, *arguments)
    room = Room(w)
    time.sleep(0.3)
    before = [private(pid) for pid in workers]
    mob.join()
    after = [private(pid) for pid in workers]
    room.check()
    assert w.workers() == workers, "a worker died"
    grown = max(b - a for a, b in zip(before, after))
    assert grown < GROWTH, f"{grown >> 20} MB"


def stage(weir, **more):
    return weir(app='publish_conflict = "refuse";',
                apps=', { name = "mob"; publish = "open"; }', hold="300ms",
                live='max_streams = 8192; max_stream_memory = "2M";', **more)


def test_300_mutants(weir):
    w = stage(weir, workers=2,
              rtmp='handshake_timeout = "5s"; connect_timeout = "5s";')
    beside(w, hostile.mutants, 1, 7)


def test_floods_of_small_messages(weir):
    beside(stage(weir), hostile.flood, 4, 72)


def test_one_name_twice_on_one_connection(weir):
    """The new one drives the old one out, and with it itself."""
    w = weir()
    workers = w.workers()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.publish("x")
        try:
            c.publish("x")
        except (Refused, Closed):
            pass
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.publish("y")
    assert w.workers() == workers


def test_frames_in_haste_then_gone(weir):
    """More messages than are taken at once, and the end right behind."""
    w = weir()
    f = Feed(w.rtmp, size=100).head().frames(1)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "key 0")
        f.c.raw(b"".join(
            chunks(VIDEO, n * 40, flv.avc_frame(n, 30), f.c.msid, 6, 4096)
            for n in range(1, 1000)))
        f.stop()
        read_until(c, "video 999")


def test_strangers_hold_little_memory(weir):
    """Half a message of 16 MB, of peers that may not publish it yet."""
    w = weir()
    before = private(w.workers()[0])
    peers = [Rtmp(w.rtmp) for _ in range(20)]
    for n, p in enumerate(peers):
        if n % 2:
            p.connect("live")
        p.set_chunk_size(0xffffff)
        try:
            p.raw(chunks(VIDEO, 0, bytes(8 << 20), 1, 6, 0xffffff)[:4 << 20])
        except OSError:
            pass
    assert private(w.workers()[0]) - before < GROWTH // 2
    for p in peers:
        p.close()
