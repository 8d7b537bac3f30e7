"""Reloads under load: nobody may notice them.

The numbers of an operator's bad day are in the soak forms ("make
check-long"); the quick forms do the same a few times.
"""
# SPDX-License-Identifier: BSD-2-Clause

import asyncio
import os
import random
import re
import signal
import threading
import time
import traceback

import pytest

import flv
from feed import Feed, number
from flv_client import FlvPlayer
from http_client import get
from patience import busy
from rtmp_client import VIDEO, Closed, player
from weir import SANITIZED, run, wait_for

WORKERS = 4


class Load:
    """Busy keep-alive connections and new ones, in a thread of its own."""

    def __init__(self, port, busy=64, fresh=200):
        self.port, self.busy, self.fresh = port, busy, fresh
        self.done = self.closed = 0
        self.failed = []
        self.stopping = False
        self.thread = threading.Thread(
            target=lambda: asyncio.run(self.run()), daemon=True)
        self.thread.start()

    async def ask(self, reader, writer):
        """One request; whether the connection stays."""
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        await reader.readexactly(length)
        self.done += 1
        return b"connection: close" not in head.lower()

    async def open(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def keep_alive(self):
        while not self.stopping:
            try:
                reader, writer = await self.open()
                while await self.ask(reader, writer) and not self.stopping:
                    pass
                self.closed += 1
                writer.close()
            except (OSError, EOFError, AssertionError) as e:
                self.failed.append(repr(e) + "".join(traceback.format_tb(e.__traceback__)[-2:]))

    async def one(self):
        try:
            reader, writer = await self.open()
            await self.ask(reader, writer)
            writer.close()
        except (OSError, EOFError, AssertionError) as e:
            self.failed.append(repr(e) + "".join(traceback.format_tb(e.__traceback__)[-2:]))

    async def new_ones(self):
        tasks = set()
        began, count = time.monotonic(), 0
        while not self.stopping:
            while count < (time.monotonic() - began) * self.fresh and \
                    len(tasks) < self.fresh:  # or a slow machine drowns
                count += 1
                task = asyncio.create_task(self.one())
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.sleep(0.005)
        if tasks:
            await asyncio.wait(tasks)

    async def run(self):
        await asyncio.gather(self.new_ones(),
                             *[self.keep_alive() for _ in range(self.busy)])

    def stop(self):
        self.stopping = True
        self.thread.join(busy(30))
        assert not self.thread.is_alive()


def reload_under_http(w, times, counts):
    """counts: the workers of one reload after the other."""
    load = Load(w.http)
    wait_for(lambda: load.done > 500, 20, "load")
    for n in range(times):
        w.set_config(workers=counts[n % len(counts)], top=PATIENT)
        w.reload()
        before = load.done
        wait_for(lambda: load.done > before + 200, 20, "load goes on")
    load.stop()
    assert load.failed == [], (len(load.failed), load.failed[:3], load.done)
    assert load.closed >= min(times, 8) * 8  # old workers did serve some


# A client that is slow to ask again has its connection closed after the grace.
PATIENT = 'keepalive_min_timeout = "1h"; max_generations = 16;'


def test_http_over_reloads(weir):
    w = weir(workers=WORKERS, top=PATIENT)
    reload_under_http(w, 6, [WORKERS])


def test_http_while_the_count_of_workers_changes(weir):
    w = weir(workers=2, top=PATIENT)
    reload_under_http(w, 8, [4, 2, 1, 6])


@pytest.mark.soak
def test_http_over_100_reloads(weir):
    w = weir(workers=WORKERS, top=PATIENT)
    reload_under_http(w, 100, [WORKERS])


@pytest.mark.soak
def test_http_over_100_reloads_with_other_counts_of_workers(weir):
    w = weir(workers=2, top=PATIENT)
    reload_under_http(w, 100, [4, 2, 1, 6, 3])


# ---- streams ----

class Watcher(threading.Thread):
    """Plays and checks that no frame is lost or comes twice."""

    def __init__(self, w, name, kind):
        super().__init__(daemon=True)
        if kind == "flv":
            self.c = FlvPlayer(w.http, name, timeout=busy(30))
        else:
            self.c = player(w.rtmp, "live", name)
        self.kind = kind
        self.last = None
        self.wrong = None
        self.stopping = False
        self.start()

    def next_frame(self):
        while True:
            m = self.c.tag() if self.kind == "flv" else \
                self.c.read(VIDEO, timeout=busy(30))
            assert m, "the connection ended"
            if m.type == VIDEO and not flv.is_header(
                    flv.Tag(m.type, 0, m.payload)):
                return number(m.payload)

    def run(self):
        try:
            while not self.stopping:
                n = self.next_frame()
                assert self.last is None or n == self.last + 1, \
                    f"{n} after {self.last}"
                self.last = n
        except (OSError, EOFError, AssertionError, Closed) as e:
            if not self.stopping:
                self.wrong = repr(e)

    def stop(self):
        self.stopping = True
        (self.c.http if self.kind == "flv" else self.c).sock.shutdown(2)
        self.join(busy(10))
        self.c.close()


def reload_under_streams(w, reloads, publishers, players, tries):
    feeds = [Feed(w.rtmp, name=f"room{n}", size=300).head()
             for n in range(publishers)]
    speed = 0.4 if publishers > 10 or SANITIZED else 1
    for f in feeds:
        f.run(speed)
    watchers = [Watcher(w, f"room{n % publishers}", ("rtmp", "flv")[n % 2])
                for n in range(players)]
    wait_for(lambda: all(x.last for x in watchers), 30, "all players play")
    for n in range(reloads):
        w.reload()
        for _ in range(tries):
            x = Watcher(w, f"room{random.randrange(publishers)}",
                        random.choice(["rtmp", "flv"]))
            wait_for(lambda x=x: x.last or x.wrong, 10, "the stream is found")
            assert not x.wrong, x.wrong
            x.stop()
            assert not x.wrong, x.wrong
    reached = max(x.last for x in watchers)
    wait_for(lambda: all(x.wrong or x.last > reached for x in watchers), 20,
             "players go on")
    wrong = [x.wrong for x in watchers if x.wrong]
    assert not wrong, wrong[:3]
    assert all(f.thread.is_alive() for f in feeds)
    for x in watchers:
        x.stop()
    for f in feeds:
        f.stop()


def test_streams_over_reloads(weir):
    w = weir(workers=WORKERS, top="max_generations = 16;",
             live='window = "60s";')
    reload_under_streams(w, 5, 3, 12, 10)


@pytest.mark.soak
def test_streams_over_100_reloads(weir):
    """20 publishers and 200 players live on the first generation, while the
    others come and go."""
    w = weir(workers=WORKERS)
    reload_under_streams(w, 100, 20, 200, 10)


def test_encoder_that_comes_back_to_a_new_worker_takes_its_name(weir):
    """A publisher of the old generation is replaced by one of the new."""
    w = weir(workers=2, hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as p:
        w.reload()
        g = Feed(w.rtmp, first=25).head().frames(3)
        f.c.wait_closed()
        got = []
        while 27 not in got:
            m = p.read(VIDEO)
            if not flv.is_header(flv.Tag(m.type, 0, m.payload)):
                got.append(number(m.payload))
        assert got == [0, 1, 2, 25, 26, 27]
        g.stop()


# ---- killing at any time ----

def kill_anybody(w, rounds):
    load_names = [f"room{n}" for n in range(3)]
    for n in range(rounds):
        f = Feed(w.rtmp, name=load_names[n % 3]).head().frames(2)
        p = player(w.rtmp, "live", load_names[n % 3])
        w.kill(signal.SIGHUP)
        time.sleep(random.random() * 0.02)
        everybody = w.workers() + w.old_workers()
        if everybody:
            try:
                os.kill(random.choice(everybody), signal.SIGKILL)
            except ProcessLookupError:
                pass
        p.close()
        f.stop()
    wait_for(lambda: len(re.findall("reload: reading", w.log()))
             == len(re.findall("is in force", w.log())), 20, "the last reload")
    wait_for(lambda: not w.old_workers() and len(w.workers()) == 2, 20,
             "one generation")
    for _ in range(10):
        assert get(w.http, "/healthz").status == 200
    for name in load_names:
        f = Feed(w.rtmp, name=name).head().frames(2)
        with player(w.rtmp, "live", name) as p:
            assert p.read(VIDEO)
        f.stop()


def test_kill_9_of_anybody_during_reloads(weir):
    w = weir(workers=2, hold="1s", top='keepalive_min_timeout = "100ms";')
    kill_anybody(w, 15)


@pytest.mark.soak
def test_kill_9_of_anybody_during_200_reloads(weir):
    w = weir(workers=2, hold="1s", top='keepalive_min_timeout = "100ms";')
    kill_anybody(w, 200)


# ---- mutated files ----

def mutated(text, seed):
    """All but the line of the error log: the test reads it."""
    r = random.Random(seed)
    log = next(x for x in text.splitlines() if x.startswith("error_log"))
    before, after = text.split(log + "\n")
    if r.random() < 0.1:
        return mutate(before, r) + log + "\n" + after
    return before + log + "\n" + mutate(after, r)


def mutate(text, r):
    data = list(text)
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(data))
        what = r.randrange(4)
        if what == 0:
            del data[at:at + r.randrange(1, 12)]
        elif what == 1:
            data.insert(at, r.choice('{}();="[]0-9a\\\n@,'))
        elif what == 2:
            data[at] = r.choice('{}();="x0')
        else:
            n = r.randrange(1, 30)
            data[at:at] = data[at:at + n]
    return "".join(data)


def reload_mutated(w, count):
    """The check of the command line and a reload agree about every file, and
    what serves goes on serving."""
    good = w.config
    for n in range(count):
        w.set_config(mutated(good, n).replace("\0", ""))
        checked = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
        ok, bad = (len(re.findall(x, w.log()))
                   for x in ("is in force", "reload failed"))
        w.kill(signal.SIGHUP)
        wait_for(lambda ok=ok, bad=bad: len(re.findall(
            "is in force|reload failed", w.log())) > ok + bad, 15, "an end")
        failed = len(re.findall("reload failed", w.log())) > bad
        if checked.returncode != 0:
            assert failed, n
        elif failed:
            # What only the running weir can see, or only opening can.
            assert re.search("reload: .*(cannot change|cannot open|cannot "
                             "listen|cannot start|cannot bind)",
                             w.log().splitlines()[-2]), (n, w.log()[-800:])
        assert w.process.poll() is None
    w.set_config(good)
    w.reload()
    port = re.findall(r"listening on http 127.0.0.1:(\d+)", w.log())[-1]
    assert get(int(port), "/healthz").status == 200


def test_mutated_files(weir):
    reload_mutated(weir(log="stderr"), 40)


@pytest.mark.soak
def test_1000_mutated_files(weir):
    reload_mutated(weir(log="stderr"), 1000)
