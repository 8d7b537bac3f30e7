"""The viewer of the checker: it plays from a server made of a table, and
notes what that does wrong."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import itertools

import pytest

import hls_check
from hls_check import Viewer
from http_client import Answer
from test_hls_check import (HINT, MULTIVARIANT, live, media, segment,
                            without_parts)
from test_hls_check_media import KEY, OTHER, fragment, init

pytestmark = pytest.mark.once

FRAMES = 25  # of a part of a second
REPORTS = "".join(
    f'#EXT-X-RENDITION-REPORT:URI="f.m3u8?rendition={r}",'
    "LAST-MSN={},LAST-PART={}\n" for r in ("a0", "a1"))


def part(number, index):
    """The fragment of a second: pictures at 25/s, sound at 48 kHz."""
    at = (number - 100) * 2 + index
    pictures = [(3600, 5, OTHER if i or index else KEY, 0)
                for i in range(FRAMES)]
    sound = [(960, 2, KEY, 0)] * 50
    return fragment(at + 1, at * 90000, pictures, sound)


class Server:
    """Each blocking reload shows one part more; a name's answer may be
    changed by the test."""

    def __init__(self, last=104, until=106):
        self.last, self.count, self.until = last, 1, until
        self.change = lambda target, answer: answer
        self.asked = []

    def __call__(self):
        return self  # a connection

    def close(self):
        pass

    def send(self, method, target, *_):
        assert method == "GET"
        self.asked.append(target)

    def answer(self):
        target = self.asked[-1]
        path, _, query = target.partition("?")
        headers = "Cache-Control: max-age=3600\r\n" \
            "Access-Control-Allow-Origin: *"
        if path == "/live/f.m3u8":
            body = self.playlist(query).encode()
            headers += "\r\nContent-Type: application/vnd.apple.mpegurl"
        else:
            body = self.object(path.rpartition("/")[2])
        status = "200 OK" if body else "404 Not Found"
        headers += f"\r\nContent-Length: {len(body)}"
        a = Answer(f"HTTP/1.1 {status}\r\n{headers}", body)
        return self.change(target, a) or a

    def playlist(self, query):
        if "rendition" not in query:
            return MULTIVARIANT
        if "_HLS_msn" in query:
            self.last, self.count = (self.last, 2) if self.count == 1 else \
                (self.last + 1, 1)
        skipped = max(self.last - 106, 0) if "_HLS_skip" in query else 0
        text = live(100, self.last, self.count, skipped)
        if self.last >= self.until:
            text = live(100, self.last, 2)
            text = text[:text.index("#EXT-X-PRELOAD")] + "#EXTINF:2.000,\n" \
                f"f/{self.last}.m4s\n#EXT-X-ENDLIST\n"
            text = text.replace("CAN-BLOCK-RELOAD=YES,", "")
            return text
        return text + REPORTS.format(self.last, self.count - 1, self.last,
                                     self.count - 1)

    def object(self, name):
        if name == "init-1.mp4":
            return init()
        number, *index = name[:-4].split(".")
        if index and int(index[0]) > 1:
            return b""
        indexes = [int(i) for i in index] or [0, 1]
        return b"".join(part(int(number), i) for i in indexes)


def viewer(server, **more):
    return Viewer(0, "/live/f.m3u8", rendition="=v", connect=server, **more)


def test_the_server_of_the_test_is_good():
    for text in (live(), live(last=104)):
        assert not media(text).faults
    assert segment(104).endswith("f/104.m4s\n")


def test_it_follows_to_the_end():
    v = viewer(Server(until=110))
    v.follow(until_end=True, delta_each=2)
    v.check_reports()
    assert not v.faults, v.faults.text()
    # Parts were listed from segment 101 on.
    pictures = [s for s in v.samples if s.track == 1]
    assert len(pictures) % FRAMES == 0 and len(pictures) >= 18 * FRAMES
    assert [s.time for s in pictures] == list(range(
        pictures[0].time, pictures[-1].time + 1, 3600))
    assert any("_HLS_skip" in target for target in v._http.asked)


def test_deltas_and_reports():
    server = Server(last=109, until=999)
    v = viewer(server).start()
    assert v.check_delta() == 3
    v.check_reports()
    assert not v.faults, v.faults.text()


def is_playlist(target):
    return "rendition=v" in target


def body(a, change):
    a.body = change(a.body)
    return a


def without(a, name):
    a.headers = [h for h in a.headers if h[0] != name]
    return a


def status(a, value):
    a.status = value
    return a


class Twice:
    """Another answer for the same name each time."""

    def __init__(self):
        self.count = 0

    def __call__(self, target, a):
        self.count += 1
        if "105.1.m4s" in target:  # hinted, then listed
            a.body = a.body[:-1] + bytes([self.count])
        return a


BAD = {
    "status": lambda t, a: status(a, 500) if "105.0.m4s" in t else a,
    "type": lambda t, a: without(a, "content-type"),
    "length": lambda t, a: without(a, "content-length"),
    "cache": lambda t, a: without(a, "cache-control"),
    "origin": lambda t, a: without(a, "access-control-allow-origin"),
    "bytes": Twice(),
    "blocked": lambda t, a: body(a, lambda _: live(last=104).encode())
    if "_HLS_msn" in t else a,
    "stuck": lambda t, a: body(a, lambda _: live(last=104).encode())
    if "_HLS_msn" in t else a,
    "unasked": lambda t, a: body(a, lambda _: live(
        last=109, skipped=2).encode()) if is_playlist(t) else a,
    "hint-kept": lambda t, a: body(a, lambda b: b.replace(
        b'000,URI="f/105.1.m4s', b'000,URI="f/105.0.m4s'))
    if is_playlist(t) else a,
    "report-late": lambda t, a: body(a, lambda b: b.replace(
        b"LAST-MSN=1", b"LAST-MSN=0")),
    "report-early": lambda t, a: body(a, lambda b: b.replace(
        b"LAST-MSN=1", b"LAST-MSN=9")),
    "report-missing": lambda t, a: body(a, lambda b: b.replace(
        b"rendition=a0\",LAST", b"rendition=a9\",LAST")),
    "segment-bytes": lambda t, a: body(a, lambda b: b[:-1] + b"!")
    if t.endswith("105.m4s") else a,
    "time": lambda t, a: body(a, lambda _: part(90 + 100, 0))
    if t.endswith("105.0.m4s") else a,
    "delta-differs": lambda t, a: body(a, lambda b: b.replace(
        b"f/1", b"g/1")) if "_HLS_skip=YES" in t else a,
    "end-back": lambda t, a: body(a, lambda _: live(last=103).encode())
    if "_HLS_msn=105" in t else a,
}


@pytest.mark.parametrize("rule", BAD)
def test_it_notes(rule):
    server = Server(last=109 if rule == "delta-differs" else 104, until=999)
    server.change = BAD[rule]
    v = viewer(server)
    v.follow(parts=24)
    v.check_reports()
    v.check_delta()
    assert rule in v.faults.rules(), v.faults.text()
    assert set(hls_check.RULES) <= set(BAD)


def test_a_whole_segment_without_parts_is_an_answer():
    """Part 0 of it was asked for."""
    def bare(last):
        hint = HINT.replace("107.1", f"{last}.0")
        return without_parts(live(last=last, count=0).replace(hint, ""),
                             100, last - 1)
    server = Server()
    server.change = lambda t, a: body(a, lambda _: bare(
        108 if "_HLS_msn=107&_HLS_part=0" in t else 107).encode()) \
        if is_playlist(t) else a
    v = viewer(server).start()
    v.next_playlist()
    assert v.playlist.newest() == (107, -1)
    assert not v.faults, v.faults.text()


def no_news(target, a):
    return status(a, 503) if "_HLS_msn" in target else a


def test_a_503_at_once_is_a_fault():
    server = Server()
    server.change = no_news
    v = viewer(server).start()
    with pytest.raises(hls_check.NoPlaylist):
        v.next_playlist()
    assert v.faults.rules() == {"status"}


def test_a_503_after_three_targets_is_none(monkeypatch):
    server = Server()
    v = viewer(server).start()
    before, server.change = v.playlist, no_news
    clock = itertools.count(step=3 * before.target)
    monkeypatch.setattr(hls_check.time, "monotonic", lambda: next(clock))
    v.next_playlist()
    assert v.playlist is before and not v.faults, v.faults.text()


def test_it_reads_gzip_and_asks_again_when_closed():
    server = Server(until=999)
    first = []

    def change(target, a):
        if is_playlist(target):
            a.headers.append(("content-encoding", "gzip"))
            a.headers.append(("connection", "close"))
            a.body = gzip.compress(a.body)
        elif target.endswith("105.0.m4s") and not first:
            first.append(target)
            raise EOFError
        return a
    server.change = change
    v = viewer(server).follow(parts=18)
    assert not v.faults, v.faults.text()
    assert first
