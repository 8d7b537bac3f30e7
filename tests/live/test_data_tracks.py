"""Data messages as players see them.  ffmpeg, and all that is built on it, make
a track of each kind of data but |RtmpSampleAccess and onMetaData, of those
where their time is not 0, and cannot copy such a track into a file: so there
are no others than the publisher's own."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import amf0
import flv
import media
from control_client import Control, wait_players
from feed import STEP, Feed, kind
from flv_client import FlvPlayer
from rtmp_client import DATA, DATA3, Rtmp, player
from weir import wait_for

EGRESS = 'egress = [ "allow loopback", "allow all" ];'
TEXT = amf0.encode("onTextData", {"text": "of the publisher"})
SERVER_WORDS = [
    amf0.encode("|RtmpSampleAccess", True, True),
    amf0.encode("onStatus", {"code": "NetStream.Data.Start"}),
    amf0.encode("onPlayStatus", {"code": "NetStream.Play.Switch"}),
]


class RtmpData:
    """All messages that a player gets."""

    def __init__(self, w):
        self.c = player(w.rtmp, "live", "room")

    def next(self):
        m = self.c.kept.popleft() if self.c.kept else self.c._read_any()
        return m.type, m.time, m.payload

    def close(self):
        self.c.close()


class FlvData:
    def __init__(self, w):
        self.c = FlvPlayer(w.http, "room")

    def next(self):
        return self.c.tag()

    def close(self):
        self.c.close()


def data_until(p, wanted):
    """(name, time) of each data message up to a frame."""
    got = []
    while True:
        type_, time, payload = p.next()
        if type_ == DATA:
            got.append((payload[3:3 + payload[2]].decode(), time))
        elif type_ in (8, 9) and kind(type_, payload) == wanted:
            return got


def allowed(got):
    return {("|RtmpSampleAccess", 0), ("onMetaData", 0)} >= set(got)


@pytest.mark.parametrize("way", [RtmpData, FlvData])
def test_data_of_players_are_at_time_0(weir, way):
    """Of who waits, comes late, stays over a return, comes after it, and where
    metadata change meanwhile."""
    w = weir(workers=2, hold="1h")
    waits = way(w)
    wait_players(w, 1)
    f = Feed(w.rtmp, start_time=5000).head().frames(30)
    late = way(w)
    assert allowed(data_until(late, "video 29"))
    f.c.send(DATA, flv.metadata(width=640.0), f.time(), f.c.msid, csid=4)
    f.frames(1)
    assert data_until(late, "video 30") == [("onMetaData", 0)]
    f.c.close()
    g = Feed(w.rtmp, first=50).head().frames(10)
    for p in (waits, late):
        got = data_until(p, "video 59")
        assert allowed(got) and ("onMetaData", 0) in got
    after = way(w)
    assert allowed(data_until(after, "video 59"))
    for p in (waits, late, after):
        p.close()
    g.stop()


@pytest.mark.parametrize("way", [RtmpData, FlvData])
def test_data_of_the_publisher_stay(weir, way):
    w = weir()
    p = way(w)
    f = Feed(w.rtmp).head().frames(10)
    f.c.send(DATA, TEXT, f.time(), f.c.msid, csid=4)
    f.frames(1)
    got = data_until(p, "video 10")
    assert allowed(got[:-1]) and got[-1] == ("onTextData", 10 * STEP)
    p.close()
    f.stop()


@pytest.mark.parametrize("amf3", [False, True])
@pytest.mark.parametrize("words", SERVER_WORDS)
def test_words_of_a_server_are_not_passed_on(weir, words, amf3):
    """By publishers that pass on all that they get as players."""
    w = weir()
    p = FlvData(w)
    f = Feed(w.rtmp).head().frames(10)
    f.c.send(DATA3 if amf3 else DATA, b"\0" * amf3 + words, f.time(),
             f.c.msid, csid=4)
    f.frames(1)
    assert allowed(data_until(p, "video 10"))
    p.close()
    f.stop()


def test_metadata_do_not_end_a_duration(weir):
    """They have no time, also where times are above 2^31."""
    w = weir()
    f = Feed(w.rtmp, start_time=(1 << 31) + 5000).head().frames(1)
    c = Rtmp(w.rtmp)
    c.connect("live")
    c.command("play", None, "room", -1.0, 1000.0, msid=c.create_stream(),
              csid=8)
    for i in range(30):
        f.c.send(DATA, flv.metadata(width=float(i)), f.time(), f.c.msid,
                 csid=4)
        f.frames(1)
    got = []
    while "video 24" not in got:
        m = c.read(DATA, 8, 9)
        got.append(kind(m.type, m.payload))
    c.close()
    f.stop()


# ---- as ffmpeg sees it ----

def tracks(url):
    return media.Tool("ffprobe", "-v", "error", "-show_entries",
                      "stream=index,codec_name", "-of", "csv=p=0", url)


def check_tracks(probe):
    probe.wait(60)
    rows = set(probe.text.split())  # of TS each is told twice
    assert sorted(row.split(",")[1] for row in rows) == ["aac", "h264"]


def wait_frames(w):
    with Control(w) as c:
        wait_for(lambda: [s for s in c.json("show streams")
                          if s["frames"] > 100], 10, "frames")


@pytest.mark.once
def test_ffprobe_sees_sound_and_pictures_alone(weir, tool, sample):
    """A player that waits, late ones, and all again after a return; also of
    what is pulled and pushed."""
    pulls = weir(top=EGRESS, hold="1h", workers=2)
    w = weir(top=EGRESS, hold="1h",
             app=f'push = ( "{pulls.rtmp_url("pushed")}" );')
    last = weir(top=EGRESS, hold="1h", app=
                f'pull = ( {{ name = "a"; url = "{w.rtmp_url("room")}"; }} );')
    waits = [tool(tracks(w.rtmp_url("room"))), tool(tracks(w.flv_url("room")))]
    wait_players(w, 2)
    for _ in range(2):
        p = tool(media.ffmpeg_publish(sample, w.rtmp_url("room"), 1.0,
                                      for_ever=True))
        wait_frames(w)
        for probe in waits:
            check_tracks(probe)
        for url in (w.rtmp_url("room"), w.flv_url("room"),
                    pulls.rtmp_url("pushed"), last.rtmp_url("a"),
                    last.flv_url("a")):
            check_tracks(tool(tracks(url)))
        p.kill()
        waits = []


@pytest.mark.once
@pytest.mark.parametrize("container", ["mp4", "mpegts", "flv"])
def test_ffmpeg_copies_all_tracks(weir, tool, sample, tmp_path, container):
    w = weir()
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"), 1.0, for_ever=True))
    wait_frames(w)
    for url in (w.rtmp_url("room"), w.flv_url("room")):
        out = tmp_path / "out"
        tool(media.Tool("ffmpeg", *media.QUIET, "-y", "-t", "2", "-i", url,
                        "-map", "0", "-c", "copy", "-f", container,
                        str(out))).wait(60)
        check_tracks(tool(tracks(str(out))))
