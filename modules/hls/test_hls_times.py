"""Cuts and times of real streams: key frames near and far, clocks that wrap and
jump, tracks and headers that come and go."""
# SPDX-License-Identifier: BSD-2-Clause

import copy
import time
from fractions import Fraction

import pytest

from enhanced_publisher import (BEFORE_WRAP, MASK, Clips, EnhancedPublisher,
                                Track)
from hls_outputs import (Taker, compare_samples, compare_stretches,
                         compare_transport, publish_all, read_fmp4)
from hls_play import AT
from http_client import get
from rtmp_client import AUDIO

SMALL = {"size": "160x90"}
SECONDS = ('segment = "1s"; max_segment = "2s"; part = "333ms";')


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def start(weir, app="", settings="", **parts):
    return weir(locations=AT % settings, app=app, **{"hold": "100ms", **parts})


def slower(clip, times):
    """So many times as long."""
    clip = copy.copy(clip)
    clip.scale = Fraction(clip.scale) / times
    return clip


# ---- key frames ----

@pytest.mark.parametrize("apart, seconds, target", [
    (0.1, 10, 2), (1, 16, 3), (2, 20, 4), (4, 30, 6), (9, 40, 6),
    (30, 40, 6), (99, 40, 6)])
def test_key_frames(weir, clips, apart, seconds, target):
    """Nothing is wrong with any playlist or part, however far apart they
    are."""
    w = start(weir)
    clip = clips.make("h264", seconds=max(seconds, 36), rate=20,
                      gop=int(apart * 20), **SMALL)
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clip), Track(clips.make("aac", seconds=2))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, seconds, [taker])
    assert taker.finish().playlist.target == target
    assert not taker.tags()
    compare_samples(taker, p)
    (head, data), = taker.files()
    pictures, _ = read_fmp4(head, data)
    assert pictures[0].key
    assert sum(f.key for f in pictures) == sum(s.key for s in p.sent)


@pytest.mark.parametrize("apart", [1, 9])
def test_strict_keys(weir, clips, apart):
    """Either every segment begins with a key frame, or nothing is offered."""
    w = start(weir, "strict_keys = true;")
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make("h264", seconds=36, rate=20, gop=apart * 20,
                         **SMALL))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    if apart == 1:
        publish_all(p, 9, [taker])
        assert taker.finish().playlist.independent
        return
    p.send(8)
    a = get(w.http, "/hls/live/room.m3u8")
    assert a.status == 503 and b"key frame" in a.body
    w.wait_log("strict_keys is set: it is not offered")
    p.stop()


# ---- clocks ----

def test_rtmp_wraps(weir, clips):
    """32 bits of milliseconds, after 49.7 days."""
    w = start(weir)
    p = EnhancedPublisher(w.rtmp, start_time=BEFORE_WRAP, tracks=[
        Track(clips.make("h264", seconds=2, **SMALL)),
        Track(clips.make("aac", seconds=2, rate=44100))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 9, [taker])
    assert p.sent[0].time < MASK < p.sent[-1].time
    assert not taker.finish().tags()
    compare_samples(taker, p)


@pytest.mark.parametrize("settings", ["", 'format = "ts";'])
def test_a_day(weir, clips, tmp_path, settings):
    """26.6 hours, over 2^32 ms of RTMP in their middle and 2^33 of 90 kHz at
    their end."""
    w = start(weir, settings=settings,
              app='segment = "40s"; max_segment = "40s"; part = "5s";')
    clip = slower(clips.make("h264", seconds=2, bframes=0, gop=10, **SMALL),
                  100)  # a picture each 4 s
    day = 2 ** 33 / 90000
    p = EnhancedPublisher(w.rtmp, start_time=MASK - 40000 * 1000,
                          tracks=[Track(clip)])
    p.send(day - 300)
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 600, [taker], step=100)
    taker.finish()
    assert not taker.tags()
    (head, data), = taker.files()
    if settings:
        times = [s.time / 90000 for s in compare_transport(
            data, p, tmp_path / "day.ts", join=day)]
    else:
        compare_samples(taker, p, join=day)
        times = [f.time for f in read_fmp4(head, data)[0]]
    assert len(times) > 100 and times[0] < day < times[-1]


def test_an_hour_of_sound(weir, clips):
    """44.1 kHz: an hour of samples, and not a millisecond besides."""
    w = start(weir)
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make("aac", seconds=2, rate=44100))])
    takers = [Taker(w.http, "/hls/live/room.m3u8") for _ in range(2)]
    p.send(5)
    takers[0].look()
    p.send(3600)
    p.leave()
    (head, data), = takers[0].files()
    first = read_fmp4(head, data)[1][0][0]
    (head, data), = takers[1].finish().files()
    last = read_fmp4(head, data)[1][0][-1]
    # The first one that is offered is found by its time.
    begin = next(i for i, s in enumerate(p.sent)
                 if s.time / 1000 >= first.time - 10)
    count = len(p.sent) - begin
    assert count > 154000
    assert abs(last.time + last.duration - first.time -
               Fraction(count * 1024, 44100)) <= Fraction(1, 1000)


# ---- what changes and comes back ----

def follow_on(weir, tracks, happens, seconds=4, name="room", slack=0,
              allowed=()):
    """A stream to which something happens after four seconds, and again after
    as many; followed until that has left the list."""
    w = start(weir, SECONDS, hold="2s")
    p = EnhancedPublisher(w.rtmp, name=name, tracks=tracks)
    taker = Taker(w.http, f"/hls/live/{name}.m3u8", sound_slack=slack)
    for _ in range(2):
        publish_all(p, seconds, [taker], leaves=False)
        happens(p)
    publish_all(p, 22, [taker])
    taker.finish(allowed)
    return p, taker


def both(clips, codec="h264", sound="aac"):
    return [Track(clips.make(codec, seconds=2, **SMALL)),
            Track(clips.make(sound, seconds=2))]


@pytest.mark.parametrize("codec", ["h264", "vp9"])
def test_other_headers(weir, clips, codec):
    """Another size: DISCONTINUITY and MAP at the next key frame."""
    clip = clips.make(codec, seconds=2, **SMALL)
    large = clips.make(codec, seconds=2)
    p, taker = follow_on(weir, [
        Track(clip, changes=[(4, large), (8, clip)]),
        Track(clips.make("aac", seconds=2))], lambda p: None)
    assert len(taker.tags()) == 2
    assert len(list(taker.files())) == 3
    compare_stretches(taker, p)


@pytest.mark.parametrize("ms", [5000, 600])
def test_clock_jumps(weir, clips, ms):
    """A tag for each gap; decode times never go back."""
    def jumps(p):
        time.sleep(ms / 1000)  # what nothing explains is no gap
        p.jump(ms)
    p, taker = follow_on(weir, both(clips), jumps)
    assert len(taker.tags()) == 2
    assert len(list(taker.files())) == 1
    compare_stretches(taker, p)


@pytest.mark.parametrize("later", [0.1, 0])
def test_another_session(weir, clips, later):
    """Numbers and times go on, whatever clock the publisher has; sound goes on
    behind its end where the publisher is back at once."""
    def again(p):
        p.leave()
        time.sleep(later)  # so much later the stream goes on
        p.come_back(start_time=12345)
    p, taker = follow_on(weir, both(clips), again)
    assert len(taker.tags()) == 2
    assert len(list(taker.files())) == 1
    compare_stretches(taker, p)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("when", ["joins", "ends"])
def test_tracks_come_and_go(weir, clips, kind, when):
    """Pictures or sound that join later, or end.  That pictures pause is known
    after 500 ms: the part that was under way is longer than others, and not
    listed."""
    allowed = ("part-missing", "time") if (when, kind) == ("ends", 0) else ()
    tracks = both(clips)
    if when == "joins":
        tracks[kind].begins = 5.0
    else:
        tracks[kind].ends = 5.0
    p, taker = follow_on(weir, tracks, lambda p: None, allowed=allowed)
    assert len(taker.tags()) == 1
    assert len(list(taker.files())) == 2
    compare_stretches(taker, p)


def test_sound_that_leaves_its_clock(weir, clips):
    """More than 100 ms: its times are set anew, and a tag says so.  Below, it
    is set right without one."""
    for ms, tags in ((150, 2), (60, 0)):
        def leaps(p, ms=ms):
            p.leap(AUDIO, ms)
        p, taker = follow_on(weir, both(clips), leaps,
                             name=f"room{ms}", slack=Fraction(1, 10))
        assert len(taker.tags()) == tags
        compare_stretches(taker, p)
