"""Socket.IO while its processes are killed: clients come back, nothing is left
over.  The clients are those of the bench (make build/weir-load)."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import random
import signal
import subprocess
import time

import pytest

from patience import busy
from weir import BINARY, descendants, stat_of, title, wait_for

LOAD = os.path.join(os.path.dirname(BINARY), "weir-load")
ECHO = '{ path = "/io"; module = "echo"; name = "main"; socket_io = ( { } ); },'
APART = 11  # s: a role that has lived so long is healthy again
CLIENTS, WORKERS = 200, 2

needs_load = pytest.mark.skipif(not os.path.exists(LOAD),
                                reason="weir-load is not built")


def channel(w):
    return next((pid for pid in descendants(w.pid)
                 if title(pid).startswith("weir: channel")), None)


def crowd(w, transport, namespace):
    p = subprocess.Popen(
        [LOAD, "sockets", "--url", w.http_url("/io/socket.io/"), "--clients",
         str(CLIENTS), "--transport", transport, "--namespace", namespace,
         "--emit", "broadcast", "--rate", "5", "--reconnect", "--control", "--json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n"
    return p


def kill_channel(w):
    before = channel(w)
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: channel(w) not in (None, before), 10, "another channel")


def kill_worker(w):
    """The oldest: it has lived long enough."""
    workers = wait_for(lambda: len(w.workers()) == WORKERS and w.workers(),
                       10, "all workers")
    os.kill(min(workers, key=lambda pid: stat_of(pid)[1]), signal.SIGKILL)


def campaign(w, kills, seed):
    """Kills of the channel and of workers in turn, so far apart that each is
    forgiven."""
    chance = random.Random(seed)
    print("seed", seed)
    for turn in range(kills):
        if turn % 2 == 0:
            kill_channel(w)
        else:
            kill_worker(w)
        time.sleep(chance.uniform(APART / 2, APART / 2 + 2))


def check(w, kills):
    crowds = [crowd(w, "websocket", "/"), crowd(w, "polling", "/custom")]
    campaign(w, kills, random.randrange(1 << 30))
    time.sleep(6)  # the last ones come back
    for p in crowds:
        seen = json.loads(p.communicate("stop\n", timeout=busy(10))[0])
        print(seen)
        assert seen["back_ms"]["p50"] < busy(2) * 1000
        assert seen["joined"] == CLIENTS
        assert seen["losses"] >= CLIENTS * kills / 2
        assert seen["repeated"] == 0
    assert seen["back_ms"]["count"] >= CLIENTS * kills / 2


@needs_load
def test_killed_once(weir):
    check(weir(locations=ECHO, workers=WORKERS), 2)


@needs_load
@pytest.mark.soak
def test_killed_a_hundred_times(weir):
    check(weir(locations=ECHO, workers=WORKERS), 100)
