"""An engine that takes what it can: memory, processes, processor time, files,
bytes.  Each run ends with the reason, nothing of it is left, and all others
are served meanwhile."""
# SPDX-License-Identifier: BSD-2-Clause

import glob
import os
import time

import pytest

from cgroup_help import cgroup_of, delegated  # noqa: F401: a fixture
from downloads_help import downloads, media  # noqa: F401: fixtures
from http_client import get
from patience import busy
from test_downloads_full import disk  # noqa: F401
from test_downloads_programs import URL, engine  # noqa: F401
from weir import descendants, read_text, title, wait_for

ENDS = 5  # seconds

# What each script begins with: should weir not end it, it ends by itself, and has
# made few enough processes that whoever runs the test hardly notices.
BOUNDED = """
import signal, time
MOST, SECONDS = 400, 60
signal.alarm(SECONDS)
left = os.pipe()
os.write(left[1], bytes(MOST))
os.set_blocking(left[0], False)

def fork():
    try:
        os.read(left[0], 1)
        pid = os.fork()
    except OSError:
        time.sleep(SECONDS)
        os._exit(0)
    if pid == 0:
        signal.alarm(SECONDS)
    return pid
"""
FORKS = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if fork() == 0:
        os.setpgid(0, 0)
"""
DAEMONS = """
if fork():
    time.sleep(SECONDS)
while True:
    if fork():
        os._exit(0)
    os.setpgid(0, 0)
    for i in range(3):
        if fork() == 0:
            break
"""
THREADS = """
import threading
for i in range(2 * MOST):
    try:
        threading.Thread(target=time.sleep, args=(SECONDS,)).start()
    except RuntimeError:
        time.sleep(0.01)
"""
MEMORY = """
kept = []
for i in range(256):
    kept.append(bytearray(os.urandom(1 << 16) * 64))
time.sleep(SECONDS)
"""
MEMORY_OF_MANY = """
for i in range(8):
    if fork() == 0:
        kept = bytearray(b"x" * (32 << 20))
        time.sleep(SECONDS)
time.sleep(SECONDS)
"""
CPU = """
for i in range(3):
    fork()
while True:
    pass
"""
CPU_OF_MANY = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if fork() == 0:
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass
        os._exit(0)
    time.sleep(0.1)
"""
FILES = """
for n in range(20000):
    open(f"f{n}", "w").close()
time.sleep(SECONDS)
"""
BYTES = """
piece = bytes(1 << 20)
for n in range(64):
    with open(f"f{n}", "wb") as f:
        for i in range(8):
            f.write(piece)
time.sleep(SECONDS)
"""
HIDDEN_BYTES = """
os.chmod(".", 0)
time.sleep(SECONDS)
"""

BOUNDS = ('max_memory = "128M"; max_processes = 40; max_cpu = "3s"; '
          'max_files = 500; max_bytes = "64M";')


def indented(script):
    return "\n".join("    " + line for line in
                     (BOUNDED + script).splitlines())


@pytest.fixture
def hostile(engine):  # noqa: F811
    """A weir whose engine does that where the address ends with /film."""
    def start(script, **more):
        return engine(
            f'if url.endswith("/film"):\n{indented(script)}\n'
            'open("media.txt", "w").write("fine")\nprint("F|media.txt")',
            settings=BOUNDS, **more)
    return start


def left(d):
    return [p for p in descendants(d.weir.pid) if "engine" in title(p)]


def ends_with(d, reason):
    """The run, with that reason in time, and all of it; others follow."""
    d.added(URL)
    d.wait_status(URL, "preparing", "downloading", "error")
    began = time.monotonic()
    e = d.wait_done(URL, ENDS + (3 if "cpu" in reason else 0), "error")
    took = time.monotonic() - began
    assert e["msg"] == f"The engine used more than {reason}."
    wait_for(lambda: not left(d), 1, "the end of all of it")
    wait_for(lambda: d.run_folders() == [], 10, "the end of its folder")
    other = URL.replace("film", "other")
    d.added(other)
    assert d.file(d.wait_done(other)).body == b"fine"
    print(f"ended after {took:.1f} s")


@pytest.mark.parametrize("script, reason", [
    (FORKS, "max_processes (40)"), (DAEMONS, "max_processes (40)"),
    (THREADS, "max_processes (40)"), (MEMORY, "max_memory (128M)"),
    (MEMORY_OF_MANY, "max_memory (128M)"), (CPU, "max_cpu (3 s)"),
    (CPU_OF_MANY, "max_cpu (3 s)"), (FILES, "max_files (500)"),
    (BYTES, "max_bytes (64M)")],
    ids=["forks", "daemons", "threads", "memory", "memory-of-many", "cpu",
         "cpu-of-many", "files", "bytes"])
def test_it_ends(hostile, script, reason):
    ends_with(hostile(script), reason)


# ---- by the kernel ----

def test_the_kernel_bounds_a_run(delegated, hostile):  # noqa: F811
    d = hostile("time.sleep(SECONDS)")
    d.weir.wait_log("runs are in cgroups of their own, bounded by "
                    "cpu, memory, pids")
    assert cgroup_of(d.weir.pid).endswith("/weir.main")
    d.added(URL)
    d.wait_status(URL, "preparing", "downloading")
    run, = glob.glob(f"{delegated}/weir.*/[0-9]*")
    assert int(read_text(f"{run}/memory.max")) == 128 << 20
    # Its supervisor is in there as well.
    assert int(read_text(f"{run}/pids.max")) == 41 * 16 + 1
    assert int(read_text(f"{run}/../cpu.weight.nice")) == 5
    assert all(cgroup_of(p).endswith(os.path.relpath(run, delegated))
               for p in left(d))


@pytest.mark.parametrize("script, reason", [
    (FORKS, "max_processes (40)"), (THREADS, "max_processes (40)"),
    (MEMORY, "max_memory (128M)"), (MEMORY_OF_MANY, "max_memory (128M)")],
    ids=["forks", "threads", "memory", "memory-of-many"])
def test_it_ends_by_the_kernel(delegated, hostile, script,  # noqa: F811
                               reason):
    ends_with(hostile(script), reason)
    assert glob.glob(f"{delegated}/weir.*/[0-9]*") == []


# ---- the disk ----

WRITES = """
import time
n = 0
while True:
    try:
        with open(f"f{n}", "wb") as f:
            f.write(bytes(4 << 20))
    except OSError:
        time.sleep(0.01)
    n += 1
"""
WAITS = """
import time
open("media.txt", "w").write("fine")
while "leave" not in os.listdir("."):
    time.sleep(0.05)
print("F|media.txt")
sys.exit()
"""
FREE = 24 << 20


def test_min_free_holds_while_runs_write(engine, disk):  # noqa: F811
    """The run that has most is ended; another on the disk goes on, and the
    store there is written."""
    both = (f'if url.endswith("/film"):\n{indented(WRITES)}\n'
            f'else:\n{indented(WAITS)}')
    d = engine(both, settings='min_free = "24M";', directory=f"{disk.path}/d",
               store=f'path = "{disk.path}/weir.db";')
    small = URL.replace("film", "small")
    d.added(small)
    d.wait_status(small, "preparing", "downloading")
    folder, = d.run_folders()
    d.added(URL)
    e = d.wait_done(URL, ENDS, "error")
    assert e["msg"] == ("The disk had less than min_free (24M) while the "
                        "engine wrote.")
    d.weir.wait_log(f"{URL} was ended: The disk had less")
    wait_for(lambda: not d.find(URL, "queue") and d.run_folders() == [folder],
             10, "the end of its folder")
    assert disk.free() > FREE
    d.added(URL.replace("film", "third"), auto_start=False)
    assert d.find(small, "queue")
    path = f"{d.directory}/.weir/{folder}/leave"
    open(path, "w", encoding="utf-8").close()
    d.wait_done(small)
