"""Playlists of HLS as strict readers see them: parsed, and judged.

A fault is (rule, source, what).  RULES has the source of each rule: "8216bis"
is draft-pantos-hls-rfc8216bis (sections are those of -14 and later), "house"
what weir promises beyond it.  Durations are Fractions of seconds.
"""
# SPDX-License-Identifier: BSD-2-Clause

import re
from collections import Counter, namedtuple
from datetime import datetime
from fractions import Fraction

Fault = namedtuple("Fault", "rule source what")

RULES = {
    # one media playlist
    "text": "8216bis 4: UTF-8 without BOM and control characters",
    "begins": "8216bis 4.4.1.1: #EXTM3U is the first line",
    "ends": "house: the last line is whole",
    "tag": "8216bis 4.1: a line that begins with #EXT is a tag",
    "once": "8216bis 4.4.3: a playlist has no such tag twice",
    "attributes": "8216bis 4.2: an attribute list, no name twice",
    "version": "8216bis 8: SKIP needs 9, MAP 6, decimal EXTINF 3",
    "target": "8216bis 4.4.3.1: TARGETDURATION is required",
    "extinf": "8216bis 4.4.4.1: EXTINF before each segment, 3 decimals",
    "extinf-target": "8216bis 4.4.3.1: rounded EXTINF <= TARGETDURATION",
    "mixed": "8216bis 4.4.4: no tags of multivariant playlists",
    "order": "8216bis 4.4.3.2: MEDIA-SEQUENCE is before the segments",
    "map": "8216bis 3.1.2: fMP4 segments have an EXT-X-MAP",
    "map-tag": "8216bis 4.4.4.3: DISCONTINUITY where tracks or their format"
               " change, so in front of another MAP",
    "date": "8216bis 4.4.4.6: ISO 8601, time zone, milliseconds",
    "date-each": "house: PROGRAM-DATE-TIME at every segment",
    "date-goes-on": "8216bis 6.2.1: dates follow durations",
    "uri-once": "house: a name stands for one object",
    "part-inf": "8216bis 4.4.3.7: PART-INF where there are parts",
    "part-long": "8216bis 4.4.4.9: DURATION <= PART-TARGET",
    "part-short": "8216bis 4.4.4.9: DURATION >= 85 % but for the last",
    "part-sum": "8216bis 3.2: parts are what their segment is",
    "part-tags": "8216bis 4.4.4.9: DISCONTINUITY, MAP, DATE before parts",
    "part-old": "8216bis 6.2.2: no parts beyond three target durations",
    "part-missing": "8216bis 6.2.2: parts of the last three targets stay,"
                    " but for those before a segment that has none (house:"
                    " hls.js waits for parts as long as any are listed)",
    "part-independent": "hls.js, ExoPlayer: INDEPENDENT begins a segment"
                        " where INDEPENDENT-SEGMENTS is said (4.4.2.1)",
    "gap-independent": "8216bis 4.4.4.9: nothing is in a part that is a GAP",
    "hold-back": "8216bis 4.4.3.8: HOLD-BACK >= 3 targets",
    "part-hold-back": "8216bis 4.4.3.8: PART-HOLD-BACK >= 3 parts",
    "skip-until": "8216bis 4.4.3.8: CAN-SKIP-UNTIL >= 6 targets",
    "skip-near": "8216bis 6.2.5.1: only what is beyond the boundary",
    "hint": "house: one hint of the next part; ExoPlayer and hls.js"
            " ask for it at once (8216bis 6.2.6); none needed where segments"
            " have no parts",
    "unhinted": "house: a segment under way without a hint gets no parts",
    "hint-listed": "8216bis 4.4.5.3: a hint is of what is not listed yet",
    "hint-ended": "8216bis 4.4.5.3: no PRELOAD-HINT beside ENDLIST",
    "block-ended": "house: nothing to wait for beside ENDLIST",
    "block-reload": "8216bis B.1: low latency needs CAN-BLOCK-RELOAD",
    "report": "8216bis 4.4.5.4: relative URI, LAST-MSN, LAST-PART",
    # one after the other
    "sequence-back": "8216bis 6.2.2: MEDIA-SEQUENCE never goes back",
    "end-back": "8216bis 6.2.1: what was listed last stays until it ages",
    "target-changed": "8216bis 4.4.3.1: TARGETDURATION never changes",
    "part-target-changed": "house: PART-TARGET never changes",
    "segment-changed": "8216bis 6.2.1: a segment never changes",
    "parts-changed": "8216bis 6.2.1: parts are only added at the end, and"
                     " aged",
    "discontinuity-changed": "8216bis 6.2.2: DISCONTINUITY-SEQUENCE grows"
                             " by the tags that left",
    "ended-changed": "8216bis 6.2.1: ENDLIST ends changes",
    "too-short": "8216bis 6.2.2: three target durations stay",
    "gap": "house: no media sequence is left out",
    "hint-kept": "8216bis 4.4.5.3: the next part is the one hinted",
    "skip-unknown": "8216bis 6.3.7: what is skipped was listed before",
    "delta-differs": "8216bis 6.2.5.1: a delta update merges to the whole",
    # multivariant
    "stream-inf": "8216bis 4.4.6.2: a URI behind STREAM-INF, BANDWIDTH",
    "average": "8216bis 4.4.6.2: AVERAGE-BANDWIDTH <= BANDWIDTH",
    "codecs": "8216bis 4.4.6.2, Apple's authoring specification 9.1:"
              " CODECS; without it hls.js guesses",
    "hev1": "Apple's authoring specification 1.10: hvc1, not hev1",
    "resolution": "Apple's authoring specification 9: RESOLUTION of video",
    "video-range": "Apple's authoring specification 9: VIDEO-RANGE",
    "group": "8216bis 4.4.6.2: AUDIO and SUBTITLES name a group",
    "group-names": "8216bis 4.4.6.1.1: NAMEs of a group differ",
    "group-default": "8216bis 4.4.6.1.1: one DEFAULT in a group",
    "autoselect": "8216bis 4.4.6.1: DEFAULT=YES needs AUTOSELECT=YES",
    "channels": "8216bis 4.4.6.1: CHANNELS of all sound",
    "media": "8216bis 4.4.6.1: TYPE, GROUP-ID and NAME",
}

MEDIA_ONCE = {
    "EXTM3U", "EXT-X-VERSION", "EXT-X-TARGETDURATION", "EXT-X-MEDIA-SEQUENCE",
    "EXT-X-DISCONTINUITY-SEQUENCE", "EXT-X-ENDLIST", "EXT-X-PART-INF",
    "EXT-X-SERVER-CONTROL", "EXT-X-INDEPENDENT-SEGMENTS", "EXT-X-SKIP"}
MEDIA_TAGS = MEDIA_ONCE | {
    "EXTINF", "EXT-X-DISCONTINUITY", "EXT-X-MAP", "EXT-X-GAP", "EXT-X-PROGRAM-DATE-TIME",
    "EXT-X-PART", "EXT-X-PRELOAD-HINT", "EXT-X-RENDITION-REPORT"}
MULTIVARIANT_ONLY = {"EXT-X-STREAM-INF", "EXT-X-MEDIA"}
MULTIVARIANT_TAGS = MULTIVARIANT_ONLY | {
    "EXTM3U", "EXT-X-VERSION", "EXT-X-INDEPENDENT-SEGMENTS"}
ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^"=,\s]+)(,|$)')
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)")
# Dates are of arrival: how far they may be from the sum of durations, s.
DATE_SLACK = Fraction(1)


class Faults(list):
    def add(self, rule, what, sources=RULES):
        self.append(Fault(rule, sources[rule], what))

    def rules(self):
        return {f.rule for f in self}

    def text(self):
        return "\n".join(f"{f.rule} ({f.source}): {f.what}" for f in self)


Part = namedtuple("Part", "uri duration independent gap")


class Segment:
    """uri is None: it is under way."""

    def __init__(self, number, discontinuity, map_uri):
        self.number = number
        self.discontinuity = discontinuity
        self.map = map_uri
        self.uri = self.duration = self.date = None
        self.tag = False
        self.gap = False  # EXT-X-GAP: not to be loaded
        self.parts = []

    def facts(self):
        return (self.uri, self.duration, self.date, self.tag,
                self.discontinuity, self.map)

    def length(self):
        if self.duration is not None:
            return self.duration
        return sum((p.duration for p in self.parts), Fraction(0))


def seconds(text):
    return Fraction(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def attributes(text, faults):
    found, at = {}, 0
    while at < len(text):
        match = ATTRIBUTE.match(text, at)
        if not match or match[1] in found:
            faults.add("attributes", text)
            return found
        found[match[1]] = match[2].strip('"')
        at = match.end()
        if match[3] == "," and at == len(text):
            faults.add("attributes", text)
    return found


def lines_of(data, faults):
    """(tag or None, the rest) of each line."""
    text = data.decode("utf-8", "replace")
    if "\ufffd" in text or re.search("[\0-\x09\x0b-\x1f\x7f\ufeff]", text):
        faults.add("text", repr(text[:60]))
    if not text.startswith("#EXTM3U\n"):
        faults.add("begins", repr(text[:20]))
    if not text.endswith("\n"):
        faults.add("ends", repr(text[-20:]))
    for line in text.split("\n"):
        if line.startswith("#EXT"):
            tag, _, rest = line[1:].partition(":")
            yield tag, rest
        elif line and not line.startswith("#"):
            yield None, line


class Media:
    """A media playlist."""

    def __init__(self, data):
        self.faults = Faults()
        self.version = 1
        self.target = self.part_target = None
        self.told_parts = None  # PART-TARGET of this or an earlier one
        self.control = {}
        self.sequence = self.first_discontinuity = 0
        self.skipped = 0
        self.segments = []
        self.hints, self.reports = [], []
        self.ended = self.independent = False
        self.open = None  # the segment under way, perhaps without parts
        self._map = None
        self._next = None
        seen = Counter()
        for tag, rest in lines_of(data, self.faults):
            seen[tag] += 1
            self._line(tag, rest)
        for tag in MEDIA_ONCE:
            if seen[tag] > 1:
                self.faults.add("once", tag)
        self.open, self._next = self._next, None
        if self.open and self.open.duration is not None:
            self.faults.add("extinf", "EXTINF without a segment")
        self.listed = self.segments + ([self.open] if self.open else [])
        self.told_parts = self.part_target
        Judge(self).all()

    # ---- reading ----

    def _line(self, tag, rest):
        if tag is None:
            self._uri(rest)
        elif tag in MULTIVARIANT_ONLY:
            self.faults.add("mixed", tag)
        elif tag not in MEDIA_TAGS:
            self.faults.add("tag", tag)
        else:
            name = tag.replace("EXT-X-", "").replace("-", "_").lower()
            getattr(self, "_on_" + name)(rest)

    def _segment(self):
        if self._next is None:
            last = self.segments[-1] if self.segments else None
            number = self.sequence + self.skipped + len(self.segments)
            self._next = Segment(
                number, last.discontinuity if last else
                self.first_discontinuity, self._map)
        return self._next

    def _uri(self, uri):
        segment = self._segment()
        segment.uri = uri
        if segment.duration is None:
            self.faults.add("extinf", f"none before {uri}")
            segment.duration = Fraction(0)
        self.segments.append(segment)
        self._next = None

    def _number(self, rest, rule):
        if not re.fullmatch(r"\d+", rest):
            self.faults.add(rule, repr(rest))
            return 0
        return int(rest)

    def _on_extm3u(self, _):
        pass

    def _on_endlist(self, _):
        self.ended = True

    def _on_independent_segments(self, _):
        self.independent = True

    def _on_version(self, rest):
        self.version = self._number(rest, "version")

    def _on_targetduration(self, rest):
        self.target = self._number(rest, "target")

    def _on_media_sequence(self, rest):
        if self.segments or self._next:
            self.faults.add("order", "MEDIA-SEQUENCE")
        self.sequence = self._number(rest, "order")

    def _on_discontinuity_sequence(self, rest):
        if self.segments or self._next:
            self.faults.add("order", "DISCONTINUITY-SEQUENCE")
        self.first_discontinuity = self._number(rest, "order")

    def _on_part_inf(self, rest):
        found = attributes(rest, self.faults).get("PART-TARGET", "")
        self.part_target = seconds(found)
        if not self.part_target:
            self.faults.add("part-inf", rest)

    def _on_server_control(self, rest):
        self.control = attributes(rest, self.faults)

    def _on_skip(self, rest):
        found = attributes(rest, self.faults).get("SKIPPED-SEGMENTS", "")
        self.skipped = self._number(found, "attributes")

    def _on_extinf(self, rest):
        length, comma, _ = rest.partition(",")
        self._segment().duration = seconds(length) or Fraction(0)
        if not comma or not re.fullmatch(r"\d+\.\d{3,}", length):
            self.faults.add("extinf", rest)

    def _early(self, tag):
        segment = self._segment()
        if segment.parts:
            self.faults.add("part-tags", f"{tag} of {segment.number}")
        return segment

    def _on_discontinuity(self, _):
        segment = self._early("DISCONTINUITY")
        segment.tag = True
        segment.discontinuity += 1

    def _on_map(self, rest):
        self._map = attributes(rest, self.faults).get("URI")
        self._early("MAP").map = self._map

    def _on_program_date_time(self, rest):
        segment = self._early("PROGRAM-DATE-TIME")
        if not DATE.fullmatch(rest):
            self.faults.add("date", rest)
            return
        when = datetime.fromisoformat(rest.replace("Z", "+00:00"))
        whole = int(when.replace(microsecond=0).timestamp())
        segment.date = whole + Fraction(when.microsecond, 10 ** 6)

    def _on_part(self, rest):
        a = attributes(rest, self.faults)
        if "URI" not in a or not seconds(a.get("DURATION", "")):
            self.faults.add("attributes", rest)
            return
        self._segment().parts.append(
            Part(a["URI"], seconds(a["DURATION"]),
                 a.get("INDEPENDENT") == "YES", a.get("GAP") == "YES"))

    def _on_gap(self, rest):
        if rest:
            self.faults.add("attributes", f"GAP:{rest}")
        self._segment().gap = True

    def _on_preload_hint(self, rest):
        a = attributes(rest, self.faults)
        if a.get("TYPE") != "PART" or "URI" not in a:
            self.faults.add("hint", rest)
        self.hints.append(a.get("URI"))

    def _on_rendition_report(self, rest):
        self.reports.append(attributes(rest, self.faults))

    # ---- facts ----

    def newest(self):
        """(media sequence number, part) of the newest; part -1: none."""
        last = self.listed[-1]
        if last is self.open and not last.parts and len(self.listed) > 1:
            last = self.listed[-2]
        return last.number, len(last.parts) - 1

    def by_number(self):
        return {s.number: s for s in self.listed}


class Judge:
    """The rules that one media playlist has to keep."""

    def __init__(self, playlist):
        self.p = playlist
        self.add = playlist.faults.add

    def all(self):
        self.head()
        self.names()
        for segment in self.p.segments:
            self.segment(segment)
        self.dates()
        if self.p.part_target:
            self.low_latency()
            self.ages()
        elif any(s.parts for s in self.p.listed):
            self.add("part-inf", "parts without it")
        self.tail()

    def head(self):
        p = self.p
        needed = 9 if p.skipped else 6 if any(s.map for s in p.listed) else 3
        if p.version < needed:
            self.add("version", f"{p.version} < {needed}")
        if not p.target:
            self.add("target", "missing")
            p.target = 1
        for name, rule, least in (
                ("HOLD-BACK", "hold-back", 3 * p.target),
                ("CAN-SKIP-UNTIL", "skip-until", 6 * p.target),
                ("PART-HOLD-BACK", "part-hold-back",
                 3 * (p.part_target or 0))):
            if name in p.control and (seconds(p.control[name]) or 0) < least:
                self.add(rule, f"{p.control[name]} < {float(least)}")

    def names(self):
        uris = [s.uri for s in self.p.segments] + \
            [x.uri for s in self.p.listed for x in s.parts]
        for uri, times in Counter(uris).items():
            if times > 1:
                self.add("uri-once", uri)

    def segment(self, s):
        # Half a second is rounded up.
        if int(s.duration + Fraction(1, 2)) > self.p.target:
            self.add("extinf-target", f"{s.uri}: {float(s.duration)}")
        if s.uri.partition("?")[0].endswith((".m4s", ".mp4")) and not s.map \
                and not self.p.skipped and not s.gap:
            self.add("map", s.uri)
        if s.date is None:
            self.add("date-each", s.uri)
        if s.parts and abs(s.length() - sum(
                x.duration for x in s.parts)) > Fraction(1, 1000):
            self.add("part-sum", s.uri)

    def dates(self):
        for one, two in zip(self.p.listed, self.p.listed[1:]):
            if two.map != one.map and not two.tag and not one.gap:
                self.add("map-tag", str(two.number))
            if two.tag or one.date is None or two.date is None:
                continue
            if abs(two.date - one.date - one.length()) > DATE_SLACK:
                self.add("date-goes-on", f"{two.number}: "
                         f"{float(two.date - one.date)} s later")

    def low_latency(self):
        p = self.p
        if "PART-HOLD-BACK" not in p.control:
            self.add("part-hold-back", "missing")
        if not p.ended and p.control.get("CAN-BLOCK-RELOAD") != "YES":
            self.add("block-reload", "missing")
        for s in p.listed:
            final = s.parts[-1:] if s.uri else []
            after = s.parts[1:] + [None]
            for part, following in zip(s.parts, after):
                if part.gap or (following and following.gap):
                    final.append(part)  # may be short, too
                if part.gap and part.independent:
                    self.add("gap-independent", part.uri)
                if part.duration > p.part_target:
                    self.add("part-long", part.uri)
                if part.duration < p.part_target * 85 / 100 and \
                        part not in final:
                    self.add("part-short", part.uri)
            if p.independent and s.parts and not s.parts[0].gap and \
                    not s.parts[0].independent:
                self.add("part-independent", s.parts[0].uri)

    def ages(self):
        """How far each segment's end is from the end of the list."""
        behind, limit = Fraction(0), 3 * self.p.target
        for s in reversed(self.p.listed):
            if s.parts and behind > limit:
                self.add("part-old", str(s.number))
            behind += s.length()
        begun = False
        for s in self.p.listed:
            if begun and s.uri and not s.parts:
                self.add("part-missing", str(s.number))
            begun = begun or bool(s.parts)

    def tail(self):
        p = self.p
        if p.skipped and "CAN-SKIP-UNTIL" in p.control:
            kept = sum((s.duration for s in p.segments), Fraction(0))
            if kept < seconds(p.control["CAN-SKIP-UNTIL"]):
                self.add("skip-near", f"{float(kept)} s are left")
        elif p.skipped:
            self.add("skip-near", "without CAN-SKIP-UNTIL")
        if p.ended:
            if p.hints:
                self.add("hint-ended", str(p.hints))
            if "CAN-BLOCK-RELOAD" in p.control:
                self.add("block-ended", "CAN-BLOCK-RELOAD")
        elif len(p.hints) > 1 or (p.open and p.open.parts and not p.hints):
            self.add("hint", f"{len(p.hints)} of them")
        listed = {x.uri for s in p.listed for x in s.parts}
        for hint in p.hints:
            if hint in listed:
                self.add("hint-listed", hint)
        for report in p.reports:
            uri = report.get("URI", "")
            if not uri or re.match("[a-z]+:|/", uri) or \
                    not report.get("LAST-MSN", "").isdigit() or \
                    not report.get("LAST-PART", "0").isdigit():
                self.add("report", str(report))


# ---- one after the other ----

def follows(old, new):
    """Faults of a playlist that comes after another one of its stream; both
    whole (merged)."""
    faults = Faults()
    if new.sequence < old.sequence:
        faults.add("sequence-back", f"{old.sequence} to {new.sequence}")
        return faults
    if new.target != old.target:
        faults.add("target-changed", f"{old.target} to {new.target}")
    new.told_parts = new.part_target or old.told_parts
    if new.told_parts != old.told_parts and old.told_parts:
        faults.add("part-target-changed", f"{new.part_target}")
    if not old.listed or not new.listed:
        return faults
    if new.newest() < old.newest() and new.part_target:
        faults.add("end-back", f"{old.newest()} to {new.newest()}")
    if new.sequence > old.listed[-1].number + 1:
        faults.add("gap", f"{old.listed[-1].number} to {new.sequence}")
    compare_segments(old, new, faults)
    compare_parts(old, new, faults)
    compare_ends(old, new, faults)
    return faults


def compare_segments(old, new, faults):
    theirs = new.by_number()
    for s in old.listed:
        other = theirs.get(s.number)
        if other is None:
            if s.number >= new.sequence:
                faults.add("end-back", f"{s.number} is gone")
            continue
        if s.uri and s.facts() != other.facts():
            faults.add("segment-changed", f"{s.facts()} to {other.facts()}")
        elif not s.uri and s.facts()[2:] != other.facts()[2:]:
            faults.add("segment-changed", f"{s.facts()} to {other.facts()}")
        aged = bool(other.uri) and not other.parts
        whole = bool(s.uri)
        if not aged and (s.parts != other.parts if whole else
                         s.parts != other.parts[:len(s.parts)]):
            faults.add("parts-changed", f"{s.number}: {len(s.parts)} to "
                       f"{len(other.parts)}")


def compare_parts(old, new, faults):
    """Parts of the last three target durations stay."""
    had = {s.number for s in old.listed if s.parts}
    behind = Fraction(0)
    for s in reversed(new.listed):
        if s.uri and not s.parts and s.number not in had:
            break
        if s.uri and not s.parts and behind <= 3 * new.target:
            faults.add("part-missing", str(s.number))
        behind += s.length()
    opened = old.open and new.by_number().get(old.open.number)
    if opened and opened.parts and not old.hints and not old.open.parts:
        faults.add("unhinted", str(opened.number))


def compare_ends(old, new, faults):
    gone = sum(s.tag for s in old.listed if s.number < new.sequence)
    reaches = old.listed[-1].number + 1 >= new.sequence
    if reaches and \
            new.first_discontinuity != old.first_discontinuity + gone:
        faults.add("discontinuity-changed",
                   f"{old.first_discontinuity} to {new.first_discontinuity}, "
                   f"{gone} left")
    if old.ended and (not new.ended or
                      [s.facts() for s in old.listed] !=
                      [s.facts() for s in new.listed]):
        faults.add("ended-changed", "")
    left = sum((s.length() for s in new.segments), Fraction(0))
    if new.sequence > old.sequence and left < 3 * new.target and \
            not new.ended:
        faults.add("too-short", f"{float(left)} s")
    check_hint(old, new, faults)


def check_hint(old, new, faults):
    """The part behind the newest of the old one, where it is listed now."""
    if len(old.hints) != 1 or not old.part_target:
        return
    number, part = old.newest()
    theirs = new.by_number()
    here, after = theirs.get(number), theirs.get(number + 1)
    if here and len(here.parts) > part + 1:
        following = here.parts[part + 1]
    elif here and here.uri and here.parts and after and after.parts:
        following = after.parts[0]
        if here.number == (old.open.number if old.open else None):
            return  # it ended before the part that was hinted
    else:
        return
    if following.uri != old.hints[0]:
        faults.add("hint-kept", f"{old.hints[0]}, came {following.uri}")


def merge(old, delta):
    """The whole playlist that a delta update means; old is whole."""
    known = old.by_number()
    wanted = range(delta.sequence, delta.sequence + delta.skipped)
    lost = [n for n in wanted if n not in known or not known[n].uri]
    if lost:
        delta.faults.add("skip-unknown", str(lost))
        return delta
    kept = [known[n] for n in wanted]
    map_uri = kept[-1].map if kept else None
    discontinuity = kept[-1].discontinuity if kept else \
        delta.first_discontinuity
    for s in delta.listed:
        discontinuity += s.tag
        s.discontinuity = discontinuity
        map_uri = s.map = s.map or map_uri
    for s in kept:
        s.parts = []  # they are beyond three target durations
    delta.segments = kept + delta.segments
    delta.listed = kept + delta.listed
    delta.skipped = 0
    return delta


def same(one, two):
    """Faults where a merged delta update is not what the whole one says."""
    faults = Faults()

    def facts(p):
        return (p.sequence, p.first_discontinuity, p.target, p.part_target,
                p.ended, p.hints, [(s.number, s.facts(), s.parts)
                                   for s in p.listed])
    if facts(one) != facts(two):
        faults.add("delta-differs", f"{facts(one)}\n{facts(two)}")
    return faults
