"""Messages that say nothing of their track: empty ones, as encoders of drones
send them, and single ones of another codec.  They change nothing."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from enhanced_publisher import Clips, EnhancedPublisher, Track, read_message
from flv_client import FlvPlayer
from hls_outputs import (Endless, Taker, compare_demuxed, compare_samples,
                         compare_stretches, compare_transport, demuxed,
                         publish_all)
from hls_play import AT
from http_client import get
from rtmp_client import AUDIO, VIDEO, player

MP3 = bytes.fromhex("fffb9044") + bytes(413)
H263 = bytes.fromhex("000084000c1a") + bytes(20)

STRAYS = {
    "empty": [(VIDEO, b""), (AUDIO, b"")],
    # Legacy tags: of frames, of key frames, of codec headers.
    "heads": [(VIDEO, b"\x17"), (VIDEO, b"\x27"), (VIDEO, b"\x17\1\0\0\0"),
              (VIDEO, b"\x27\1\0\0\0"), (VIDEO, b"\x17\0\0\0\0"),
              (VIDEO, b"\x17\0"), (AUDIO, b"\xaf"), (AUDIO, b"\xaf\1"),
              (AUDIO, b"\xaf\0")],
    "enhanced-heads": [(VIDEO, b"\x91hvc1\0\0\0"), (VIDEO, b"\x90hvc1"),
                       (VIDEO, b"\x93avc1"), (VIDEO, b"\x90avc1"),
                       (VIDEO, b"\x90"), (AUDIO, b"\x91Opus"),
                       (AUDIO, b"\x90Opus"), (AUDIO, b"\x91mp4a"),
                       (AUDIO, b"\x90mp4a"), (AUDIO, b"\x90")],
    "other-sound": [(AUDIO, b"\x2f" + MP3), (AUDIO, b"\x91.mp3" + MP3),
                    (AUDIO, b"\x91ac-3\x0b\x77" + bytes(60)),
                    (AUDIO, b"\x7f" + bytes(100))],
    "other-pictures": [(VIDEO, b"\x22"), (VIDEO, b"\x12"),
                       (VIDEO, b"\x12" + H263), (VIDEO, b"\x22" + H263),
                       (VIDEO, b"\x91vp08" + bytes(50)),
                       (VIDEO, b"\x91av01" + bytes(50))],
}
LEGACY, ENHANCED, SOUND = ("h264", "aac"), ("hevc", "opus"), ("aac",)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def tracks(clips, names):
    return [Track(clips.make(n, seconds=2, **(
        {"size": "160x90"} if n in ("h264", "hevc") else {}))) for n in names]


def stray(p, kind, payload):
    p.c.send(kind, payload, p.base + p.time, p.c.msid,
             csid=6 if kind == VIDEO else 4)


def publish_among(p, strays, lookers, seconds=8):
    """Each of them four times, never two in a row, in the first half.  Where
    there are no pictures, the first frame of any with a body is one."""
    if p.tracks[0].clip.kind == AUDIO:
        strays = [s for s in strays if s[0] == AUDIO or len(s[1]) < 10]
    publish_all(p, 2.5, lookers, leaves=False)
    for message in strays * 4:
        stray(p, *message)
        p.send(0.1)
        for each in lookers:
            each.look()
    publish_all(p, seconds, lookers, leaves=False)


@pytest.mark.parametrize("strays", STRAYS)
@pytest.mark.parametrize("names", [LEGACY, ENHANCED, SOUND], ids="-".join)
def test_fragmented_mp4(weir, clips, tmp_path, strays, names):
    w = weir(locations=AT % "", hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, names))
    taker = Taker(w.http, "/hls/live/room.m3u8")
    endless = Endless(w.http, "/hls/live/room.mp4")
    publish_among(p, STRAYS[strays], [taker, endless])
    if len(names) > 1:
        (_, codec, frames), = demuxed(
            get(w.http, "/hls/live/room.still.mp4").body, tmp_path / "still")
        assert codec == names[0]
        assert frames[0].data == [s.data for s in p.sent if s.key][-1]
    p.leave()
    taker.finish()
    assert not taker.tags()
    compare_samples(taker, p)
    compare_demuxed(endless.finish(), p, tmp_path / "endless.mp4", join=3)


@pytest.mark.parametrize("strays", STRAYS)
def test_transport_streams(weir, clips, tmp_path, strays):
    w = weir(locations=AT % 'format = "ts";', hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, LEGACY))
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_among(p, STRAYS[strays], [taker])
    p.leave()
    taker.finish()
    assert not taker.tags()
    (_, data), = taker.files()
    compare_transport(data, p, tmp_path / "segments.ts")


def read_all(tags, p, strays):
    """Frames as they were published, whatever stood between; and what came
    first of each kind."""
    got, firsts, last = [], {}, p.sent[-1]
    while not got or (got[-1].stamp, got[-1].data) != (last.stamp, last.data):
        kind, stamp, payload = tags()
        if kind not in (AUDIO, VIDEO):
            continue
        firsts.setdefault(kind, payload)
        if (kind, payload) not in strays:
            read = read_message(kind, stamp, payload)
            got += [] if read.header else [read]
    return got, firsts


@pytest.mark.parametrize("strays", STRAYS)
@pytest.mark.parametrize("names", [LEGACY, SOUND], ids="-".join)
def test_rtmp_and_flv(weir, clips, strays, names):
    """Players go on; one that comes later begins with the right headers and a
    picture that was sent."""
    w = weir(workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, names))
    p.send(1)
    old = player(w.rtmp, "live", "room")
    for message in STRAYS[strays]:
        p.send(0.3)
        stray(p, *message)
    p.send(0.1)
    # The newest stray is newer than the newest key frame.
    late = player(w.rtmp, "live", "room")
    flv = FlvPlayer(w.http, "room")
    flv.read_head()
    p.send(3)

    def rtmp(c):
        m = c.read(AUDIO, VIDEO)
        return m.type, m.time, m.payload

    def tag():
        t = flv.tag()
        return t.type, t.time, t.payload
    for tags in (lambda: rtmp(old), lambda: rtmp(late), tag):
        got, firsts = read_all(tags, p, STRAYS[strays])
        assert [firsts[h[0]] for h in p.headers] == [h[2] for h in p.headers]
        assert len(names) == 1 or next(
            g for g in got if g.kind == VIDEO).key
        for kind in (AUDIO, VIDEO):
            mine = [g.data for g in got if g.kind == kind]
            told = [s.data for s in p.sent if s.kind == kind]
            assert mine == told[len(told) - len(mine):]
    p.stop()


@pytest.mark.parametrize("first, then, at", [
    ("h264", "hevc", 0), ("aac", "opus", 1), ("aac", "mp3", 1),
    ("mp3", "aac", 1)], ids=lambda v: str(v))
def test_another_codec(weir, clips, first, then, at):
    """By a header, or by frames that all are of it."""
    w = weir(locations=AT % "", hold="100ms", workers=2,
             app='segment = "1s"; max_segment = "2s"; part = "333ms";')
    both = tracks(clips, LEGACY)
    both[at] = Track(tracks(clips, (first,))[0].clip, legacy=False, changes=[
        (4, tracks(clips, (then,))[0].clip)])
    p = EnhancedPublisher(w.rtmp, tracks=both)
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 10, [taker])
    taker.finish()
    assert len(taker.tags()) == 1
    compare_stretches(taker, p)


def test_no_still_of_another_codec(weir, clips):
    """Key frames without a header of theirs are no picture of the track."""
    w = weir(locations=AT % "", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, LEGACY))
    p.send(5)
    assert get(w.http, "/hls/live/room.still.mp4").status == 200
    for _ in range(20):
        stray(p, VIDEO, b"\x91hvc1\0\0\0" + bytes(50))
    p.heard()
    assert get(w.http, "/hls/live/room.still.mp4").status == 404
    p.send(2)
    assert get(w.http, "/hls/live/room.still.mp4").status == 200
    p.stop()
