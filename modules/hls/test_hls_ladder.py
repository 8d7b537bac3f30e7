"""Ladders: streams published side by side, offered as one."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import subprocess
import threading
import time

import pytest
from browser import AUTOPLAY, Browser
from control_client import Control
from feed import Feed, STEP
from hls_check import Viewer
from hls_play import AT, Player, end
from http_client import get
from patience import busy
from weir import wait_for

LADDER = 'ladder = ( "_high", "_low" );'
SIZES = {"film_high": "320x180", "film_low": "160x90"}  # of the members
OWN = {"film": "64x36"}


def encode(w, *names, gop=1.0, seconds=600):
    """One ffmpeg, in real time, with an output for each name."""
    args = ["ffmpeg", "-loglevel", "error", "-re",
            "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30",
            "-f", "lavfi", "-i", "sine=sample_rate=44100"]
    for name in names:
        args += ["-map", "0:v", "-map", "1:a", "-t", str(seconds),
                 "-c:v", "libx264", "-preset", "ultrafast", "-tune",
                 "zerolatency", "-g", str(int(gop * 30)), "-s",
                 (SIZES | OWN)[name], "-c:a", "aac", "-f", "flv", w.rtmp_url(name)]
    return subprocess.Popen(args, stdin=subprocess.DEVNULL)


def start(weir, settings="", app=LADDER, **parts):
    return weir(locations=AT % settings, app=app, **parts)


def multivariant(w, members=2):
    """When so many members can be played."""
    def ready():
        a = get(w.http, "/hls/live/film.m3u8")
        assert a.status in (200, 404, 503), a.body
        body = a.body.decode()
        return body if body.count("STREAM-INF") == members else None
    return wait_for(ready, 20, "multivariant playlist")


def uris(text):
    return [u for u in text.splitlines() if u and not u.startswith("#")]


def warnings(w):
    return w.log().count("give all streams of the ladder key frames")


def follow_both(w, parts=40, pictures=True):
    """A viewer of each member, with all that it noted; of pictures that are
    none, without faults."""
    viewers = [Viewer(w.http, "/hls/live/film.m3u8", rendition=name)
               for name in SIZES]
    for v in viewers:
        v.follow(parts)
        v.check_reports()
        assert not pictures or not v.faults, v.faults.text()
    return viewers


def begins(v):
    """Number of segment: wall time of it."""
    return {s.number: s.date for s in v.playlist.listed if s.uri}


def check_near(a, b):
    """Most segments begin together.  The lists are not of one moment."""
    apart = [min(abs(x - y) for y in begins(b).values())
             for x in begins(a).values()]
    assert sorted(apart)[len(apart) // 2] < busy(0.15), apart
    assert a.playlist.target == b.playlist.target


def check_same(w, high, low):
    """Segments of one number begin together, by the wall and in media; when one
    joined in the middle of the other's segment, the next one does."""
    assert high.playlist.target == low.playlist.target
    joined = max(min(begins(high)), min(begins(low)))
    common = {n for n in begins(high) if n in begins(low) and n > joined}
    assert len(common) > 2
    for n in common:
        apart = abs(begins(high)[n] - begins(low)[n])
        # One step of the wall time, where frames arrive a second late.
        assert apart < 0.02, (n, apart)
    times = [{s.time / 90 for s in v.samples if s.key and s.track == 1}
             for v in (high, low)]
    assert len(times[0] & times[1]) > 3, times
    assert warnings(w) == 0


def test_one_encoder(weir):
    """The same numbers, wall times and media times."""
    w = start(weir, workers=2)
    p = encode(w, "film_low", "film_high")
    text = multivariant(w)
    assert [u.split("?")[0] for u in uris(text)] == \
        ["film_high.m3u8", "film_low.m3u8"]
    assert "RESOLUTION=320x180" in text and "RESOLUTION=160x90" in text
    check_same(w, *follow_both(w))
    end(p)


def late(feed, begin, delay):
    """Sends a frame when it is due, and so many seconds later."""
    due = begin + feed.next * STEP / 1000 + delay
    time.sleep(max(0, due - time.monotonic()))
    feed.frame()


def send_late(feed, begin, delays, stopping):
    """A second or so with each delay; frames wait, or come in a burst."""
    while not stopping.is_set():
        late(feed, begin, delays[feed.next // 30 % len(delays)])


@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second_begins", (0, 10))
def test_one_encoder_on_an_uneven_way(weir, first, second_begins):
    """Frames of one come up to a second after those of the other, less and
    more in turn: the same numbers and times all the same."""
    w = start(weir, workers=2)
    second = next(name for name in SIZES if name != first)
    feeds = [Feed(w.rtmp, first, audio=False).head(),
             Feed(w.rtmp, second, audio=False, first=second_begins,
                  start_time=second_begins * STEP).head()]
    begin, stopping = time.monotonic(), threading.Event()
    threads = [threading.Thread(target=send_late, daemon=True,
                                args=(feed, begin, delays, stopping))
               for feed, delays in zip(feeds, (
                   (0, 0.05, 0.3, 0), (0.6, 0.3, 0.9, 0.4, 0.8)))]
    for t in threads:
        t.start()
    multivariant(w)
    check_same(w, *follow_both(w, pictures=False))
    stopping.set()
    for t in threads:
        t.join()
    for feed in feeds:
        feed.stop()


def test_viewers(weir):
    """One id is one viewer, whichever streams it takes."""
    w = start(weir)
    p = encode(w, "film_high", "film_low")
    for u in uris(multivariant(w)) * 2:
        assert get(w.http, "/hls/live/" + u).status == 200
    first = {u.rpartition("viewer=")[2] for u in uris(multivariant(w))}
    assert len(first) == 1
    with Control(w) as c:
        rows = [r for r in c.json("show sess") if r["kind"] == "player"]
    # One for each multivariant playlist that was read.
    assert {r["stream"] for r in rows} == {"live/film_high"}
    before = len(rows)
    for u in uris(multivariant(w)) * 2:
        assert get(w.http, "/hls/live/" + u).status == 200
    with Control(w) as c:
        rows = [r for r in c.json("show sess") if r["kind"] == "player"]
    assert len(rows) == before + 1
    end(p)


def test_two_encoders(weir):
    """One begins later, with a clock of its own."""
    w = start(weir)
    high = encode(w, "film_high", gop=0.1)
    Player(w, "film_high").start()
    low = encode(w, "film_low", gop=0.1)
    multivariant(w)
    check_near(*follow_both(w))
    end(high)
    end(low)


def test_key_frames_apart_are_told_once(weir):
    w = start(weir)
    high = encode(w, "film_high", gop=4)
    w.wait_log("film_high")
    time.sleep(2)  # so far apart are the key frames of the two
    low = encode(w, "film_low", gop=4)
    wait_for(lambda: warnings(w), 30, "warning")
    before = get(w.http, "/hls/live/film_low.m3u8?rendition=all").body
    wait_for(lambda: get(w.http, "/hls/live/film_low.m3u8?rendition=all").body
             .count(b"EXTINF") > before.count(b"EXTINF") + 1, 30, "segments")
    assert warnings(w) == 1
    end(high)
    end(low)


def test_leader_dies(weir):
    """The others go on, and are what is offered."""
    w = start(weir, hold="1s")
    high = encode(w, "film_high")
    Player(w, "film_high").start()
    low = encode(w, "film_low")
    multivariant(w)
    v = Viewer(w.http, "/hls/live/film.m3u8", rendition="film_low")
    v.follow(10)
    high.kill()
    high.wait()
    v.follow(30)
    assert not v.faults, v.faults.text()
    assert [u.split("?")[0] for u in uris(multivariant(w, 1))] == \
        ["film_low.m3u8"]
    with Control(w) as c:
        wait_for(lambda: {r["stream"] for r in c.json("show sess")
                          if r["kind"] == "player"} == {"live/film_low"},
                 20, "viewers of the one that is left")
    high = encode(w, "film_high")
    multivariant(w)
    v.follow(20)
    assert not v.faults, v.faults.text()
    end(high)
    end(low)
    wait_for(lambda: get(w.http, "/hls/live/film.m3u8").status == 404, 20,
             "end")


def test_member_from_elsewhere(weir):
    """A relay pulls one; what was pulled before the leader came, too."""
    source = weir()
    p = encode(source, "film_low", gop=0.1)
    w = start(weir, app=LADDER + 'pull = ( { name = "film_low"; url = "' +
              source.rtmp_url("film_low") + '"; } );',
              top='egress = [ "allow loopback" ];')
    Player(w, "film_low").start()
    high = encode(w, "film_high", gop=0.1)
    multivariant(w)
    check_near(*follow_both(w))
    end(high)
    end(p)


def test_reports_of_one_that_goes_on(weir):
    """The list of a member that stands still tells how far another one is."""
    w = start(weir)
    high, low = (Feed(w.rtmp, name, audio=False).head() for name in SIZES)
    for _ in range(10):
        high.frames(25)
        low.frames(25)
    multivariant(w)
    v = Viewer(w.http, "/hls/live/film.m3u8", rendition="film_low").start()
    first = get(w.http, v.media_target)
    other = Viewer(w.http, "/hls/live/film.m3u8", rendition="film_high").start()
    begin = other.playlist.newest()
    high.frames(75)
    wait_for(lambda: other._take(other.reload()) or
             other.playlist.newest() > begin, 5, "more of the one")
    v.check_reports()
    assert not [r for r in v.faults.rules() if r.startswith("report")], \
        v.faults.text()
    # Caches see that it is another list, and that it stays one.
    tags = [get(w.http, v.media_target).header("etag") for _ in range(2)]
    assert tags[0] == tags[1] != first.header("etag")
    high.stop()
    low.stop()


def test_sound_apart(weir):
    """The sound of the first member is heard with all."""
    w = start(weir, "separate_audio = true;")
    p = encode(w, "film_high", "film_low")
    text = multivariant(w)
    assert text.count("TYPE=AUDIO") == 1
    assert 'URI="film_high.m3u8?rendition=a0' in text
    assert text.count('AUDIO="sound"') == 2
    follow_both(w, 20)
    end(p)


def test_a_stream_of_the_name_comes_first(weir):
    w = start(weir)
    p = encode(w, "film_high", "film_low")
    multivariant(w)
    own = encode(w, "film")
    wait_for(lambda: "RESOLUTION=64x36" in
             get(w.http, "/hls/live/film.m3u8").body.decode(), 20, "film")
    end(own)
    end(p)


def test_access(weir):
    w = start(weir, app=LADDER + ' play_access = "deny all";')
    p = encode(w, "film_high", "film_low")
    w.wait_log("film_low")
    assert get(w.http, "/hls/live/film.m3u8").status == 403
    end(p)


PAGE = """<!doctype html><meta charset="utf-8">
<script src="/vendor/hls.js"></script>
<video muted autoplay></video><script>
const video = document.querySelector('video'), seen = new Set();
const errors = [], holes = [];
let at = 0, moved = 0, most = 0;
const hls = new Hls({ maxLiveSyncPlaybackRate: 1.1 });
hls.on(Hls.Events.ERROR, (event, data) => errors.push(data.details));
hls.loadSource('/hls/live/film.m3u8');
hls.attachMedia(video);
video.play();
setInterval(() => {
  const now = performance.now(), ranges = video.buffered;
  if (video.currentTime !== at) {
    if (at > 0) most = Math.max(most, now - moved);
    at = video.currentTime;
    moved = now;
  }
  seen.add(video.videoWidth);
  for (let i = 1; i < ranges.length; i++) {
    holes.push([ranges.end(i - 1), ranges.start(i)]);
  }
}, 50);
// Not within a segment: hls.js takes parts for loaded that it has overwritten.
let level = 0, switched = 0;
setInterval(() => {
  if (at > switched + 3) {
    switched = at;
    hls.loadLevel = level = 1 - level;
  }
}, 100);
window.told = () => ({ at, most, errors, holes: holes.slice(0, 5),
  seen: [...seen].sort(), levels: hls.levels.length });
</script>"""


@pytest.mark.once
def test_levels_are_switched_without_a_gap(weir):
    """hls.js goes up and down; nothing is missing at the seams."""
    w = start(weir)
    html = f"{w.prefix}/html"
    os.makedirs(f"{html}/vendor", exist_ok=True)
    with open("html/vendor/hls.js", "rb") as f, \
            open(f"{html}/vendor/hls.js", "wb") as to:
        to.write(f.read())
    with open(f"{html}/ladder.html", "w", encoding="utf-8") as f:
        f.write(PAGE)
    p = encode(w, "film_high", "film_low")
    multivariant(w)
    browser = Browser(AUTOPLAY)
    try:
        browser.open(w.http_url("/ladder.html"))
        wait_for(lambda: browser.script("return told()")["at"] > 20, 90,
                 "it plays")
        told = browser.script("return told()")
    finally:
        browser.quit()
    assert told["levels"] == 2
    assert set(told["seen"]) >= {160, 320}, told
    assert not told["holes"], told
    assert "bufferStalledError" not in told["errors"], told
    end(p)
