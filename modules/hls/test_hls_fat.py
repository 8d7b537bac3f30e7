"""Streams of many bits a second, and what memory keeps of them."""
# SPDX-License-Identifier: BSD-2-Clause

import copy

import pytest

from enhanced_publisher import Clips, EnhancedPublisher, Track
from hls_outputs import Taker, compare_samples, publish_all
from hls_play import AT
from http_client import get

RATE = 25  # pictures a second


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def fat(clip, bits):
    """With filler data (H.264, 7.4.2.7), so many bits a second."""
    size = bits // 8 // RATE
    clip = copy.copy(clip)
    clip.frames = [
        (dts, pts, key, body + (size - len(body) - 4).to_bytes(4, "big") +
         b"\x0c" + b"\xff" * (size - len(body) - 6) + b"\x80")
        for dts, pts, key, body in clip.frames]
    return clip


def publisher(w, clips, bits):
    return EnhancedPublisher(w.rtmp, tracks=[
        Track(fat(clips.make("h264", seconds=2, rate=RATE, size="160x90"),
                  bits)),
        Track(clips.make("aac", seconds=2))])


def test_25_megabits(weir, clips):
    """All that a list may have, and each byte of it, every two seconds of 6
    MB."""
    w = weir(locations=AT % "", hold="100ms",
             live='memory = "256M"; max_stream_memory = "64M";')
    p = publisher(w, clips, 25000000)
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 18, [taker])
    playlist = taker.finish().playlist
    assert playlist.target == 3
    assert 15 <= sum(s.duration for s in playlist.segments) < 19
    assert not taker.tags()
    compare_samples(taker, p)


def test_25_megabits_that_do_not_fit(weir, clips):
    """The reason is said."""
    w = weir(locations=AT % "")
    p = publisher(w, clips, 25000000)
    p.send(12)
    a = get(w.http, "/hls/live/room.m3u8")
    assert a.status == 503 and b"max_stream_memory" in a.body
    assert a.header("retry-after") == "1"
    w.wait_log("it is not offered until there are 4")
    p.leave()
