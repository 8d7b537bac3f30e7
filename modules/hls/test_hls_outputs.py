"""Every output holds, frame by frame, what was published."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from enhanced_publisher import (MANY, MANY_CODECS, ONE, Clips,
                                EnhancedPublisher, PicturesTogether,
                                TogetherPublisher, Track)
from flv_client import FlvPlayer
from hls_outputs import (Endless, Taker, WsPlayer, compare_demuxed,
                         compare_flv, compare_samples, compare_transport,
                         demuxed, publish_all)
from hls_play import AT
from http_client import get
from weir import wait_for


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def tracks_of(clips, names):
    small = {"size": "160x90"}
    return [Track(clips.make(n, seconds=2, **(
        small if n in ("h264", "hevc", "av1", "vp9") else {})))
        for n in names]


@pytest.mark.parametrize("names", [
    ("h264", "aac"), ("hevc", "mp3"), ("av1", "opus"), ("vp9", "flac"),
    ("h264", "ac3"), ("hevc", "eac3"), ("h264",), ("vp9",), ("aac",),
    ("opus",)], ids="-".join)
def test_fragmented_mp4(weir, clips, tmp_path, names):
    """Parts, segments, and the stream as one MP4."""
    w = weir(locations=AT % "", hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks_of(clips, names))
    taker = Taker(w.http, "/hls/live/room.m3u8")
    endless = Endless(w.http, "/hls/live/room.mp4")
    publish_all(p, 8, [taker, endless])
    taker.finish()
    compare_samples(taker, p)
    for head, data in taker.files():
        compare_demuxed(head + data, p, tmp_path / "segments.mp4")
    assert taker.parts_taken > 10
    compare_demuxed(endless.finish(), p, tmp_path / "endless.mp4", join=3)


@pytest.mark.parametrize("names", [
    ("h264", "aac"), ("hevc", "mp3"), ("h264", "ac3"), ("hevc", "eac3"),
    ("h264",), ("aac",), ("mp3",)], ids="-".join)
def test_transport_streams(weir, clips, tmp_path, names):
    w = weir(locations=AT % 'format = "ts";', hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks_of(clips, names))
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 8, [taker])
    taker.finish()
    (_, data), = taker.files()
    compare_transport(data, p, tmp_path / "segments.ts")


@pytest.mark.parametrize("settings", ["", "separate_audio = true;"])
def test_sounds_of_their_own(weir, clips, tmp_path, settings):
    """Several tracks of sound, and one that is apart: each with the pictures'
    times."""
    w = weir(locations=AT % settings, hold="100ms", workers=2)
    tracks = tracks_of(clips, ("h264", "aac"))
    if not settings:
        tracks += [Track(clips.make("opus", seconds=2), number=3),
                   Track(clips.make("ac3", seconds=2, rate=44100), number=7)]
    p = EnhancedPublisher(w.rtmp, tracks=tracks)
    takers = {n: Taker(w.http, "/hls/live/room.m3u8",
                       rendition=f"rendition={n}")
              for n in ["v"] + [f"a{t.number}" for t in tracks[1:]]}
    publish_all(p, 8, takers.values())
    begin = None
    for name, taker in takers.items():
        (head, data), = taker.finish().files()
        number = int(name[1:] or "0")
        begin = compare_samples(taker, p, number, begin)
        compare_demuxed(head + data, p, tmp_path / f"{name}.mp4", (number,))


TOGETHER = {
    "one codec": (MANY, ("h264",), {0: "aac", 1: "aac", 5: "aac"}),
    "without pictures": (MANY, (), {0: "aac", 1: "aac"}),
    "no codec headers": (MANY, ("h264",), {1: "ac3", 2: "ac3"}),
    "codecs": (MANY_CODECS, ("hevc",), {0: "opus", 3: "flac", 7: "opus"}),
    "other lengths": (MANY_CODECS, ("h264",), {0: "aac", 1: "ac3", 2: "opus"}),
}


@pytest.mark.parametrize("row", TOGETHER)
def test_sounds_in_one_message(weir, clips, tmp_path, row):
    """Each is a rendition, as those that come in messages of their own; the
    first one is in the stream as one MP4."""
    how, pictures, sounds = TOGETHER[row]
    w = weir(locations=AT % "", hold="100ms", workers=2)
    tracks = tracks_of(clips, pictures) + [
        Track(clips.make(codec, seconds=2, frequency=300 + 100 * number,
                         **({"frame": 960} if codec == "flac" else {})),
              number=number) for number, codec in sounds.items()]
    p = TogetherPublisher(w.rtmp, tracks=tracks, how=how)
    takers = {n: Taker(w.http, "/hls/live/room.m3u8",
                       rendition=f"rendition={n}")
              for n in ["v"] * len(pictures) + [f"a{n}" for n in sounds]}
    endless = Endless(w.http, "/hls/live/room.mp4", sound=next(iter(sounds)))
    publish_all(p, 8, [*takers.values(), endless])
    begin = None
    for name, taker in takers.items():
        (head, data), = taker.finish().files()
        number = int(name[1:] or next(iter(sounds)))
        begin = compare_samples(taker, p, number, begin)
        compare_demuxed(head + data, p, tmp_path / f"{name}.mp4", (number,))
    compare_demuxed(endless.finish(), p, tmp_path / "endless.mp4",
                    (next(iter(sounds)),), join=3)


PICTURES = {
    "alone": (ONE, "h264", "h264"), "one codec": (MANY, "h264", "h264"),
    "codecs": (MANY_CODECS, "hevc", "av1"),
}


@pytest.mark.parametrize("row", PICTURES)
def test_smaller_pictures_beside_others(weir, clips, tmp_path, row):
    """The lowest track is seen, also where its messages begin with another
    one."""
    how, codec, other = PICTURES[row]
    w = weir(locations=AT % "", hold="1s", workers=2)
    pictures = PicturesTogether(
        clips.make(codec, seconds=2, size="160x90"),
        clips.make(other, seconds=2, size="112x64"), how=how)
    p = EnhancedPublisher(w.rtmp, tracks=[pictures,
                                          *tracks_of(clips, ("aac",))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    endless = Endless(w.http, "/hls/live/room.mp4")
    publish_all(p, 8, [taker, endless], leaves=False)
    still = get(w.http, "/hls/live/room.still.mp4")
    p.leave()
    (_, name, frames), = demuxed(still.body, tmp_path / "still.mp4")
    assert (name, frames[0].data) == \
        (codec, [s.data for s in p.sent if s.key][-1])
    taker.finish()
    compare_samples(taker, p)
    for head, data in taker.files():
        compare_demuxed(head + data, p, tmp_path / "segments.mp4")
    compare_demuxed(endless.finish(), p, tmp_path / "endless.mp4", join=3)


@pytest.mark.parametrize("over", ["http", "websocket"])
def test_flv(weir, clips, over):
    w = weir(workers=2)
    tracks = tracks_of(clips, ("hevc", "aac"))
    p = EnhancedPublisher(w.rtmp, tracks=tracks + [
        Track(clips.make("opus", seconds=2), number=1)])
    p.send(0)  # the first key frame: the player begins with it
    player = FlvPlayer(w.http, "room") if over == "http" \
        else WsPlayer(w.http, "room")
    if over == "http":
        player.read_head()
    p.send(5)
    compare_flv(player, p)
    player.close()
    p.stop()


def test_still(weir, clips, tmp_path):
    """The newest key frame, of each codec."""
    w = weir(locations=AT % "")
    for codec in ("h264", "hevc", "av1", "vp9"):
        p = EnhancedPublisher(w.rtmp, name=codec,
                              tracks=tracks_of(clips, (codec, "aac")))
        p.send(3)
        a = wait_for(lambda: (lambda a: a.status == 200 and a)(
            get(w.http, f"/hls/live/{codec}.still.mp4")), 10, codec)
        (kind, name, frames), = demuxed(a.body, tmp_path / f"{codec}.mp4")
        assert (kind, name) == ("video", codec)
        assert [f.data for f in frames] == \
            [[s.data for s in p.sent if s.key][-1]]
        p.stop()
