"""Rows of hls_inputs.py side by side in real time, and what players of each
output got.

    hls_inputs_run.py RTMP_PORT HTTP_PORT FOLDER NAME...

prints a line of JSON for each row when it is over: {"name", "fmp4", "ts",
"mp4", "still", "flv"}, each of these {"findings", ...}.
"""
# SPDX-License-Identifier: BSD-2-Clause

import bisect
import pathlib
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction
from urllib.parse import urljoin

import flv
import hls_fmp4
import media
from enhanced_publisher import read_message
from hls_faults_run import Publisher, Watched, run_all, slack_of
from hls_inputs import ROWS
from hls_outputs import (DROPPED, Frame, Taker, told_of, units_of_bytes,
                         without)
from http_client import Http
from patience import busy
from rtmp_client import AUDIO, VIDEO

KINDS = {"pictures": VIDEO, "sound": AUDIO}
TYPES = {0x1b: ("pictures", "h264"), 0x24: ("pictures", "hevc"),
         0x0f: ("sound", "aac"), 0x03: ("sound", "mp3")}
MP3_BYTES = 192  # 64 kbit/s at 48 kHz


# ---- publishing ----

class RowPublisher(Publisher):
    """It stays when it has sent all."""

    def __init__(self, port, row, clips):
        self.port, self.name = port, row.name
        self.events = row.events(clips)
        self.at, self.began, self.client = 0, None, None
        self.failure, self.over = None, threading.Event()

    def sent(self, kind):
        return [e.frame for e in self.events if e.frame and e.kind == kind]


# ---- comparing ----

def pairs_of(got, told):
    """(pairs, lost, strange): what came beside what was sent, both in their
    order; what was sent and did not come; how many came that were not sent."""
    pairs, lost = [], []
    for t in told:
        if len(pairs) < len(got) and got[len(pairs)].data == t.data:
            pairs.append((got[len(pairs)], t))
        else:
            lost.append(t)
    return pairs, lost, len(got) - len(pairs)


def distance_of(pictures, sounds, by):
    """The most seconds by which sound is further from its pictures than it was
    sent; by: "time" of the media, or "stamp"."""
    def of(t):
        return getattr(t, by) / 1000
    times, worst = [t.time for _, t in pictures], 0.0
    for got, told in sounds if times else []:
        near, theirs = pictures[min(bisect.bisect_left(times, told.time),
                                    len(times) - 1)]
        worst = max(worst, abs(float(got.time - near.time) -
                               (of(told) - of(theirs))))
    return worst


class Comparison:
    """Of what an output had with what was sent.  units: pictures are told as
    their NAL units; joins: each piece begins when its reader came."""

    def __init__(self, row, publisher, units=False, joins=False):
        self.row, self.joins = row, joins
        self.rest = {k: [] if k == row.without else publisher.sent(v)
                     for k, v in KINDS.items()}
        if units:
            self.rest["pictures"] = [told_of(t.codec, [t])[0]
                                     for t in self.rest["pictures"]]
        self.lost = {k: [] for k in KINDS}
        self.worst = 0.0
        self.found = {"findings": []}

    def say(self, text):
        self.found["findings"].append(text)

    def add(self, piece):
        """Frames by kind that go on from those before, and whose times have
        one origin."""
        pairs = {k: self.take(k, piece.get(k, [])) for k in KINDS}
        self.worst = max(self.worst, distance_of(
            pairs["pictures"], pairs["sound"], self.row.by))

    def take(self, kind, got):
        pairs, lost, strange = pairs_of(got, self.rest[kind])
        if strange:
            self.say(f"{strange} {kind} that were not sent so")
        if kind == "pictures" and any(g.key != t.key for g, t in pairs):
            self.say("other pictures are key frames")
        if pairs:
            first = pairs[0][1].time if self.joins else 0
            last = pairs[-1][1].time
            self.lost[kind] += [t for t in lost if first <= t.time < last]
            self.rest[kind] = [t for t in self.rest[kind] if t.time > last]
        return pairs

    def judge(self):
        for k, most in zip(KINDS, self.row.lost):
            lost = [t.time for t in self.lost[k] + self.rest[k]
                    if t.time >= self.row.begins * 1000]
            self.found[f"lost {k}"] = len(lost)
            if len(lost) > most:
                self.say(f"{len(lost)} {k} are lost, from {lost[0]} to "
                         f"{lost[-1]} ms")
        self.found["apart"] = round(self.worst, 3)
        if self.worst > self.row.apart:
            self.say(f"sound and pictures are {self.worst:.3f} s further "
                     "apart")
        return self.found


# ---- lists ----

class Follower(Watched, Taker):
    """A strict viewer from the first list to ENDLIST."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.kinds = []  # stream_type of each sample of a transport stream
        self.with_parts = set()  # numbers of segments

    def _take(self, playlist):
        super()._take(playlist)
        self.with_parts |= {s.number for s in self.playlist.listed if s.parts}

    def _judge_media(self, *arguments):
        """PIDs are those of the tables of this segment."""
        super()._judge_media(*arguments)
        self.kinds += [self.ts.streams.get(s.track)
                       for s in self.samples[len(self.kinds):]]

    def segments(self):
        """(segment, samples by kind) of each, of fMP4."""
        for number, segment in sorted(self.taken.items()):
            uri = urljoin(self.media_target, segment.uri)
            init = self._init_of(segment)
            if uri not in self.bodies:
                continue  # a fault was noted
            fragments = hls_fmp4.Fragments(self.bodies[uri], init)
            yield segment, by_kind(init, fragments.samples), \
                hls_fmp4.begins_independent(fragments)


def by_kind(init, samples):
    found = {"pictures": [], "sound": []}
    for s in samples:
        track = init.tracks[s.track]
        found["pictures" if track.kind == "vide" else "sound"].append(Frame(
            Fraction(s.time, track.timescale), Fraction(s.cts, track.timescale),
            Fraction(s.duration, track.timescale), s.key, s.data))
    return found


def pieces_of(codec, data):
    """Frames of sound of a PES packet, and how long each is."""
    at = 0
    while at < len(data):
        size = MP3_BYTES if codec == "mp3" else \
            (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        yield data[at + (7 if codec == "aac" else 0):at + size]
        at += size


def frames_of(codec, frame):
    """Those of a sample of a transport stream."""
    if codec in DROPPED:
        return [frame._replace(data=without(
            codec, units_of_bytes(frame.data), DROPPED[codec]))]
    lasts = Fraction(1152 if codec == "mp3" else 1024, 48000)
    return [frame._replace(time=frame.time + i * lasts, data=data)
            for i, data in enumerate(pieces_of(codec, frame.data))]


class Run:
    """A row, its publisher and its players."""

    def __init__(self, ports, row, number, clips, folder):
        rtmp, self.http = ports
        self.row, self.number, self.folder = row, number, folder
        self.publisher = RowPublisher(rtmp, row, clips)
        self.results = {}
        self.failures = []
        self.threads = [threading.Thread(target=self.guard, args=(work,),
                                         daemon=True)
                        for work in (self.fmp4, self.ts, self.mp4, self.flv,
                                     self.still)]
        # A player of FLV is there before the publisher.
        self.player = self.connect()
        self.player.send("GET", self.url(".flv", ""), version="1.0")

    def connect(self):
        n = self.number
        return Http(self.http, timeout=busy(20),
                    source=f"127.2.{n // 250}.{n % 250 + 1}")

    def guard(self, work):
        name = work.__name__
        try:
            self.results[name] = work() or {"findings": ["nothing came"]}
        except Exception as e:  # told
            self.results[name] = {"findings": [repr(e)[:500]]}

    def start(self):
        while self.publisher.began is None:
            time.sleep(0.02)
        for t in self.threads:
            t.start()

    def url(self, ending, location="/hls"):
        return f"{location}/live/{self.row.name}{ending}"

    def waits(self, target):
        """The first answer that is 200; None: the publisher has gone."""
        while True:
            over = self.publisher.over.is_set()
            with self.connect() as http:
                http.send("GET", target, version="1.0")
                answer = http.answer()
            if answer.status == 200:
                return answer
            if over:
                return None
            time.sleep(0.1)

    # ---- HLS ----

    def follow(self, location):
        f = Follower(self.http, self.url(".m3u8", location),
                     connect=self.connect, slack=max(
                         self.row.slack, slack_of(self.publisher.events)),
                     sound_slack=self.row.sound_slack)
        if self.waits(f.target) is None:
            return None
        f.start(wait=1)
        f.follow(until_end=True, delta_each=7)
        f.close()
        return f

    def compared(self, f, piece, units=False):
        c = Comparison(self.row, self.publisher, units=units)
        for fault in f.faults[:5]:
            c.say(f"{fault.rule}: {fault.what[:300]}")
        c.found["lists"] = f.shown or []
        c.add(piece)
        self.expect(c, "tags", len(f.tags()), self.row.tags)
        return c

    @staticmethod
    def expect(c, name, found, should):
        c.found[name] = found
        if found != should:
            c.say(f"{found} {name}, not {should}")

    def fmp4(self):
        f = self.follow("/hls")
        if f is None:
            return None
        piece, begun, parts = {k: [] for k in KINDS}, [], []
        for segment, frames, key in f.segments():
            begun.append(key)
            parts.append(segment.number in f.with_parts)
            for k, mine in frames.items():
                piece[k] += mine
        c = self.compared(f, piece)
        self.expect(c, "maps", len(f.stretches), self.row.maps)
        c.found["parts"] = "".join("p" if p else "." for p in parts)
        c.found["keys"] = "".join("k" if k else "." for k in begun)
        c.found["lengths"] = " ".join(f"{float(s.duration):.2f}" for _, s in
                                      sorted(f.taken.items()))
        self.judge_parts(c, parts[1:-1])
        if self.row.keys and not all(begun):
            c.say(f"segments begin so: {c.found['keys']}")
        return c.judge()

    def judge_parts(self, c, parts):
        """The first segment has none; the last one may be cut short; parts of
        some may have aged before a slow viewer saw them."""
        right = {"all": sum(parts) > len(parts) / 2, "none": not any(parts),
                 "some": any(parts) and not all(parts)}[self.row.parts]
        if not right:
            c.say(f"{self.row.parts} of the segments should have parts: "
                  f"{c.found['parts']}")

    def ts(self):
        f = self.follow("/ts")
        if f is None:
            return None
        piece = {k: [] for k in KINDS}
        for s, (kind, codec) in zip(f.samples, map(TYPES.get, f.kinds)):
            frame = Frame(Fraction(s.time, 90000), Fraction(s.cts, 90000),
                          None, s.key, s.data)
            piece[kind] += frames_of(codec, frame)
        return self.compared(f, piece, units=True).judge()

    # ---- MP4 ----

    def mp4(self):
        bodies = []
        while True:
            answer = self.waits(self.url(".mp4"))
            if answer is None:
                break
            bodies.append(answer.body)
        c = Comparison(self.row, self.publisher, joins=True)
        for i, body in enumerate(bodies):
            c.add(self.read_mp4(c, i, body))
        self.expect(c, "ends", len(bodies) - 1, self.row.ends)
        return c.judge()

    def read_mp4(self, c, number, data):
        boxes = hls_fmp4.boxes_of(data, hls_fmp4.Fmp4Faults())
        if len(boxes) < 3:
            c.say(f"{len(boxes)} boxes")
            return {}
        head = boxes[2].start
        init = hls_fmp4.Init(data[:head])
        fragments = hls_fmp4.Fragments(data[head:], init)
        timeline = hls_fmp4.Timeline(10 ** 9, 10 ** 9).add(fragments)
        for fault in (init.faults + fragments.faults + timeline)[:3]:
            c.say(f"{fault.rule}: {fault.what[:200]}")
        path = self.folder / f"{self.row.name}.{number}.mp4"
        path.write_bytes(data)
        try:
            media.check(["ffmpeg", *media.QUIET, "-xerror", "-i", str(path),
                         "-c", "copy", "-f", "null", "-"])
        except AssertionError as e:
            c.say(f"ffmpeg: {e}"[:300])
        return by_kind(init, fragments.samples)

    def still(self):
        """When all is sent; the newest key frame, byte by byte."""
        self.publisher.over.wait()
        c = self.publisher.client
        c.answer(c.command("_checkbw", None))
        with self.connect() as http:
            http.send("GET", self.url(".still.mp4"), version="1.0")
            answer = http.answer()
        c.close()
        found = {"findings": [], "status": answer.status}
        if answer.status != 200:
            if self.row.still:
                found["findings"].append(f"{answer.status}")
            return found
        data = answer.body
        head = hls_fmp4.boxes_of(data, hls_fmp4.Fmp4Faults())[2].start
        init = hls_fmp4.Init(data[:head])
        samples = hls_fmp4.Fragments(data[head:], init).samples
        newest = [s.data for s in self.publisher.sent(VIDEO) if s.key][-1:]
        if [s.data for s in samples] != newest or not self.row.still:
            found["findings"].append("it is not the newest key frame")
        return found

    # ---- FLV ----

    def flv(self):
        """All frames as they were sent; times of each kind do not go back, and
        sound stays as far from its pictures."""
        with self.player:
            data = self.player.answer().body
        strays = {e.payload for e in self.publisher.events if not e.frame}
        got, back = {k: [] for k in KINDS}, 0
        for t in flv.Reader().feed(data):
            if t.type not in KINDS.values() or t.payload in strays:
                continue
            mine = got["pictures" if t.type == VIDEO else "sound"]
            read = read_message(t.type, t.time, t.payload)
            time_ = Fraction(t.time, 1000)
            back += bool(mine) and time_ < mine[-1].time
            mine.append(Frame(time_, 0, None, read.key, read.data))
        c = Comparison(replace(self.row, without="", lost=(0, 0)),
                       self.publisher, joins=True)
        c.add(got)
        self.expect(c, "steps back", back, self.row.back)
        return c.judge()

    def end(self):
        for t in self.threads:
            t.join(busy(20))
            if t.is_alive():
                self.failures.append("a player did not end")
        if self.publisher.failure:
            self.failures.append(self.publisher.failure)
        for found in self.results.values():
            found["findings"] += self.failures
        return {"name": self.row.name, **self.results}


def main(rtmp, http, folder, *names):
    run_all(lambda clips: [Run((int(rtmp), int(http)), r, i, clips,
                               pathlib.Path(folder))
                           for i, r in enumerate(ROWS) if r.name in names],
            folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
