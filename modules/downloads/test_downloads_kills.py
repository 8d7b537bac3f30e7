"""kill -9 of each process while clients add, start, cancel and clear: what was
acknowledged is there once, what was cancelled is gone, nothing is left over.

"make check-long" kills 200 times ($KILLS); the seed is told."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import os
import random
import re
import signal
import threading
import time

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from media_server_help import content
from weir import descendants, stat_of, title, wait_for

__all__ = ["downloads", "media"]  # fixtures
APART = 11  # s: a role that has lived so long is healthy again
TITLES = {"fetcher": "weir: fetcher", "channel": "weir: channel",
          "keeper": "weir: keeper", "worker": "weir: worker",
          "supervisor": "weir-supervisor", "engine": "yt-dlp"}
KINDS = [*TITLES, "master"]
RUNS = ("supervisor", "engine")  # these may be killed at any time
PARTS = re.compile(r"\.(part|ytdl|temp)|\.part-Frag")


def below(prefix):
    """Processes whose working directory is there; weir's own are not, or have
    its master above them."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(
                    f"/proc/{name}/cwd").startswith(prefix + "/"):
                found[int(name)] = title(name)
        except OSError:
            pass
    return found


def words_of(pid):
    return [os.path.basename(w) for w in title(pid).split()]


def base(url):
    """What its file is called."""
    return url.rpartition("/")[2].removesuffix(".mp3")


class Load:
    """Clients in a thread: each step is one request, and what came of it."""

    def __init__(self, d, media, seed, name):
        self.d, self.media, self.name = d, media, name
        self.chance = random.Random(f"{seed}{name}")
        self.number = 0
        self.kept = {}        # url: size; acknowledged, and wanted
        self.waiting = set()  # of those: they wait for a start
        self.unknown = {}     # url: size; nobody answered
        self.gone = set()     # url; cancelled or cleared, acknowledged
        self.perhaps = set()  # url; a cancellation nobody answered
        self.counts = collections.Counter()
        self.stopping = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        if self.failure:
            raise self.failure

    def _run(self):
        try:
            while not self.stopping.is_set():
                self.chance.choice([self.add] * 4 + [self.add_feed] + [
                    self.start, self.cancel, self.cancel, self.clear])()
                self.stopping.wait(self.chance.uniform(0.2, 1.2))
        except BaseException as e:  # told by stop()
            self.failure = e

    def _ask(self, path, body):
        """The answer's JSON; None: it did not come, or weir is away."""
        try:
            a = self.d.post(path, body)
        except (OSError, EOFError, IndexError, AssertionError):
            self.counts["broken"] += 1
            return None
        self.counts[f"{path} {a.status}"] += 1
        if a.status == 503:
            return None
        assert a.status == 200, (a.status, a.body)
        return a.json()

    def file(self):
        self.number += 1
        size = self.chance.randrange(20_000, 600_000)
        return self.media.file(f"/{self.name}{self.number}.mp3", size, rate=200_000,
                               kind="audio/mpeg"), size

    def _added(self, files, said, waits):
        if said is None:
            self.unknown.update(files)
        elif said["status"] == "ok":
            self.kept.update(files)
            if waits:
                self.waiting |= {url for url, _ in files}
        else:
            # The engine was killed, or the fetcher while it looked.
            self.counts["add failed"] += 1
            self.unknown.update(files)

    def add(self):
        url, size = self.file()
        waits = self.chance.random() < 0.2
        said = self._ask("add", {"url": url, "quality": "best",
                                 "auto_start": not waits})
        self._added([(url, size)], said, waits)

    def add_feed(self):
        files = [self.file() for _ in range(3)]
        feed = self.media.feed(f"/{self.name}{self.number}.xml",
                               [(base(url), url) for url, _ in files])
        said = self._ask("add", {"url": feed, "quality": "best"})
        self._added(files, said, False)

    def start(self):
        if self.waiting:
            url = self.chance.choice(sorted(self.waiting))
            if self._ask("start", {"ids": [url]}):
                self.waiting.discard(url)

    def _delete(self, url, where):
        said = self._ask("delete", {"ids": [url], "where": where})
        if said is None:
            self.perhaps.add(url)
        elif url not in said["not_found"]:
            self.kept.pop(url)
            self.waiting.discard(url)
            self.gone.add((url, where))

    def _choose(self, names):
        """One of ours in these lists, of which we know all."""
        try:
            now = self.d.history()
        except (OSError, EOFError, IndexError, AssertionError):
            return None
        found = [e["url"] for name in names for e in now[name]
                 if e["url"] in self.kept and e["url"] not in self.perhaps]
        return self.chance.choice(found) if found else None

    def cancel(self):
        url = self._choose(("queue", "pending"))
        if url:
            self._delete(url, "queue")

    def clear(self):
        if self.chance.random() < 0.3 and (url := self._choose(("done",))):
            self._delete(url, "done")


class Loads:
    """Several, as one to look at when they have stopped."""

    def __init__(self, d, media, seed):
        self.all = [Load(d, media, seed, name) for name in "abcd"]

    def stop(self):
        for one in self.all:
            one.stop()
        self.kept, self.unknown = {}, {}
        self.waiting, self.gone, self.perhaps = set(), set(), set()
        self.counts, self.number = collections.Counter(), 0
        for one in self.all:
            for name in ("kept", "unknown", "waiting", "gone", "perhaps",
                         "counts"):
                getattr(self, name).update(getattr(one, name))
            self.number += one.number


class Killer:
    def __init__(self, d, seed):
        self.d, self.w = d, d.weir
        self.w.children_may_crash = True
        self.w.allowed.append(".*")
        self.chance = random.Random(seed)
        self.last = dict.fromkeys(KINDS, 0)
        self.counts = collections.Counter()

    def pids(self, kind):
        begin = TITLES[kind]
        return [p for p in descendants(self.w.pid)
                if title(p).startswith(begin) or begin in words_of(p)]

    def kill(self, kind):
        """Whether there was one."""
        if kind == "master":
            return self.kill_master()
        found = self.pids(kind)
        if not found:
            return False
        victim = self.chance.choice(found)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill_master(self):
        family = {p: stat_of(p) for p in descendants(self.w.pid)}
        self.w.kill(signal.SIGKILL)
        self.w.process.wait()
        wait_for(lambda: not [p for p, s in family.items() if s and
                              (now := stat_of(p)) and now[1] == s[1]], 20,
                 "the end of its children")
        assert below(self.w.prefix) == {}
        self.w.start()
        now = time.monotonic()
        self.last = {k: now for k in KINDS if k not in RUNS} | {
            k: 0 for k in RUNS}
        return True

    def campaign(self, kills, pause):
        """Each kind once, in any order but the master, then any, no role
        twice within APART.  Between them the load goes on for pause (least
        and most) seconds."""
        first = self.chance.sample(list(TITLES), len(TITLES)) + ["master"]
        done = 0
        while done < kills:
            now = time.monotonic()
            ripe = first[:1] or [k for k in KINDS if k in RUNS or
                                 now - self.last[k] > APART]
            kind = self.chance.choice(ripe)
            if self.kill(kind):
                done += 1
                del first[:1]
                self.counts[kind] += 1
                self.last[kind] = max(time.monotonic(), self.last[kind])
                time.sleep(self.chance.uniform(*pause))
            else:
                time.sleep(0.1)


def check_end(d, load):
    """When all is over."""
    if load.waiting:
        d.start(*load.waiting)
    rest = [e["url"] for e in d.history()["pending"]]
    if rest:
        d.start(*rest)
    wait_for(lambda: not any((now := d.history())["queue"] + now["pending"]),
             300, "the end of all")
    done = d.history()["done"]
    count = collections.Counter(e["url"] for e in done)
    assert all(n == 1 for n in count.values()), count
    lost = [u for u in load.kept if u not in count and u not in load.perhaps]
    assert not lost, lost
    back = [u for u, where in load.gone if u in count]
    assert not back, back
    more = set(count) - set(load.kept) - set(load.unknown)
    assert not more, more
    wait_for(lambda: not d.run_folders(), 30, "no folder of a run")
    wait_for(lambda: below(d.weir.prefix) == {}, 30, "no process of a run")
    return done


def check_files(d, load, done):
    """Whole ones of those that are finished; no part, none of those that were
    cancelled."""
    sizes = {**load.kept, **load.unknown}
    finished = [e for e in done if e["status"] == "finished"]
    for e in finished:
        with open(f"{d.directory}/{e['filename']}", "rb") as f:
            assert f.read() == content(sizes[e["url"]]), e
    names = d.files()
    assert not [n for n in names if PARTS.search(n)], names
    cancelled = {base(url) for url, where in load.gone if where == "queue"}
    left = [n for n in names if re.sub(
        r"( \(\d+\))?\.mp3$", "", os.path.basename(n)) in cancelled]
    assert not left, left
    failed = collections.Counter(e["msg"] for e in done
                                 if e["status"] == "error")
    twice = [n for n in names if re.search(r" \(\d+\)\.mp3$", n)]
    print(f"{len(finished)} finished, failed: {dict(failed)}")
    assert finished, done
    assert not twice, twice  # nobody has added one again: it was moved twice


def run_campaign(downloads, media, kills, pause):
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print("seed", seed)
    d = downloads('max_concurrent = 3; max_done = 0;', workers=2)
    load, killer = Loads(d, media, seed), Killer(d, seed)
    try:
        killer.campaign(kills, pause)
    finally:
        load.stop()
    print(dict(killer.counts), dict(load.counts), f"{load.number} files")
    wait_for(lambda: d.get("history").status == 200, 60, "the queue")
    check_files(d, load, check_end(d, load))


@pytest.mark.parametrize("kind", KINDS)
def test_killed_once(downloads, media, kind):
    d = downloads("max_concurrent = 2;", workers=2)
    killer = Killer(d, 1)
    paths = [f"/f{n}.mp4" for n in range(4)]
    urls = [media.file(p, 4 << 20, hold=2 << 20) for p in paths]
    for url in urls:
        d.added(url)
    for url in urls[:2]:
        wait_for(lambda u=url: (d.find(u)["percent"] or 0) > 20, 20)
    assert killer.kill(kind)
    wait_for(lambda: d.get("history").status == 200, 20, "the queue")
    for path in paths:
        media.release(path)
    for url in urls:
        done = d.wait_in("done", url, 60)
        assert done["status"] == "finished" or kind in RUNS, done
    assert [e["url"] for e in d.history()["done"]] == urls
    wait_for(lambda: not d.run_folders(), 10)
    wait_for(lambda: below(d.weir.prefix) == {}, 10)
    finished = [e for e in d.history()["done"] if e["status"] == "finished"]
    assert d.files() == sorted(e["title"] + ".mp4" for e in finished)
    for e in finished:
        with open(f"{d.directory}/{e['filename']}", "rb") as f:
            assert f.read() == content(4 << 20)


def test_killed_a_dozen_times(downloads, media):
    run_campaign(downloads, media, 12, (0.5, 2))


@pytest.mark.soak
def test_killed_two_hundred_times(downloads, media):
    run_campaign(downloads, media, int(os.environ.get("KILLS", "200")), (1, 6))
