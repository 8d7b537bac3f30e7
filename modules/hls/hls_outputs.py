"""What was published, and what comes out, frame by frame.

    taker = Taker(w.http, "/hls/live/room.m3u8")
    p = EnhancedPublisher(w.rtmp, tracks=[...])
    publish_all(p, 6, [taker])
    taker.finish()
    compare_samples(taker, p)     # by the checker's demultiplexers
    compare_demuxed(taker, p, tmp_path)  # by ffmpeg's

Times of the stream are those that were sent, but for one difference that all
frames of a session share.
"""
# SPDX-License-Identifier: BSD-2-Clause

import json
import threading
import time
from collections import namedtuple
from fractions import Fraction
from urllib.parse import urljoin

import flv
import hls_fmp4
import hls_playlist
import media
from enhanced_publisher import is_key, read_message
from hls_check import Viewer
from hls_ts import Ts
from http_client import Http
from patience import busy
from rtmp_client import AUDIO, VIDEO
from socket_help import BINARY, WebSocket
from weir import wait_for

# Seconds; duration None: it is not told.
Frame = namedtuple("Frame", "time cts duration key data")
MS = Fraction(1, 1000)
# Dates are those of arrival; here media arrive faster than they play.
HURRIED = {"date-goes-on"}


class Taker(Viewer):
    """A strict viewer that keeps what it fetched."""

    def __init__(self, port, target, **more):
        super().__init__(port, target, **more)
        self.bodies = {}
        self.stretches = []  # (URI of the map, [target of a segment])
        self.taken = {}  # segments by number
        self.parts_taken = 0

    def object(self, target):
        body = super().object(target)
        if body is not None:
            self.bodies[target] = body
        return body

    def _take_part(self, segment, part):
        taken = super()._take_part(segment, part)
        self.parts_taken += taken
        return taken

    def take_media(self):
        """All segments; a viewer begins with the first that has parts."""
        count = super().take_media()
        for segment in self.playlist.segments:
            target = urljoin(self.media_target, segment.uri)
            if target not in self.bodies:
                self.object(target)
                self._init_of(segment)
            if segment.number in self.taken:
                continue
            self.taken[segment.number] = segment
            if not self.stretches or self.stretches[-1][0] != segment.map:
                self.stretches.append((segment.map, []))
            self.stretches[-1][1].append(target)
        return count

    def look(self):
        """Takes what is there by now, without waiting."""
        if self.playlist is None:
            if self.get(self.target).status != 200:
                return
            self.start()
        else:
            self._take(self.reload())
        self.take_media()

    def finish(self, allowed=()):
        """To ENDLIST; nothing was wrong with anything."""
        if self.playlist is None:
            self.start()
        self.take_media()
        while not self.playlist.ended:
            if self.playlist.part_target:
                self.next_playlist()
            else:
                time.sleep(0.1)
                self._take(self.reload())
            self.take_media()
        faults = [f for f in self.faults if
                  f.rule not in HURRIED and f.rule not in allowed]
        assert not faults, hls_playlist.Faults(faults).text()[:3000]
        self.close()
        return self

    def tags(self):
        """The segments that begin with a discontinuity."""
        return [s for s in self.taken.values() if s.tag]

    def files(self):
        """(map or b"", media) of each stretch of segments that has one map."""
        for uri, targets in self.stretches:
            init = self.bodies[urljoin(self.media_target, uri)] if uri else b""
            yield init, b"".join(self.bodies[t] for t in targets)


class Endless:
    """Reads NAME.mp4 or NAME.flv in a thread.  sound: the only track of sound
    that it has of several."""

    def __init__(self, port, target, sound=None):
        self.sound = sound
        self.http = Http(port, timeout=busy(60))
        self.http.send("GET", target, version="1.0")
        self.data = bytearray()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        head = self.http.head()
        assert head.status == 200, head.status
        self.data += self.http.buffer
        while True:
            data = self.http.sock.recv(1 << 18)
            if not data:
                return
            self.data += data

    def look(self):
        pass

    def keep_up(self, p, begins=3000, behind=1500):
        """Waits until it has what is older than so many ms; it has not to
        have the first ones."""
        wanted = sum(len(s.data) for s in p.sent
                     if begins <= s.time < p.sent[-1].time - behind and
                     (s.kind == VIDEO or self.sound in (None, s.track)))
        wait_for(lambda: len(self.data) >= wanted, 20, "it follows")

    def finish(self):
        self.thread.join(busy(60))
        assert not self.thread.is_alive()
        self.http.close()
        return bytes(self.data)


def publish_all(p, seconds, lookers, step=0.5, leaves=True):
    """So much of the stream, faster than it plays; players follow."""
    done = 0
    while done < seconds:
        p.send(step)
        done += step
        for each in lookers:
            each.look()
            if isinstance(each, Endless):
                each.keep_up(p)
    p.send(0.03)  # sound for the last picture
    if leaves:
        p.leave()


# ---- what was published ----

def published(p, kind, track=0, timed=True):
    """Frames from the first key frame of the stream on; not timed: without
    durations."""
    sent = p.sent
    if any(s.kind == VIDEO and s.time < sent[0].time + 1000 for s in sent):
        first = next(i for i, s in enumerate(sent) if s.key)
        sent = sent[first:]
    clips = [t.clip for t in p.tracks if t.clip.kind == kind and
             t.number == track]
    lengths = frame_lengths(clips[0]) if kind == AUDIO and timed else None
    found = [s for s in sent if s.kind == kind and s.track == track]
    return [Frame(s.time * MS, s.cts * MS,
                  lengths[i % len(lengths)] if lengths else None,
                  kind == AUDIO or s.key, s.data)
            for i, s in enumerate(found)]


def frame_lengths(clip):
    times = [f[0] for f in clip.frames] + [clip.length]
    return [Fraction(b - a, clip.scale) for a, b in zip(times, times[1:])]


# ---- comparing ----

def same_bytes(got, told):
    """Which frame differs is said, not all bytes."""
    assert len(got) == len(told), f"{len(got)} frames of {len(told)}"
    wrong = [i for i, (g, t) in enumerate(zip(got, told)) if g != t]
    assert not wrong, f"{len(wrong)} differ, the first at {wrong[0]}"


def compare_pictures(got, told, exact=MS / 90):
    same_bytes([g.data for g in got], [t.data for t in told])
    begin = got[0].time - told[0].time
    for g, t in zip(got, told):
        assert abs(g.time - t.time - begin) <= exact, (g[:4], t[:4])
        assert abs(g.cts - t.cts) <= exact, (g[:4], t[:4])
        assert g.key == t.key, (g[:4], t[:4])
    for g, after in zip(got, got[1:]):
        assert g.duration is None or \
            abs(g.time + g.duration - after.time) <= MS * 50, g[:4]
    return begin


def compare_sound(got, told, begin=None, exact=0):
    """Frames follow one another; none is away from the stream's clock by more
    than two.  begin: how much later pictures are than they were sent."""
    same_bytes([g.data for g in got], [t.data for t in told])
    if begin is None:
        begin = got[0].time - told[0].time
    for g, t in zip(got, told):
        assert abs(g.time - t.time - begin) <= 2 * t.duration + MS, \
            (g[:4], t[:4], float(begin))
        assert g.cts == 0 and g.key
        assert g.duration is None or abs(g.duration - t.duration) <= exact, \
            (g[:4], t[:4])
    for g, t, after in zip(got, told, got[1:]):
        assert abs(g.time + t.duration - after.time) <= exact, \
            (g[:4], t[:4], after[:4])
    return begin


def newest(told, count, join):
    """A reader that joined later has not the first ones.  Sound alone is
    known to be that after half a second."""
    missing = len(told) - count
    assert 0 <= missing and (missing == 0 or told[missing].time - told[0].time
                             <= join), f"{missing} of {len(told)}"
    return told[missing:]


def compare(pictures, sounds, p, exact=0, join=0, begin=None):
    """sounds: frames of each track by its number.  join: seconds; what was
    published before may be missing."""
    if pictures is not None:
        told = newest(published(p, VIDEO), len(pictures), join)
        begin = compare_pictures(pictures, told, max(exact, MS / 90))
    for track, frames in sounds.items():
        told = newest(published(p, AUDIO, track), len(frames),
                      join if begin is not None else max(join, 1))
        compare_sound(frames, told, begin, exact)
    return begin


# ---- by the checker ----

def read_fmp4(head, data, sound_slack=0, slack=MS * 50):
    """(frames of the pictures or None, [frames of a track of sound]); times
    follow one another."""
    init = hls_fmp4.Init(head)
    fragments = hls_fmp4.Fragments(data, init)
    faults = fragments.faults + hls_fmp4.Timeline(
        slack, sound_slack).add(fragments)
    assert not faults, hls_playlist.Faults(faults).text()
    found = {"vide": [], "soun": []}
    for track in init.tracks.values():
        found[track.kind].append([
            Frame(Fraction(s.time, track.timescale),
                  Fraction(s.cts, track.timescale),
                  Fraction(s.duration, track.timescale), s.key, s.data)
            for s in fragments.samples if s.track == track.number])
    assert len(found["vide"]) <= 1
    return found["vide"][0] if found["vide"] else None, found["soun"]


def compare_samples(taker, p, track=0, begin=None, join=0):
    """Returns how much later pictures are than they were sent; begin: what it
    returned for pictures that are apart."""
    (head, data), = taker.files()
    pictures, sounds = read_fmp4(head, data)
    assert len(sounds) <= 1
    return compare(pictures, {track: s for s in sounds}, p, join=join,
                   begin=begin)


def without_lost(got, told, most):
    """Of sound in front of the key frame that a stretch begins with, nothing
    is offered: what is missing in one place is left out."""
    kept, lost = [], 0
    for t in told:
        if len(kept) < len(got) and got[len(kept)].data == t.data:
            kept.append(t)
        else:
            lost += 1
    assert lost <= most, f"{lost} frames are lost"
    return kept


def compare_stretches(taker, p):
    """A stream whose clock or headers change: bytes, composition offsets and
    key flags; decode times grow."""
    found = {VIDEO: [], AUDIO: []}
    for head, data in taker.files():
        pictures, sounds = read_fmp4(head, data, sound_slack=10 ** 9,
                                     slack=10 ** 9)
        found[VIDEO] += pictures or []
        found[AUDIO] += sounds[0] if sounds else []
    for kind, got in found.items():
        told = published(p, kind, timed=False)
        if kind == AUDIO:
            told = without_lost(got, told, 50 * len(taker.tags()))
        same_bytes([(g.data, g.key) for g in got],
                   [(t.data, t.key) for t in told])
        for g, t, after in zip(got, told, got[1:] + got[-1:]):
            assert abs(g.cts - t.cts) <= MS / 90
            assert g.time <= after.time
    return found


# ---- by ffmpeg ----

def demuxed(data, path):
    """[(kind, codec, frames)] of each stream, as ffmpeg takes them out."""
    path.write_bytes(data)
    source = ["-fflags", "+nofillin", "-ignore_editlist", "1"] \
        if data[4:8] == b"ftyp" else []
    told = json.loads(media.check([
        "ffprobe", *media.QUIET[:3], "-of", "json", "-show_streams",
        str(path)]))["streams"]
    found = []
    for s in told:
        out = path.with_name(f"{path.name}.{s['index']}")
        copy = ["-map", f"0:{s['index']}", "-c", "copy", "-copyts"]
        text = media.check([
            "ffmpeg", *media.QUIET, "-xerror", "-y", *source, "-i", str(path),
            *copy, "-f", "data", str(out), *copy, "-f", "framecrc", "-"])
        found.append((s["codec_type"], s["codec_name"],
                      rows_of(text, out.read_bytes())))
    return found


def rows_of(text, data):
    scale, at, frames = 0, 0, []
    for line in text.splitlines():
        if line.startswith("#tb 0:"):
            above, below = line.split(":")[1].split("/")
            scale = Fraction(int(above), int(below))
        if line.startswith("#"):
            continue
        _, dts, pts, _, size, *rest = line.replace(" ", "").split(",")
        frames.append(Frame(int(dts) * scale, (int(pts) - int(dts)) * scale,
                            None, is_key(rest),
                            data[at:at + int(size)]))
        at += int(size)
    assert at == len(data)
    return frames


def compare_demuxed(data, p, path, tracks=(0,), join=0, exact=0):
    """What ffmpeg finds in a file is what was published."""
    found = demuxed(data, path)
    pictures = [f for kind, _, f in found if kind == "video"]
    sounds = [f for kind, _, f in found if kind == "audio"]
    assert len(pictures) <= 1 and len(sounds) <= len(tracks)
    return compare(pictures[0] if pictures else None,
                   dict(zip(tracks, sounds)), p, exact, join)


# ---- MPEG-TS ----

START = b"\0\0\0\1"


def units(data, size=4):
    """NAL units of a sample of MP4."""
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at:at + size], "big")
        found.append(data[at + size:at + size + length])
        at += size + length
    return found


def units_of_bytes(data):
    """NAL units behind start codes."""
    found = data.replace(START, START[1:]).split(START[1:])
    assert found[0] == b""
    # ffmpeg leaves the first byte of a start code to the frame before it.
    return [n.rstrip(b"\0") for n in found[1:]]


def without(codec, nals, dropped):
    """Without units that a transport stream has besides: delimiters, and what
    stands in codec headers in front of key frames."""
    kind = (lambda n: n[0] & 31) if codec == "h264" else \
        (lambda n: n[0] >> 1 & 63)
    return [n for n in nals if n and kind(n) not in dropped]


DROPPED = {"h264": (7, 8, 9), "hevc": (32, 33, 34, 35, 39)}


def of_transport(codec, frames):
    """Frames as MP4 has them."""
    if codec in DROPPED:
        return [f._replace(data=without(codec, units_of_bytes(f.data),
                                        DROPPED[codec])) for f in frames]
    if codec != "aac":
        return frames
    out = []
    for f in frames:  # ADTS, 7 bytes without a checksum
        size = (f.data[3] & 3) << 11 | f.data[4] << 3 | f.data[5] >> 5
        assert f.data[0] == 0xff and f.data[1] == 0xf1 and \
            size == len(f.data)
        out.append(f._replace(data=f.data[7:]))
    return out


def told_of(codec, frames):
    return [f._replace(data=without(codec, units(f.data), DROPPED[codec]))
            for f in frames] if codec in DROPPED else frames


def compare_transport(data, p, path, join=0):
    """Segments one behind the other, as the checker and ffmpeg read them;
    returns the checker's samples."""
    ts = Ts()
    samples = ts.add(data)
    assert not ts.faults, ts.faults.text()
    begin = None
    for kind, codec, frames in sorted(demuxed(data, path), reverse=True):
        frames = of_transport(codec, frames)
        pids = [n for n, t in ts.streams.items() if (t in (0x1b, 0x24)) ==
                (kind == "video")]
        mine = b"".join(s.data for s in samples if s.track in pids)
        assert len(pids) == 1
        if kind == "video":
            told = told_of(codec, newest(published(p, VIDEO), len(frames),
                                         join))
            begin = compare_pictures(frames, told, MS / 10)
            assert without(codec, units_of_bytes(mine), DROPPED[codec]) == \
                [n for t in told for n in t.data]
        else:
            told = newest(published(p, AUDIO), len(frames),
                          join if begin is not None else max(join, 1))
            compare_sound(frames, told, begin, MS / 10)
            assert codec == "aac" or mine == b"".join(t.data for t in told)
    return samples


# ---- FLV ----

class WsPlayer:
    """Tags of NAME.flv over WebSocket."""

    def __init__(self, port, name, app="live"):
        self.ws = WebSocket(Http(port), f"/{app}/{name}.flv")
        self.reader, self.kept = flv.Reader(), []

    def tag(self):
        while not self.kept:
            last, opcode, data = self.ws.read_frame()
            assert last and opcode == BINARY
            self.kept += self.reader.feed(data)
        return self.kept.pop(0)

    def close(self):
        self.ws.close()


def compare_flv(player, p):
    """All frames, in the order of sending."""
    got = []
    while len(got) < len(p.sent):
        t = player.tag()
        read = read_message(t.type, t.time, t.payload) \
            if t.type in (AUDIO, VIDEO) else None
        if read and not read.header:
            got.append(read)
    for g, s in zip(got, p.sent):
        assert (g.kind, g.track, g.stamp, g.cts, g.key) == \
            (s.kind, s.track, s.stamp, s.cts, s.key)
        assert g.data == s.data
