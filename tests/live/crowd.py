"""How many live tests run at once: as many as the processors carry.

A plugin of pytest and xdist.  xdist's processes are more than there are tests
at a time (tests/live/run).  Each process asks, before it begins a test, whether
the processors have room for it: what the test and those that run took of a
processor when they were measured, added up, is at most what there is.  One test
for each processor runs in any case.  The longest are begun first, so that none
is left at the end alone.

The file "times" of this folder has the tests that take a second or more; a
shorter or new one is taken for a USUAL one.

$TEST_TIMES names a file that gets a line for each test: its seconds and its
name; $LIVE_TIMES one like "times": seconds, seconds of processors, name.
"""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import os
import resource
import time

import pytest
from xdist.scheduler import LoadScheduling

import weir

CPUS = len(os.sched_getaffinity(0))
USUAL = 0.4       # processors that a short test keeps busy
SANITIZED = 2     # times as much with sanitizers
LISTED = 1        # seconds of a test that has a line of its own
CROWDED = 2       # threads for each processor that run or want to
LONG = 2          # seconds of a test that is begun before its turn
LOOK = 0.1        # seconds between two looks for room
PATIENCE = 120    # seconds after which a test begins whatever is busy
TIMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "times")


def read_times(path=TIMES):
    """{name: (seconds, seconds of processors)}"""
    times = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                seconds, cpu, name = line.rstrip("\n").split(" ", 2)
                times[name] = float(seconds), float(cpu)
    return times


def share(times, name):
    """How many processors it keeps busy, at most all."""
    seconds, cpu = times.get(name, (1, USUAL))
    slower = SANITIZED if weir.SANITIZED else 1
    return min(slower * cpu / max(seconds, 0.01), CPUS)


# ---- the order --------------------------------------------------------------

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """All processes sort alike.  Short tests stay in order, since those of a
    file share fixtures."""
    config.crowd_times = times = read_times()

    def place(item):
        seconds, _ = times.get(item.nodeid, (0, 0))
        return -seconds if seconds >= LONG else 0

    if hasattr(config, "workerinput"):
        items.sort(key=place)


class LongestFirst(LoadScheduling):
    """Each process has the test that it runs and the next one, no more."""

    def schedule(self):
        if self.collection is not None:
            for node in self.nodes:
                self.check_schedule(node)
            return
        if not self._check_nodes_have_same_collection():
            self.log("**Different tests collected, aborting run**")
            return
        self.collection = list(self.node2collection.values())[0]
        self.pending[:] = range(len(self.collection))
        for _ in range(2):
            for node in self.nodes:
                self._send_tests(node, 1)
        if not self.pending:
            for node in self.nodes:
                node.shutdown()

    def check_schedule(self, node, duration=0):
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif len(self.node2pending[node]) < 2:
            self._send_tests(node, 1)


def pytest_xdist_make_scheduler(config, log):
    return LongestFirst(config, log)


# ---- room -------------------------------------------------------------------

class Room:
    """The shares of what runs, in a file that all processes of a run have."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "crowd")
        self.name = str(os.getpid())

    def change(self, decide):
        """Calls decide({pid: share}) alone; true: what it left is kept."""
        with open(self.path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            shares = {pid: float(value) for pid, value in
                      (line.split() for line in file)
                      if os.path.exists(f"/proc/{pid}")}
            if not decide(shares):
                return False
            file.truncate(0)
            file.writelines(f"{k} {v}\n" for k, v in shares.items())
            return True

    def enter(self, wanted, force=False):
        def decide(shares):
            if not force and len(shares) >= CPUS and (
                    sum(shares.values()) + wanted > CPUS or crowded()):
                return False
            shares[self.name] = wanted
            return True
        return self.change(decide)

    def leave(self):
        self.change(lambda shares: shares.pop(self.name, None) is not None)


def crowded():
    """Whether more wants to run than the processors can have at once; what is
    nice counts too."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].split("/")[0]) > CROWDED * CPUS + 1


def used():
    """Seconds of processors, of this process and of children that ended; so
    Chromium, which several tests share, counts where it ends."""
    return sum(u.ru_utime + u.ru_stime for u in
               map(resource.getrusage, (resource.RUSAGE_SELF,
                                        resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    worker = getattr(item.config, "workerinput", None)
    room = worker and Room(str(item.config._tmp_path_factory.getbasetemp()
                               .parent))
    until = time.monotonic() + PATIENCE
    while room and not room.enter(share(item.config.crowd_times, item.nodeid),
                                  time.monotonic() > until):
        time.sleep(LOOK)
    began, before = time.monotonic(), used()
    yield
    if room:
        room.leave()
    note(item.nodeid, time.monotonic() - began, used() - before)


def note(name, seconds, cpu):
    texts = {"TEST_TIMES": f"{seconds:.2f} {name}\n"}
    if seconds >= LISTED:
        texts["LIVE_TIMES"] = f"{seconds:.1f} {cpu:.1f} {name}\n"
    for variable, text in texts.items():
        if os.environ.get(variable):
            with open(os.environ[variable], "a", encoding="utf-8") as file:
                file.write(text)
