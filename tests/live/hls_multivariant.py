"""Multivariant playlists: parsed, and judged (rules: hls_playlist.py)."""
# SPDX-License-Identifier: BSD-2-Clause

import re
from collections import Counter

from hls_playlist import (MEDIA_TAGS, MULTIVARIANT_TAGS, Faults, attributes,
                          lines_of)


class Multivariant:
    """variants: (attributes, uri); renditions: attributes."""

    def __init__(self, data):
        self.faults = Faults()
        self.variants, self.renditions = [], []
        pending = None
        for tag, rest in lines_of(data, self.faults):
            if tag is None:
                if pending is None:
                    self.faults.add("stream-inf", f"nothing before {rest}")
                else:
                    self.variants.append((pending, rest))
                pending = None
            elif tag == "EXT-X-STREAM-INF":
                pending = attributes(rest, self.faults)
            elif tag == "EXT-X-MEDIA":
                self.renditions.append(attributes(rest, self.faults))
            elif tag in MEDIA_TAGS and tag not in MULTIVARIANT_TAGS:
                self.faults.add("mixed", tag)
            elif tag not in MULTIVARIANT_TAGS:
                self.faults.add("tag", tag)
        if pending is not None or not self.variants:
            self.faults.add("stream-inf", "no URI")
        for a, _ in self.variants:
            self._variant(a)
        self._groups()

    def _variant(self, a):
        add = self.faults.add
        rate = a.get("BANDWIDTH", "")
        if not rate.isdigit() or int(rate) == 0:
            add("stream-inf", f"BANDWIDTH={rate}")
        elif int(a.get("AVERAGE-BANDWIDTH", "0")) > int(rate):
            add("average", str(a))
        codecs = a.get("CODECS", "")
        if not codecs:
            add("codecs", str(a))
        if "hev1" in codecs:
            add("hev1", codecs)
        if re.search("avc1|hvc1|av01|vp09", codecs):
            if not re.fullmatch(r"\d+x\d+", a.get("RESOLUTION", "")):
                add("resolution", str(a))
            if a.get("VIDEO-RANGE") not in ("SDR", "PQ", "HLG"):
                add("video-range", str(a))
        groups = {(r.get("TYPE"), r.get("GROUP-ID")) for r in self.renditions}
        for kind in ("AUDIO", "SUBTITLES"):
            if kind in a and (kind, a[kind]) not in groups:
                add("group", a[kind])

    def _groups(self):
        add = self.faults.add
        names, defaults = Counter(), Counter()
        for r in self.renditions:
            group = (r.get("TYPE"), r.get("GROUP-ID"))
            if None in group or not r.get("NAME"):
                add("media", str(r))
            names[group + (r.get("NAME"),)] += 1
            defaults[group] += r.get("DEFAULT") == "YES"
            if r.get("DEFAULT") == "YES" and \
                    r.get("AUTOSELECT", "YES") != "YES":
                add("autoselect", str(r))
            if group[0] == "AUDIO" and not r.get("CHANNELS"):
                add("channels", str(r))
        for group, times in names.items():
            if times > 1:
                add("group-names", str(group))
        for group, times in defaults.items():
            if times > 1:
                add("group-default", str(group))
