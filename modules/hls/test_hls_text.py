"""Data messages of a publisher: lines of text as WebVTT, others as events."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import shutil
import struct
from fractions import Fraction

import pytest

import amf0
from browser import AUTOPLAY, Browser
from enhanced_publisher import Clips, EnhancedPublisher, Track
from hls_check import Viewer
from hls_outputs import Taker, publish_all
from hls_play import AT, Player, Playlist
from http_client import get
from rtmp_client import DATA
from weir import wait_for

LINES = [(1500, "one"), (2500, "two & <i>two</i>\n\nlines"), (5000, ""),
         (7300, "last \udce9".encode("utf-8", "surrogateescape"))]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


class Teller(EnhancedPublisher):
    """Sends each message when its time has come."""

    def __init__(self, port, messages, **more):
        self.messages = sorted(messages, key=lambda m: m[0])
        super().__init__(port, **more)

    def _frame(self):
        while self.messages and self.messages[0][0] <= self.next[0]:
            at, payload = self.messages.pop(0)
            self.c.send(DATA, payload, at, self.c.msid, csid=5)
        super()._frame()


def line(text):
    if isinstance(text, bytes):
        whole = amf0.encode("onTextData", {"text": "*" * len(text)})
        return whole.replace(b"*" * len(text), text)
    return amf0.encode("onTextData", {"text": text, "language": "en"})


def boxes(data):
    """Of the outermost level: (type, body)."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8:at + size]
        at += size


def events(data):
    """Of a segment or part: (ms, id, name, values)."""
    found = []
    for kind, body in boxes(data):
        if kind != b"emsg":
            continue
        version, scale, at, lasts, number = struct.unpack_from(">IIQII", body)
        assert version >> 24 == 1 and scale == 1000 and lasts == 0
        scheme, value, tag = body[24:].split(b"\0", 2)
        assert scheme == b"https://aomedia.org/emsg/ID3" and value == b""
        assert tag[:6] == b"ID3\4\0\0" and tag[10:14] == b"TXXX"
        for i, left in ((6, 10), (14, 20)):
            size = 0
            for b in tag[i:i + 4]:
                size = size << 7 | b
            assert size == len(tag) - left
        assert tag[20] == 3
        name, values = tag[21:].split(b"\0", 1)
        found.append((at, number, name.decode(), json.loads(values)))
    return found


def milliseconds(text):
    h, m, s = text.split(":")
    return round((int(h) * 3600 + int(m) * 60 + float(s)) * 1000)


def cues(text):
    """Of a segment: (from, to, text), ms of the stream."""
    head = re.match(r"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:(\d+),"
                    r"LOCAL:00:00:00\.000\n\n", text)
    begin = int(head[1]) / 90
    found = []
    for cue in text[head.end():].split("\n\n"):
        if cue:
            times, words = cue.split("\n", 1)
            first, last = map(milliseconds, times.split(" --> "))
            assert first < last
            found.append((begin + first, begin + last, words))
    return found


def test_messages_are_events(weir, clips):
    messages = [(1000 + 700 * i, amf0.encode("onCuePoint", {
        "name": f"é{i}", "time": 1.5, "list": [True, None, 3]}, 7))
        for i in range(8)]
    messages += [(3000, line("not this")), (3100, b"\2\0\7broken"),
                 (3200, amf0.encode("long", "x" * 20000))]
    w = weir(locations=AT % "", hold="100ms", workers=2)
    p = Teller(w.rtmp, messages, tracks=[
        Track(clips.make("h264", seconds=2, size="160x90")),
        Track(clips.make("aac", seconds=2))])
    taker = Taker(w.http, "/hls/live/room.m3u8")
    publish_all(p, 8, [taker])
    taker.finish()
    parts, whole = [], []
    for target, body in taker.bodies.items():
        part = re.search(r"/\d+\.\d+\.m4s", target)
        if re.search(r"/\d+(\.\d+)?\.m4s", target):
            (parts if part else whole).extend(events(body))
    first = min(e[0] for e in whole)
    assert [e[3] for e in sorted(whole)] == [
        [{"name": f"é{i}", "time": 1.5, "list": [True, None, 3]}, 7]
        for i in range(8)]
    for i, e in enumerate(sorted(whole)):
        assert e[2] == "onCuePoint" and e[0] - first == 700 * i
    assert parts and set(map(str, parts)) <= set(map(str, whole))


def test_lines_are_captions(weir, clips):
    w = weir(locations=AT % "", hold="5s", workers=2)
    p = Teller(w.rtmp, [(at, line(text)) for at, text in LINES], tracks=[
        Track(clips.make("h264", seconds=2, size="160x90", gop=50)),
        Track(clips.make("aac", seconds=2))])
    p.send(12)
    c = Player(w).start()
    media, = re.findall(r'TYPE=SUBTITLES.*URI="(.*?)"', c.multivariant)
    assert 'SUBTITLES="text"' in c.multivariant
    got = Playlist(c.get(media).body.decode())
    others = c.list()
    assert not got.map
    assert [numbered(u) for u in got.parts] == \
        [numbered(u) for u in others.parts]
    assert numbered(got.hint) == numbered(others.hint)
    assert got.target == others.target
    names = [s.rsplit("/", 1)[1] for s in got.segments]
    assert all(re.fullmatch(r"t-\d+\.vtt", n) for n in names)
    assert got.last == others.last - 1 or got.last == others.last
    shown = []
    for target in got.segments:
        bodies = {c.get(target).body for _ in range(4)}
        assert len(bodies) == 1
        a = c.get(target)
        assert a.header("content-type") == "text/vtt; charset=utf-8"
        shown += cues(a.body.decode())
    base = shown[0][0] - 1500
    assert shown[0][2] == "one"
    # A line that lasts over the end of a segment goes on in the next one.
    whole = []
    for begin, end, text in shown:
        if whole and whole[-1][2] == text and whole[-1][1] == begin:
            whole[-1] = (whole[-1][0], end, text)
        else:
            whole.append((begin, end, text))
    assert [(round(a - base), round(b - base), t) for a, b, t in whole] == [
        (1500, 2500, "one"),
        (2500, 5000, "two &amp; &lt;i&gt;two&lt;/i&gt;\nlines"),
        (7300, whole[-1][1] - base, "last �")]
    assert whole[-1][1] - whole[-1][0] > 2000
    p.stop()


def numbered(uri):
    """The numbers of segment and part."""
    return re.search(r"(\d+)\.(\d+)\.(m4s|vtt)$", uri).groups()[:2]


def test_parts_have_the_text_of_their_segments(weir, clips):
    """A strict client of low latency follows the text."""
    sent = [(450 * i, line("" if i % 5 == 4 else f"line {i}"))
            for i in range(900)]
    w = weir(locations=AT % "", hold="5s", workers=2)
    p = Teller(w.rtmp, sent, tracks=[
        Track(clips.make("h264", seconds=2, size="160x90")),
        Track(clips.make("aac", seconds=2))])
    p.send(8)
    p.run()
    Player(w).start()
    with Viewer(w.http, "/hls/live/room.m3u8", rendition="rendition=t") as v:
        v.follow(parts=30)
        v.check_reports()
        v.check_delta()
        assert not v.faults, v.faults.text()
        cues = v.lines.cues
    assert len(cues) > 8
    for one, two in zip(cues[1:], cues[2:]):
        a, b = (int(c[2].split()[1]) for c in (one, two))
        assert b - a == (2 if b % 5 == 0 else 1)
        # A line ends with the next one; the empty one is for none.
        assert abs(one[1] - one[0] - Fraction(450, 1000)) < 0.002
        assert abs(two[0] - one[0] - Fraction(450 * (b - a), 1000)) < 0.002
    with Viewer(w.http, "/hls/live/room.m3u8") as v:
        v.follow(parts=5)
        v.check_reports()
        assert not v.faults, v.faults.text()
    p.stop()


def test_text_beside_transport_streams_has_no_parts(weir, clips):
    w = weir(locations=AT % "" + '{ path = "/ts"; module = "hls"; '
             'format = "ts"; },', hold="5s")
    p = Teller(w.rtmp, [(500 * i, line(f"line {i}")) for i in range(40)],
               tracks=[Track(clips.make("h264", seconds=2, size="160x90"))])
    p.send(12)
    c = Player(w).start()
    media, = re.findall(r'TYPE=SUBTITLES.*URI="(.*?)"', c.multivariant)
    assert Playlist(c.get(media).body.decode()).parts
    assert not Playlist(
        get(w.http, "/ts/live/" + media).body.decode()).parts
    p.stop()


def test_a_stream_without_lines_has_no_captions(weir, clips):
    w = weir(locations=AT % "", hold="5s")
    p = Teller(w.rtmp, [], tracks=[
        Track(clips.make("h264", seconds=2, size="160x90"))])
    p.send(8)
    c = Player(w).start()
    assert "SUBTITLES" not in c.multivariant
    p.stop()


PAGE = """<!DOCTYPE html><title>text</title><body><video muted></video>
<script src="/vendor/hls.js"></script><script>
const video = document.querySelector('video');
const hls = new Hls({ lowLatencyMode: location.hash === '#low' });
const tags = [];
const errors = [];
const shown = [];
hls.on(Hls.Events.ERROR, (event, data) => {
  errors.push(`${data.type} ${data.details} ${data.reason || data.error}`);
});
hls.on(Hls.Events.FRAG_PARSING_METADATA, (event, data) => {
  for (const s of data.samples) {
    tags.push([s.type, new TextDecoder().decode(s.data)]);
  }
});
hls.on(Hls.Events.SUBTITLE_TRACKS_UPDATED, () => {
  hls.subtitleDisplay = true;
});
hls.loadSource('/hls/live/room.m3u8');
hls.attachMedia(video);
video.play().catch(() => {});
// Stretches that the player goes over: [from, to], s.
const seeks = [];
let place = 0;
video.addEventListener('seeking', () => seeks.push([place,
  video.currentTime]));
setInterval(() => {
  place = video.seeking ? place : video.currentTime;
  const lines = [...new Set([...video.textTracks]
    .filter((t) => t.kind === 'subtitles' && t.mode === 'showing')
    .flatMap((t) => [...(t.activeCues || [])].map((c) => c.text)))];
  if (lines.length && String(lines) !== String(shown[shown.length - 1])) {
    shown.push(lines);
  }
}, 20);
window.choose = () => {
  if (hls.subtitleTracks.length && hls.subtitleTrack !== 0) {
    hls.subtitleTrack = 0;
  }
};
window.told = () => ({
  shown, seeks, loaded: performance.getEntriesByType('resource')
    .map((e) => e.name).filter((name) => name.includes('.vtt')), at: video.currentTime, state: [video.readyState, video.paused], errors,
  tags, track: hls.subtitleTrack, tracks: hls.subtitleTracks.length,
  cues: [...video.textTracks].filter((t) => t.kind === 'subtitles')
    .flatMap((t) => [...(t.cues || [])].map(
      (c) => [c.startTime, c.endTime, c.text])) });
</script>"""


def wait_for_both(browser):
    """The captions are chosen as a button of a player's would do it."""
    got = {}

    def both():
        got.update(browser.script("choose(); return told()"))
        return got["at"] > 3 and len(got["shown"]) > 5 and \
            len(got["tags"]) > 4
    try:
        wait_for(both, 60, "cues and events")
    except AssertionError:
        got["tags"] = len(got.get("tags", []))
        raise AssertionError(f"{got}; {browser.complaints()}") from None


def left_out(loaded):
    """How often the player did not load the part behind the one before."""
    names = {tuple(map(int, m.groups())) for m in
             (re.search(r"/t-(\d+)\.(\d+)\.vtt", url) for url in loaded) if m}
    last = max((part for _, part in names), default=0)
    return sum((segment, part + 1) not in names and
               ((segment + 1, 0) not in names or part < last)
               for segment, part in names - {max(names, default=None)})


def check_starts(cues, seeks, loaded):
    """Each line begins a second behind the one before.  The first one may have
    begun before its segment.  Nothing is asked of a stretch that the player
    went over: it loads text from the first list on, and gives that up where it
    then begins to play, or where it is too slow and goes on further ahead.  Nor
    of one that it left out: while it is slow it may load the next segment when
    it has some parts of one."""
    starts = {}
    in_order = sorted(cues)
    for (_, end, _), (begin, *_) in zip(in_order, in_order[1:]):
        assert end < begin + 0.001  # else a line is shown twice
    for begin, _, text in cues:
        n = int(text.split()[1])
        starts[n] = min(begin, starts.get(n, begin))
    base = min(begin - n for n, begin in starts.items())
    judged, holes = 0, set()
    for n in range(min(starts) + 1, max(starts) + 1):
        due = base + n
        # hls.js may take the next part where one is over in 0.25 s.
        if not any(a <= due <= b + 0.3 for a, b in seeks):
            before = max(end for begin, end, _ in cues if begin < due)
            if before < due - 0.05 or n not in starts and before < due + 0.05:
                holes.add(before)
            else:
                assert n in starts, n
                assert starts[n] - due < 0.05, (n, starts[n], due)
                judged += 1
    assert len(holes) <= left_out(loaded), holes
    assert judged > 2


@pytest.mark.once
@pytest.mark.parametrize("mode", ["", "#low"])
def test_hls_js_shows_both(weir, clips, mode):
    """A line is shown at the picture that it was sent with, and once; with low
    latency, while its segment is under way."""
    messages = [(1000 * i + 500, line(f"line {i}")) for i in range(900)]
    messages += [(1000 * i, amf0.encode("onCuePoint", {"n": i}))
                 for i in range(900)]
    w = weir(locations=AT % "", hold="5s")
    os.makedirs(f"{w.prefix}/html/vendor")
    shutil.copy("html/vendor/hls.js", f"{w.prefix}/html/vendor/hls.js")
    with open(f"{w.prefix}/html/text.html", "w", encoding="ascii") as f:
        f.write(PAGE)
    p = Teller(w.rtmp, messages, tracks=[
        Track(clips.make("h264", seconds=2, size="160x90")),
        Track(clips.make("aac", seconds=2))])
    p.send(6)
    p.run()
    b = Browser(AUTOPLAY)
    try:
        b.open(w.http_url("/text.html" + mode))
        wait_for_both(b)
        got = b.script("return told()")
        print(json.dumps(got))  # whole, where something is wrong
        assert got["tracks"] == 1
        assert all('onCuePoint\0[{"n":' in t[1] for t in got["tags"])
        check_starts(got["cues"], got["seeks"], got["loaded"])
        # Each for itself, and all of them in order.
        assert all(len(lines) == 1 for lines in got["shown"]), got["shown"]
        shown = [int(lines[0].split()[1]) for lines in got["shown"]]
        assert shown == sorted(set(shown))
        assert bool(mode) == any(re.search(r"/t-\d+\.\d+\.vtt", u)
                                 for u in got["loaded"])
    finally:
        b.quit()
        p.stop()
