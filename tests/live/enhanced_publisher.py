"""A publisher of Enhanced RTMP: elementary streams that ffmpeg's encoders made,
sent as messages with right times, and the list of all that was sent.

    clips = Clips(tmp_path)
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(clips.make("hevc", gop=25)),
        Track(clips.make("aac")),
        Track(clips.make("opus"), number=1, begins=2.0)])
    p.run()           # in real time, in a thread; run(3.0): three times faster
    p.send(10)        # or 10 s of the stream as fast as they are taken
    p.stop()
    p.sent            # of every frame a Sample

Clips repeat without an end; each begins with a key frame.  What a player has
to get, in the order of sending, is in `sent`; codec headers are in `headers`.
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import copy
import heapq
import struct
import threading
import time

import flv
import media
from patience import busy
from rtmp_client import AUDIO, DATA, VIDEO, publisher

SEQUENCE_START, CODED, CODED_X, MULTITRACK_AUDIO, MULTITRACK_VIDEO = \
    0, 1, 3, 5, 6
KEY, INTER = 1, 2
ONE, MANY, MANY_CODECS = 0, 1, 2  # AvMultitrackType
MASK = 0xffffffff
BEFORE_WRAP = MASK - 5000  # a start time: 5 s later the clock begins anew

# kind: AUDIO or VIDEO; track: its number; session: of the publisher, from 0;
# time: ms, more than 32 bits; stamp: as it was sent; header: index in headers.
Sample = collections.namedtuple(
    "Sample", "session kind track time stamp cts key data header")

# name: (fourcc, encoder's arguments, box of the configuration, samples of a
# frame of sound).
VIDEO_CODECS = {
    "h264": (b"avc1", "libx264 -preset ultrafast -bf 2 -sc_threshold 0",
             b"avcC"),
    "hevc": (b"hvc1", "libx265 -preset ultrafast", b"hvcC"),
    "av1": (b"av01", "libsvtav1 -preset 12", b"av1C"),
    "vp9": (b"vp09", "libvpx-vp9 -deadline realtime -cpu-used 8", b"vpcC"),
    "flv1": (b"", "flv", None),
}
AUDIO_CODECS = {
    "aac": (b"mp4a", "aac", b"esds"),
    "mp3": (b".mp3", "libmp3lame", None),
    "ac3": (b"ac-3", "ac3", None),
    "eac3": (b"ec-3", "eac3", None),
    "opus": (b"Opus", "libopus", b"dOps"),
    "flac": (b"fLaC", "flac", b"dfLa"),
    "nellymoser": (b"", "nellymoser", None),
}
LEGACY = {"h264": 7, "aac": 10, "mp3": 2, "hevc": 12}  # ids of FLV
OF_FLASH = ("flv1", "nellymoser")  # FLV alone holds them


# ---- elementary streams ----

class Clip:
    """Frames of one codec: (dts, pts, key, bytes), times in 1/scale s."""

    def __init__(self, codec, path, config, scale, frames, length):
        self.codec, self.path, self.config = codec, path, config
        self.scale, self.frames, self.length = scale, frames, length
        self.kind = VIDEO if codec in VIDEO_CODECS else AUDIO
        self.fourcc = (VIDEO_CODECS.get(codec) or AUDIO_CODECS[codec])[0]


def descriptors(esds):
    """The AudioSpecificConfig in an esds box (ISO/IEC 14496-1, 7.2.6)."""
    at = 4
    while at < len(esds):
        tag, at, size = esds[at], at + 1, 0
        while True:
            size, at = size << 7 | esds[at] & 127, at + 1
            if not esds[at - 1] & 128:
                break
        if tag == 5:
            return esds[at:at + size]
        at += {3: 3, 4: 13}.get(tag, size)
    raise AssertionError("no AudioSpecificConfig")


def configuration(codec, box):
    """What a box of MP4 holds, as Enhanced RTMP sends it."""
    if codec == "aac":
        return descriptors(box)
    if codec == "vp9":
        return box[4:]
    if codec == "flac":
        return b"fLaC" + box[4:]
    if codec == "opus":  # Opus in ISOBMFF, 4.3.2; RFC 7845, 5.1
        _, channels, skip, rate, gain, family = struct.unpack(
            ">BBHIhB", box[:11])
        return b"OpusHead" + struct.pack("<BBHIhB", 1, channels, skip, rate,
                                         gain, family) + box[11:]
    return box


def find_box(data, name):
    at = data.index(name)
    size = int.from_bytes(data[at - 4:at], "big")
    return data[at + 4:at - 4 + size]


class Clips:
    """Makes clips in a folder; the same one is made once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def make(self, codec, seconds=4, **options):
        """Pictures: size="320x180", rate=25, gop=25, bframes=2.  Sound:
        rate=48000, channels=2, frequency=440 (what tells tracks apart),
        frame=960 (samples, of FLAC)."""
        key = (codec, seconds, *sorted(options.items()))
        if key not in self.made:
            path = self.folder / f"clip{len(self.made)}.mp4"
            arguments = pictures(codec, **options) if codec in VIDEO_CODECS \
                else sounds(codec, **options)
            media.check(["ffmpeg", *media.QUIET, "-y", *arguments, "-t",
                         str(seconds), "-f",
                         "flv" if codec in OF_FLASH else "mp4", str(path)])
            self.made[key] = read_clip(codec, path)
        return self.made[key]


def pictures(codec, size="320x180", rate=25, gop=25, bframes=2):
    more = {"hevc": ["-x265-params", f"log-level=none:keyint={gop}:"
                     f"min-keyint={gop}:bframes={bframes}:scenecut=0:"
                     "open-gop=0"],
            "h264": ["-bf", str(bframes), "-keyint_min", str(gop)],
            "av1": ["-svtav1-params", "pred-struct=1"]}.get(codec, [])
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}",
            "-c:v", *VIDEO_CODECS[codec][1].split(), "-g", str(gop), *more,
            "-pix_fmt", "yuv420p", "-b:v", "300k"]


def sounds(codec, rate=48000, channels=2, frequency=440, frame=None):
    return ["-f", "lavfi", "-i",
            f"sine=frequency={frequency}:sample_rate={rate}", "-ac",
            str(channels), "-c:a", *AUDIO_CODECS[codec][1].split(),
            "-strict", "-2", "-b:a", "64k",
            *(["-frame_size", str(frame)] if frame else [])]


def is_key(row):
    """A row of framecrc: it has flags where they are not those of a key
    frame."""
    return not any(int(r[2:], 16) & 1 == 0 for r in row if r[:2] == "F=")


def read_clip(codec, path):
    """Frames of an MP4 file with one track, in decode order."""
    edits = [] if codec in OF_FLASH else ["-ignore_editlist", "1"]
    source = ["ffmpeg", *media.QUIET, "-y", *edits, "-i", str(path), "-map",
              "0", "-c", "copy", "-f"]
    media.check([*source, "data", f"{path}.bin"])
    data, at, frames, scale, rows = \
        path.with_name(path.name + ".bin").read_bytes(), 0, [], 0, []
    for line in media.check([*source, "framecrc", "-"]).splitlines():
        if line.startswith("#tb 0:"):
            scale = int(line.split("/")[1])
        if not line.startswith("#"):
            rows.append(line.replace(" ", "").split(","))
    for row in rows:
        dts, pts, size = int(row[1]), int(row[2]), int(row[4])
        frames.append((dts, pts, is_key(row), data[at:at + size]))
        at += size
    assert frames and at == len(data), f"{path}: {at} of {len(data)} bytes"
    box = (VIDEO_CODECS.get(codec) or AUDIO_CODECS[codec])[2]
    config = configuration(codec, find_box(path.read_bytes(), box)) \
        if box else None
    first = frames[0][0]
    # FLAC's last frame is shorter; that of others is only said to be.
    last = int(rows[-1][3]) if codec == "flac" else frames[1][0] - first
    frames = [(dts - first, pts - first, key, body)
              for dts, pts, key, body in frames]
    return Clip(codec, path, config, scale, frames,
                frames[-1][0] + last)


# ---- HE-AAC ----

# Of what an encoder of AAC-LC makes: decoders find no SBR in it, and take the
# band above the core's for silent.  The configuration alone says that twice
# the rate comes out (ISO/IEC 14496-3, 1.6.2.1, table 1.18).
LC, SBR, PS = 2, 5, 29
RATES = {96000: 0, 88200: 1, 48000: 3, 44100: 4, 24000: 6, 22050: 7}


def bits(*fields):
    text = "".join(f"{value:0{count}b}" for value, count in fields)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def he_aac(clip, how, rate, channels):
    """The same frames, and how: "sbr" or "ps", told in front of the core;
    "behind" it, for players that know no SBR; or "lc", told nowhere."""
    def core(kind):
        return (kind, 5), (RATES[rate], 4), (channels, 4)
    twice, rest = (RATES[2 * rate], 4), (0, 3)
    clip = copy.copy(clip)
    clip.config = bits(*{
        "lc": (*core(LC), rest),
        "sbr": (*core(SBR), twice, (LC, 5), rest),
        "ps": (*core(PS), twice, (LC, 5), rest),
        "behind": (*core(LC), rest, (0x2b7, 11), (SBR, 5), (1, 1), twice),
    }[how])
    return clip


# ---- messages ----

def video_message(clip, packet, key, body, cts=0, legacy=False):
    time = struct.pack(">i", cts)[1:]
    if legacy:
        first = (KEY if key else INTER) << 4 | LEGACY[clip.codec]
        return bytes([first, packet]) + time + body
    timed = packet == CODED and clip.codec in ("h264", "hevc")
    if timed and cts == 0:
        packet, timed = CODED_X, False
    head = bytes([0x80 | (KEY if key else INTER) << 4 | packet])
    return head + clip.fourcc + (time if timed else b"") + body


def audio_message(clip, packet, body, track=0, legacy=False):
    if track > 0:  # OneTrack
        return bytes([0x90 | MULTITRACK_AUDIO, packet]) + clip.fourcc + \
            bytes([track]) + body
    if legacy:
        first = LEGACY[clip.codec] << 4 | 15  # stereo, 16 bits, 44.1 kHz
        return bytes([first] + ([packet] if clip.codec == "aac" else [])) + \
            body
    return bytes([0x90 | packet]) + clip.fourcc + body


def together_message(how, packet, parts):
    """Sounds of several tracks, [(clip, track, body)]: of one codec, or each
    with its own."""
    out = bytes([0x90 | MULTITRACK_AUDIO, how << 4 | packet])
    out += parts[0][0].fourcc if how == MANY else b""
    for clip, track, body in parts:
        out += clip.fourcc if how == MANY_CODECS else b""
        out += bytes([track]) + len(body).to_bytes(3, "big") + body
    return out


class Track:
    """A clip on its way: its frames from `begins` seconds on, up to `ends`.
    changes: at so
    many seconds or the next end of the clip another clip goes on in its place
    (another size, say).  legacy: as FLV has it, for codecs that it knows."""

    def __init__(self, clip, number=0, begins=0.0, changes=(), legacy=None,
                 ends=float("inf")):
        self.clip, self.number = clip, number
        self.begins, self.ends = begins, ends
        self.behind = None  # a message that comes behind its newest one
        self.changes = sorted(changes, key=lambda c: c[0])
        self.legacy = legacy if legacy is not None else \
            clip.codec in LEGACY and clip.codec != "hevc" and number == 0
        assert number == 0 or clip.kind == AUDIO

    def frames(self):
        """(ms, clip, cts in ms, key, bytes)."""
        clip, origin, changes = self.clip, self.begins * 1000, \
            list(self.changes)
        while True:
            for dts, pts, key, body in clip.frames:
                at = round(origin + dts * 1000 / clip.scale)
                shown = round(origin + pts * 1000 / clip.scale)
                if at >= self.ends * 1000:
                    return
                yield at, clip, shown - at, key, body
            origin += clip.length * 1000 / clip.scale
            if changes and changes[0][0] * 1000 <= origin:
                clip = changes.pop(0)[1]

    def message(self, clip, packet, key, body, cts=0):
        if clip.kind == VIDEO:
            return video_message(clip, packet, key, body, cts, self.legacy)
        return audio_message(clip, packet, body, self.number, self.legacy)


class PicturesTogether(Track):
    """Smaller pictures as track 1, in front of its own in each message, or in
    messages of their own (how: ONE), behind them."""

    def __init__(self, clip, smaller, how=MANY, **more):
        super().__init__(clip, legacy=False, **more)
        self.how, self.smaller = how, smaller

    def frames(self):
        self.others = Track(self.smaller).frames()
        return super().frames()

    def _pieces(self, clip, packet, body, cts):
        own, other = (0, clip, body, cts), (1, self.smaller, None, 0)
        if packet == SEQUENCE_START:
            other = (1, self.smaller, self.smaller.config, 0)
        else:
            _, _, cts, _, body = next(self.others)
            other = (1, self.smaller, body, cts)
        for track, c, body, cts in (other, own):
            time = struct.pack(">i", cts)[1:] if packet == CODED and \
                c.codec in ("h264", "hevc") else b""
            yield track, c.fourcc, time + body

    def message(self, clip, packet, key, body, cts=0):
        first = 0x80 | (KEY if key else INTER) << 4 | MULTITRACK_VIDEO
        pieces = list(self._pieces(clip, packet, body, cts))
        head = bytes([first, self.how << 4 | packet])
        if self.how == ONE:
            (_, fourcc, other), (_, _, own) = pieces
            self.behind = head + fourcc + b"\1" + other
            return head + fourcc + b"\0" + own
        out = head + (clip.fourcc if self.how == MANY else b"")
        for track, fourcc, body in pieces:
            out += fourcc if self.how == MANY_CODECS else b""
            out += bytes([track]) + len(body).to_bytes(3, "big") + body
        return out


class EnhancedPublisher:
    def __init__(self, port, name="room", app="live", tracks=(),
                 start_time=0, client=None, **more):
        self.where = (port, app, name)
        self.more = more
        self.c = client or publisher(*self.where, **more)
        self.tracks = list(tracks)
        self.start_time = self.base = start_time
        self.session = 0
        self.sent, self.headers = [], []
        self.leaps = {}      # kind -> ms
        self.time = 0        # ms of the tracks, of what was sent
        self.error = self.thread = None
        self.stopping = threading.Event()
        self.lock = threading.RLock()
        self._begin()

    def _begin(self):
        """Tracks from their beginning, metadata first."""
        self.queue = heapq.merge(
            *(self._with_track(t) for t in self.tracks), key=self._order)
        self.next = next(self.queue)
        self.time = 0
        self.in_force = {}   # track -> (clip, index of its header)
        self._announce()

    def _announce(self):
        self.c.send(DATA, flv.metadata(), self.base & MASK, self.c.msid,
                    csid=5)
        self._headers(self.tracks)

    def _headers(self, tracks):
        for t in tracks:
            if t.begins == 0:
                self._header(t, t.clip, self.base)

    def _order(self, frame):
        """What is sent first."""
        return frame[0]

    @staticmethod
    def _with_track(t):
        for frame in t.frames():
            yield (*frame, t)

    def _message(self, kind, payload, stamp):
        self.c.send(kind, payload, stamp & MASK, self.c.msid,
                    csid=6 if kind == VIDEO else 4)
        for t in self.tracks if kind == VIDEO else ():
            behind, t.behind = t.behind, None
            if behind:
                self._message(kind, behind, stamp)

    def _header(self, t, clip, at):
        index = None
        if clip.config is not None:
            payload = t.message(clip, SEQUENCE_START, True, clip.config)
            index = len(self.headers)
            self.headers.append((clip.kind, t.number, payload))
            self._message(clip.kind, payload, at)
        self.in_force[t] = (clip, index)

    def _stamp(self, kind, at):
        return self.base + at + self.leaps.get(kind, 0)

    def _take(self):
        """The next frame; its header goes before it."""
        frame = at, clip, _, _, _, t = self.next
        self.next = next(self.queue)
        if self.in_force.get(t, (None,))[0] is not clip:
            self._header(t, clip, self._stamp(clip.kind, at))
        return frame

    def _note(self, frame):
        at, clip, cts, key, body, t = frame
        stamp = self._stamp(clip.kind, at)
        self.time = at
        self.sent.append(Sample(
            self.session, clip.kind, t.number, stamp, stamp & MASK, cts,
            key and clip.kind == VIDEO, body, self.in_force[t][1]))

    def _frame(self):
        """Sends the next frame."""
        with self.lock:
            frame = at, clip, cts, key, body, t = self._take()
            self._message(clip.kind, t.message(clip, CODED, key, body, cts),
                          self._stamp(clip.kind, at))
            self._note(frame)

    # ---- sending ----

    def send(self, seconds):
        """So much of the stream at once; returns when weir has all of it."""
        end = self.time + seconds * 1000
        while self.next[0] <= end:
            self._frame()
        self.heard()
        return self

    def heard(self):
        with self.lock:
            self.c.answer(self.c.command("_checkbw", None))

    def run(self, speed=1.0, seconds=None):
        """In real time (times speed), in a thread, until stop(), pause(), or so
        many seconds of the stream."""
        def work():
            begin, first = time.monotonic(), self.next[0]
            try:
                while not self.stopping.is_set():
                    passed = self.next[0] - first
                    if seconds is not None and passed > seconds * 1000:
                        return
                    due = begin + passed / 1000 / speed
                    self.stopping.wait(max(0, due - time.monotonic()))
                    if not self.stopping.is_set():
                        self._frame()
            except OSError as e:
                self.error = e
        self.stopping.clear()
        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        return self

    def wait(self, timeout=60):
        """Until run(seconds=...) has sent them."""
        self.thread.join(busy(timeout))
        assert not self.thread.is_alive()
        if self.error:
            raise self.error
        return self

    def pause(self):
        """Stops sending, and keeps the connection."""
        self.stopping.set()
        if self.thread:
            self.thread.join()
            self.thread = None
        return self

    # ---- what happens to publishers ----

    def leap(self, kind, ms):
        """Times of one kind alone are that much later from here on."""
        with self.lock:
            self.leaps[kind] = self.leaps.get(kind, 0) + ms
        return self

    def jump(self, ms):
        """The clock is that much later (or earlier) from here on."""
        with self.lock:
            self.base += ms
        return self

    def leave(self, how="close"):
        """how: "close", or "reset" as after a crash."""
        self.pause()
        getattr(self.c, how)()
        return self

    def come_back(self, start_time=None, tracks=None):
        """Publishes again, a new session: its clock begins at start_time, else
        goes on where it was."""
        self.base = self.base + self.time if start_time is None \
            else start_time
        self.tracks = list(tracks) if tracks is not None else self.tracks
        self.c = publisher(*self.where, **self.more)
        self.session += 1
        self._begin()
        return self

    def stop(self):
        self.leave()


class TogetherPublisher(EnhancedPublisher):
    """Sounds of the same time go in one message, all codec headers, too; the
    highest track stands first."""

    def __init__(self, *where, how=MANY, **more):
        self.how = how
        super().__init__(*where, **more)

    def _together(self, packet, sounds, stamp):
        payload = together_message(
            self.how, packet, sorted(sounds, key=lambda s: -s[1]))
        self._message(AUDIO, payload, stamp)
        return payload

    def _headers(self, tracks):
        super()._headers([t for t in tracks if t.clip.kind == VIDEO])
        sounds = [t for t in tracks if t.clip.kind == AUDIO]
        begin = [(t.clip, t.number, t.clip.config)
                 for t in sounds if t.clip.config is not None]
        for t in sounds:
            self.in_force[t] = (t.clip, len(self.headers) if begin else None)
        if begin:
            payload = self._together(SEQUENCE_START, begin, self.base)
            self.headers.append((AUDIO, sounds[0].number, payload))

    def _frame(self):
        with self.lock:
            at, kind = self.next[0], self.next[1].kind
            if kind == VIDEO:
                return super()._frame()
            frames = []
            while self.next[0] == at and self.next[1].kind == AUDIO:
                frames.append(self._take())
            self._together(CODED, [(f[1], f[5].number, f[4]) for f in frames],
                           self._stamp(kind, at))
            for frame in frames:
                self._note(frame)


# ---- reading back ----

Read = collections.namedtuple("Read", "kind track stamp cts key header data")


def _read_enhanced(kind, p):
    packet, key, at, track = p[0] & 15, False, 1, 0
    if kind == VIDEO:
        key = p[0] >> 4 & 7 == KEY
    if packet == (MULTITRACK_VIDEO if kind == VIDEO else MULTITRACK_AUDIO):
        assert p[1] >> 4 == 0, "only OneTrack"
        packet, at = p[1] & 15, 2
    fourcc, at = p[at:at + 4], at + 4
    if p[0] & 15 != packet or at == 6:
        track, at = p[at], at + 1
    cts = 0
    if packet == CODED and fourcc in (b"hvc1", b"avc1"):
        cts = int.from_bytes(p[at:at + 3], "big", signed=True)
        at += 3
    return track, cts, key, packet == SEQUENCE_START, p[at:]


def read_message(kind, stamp, p):
    """A message as a player gets it; independent of how they are made
    above."""
    if kind == AUDIO and p[0] >> 4 == 9 or kind == VIDEO and p[0] & 0x80:
        track, cts, key, header, data = _read_enhanced(kind, p)
    elif kind == VIDEO:
        track, cts = 0, int.from_bytes(p[2:5], "big", signed=True)
        key, header, data = p[0] >> 4 == KEY, p[1] == 0, p[5:]
    else:
        aac = p[0] >> 4 == 10
        track, cts, key = 0, 0, False
        header, data = aac and p[1] == 0, p[2 if aac else 1:]
    return Read(kind, track, stamp, cts, key and not header, header, data)
