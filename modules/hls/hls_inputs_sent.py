"""What publishers send in rows of hls_inputs.py: tracks that are even, and what
happens to them.

    events = Input("sound-comes-late", sound={"begins": 6}).events(clips)

Times are seconds from the publisher's beginning.  Each picture has a number of
its own in its bytes, so players can be asked which ones they got.
"""
# SPDX-License-Identifier: BSD-2-Clause

import struct
from collections import namedtuple
from dataclasses import dataclass, field

import flv
from enhanced_publisher import CODED, SEQUENCE_START, Track
from hls_faults_sent import Event
from rtmp_client import AUDIO, DATA, VIDEO

LENGTH = 20.0
MASK = 0xffffffff
CSIDS = {VIDEO: 6, AUDIO: 4, DATA: 5}
CLIP_SECONDS, CLIP_RATE = 34, 30

# A frame as players have to get it.  time: ms of the media; stamp: as it was
# sent.
Sent = namedtuple("Sent", "time stamp codec key data")


# ---- tracks ----

def numbered(body, number):
    """A picture of H.264 behind a unit of SEI with a number (user data,
    D.1.7)."""
    text = b"weir input tests" + b"%08d" % number
    unit = b"\6\5" + bytes([len(text)]) + text + b"\x80"
    return struct.pack(">I", len(unit)) + unit + body


def picture_clip(clips, codec="h264", size="160x90"):
    """One group; a key frame is its first frame again."""
    return clips.make(codec, seconds=CLIP_SECONDS, size=size, rate=CLIP_RATE,
                      gop=CLIP_SECONDS * CLIP_RATE, bframes=0)


def sound_clip(clips, codec="aac", rate=48000):
    return clips.make(codec, seconds=CLIP_SECONDS, rate=rate)


def is_within(time, spans):
    return any(begin <= time < end for begin, end in spans)


def slots(rates, length):
    """When pictures come; rates: [(from when, frames a second)]."""
    for (begins, rate), end in zip(rates, [r[0] for r in rates[1:]] + [length]):
        for i in range(round((end - begins) * rate)):
            yield round(begins + i / rate, 6)


def key_times(keys, length):
    """keys: seconds apart, or times."""
    if isinstance(keys, (int, float)):
        return [i * keys for i in range(int(length / keys) + 1)]
    return list(keys)


@dataclass
class Message:
    at: float
    kind: int
    payload: bytes
    stamp: int
    sample: Sent = None
    header: bool = False


@dataclass
class Input:
    """A row: what is published, and what players get of it (see
    hls_inputs.py)."""
    name: str
    pictures: dict = field(default_factory=dict)  # None: there are none
    sound: dict = field(default_factory=dict)
    edits: tuple = ()       # of the messages, one after the other
    length: float = LENGTH
    tags: int = 0           # discontinuities in the list
    maps: int = 1           # sets of codec headers
    parts: str = "all"      # segments that have some: "all", "some", "none"
    keys: bool = True       # each segment begins with a key frame
    lost: tuple = (0, 0)    # at most so many pictures, frames of sound
    ends: int = 0           # NAME.mp4 ends so often
    by: str = "time"        # publishers' distance: of the media, or "stamp"
    apart: float = 0.1      # s by which the distance may differ
    sound_slack: float = 0  # s by which sound may leave its clock
    slack: float = 0        # s by which pictures may leave their lengths
    begins: float = 0       # s; what came before need not be there
    without: str = ""       # "pictures" or "sound" are not offered
    back: int = 0           # times of FLV go back so often
    still: bool = True      # there is a picture
    long: bool = False      # in "make check-long" alone

    # ---- tracks ----

    def _message(self, made, track, time, place, counts):
        clip = track.clip
        dts, pts, _, body = clip.frames[place]
        key = clip.kind == VIDEO and place == 0
        cts = round((pts - dts) * 1000 / clip.scale)
        if clip.codec == "h264":
            counts[0] += 1
            body = numbered(body, counts[0])
        stamp = round(time * 1000)
        made.append(Message(
            time, clip.kind, track.message(clip, CODED, key, body, cts), stamp,
            Sent(stamp, stamp, clip.codec, key, body)))

    @staticmethod
    def header(track, time):
        return [Message(time, track.clip.kind, track.message(
            track.clip, SEQUENCE_START, True, track.clip.config),
            round(time * 1000), header=True)] \
            if track.clip.config is not None else []

    def _pictures(self, clips, rates=((0, 30),), keys=2.0, begins=0.0,
                  ends=99.0, pauses=(), left_out=0, changes=(), header_late=0,
                  announced=True):
        """changes: (time, codec, size); header_late: the header comes so many
        frames behind the key frame; announced: with a header."""
        made, place, counts = [], 0, [0]
        clip = picture_clip(clips)
        track, keys, changes = Track(clip), key_times(keys, self.length), \
            list(changes)
        header_in = 0 if announced else 1 << 30
        for number, time in enumerate(slots(rates, self.length)):
            if not begins <= time < ends or is_within(time, pauses) or \
                    left_out and number % left_out == left_out - 1:
                continue
            if changes and changes[0][0] <= time:
                track = Track(picture_clip(clips, *changes.pop(0)[1:]))
                place, header_in = 0, header_late
            due = [k for k in keys if k <= time + 0.001]
            if due:
                place, keys = 0, keys[len(due):]
            if header_in == 0:
                made += self.header(track, time)
            self._message(made, track, time, place, counts)
            header_in, place = header_in - 1, place + 1
        return made

    def _sound(self, clips, codec="aac", rate=48000, begins=0.0, ends=99.0,
               pauses=(), changes=(), announced=True, later=0.0):
        """changes: (time, codec, rate)."""
        made, changes = [], list(changes)
        track = Track(sound_clip(clips, codec, rate))
        origin, place, header = later, 0, announced
        while True:
            time = origin + track.clip.frames[place][0] / track.clip.scale
            if time >= self.length:
                return made
            if changes and changes[0][0] <= time:
                track = Track(sound_clip(clips, *changes.pop(0)[1:]))
                origin, place, header = time, 0, True
            if begins <= time < ends and not is_within(time, pauses):
                made += self.header(track, time) if header else []
                header = False
                self._message(made, track, time, place, [0])
            place += 1

    # ---- all ----

    def messages(self, clips):
        made = [Message(0, DATA, flv.metadata(), 0)]
        if self.pictures is not None:
            made += self._pictures(clips, **self.pictures)
        if self.sound is not None:
            made += self._sound(clips, **self.sound)
        made.sort(key=lambda m: m.at)
        for edit in self.edits:
            made = sorted(edit(made), key=lambda m: m.at)
        return made

    def events(self, clips):
        return [Event(m.at, m.kind, m.payload, m.stamp & MASK, CSIDS[m.kind],
                      m.sample and m.sample._replace(stamp=m.stamp))
                for m in self.messages(clips)]


# ---- what happens ----

def is_frame(m, kind):
    return m.kind == kind and m.sample is not None


def wild(kind, at, ms):
    """One timestamp alone."""
    def edit(made):
        m = next(m for m in made if is_frame(m, kind) and m.at >= at)
        m.stamp += ms
        return made
    return edit


def leap(kind, at, ms, of_headers=True):
    """All timestamps from then on; kind None: of both."""
    def edit(made):
        for m in made:
            if m.at >= at and kind in (None, m.kind) and m.kind != DATA and \
                    (of_headers or not m.header):
                m.stamp += ms
        return made
    return edit


def late(kind, seconds):
    """Each message is sent so much later than the others of its time."""
    def edit(made):
        for m in made:
            m.at += seconds if m.kind == kind else 0
        return made
    return edit


def shake(ms):
    """Pictures come that much too early and too late, in turns of seven."""
    moves = [0, ms, -ms, ms // 2, -ms, ms, -ms // 2]

    def edit(made):
        mine = [m for m in made if is_frame(m, VIDEO)]
        for i, m in enumerate(mine):
            m.stamp = max(0, m.stamp + moves[i % len(moves)])
        return made
    return edit


def among(*strays):
    """Each of them six times, while frames go on."""
    def edit(made):
        times = [5 + 0.17 * i for i in range(6 * len(strays))]
        return made + [Message(t, *strays[i % len(strays)], round(t * 1000))
                       for i, t in enumerate(times)]
    return edit


def headers(*times, stamp=None):
    """Codec headers again, as they were."""
    def edit(made):
        known = {m.kind: m for m in reversed(made) if m.header}
        return made + [
            Message(t, m.kind, m.payload,
                    round(t * 1000) if stamp is None else stamp, header=True)
            for t in times for m in known.values()]
    return edit


def metadata(*times):
    def edit(made):
        return made + [Message(t, DATA, flv.metadata(), round(t * 1000))
                       for t in times]
    return edit


def silent(kind, payload=None):
    """A codec header, and no frame of the track, or such messages instead."""
    def edit(made):
        mine = [m for m in made if is_frame(m, kind)]
        rest = [m for m in made if not is_frame(m, kind)]
        return rest if payload is None else rest + [
            Message(m.at, kind, payload, m.stamp) for m in mine]
    return edit
