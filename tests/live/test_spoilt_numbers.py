"""Numbers that a worker has spoilt are told as numbers that can be: none is
negative, none is above what there is."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from chaos import Poker
from control_client import Control
from feed import Feed
from http_client import get
from rtmp_client import player

STREAM, SESSION = "arena.arena.streams[0]", "arena.arena.sessions[{}]"
WRONG = (-2, 1 << 62)


def ask(w, what):
    with Control(w) as c:
        return c.json(what)


def all_can_be(rows):
    for row in rows:
        for name, value in row.items():
            if isinstance(value, (int, float)):
                assert 0 <= value < 1 << 60, (name, row)


@pytest.mark.parametrize("value", WRONG)
def test_numbers_of_processes(weir, value):
    w = weir(workers=2)
    p = Poker(w)
    for slot in range(1, 4):
        for name in ("connections", "pumps", "accepted", "log_dropped"):
            assert p.write(f"slot.table.slots[{slot}].{name}", value)
    all_can_be(ask(w, "show proc"))
    all_can_be([ask(w, "show info")])
    assert get(w.http, "/readyz").status == 200


def test_connections_up_to_what_is_allowed(weir):
    w = weir(workers=2)
    p = Poker(w)
    for slot in range(1, 4):
        p.write(f"slot.table.slots[{slot}].connections", 9_000_000)
    for row in ask(w, "show limits"):
        assert 0 <= row["used"] <= row["limit"] or row["limit"] == 0, row


@pytest.mark.parametrize("value", WRONG)
def test_numbers_of_streams_and_sessions(weir, value):
    w = weir()
    p = Poker(w)
    feed = Feed(w.rtmp).head().frames(50)
    with player(w.rtmp, "live", "room"):
        for name in ("meter.video", "meter.audio", "bytes", "dropped",
                     "key_frames"):
            assert p.write(f"{STREAM}.{name}", value)
        for n in range(2):
            for name in ("meter.video", "meter.audio", "dropped"):
                assert p.write(f"{SESSION.format(n)}.{name}", value)
        rows = ask(w, "show streams") + ask(w, "show sess")
        assert len(rows) == 3
        all_can_be(rows)
    feed.stop()
