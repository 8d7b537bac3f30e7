"""Real publishers and players: what comes out is, packet for packet, what
went in."""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess

import flv
import media
from control_client import Control, wait_players
from feed import STEP, Feed
from http_client import Http
from rtmp_client import Rtmp
from weir import wait_for


def test_ffmpeg_rtmp_packet_for_packet(weir, tool, sample, tmp_path):
    w = weir(workers=2, hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.ffmpeg_record(w.rtmp_url("room"), out))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait()
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_ffmpeg_http_flv_packet_for_packet(weir, tool, sample, tmp_path):
    w = weir(workers=2, hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.Tool("curl", "-sS", "--fail", "-o", str(out),
                             w.flv_url("room")))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait()
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_ffmpeg_plays_http_flv(weir, tool, sample, tmp_path):
    w = weir(hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.ffmpeg_record(w.flv_url("room"), out))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait()
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_real_time_join_starts_at_a_key_frame(weir, tool, sample, tmp_path):
    w = weir(workers=2, hold="300ms")
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"), 0.5))
    with Control(w) as c:  # two key frames and more are behind it
        wait_for(lambda: [s for s in c.json("show streams")
                          if s["frames"] > 100], 10, "frames")
    out = tmp_path / "out.flv"
    tool(media.ffmpeg_record(w.rtmp_url("room"), out)).wait()
    got = media.by_stream(media.packets(out))[0]
    sent = [row[2] for row in media.by_stream(media.packets(sample))[0]]
    at = sent.index(got[0][2])
    assert at > 0 and at % 25 == 0, "does not start at a key frame"
    assert [row[2] for row in got] == sent[at:]


def test_rtmpdump_plays(weir, tool, sample, tmp_path):
    w = weir(hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.Tool("rtmpdump", "--live", "-q", "-r",
                             w.rtmp_url("room"), "-o", str(out)))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait(expect=None)
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_rtmpdump_stops_where_it_wants(weir, tool, tmp_path):
    """-B: the server ends the play."""
    w = weir()
    f = Feed(w.rtmp).head().run()
    out = tmp_path / "out.flv"
    tool(media.Tool("rtmpdump", "-q", "-B", "3", "-r", w.rtmp_url("room"),
                    "-o", str(out))).wait(timeout=30, expect=None)
    times = [t.time for t in flv.read_file(out) if t.type == flv.VIDEO]
    assert max(times) - min(times) == 3000 - STEP
    wait_players(w, 0)
    f.stop()


GST_SOURCE = [
    "gst-launch-1.0", "-q", "-e",
    "videotestsrc", "num-buffers=100", "is-live=true", "!",
    "video/x-raw,width=320,height=180,framerate=25/1", "!", "x264enc",
    "key-int-max=25", "tune=zerolatency", "speed-preset=ultrafast", "!",
    "video/x-h264,profile=baseline", "!", "mux.",
    "audiotestsrc", "num-buffers=170", "is-live=true", "!",
    "audio/x-raw,rate=44100", "!", "avenc_aac", "!", "mux.",
    "flvmux", "name=mux", "streamable=true", "!",
]


def test_gstreamer_publishes(weir, tool, tmp_path):
    w = weir(hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.ffmpeg_record(w.rtmp_url("gst"), out))
    wait_players(w)
    tool(media.Tool(*GST_SOURCE, "rtmp2sink",
                    f"location={w.rtmp_url('gst')}")).wait()
    player.wait()
    streams = media.by_stream(media.packets(out))
    assert sorted(len(rows) > 90 for rows in streams.values()) == \
        [True, True]
    check = subprocess.run(
        ["ffmpeg", *media.QUIET, "-i", str(out), "-f", "null", "-"],
        capture_output=True, text=True, check=False)
    assert check.returncode == 0
    assert "rror" not in check.stderr


def test_gstreamer_plays(weir, tool, sample, tmp_path):
    w = weir(hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.Tool(
        "gst-launch-1.0", "-q", "-e", "rtmp2src",
        f"location={w.rtmp_url('room')}", "!", "filesink",
        f"location={out}"))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait(expect=None)
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_two_segment_path_plays_by_either_url(weir, tool, sample, tmp_path):
    """app = first segment, the rest is the stream's name; ffmpeg says
    app "live/inst"."""
    w = weir(hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.ffmpeg_record(w.rtmp_url("inst/room"), out))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("inst/room?k=v"))).wait()
    player.wait()
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_curl_head_and_body_of_a_live_stream(weir):
    w = weir(hold="300ms")
    f = Feed(w.rtmp).head().frames(3)
    with Http(w.http) as c:
        c.send("GET", "/live/room.flv")
        assert c.head().status == 200
    f.stop()


def test_ffprobe_sees_codecs_of_a_running_stream(weir, tool, sample):
    w = weir(hold="300ms")
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"), 1.0, for_ever=True))
    for url in (w.rtmp_url("room"), w.flv_url("room")):
        text = media.check(["ffprobe", "-v", "error", "-show_entries",
                            "stream=codec_name", "-of", "csv=p=0", url])
        assert {"aac", "h264"} <= set(text.split())


def test_handshakes_of_all_kinds(weir):
    w = weir(hold="300ms")
    for kind in ("simple", "digest0", "digest1"):
        with Rtmp(w.rtmp, handshake=kind) as c:
            c.connect("live")
