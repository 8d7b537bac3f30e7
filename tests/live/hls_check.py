"""A player of HLS that believes nothing.

It follows a stream as players do (multivariant playlist, blocking reloads,
delta updates, hinted parts, segments) and notes each fault as (rule, source,
what): of playlists (hls_playlist.py), of fMP4 (hls_fmp4.py), of MPEG-TS
(hls_ts.py), of WebVTT (hls_vtt.py), and of answers (below).

    viewer = Viewer(port, "/live/film.m3u8")
    viewer.follow(parts=60)
    assert not viewer.faults, viewer.faults.text()
    viewer.samples  # [Sample(track, time, cts, duration, key, data)]
"""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import hashlib
import re
import time
from collections import namedtuple
from fractions import Fraction
from urllib.parse import urljoin

import hls_fmp4
import hls_multivariant
import hls_playlist
import hls_vtt
from hls_ts import Ts
from http_client import Http
from patience import busy

RULES = {
    "status": "8216bis 6.3.2: what is listed can be had",
    "type": "8216bis 4, 10: the media type of a playlist",
    "length": "house: objects have a length, for caches",
    "cache": "house: objects are kept for long, playlists for a moment",
    "origin": "hls.js in pages of others: Access-Control-Allow-Origin",
    "bytes": "house: a name never stands for other bytes",
    "blocked": "8216bis 6.2.5.2: the answer has what was waited for; 503 after"
               " three target durations, not before",
    "stuck": "8216bis 6.2.2: a live playlist grows in time",
    "unasked": "8216bis 6.2.5.1: SKIP only where _HLS_skip asks",
    "hint-kept": "8216bis 4.4.5.3: what a hint brought is listed next",
    "report-late": "8216bis 4.4.5.4: a report is as new as the playlist of"
                   " its rendition",
    "report-early": "8216bis 4.4.5.4: what a report tells is there",
    "report-missing": "8216bis B.1: a report of each other rendition",
}
PLAYLIST_TYPES = ("application/vnd.apple.mpegurl", "application/x-mpegurl",
                  "audio/mpegurl")

# A part on its way: when its request went out and when it was there, s.
Fetched = namedtuple("Fetched", "uri asked there size")


class Faults(hls_playlist.Faults):
    def add(self, rule, what, sources=RULES):
        super().add(rule, what, sources)


class NoPlaylist(AssertionError):
    """There was one, and now the answer is another one: status."""

    def __init__(self, status, faults):
        super().__init__(f"{status}: {faults.text()}")
        self.status = status


class Viewer:
    """One rendition of one stream, from one connection at a time.

    rendition: None for the first variant, else what its URI has to hold.
    slack, sound_slack: seconds by which the publisher's frames are not evenly
    apart, and by which its clock leaves its sound.
    """

    def __init__(self, port, target, host="127.0.0.1", headers=(),
                 rendition=None, connect=None, sound_slack=0, slack=0.05):
        self.faults = Faults()
        self.headers = headers
        self.rendition = rendition
        self.multivariant = self.playlist = self.init = None
        self.target = target      # of the multivariant playlist
        self.media_target = None  # of the media playlist
        self.timeline = hls_fmp4.Timeline(slack, sound_slack)
        self.ts = Ts()
        self.lines = hls_vtt.Lines()
        self.samples = []
        self.digests = {}   # target: of its bytes
        self.part_bytes = {}  # target of a part: its bytes
        self.fetched = []
        self.reloads = 0
        self.gaps = False  # some were listed
        self._longest = Fraction(0)  # frame so far, s
        self._uneven = set()  # parts with one longer than parts may differ by
        self._seen_parts, self._seen_segments = set(), set()
        self._in_parts = {}     # number of a segment: seconds taken in parts
        self._promised = None   # (target, segment) of a hint that was there
        self._begins = None     # number of the first segment that is taken
        self._seen_discontinuity = None
        self._inits = {}
        self._connect = connect or (
            lambda: Http(port, host=host, timeout=busy(10)))
        self._http = None

    def close(self):
        if self._http:
            self._http.close()
            self._http = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- requests ----

    def get(self, target, *headers):
        """One answer; again on a new connection if the old one was closed."""
        for again in (True, False):
            fresh = self._http is None
            if fresh:
                self._http = self._connect()
            try:
                self._http.send("GET", target, *self.headers, *headers)
                answer = self._http.answer()
            except (EOFError, OSError):
                self.close()
                if fresh or not again:
                    raise
                continue
            if (answer.header("connection") or "").lower() == "close":
                self.close()
            return answer
        return None

    def object(self, target):
        """Bytes of a segment, part or map; None: a fault."""
        asked = time.monotonic()
        answer = self.get(target)
        if answer.status != 200:
            self.faults.add("status", f"{answer.status} for {target}")
            return None
        self.fetched.append(Fetched(target, asked, time.monotonic(),
                                    len(answer.body)))
        self._judge_object(target, answer)
        return answer.body

    def _judge_object(self, target, answer):
        if answer.header("content-length") is None:
            self.faults.add("length", target)
        control = answer.header("cache-control") or ""
        if "max-age=" not in control or "no-store" in control:
            self.faults.add("cache", f"{target}: {control!r}")
        if not answer.header("access-control-allow-origin"):
            self.faults.add("origin", target)
        digest = hashlib.sha256(answer.body).digest()
        if self.digests.setdefault(target.partition("?")[0],
                                   digest) != digest:
            self.faults.add("bytes", target)

    def text(self, target, *headers):
        """The bytes of a playlist."""
        return self._text_of(self.get(target, *headers), target)

    def _text_of(self, answer, target):
        if answer.status != 200:
            self.faults.add("status", f"{answer.status} for {target}")
            return None
        kind = (answer.header("content-type") or "").partition(";")[0]
        if kind.lower() not in PLAYLIST_TYPES:
            self.faults.add("type", kind)
        if answer.header("content-encoding") == "gzip":
            return gzip.decompress(answer.body)
        return answer.body

    # ---- playlists ----

    def start(self, wait=10):
        """Multivariant and first media playlist; a stream that has none yet
        (503, 404) is asked again."""
        until = time.monotonic() + busy(wait)
        while True:
            answer = self.get(self.target)
            if answer.status == 200 or time.monotonic() > until:
                break
            assert answer.status in (404, 503), answer.status
            time.sleep(0.2)
        self.multivariant = hls_multivariant.Multivariant(
            self._text_of(answer, self.target) or b"")
        self.faults.extend(self.multivariant.faults)
        uris = [uri for _, uri in self.multivariant.variants] + \
            [r["URI"] for r in self.multivariant.renditions if "URI" in r]
        uris = [u for u in uris if (self.rendition or "") in u]
        assert uris, f"no {self.rendition}: {self.faults.text()}"
        self.media_target = urljoin(self.target, uris[0])
        self._take(self.reload())
        return self

    def reload(self, **directives):
        """A media playlist as it is told; None: what was asked for did not
        come within three target durations."""
        mark = "&" if "?" in self.media_target else "?"
        query = "&".join(f"{k}={v}" for k, v in directives.items())
        target = self.media_target + (mark + query if query else "")
        asked = time.monotonic()
        answer = self.get(target)
        if answer.status == 503 and "_HLS_msn" in directives and \
                time.monotonic() - asked >= 3 * self.playlist.target - 0.6:
            return None
        data = self._text_of(answer, target)
        if data is None:
            raise NoPlaylist(answer.status, self.faults)
        self.reloads += 1
        playlist = hls_playlist.Media(data)
        if playlist.skipped and "_HLS_skip" not in directives:
            self.faults.add("unasked", target)
        return playlist

    def _take(self, playlist):
        """The playlist in force from now on, whole."""
        if self.playlist is not None:
            if playlist.skipped:
                playlist = hls_playlist.merge(self.playlist, playlist)
                if playlist.skipped:  # not known: asked without
                    self.faults.extend(playlist.faults)
                    playlist = self.reload()
            self.faults.extend(hls_playlist.follows(self.playlist, playlist))
        self.faults.extend(playlist.faults)
        self.playlist = playlist

    def next_playlist(self, skip=False):
        """Waits for what follows the newest; with delta updates where skip is
        said."""
        p = self.playlist
        if p.control.get("CAN-BLOCK-RELOAD") != "YES":
            time.sleep(p.target / 2)
            self._take(self.reload())
            return
        number, part = p.newest()
        if p.open is None or not p.listed[-1].parts:
            number, part = number + 1, -1
        wanted = {"_HLS_msn": number, "_HLS_part": part + 1}
        if skip and "CAN-SKIP-UNTIL" in p.control:
            wanted["_HLS_skip"] = "YES"
        new = self.reload(**wanted)
        if new is None:
            return
        if not new.ended and new.newest() < (number, part + 1) and \
                new.newest()[0] <= number and \
                all(s.number != number for s in new.segments):
            self.faults.add("blocked", f"{wanted}: {new.newest()}")
        self._take(new)

    def check_delta(self):
        """A delta update and the whole playlist of the same moment."""
        for _ in range(5):
            whole = self.reload()
            delta = self.reload(_HLS_skip="YES")
            if delta.newest() == whole.newest() and \
                    delta.sequence == whole.sequence:
                skipped = delta.skipped
                if skipped:
                    delta = hls_playlist.merge(whole, delta)
                self.faults.extend(delta.faults)
                self.faults.extend(hls_playlist.same(whole, delta))
                return skipped
        return 0

    def check_reports(self):
        """The reports of a new playlist: of each other rendition, and no older
        than its playlist of before, no newer than that of afterwards.  It is
        not compared with the numbers of this rendition: members of a ladder
        that have an encoder each need not be equally far."""
        if self.playlist.ended:
            return
        others = [uri for _, uri in self.multivariant.variants] + \
            [r["URI"] for r in self.multivariant.renditions if "URI" in r]
        others = {urljoin(self.target, u) for u in others} - \
            {self.media_target}
        before = {other: self._newest_of(other) for other in others}
        self._take(self.reload())
        told = {urljoin(self.media_target, r["URI"]): r
                for r in self.playlist.reports if "URI" in r}
        if self.playlist.ended:
            return
        for other in others:
            # hls.js takes one that its own address begins with.
            r = next((r for uri, r in told.items()
                      if other.startswith(uri)), None)
            if r is None:
                self.faults.add("report-missing", other)
                continue
            theirs = (int(r["LAST-MSN"]), int(r.get("LAST-PART", -1)))
            after = self._newest_of(other)
            if before[other] and theirs < before[other]:
                self.faults.add("report-late",
                                f"{other}: {theirs}, was {before[other]}")
            if after and theirs > after:
                self.faults.add("report-early",
                                f"{other}: {theirs}, is {after}")

    def _newest_of(self, target):
        """What the playlist of another rendition has now; None: it has none."""
        data = self.text(target)
        return data and hls_playlist.Media(data).newest()

    # ---- media ----

    def _init_of(self, segment):
        if segment.map is None:
            return None
        if segment.map not in self._inits:
            data = self.object(urljoin(self.media_target, segment.map))
            init = hls_fmp4.Init(data or b"")
            self.faults.extend(init.faults)
            self._inits[segment.map] = init
        return self._inits[segment.map]

    def _judge_media(self, segment, data, uri, duration, independent):
        """Takes the samples of a part, or of a segment without parts."""
        restart = self._seen_discontinuity not in (None,
                                                   segment.discontinuity)
        self._seen_discontinuity = segment.discontinuity
        if data.startswith(b"WEBVTT"):
            self.faults.extend(self.lines.add(data, duration, restart))
            return
        self.init = self._init_of(segment)
        if self.init is None:
            self.samples += self.ts.add(data, restart)
            return
        fragments = hls_fmp4.Fragments(data, self.init)
        self.faults.extend(fragments.faults)
        self.faults.extend(self.timeline.add(fragments, restart))
        frame = hls_fmp4.longest_frame(fragments)
        self._longest = max(self._longest, frame)
        self.faults.extend(hls_fmp4.check_part(
            fragments, duration, independent,
            self._longest + Fraction(1, 4 if independent is None else 10)))
        if frame * 100 > 15 * (self.playlist.told_parts or 0):
            self._uneven.add(uri)
        self.samples += fragments.samples

    def _take_part(self, segment, part):
        target = urljoin(self.media_target, part.uri)
        if target in self._seen_parts:
            return 0
        self._seen_parts.add(target)
        if part.gap:
            self.gaps = True
            return 1
        self._in_parts[segment.number] = part.duration + \
            self._in_parts.get(segment.number, 0)
        data = self.object(target)
        if data is None:
            return 0
        self.part_bytes[target] = data
        self._judge_media(segment, data, part.uri, part.duration,
                          part.independent)
        return 1

    def _take_segment(self, segment):
        """A whole segment: compared with its parts, where all were taken."""
        target = urljoin(self.media_target, segment.uri)
        if target in self._seen_segments:
            return 0
        self._seen_segments.add(target)
        if segment.gap:
            self.gaps = True
            return 1
        data = self.object(target)
        if data is None:
            return 0
        parts = [self.part_bytes.pop(urljoin(self.media_target, p.uri), None)
                 for p in segment.parts]
        if parts and None not in parts and data.startswith(b"WEBVTT"):
            self.faults.extend(hls_vtt.check_segment(data, parts,
                                                     segment.duration))
        elif parts and None not in parts:
            self.faults.extend(hls_fmp4.check_segment(data, parts))
        elif self._in_parts.get(segment.number, 0) < segment.duration and \
                segment.number in self._in_parts:
            self.timeline.ends = {}  # its parts aged before all were taken
        elif segment.number not in self._in_parts:
            self._judge_media(segment, data, segment.uri, segment.duration,
                              None)
        if segment.map is None and self.ts.pmt_pid is not None:
            self.ts.begins_with_tables(data)
        return 1

    def _beginning(self):
        """The first segment that is taken: the first with parts."""
        listed = self.playlist.listed
        if not self.playlist.part_target:
            return self.playlist.sequence
        return next((s.number for s in listed if s.parts or not s.uri),
                    listed[-1].number if listed else 0)

    def take_media(self):
        """All that is listed and was not fetched, in its order; how many."""
        count = 0
        if self._begins is None:
            self._begins = self._beginning()
        for segment in self.playlist.listed:
            if segment.number < self._begins:
                continue
            for part in segment.parts:
                count += self._take_part(segment, part)
            if segment.uri:
                count += self._take_segment(segment)
        self.faults.extend(self.ts.faults)
        self.ts.faults.clear()
        self.faults[:] = [f for f in self.faults if not self._explained(f)]
        return count

    def _explained(self, fault):
        """A part too short, because a frame came behind its last one later
        than any part could wait for."""
        if fault.rule != "part-short":
            return False
        base, number, rest = re.fullmatch(r"(.*\.)(\d+)(\.\w+.*)",
                                          fault.what).groups()
        return f"{base}{int(number) + 1}{rest}" in self._uneven

    def follow(self, parts=None, until_end=False, delta_each=10, hints=True):
        """Follows for so many objects, or until ENDLIST."""
        if self.playlist is None:
            self.start()
        count, idle = self.take_media(), 0
        while not self.playlist.ended and \
                (until_end or count < (parts or 0)):
            if hints and self.playlist.hints:
                self._hinted(self.playlist.hints[0])
            self.next_playlist(skip=delta_each and
                               self.reloads % delta_each == 0)
            self._keeps_promise()
            new = self.take_media()
            count, idle = count + new, 0 if new else idle + 1
            if idle > 10:
                self.faults.add("stuck", str(self.playlist.newest()))
                break
        return self

    def _keeps_promise(self):
        if self._promised is None:
            return
        (target, number), self._promised = self._promised, None
        listed = [urljoin(self.media_target, x.uri)
                  for s in self.playlist.listed for x in s.parts]
        segment = self.playlist.by_number().get(number)
        aged = segment is None or segment.uri and not segment.parts
        if target not in listed and not aged:
            self.faults.add("hint-kept", target)

    def _hinted(self, uri):
        """Asks for the part that comes next.  It may never come, if its
        segment ends before."""
        target = urljoin(self.media_target, uri)
        answer = self.get(target)
        if answer.status == 200:
            self._judge_object(target, answer)
            self._promised = target, self.playlist.listed[-1].number
        elif answer.status not in (404, 503):
            self.faults.add("status", f"{answer.status} for {target}")
