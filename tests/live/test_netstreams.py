"""Several NetStreams of one connection, whose streams are cut in chunks of
different sizes."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import pytest

import amf0
import flv
from control_client import wait_players
from feed import Feed, number
from rtmp_client import AGGREGATE, COMMAND, VIDEO, Rtmp, aggregate

# A second server for the same names, with chunks of its own.
OTHER = """ ); }}, {{ listen = "127.0.0.1:0"; chunk_size = {size};
  applications = ( {{ name = "live"; publish = "open";
                      idle_timeout = "1h"; }}"""


def two_sizes(weir, size, **more):
    """A weir, and publishers of "a" and "b" with frames of 30 KB."""
    w = weir(apps=OTHER.format(size=size), **more)
    large = Feed(w.port("rtmp", 0), "a", size=30_000, audio=False)
    small = Feed(w.port("rtmp", 1), "b", size=30_000, audio=False, first=100)
    return w, large.head(), small.head()


def play_both(w, **more):
    c = Rtmp(w.rtmp, **more)
    c.connect("live")
    return c, c.play("a"), c.play("b")


def read_both(c, wanted):
    """Frame numbers by NetStream until each has come to the one wanted."""
    got = {msid: [] for msid in wanted}
    while any(last not in got[msid] for msid, last in wanted.items()):
        m = c.read(VIDEO)
        if not flv.is_header(flv.Tag(m.type, 0, m.payload)):
            got[m.msid].append(number(m.payload))
    return got


@pytest.mark.parametrize("size", [128, 4096, 1_000_000])
def test_each_is_read_with_its_own_chunk_size(weir, size):
    w, f, g = two_sizes(weir, size)
    c, a, b = play_both(w)
    for _ in range(10):
        f.frame()
        g.frame()
    assert read_both(c, {a: 9, b: 109}) == \
        {a: list(range(10)), b: list(range(100, 110))}
    f.frames(5)
    g.frames(5)
    assert read_both(c, {a: 14, b: 114}) == \
        {a: list(range(10, 15)), b: list(range(110, 115))}
    c.close()
    f.stop()
    g.stop()


def test_words_in_between_are_cut_as_the_peer_was_told(weir):
    """The answers are longer than a chunk, and come while the connection
    stands inside a frame of one or the other stream."""
    w, f, g = two_sizes(weir, 128, live='window = "10m";')
    c, a, b = play_both(w, receive_buffer=4096)
    msid = c.create_stream()
    f.frames(1)
    g.frames(1)
    assert read_both(c, {a: 0, b: 100}) == {a: [0], b: [100]}
    f.frames(39)
    g.frames(39)  # more than the socket takes
    asked, answered = 0, 0
    got = {a: [], b: []}
    while 39 not in got[a] or 139 not in got[b] or answered < asked:
        if len(got[a]) + len(got[b]) >= 25 * asked and asked < 3:
            c.command("play", None, "nobody", -2000, msid=msid)
            asked += 1
        m = c.read(VIDEO, COMMAND)
        if m.type == COMMAND:
            values = amf0.decode(m.payload)
            answered += values[0] == "onStatus" and \
                values[3]["code"] == "NetStream.Play.Start"
        elif not flv.is_header(flv.Tag(m.type, 0, m.payload)):
            got[m.msid].append(number(m.payload))
    assert got == {a: list(range(1, 40)), b: list(range(101, 140))}
    c.close()
    f.stop()
    g.stop()


def test_the_one_left_goes_on(weir):
    w, f, g = two_sizes(weir, 4096)
    c, a, b = play_both(w)
    f.frames(3)
    g.frames(3)
    read_both(c, {a: 2, b: 102})
    c.command("deleteStream", None, b)
    f.frames(3)
    assert read_both(c, {a: 5}) == {a: [3, 4, 5]}
    wait_players(w, 1)
    c.close()
    f.stop()
    g.stop()


def test_a_large_aggregate_keeps_nobody_waiting(weir):
    """Both have sent before the worker looks: the one frame is handled before
    the end of the aggregate that came before it."""
    w = weir(top='watchdog = "0";', app='gather = "0";')
    large, small = [Feed(w.rtmp, name, audio=False).head().frames(1)
                    for name in "ab"]
    large.c.set_chunk_size(1 << 20)
    c, a, b = play_both(w)
    read_both(c, {a: 0, b: 0})
    body = aggregate(*((VIDEO, n * 40, flv.avc_frame(n, 20))
                       for n in range(1, 1001)))
    os.kill(w.workers()[0], signal.SIGSTOP)
    try:
        large.c.send(AGGREGATE, body, 40, large.c.msid, csid=6)
        small.frame()
    finally:
        os.kill(w.workers()[0], signal.SIGCONT)
    order = [(m.msid, number(m.payload))
             for m in (c.read(VIDEO) for _ in range(1001))]
    assert [n for msid, n in order if msid == a] == list(range(1, 1001))
    assert order.index((b, 1)) < order.index((a, 1000))
    c.close()
    large.stop()
    small.stop()
