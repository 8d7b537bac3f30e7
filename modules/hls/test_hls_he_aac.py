"""HE-AAC: the core has half the samples of what comes out, and its times are
those of the core, in every output."""
# SPDX-License-Identifier: BSD-2-Clause

import json

import pytest

import media
from enhanced_publisher import Clips, EnhancedPublisher, Track, he_aac
from hls_outputs import (Endless, Taker, compare_demuxed, compare_samples,
                         compare_stretches, compare_transport, publish_all,
                         published, read_fmp4, without_lost)
from hls_play import AT
from media import Tool
from rtmp_client import AUDIO, VIDEO

@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def sound(clips, how, rate=24000, channels=2):
    return he_aac(clips.make("aac", seconds=2, rate=rate, channels=channels),
                  how, rate, channels)


def pictures(clips):
    return Track(clips.make("h264", seconds=2, size="160x90"))


def played(data, path):
    """Seconds that ffmpeg plays of sound and of pictures."""
    path.write_bytes(data)
    found = {}
    for kind in "av":
        told = json.loads(media.check([
            "ffprobe", *media.QUIET[:3], "-of", "json", "-select_streams",
            kind, "-show_entries", "frame=pts_time,duration_time",
            str(path)]))["frames"]
        times = [float(f["pts_time"]) for f in told]
        assert times == sorted(times)
        found[kind] = times[-1] - times[0]
    return found["a"], found["v"]


def plays_in_step(data, path):
    heard, seen = played(data, path)
    assert abs(heard - seen) < 0.3, (heard, seen)


KINDS = [("sbr", 24000, 2), ("sbr", 22050, 1), ("ps", 24000, 1),
         ("behind", 24000, 2), ("lc", 24000, 2)]


@pytest.mark.parametrize("how, rate, channels", KINDS)
def test_fragmented_mp4(weir, clips, tmp_path, how, rate, channels):
    """Parts, segments, and the stream as one MP4."""
    w = weir(locations=AT % "", hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=[
        pictures(clips), Track(sound(clips, how, rate, channels))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    endless = Endless(w.http, "/hls/live/room.mp4")
    publish_all(p, 8, [taker, endless])
    taker.finish()
    compare_samples(taker, p)
    for head, data in taker.files():
        compare_demuxed(head + data, p, tmp_path / "segments.mp4")
        plays_in_step(head + data, tmp_path / "segments.mp4")
    data = endless.finish()
    compare_demuxed(data, p, tmp_path / "endless.mp4", join=3)
    plays_in_step(data, tmp_path / "endless.mp4")


@pytest.mark.parametrize("how, rate, channels", KINDS)
def test_transport_streams(weir, clips, tmp_path, how, rate, channels):
    """ADTS says the core."""
    w = weir(locations=AT % 'format = "ts";', hold="100ms", workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=[
        pictures(clips), Track(sound(clips, how, rate, channels))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 8, [taker])
    taker.finish()
    (_, data), = taker.files()
    compare_transport(data, p, tmp_path / "segments.ts")
    plays_in_step(data, tmp_path / "segments.ts")


@pytest.mark.parametrize("how", ["sbr", "ps"])
def test_sound_apart_and_alone(weir, clips, tmp_path, how):
    channels = 1 if how == "ps" else 2
    w = weir(locations=AT % "separate_audio = true;", hold="100ms", workers=2)
    for name, tracks in (("both", [pictures(clips)]), ("alone", [])):
        p = EnhancedPublisher(w.rtmp, name=name, tracks=tracks + [
            Track(sound(clips, how, channels=channels))])
        takers = [Taker(w.http, f"/hls/live/{name}.m3u8", rendition=r)
                  for r in (["rendition=v", "rendition=a0"] if tracks
                            else [None])]
        publish_all(p, 8, takers)
        begin = None
        for taker in takers:
            begin = compare_samples(taker.finish(), p, begin=begin)


def change(weir, clips, settings, *kinds, late=0):
    """A stream whose sound becomes another after four seconds each, and so
    many more: within a part."""
    w = weir(locations=AT % settings, hold="100ms", workers=2,
             app='segment = "1s"; max_segment = "2s"; part = "333ms";')
    first, *others = (sound(clips, *kind) for kind in kinds)
    p = EnhancedPublisher(w.rtmp, tracks=[pictures(clips), Track(
        first, changes=[(4 * i + 4 + late, c) for i, c in enumerate(others)])])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 4 * len(kinds) + 2, [taker])
    taker.finish()
    assert len(taker.tags()) == len(others)
    return p, taker


@pytest.mark.parametrize("kinds", [
    (("lc", 48000), ("sbr",), ("lc", 48000)),
    (("sbr",), ("lc", 24000), ("ps", 24000, 1)),
    (("lc", 44100), ("behind",), ("sbr", 22050))],
    ids=lambda kinds: "-".join(k[0] for k in kinds))
@pytest.mark.parametrize("late", [0, 0.15])
def test_changes_between_them(weir, clips, kinds, late):
    """No frame stands with the header of another, and each is where the clock
    of the pictures has it."""
    p, taker = change(weir, clips, "", *kinds, late=late)
    found = compare_stretches(taker, p)
    begin = found[VIDEO][0].time - published(p, VIDEO)[0].time
    told = without_lost(found[AUDIO], published(p, AUDIO, timed=False), 100)
    for g, t in zip(found[AUDIO], told):
        assert abs(g.time - t.time - begin) < 0.1, (g[:4], t[:4], float(begin))
        assert g.duration < 0.1
    files = list(taker.files())
    assert len(files) == len(kinds)
    for (head, data), kind in zip(files, kinds):
        own = {body for *_, body in sound(clips, *kind).frames}
        (heard,) = read_fmp4(head, data, sound_slack=10 ** 9,
                             slack=10 ** 9)[1]
        assert heard and {f.data for f in heard} <= own


def test_changes_in_transport_streams(weir, clips, tmp_path):
    p, taker = change(weir, clips, 'format = "ts";', ("lc", 48000), ("sbr",))
    (_, data), = taker.files()
    plays_in_step(data, tmp_path / "segments.ts")


def lengths(framecrc):
    """Seconds of pictures and of sound."""
    units, ends = {}, {}
    for line in framecrc.splitlines():
        row = line.replace(" ", "").split(",")
        if line.startswith("#tb "):
            number, unit = line[4:].split(": ")
            units[int(number)] = float(unit.split("/")[1])
        elif not line.startswith("#"):
            ends[int(row[0])] = int(row[2]) + int(row[3])
    return [ends[i] / units[i] for i in sorted(ends)]


@pytest.mark.parametrize("settings", ["", 'format = "ts";'])
def test_players(weir, clips, tool, settings):
    """GStreamer and ffmpeg play it as long as it lasts."""
    w = weir(locations=AT % settings, workers=2)
    p = EnhancedPublisher(w.rtmp, tracks=[
        pictures(clips), Track(sound(clips, "sbr"))])
    p.send(8)
    p.run()
    url = w.http_url("/hls/live/room.m3u8")
    player = tool(Tool(
        "gst-launch-1.0", "-q", "playbin3", f"uri={url}",
        "video-sink=fakesink sync=true num-buffers=150",
        "audio-sink=fakesink sync=true num-buffers=120"))
    told = media.check(["ffmpeg", "-v", "error", "-xerror", "-i", url, "-t",
                        "6", "-map", "0:v", "-map", "0:a", "-f", "framecrc",
                        "-"], 120)
    assert [round(seconds) for seconds in lengths(told)] == [6, 6]
    player.wait(60)
    p.stop()
