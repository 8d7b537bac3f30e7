"""Streams as encoders really make them, in real time, and how players bear
them: hls.js, shaka, Chromium's own player, ffmpeg and GStreamer.

A picture has its number in it (hls_page.numbered()), so for each player it is
known when it showed which picture, and when that one was published.
"""
# SPDX-License-Identifier: BSD-2-Clause

import random
import subprocess
import threading
import time
import types

import flv
from enhanced_publisher import he_aac
from hls_page import STRIPES, Page
from media import QUIET, check
from rtmp_client import publisher

WIDTH, HEIGHT = 160, 90
STALL = 0.25    # seconds without another picture
SETTLED = 15    # seconds
# Both catch up with the time that they needed to begin; what shaka calls
# latency is what it has beyond PART-HOLD-BACK.
KINDS = {
    "hls.js": {"config": {"maxLiveSyncPlaybackRate": 1.1}},
    "shaka": {"shaka": True, "config": {"streaming": {"liveSync": {
        "enabled": True, "targetLatency": 0.2,
        "targetLatencyTolerance": 0.1}}}},
    "native": {"native": True}}
X264 = ("-c:v libx264 -preset ultrafast -tune zerolatency -pix_fmt yuv420p "
        "-vsync vfr").split()
BAND = HEIGHT // 4 - 8  # of 16 rows, in which a picture has its number
NUMBER = (f"split[all][top];[top]crop={WIDTH}:16:0:{BAND},"
          "geq=lum='16+219*mod(floor(N/pow(2,floor(X/"
          f"{WIDTH // STRIPES}))),2)':cb=128:cr=128[number];"
          f"[all][number]overlay=0:{BAND}")


# ---- what is published ----

def moving(rate, seconds):
    return (f"testsrc2=size={WIDTH}x{HEIGHT}:rate={rate}:duration={seconds},"
            "format=yuv420p,setsar=1,settb=1/90000")


def joined(parts):
    """Several sources, one after the other, as one stream."""
    names = "".join(f"[p{i}]" for i in range(len(parts)))
    return "".join(f"{part}[p{i}];" for i, part in enumerate(parts)) + \
        f"{names}concat=n={len(parts)}:v=1:a=0"


def scenes(seconds):
    """Hard cuts, 0.4 to 5 s apart."""
    chance = random.Random("scenes")
    kinds, parts = ("testsrc2", "mandelbrot", "smptebars", "rgbtestsrc"), []
    while seconds > 0.1:  # what is left after rounding is nothing
        length = round(min(seconds, chance.uniform(0.4, 5)), 2)
        source = kinds[len(parts) % 4]
        parts.append(f"{source}=size={WIDTH}x{HEIGHT}:rate=25,trim=duration="
                     f"{length},format=yuv420p,setsar=1,settb=1/90000")
        seconds -= length
    return joined(parts)


def rates(seconds):
    """25, 50, 12 pictures a second, a third of the time each."""
    return joined([moving(rate, seconds / 3) for rate in (25, 50, 12)])


def half(seconds):
    """Every picture is there or not, as a coin falls: at most five in a row are
    not, so that no two are 250 ms apart."""
    return moving(25, seconds) + (
        ",select='isnan(prev_selected_n)+lt(random(0),0.5)+"
        "gte(n-prev_selected_n,6)'")


class Row:
    """A kind of stream.  interval: the longest way between two key frames, s;
    graph: of seconds, what ffmpeg encodes; jitter: ms, of each timestamp;
    he_aac: how its sound is told, of `rate` samples and so many channels.  It
    has the core alone: ffmpeg's encoder makes no SBR and no PS."""

    def __init__(self, interval, graph=None, encoder="-sc_threshold 0",
                 jitter=0, he_aac=None, rate=48000, channels=2):
        self.interval, self.jitter = interval, jitter
        self.graph = graph or (lambda seconds: moving(25, seconds))
        self.encoder = [*X264, *encoder.split()]
        self.he_aac, self.rate, self.channels = he_aac, rate, channels

    def make(self, path, seconds):
        """The tags of FLV that are published."""
        check(["ffmpeg", *QUIET, "-y", "-filter_complex",
               f"{self.graph(seconds)},{NUMBER}", "-f", "lavfi", "-i",
               f"anoisesrc=amplitude=0.1:sample_rate={self.rate}", "-ac",
               str(self.channels), *self.encoder, "-c:a", "aac", "-b:a", "64k",
               "-shortest", "-f", "flv", str(path)], 120)
        tags = flv.read_file(path)
        if self.he_aac:
            tags = [self.as_he_aac(t) for t in tags]
        return shaken(tags, self.jitter) if self.jitter else tags

    def as_he_aac(self, tag):
        if tag.type != flv.AUDIO or not flv.is_header(tag):
            return tag
        clip = he_aac(types.SimpleNamespace(), self.he_aac, self.rate,
                      self.channels)
        return tag._replace(payload=tag.payload[:2] + clip.config)


def keys(seconds):
    """A key frame so often, at 25 pictures a second."""
    return Row(seconds, encoder=f"-sc_threshold 0 -g {round(seconds * 25)}")


ROWS = {
    **{f"keys-{s}": keys(s) for s in (0.5, 1, 2, 4, 10, 30)},
    "b-frames": Row(2, encoder="-sc_threshold 0 -g 50 -tune film -bf 2"),
    "scenes": Row(10, scenes, "-sc_threshold 40 -g 250"),
    "jitter": Row(2, encoder="-sc_threshold 0 -g 50", jitter=15),
    "half": Row(2, half, "-sc_threshold 0 -force_key_frames expr:"
                "gte(t,n_forced*2) -g 1000"),
    "rates": Row(2, rates, "-sc_threshold 0 -force_key_frames expr:"
                 "gte(t,n_forced*2) -g 1000"),
    "he-aac": Row(2, encoder="-sc_threshold 0 -g 50", he_aac="sbr",
                  rate=24000),
    "he-aac-2": Row(2, encoder="-sc_threshold 0 -g 50", he_aac="ps",
                    rate=24000, channels=1),
}


def shaken(tags, most):
    """Each timestamp is up to so many ms earlier or later; none goes back."""
    chance, last, result = random.Random("jitter"), {}, []
    for t in tags:
        if t.type != flv.DATA and not flv.is_header(t):
            moved = max(t.time + chance.randint(-most, most), 0,
                        last.get(t.type, -1) + 1)
            last[t.type] = moved
            t = t._replace(time=moved)
        result.append(t)
    return sorted(result, key=lambda t: t.time)


def shown_at(tag):
    """ms; of AVC."""
    return tag.time + int.from_bytes(tag.payload[2:5], "big", signed=True)


class Source:
    """Publishes tags in real time, once."""

    def __init__(self, port, name, tags):
        self.tags, self.late, self.sent = tags, 0, {}
        self.pictures = [t for t in tags if t.type == flv.VIDEO and
                         t.payload[1] == 1]
        order = sorted(self.pictures, key=shown_at)
        self.numbers = {id(t): n for n, t in enumerate(order)}
        times = [shown_at(t) / 1000 for t in order]
        self.pause = max(b - a for a, b in zip(times, times[1:]))
        self.client = publisher(port, "live", name)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        began = time.monotonic()
        for tag in self.tags:
            late = time.monotonic() - began - tag.time / 1000
            if self.stopping.wait(max(0, -late)):
                break
            self.late = max(self.late, late)
            number = self.numbers.get(id(tag))
            if number is not None:
                self.sent[number] = time.monotonic()
            self.client.send(tag.type, tag.payload, tag.time, self.client.msid,
                             csid={flv.AUDIO: 4, flv.VIDEO: 6}.get(tag.type,
                                                                   5))

    def over(self):
        return not self.thread.is_alive()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        self.client.close()


# ---- players ----

class Pipe:
    """A program that writes each picture that it shows, in grey, as it shows
    it."""

    def __init__(self, *command):
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.shown, self.said = [], b""
        self.threads = [threading.Thread(target=work, daemon=True)
                        for work in (self._read, self._hear)]
        for thread in self.threads:
            thread.start()

    def _read(self):
        size = WIDTH * HEIGHT
        while len(data := self.process.stdout.read(size)) == size:
            row = data[HEIGHT // 4 * WIDTH:][:WIDTH]
            step = WIDTH // STRIPES
            number = sum(1 << i for i in range(STRIPES)
                         if row[i * step + step // 2] > 128)
            self.shown.append((time.monotonic(), number))

    def _hear(self):
        self.said = self.process.stderr.read()

    def told(self):
        times = [at for at, _ in self.shown]
        frozen = [(a, b - a) for a, b in zip(times, times[1:])
                  if b - a > STALL]
        return {"first": times[0] - self.began if times else None,
                "frozen": frozen, "shown": list(self.shown),
                "last": times[-1] if times else None,
                "fatal": [] if self.process.poll() is None else [
                    f"{self.process.returncode}: {self.said[-500:]}"]}

    def quit(self):
        self.process.kill()
        for thread in self.threads:
            thread.join()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def ffmpeg(url):
    return Pipe("ffmpeg", *QUIET, "-re", "-threads", "1", "-i", url, "-map",
                "0:v", "-vsync", "passthrough", "-pix_fmt", "gray",
                "-flush_packets", "1", "-f", "rawvideo", "pipe:1", "-map",
                "0:a", "-f", "null", "-")


def gstreamer(url):
    return Pipe("gst-launch-1.0", "-q", "playbin3", f"uri={url}",
                "video-sink=videoconvert ! video/x-raw,format=GRAY8 ! "
                "fdsink fd=1 sync=true", "audio-sink=fakesink sync=true")


PIPES = {"ffmpeg": ffmpeg, "gstreamer": gstreamer}


class Watched:
    """Players of streams: (player, stream) each; figures() says how each of
    them was served.  A browser has six connections to a host; each player in
    the page has a host of its own."""

    def __init__(self, w, pairs):
        self.pages = [p for p in pairs if p[0] in KINDS]
        self.shown = {pair: [] for pair in pairs}
        self.told = {}
        self.pipes, self.page = {}, None
        plans = [{"url": f"http://{kind.replace('.', '')}-{name}.localhost:"
                  f"{w.http}/hls/live/{name}.m3u8", "numbered": True,
                  **KINDS[kind]} for kind, name in self.pages]
        try:
            if plans:
                self.page = Page(w, plans, plays=0, least=STALL)
                self.clock = self.page.clock()
            for kind, name in pairs:
                if kind in PIPES:
                    self.pipes[kind, name] = PIPES[kind](
                        w.http_url(f"/hls/live/{name}.m3u8"))
        except BaseException:
            self.quit()
            raise

    def quit(self):
        for pipe in self.pipes.values():
            pipe.quit()
        if self.page:
            self.page.quit()

    def look(self):
        """To be called now and then."""
        for pair, pipe in self.pipes.items():
            self.told[pair] = pipe.told()
            self.shown[pair] = self.told[pair]["shown"]
        for pair, told in zip(self.pages, self.page.told() if self.page
                              else []):
            for key in ("stalls", "frozen", "jumps"):
                told[key] = [(self.clock + a / 1000, b / 1000 if
                              key != "jumps" else b) for a, b in told[key]]
            told["last"] = told["last"] / 1000 + self.clock
            told["first"] = told["first"] and told["first"] / 1000
            self.shown[pair] += [(self.clock + at / 1000, n)
                                 for at, n in told["shown"]]
            self.told[pair] = told
        return self.told


def percentile(values, share):
    return round(sorted(values)[int(len(values) * share)], 2) if values \
        else None


def figures(told, shown, source, now):
    """Of one player, in seconds; times of stalls are those of the source.
    Latency is that of pictures after the first SETTLED seconds: players begin
    where a key frame is, and catch up."""
    began = min(source.sent.values())
    late = [at - source.sent[n] for at, n in shown
            if n in source.sent and at > shown[0][0] + SETTLED]
    result = {"first": told["first"] and round(told["first"], 2),
              "p50": percentile(late, 0.5), "p95": percentile(late, 0.95),
              "most": percentile(late, 1 - 1e-9), "pictures": len(shown),
              "unread": sum(n not in source.sent for _, n in shown),
              "pause": round(source.pause, 2),
              "idle": told["last"] and round(now - told["last"], 2)}
    for key in ("stalls", "frozen", "jumps"):
        result[key] = [(round(a - began, 2), round(b, 2))
                       for a, b in told.get(key, [])]
    result["errors"] = [e[1:] for e in told.get("errors", [])]
    for key in ("fatal", "dropped"):
        result[key] = told.get(key)
    return result


def held_up(told, sources):
    """Seconds for which the machine kept the page, or a publisher, waiting."""
    return max([t["late"] / 1000 for t in told.values() if "late" in t] +
               [s.late for s in sources.values()])
