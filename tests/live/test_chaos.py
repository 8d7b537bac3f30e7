"""Nothing that a worker can write harms the master.

Words of the shared memory are written at random in place of workers while
everything runs (chaos.py, chaos_load.py).  Players may get nonsense and workers
may die; the master lives, answers, starts again what died and ends in time.
From time to time nothing is written, and all children are killed: whatever weir
serves is served again.  CHAOS_SEED=n repeats a run.
"""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import signal
import threading
import time

import pytest

import chaos_clients
import flv
from chaos import Chaos, Poker, children, poke
from chaos_load import LOCATIONS, SHARING, UPSTREAM, Load
from control_client import Control
from feed import GOP, Feed, read_two_keys, read_until
from http_client import get
from patience import busy
from rtmp_client import VIDEO, player, publisher
from weir import (KEPT_MB, SANITIZED, descriptors, resident, stat_of, title,
                  wait_for)

WORKERS = 2
DRAIN = 2       # stop_drain, seconds
LINES = 200     # of the log, a second
BACK = 5        # seconds after which everything is served again
# Bytes that the master's own memory may grow; AddressSanitizer keeps what was
# freed, with as much again around it.
GROWTH = (16 << 20) + 2 * (KEPT_MB << 20) * SANITIZED
FAMILY = {f"weir: worker {n}" for n in range(WORKERS)} | {
    "weir: keeper", "weir: prober", "weir: relayer"}
SETTINGS = f'stop_drain = "{DRAIN}s"; {SHARING}'
# Whoever dies is told of.
DEATHS = [r"was ended by signal", r"ended with status", r"is killed"]


@pytest.fixture
def node(weir):
    started = []

    def start(top="", upstreams="", locations="", roles=frozenset()):
        comma = "," if upstreams else ""
        w = weir(workers=WORKERS, hold="1s",
                 top=f"{SETTINGS} upstreams = ( {UPSTREAM}{comma} "
                     f"{upstreams} ); {top}",
                 live='memory = "64M"; max_streams = 32; '
                      'max_sessions = 1024;', locations=LOCATIONS + locations)
        w.allowed, w.children_may_crash, w.may_grow = DEATHS, True, True
        w.family = FAMILY | roles
        started.append(w)
        return w

    yield start
    for w in started:  # a child whose master is dead may be stuck
        try:
            os.killpg(w.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def info(w, timeout=3):
    """The master's answer, which comes soon whatever happens."""
    with Control(w) as c:
        c.s.settimeout(busy(timeout))
        return c.json("show info")


class Watch:
    """Looks at the master while the others are at it."""

    def __init__(self, w):
        self.w = w
        self.problems = []
        self.slowest = self.longest = 0
        self.gone_since = {}
        self.memory, self.files = resident(w.pid), len(descriptors(w.pid))
        self.lines = self._count_lines()
        self.began = time.monotonic()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __str__(self):
        return (f"slowest answer {self.slowest:.2f} s, longest absence "
                f"{self.longest:.1f} s, log {self.rate:.0f} lines/s, master "
                f"{self.growth >> 10} KB more")

    def _count_lines(self):
        return self.w.log().count("\n")

    def _run(self):
        try:
            while not self.stopping.wait(0.1):
                self._answer()
                self._family()
        except Exception as e:  # told by stop()
            self.problems.append(f"the master: {e!r}")

    def _answer(self):
        began = time.monotonic()
        info(self.w)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _family(self):
        now = time.monotonic()
        there = {title(pid) for pid in children(self.w)}
        for name in self.w.family:
            since = self.gone_since.pop(name, now)
            self.longest = max(self.longest, now - since)
            if name not in there:
                self.gone_since[name] = since

    def stop(self):
        self.stopping.set()
        self.thread.join(busy(10))
        seconds = time.monotonic() - self.began
        self.rate = (self._count_lines() - self.lines) / seconds
        assert self.w.process.poll() is None, \
            f"the master ended: {self.w.process.returncode}"
        self.growth = resident(self.w.pid) - self.memory
        print(self)
        assert not self.problems, self.problems
        assert self.longest < busy(5), self
        assert self.rate < LINES, self
        assert self.growth < GROWTH, self
        assert len(descriptors(self.w.pid)) < self.files + 100


def seed_of():
    return int(os.environ.get("CHAOS_SEED") or random.randrange(1 << 32))


def all_there(w):
    return w.family <= {title(pid) for pid in children(w)}


def restart_children(w):
    before = children(w)
    for pid in before:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_for(lambda: all_there(w) and not set(before) & set(children(w)), 20,
             "all are back")


def check_serves(w, name="fresh"):
    """A new name can be published and played."""
    def serves():
        try:
            feed = Feed(0, client=publisher(w.rtmp, "live", name, timeout=5))
            feed.head().run()
            try:
                with player(w.rtmp, "live", name, timeout=5) as c:
                    read_two_keys(c, 0.5)
            finally:
                feed.stop()
            return True
        except Exception as e:
            last.append(e)
            return False
    last = []
    try:
        wait_for(serves, 3, "a new stream")
    except AssertionError as e:
        raise AssertionError(f"{e}: {last[-1]!r}") from None


def check_ends(w):
    """TERM ends everything in time."""
    family = {p: stat_of(p) for p in children(w)}
    began = time.monotonic()
    w.stop(timeout=DRAIN + 2)
    print(f"ended in {time.monotonic() - began:.1f} s")
    w._check_children(family, problems := [])
    assert not problems


class Storm:
    """Everything at once: words are written, clients are served, the master is
    looked at."""

    def __init__(self, w, kinds=()):
        seed = seed_of()
        print(f"CHAOS_SEED={seed}")
        self.w, self.watch = w, Watch(w)
        self.load = Load(w, random.Random(seed), kinds).start()
        self.chaos = Chaos(w, seed).start()

    def rage(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.watch.problems and \
                self.chaos.failure is None and self.w.process.poll() is None:
            time.sleep(0.2)

    def rest(self):
        """Children are killed that may have believed something: others serve
        everything."""
        with self.chaos.rest(), self.load.rest():
            wait_for(lambda: all_there(self.w), 6, "all are back")
            restart_children(self.w)
            took = self.load.served_since(time.monotonic(), BACK)
        print(f"{time.monotonic() - self.watch.began:.0f} s: served after",
              {k: round(v, 1) for k, v in took.items()}, "master",
              resident(self.w.pid) >> 10, "KB")

    def stop(self):
        try:
            self.chaos.stop()
        finally:
            self.load.stop()
            print(self.chaos, dict(self.load.done), sep="\n")
            print("never hit:", *self.chaos.never())
            self.watch.stop()


def check_storm(w, seconds, kinds=(), each=600):
    """With a rest after so many seconds each."""
    storm = Storm(w, kinds)
    try:
        for begin in range(0, seconds, each):
            storm.rage(min(each, seconds - begin))
            storm.rest()
    finally:
        storm.stop()
    assert storm.chaos.coverage() >= 0.9, storm.chaos
    check_serves(w)
    check_ends(w)


# ---- one word ----

STREAM = "arena.arena.streams[0]"  # the only one


def check_lives(w, seconds=3):
    """The master answers, again and again, and its log does not grow."""
    lines = w.log().count("\n")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert w.process.poll() is None, "the master ended"
        info(w)
        time.sleep(0.05)
    wait_for(lambda: all_there(w), 6, "all are there")
    assert w.log().count("\n") - lines < LINES * seconds
    check_serves(w)
    check_ends(w)


def test_nothing_wrong(node):
    check_lives(node())


def test_an_end_of_slots_behind_the_last(node):
    w = node()
    poke(w, "slot.table.head.end", 0xffffffff)
    check_lives(w)


def test_a_segment_of_a_stream_that_is_none(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    poke(w, f"{STREAM}.media[0]", 0xfffffff0)
    feed.stop()
    check_lives(w)  # longer than the hold


def test_a_stream_that_has_too_many_segments(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    poke(w, f"{STREAM}.media_end", 1 << 40)
    feed.stop()
    check_lives(w)


def test_last_words_without_an_end(node):
    w = node()
    for slot in range(1, 2 + len(FAMILY)):
        poke(w, f"crash_dump.words.all[{slot}].count", 0x7fffffff)
    os.kill(w.workers()[0], signal.SIGSEGV)
    check_lives(w)


def test_a_name_that_is_too_long(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    poke(w, f"{STREAM}.name_len", 0x7fffffff)
    with Control(w) as c:
        c.ask("show streams")
    get(w.http, "/stat/streams", timeout=busy(1))
    os.kill(w.worker_of(feed.c.sock), signal.SIGKILL)
    check_lives(w)


def test_more_relays_than_there_is_room_for(node):
    w = node()
    poke(w, "tasks.table.end", 0xffffffff)
    with Control(w) as c:
        c.ask("show relays")
    check_lives(w)


def test_epochs_that_nobody_has_seen(node):
    """The arena is written anew and again: its memory is had back although
    processes that read no media are said to read all of it."""
    w = node()
    for slot in range(2 + len(FAMILY)):
        poke(w, f"slot.table.slots[{slot}].epoch_seen", 0)
    wait_for(lambda: get(w.http, "/healthz").status == 200)
    feed = Feed(w.rtmp, size=200_000).head()
    for _ in range(10):
        feed.frames(100)  # of more than the arena: 64 MB
    feed.stop()
    check_lives(w)


def test_a_publisher_in_a_process_that_never_was(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    poke(w, f"{STREAM}.writer", 1 << 40 | 2000)
    with Control(w) as c:
        wait_for(lambda: not c.json("show streams"), 5, "the stream's end")
    feed.stop()
    check_lives(w)


@pytest.mark.parametrize("word,value", [
    ("media_end", 1 << 40), ("media_first", 1 << 40), ("index_end", 1 << 62),
    ("tail", 1 << 50), ("head", 1 << 50), ("chunk_size", 0), ("name_len", 3),
    ("generation", 1 << 40), ("prologue", -1), ("start", 7)])
def test_a_publisher_whose_stream_is_spoilt(node, word, value):
    """It is told so, and can publish the name at once again."""
    w = node()
    with Feed(w.rtmp).head().frames(50).c as c:
        poke(w, f"{STREAM}.{word}", value)
        c.send(VIDEO, flv.avc_frame(50, 1000, True), 2000, c.msid, csid=6)
        c.wait_closed()
    w.wait_log("publisher stopped: the stream's record was damaged")
    w.wait_log("its record was damaged, it ends and is made anew")
    check_serves(w, "room")
    check_lives(w)


@pytest.mark.parametrize("word,value", [
    ("payload_len", 0x7fffffff), ("payload_len", 3), ("wire_len", 1)])
def test_a_frame_that_is_spoilt(node, word, value):
    """Who would get it is told that the stream is over, and can come again."""
    w = node()
    feed = Feed(w.rtmp).head().frames(1)
    index, tail = (Poker(w).read(f"{STREAM}.{n}") for n in ("index[0]", "tail"))
    poke(w, f"{INDEX}[{index}].frames[{tail - 1}].{word}", value)
    with player(w.rtmp, "live", "room") as c:
        c.wait_closed()
    w.wait_log("player live/room: a frame of the stream was damaged")
    feed.frames(GOP)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, f"key {GOP}")
    feed.stop()
    check_lives(w)


INDEX = "arena.arena.segments:index_segment"
CUTS = "arena.arena.segments:cut_page"


@pytest.mark.parametrize("word,value", [
    ("runs[0].first", 1 << 40), ("runs[1].first", 1 << 40),
    ("runs[1].failed", 1), ("runs[1].part_target", 0), ("sets[1].count", 99)])
def test_cuts_that_are_spoilt(node, word, value):
    """They are played again while their publisher goes on."""
    w = node(locations=chaos_clients.HLS)
    site = chaos_clients.Site(w)

    def plays():
        try:
            chaos_clients.hls(site, None)
            return True
        except chaos_clients.UNSERVED:
            return False
    try:
        wait_for(plays, 10, "the stream")
        at = Poker(w).read(f"{STREAM}.cuts")
        poke(w, f"{CUTS}[{at}].{word}", value)
        wait_for(plays, 10, "the stream again")
    finally:
        site.stop()
    check_lives(w)


def test_a_hold_that_no_setting_allows(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    poke(w, f"{STREAM}.hold_ms", 1 << 50)
    feed.stop()
    with Control(w) as c:
        wait_for(lambda: not c.json("show streams"), 5, "the stream's end")
    check_lives(w)


def test_memory_cut_short_by_a_worker(node):
    w = node()
    feed = Feed(w.rtmp).head().frames(50)
    for pid in w.workers():
        for fd, what in descriptors(pid).items():
            if "memfd:" in what:
                cut(f"/proc/{pid}/fd/{fd}")
    feed.stop()
    check_lives(w)


def cut(path):
    try:
        os.truncate(path, 0)
    except OSError:
        pass  # it may not be


# ---- any word ----

@pytest.fixture
def site(node, tool):
    """A weir that serves everything."""
    return lambda: node(**chaos_clients.parts(tool(chaos_clients.Servers())),
                        roles=chaos_clients.ROLES)


def test_the_master_lives_through_words_written_at_random(site):
    check_storm(site(), 20, chaos_clients.KINDS)


@pytest.mark.soak
def test_the_master_lives_through_minutes_of_that(site):
    check_storm(site(), int(os.environ.get("WEIR_SOAK", 600)),
                chaos_clients.KINDS, each=40)
