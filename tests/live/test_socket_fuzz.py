"""Engine.IO and Socket.IO under frames and bodies that were changed by chance:
no process dies, nothing is left over, and what was right is answered."""
# SPDX-License-Identifier: BSD-2-Clause

import random

import pytest

from socket_fuzz_help import run_campaigns
from socket_help import location
from test_unread import metric
from weir import SANITIZED, descendants, resident, wait_for

# A sanitizer keeps what was freed for a while, 256 MB and what surrounds it.
GROWTH = (700 if SANITIZED else 8) << 20


def memory(w):
    return {pid: resident(pid) for pid in descendants(w.pid)}


def sessions(w, what, label=""):
    return metric(w, f"weir_channel_sessions{what}{label}")


def check(w, frames, bodies):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    warm = run_campaigns(w.http, frames // 10, bodies // 10, f"{seed}.warm")
    before = memory(w)
    done = run_campaigns(w.http, frames - warm["frames"],
                         bodies - warm["bodies"], seed)
    total = {key: warm[key] + done[key] for key in done}
    print(total)
    assert total["frames"] >= frames and total["bodies"] >= bodies
    wait_for(lambda: sessions(w, "") == 0, 10, "the end of all sessions")
    opened = total["websockets"] + total["polls"]
    assert sessions(w, "_opened_total", '{transport="websocket"}') == \
        total["websockets"]
    assert sessions(w, "_opened_total", '{transport="polling"}') == \
        total["polls"]
    assert sessions(w, "_ended_total") == opened
    assert metric(w, "weir_channel_sockets") == 0
    assert metric(w, "weir_channel_queued_bytes") == 0
    after = memory(w)
    assert after.keys() == before.keys(), "a process died"
    grown = {pid: after[pid] - before[pid] for pid in before}
    print("before", before, "grown", grown)
    assert max(grown.values()) < GROWTH, grown


def test_twenty_thousand(weir):
    check(weir(locations=location()), 20_000, 2_000)


@pytest.mark.soak
def test_a_million(weir):
    check(weir(locations=location(), workers=2), 900_000, 100_000)
