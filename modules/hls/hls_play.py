"""A player of HLS for tests: asks for playlists and what stands in them."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import subprocess

from http_client import Http, get
from weir import wait_for

AT = '{ path = "/hls"; module = "hls"; %s },'


def publish(w, name="room", seconds=600, video="-g 15", audio="-c:a aac"):
    """ffmpeg, in real time; ended by the test."""
    args = ["ffmpeg", "-loglevel", "error", "-re",
            "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=30",
            "-f", "lavfi", "-i", "sine=sample_rate=44100", "-t", str(seconds)]
    args += (["-c:v", "libx264", "-preset", "ultrafast", "-tune",
              "zerolatency", *video.split()] if video else ["-vn"])
    args += audio.split() if audio else ["-an"]
    return subprocess.Popen(args + ["-f", "flv", w.rtmp_url(name)],
                            stdin=subprocess.DEVNULL)


def end(process):
    process.terminate()
    process.wait()


class Player:
    """Of one stream; location without the slash at its end."""

    def __init__(self, w, name="room", location="/hls", app="live"):
        self.w, self.base = w, f"{location}/{app}/"
        self.name = name
        self.media = None

    def get(self, target, *headers, **more):
        return get(self.w.http, self.base + target, *headers, **more)

    def start(self):
        """Waits for the stream; reads the multivariant playlist."""
        def ready():
            a = self.get(f"{self.name}.m3u8")
            assert a.status in (200, 404, 503), a.body
            if a.status == 503:
                assert a.header("retry-after") == "1"
            return a if a.status == 200 else None
        self.multivariant = wait_for(ready, 20, "playlist").body.decode()
        self.media = self.multivariant.splitlines()[-1]
        return self

    def playlist(self, query="", *headers):
        return self.get(self.media + query, *headers)

    def list(self, query=""):
        a = self.playlist(query)
        assert a.status == 200, a.body
        return Playlist(a.body.decode())


class Playlist:
    def __init__(self, text):
        self.text = text
        self.lines = text.splitlines()
        assert self.lines[0] == "#EXTM3U"
        self.segments = [li for li in self.lines
                         if li and not li.startswith("#")]
        self.parts = re.findall(r'#EXT-X-PART:.*URI="([^"]*)"', text)
        self.hint = self._one(r'#EXT-X-PRELOAD-HINT:.*URI="([^"]*)"')
        self.map = self._one(r'#EXT-X-MAP:URI="([^"]*)"')
        self.first = int(self._one(r"#EXT-X-MEDIA-SEQUENCE:(\d+)"))
        self.target = int(self._one(r"#EXT-X-TARGETDURATION:(\d+)"))
        self.skipped = int(self._one(
            r"#EXT-X-SKIP:SKIPPED-SEGMENTS=(\d+)") or 0)
        self.last = self.first + self.skipped + len(self.segments) - 1
        self.ended = "#EXT-X-ENDLIST" in self.lines

    def _one(self, pattern):
        found = re.search(pattern, self.text)
        return found[1] if found else None


def probe(data, *what):
    """What ffprobe says of bytes."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-of", "csv=p=0", *what, "-"], input=data,
        capture_output=True, check=True)
    return done.stdout.decode().split()


def decoded(url, seconds):
    """Frames that ffmpeg plays of an address, by kind."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", url, "-t", str(seconds), "-map",
         "0:v?", "-map", "0:a?", "-f", "framecrc", "-"],
        capture_output=True, check=True, timeout=120)
    lines = [li for li in done.stdout.decode().splitlines()
             if li[:1].isdigit()]
    return [sum(li.startswith(f"{i},") for li in lines) for i in (0, 1)]


def keep_alive(w):
    return Http(w.http)
