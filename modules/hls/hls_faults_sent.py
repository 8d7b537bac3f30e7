"""What a publisher of random faults (hls_faults.py) sends, and when.

    events = build(Plan(17), Clips(folder))
"""
# SPDX-License-Identifier: BSD-2-Clause

import random
from collections import namedtuple

import flv
from enhanced_publisher import CODED, SEQUENCE_START, Track, he_aac
from hls_faults import LENGTH, MASK, Pictures
from rtmp_client import AUDIO, DATA, VIDEO

CLIP_SECONDS = 32  # of pictures: one group, of which the front is taken
CLIP_RATE = 25

# kind None: payload is what is done ("leave", "reset", "come").  frame: bytes of
# the frame in the payload; None: it is no frame of a track.
Event = namedtuple("Event", "at kind payload stamp csid frame")


class Sources:
    """Clips by what they are; the same one is made once."""

    def __init__(self, clips):
        self.clips = clips

    def pictures(self, codec, size, bframes):
        return self.clips.make(
            codec, seconds=CLIP_SECONDS, size=size, rate=CLIP_RATE,
            gop=CLIP_SECONDS * CLIP_RATE,
            bframes=bframes if codec in ("h264", "hevc") else 0)

    def sound(self, codec, rate, number=0):
        frequency = 440 + 220 * number
        if codec == "he-aac":
            clip = self.clips.make("aac", seconds=8, rate=rate,
                                   frequency=frequency)
            return he_aac(clip, "sbr", rate, 2)
        return self.clips.make(codec, seconds=8, rate=rate,
                               frequency=frequency)


def is_closed(clip, place):
    """No picture in front of that place is shown behind a key frame there."""
    key = clip.frames[0][1] - clip.frames[0][0]
    last = max((pts for _, pts, _, _ in clip.frames[max(place - 8, 0):place]),
               default=-1)
    return place >= len(clip.frames) or last < clip.frames[place][0] + key


def is_within(time, spans):
    return any(begin <= time < end for begin, end, *_ in spans)


class Taking:
    """Messages as they are made: (time of the media, kind, payload, stamp,
    frame)."""

    def __init__(self, plan, sources):
        self.plan, self.sources = plan, sources
        self.chance = random.Random(f"sending {plan.seed}")
        self.made = []

    def add(self, time, kind, payload, stamp=None, frame=None):
        self.made.append((time, kind, payload, round(time * 1000)
                          if stamp is None else stamp, frame))

    def header(self, time, track, clip):
        if clip.config is not None:
            self.add(time, clip.kind, track.message(
                clip, SEQUENCE_START, True, clip.config))

    # ---- pictures ----

    def slots(self, p):
        """When pictures come."""
        time, count = 0.0, 0
        while time < LENGTH:
            count += 1
            dropped = any(begin <= time < end and (
                count % 2 if share == "every second"
                else self.chance.random() < share)
                for begin, end, share in p.left_out)
            if p.begins <= time < p.ends and not dropped and \
                    not is_within(time, p.pauses):
                yield time
            time += 1 / p.rate_at(time)

    def pictures(self, p):
        plan = self.plan
        clip = self.sources.pictures(p.codec, "160x90", p.bframes)
        changes, cuts = list(p.changes), sorted(p.cuts)
        header, last_key, place, before = True, -99.0, 0, -1
        for time in self.slots(p):
            if plan.is_away(time + plan.delays[VIDEO]):
                header = True
                continue
            due = time - last_key >= p.distance - 0.001 and \
                not is_within(time, p.without_keys)
            late, may = False, is_closed(clip, place) or header
            if cuts and cuts[0] <= time and may:
                due, cuts = True, cuts[1:]
            if changes and changes[0][0] <= time and may:
                _, codec, size, late = changes.pop(0)
                clip = self.sources.pictures(codec, size, p.bframes)
                header = True
            key = due and may or header or place >= len(clip.frames)
            track = Track(clip)
            if header and not late:
                self.header(time, track, clip)
            if key:
                last_key, place = time, 0
            before = self.picture(time, track, place, before)
            if late:
                self.header(time, track, clip)
            header, place = False, place + 1

    def picture(self, time, track, place, before):
        p, clip = self.plan.pictures, track.clip
        dts, pts, _, body = clip.frames[place]
        stamp = round(time * 1000)
        if is_within(time, p.jitters):
            stamp = max(stamp + self.chance.randint(-15, 15), before + 1)
        cts = round((pts - dts) * 1000 / clip.scale * CLIP_RATE /
                    p.rate_at(time))
        self.add(time, VIDEO, track.message(clip, CODED, place == 0, body,
                                            cts), stamp, body)
        return stamp

    # ---- sound ----

    def sound(self, s):
        plan = self.plan
        clip = self.sources.sound(s.codec, s.rate, s.number)
        changes, header = list(s.changes), True
        origin, place = 0.0, 0
        while True:
            if place == len(clip.frames):
                origin, place = origin + clip.length / clip.scale, 0
            time = origin + clip.frames[place][0] / clip.scale
            if time >= min(s.ends, LENGTH):
                return
            if changes and changes[0][0] <= time:
                _, codec, rate = changes.pop(0)
                clip = self.sources.sound(codec, rate, s.number)
                origin, place, header = time, 0, True
            if plan.is_away(time + plan.delays[AUDIO]):
                header = True
            elif time >= s.begins and not is_within(time, s.pauses):
                track = Track(clip, s.number)
                if header:
                    self.header(time, track, clip)
                header = False
                body = clip.frames[place][3]
                self.add(time, AUDIO, track.message(clip, CODED, True, body),
                         frame=body)
            place += 1

    # ---- all ----

    def more(self):
        plan = self.plan
        for at, kind, payload in plan.strays:
            self.add(at, kind, payload)
        for at, what in plan.headers:
            clip = self.sources.pictures(what.codec, "160x90", what.bframes) \
                if isinstance(what, Pictures) else \
                self.sources.sound(what.codec, what.rate, what.number)
            if not any(change[0] <= at for change in what.changes):
                number = getattr(what, "number", 0)
                self.header(at, Track(clip, number), clip)
        for at in plan.metadata:
            self.add(at, DATA, flv.metadata())

    def all(self):
        if self.plan.pictures:
            self.pictures(self.plan.pictures)
        for s in self.plan.sounds:
            self.sound(s)
        self.more()
        self.made.sort(key=lambda m: m[0])
        self.leap()
        self.go_wild()
        return self.made

    def leap(self):
        for at, kind, ms in self.plan.leaps:
            self.made = [m if m[0] < at or kind not in (None, m[1])
                         else (*m[:3], m[3] + ms, m[4]) for m in self.made]

    def go_wild(self):
        for at, kind, ms in self.plan.wild:
            found = [i for i, m in enumerate(self.made)
                     if m[0] >= at and m[1] == kind and m[4]]
            if found:
                m = self.made[found[0]]
                self.made[found[0]] = (*m[:3], m[3] + ms, m[4])


def sent_at(plan, arrives):
    for begin, end in sorted(plan.stalls):
        arrives = end if begin <= arrives < end else arrives
    return arrives


def build(plan, clips):
    """All events in their order."""
    csids = {VIDEO: 6, AUDIO: 4, DATA: 5}
    found, shift, away = [], plan.base, sorted(plan.away)
    made = sorted(((time + plan.delays.get(kind, 0), kind, *rest)
                   for time, kind, *rest in
                   Taking(plan, Sources(clips)).all()), key=lambda m: m[0])

    def add(arrives, kind, payload, stamp=0, frame=None):
        found.append(Event(sent_at(plan, arrives), kind, payload,
                           stamp & MASK, csids.get(kind), frame))
    add(0, DATA, flv.metadata(), shift)
    for arrives, kind, payload, stamp, frame in made:
        if plan.is_away(arrives) or arrives > LENGTH:
            continue
        if away and arrives >= away[0][0]:
            begin, lasts, how, clock = away.pop(0)
            add(begin, None, how)
            add(begin + lasts, None, "come")
            shift = -stamp if clock == "new" else shift
            add(begin + lasts, DATA, flv.metadata(), stamp + shift)
        add(arrives, kind, payload, stamp + shift, frame)
    add(LENGTH, None, "leave")
    return sorted(found, key=lambda e: e.at)


# ---- what may be expected ----

def kinds_of(events):
    """Those whose frames come: (kind, events of it)."""
    for kind in (VIDEO, AUDIO):
        mine = [e for e in events if e.kind == kind and e.frame]
        if mine:
            yield kind, mine


def longest_gap(events):
    """Seconds in which one of the tracks has nothing."""
    most = 0.0
    for _, mine in kinds_of(events):
        for one, two in zip(mine, mine[1:]):
            lasts = (two.stamp - one.stamp + (1 << 31)) % (1 << 32) - (1 << 31)
            most = max(most, two.at - one.at,
                       lasts / 1000 if lasts < 10000 else 0)
    return most
