"""Players of streams as encoders really make them (hls_real.py)."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import random
import time

import pytest

from hls_check import Viewer
from hls_real import ROWS, STALL, Source, Watched, figures, held_up
from patience import busy
from weir import wait_for

pytestmark = pytest.mark.once

PLAYERS = ("hls.js", "shaka", "native", "ffmpeg", "gstreamer")
PARTS = ("hls.js", "shaka")  # those that take them
SETTINGS = {"locations": '{ path = "/hls"; module = "hls"; },', "workers": 2,
            "http": 'hosts = [ "test", "*.localhost" ];'}
QUIET = 0.15    # seconds that a machine may keep somebody waiting
TRIES = 3
SEGMENT = 2     # seconds, of those that have no parts
PLAIN = ("half", "rates")  # their pictures are too far apart for parts


def wait_segments(w, name):
    """There are enough to begin three of them behind."""
    with Viewer(w.http, f"/hls/live/{name}.m3u8") as first:
        first.start(wait=30)
        wait_for(lambda: len(first.reload().listed) > 4, 60, "segments")


def play(w, sources, pairs, seconds):
    """{(player, row): figures}, and for how long the machine kept us
    waiting."""
    for row in sources:
        wait_segments(w, row)
    watched = Watched(w, pairs)
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(1)
            told = watched.look()
        assert not any(s.over() for s in sources.values())
        now = time.monotonic()
        return {pair: figures(told[pair], watched.shown[pair],
                              sources[pair[1]], now)
                for pair in pairs}, held_up(told, sources)
    finally:
        watched.quit()


def watch(weir, folder, pairs, seconds):
    """Those rows published, and these players of them, for so long."""
    w = weir(**SETTINGS)
    rows = dict.fromkeys(row for _, row in pairs)
    ahead = 15 + max(6 * min(max(ROWS[row].interval, 2), 6) for row in rows)
    made = {row: ROWS[row].make(folder / f"{row}.flv", seconds + ahead)
            for row in rows}
    sources = {}
    try:
        for row, tags in made.items():
            sources[row] = Source(w.rtmp, row, tags)
        told, held = play(w, sources, pairs, seconds)
    finally:
        for source in sources.values():
            source.stop()
    for pair, of in told.items():
        print(*pair, json.dumps(of))
    print(f"held up {held:.2f}, load", os.getloadavg()[0])
    return told, held


def broken(player, row, of):
    """What is not as it ought to be.  A stall is one of the player's time or of
    its pictures that is longer than the source explains."""
    most = STALL + of["pause"]
    stalls = [s for s in of["stalls"] + of["frozen"] if s[1] > most]
    if row == "rates" and player in PARTS:  # the parts end once
        stalls = [s for s in stalls
                  if s[1] > SEGMENT or abs(s[0] - stalls[0][0]) > 1]
    return [text for text, wrong in (
        ("no picture", of["first"] is None),
        ("the first picture", (of["first"] or 0) > ROWS[row].interval + 3),
        ("stalls", stalls), ("fatal", of["fatal"]),
        ("latency", player in PARTS and ROWS[row].interval <= 2 and
         row not in PLAIN and (of["p95"] or 9) > 1.6)) if wrong]


def test_some(weir, tmp_path):
    """Two rows that are drawn anew for each change; each player has one of
    them, those that take parts both."""
    chance = random.Random(os.environ.get("TEST_TURN"))
    one, other = chance.sample([row for row in ROWS if row != "rates" and
                                ROWS[row].interval <= 2], 2)
    pairs = [*((p, row) for p in PARTS for row in (one, other)),
             ("native", one), ("ffmpeg", other), ("gstreamer", one)]
    told, _ = watch(weir, tmp_path, pairs, 12)
    for pair, of in told.items():
        assert of["first"] and of["first"] < busy(ROWS[pair[1]].interval + 3)
        assert of["pictures"] > 5 and not of["fatal"], pair
        assert sum(length for _, length in of["frozen"]) < busy(1), pair


@pytest.mark.soak
@pytest.mark.parametrize("row", ROWS)
def test_all_players(weir, tmp_path, row):
    """All of them, as good as on an idle machine: where it was not idle, and
    one of them felt it, they play again."""
    for _ in range(TRIES):
        told, held = watch(weir, tmp_path, [(p, row) for p in PLAYERS],
                           ROWS[row].interval + 40)
        found = {pair: b for pair, of in told.items()
                 if (b := broken(*pair, of))}
        if not found or held < QUIET:
            break
    assert not found
