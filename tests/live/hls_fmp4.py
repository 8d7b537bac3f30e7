"""Fragmented MP4 as strict readers see it: boxes judged, samples taken out.

"14496-12" is ISO/IEC 14496-12, "CMAF" ISO/IEC 23000-19.
"""
# SPDX-License-Identifier: BSD-2-Clause

import struct
from collections import namedtuple
from fractions import Fraction

from hls_playlist import Faults

# time, cts (composition time less decode time), duration: units of the track.
Sample = namedtuple("Sample", "track time cts duration key data")

RULES = {
    "box": "14496-12 4.2: boxes fill their container exactly",
    "init": "8216bis 3.1.2: ftyp, then moov",
    "mvex": "8216bis 3.1.2: moov has mvex with a trex for each track",
    "track-ids": "14496-12 8.3.2: track ids differ and are not 0",
    "timescale": "14496-12 8.4.2: a timescale is not 0",
    "entry": "14496-12 8.5.2: one sample entry, and no samples in moov",
    "hev1": "Apple's authoring specification 1.10: hvc1, not hev1",
    "edit": "ExoPlayer, hls.js: no edit list that shifts beside cts < 0",
    "fragment": "14496-12 8.8.4: moof, then its mdat; no moov",
    "sequence": "14496-12 8.8.5: mfhd's numbers grow",
    "base": "CMAF 7.5.17: default-base-is-moof, no base-data-offset",
    "unknown-track": "8216bis 3.1.2: only tracks of the MAP",
    "track-twice": "CMAF 7.5.16, Safari: one traf for a track in a moof",
    "tfdt": "8216bis 3.1.2: tfdt in each traf; house: of 64 bits",
    "trun-sizes": "14496-12 8.8.8: samples lie in mdat, and fill it",
    "trun-version": "14496-12 8.8.8: negative offsets need version 1",
    "empty": "house: a fragment has a sample",
    "time": "CMAF 7.3.2.3, hls.js: decode times go on by the durations",
    "duration": "8216bis 4.4.4.1, 4.4.4.9: as long as the playlist says",
    "independent": "8216bis 4.4.4.9: INDEPENDENT where decoding can start",
    "segment-bytes": "house: a segment is its parts, one behind the other",
}


class Fmp4Faults(Faults):
    def add(self, rule, what, sources=RULES):
        super().add(rule, what, sources)


CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof",
              b"traf", b"edts", b"dinf"}


class Box:
    def __init__(self, kind, body, start, header):
        self.kind = kind
        self.body = body
        self.start = start    # of its header, in what was given
        self.header = header  # bytes
        self.boxes = []

    def all(self, kind):
        return [b for b in self.boxes if b.kind == kind]

    def find(self, *path):
        box = self
        for kind in path:
            found = box.all(kind) if box else []
            box = found[0] if found else None
        return box


def boxes_of(data, faults, start=0):
    found, at = [], 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8]) \
            if len(data) - at >= 8 else (0, b"")
        header = 8
        if size == 1 and len(data) - at >= 16:
            size, header = struct.unpack(">Q", data[at + 8:at + 16])[0], 16
        if size < header or at + size > len(data):
            faults.add("box", f"{kind} at {start + at} has {size} bytes")
            return found
        box = Box(kind, data[at + header:at + size], start + at, header)
        if kind in CONTAINERS:
            box.boxes = boxes_of(box.body, faults, box.start + header)
        found.append(box)
        at += size
    return found


def full(box):
    """(version, flags, body) of a full box."""
    return box.body[0], int.from_bytes(box.body[1:4], "big"), box.body[4:]


Track = namedtuple("Track", "number kind timescale entry config defaults edit")


class Init:
    """An initialisation segment: tracks by number."""

    def __init__(self, data):
        self.faults = Fmp4Faults()
        self.tracks = {}
        boxes = boxes_of(data, self.faults)
        if [b.kind for b in boxes][:2] != [b"ftyp", b"moov"] or any(
                b.kind in (b"moof", b"mdat") for b in boxes):
            self.faults.add("init", str([b.kind for b in boxes]))
        moov = Box(b"", b"", 0, 0)
        moov.boxes = boxes
        moov = moov.find(b"moov") or Box(b"moov", b"", 0, 0)
        mvex = moov.find(b"mvex") or Box(b"mvex", b"", 0, 0)
        defaults = {}
        for trex in mvex.all(b"trex"):
            number, *rest = struct.unpack(">5I", full(trex)[2][:20])
            defaults[number] = rest[1:]  # duration, size, flags
        for trak in moov.all(b"trak"):
            self._track(trak, defaults)
        if set(defaults) != set(self.tracks) or not self.tracks:
            self.faults.add("mvex", f"{sorted(defaults)} for "
                            f"{sorted(self.tracks)}")

    def _track(self, trak, defaults):
        version, _, body = full(trak.find(b"tkhd"))
        number = struct.unpack(">I", body[16:20] if version else
                               body[8:12])[0]
        version, _, body = full(trak.find(b"mdia", b"mdhd"))
        timescale = struct.unpack(">I", body[16:20] if version else
                                  body[8:12])[0]
        kind = full(trak.find(b"mdia", b"hdlr"))[2][4:8].decode("latin-1")
        stbl = trak.find(b"mdia", b"minf", b"stbl")
        stsd = full(stbl.find(b"stsd"))[2]
        entries = boxes_of(stsd[4:], self.faults)
        counts = [full(b)[2][:4] for k in (b"stts", b"stsc", b"stco")
                  for b in stbl.all(k)]
        if len(entries) != 1 or any(c != bytes(4) for c in counts):
            self.faults.add("entry", f"track {number}")
        entry = entries[0].kind.decode("latin-1") if entries else ""
        if entry == "hev1":
            self.faults.add("hev1", f"track {number}")
        if number == 0 or number in self.tracks:
            self.faults.add("track-ids", str(number))
        if timescale == 0:
            self.faults.add("timescale", f"track {number}")
        self.tracks[number] = Track(
            number, kind, timescale or 1, entry,
            entries[0].body if entries else b"", defaults.get(number),
            trak.find(b"edts", b"elst") is not None)


class Fragments:
    """The fragments of a part or segment, for an Init."""

    def __init__(self, data, init):
        self.faults = Fmp4Faults()
        self.init = init
        self.sequences = []
        self.samples = []
        self.starts = {}  # track: decode time of its first sample, by fragment
        boxes = [b for b in boxes_of(data, self.faults)
                 if b.kind not in (b"styp", b"sidx", b"emsg", b"prft")]
        kinds = [b.kind for b in boxes]
        if not kinds or kinds != [b"moof", b"mdat"] * (len(kinds) // 2):
            self.faults.add("fragment", str(kinds))
            return
        for moof, mdat in zip(boxes[::2], boxes[1::2]):
            self._moof(moof, mdat, data)

    def _moof(self, moof, mdat, data):
        mfhd = moof.find(b"mfhd")
        number = struct.unpack(">I", full(mfhd)[2][:4])[0] if mfhd else 0
        if mfhd is None or (self.sequences and number <= self.sequences[-1]):
            self.faults.add("sequence", str(number))
        self.sequences.append(number)
        ranges, seen = [], set()
        for traf in moof.all(b"traf"):
            track = struct.unpack(">I", full(traf.find(b"tfhd"))[2][:4])[0]
            if track in seen:
                self.faults.add("track-twice", str(track))
            seen.add(track)
            if track not in self.init.tracks:
                self.faults.add("unknown-track", str(track))
            else:
                self._traf(traf, moof, data, ranges)
        self._ranges(ranges, mdat)

    def _ranges(self, ranges, mdat):
        """Samples lie in mdat one behind the other."""
        at = mdat.start + mdat.header
        end = at + len(mdat.body)
        for start, size in sorted(r for r in ranges if r[1]):
            if start != at:
                self.faults.add("trun-sizes", f"at {start}, not {at}")
                return
            at += size
        if at != end:
            self.faults.add("trun-sizes", f"{end - at} bytes of no sample")
        if not ranges:
            self.faults.add("empty", f"moof {self.sequences[-1]}")

    def _traf(self, traf, moof, data, ranges):
        _, flags, body = full(traf.find(b"tfhd"))
        track = self.init.tracks[struct.unpack(">I", body[:4])[0]]
        if flags & 1 or not flags & 0x20000:
            self.faults.add("base", f"flags {flags:#x}")
        defaults = self._defaults(flags, body[4:], track.defaults)
        tfdt = traf.find(b"tfdt")
        if tfdt is None or full(tfdt)[0] != 1:
            self.faults.add("tfdt", f"track {track.number}")
            return
        time = struct.unpack(">Q", full(tfdt)[2][:8])[0]
        self.starts.setdefault(track.number, []).append(time)
        for trun in traf.all(b"trun"):
            time = self._trun(trun, (moof, data, ranges), track, defaults,
                              time)

    @staticmethod
    def _defaults(flags, body, defaults):
        """(duration, size, flags) of samples that do not say."""
        found = list(defaults or (0, 0, 0))
        at = (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
        for i, bit in enumerate((8, 16, 32)):
            if flags & bit:
                found[i] = struct.unpack(">I", body[at:at + 4])[0]
                at += 4
        return found

    def _trun(self, trun, where, track, defaults, time):
        moof, data, ranges = where
        version, flags, body = full(trun)
        count, at = struct.unpack(">I", body[:4])[0], 4
        words = struct.unpack(f">{(len(body) - at) // 4}I", body[at:])
        words = iter(words)
        offset = moof.start + (next(words) if flags & 1 else 0)
        first = next(words) if flags & 4 else None
        for i in range(count):
            duration = next(words) if flags & 0x100 else defaults[0]
            size = next(words) if flags & 0x200 else defaults[1]
            mine = next(words) if flags & 0x400 else \
                first if first is not None and i == 0 else defaults[2]
            cts = next(words) if flags & 0x800 else 0
            if cts >= 1 << 31:
                if version == 0:
                    self.faults.add("trun-version", f"track {track.number}")
                cts -= 1 << 32
            ranges.append((offset, size))
            self.samples.append(Sample(
                track.number, time, cts, duration, not mine & 0x10000,
                data[offset:offset + size]))
            offset += size
            time += duration
        if count == 0:
            self.faults.add("empty", f"trun of track {track.number}")
        if track.edit and any(s.cts < 0 for s in self.samples):
            self.faults.add("edit", f"track {track.number}")
        return time


def length(fragments):
    """Seconds of media: of the pictures, or without them of the sound."""
    init = fragments.init
    best = None
    for track in init.tracks.values():
        mine = [s for s in fragments.samples if s.track == track.number]
        if mine and (best is None or track.kind == "vide"):
            end = mine[-1].time + mine[-1].duration
            best = Fraction(end - mine[0].time, track.timescale)
            if track.kind == "vide":
                break
    return best or Fraction(0)


def longest_frame(fragments):
    """Seconds: no end divides a frame."""
    scales = {t.number: t.timescale for t in fragments.init.tracks.values()}
    return max((Fraction(s.duration, scales[s.track])
                for s in fragments.samples if s.track in scales),
               default=Fraction(0))


def begins_independent(fragments):
    """Whether decoding can start at the first picture, or sound alone."""
    pictures = [t.number for t in fragments.init.tracks.values()
                if t.kind == "vide"]
    mine = [s for s in fragments.samples
            if not pictures or s.track in pictures]
    return bool(mine) and mine[0].key


class Timeline:
    """Decode times of fragments that follow each other.

    The last duration of a fragment of pictures is an estimate that the next
    one corrects: they may differ by slack seconds.  Sound counts samples,
    unless its clock differs from them: sound_slack is for such publishers.
    """

    def __init__(self, slack=Fraction(1, 20), sound_slack=Fraction(0)):
        self.slack = {"vide": slack}
        self.sound_slack = sound_slack
        self.ends = {}
        self.fresh = set()  # tracks behind a discontinuity, not heard since  # track: decode time behind its last sample
        self.tracks = None
        self.sequence = 0

    def add(self, fragments, restart=False):
        """restart: a discontinuity is before it."""
        faults = Fmp4Faults()
        for number in fragments.sequences:
            if number <= self.sequence:
                faults.add("sequence", f"{number} after {self.sequence}")
            self.sequence = number
        if restart:  # for each track, whichever part has its first sample
            self.fresh = set(self.ends)
        tracks = {n: (t.kind, t.timescale)
                  for n, t in fragments.init.tracks.items()}
        if tracks != self.tracks:  # numbers are those of an init
            self.ends = {}
        self.tracks = tracks
        for s in fragments.samples:
            end = self.ends.get(s.track)
            track = fragments.init.tracks[s.track]
            may = track.timescale * self.slack.get(track.kind,
                                                   self.sound_slack)
            if end is not None and abs(s.time - end) > may and not (
                    s.track in self.fresh and s.time >= end - may):
                faults.add("time", f"track {s.track}: {s.time}, not {end}")
            self.fresh.discard(s.track)
            self.ends[s.track] = s.time + s.duration
        return faults


def check_part(fragments, duration, independent, slack=Fraction(1, 10)):
    """What the playlist says of a part or segment; independent None: it says
    nothing."""
    faults = Fmp4Faults()
    if abs(length(fragments) - duration) > slack:
        faults.add("duration", f"{float(length(fragments))} s, said "
                   f"{float(duration)}")
    if independent is not None and \
            independent != begins_independent(fragments):
        faults.add("independent", f"said {independent}")
    return faults


def check_segment(segment, parts):
    """Bytes of a segment, and of all its parts."""
    faults = Fmp4Faults()
    if segment != b"".join(parts):
        faults.add("segment-bytes", f"{len(segment)} bytes, parts "
                   f"{[len(p) for p in parts]}")
    return faults
