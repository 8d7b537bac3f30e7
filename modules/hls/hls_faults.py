"""A publisher of random faults: what it sends follows from a seed.

    plan = Plan(17)
    print(plan.text())  # what it is and what happens to it

What it sends, and when: hls_faults_sent.py.

A plan draws codecs, a frame rate and a distance of key frames, and one to four
faults of FAULTS.  Frames are real ones (clips that ffmpeg made once), and each
picture follows the one that was coded before it: what decoders complain of is
not the publisher's doing, unless the plan says so (`broken`).

Times are seconds from the publisher's beginning.
"""
# SPDX-License-Identifier: BSD-2-Clause

import random

from rtmp_client import AUDIO, VIDEO
from test_hls_strays import STRAYS

LENGTH = 30.0
MASK = 0xffffffff
MAX_SEGMENT = 6.0
HOLD = 2.0

# What a transport stream carries; what Chromium decodes; what a header of
# FLV's own tells.
TS_PICTURES, TS_SOUNDS = {"h264", "hevc"}, {"aac", "he-aac", "mp3", "ac3"}
CHROMIUM = {"h264", "av1", "vp9", "aac", "opus", "flac"}
PICTURES = ["h264"] * 6 + ["hevc", "hevc", "av1", "av1", "vp9", "vp9"]
SOUNDS = ["aac"] * 6 + ["opus", "opus", "flac", "mp3", "ac3", "he-aac"]
RATES = [25, 25, 30, 30, 12, 15, 24, 50, 60]


class Pictures:
    """The track of pictures: when frames come and which of them are keys."""

    def __init__(self, chance):
        self.codec = chance.choice(PICTURES)
        self.rates = [(0.0, chance.choice(RATES))]
        self.bframes = chance.choice([0, 0, 2])
        self.distance = chance.choice(
            [0.5, 1, 1, 2, 2, 2, 3, 4, 5, 10, round(chance.uniform(0.5, 10), 2)])
        self.begins, self.ends = 0.0, LENGTH
        self.pauses, self.left_out, self.jitters = [], [], []
        self.cuts, self.without_keys = [], []
        self.changes = []  # (time, codec, size, whether its header is late)

    def rate_at(self, time):
        return [rate for begins, rate in self.rates if begins <= time][-1]

    def text(self):
        return f"{self.codec} {self.rates[0][1]} fps, a key each " \
            f"{self.distance} s, B frames {self.bframes}"


class Sound:
    def __init__(self, chance, number=0):
        self.codec = chance.choice(SOUNDS)
        self.rate = {"aac": chance.choice([44100, 48000]),
                     "he-aac": 24000}.get(self.codec, 48000)
        self.number = number
        self.begins, self.ends, self.pauses = 0.0, LENGTH, []
        self.changes = []  # (time, codec, rate)

    def text(self):
        return f"{self.codec} {self.rate}" + (
            f" as track {self.number}" if self.number else "")


class Plan:
    """format: "", "ts" or "apart"; mp4: NAME.mp4 is read, too."""

    def __init__(self, seed):
        self.seed = seed
        chance = self.chance = random.Random(f"faults {seed}")
        what = chance.random()
        self.pictures = Pictures(chance) if what > 0.1 else None
        self.sounds = [] if self.pictures and what > 0.93 else [Sound(chance)]
        if self.sounds and self.pictures and chance.random() < 0.12:
            self.sounds.append(Sound(chance, 1))
        self.base = chance.choice([0, 0, 0, 4711, 0xffffff - 9000,
                                   MASK - 9000])
        self.delays = {VIDEO: 0.0, AUDIO: 0.0}
        self.wild, self.leaps = [], []
        self.strays, self.headers, self.metadata = [], [], []
        self.away, self.stalls = [], []
        self.words = []
        self.broken = []   # what decoders may complain of
        self._choose_format(chance)
        names = list(FAULTS)
        chance.shuffle(names)
        self.drawn = names[:chance.choice([0, 1, 1, 2, 2, 3, 4])]
        for name in self.drawn:
            FAULTS[name](self, chance)

    def _choose_format(self, chance):
        draw = chance.random()
        codecs = self.codecs()
        fits = codecs <= TS_PICTURES | TS_SOUNDS and len(self.sounds) < 2
        self.format = "ts" if draw < 0.2 and fits else \
            "apart" if draw > 0.8 and self.pictures and self.sounds else ""
        self.mp4 = chance.random() < 0.2 and len(self.sounds) < 2

    def codecs(self):
        tracks = [self.pictures] if self.pictures else []
        return {t.codec for t in tracks + self.sounds}

    def all_codecs(self):
        changed = [c[1] for t in [self.pictures, *self.sounds] if t
                   for c in t.changes]
        return self.codecs() | set(changed)

    def tracks_change(self):
        """One comes or goes: a SourceBuffer keeps those that it began with
        (Media Source Extensions, 3.5.7), and plays where it has all."""
        return any(t.begins > 0 or t.ends < LENGTH or
                   any(end - begin > 1 for begin, end in t.pauses)
                   for t in [self.pictures, *self.sounds] if t)

    def in_chromium(self):
        return self.all_codecs() <= CHROMIUM and not self.broken and \
            not self.tracks_change() and \
            self.format != "ts" and len(self.sounds) < 2 and \
            not any(lasts > HOLD for _, lasts, _, _ in self.away)

    def decodes(self):
        """ffmpeg decodes a third of those whose segments begin with keys."""
        keys = self.pictures is None or (
            self.pictures.distance <= MAX_SEGMENT and
            not self.pictures.without_keys)
        return keys and not self.broken and self.seed % 3 == 0

    def say(self, text):
        self.words.append(text)

    def text(self):
        tracks = [t.text() for t in [self.pictures, *self.sounds] if t]
        return f"seed {self.seed}: " + "; ".join(
            tracks + [f"stamps from {self.base}",
                      f"as {self.format or 'fmp4'}"] + self.words)

    def is_away(self, time):
        return any(begin <= time < begin + lasts
                   for begin, lasts, _, _ in self.away)


def moment(chance, latest=LENGTH - 7):
    return round(chance.uniform(3, latest), 2)


def a_track(plan, chance):
    return chance.choice([t for t in [plan.pictures, *plan.sounds] if t])


def name_of(track):
    return "pictures" if isinstance(track, Pictures) else \
        f"sound {track.number}"


# ---- faults ----

def late_track(plan, chance):
    if len(plan.sounds) + (plan.pictures is not None) < 2:
        return
    track = a_track(plan, chance)
    track.begins = round(chance.uniform(0.2, 9), 2)
    plan.say(f"{name_of(track)} begin at {track.begins}")


def track_ends(plan, chance):
    if len(plan.sounds) + (plan.pictures is not None) < 2:
        return
    track = a_track(plan, chance)
    track.ends = round(chance.uniform(max(8, track.begins + 4), LENGTH - 5), 2)
    plan.say(f"{name_of(track)} end at {track.ends}")


def track_pauses(plan, chance):
    track, at = a_track(plan, chance), moment(chance)
    lasts = round(chance.choice([chance.uniform(0.06, 0.5),
                                 chance.uniform(0.5, 5)]), 2)
    track.pauses.append((at, at + lasts))
    plan.say(f"{name_of(track)} pause at {at} for {lasts}")


def silent_track(plan, chance):
    """Announced by a header, without a frame."""
    if plan.pictures and plan.sounds:
        track = chance.choice([plan.pictures, plan.sounds[0]])
        track.begins = LENGTH + 1
        plan.headers.append((0.0, track))
        plan.say(f"{name_of(track)} have a header and no frames")


def ahead(plan, chance):
    if not plan.pictures or not plan.sounds:
        return
    kind = chance.choice([AUDIO, VIDEO])
    lag = round(chance.choice([chance.uniform(0.1, 1), chance.uniform(1, 6)]),
                2)
    plan.delays[kind] = lag
    plan.say(f"{'sound' if kind == AUDIO else 'pictures'} come {lag} late")


def wild_stamps(plan, chance):
    kinds = [VIDEO] * bool(plan.pictures) + [AUDIO] * bool(plan.sounds)
    for _ in range(chance.choice([1, 1, 2, 3])):
        at, kind = moment(chance), chance.choice(kinds)
        ms = chance.choice([3600000, -3600000, 0xfffff6, -0xfffff6, 10000,
                            -10000, 1 << 31, 700, -700,
                            chance.randrange(-10 ** 7, 10 ** 7)])
        plan.wild.append((at, kind, ms))
        plan.say(f"one {'sound' if kind == AUDIO else 'picture'} at {at} has "
                 f"{ms:+} ms")


def lasting_jump(plan, chance):
    at = moment(chance)
    ms = chance.choice([-1, 1]) * chance.choice([
        chance.randrange(100, 1000), chance.randrange(1000, 60000),
        chance.randrange(60000, 4000000)])
    plan.leaps.append((at, None, ms))
    plan.say(f"the clock jumps {ms:+} ms at {at}")


def track_leaps(plan, chance):
    if not plan.pictures or not plan.sounds:
        return
    at, kind = moment(chance), chance.choice([AUDIO, VIDEO])
    ms = chance.choice([-1, 1]) * chance.choice([
        chance.randrange(30, 300), chance.randrange(300, 5000)])
    plan.leaps.append((at, kind, ms))
    plan.say(f"{'sound' if kind == AUDIO else 'pictures'} jump {ms:+} ms at "
             f"{at}")


def jitter(plan, chance):
    if plan.pictures:
        begin = chance.choice([0.0, moment(chance)])
        plan.pictures.jitters.append((begin, LENGTH))
        plan.say(f"pictures jitter by 15 ms from {begin} on")


def left_out(plan, chance):
    if plan.pictures:
        begin = chance.choice([0.0, moment(chance)])
        end = chance.choice([LENGTH, begin + 5])
        share = chance.choice([0.05, 0.3, 0.5, "every second"])
        plan.pictures.left_out.append((begin, end, share))
        plan.say(f"pictures are left out ({share}) from {begin} to {end}")


def other_rate(plan, chance):
    if plan.pictures:
        for _ in range(chance.choice([1, 2, 3])):
            at, rate = moment(chance), chance.choice([50, 25, 12, 10, 5, 60])
            plan.pictures.rates = sorted(plan.pictures.rates + [(at, rate)])
            plan.say(f"{rate} fps from {at} on")


def scene_cuts(plan, chance):
    if plan.pictures:
        plan.pictures.cuts += sorted(
            moment(chance, LENGTH - 1) for _ in range(chance.randrange(1, 12)))
        plan.say(f"key frames early at {plan.pictures.cuts}")


def no_keys(plan, chance):
    if plan.pictures:
        at = chance.choice([0.1, moment(chance, LENGTH - 14)])
        lasts = chance.choice([MAX_SEGMENT - 0.5, MAX_SEGMENT, 9, 14, 25])
        plan.pictures.without_keys.append((at, at + lasts))
        plan.say(f"no key frame from {at} for {lasts}")


OWN = {"h264": b"avc1", "hevc": b"hvc1", "av1": b"av01", "vp9": b"vp09",
       "opus": b"Opus", "aac": b"mp4a", "he-aac": b"mp4a", "mp3": b".mp3",
       "ac3": b"ac-3", "flac": b"fLaC"}


def is_stray(plan, kind, payload):
    """It is no frame of what is published."""
    if kind == VIDEO and not plan.pictures or \
            kind == AUDIO and not plan.sounds:
        return len(payload) < 10
    if len(payload) < 10:
        return True
    if payload[:1] == b"\x2f":
        return "mp3" not in plan.all_codecs()
    return not any(OWN[c] in payload[:8] for c in plan.all_codecs())


def strays(plan, chance):
    name = chance.choice(list(STRAYS))
    for kind, payload in STRAYS[name]:
        if is_stray(plan, kind, payload):
            for _ in range(chance.choice([1, 2, 4])):
                plan.strays.append((moment(chance, LENGTH - 1), kind, payload))
    plan.say(f"{len(plan.strays)} strays ({name})")


def unknown_codec(plan, chance):
    for kind, payload in ((VIDEO, b"\x91zzzz" + bytes(30)),
                          (AUDIO, b"\x91zzzz" + bytes(30)),
                          (VIDEO, b"\x1f" + bytes(30)),
                          (AUDIO, b"\xef" + bytes(30))):
        plan.strays.append((moment(chance, LENGTH - 1), kind, payload))
    plan.say("messages of unknown codecs")


def headers_again(plan, chance):
    track = a_track(plan, chance)
    times = sorted(moment(chance, LENGTH - 1) for _ in range(
        chance.randrange(1, 6)))
    plan.headers += [(at, track) for at in times]
    plan.say(f"headers of {name_of(track)} again at {times}")


def metadata_again(plan, chance):
    plan.metadata += [moment(chance) for _ in range(chance.randrange(1, 5))]
    plan.say("metadata again")


def other_header(plan, chance):
    """Pictures of another size; the header may come behind the key frame."""
    if plan.pictures:
        at, late = moment(chance), chance.random() < 0.3
        plan.pictures.changes.append((at, plan.pictures.codec, "128x72", late))
        plan.say(f"another size at {at}" + (", header late" if late else ""))
        if late:
            plan.broken.append("a header behind its key frame")


def other_codec(plan, chance):
    track, at = a_track(plan, chance), moment(chance)
    if isinstance(track, Pictures):
        fits = TS_PICTURES if plan.format == "ts" else set(PICTURES)
        codec = chance.choice(sorted(fits - {track.codec}))
        track.changes.append((at, codec, "160x90", False))
    else:
        fits = TS_SOUNDS if plan.format == "ts" else set(SOUNDS)
        codec = chance.choice(sorted(fits - {track.codec, "he-aac"}))
        track.changes.append((at, codec, 48000))
    plan.broken.append("another codec")  # few players change their decoder
    plan.say(f"{name_of(track)} become {codec} at {at}")


def comes_back(plan, chance):
    at = moment(chance, LENGTH - 12)
    lasts = chance.choice([round(chance.uniform(0.1, HOLD - 0.8), 2),
                           round(chance.uniform(HOLD + 1, HOLD + 4), 2)])
    how = chance.choice(["leave", "reset"])
    clock = chance.choice(["new", "on"])
    plan.away.append((at, lasts, how, clock))
    plan.say(f"away at {at} for {lasts} ({how}), its clock goes on: "
             f"{clock == 'on'}")


def bursts(plan, chance):
    for _ in range(chance.choice([1, 2, 4])):
        at, lasts = moment(chance), round(chance.uniform(0.2, 4), 2)
        plan.stalls.append((at, at + lasts))
        plan.say(f"nothing is sent at {at} for {lasts}, then all at once")


FAULTS = {f.__name__: f for f in (
    late_track, track_ends, track_pauses, silent_track, ahead, wild_stamps,
    lasting_jump, track_leaps, jitter, left_out, other_rate, scene_cuts,
    no_keys, strays, unknown_codec, headers_again, metadata_again,
    other_header, other_codec, comes_back, bursts)}
