"""Players as people have them: how far behind they are, how they bear a
publisher that goes and comes, and what they play."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import time

import pytest

from enhanced_publisher import (BEFORE_WRAP, VIDEO_CODECS, Clips,
                                EnhancedPublisher, Track, he_aac)
from hls_check import Viewer
from hls_endure import SETTINGS, TARGET, Ffmpeg, Loop, make_loop
from hls_page import Page
from media import Tool
from patience import busy
from weir import wait_for

pytestmark = pytest.mark.once

# They begin one by one, when the page is there.
AS_IT_COMES = {"url": TARGET, "numbered": True, "after": 2000}
CATCHES_UP = {**AS_IT_COMES, "config": {"maxLiveSyncPlaybackRate": 1.1},
              "after": 5000}
PLAIN = {**AS_IT_COMES, "config": {"lowLatencyMode": False}, "after": 8000}


# ---- how far behind ----

def late(source, shown, clock):
    """Seconds from a picture's arrival to its being shown."""
    result = []
    for at, number in shown:
        assert number in source.sent, f"picture {number}"
        result.append(clock + at / 1000 - source.sent[number])
    return result


def percentile(values, share):
    return sorted(values)[int(len(values) * share)]


def wait_segments(w):
    """There are enough to begin three of them behind."""
    with Viewer(w.http, TARGET) as first:
        first.start(wait=30)
        wait_for(lambda: len(first.reload().listed) > 4, 60, "segments")


def watch(weir, folder, plans, begin, seconds):
    """What each player told, with its latencies after `begin` seconds."""
    w = weir(workers=2, **SETTINGS)
    source = Loop(w.rtmp, make_loop(folder / "loop.flv"))
    page = None
    try:
        wait_segments(w)
        page = Page(w, plans)
        clock = page.clock()
        time.sleep(begin)
        before, all_late = page.told(), [[] for _ in plans]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(2)
            told = page.told()
            for of_one, p in zip(all_late, told):
                of_one += late(source, p["shown"], clock)
    finally:
        source.stop()
        if page:
            page.quit()
    return [summary(*of_one) for of_one in zip(before, told, all_late)]


def summary(before, told, all_late):
    """Of what happened since `before`; printed, too."""
    result = {key: told[key][len(before[key]):]
              for key in ("stalls", "waits", "errors", "fatal")}
    result["pictures"] = told["pictures"] - before["pictures"]
    for share in (0, 50, 95, 99):
        result[f"p{share}"] = round(percentile(all_late, share / 100), 2)
    result["most"] = round(max(all_late), 2)
    print(result, "before: ", before["errors"])
    return result


def test_how_late(weir, tmp_path):
    soon, plain = watch(weir, tmp_path, [AS_IT_COMES, PLAIN], 0, 6)
    assert soon["p50"] < busy(1.6)
    assert plain["p50"] < busy(8)


@pytest.mark.soak
def test_how_late_for_long(weir, tmp_path):
    """$WEIR_SOAK seconds, with parts and without."""
    plans = [AS_IT_COMES, CATCHES_UP, PLAIN]
    told = watch(weir, tmp_path, plans, 30, int(os.environ["WEIR_SOAK"]))
    for p, longest in zip(told, (1.6, 1.6, 3 * 2 + 2)):
        assert p["p95"] <= longest
        assert not p["stalls"] and not p["waits"] and not p["fatal"]


# ---- a publisher that comes back ----

class Away:
    """A publisher that goes and comes, and three players of its stream."""

    def __init__(self, w, folder):
        self.source = Loop(w.rtmp, make_loop(folder / "loop.flv"))
        self.backs = []
        self.page = self.ffmpeg = None
        try:
            wait_segments(w)
            self.ffmpeg = Ffmpeg(w)
            self.page = Page(w, [
                {"url": TARGET}, {"url": TARGET, "native": True}])
            self.clock = self.page.clock()
            wait_for(lambda: self.ffmpeg.count > 25, 40, "ffmpeg plays")
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.source.stop()
        if self.ffmpeg:
            self.ffmpeg.kill()
        if self.page:
            self.page.quit()

    def leave(self, seconds):
        """And come back; until all have had enough time to play again."""
        before = self.source.sessions
        self.source.leave()
        time.sleep(seconds)
        self.source.back()
        wait_for(lambda: self.source.sessions > before, 10, "the publisher")
        self.backs.append(time.monotonic())
        at, count = [p["at"] for p in self.page.told()], self.ffmpeg.count
        time.sleep(6)
        wait_for(lambda: self.ffmpeg.count > count + 25 and all(
            p["at"] > a + 1 for p, a in zip(self.page.told(), at)), 20,
            "all play again")

    def stalls(self):
        """For each player, of each stall [s after the last return, length]."""
        told = self.page.told()
        assert not any(p["fatal"] for p in told), told
        everyone = [[(self.clock + a / 1000, b / 1000) for a, b in p["stalls"]]
                    for p in told] + [self.ffmpeg.stalls]
        return [[(round(a + b - max(k for k in self.backs if k <= a + b), 2),
                  round(b, 2)) for a, b in stalls if a + b >= self.backs[0]]
                for stalls in everyone]


def come_and_go(weir, folder, times, slack):
    """hls.js, which takes parts, plays within 2 s of a return; players of whole
    segments within a segment more.  ffmpeg has not run out, and keeps to the
    stream's times: it stands still for as long as there was no publisher."""
    w = weir(workers=2, **SETTINGS)
    away = Away(w, folder)
    try:
        for seconds in times:
            away.leave(seconds)
        parts, native, whole = away.stalls()
    finally:
        away.stop()
    print("hls.js", parts, "native", native, "ffmpeg", whole)
    assert all(end <= 2 + slack for end, _ in parts), parts
    assert all(end <= 4 + slack for end, _ in native), native
    assert all(length <= max(times) + 2 + slack for _, length in whole), whole


def test_three_returns(weir, tmp_path):
    come_and_go(weir, tmp_path, (0.2, 3, 7), busy(2))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(4))
def test_twenty_returns(weir, tmp_path, first):
    """Five to a page: each time that its sound ran out, Chromium waits for more
    of it, in the end for 3 s."""
    times = [0.2 + 8.8 * i / 19 for i in range(20)]
    come_and_go(weir, tmp_path, times[first::4], 0)


# ---- what they play ----

SMALL = {"size": "160x90"}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def tracks_of(clips, names):
    return [Track(clips.make(name, seconds=2,
                             **(SMALL if name in VIDEO_CODECS else {})),
                  number=max(0, i - 1)) for i, name in enumerate(names)]


def play(p, w):
    """hls.js and the browser itself show and hear what is published."""
    plans = [{"url": TARGET, "native": native} for native in (False, True)]
    page = None
    p.send(8)
    p.run()
    try:
        page = Page(w, plans)

        def all_play():
            told = page.told()
            assert not any(t["fatal"] for t in told), told
            return all(t["at"] > 4 and t["width"] == 160 and
                       t["pictures"] > 50 and t["sound"] > 1000
                       for t in told)
        wait_for(all_play, 30, "pictures and sound")
    finally:
        if page:
            page.quit()
        p.stop()


@pytest.mark.parametrize("names", [
    ("vp9", "opus"), ("av1", "flac"), ("h264", "aac", "opus")], ids="-".join)
def test_codecs_in_chromium(weir, clips, names):
    w = weir(workers=2, **SETTINGS)
    play(EnhancedPublisher(
        w.rtmp, tracks=tracks_of(clips, names)), w)


def test_he_aac_in_chromium(weir, clips):
    w = weir(workers=2, **SETTINGS)
    clip = he_aac(clips.make("aac", seconds=2, rate=24000), "sbr", 24000, 2)
    play(EnhancedPublisher(
        w.rtmp, tracks=tracks_of(clips, ("h264",)) + [Track(clip)]), w)


@pytest.mark.parametrize("begin", [2 ** 31 - 12000, BEFORE_WRAP - 7000])
def test_a_day_in_chromium(weir, clips, begin):
    """Times of more than 24 hours, over the wraps of timestamps at 24.8 and
    49.7 days."""
    w = weir(workers=2, **SETTINGS)
    p = EnhancedPublisher(w.rtmp, start_time=begin - 86400000,
                          tracks=tracks_of(clips, ("h264", "aac")))
    p.send(4)
    p.jump(86400000)
    play(p, w)


def test_gstreamer(weir, clips, tool):
    w = weir(workers=2, **SETTINGS)
    p = EnhancedPublisher(w.rtmp, tracks=tracks_of(clips, ("h264", "aac")))
    p.send(8)
    p.run()
    player = tool(Tool(
        "gst-launch-1.0", "-q", "playbin3", f"uri={w.http_url(TARGET)}",
        "video-sink=fakesink sync=true num-buffers=150",
        "audio-sink=fakesink sync=true num-buffers=250"))
    player.wait(60)
    p.stop()
