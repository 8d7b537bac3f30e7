"""NAME.mp4, the stream as one MP4 without end, and NAME.still.mp4, its newest
key frame."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import socket
import subprocess

import pytest

from browser import Browser
from control_client import Control
from enhanced_publisher import Clips, EnhancedPublisher, Track
from feed import Feed
from hls_fmp4 import Fmp4Faults, boxes_of
from hls_outputs import Endless, read_fmp4
from hls_play import AT
from http_client import Http, get
from media import QUIET, Tool, check
from patience import busy
from rtmp_client import AUDIO
from weir import configuration, wait_for


def start(weir, **parts):
    return weir(configuration(**parts).replace(
        '{ module = "flv";', '{ module = "hls"; }, { module = "flv";'))


def publish(url, *how, size="320x180"):
    return Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi", "-i",
                f"testsrc2=size={size}:rate=25", "-f", "lavfi", "-i", "sine",
                "-c:v", "libx264", "-preset", "ultrafast", "-tune",
                "zerolatency", "-g", "25", "-pix_fmt", "yuv420p", *how,
                "-c:a", "aac", "-f", "flv", url)


def probe(path, *arguments):
    return json.loads(check(["ffprobe", *QUIET[:3], "-of", "json",
                             "-show_streams", *arguments, str(path)]))


def still(w, *headers, method="GET", name="test"):
    with Http(w.http) as c:
        c.send(method, f"/live/{name}.still.mp4", *headers)
        return c.answer(method)


def wait_still(w):
    return wait_for(lambda: (a := still(w)).status == 200 and a, 20, "a still")


def test_the_newest_key_frame_is_a_picture(weir, tool, tmp_path):
    w = start(weir)
    assert still(w).status == 404
    tool(publish(w.rtmp_url("test")))
    a = wait_still(w)
    assert a.header("Content-Type") == "video/mp4"
    assert a.header("Cache-Control") == "public, max-age=1"
    assert int(a.header("Content-Length")) == len(a.body)
    path = tmp_path / "still.mp4"
    path.write_bytes(a.body)
    found = probe(path, "-count_frames")["streams"]
    assert [(s["codec_name"], s["width"], s["height"], s["nb_read_frames"])
            for s in found] == [("h264", 320, 180, "1")]
    # The next one is another.
    tag = a.header("ETag")
    b = wait_for(lambda: (b := still(w)).header("ETag") != tag and b, 10)
    assert b.status == 200 and b.body != a.body
    assert still(w, f"If-None-Match: {tag}").status == 200
    head = still(w, method="HEAD")
    assert head.status == 200 and head.body == b""
    assert wait_for(lambda: still(
        w, f'If-None-Match: {still(w).header("ETag")}').status == 304, 10)


def test_sound_alone_has_no_picture(weir, tool):
    w = start(weir)
    tool(Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi", "-i", "sine", "-c:a",
              "aac", "-f", "flv", w.rtmp_url("test")))
    wait_for(lambda: get(w.http, "/live/test.m3u8").status == 200, 30)
    assert still(w).status == 404
    w.stop()


def record(w, path, seconds):
    check(["ffmpeg", *QUIET, "-y", "-i", w.http_url("/live/test.mp4"), "-t",
           str(seconds), "-c", "copy", str(path)])


@pytest.mark.parametrize("app", ["", 'part = "200ms"; segment = "1s";'])
def test_ffmpeg_plays_it_without_a_gap(weir, tool, tmp_path, app):
    w = start(weir, app=app)
    tool(publish(w.rtmp_url("test")))
    wait_still(w)
    path = tmp_path / "recorded.mp4"
    record(w, path, 5)
    found = {s["codec_type"]: s for s in probe(path)["streams"]}
    assert found["video"]["codec_name"] == "h264"
    assert found["audio"]["codec_name"] == "aac"
    packets = json.loads(check([
        "ffprobe", *QUIET[:3], "-of", "json", "-show_packets",
        "-select_streams", "v", str(path)]))["packets"]
    times = [float(p["dts_time"]) for p in packets]
    assert "K" in packets[0]["flags"] and len(times) > 100
    assert all(0.02 < b - a < 0.06 for a, b in zip(times, times[1:]))
    check(["ffmpeg", *QUIET, "-xerror", "-i", str(path), "-f", "null", "-"])


def test_its_times_begin_when_the_client_comes(weir, tool):
    """VLC waits for the time that an MP4 without end begins with."""
    w = start(weir)
    tool(publish(w.rtmp_url("test")))
    wait_for(lambda: get(w.http, "/live/test.m3u8").status == 200, 30)

    def begins(path):
        return {s["codec_type"]: float(s["start_time"])
                for s in probe(w.http_url(path))["streams"]}
    apart = [b["video"] - b["audio"] for b in (
        begins("/live/test.m3u8"), begins("/live/test.mp4"))]
    assert abs(apart[0] - apart[1]) < 0.05  # sound fits pictures
    for _ in range(3):
        assert all(0 <= t <= 0.2 for t in begins("/live/test.mp4").values())
    assert begins("/live/test.m3u8")["video"] > 5


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


@pytest.mark.parametrize("ms", [-900, -230, 0, 230, 1500])
def test_sound_apart_from_its_pictures(weir, clips, ms):
    """Times of each track go on, and are as far apart as they were sent."""
    w = weir(locations=AT % "", hold="100ms")
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make("h264", seconds=10, bframes=0)),
        Track(clips.make("aac", seconds=10))],
        start_time=5000).leap(AUDIO, ms)
    p.send(0.5)
    endless = Endless(w.http, "/hls/live/room.mp4")
    for _ in range(14):
        p.send(0.5)
        endless.keep_up(p, begins=p.start_time + 3000, behind=4000)
    p.leave()
    data = endless.finish()
    head = boxes_of(data, Fmp4Faults())[2].start
    pictures, (sound,) = read_fmp4(data[:head], data[head:], slack=0)
    sent = {s.data: s.time for s in p.sent}
    begin = pictures[0].time * 1000 - sent[pictures[0].data]
    for s in (sound[0], sound[-1]):
        assert abs(s.time * 1000 - sent[s.data] - begin) <= 45, ms


class Reader:
    """curl that reads an endless answer into a file."""

    def __init__(self, w, path, *arguments):
        self.path = path
        self.process = subprocess.Popen(
            ["curl", "-sS", "-o", str(path), *arguments,
             w.http_url("/live/test.mp4")], stderr=subprocess.PIPE)

    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def running(self):
        return self.process.poll() is None


def test_it_ends_with_other_headers_and_with_the_stream(weir, tool, tmp_path):
    w = start(weir, hold="10s")
    ffmpeg = tool(publish(w.rtmp_url("test")))
    wait_still(w)
    r = tool(Reader(w, tmp_path / "a.mp4"))
    wait_for(lambda: r.size() > 50000, 20)
    ffmpeg.process.kill()
    ffmpeg.process.wait()
    tool(publish(w.rtmp_url("test"), size="640x360"))
    assert r.process.wait(busy(30)) == 0, r.process.stderr.read()
    check(["ffmpeg", *QUIET, "-xerror", "-i", str(r.path), "-f", "null", "-"])
    # It can be had again.
    wait_for(lambda: still(w).status == 200, 20)
    again = tool(Reader(w, tmp_path / "b.mp4"))
    wait_for(lambda: again.size() > 50000, 20)
    assert {s.get("width") for s in probe(again.path)["streams"]} == \
        {640, None}


def test_a_name_that_nobody_publishes(weir):
    w = start(weir)
    assert get(w.http, "/live/test.mp4").status == 404
    f = Feed(w.rtmp, name="test").head().frames(10)
    with Http(w.http) as c:
        c.send("HEAD", "/live/test.mp4")
        assert c.answer("HEAD").status == 200
    f.stop()


def test_it_is_a_player_that_can_be_kicked(weir, tool, tmp_path):
    w = start(weir)
    tool(publish(w.rtmp_url("test")))
    wait_still(w)
    r = tool(Reader(w, tmp_path / "a.mp4"))
    wait_for(lambda: r.size() > 50000, 20)
    with Control(w) as c:
        assert c.ask("kick stream live/test players") == ["kicked: 1"]
    assert r.process.wait(busy(30)) == 0


def newest(w):
    """The number of the newest whole segment."""
    text = get(w.http, "/live/test.m3u8?rendition=all").body.decode()
    found = re.search(r"MEDIA-SEQUENCE:(\d+)", text)
    return int(found[1]) + text.count("#EXTINF") if found else 0


def test_a_slow_client_goes_on_with_the_newest(weir, tool, tmp_path):
    w = start(weir, app='part = "200ms"; segment = "1s"; max_segment = "1s";')
    tool(publish(w.rtmp_url("test"), "-b:v", "12M", "-minrate", "12M",
                 "-maxrate", "12M", "-bufsize", "1M", "-x264-params",
                 "nal-hrd=cbr", size="640x360"))
    wait_still(w)
    first = wait_for(lambda: newest(w), 20)
    with socket.create_connection(("127.0.0.1", w.http)) as s:
        s.sendall(b"GET /live/test.mp4 HTTP/1.0\r\n\r\n")
        s.settimeout(busy(20))
        wait_for(lambda: newest(w) > first + 15, 40, "it falls behind")
        last = newest(w)
        with open(tmp_path / "a.mp4", "wb") as f:
            head = s.makefile("rb")
            while head.readline() not in (b"\r\n", b""):
                pass
            while newest(w) < last + 4:
                f.write(head.read1(1 << 20))
    # What came is whole, but for the last fragment, and has one gap at least.
    packets = json.loads(subprocess.run(
        ["ffprobe", *QUIET[:3], "-of", "json", "-show_packets",
         "-select_streams", "v", str(tmp_path / "a.mp4")],
        capture_output=True, check=False).stdout)["packets"]
    times = [float(p["dts_time"]) for p in packets]
    gaps = [b - a for a, b in zip(times, times[1:]) if b - a > 0.5]
    assert gaps and all(a < b for a, b in zip(times, times[1:]))


def test_it_begins_with_what_is_there(weir):
    """It does not wait for the next part."""
    w = start(weir, hold="1h")
    f = Feed(w.rtmp, name="test").head().frames(60)
    with Http(w.http) as c:
        c.send("GET", "/live/test.mp4")
        assert c.head().status == 200
        c._until(b"moof")
    f.stop()


def test_one_that_is_broken_off_stops_no_other(weir):
    w = start(weir, hold="100ms", live='max_stream_memory = "64M";')
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", w.http))
        f = Feed(w.rtmp, name="test", size=100_000).head().frames(60)
        s.sendall(b"GET /live/test.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with Control(w) as control:
            wait_for(lambda: "mp4" in [
                r["protocol"] for r in control.json("show sess")], 20)
        f.frames(200)
        f.stop()
        w.wait_access_log("test.mp4", 20)
    f = Feed(w.rtmp, name="test").head().frames(10)
    with Http(w.http) as c:
        c.send("GET", "/live/test.mp4")
        f.frames(60)
        c._until(b"moof")
    f.stop()


PLAY = """
const video = document.createElement('video');
video.muted = true;
document.body.append(video);
video.src = arguments[0];
video.play().catch(() => {});
"""


@pytest.mark.once
def test_chromium_plays_both(weir, tool):
    w = start(weir)
    with open(f"{w.prefix}/html/index.html", "w", encoding="ascii") as f:
        f.write("<!DOCTYPE html><title>x</title><body></body>")
    tool(publish(w.rtmp_url("test")))
    wait_still(w)
    b = Browser()
    try:
        b.open(w.http_url("/index.html"))
        b.script(PLAY, "/live/test.still.mp4")
        wait_for(lambda: b.script(
            "const v = document.querySelector('video');"
            "return v.readyState >= 2 && v.videoWidth === 320"), 20)
        b.script("document.querySelector('video').remove()")
        b.script(PLAY, "/live/test.mp4")
        first = b.picture()
        assert b.picture(first["at"] + 2)["points"] != first["points"]
    finally:
        b.quit()
