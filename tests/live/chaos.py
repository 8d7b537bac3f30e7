"""Writes nonsense over the memory that weir's processes share, in place of a
worker that somebody has taken over.

    chaos = Chaos(w, seed=7).start()
    ...
    with chaos.rest():  # nothing is written
        ...
    chaos.stop()
    print(chaos)

Write number n is made of the seed and n alone, and of what lies in memory at
that moment: the same seed makes the same decisions again.
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import contextlib
import os
import random
import re
import threading
import time

from chaos_words import Pages, Words
from weir import descendants, title

RATE = 1000   # words a second
LOOK_S = 1.0  # how often children and touched pages are looked for
CONSTANTS = (0, 1, -1, 2 ** 31 - 1, 2 ** 32 - 16, 2 ** 40)


def children(w):
    """Pids of workers and roles."""
    return [pid for pid in descendants(w.pid)
            if re.match(r"weir: (?!master)", title(pid))]


class Victim:
    """A child whose view of the shared memory is written to."""

    def __init__(self, pid, regions):
        self.pid = pid
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self.pages = Pages(pid, regions)

    def close(self):
        os.close(self.memory)

    def read(self, address, width):
        return int.from_bytes(os.pread(self.memory, width, address), "little")

    def write(self, address, width, value):
        """Whether it could; ProcessLookupError: it is dead."""
        value &= (1 << 8 * width) - 1
        try:
            n = os.pwrite(self.memory, value.to_bytes(width, "little"),
                          address)
        except OSError:
            return False
        if n != width:
            raise ProcessLookupError
        return True


class Chaos:
    def __init__(self, w, seed, rate=RATE):
        self.w, self.seed, self.rate = w, seed, rate
        self.words = Words(w.pid)
        self.order = list(self.words.list)
        random.Random(seed).shuffle(self.order)
        self.victims = []
        self.looked = 0
        self.hit = collections.Counter()  # path of a word: times
        self.refused = set()
        self.listed = self.uniform = 0
        self.n = 0
        self.failure = None
        self.stopping, self.writing = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._guarded, daemon=True)

    def __str__(self):
        return (f"seed {self.seed}: {self.listed} writes to "
                f"{len(self.hit)} of {len(self.theirs())} listed words of "
                f"children ({len(self.refused)} are the master's), "
                f"{self.uniform} elsewhere, "
                f"{self.n / max(self.seconds, 0.1):.0f} a second")

    def start(self):
        self.began = time.monotonic()
        self.seconds = 0
        self.thread.start()
        return self

    def stop(self):
        self.stopping.set()
        self.thread.join()
        for v in self.victims:
            v.close()
        self.victims = []
        if self.failure:
            raise self.failure

    @contextlib.contextmanager
    def rest(self):
        """Nothing is written meanwhile."""
        with self.writing:
            yield

    def theirs(self):
        """Paths of listed words that children can write."""
        return {w.path for w in self.words.list} - self.refused

    def never(self):
        """Those of them that were not hit."""
        return sorted(self.theirs() - set(self.hit))

    def coverage(self):
        return len(self.hit) / len(self.theirs())

    # ---- the thread ----

    def _guarded(self):
        try:
            self._run()
        except BaseException as e:  # told by stop()
            self.failure = e
        self.seconds = time.monotonic() - self.began

    def _run(self):
        due = time.monotonic()
        while not self.stopping.is_set():
            ahead = due - time.monotonic()
            if ahead > 0:
                time.sleep(max(ahead, 0.01))
            with self.writing:
                self._look()
                if self.victims:
                    self._write(random.Random(self.seed << 32 | self.n))
                    self.n += 1
            # What a rest has left out is not caught up with.
            due = max(due + 1 / self.rate, time.monotonic() - LOOK_S)

    def _look(self):
        if self.victims and time.monotonic() - self.looked < LOOK_S:
            return
        for v in self.victims:
            v.close()
        self.victims = []
        for pid in children(self.w):
            try:
                self.victims.append(Victim(pid, self.words.regions))
            except OSError:
                pass  # it has just ended
        self.looked = time.monotonic()

    def _write(self, rng):
        victim = self.victims[int(rng.random() * len(self.victims))]
        listed = rng.random() < 0.5
        try:
            if listed:
                self._write_word(victim, rng)
            else:
                self._write_anywhere(victim, rng)
        except ProcessLookupError:
            self.looked = 0
        except OSError:
            pass  # it cannot be read there either

    def _write_word(self, victim, rng):
        word = self.order[self.listed % len(self.order)]
        at = word.place(rng, victim.pages)
        other = word.place(rng, victim.pages)
        value = self._value(victim, rng, at, other, word.width)
        done = victim.write(at, word.width, value)
        self.listed += 1
        if done:
            self.hit[word.path] += 1
        else:
            self.refused.add(word.path)

    def _write_anywhere(self, victim, rng):
        """Each region is as likely as another, small or large."""
        pages = victim.pages.by_region
        pages = pages[int(rng.random() * len(pages))]
        place, width = rng.random(), (4, 8)[rng.random() < 0.5]
        if not pages:
            return
        at = pages[int(place * len(pages))] + \
            int(rng.random() * (4096 // width)) * width
        other = pages[0] + int(rng.random() * (4096 // width)) * width
        victim.write(at, width,
                     self._value(victim, rng, at, other, width))
        self.uniform += 1

    @staticmethod
    def _value(victim, rng, at, other, width):
        old = victim.read(at, width)
        kind = int(rng.random() * (len(CONSTANTS) + 4))
        bit = 1 << int(rng.random() * 8 * width)
        if kind < len(CONSTANTS):
            return CONSTANTS[kind]
        return (old + 1, old - 1, old ^ bit,
                victim.read(other, width))[kind - len(CONSTANTS)]


# ---- aimed ----

class Poker:
    """Writes to single words in place of a worker:
    Poker(w).write("arena.arena.streams[0].name_len", 1 << 31)."""

    def __init__(self, w):
        self.w, self.words = w, Words(w.pid)

    def write(self, path, value, pid=None):
        """Whether it could."""
        return self.write_all([path], value, pid)

    def write_all(self, paths, value, pid=None):
        """Whether it could, all of them."""
        return all(self._at(paths, pid, lambda victim, at, width:
                            victim.write(at, width, value)))

    def read(self, path, pid=None):
        return self._at([path], pid, Victim.read)[0]

    def _at(self, paths, pid, what):
        victim = Victim(pid or self.w.workers()[0], self.words.regions)
        words = map(self.words.at, paths)
        try:
            return [what(victim, w.place(random.Random(0), victim.pages),
                         w.width) for w in words]
        finally:
            victim.close()


def poke(w, path, value, pid=None):
    return Poker(w).write(path, value, pid)
