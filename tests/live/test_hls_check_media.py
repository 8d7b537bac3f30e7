"""The checker of fMP4, MPEG-TS and WebVTT: each rule catches a bad example, and what
ffmpeg writes passes."""
# SPDX-License-Identifier: BSD-2-Clause

import struct
import subprocess
from fractions import Fraction

import pytest

import hls_fmp4
import hls_ts
import hls_vtt
from hls_fmp4 import Fragments, Init, Timeline

pytestmark = pytest.mark.once


def box(kind, *bodies):
    body = b"".join(bodies)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def full(kind, version, flags, *bodies):
    return box(kind, struct.pack(">I", version << 24 | flags), *bodies)


def ints(*numbers):
    return struct.pack(f">{len(numbers)}I", *numbers)


def trak(number, kind=b"vide", timescale=90000, entry=b"avc1", entries=1,
         stts=0, edit=b""):
    stbl = box(b"stbl",
               full(b"stsd", 0, 0, ints(entries), box(entry, bytes(8)) *
                    entries),
               full(b"stts", 0, 0, ints(stts)),
               full(b"stsc", 0, 0, ints(0)), full(b"stco", 0, 0, ints(0)))
    return box(b"trak",
               full(b"tkhd", 0, 3, ints(0, 0, number), bytes(68)), edit,
               box(b"mdia",
                   full(b"mdhd", 0, 0, ints(0, 0, timescale, 0), bytes(4)),
                   full(b"hdlr", 0, 0, ints(0), kind, bytes(13)),
                   box(b"minf", stbl)))


def init(traks=None, trex=(1, 2), first=b"ftyp"):
    traks = traks or trak(1) + trak(2, b"soun", 48000, b"mp4a")
    return box(first, b"iso6") + box(
        b"moov", traks, box(b"mvex", *[
            full(b"trex", 0, 0, ints(n, 1, 0, 0, 0)) for n in trex]))


KEY, OTHER = 0x02000000, 0x01010000


def traf(number, time, samples, offset, **more):
    """samples: (duration, size, flags, cts)."""
    version = more.get("version", 1)
    body = b"".join(struct.pack(">IIIi", *s) for s in samples)
    tfdt = full(b"tfdt", 1, 0, struct.pack(">Q", time)) \
        if more.get("tfdt", 1) else full(b"tfdt", 0, 0, ints(time))
    return box(b"traf",
               full(b"tfhd", 0, more.get("flags", 0x20000), ints(number),
                    bytes(more.get("pad", 0))), tfdt,
               full(b"trun", version, 0xf01, ints(len(samples), offset), body))


PICTURES = [(3600, 5, KEY, 0), (3600, 3, OTHER, 0)]
SOUND = [(1920, 2, KEY, 0), (1920, 2, KEY, 0)]


def fragment(sequence=1, time=0, pictures=PICTURES, sound=SOUND, **more):
    def moof(first, second):
        trafs = traf(1, time, pictures, first, **more)
        if sound:
            trafs += traf(more.get("second", 2), time * 48000 // 90000,
                          sound, second)
        return box(b"moof", full(b"mfhd", 0, 0, ints(sequence)), trafs)
    size = len(moof(0, 0)) + 8
    count = sum(s[1] for s in pictures)
    data = bytes(range(count + sum(s[1] for s in sound))) + \
        more.get("behind", b"")
    return moof(size + more.get("shift", 0), size + count) + box(b"mdat", data)


GOOD = Init(init())
EDIT = box(b"edts", full(b"elst", 0, 0, ints(1, 0, 0, 0x10000)))


def fragments(data, of=GOOD):
    return Fragments(data, of).faults


def of_timeline(*pieces):
    timeline, faults = Timeline(), []
    for piece in pieces:
        faults += timeline.add(Fragments(piece, GOOD))
    return hls_fmp4.Fmp4Faults(faults)


def of_part(duration=Fraction(2, 25), independent=True, **more):
    return hls_fmp4.check_part(Fragments(fragment(**more), GOOD), duration,
                               independent)


def test_good():
    assert not GOOD.faults, GOOD.faults.text()
    assert {n: (t.kind, t.timescale, t.entry)
            for n, t in GOOD.tracks.items()} == {
                1: ("vide", 90000, "avc1"), 2: ("soun", 48000, "mp4a")}
    f = Fragments(fragment(), GOOD)
    assert not f.faults, f.faults.text()
    assert [(s.track, s.time, s.key, s.data) for s in f.samples] == [
        (1, 0, True, bytes(range(5))), (1, 3600, False, bytes([5, 6, 7])),
        (2, 0, True, bytes([8, 9])), (2, 1920, True, bytes([10, 11]))]
    assert hls_fmp4.length(f) == Fraction(2, 25)
    assert not of_part()
    assert not of_timeline(fragment(), fragment(2, 7200))


def negative(version):
    return fragment(pictures=[(3600, 5, KEY, -9)], version=version)


BAD = {  # rule: faults
    "box": lambda: fragments(fragment()[:-1]),
    "init": lambda: Init(init(first=b"styp")).faults,
    "mvex": lambda: Init(init(trex=(1,))).faults,
    "track-ids": lambda: Init(init(trak(1) + trak(1), (1,))).faults,
    "timescale": lambda: Init(init(trak(1, timescale=0), (1,))).faults,
    "entry": lambda: Init(init(trak(1, entries=2), (1,))).faults +
    Init(init(trak(1, stts=1), (1,))).faults,
    "hev1": lambda: Init(init(trak(1, entry=b"hev1"), (1,))).faults,
    "edit": lambda: fragments(negative(1),
                              Init(init(trak(1, edit=EDIT), (1,)))),
    "fragment": lambda: fragments(init() + fragment()),
    "sequence": lambda: fragments(fragment() + fragment()),
    "base": lambda: fragments(fragment(flags=0x20001, pad=8)),
    "unknown-track": lambda: fragments(fragment(second=3)),
    "track-twice": lambda: fragments(fragment(second=1)),
    "tfdt": lambda: fragments(fragment(tfdt=0)),
    "trun-sizes": lambda: fragments(fragment(behind=b"x")),
    "trun-version": lambda: fragments(negative(0)),
    "empty": lambda: fragments(fragment(sound=[], pictures=[])),
    "time": lambda: of_timeline(fragment(), fragment(2, 30000)),
    "duration": lambda: of_part(Fraction(1)),
    "independent": lambda: of_part(independent=False),
    "segment-bytes": lambda: hls_fmp4.check_segment(b"abc", [b"a", b"b"]),
}


@pytest.mark.parametrize("rule", hls_fmp4.RULES)
def test_each_rule_of_fmp4_catches(rule):
    faults = BAD[rule]()
    assert rule in {f.rule for f in faults}, faults


def test_more_that_is_bad():
    assert fragments(fragment(shift=1)).rules() == {"trun-sizes"}
    assert of_timeline(fragment(), fragment(1, 7200)).rules() == {"sequence"}
    assert not fragments(negative(1))
    # Sound counts samples: one of them is too much.
    timeline = Timeline()
    assert not timeline.add(Fragments(fragment(), GOOD))
    late = fragment(2, 7202)
    assert timeline.add(Fragments(late, GOOD)).rules() == {"time"}


def test_a_discontinuity_may_go_on_later():
    timeline = Timeline()
    assert not timeline.add(Fragments(fragment(), GOOD))
    assert not timeline.add(Fragments(fragment(2, 90000), GOOD), restart=True)
    assert timeline.add(Fragments(fragment(3, 0), GOOD),
                        restart=True).rules() == {"time"}


# ---- text ----

def vtt(*cues, begin=10):
    """cues: (from, to, text), s below 10."""
    return ("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%d,LOCAL:00:00:00.000\n\n" % (
        begin * 90000) + "".join(
        f"00:00:0{a:.3f} --> 00:00:0{b:.3f}\n{text}\n\n"
        for a, b, text in cues)).encode()


def of_text(data):
    return hls_vtt.Text(data, 2).faults


def goes_on(begin):
    lines = hls_vtt.Lines()
    return lines.add(vtt((1, 2, "x")), 2) + \
        lines.add(vtt((0, 1, "x"), begin=begin), 2), lines.cues


BAD_TEXT = {
    "vtt-head": lambda: of_text(b"WEBVTT\n\n"),
    "vtt-goes-on": lambda: goes_on(13)[0],
    "vtt-cue": lambda: of_text(vtt((0, 1, ""))) +
    of_text(vtt((0, 1, "x"))[:-1]),
    "vtt-inside": lambda: of_text(vtt((1, 3, "x"))),
    "vtt-order": lambda: of_text(vtt((0, 2, "x"), (1, 2, "y"))),
    "vtt-segment": lambda: hls_vtt.check_segment(
        vtt((0, 2, "x")), [vtt((0, 1, "x")), vtt(begin=11)], 2),
}


@pytest.mark.parametrize("rule", hls_vtt.RULES)
def test_each_rule_of_text_catches(rule):
    assert rule in {f.rule for f in BAD_TEXT[rule]()}


def test_good_text():
    assert goes_on(12) == ([], [(11, 13, "x")])
    assert not hls_vtt.check_segment(
        vtt((0, 2, "x")), [vtt((0, 1, "x")), vtt((0, 1, "x"), begin=11)], 2)


# ---- ffmpeg's ----

def ffmpeg(folder, *options):
    out = folder / "out"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
         "testsrc2=s=160x90:r=25:d=2", "-f", "lavfi", "-i",
         "sine=r=48000:d=2", "-c:v", "libx264", "-preset", "ultrafast",
         "-g", "25", "-bf", "0", "-c:a", "aac", *options, str(out)],
        check=True, timeout=120)
    return out.read_bytes()


def test_fmp4_of_ffmpeg(tmp_path):
    data = ffmpeg(tmp_path, "-f", "mp4", "-movflags",
                  "+frag_keyframe+empty_moov+default_base_moof"
                  "+negative_cts_offsets+skip_trailer")
    at = data.index(b"moof") - 4
    of = Init(data[:at])
    found = Fragments(data[at:], of)
    assert of.faults.rules() <= {"entry"} and not found.faults, \
        found.faults.text()
    pictures = [s for s in found.samples if s.track == 1]
    assert len(pictures) == 50
    assert [i for i, s in enumerate(pictures) if s.key] == [0, 25]


@pytest.fixture(scope="module")
def ts(tmp_path_factory):
    return ffmpeg(tmp_path_factory.mktemp("ts"), "-f", "mpegts",
                  "-mpegts_flags", "+pat_pmt_at_frames", "-pcr_period", "40")


def tables_first(data):
    """ffmpeg begins with a packet of its own, the SDT."""
    pids = [(data[i + 1] & 31) << 8 | data[i + 2]
            for i in range(0, len(data), 188)]
    return data[188 * pids.index(0):]


def of_ts(data):
    t = hls_ts.Ts()
    t.add(data)
    return t.faults.rules()


def test_ts_of_ffmpeg(ts):
    t = hls_ts.Ts()
    samples = t.add(tables_first(ts))
    t.begins_with_tables(tables_first(ts))
    assert not t.faults, t.faults.text()
    assert sorted(t.streams.values()) == [0x0f, 0x1b]
    video = [pid for pid, kind in t.streams.items() if kind == 0x1b][0]
    pictures = [s for s in samples if s.track == video]
    assert len(pictures) == 50
    assert [i for i, s in enumerate(pictures) if s.key] == [0, 25]
    assert {b.time - a.time for a, b in zip(pictures, pictures[1:])} == {3600}


def packet_of(data, wanted):
    """Where the first packet is for which wanted(packet) holds."""
    for at in range(0, len(data), 188):
        if wanted(data[at:at + 188]):
            return at
    raise AssertionError("no such packet")


def payload(p):
    return p[5 + p[4]:] if p[3] & 0x20 else p[4:]


def pes(p):
    return p[1] & 0x40 and payload(p)[:3] == b"\0\0\1"


def with_pcr(p):
    return p[3] & 0x20 and p[4] > 0 and p[5] & 0x10


def changed(data, at, value):
    return data[:at] + bytes([value]) + data[at + 1:]


def in_pes(data, offset, change, wanted=pes):
    at = packet_of(data, wanted)
    at += 188 - len(payload(data[at:at + 188])) + offset
    return changed(data, at, change(data[at]))


def of_sound(p):
    return pes(p) and payload(p)[3] & 0xe0 == 0xc0


def of_picture(p):
    """Of one that is no key frame."""
    return pes(p) and payload(p)[3] & 0xf0 == 0xe0 and not (
        p[3] & 0x20 and p[5] & 0x40)


def pcr_moved(data, by):
    """The third PCR and its successors, seconds later."""
    ats = [at for at in range(0, len(data), 188)
           if with_pcr(data[at:at + 188])][2:]
    data = bytearray(data)
    for at in ats:
        value = int.from_bytes(data[at + 6:at + 10], "big") + by * 45000
        data[at + 6:at + 10] = value.to_bytes(4, "big")
    return bytes(data)


BAD_TS = {
    "packets": lambda d: d[:-1],
    "crc": lambda d: changed(d, packet_of(
        d, lambda p: p[1:3] == b"\x40\0") + 20, 0x55),
    "continuity": lambda d: (lambda at: d[:at] + d[at + 188:])(packet_of(
        d, lambda p: not p[1] & 0x40 and p[3] & 0x30 == 0x10)),
    "unknown-pid": lambda d: d + d[-188:-187] + b"\x05\x55" + d[-185:],
    "pes": lambda d: in_pes(d, 2, lambda b: 2),
    "pes-length": lambda d: in_pes(d, 5, lambda b: b ^ 1, of_sound),
    "pts": lambda d: in_pes(d, 7, lambda b: 0),
    "dts": lambda d: in_pes(d, 11, lambda b: 1, of_picture),
    "pcr": lambda d: pcr_moved(d, 1),
    "pcr-late": lambda d: pcr_moved(d, 3),
    "transport-error": lambda d: changed(d, 1, d[1] | 0x80),
}


@pytest.mark.parametrize("rule", BAD_TS)
def test_each_rule_of_ts_catches(rule, ts):
    data = tables_first(ts)
    assert of_ts(data) == set()
    assert rule in of_ts(BAD_TS[rule](data))


def test_a_segment_of_ts_begins_with_tables(ts):
    t = hls_ts.Ts()
    t.add(tables_first(ts))
    t.begins_with_tables(tables_first(ts)[188:])
    assert t.faults.rules() == {"tables-first"}
    assert set(hls_ts.RULES) == set(BAD_TS) | {"tables-first"}
