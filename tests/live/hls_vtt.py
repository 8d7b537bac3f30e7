"""WebVTT of HLS as strict readers see it: segments and parts, parsed and
judged.

A cue is (from, to, text), in Fractions of seconds of the stream.
"""
# SPDX-License-Identifier: BSD-2-Clause

import re
from fractions import Fraction

import hls_playlist

RULES = {
    "vtt-head": "8216bis 3.1.4: WEBVTT, then X-TIMESTAMP-MAP",
    "vtt-goes-on": "house: text begins where the part before it ended",
    "vtt-cue": "WebVTT 4.1: times, then text, a blank line behind it",
    "vtt-inside": "house: a cue lies in its part, others have the rest",
    "vtt-order": "house: one line at a time",
    "vtt-segment": "house: a segment has the text of its parts",
}
HEAD = re.compile(r"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:(\d+),"
                  r"LOCAL:00:00:00\.000\n\n")
TIMES = re.compile(r"(\d\d+):([0-5]\d):([0-5]\d)\.(\d{3}) --> "
                   r"(\d\d+):([0-5]\d):([0-5]\d)\.(\d{3})")
SLACK = Fraction(2, 1000)


class Faults(hls_playlist.Faults):
    def add(self, rule, what, sources=RULES):
        super().add(rule, what, sources)


def seconds(hours, minutes, rest, thousandths):
    return int(hours) * 3600 + int(minutes) * 60 + int(rest) + \
        Fraction(int(thousandths), 1000)


class Text:
    """Of a part or segment."""

    def __init__(self, data, duration):
        self.faults = Faults()
        self.cues = []
        self.begin = None
        self.duration = duration
        text = data.decode("utf-8", "replace")
        head = HEAD.match(text)
        if not head:
            self.faults.add("vtt-head", repr(text[:60]))
            return
        self.begin = Fraction(int(head[1]), 90000)
        rest = text[head.end():]
        if rest and not rest.endswith("\n\n"):
            self.faults.add("vtt-cue", repr(rest[-20:]))
        for cue in filter(None, rest.split("\n\n")):
            self._cue(*cue.partition("\n")[::2])

    def _cue(self, times, text):
        found = TIMES.fullmatch(times)
        if not found or not text:
            self.faults.add("vtt-cue", repr(times))
            return
        first, last = seconds(*found.groups()[:4]), \
            seconds(*found.groups()[4:])
        if not 0 <= first < last or last > self.duration + SLACK:
            self.faults.add("vtt-inside", f"{times} of {self.duration}")
        first, last = self.begin + first, self.begin + last
        if self.cues and first < self.cues[-1][1]:
            self.faults.add("vtt-order", times)
        self.cues.append((first, last, text))


def joined(cues):
    """A line that goes on is one cue."""
    whole = []
    for first, last, text in cues:
        if whole and whole[-1][2] == text and whole[-1][1] == first:
            whole[-1] = (whole[-1][0], last, text)
        else:
            whole.append((first, last, text))
    return whole


class Lines:
    """All that a viewer was given, in order."""

    def __init__(self):
        self.cues = []
        self._end = None

    def add(self, data, duration, restart=False):
        text = Text(data, duration)
        if None not in (text.begin, self._end) and not restart and \
                abs(text.begin - self._end) > SLACK:
            text.faults.add("vtt-goes-on", f"{float(text.begin)}, "
                            f"not {float(self._end)}")
        if text.begin is not None:
            self._end = text.begin + duration
        self.cues = joined(self.cues + text.cues)
        return text.faults


def check_segment(segment, parts, duration):
    """Bytes of a segment, and of all its parts."""
    text = Text(segment, duration)
    apart = [c for p in parts for c in Text(p, duration).cues]
    if joined(text.cues) != joined(apart):
        text.faults.add("vtt-segment", f"{text.cues}, parts {apart}")
    return text.faults
