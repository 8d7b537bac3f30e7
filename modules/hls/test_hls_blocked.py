"""Blocking reload where segments have many parts: behind the last one of a
segment comes the first one of the next (RFC 8216bis, 6.2.5.2), and whatever a
list told or hinted is answered."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

from enhanced_publisher import Clips, EnhancedPublisher, Track
from hls_endure import TARGET
from hls_page import Page
from hls_play import AT, Player, Playlist
from http_client import Http, get
from weir import wait_for


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def start(weir, apart, settings="", app="", **parts):
    return weir(locations=AT % settings, workers=2, app=f"{app} segment = "
                f'"2s"; max_segment = "{apart}s"; part = "333ms";', **parts)


def tracks(clips, apart):
    return [Track(clips.make("h264", seconds=apart, gop=25 * apart,
                             size="160x90")),
            Track(clips.make("aac", seconds=2))]


def send_to(p, seconds):
    """Up to that time of the stream; a key frame there is the last one."""
    p.send(seconds + 0.001 - p.time / 1000)


def waiting(w):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(r"weir_hls_waiting (\d+)\n", text)[1])


def refused(w):
    text = get(w.http, "/metrics").body.decode()
    found = re.search(r'weir_hls_refused_total\{reason="parameter"\} (\d+)',
                      text)
    return int(found[1]) if found else 0


def uris(w, name="room"):
    """Media playlists, as a multivariant one names them."""
    text = Player(w, name).start().multivariant
    return [u for u in text.splitlines() if u and u[0] != "#"] + \
        re.findall(r'TYPE=AUDIO.*URI="([^"]*)"', text)


class Edge:
    """A playlist just behind the end of a segment: of the next one no part is
    whole."""

    def __init__(self, w, uri):
        self.w, self.uri = w, f"/hls/live/{uri}"
        self.list = Playlist(get(w.http, self.uri).body.decode())
        self.number = self.list.last
        names = [re.search(r"(\d+)\.(\d+)\.m4s", n) for n in self.list.parts]
        parts = [(int(n[1]), int(n[2])) for n in names]
        assert parts[-1][0] == self.number, "a part of the next one is whole"
        self.parts = parts[-1][1] + 1

    def ask(self, segment, part, more=""):
        h = Http(self.w.http)
        h.send("GET", f"{self.uri}&_HLS_msn={segment}&_HLS_part={part}{more}")
        return h

    def refuses(self, segment, part):
        return self.ask(segment, part).answer().status == 400


def check_edge(w, p, uri):
    e = Edge(w, uri)
    assert e.parts > 11
    # What is listed.
    for part in (0, 1, e.parts - 1):
        a = e.ask(e.number, part).answer()
        assert a.status == 200, (part, a.body)
    # What is further than a part and a second away.
    assert e.refuses(e.number + 1, 99) and e.refuses(e.number + 4, 0)
    # What comes next, by each of its names, and its file.
    before = waiting(w)
    asked = [e.ask(e.number, part, more) for part in (e.parts, e.parts + 9, 999)
             for more in ("", "&_HLS_skip=YES")]
    asked += [e.ask(e.number + 1, 0), e.ask(e.number + 1, 0, "&_HLS_skip=YES")]
    hint = Http(w.http)
    hint.send("GET", f"/hls/live/{e.list.hint}")
    wait_for(lambda: waiting(w) == before + len(asked) + 1, 20, "all wait")
    p.send(0.5)
    for h in asked:
        a = h.answer()
        assert a.status == 200, a.body
        found = Playlist(a.body.decode())
        assert found.parts[-1].endswith(f"{e.number + 1}.0.m4s"), found.text
        assert found.parts[-1] == e.list.hint
        h.close()
    a = hint.answer()
    assert a.status == 200 and a.body
    hint.close()


@pytest.mark.parametrize("apart", [4, 10])
@pytest.mark.parametrize("settings", ["", "separate_audio = true;"])
def test_behind_the_last_part(weir, clips, apart, settings):
    w = start(weir, apart, settings)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, apart))
    send_to(p, 2 * apart)
    for i, uri in enumerate(uris(w)):
        send_to(p, (3 + i) * apart)
        check_edge(w, p, uri)
    p.stop()


def test_behind_a_discontinuity(weir, clips):
    """The publisher is back: of its first segment nothing is whole yet."""
    w = start(weir, 4, hold="1h")
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, 4))
    p.send(11.99)
    uri, = uris(w)
    p.leave()
    p.come_back(start_time=0)
    p.send(0)
    e = wait_for(lambda: (lambda e: "DISCONTINUITY\n" in e.list.text and e)(
        Edge(w, uri)), 20, "it is back")
    assert e.parts > 11
    check_edge(w, p, uri)
    p.stop()


def test_of_members_of_a_ladder(weir, clips):
    w = start(weir, 4, app='ladder = ( "_high", "_low" );')
    both = [EnhancedPublisher(w.rtmp, name=f"film{name}",
                              tracks=tracks(clips, 4))
            for name in ("_high", "_low")]
    for step in range(1, 25):
        for p in both:
            send_to(p, step / 2)
    named = uris(w, "film")
    assert len(named) == 2
    for uri, p in zip(named, both):
        check_edge(w, p, uri)
    for p in both:
        p.stop()


def test_reports_of_renditions(weir, clips):
    """What a report tells of another rendition is the last part that is whole;
    the one behind it can be asked for."""
    w = start(weir, 4, "separate_audio = true;")
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, 4))
    send_to(p, 12)
    uri = uris(w)[0]
    text = get(w.http, f"/hls/live/{uri}").body.decode()
    (other, number, part), = re.findall(
        r'REPORT:URI="([^"]*)",LAST-MSN=(\d+),LAST-PART=(\d+)', text)
    h = Http(w.http)
    h.send("GET", f"/hls/live/{other}&_HLS_msn={number}"
                  f"&_HLS_part={int(part) + 1}")
    wait_for(lambda: waiting(w) == 1, 20, "it waits")
    p.send(0.5)
    a = h.answer()
    assert a.status == 200 and f"{int(number) + 1}.0.m4s" in a.body.decode()
    p.stop()


@pytest.mark.once
@pytest.mark.parametrize("apart", [4, 10])
def test_hls_js(weir, clips, apart):
    """It plays over the ends of segments without an error."""
    w = start(weir, apart)
    p = EnhancedPublisher(w.rtmp, tracks=tracks(clips, apart))
    p.send(2 * apart + 2)
    p.run()
    page = Page(w, [{"url": TARGET}])
    try:
        begin = page.told()[0]["at"]
        wait_for(lambda: page.told()[0]["at"] > begin + 2 * apart + 2,
                 4 * apart + 20, "it plays")
        told, = page.told()
        wrong = [e for e in told["errors"] if "LoadError" in e[1]]
        assert not wrong and not told["fatal"], told
        assert refused(w) == 0
    finally:
        page.quit()
        p.stop()
