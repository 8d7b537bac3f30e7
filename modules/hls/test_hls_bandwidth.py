"""Bit rates in multivariant playlists: a player that starts with the first
segments is told what the later ones may have."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

import flv
from feed import Feed
from hls_play import AT, Player
from rtmp_client import DATA
from weir import wait_for

GOP = 25  # one second: the segments are of so many frames
APP = 'segment = "1s"; max_segment = "1s"; hold = "1h";'


def start(weir):
    return weir(locations=AT % "", app=APP, live='max_stream_memory = "64M";')


def send(f, *sizes):
    """A second of frames of each size; and a key frame that ends the last."""
    for size in sizes:
        f.size = size
        f.frames(GOP - f.next % GOP if f.next % GOP else GOP)
    f.frames(1)


def metadata(f, **rates):
    f.c.send(DATA, flv.metadata(**rates), f.time(), f.c.msid, csid=4)


def told(w):
    """(BANDWIDTH, AVERAGE-BANDWIDTH)"""
    text = Player(w).start().multivariant
    return tuple(int(re.search(rf"[:,]{name}=(\d+)", text)[1])
                 for name in ("BANDWIDTH", "AVERAGE-BANDWIDTH"))


def bits(size):
    """Of a segment's payloads."""
    return (size + len(flv.aac_frame(0))) * GOP * 8


def test_a_first_segment_says_little(weir):
    """The others have up to half as much again."""
    w = start(weir)
    f = Feed(w.rtmp).head()
    send(f, 4000)
    peak, mean = told(w)
    assert mean < 1.2 * bits(4000) and bits(6000) <= peak < 1.7 * bits(4000)
    f.stop()


def test_what_has_been_passed_is_raised(weir):
    """And it is never lowered, not for a quiet hour either."""
    w = start(weir)
    f = Feed(w.rtmp).head()
    send(f, 2000)
    low, _ = told(w)
    send(f, 20_000, 2000)
    peak, _ = told(w)
    assert low < bits(20_000) < peak
    send(f, *[2000] * 30)
    later, mean = told(w)
    assert later == peak and mean < 1.2 * bits(2000)
    f.stop()


@pytest.mark.parametrize("rates, least", [
    ({"videodatarate": 6000.0, "audiodatarate": 160.0}, 6_160_000),
    ({"videodatarate": 6000.0}, 6_000_000),
    ({"videodatarate": 6_000_000.0}, 0),  # bits: not believed
    ({"videodatarate": 1.0}, 0),
    ({"videodatarate": "fast", "audiodatarate": 96.0}, 96_000),
])
def test_what_is_promised_counts_where_it_is_more(weir, rates, least):
    w = start(weir)
    f = Feed(w.rtmp).head()
    metadata(f, **rates)
    send(f, 2000)
    peak, mean = told(w)
    measured = 1.5 * bits(2000)
    least = max(least, measured)
    assert least <= peak < 1.3 * least and mean < 1.2 * bits(2000)
    f.stop()


def test_a_promise_that_comes_later_raises(weir):
    w = start(weir)
    f = Feed(w.rtmp).head()
    send(f, 2000)
    before, _ = told(w)
    metadata(f, videodatarate=3000.0)
    send(f, 2000)
    peak, _ = told(w)
    assert before < 3_000_000 <= peak
    metadata(f, videodatarate=1000.0)
    send(f, 2000)
    assert told(w)[0] == peak
    f.stop()


@pytest.mark.parametrize("jump", [7000, 600_000, -600_000])
def test_the_hole_of_a_jump_is_no_time(weir, jump):
    """A publisher's clock jumps: its bytes are not spread over the hole."""
    w = start(weir)
    f = Feed(w.rtmp, start_time=1_000_000).head()
    send(f, *[4000] * 4)
    f.origin += jump
    f.next += GOP - f.next % GOP
    send(f, *[4000] * 4)

    def close():
        return 0.9 * bits(4000) < told(w)[1] < 1.2 * bits(4000)
    wait_for(close, 2, "an average")
    f.stop()
