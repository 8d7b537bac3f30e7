"""The tests' own publisher of Enhanced RTMP: players get what it says it sent,
and decoders find in it the frames that were encoded."""
# SPDX-License-Identifier: BSD-2-Clause

import struct
import time

import pytest

import media
from enhanced_publisher import (BEFORE_WRAP, Clips, EnhancedPublisher, MASK,
                                Track, read_message)
from flv_client import FlvPlayer
from rtmp_client import AUDIO, VIDEO, player

START = b"\0\0\0\1"


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def received(c, count):
    """So many frames, and the headers between them."""
    got = []
    while sum(not r.header for r in got) < count:
        m = c.read(AUDIO, VIDEO)
        got.append(read_message(m.type, m.time, m.payload))
    return got


def frames(got):
    return [(r.kind, r.track, r.stamp, r.cts, r.key, r.data) for r in got
            if not r.header]


def told(p):
    return [(s.kind, s.track, s.stamp, s.cts, s.key, s.data) for s in p.sent]


def compare(p, c):
    got = received(c, len(p.sent))
    assert frames(got) == told(p)
    return got


def units(data):
    """NAL units behind lengths of 4 bytes, with start codes."""
    out = b""
    while data:
        size = int.from_bytes(data[:4], "big")
        out, data = out + START + data[4:4 + size], data[4 + size:]
    return out


def hevc_sets(config):
    out, at = b"", 23
    for _ in range(config[22]):
        count, at = int.from_bytes(config[at + 1:at + 3], "big"), at + 3
        for _ in range(count):
            size = int.from_bytes(config[at:at + 2], "big")
            out += START + config[at + 2:at + 2 + size]
            at += 2 + size
    return out


def ivf(fourcc, bodies):
    head = b"DKIF" + struct.pack("<HH4sHHIIII", 0, 32, fourcc, 320, 180, 25,
                                 1, len(bodies), 0)
    return head + b"".join(struct.pack("<IQ", len(b), n) + b
                           for n, b in enumerate(bodies))


def elementary(codec, config, bodies):
    """(format of ffmpeg, bytes) from what a player got."""
    if codec == "hevc":
        return "hevc", hevc_sets(config) + b"".join(map(units, bodies))
    if codec == "vp9":
        return "ivf", ivf(b"VP90", bodies)
    if codec == "av1":  # each with a temporal delimiter
        return "ivf", ivf(b"AV01", [b"\x12\0" + b for b in bodies])
    if codec == "flac":
        return "flac", config[:4] + bytes([config[4] | 0x80]) + \
            config[5:42] + b"".join(bodies)
    return codec, b"".join(bodies)


def decoded(*arguments):
    text = media.check(["ffmpeg", *media.QUIET, *arguments, "-fps_mode",
                        "passthrough", "-f", "framemd5", "-"])
    return [line.replace(" ", "").split(",")[5] for line in text.splitlines()
            if not line.startswith("#")]


@pytest.mark.parametrize("codec", ["hevc", "av1", "vp9", "flac", "ac3",
                                   "eac3", "mp3"])
def test_decoders_find_what_was_encoded(weir, clips, tmp_path, codec):
    w = weir()
    clip = clips.make(codec, seconds=2)
    c = player(w.rtmp, "live", "room")
    p = EnhancedPublisher(w.rtmp, tracks=[Track(clip, legacy=False)])
    p.send(1.999)
    got = compare(p, c)
    count = min(len(clip.frames), len(p.sent))
    config = next((r.data for r in got if r.header), b"")
    bodies = [r.data for r in got if not r.header][:count]
    kind, data = elementary(codec, config, bodies)
    path = tmp_path / "read"
    path.write_bytes(data)
    back = decoded("-f", kind, "-i", str(path))
    assert len(back) > 20
    # The end of the last frame of sound is cut off in the file.
    right = decoded("-ignore_editlist", "1", "-i", str(clip.path))
    if clip.kind == VIDEO:
        assert back == right[:len(back)]
    else:
        assert back[1:-1] == right[1:len(back) - 1]
    p.stop()
    c.close()


@pytest.mark.parametrize("names", [("hevc", "aac"), ("av1", "opus"),
                                   ("vp9", "flac"), ("h264", "ac3")])
def test_players_get_what_was_sent(weir, clips, names):
    w = weir(workers=2)
    c = player(w.rtmp, "live", "room")
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make(n, seconds=2)) for n in names])
    p.send(5)  # each clip twice and a half
    got = compare(p, c)
    assert sum(r.header for r in got) == sum(
        t.clip.config is not None for t in p.tracks)
    times = [s.time + s.cts for s in p.sent if s.kind == VIDEO]
    assert sorted(times) == [min(times) + 40 * n for n in range(len(times))]
    assert sum(s.key for s in p.sent) >= 5
    if names[0] in ("hevc", "h264"):
        assert any(s.cts for s in p.sent)  # there are B frames
    p.stop()
    c.close()


def test_over_http_flv(weir, clips):
    w = weir()
    tracks = [Track(clips.make("hevc", seconds=2)),
              Track(clips.make("aac", seconds=2))]
    c = FlvPlayer(w.http, "room")  # it waits flv_wait for a publisher
    p = EnhancedPublisher(w.rtmp, tracks=tracks)
    p.send(1)
    got = []
    while len(frames(got)) < len(p.sent):
        t = c.tag()
        if t.type in (AUDIO, VIDEO):
            got.append(read_message(t.type, t.time, t.payload))
    assert frames(got) == told(p)
    p.stop()
    c.close()


def test_tracks_of_sound_join_and_pictures_change(weir, clips):
    w = weir()
    c = player(w.rtmp, "live", "room")
    small = clips.make("hevc", seconds=2)
    large = clips.make("hevc", seconds=2, size="640x360")
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(small, changes=[(1.5, large)]),
        Track(clips.make("opus", seconds=2), begins=0.5),
        Track(clips.make("aac", seconds=2, frequency=660), number=1)])
    p.send(3)
    got = compare(p, c)
    assert {(r.kind, r.track) for r in got} == {(VIDEO, 0), (AUDIO, 0),
                                                (AUDIO, 1)}
    headers = [r for r in got if r.header and r.kind == VIDEO]
    assert [r.data for r in headers] == [small.config, large.config]
    assert min(s.time for s in p.sent
               if (s.kind, s.track) == (AUDIO, 0)) == 500
    p.stop()
    c.close()


def test_the_clock_wraps_and_jumps(weir, clips):
    w = weir()
    c = player(w.rtmp, "live", "room")
    p = EnhancedPublisher(w.rtmp, start_time=BEFORE_WRAP, tracks=[
        Track(clips.make("aac", seconds=2))])
    p.send(6)
    assert p.sent[0].stamp == BEFORE_WRAP and p.sent[-1].stamp < 1100
    assert p.sent[-1].time > MASK
    time.sleep(7)  # what nothing explains is no gap
    p.jump(7000).send(0.1)
    assert p.sent[-1].stamp > 7000
    compare(p, c)
    p.stop()
    c.close()


def test_it_comes_back(weir, clips):
    w = weir()
    c = player(w.rtmp, "live", "room")
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make("aac", seconds=2))])
    p.run(speed=20, seconds=1).wait()
    p.heard()
    first = len(p.sent)
    p.leave().come_back(start_time=0).send(1)
    assert {s.session for s in p.sent} == {0, 1}
    got = [r.data for r in received(c, len(p.sent)) if not r.header]
    assert got == [s.data for s in p.sent] and first > 20
    p.stop()
    c.close()
