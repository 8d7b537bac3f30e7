"""The console under html/, looked at with Chromium."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import shutil
import threading
import time

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Browser, number_of
import flv
from feed import Feed
from flv_client import FlvPlayer
from http_client import get
from media import QUIET, Tool, check
from patience import busy
from rtmp_client import publisher
from weir import configuration, free_port, wait_for

pytestmark = pytest.mark.once

STAT = '{ path = "/stat"; module = "stat"; },'
DENIED = '{ path = "/stat"; module = "stat"; access = [ "deny all" ]; },'
ROW = ".streams tbody tr"


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


def console(weir, locations=STAT, **parts):
    w = weir(parts.pop("text")) if "text" in parts else \
        weir(locations=locations, **parts)
    shutil.copytree("html", f"{w.prefix}/html", dirs_exist_ok=True)
    return w


def publish_picture(url):
    """Colour bars with something moving before them, and a tone."""
    return Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi",
                "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi",
                "-i", "sine=frequency=440", "-c:v", "libx264", "-preset",
                "ultrafast", "-tune", "zerolatency", "-g", "25", "-pix_fmt",
                "yuv420p", "-c:a", "aac", "-b:a", "64k", "-f", "flv", url)


def difference(a, b):
    """The share of points whose colour is another."""
    changed = [p for p, q in zip(a["points"], b["points"])
               if sum(abs(x - y) for x, y in zip(p, q)) > 40]
    return len(changed) / len(a["points"])


def colours(picture):
    """Points by which of red, green and blue are strong in them."""
    found = {}
    for point in picture["points"]:
        name = "".join("rgb"[n] for n in range(3) if point[n] > 150)
        found[name] = found.get(name, 0) + 1
    return found


def speed_of(w, role, room):
    """Video and audio of the only session, as /stat/livestat has it."""
    found = json.loads(get(w.http, f"/stat/livestat?room={room}").body)
    assert len(found[role]) == 1
    return found[role][0]["video_speed"] + found[role][0]["audio_speed"]


def fact(b, term):
    return b.script("""
        const row = [...document.querySelectorAll('.facts > div')].find(
          (div) => div.querySelector('dt').textContent === arguments[0]);
        return row?.querySelector('dd').textContent;
        """, term)


def fits(b):
    return b.script("return document.documentElement.scrollWidth <= "
                    "document.documentElement.clientWidth")


def check_moving(b):
    first = b.picture()
    assert len([n for n in colours(first).values() if n > 50]) >= 5, \
        colours(first)

    def moved():
        second = b.picture(first["at"] + 1)
        return 0.01 < difference(first, second) < 0.9
    wait_for(moved, 10, "a picture that moves")


def check_speed(w, b):
    """What the page shows is what /stat/livestat tells."""
    def agrees():
        shown = number_of(b.text(f"{ROW} .rate"))
        told = speed_of(w, "publishers", "live/test")
        return told > 50_000 and shown and abs(shown - told) < 0.3 * told
    wait_for(agrees, 10, "a bit rate that agrees with livestat")


def test_a_stream_from_its_first_picture_to_its_end(weir, tool, browser):
    w = console(weir)
    b = browser
    b.open(w.http_url("/"))
    b.wait_text(".empty", "No stream is live")
    b.wait_text(".empty", r"ffmpeg .* rtmp://127\.0\.0\.1:\d+/live/test")
    b.wait_text("#link", "^live$")
    ffmpeg = tool(publish_picture(w.rtmp_url("test")))
    b.wait_text(ROW, r"live/test\s+live\b")
    assert b.text(".empty") == ""
    b.click(f"{ROW} a")
    check_moving(b)
    check_speed(w, b)
    for term, shown in (("Video", "^H.264 · .* · 320×180 · 25 fps$"),
                        ("Key frame every", r"^1\.00 s · 25 frames$"),
                        ("Audio", r"^AAC · LC · 44\.1 kHz · 1 ch$")):
        wait_for(lambda t=term, s=shown: re.search(s, fact(b, t) or ""), 5,
                 f"{term}: {shown}")
    wait_for(lambda: fact(b, "Players") == "1", 5, "the page itself")
    before = fact(b, "Frames")
    other = FlvPlayer(w.http, "test")
    other.read_head()
    wait_for(lambda: fact(b, "Players") == "2", 5, "another player")
    b.wait_text(".stream .sessions", r"publisher\s+rtmp(?s:.*)player")
    other.close()
    wait_for(lambda: fact(b, "Frames") != before, 5, "frames go on")
    assert b.script("return document.querySelector('.line.video')"
                    ".getAttribute('d').split('L').length") >= 3
    # The end is seen, and so is the next beginning.
    ffmpeg.process.kill()
    b.wait_text(".player-words", "has ended")
    b.wait_text(ROW, r"live/test\s+ended")
    tool(publish_picture(w.rtmp_url("test")))
    b.wait_text(ROW, r"live/test\s+live\b")
    check_moving(b)
    b.press_escape()
    b.wait_text("#view", "Find|live/test")
    wait_for(lambda: not b.script(
        "return document.querySelector('video')"), 5, "no player")
    assert b.script("return document.activeElement.textContent") == \
        "live/test"
    assert not b.complaints()


NAMES = ["<script>document.title='run'", "<img src=x onerror=alert(1)>",
         "a'b\"c;d&e", "имя"]


def test_names_are_text(weir, browser):
    w = console(weir)
    b = browser
    feeds = [Feed(w.rtmp, name).head().frames(30) for name in NAMES]
    b.open(w.http_url("/"))
    shown = wait_for(lambda: b.script(
        "const a = [...document.querySelectorAll('.streams td.name a')];"
        "return a.length == 4 && a.map((link) => link.textContent)"), 10)
    assert sorted(shown) == sorted(f"live/{name}" for name in NAMES)
    for place in ("sessions", "server", "streams"):
        b.click(f"nav a[href='#/{place}']")
        for width in (360, 1280):
            b.phone(width)
            assert fits(b), (place, width)
    assert not b.script(
        "return document.querySelector('#view script, #view img')")
    assert "live" in b.script("return document.title")
    assert not b.complaints()
    # Each has an address of its own, and lines that no shell trips over.
    for name in NAMES:
        b.script("[...document.querySelectorAll('.streams .list td.name a')]"
                 ".find((a) => a.textContent === arguments[0]).click()",
                 f"live/{name}")
        b.wait_text(".stream h2", "^live/")
        assert b.text(".stream h2") == f"live/{name}"
        assert fits(b)
    b.open(w.http_url("/#/streams/live%2Fa'b%22c%3Bd%26e"))
    b.wait_text(".use", r"""/live/a'\\''b"c;d&e'""")
    for f in feeds:
        f.stop()


def ask_again(b, pattern):
    """Until the notice says it: a kept connection may bring one answer more
    of the worker from before a reload."""
    for _ in range(8):
        b.click("#notice > button")
        try:
            return b.wait_text("#notice", pattern, 1)
        except AssertionError as error:
            last = error
    raise last


def beside(*locations):
    """A second http server, whose locations are those of the test."""
    page = '{ path = "/"; layers = ( { module = "status"; }, ' \
        '{ module = "flv"; }, { module = "static"; root = "html"; } ); }'
    return f'locations = ( {" ".join(locations)} {page} ); }}, ' \
        '{ listen = "127.0.0.1:0";'


def test_refused_statistics_say_what_to_do(weir, tool, browser):
    w = console(weir, http=beside(DENIED))
    b = browser
    tool(publish_picture(w.rtmp_url("test")))
    b.open(w.http_url("/"))
    b.wait_text("#notice", "not for this address")
    # The server that this machine may ask is named, with its real port.
    b.wait_text("#notice", fr"open http://127\.0\.0\.1:{w.port('http', 1)}/")
    b.wait_text("#link", "no statistics")
    b.type("#play-name", "test\n")
    b.wait_text(".stream h2", "^live/test$")
    check_moving(b)
    w.set_config(http=beside())
    w.reload()
    ask_again(b, "no statistics at /stat")
    w.set_config(http=beside(STAT))
    w.reload()
    ask_again(b, "^$")
    b.wait_text("#link", "^live$")
    b.wait_text(ROW, r"live/test\s+live\b")
    assert all("status of 40" in text for text in b.complaints())


def test_lost_statistics_come_back(weir, browser):
    parts = {"rtmp_listen": f'"127.0.0.1:{free_port()}"',
             "http_listen": f'"127.0.0.1:{free_port()}"'}
    w = console(weir, **parts)
    b = browser
    f = Feed(w.rtmp).head().frames(30)
    b.open(w.http_url("/"))
    b.wait_text(ROW, r"live/room\s+live\b")
    w.reload()  # the worker that had the page goes, another has it
    b.wait_text("#link", "^live$")
    w.stop()
    b.wait_text("#link", "^lost")
    b.wait_text("#notice", "connection to the statistics is lost")
    assert "live/room" in b.text(ROW)
    w.status = None
    w.start()
    b.wait_text("#link", "^live$")
    b.wait_text("#notice", "^$")
    b.wait_text(ROW, r"live/room\s+ended")
    f.stop()


# Notes what the link says, and when.
WATCH_LINK = """
const link = document.getElementById('link');
window.states = [[link.dataset.state, performance.now()]];
new MutationObserver(() => {
  if (states.at(-1)[0] !== link.dataset.state) {
    states.push([link.dataset.state, performance.now()]);
  }
}).observe(link, { attributes: true, attributeFilter: ['data-state'] });
"""


def test_a_reload_costs_less_than_a_second(weir, browser):
    """Although the browser keeps connections to the worker that drains."""
    w = console(weir, top='keepalive_min_timeout = "1h";')
    b = browser
    b.open(w.http_url("/"))
    b.wait_text("#link", "^live$")
    b.script(WATCH_LINK)
    for n in range(1, 4):
        w.reload()
        states = wait_for(lambda n=n: b.script(
            "return states.length > 2 * arguments[0] && states", n), 20,
            f"live again after reload {n}")
        assert [name for name, _ in states] == \
            ["live"] + ["connecting", "live"] * n
        (_, gone), (_, back) = states[-2:]
        assert back - gone < busy(1) * 1000
    assert not b.complaints()


def test_skip_to_content_stays_in_the_view(weir, browser, tool):
    w = console(weir)
    b = browser
    tool(publish_picture(w.rtmp_url("test")))
    b.open(w.http_url("/#/streams/live%2Ftest"))
    before = b.picture()
    b.script("document.querySelector('.skip').focus()")
    b.press(Keys.ENTER)
    assert b.script("return document.activeElement.id") == "main"
    assert b.script("return location.hash") == "#/streams/live%2Ftest"
    assert b.text(".stream h2") == "live/test"
    assert b.picture(before["at"] + 1)
    # An address that names a place in the page is no view either.
    b.script("location.hash = '#main'")
    assert b.picture(b.picture()["at"] + 1)
    assert b.text(".stream h2") == "live/test"
    assert not b.complaints()


RELAY = '{ path = "/control"; module = "relay"; },'


def keyed(**parts):
    """A configuration that lets nobody publish without a key."""
    return configuration(**parts).replace('publish = "open"',
                                          'publish = "key"')


def line_of(b, what):
    """The command that the page offers for it."""
    return b.script("""
        const li = [...document.querySelectorAll('.lines li')].find((li) =>
          li.offsetParent && li.firstChild.textContent === arguments[0]);
        return li?.querySelector('code').textContent;
        """, what)


def paste(command):
    """Into a shell."""
    assert ":8090" not in command and ":1935" not in command
    return Tool("sh", "-c", command.replace("ffmpeg", "exec ffmpeg " +
                                            " ".join(QUIET), 1))


def test_an_empty_console_makes_a_room(weir, tool, browser):
    w = console(weir, text=keyed(locations=STAT + RELAY))
    b = browser
    b.open(w.http_url("/"))
    b.wait_text(".empty", "Make its stream key")
    b.script("document.getElementById('room').value = ''")
    b.type("#room", "it's me")
    b.click(".publish-form button")
    b.wait_text(".empty", "OBS: stream key")
    assert line_of(b, "OBS, service Custom: server") == \
        f"rtmp://127.0.0.1:{w.rtmp}/live"
    key = get(w.http, "/control/get?room=it's%20me").body.decode()
    assert line_of(b, "OBS: stream key") == key
    tool(paste(line_of(b, "Publish a test picture")))
    b.wait_text(ROW, r"live/it's me\s+live\b")
    # The lines below a stream publish and play it as well.
    b.click(f"{ROW} a")
    b.wait_text(".use", "Publish a test picture")
    assert line_of(b, "Publish a test picture").endswith(
        f"rtmp://127.0.0.1:{w.rtmp}/live/" + '"$(curl -fsS \'' +
        w.http_url("/control/get?room=it%27s%20me") + '\')"')
    assert not b.complaints()


def test_lines_ask_for_a_key_where_keys_are_made(weir, tool, browser):
    """The page's own server makes none."""
    w = console(weir, text=keyed(locations=STAT + RELAY, http=beside(STAT)))
    b = browser
    b.open(w.http_url("/"))
    b.wait_text(".empty", "made on the machine itself: at "
                f"http://127.0.0.1:{w.port('http', 1)}/")
    assert "Make its" not in b.text(".empty")
    tool(paste(line_of(b, "Publish a test picture")))
    b.wait_text(ROW, r"live/test\s+live\b")


def test_lines_of_an_open_application_name_the_stream(weir, tool, browser):
    w = console(weir)
    b = browser
    b.open(w.http_url("/"))
    b.wait_text(".empty", "OBS: stream key")
    assert line_of(b, "OBS: stream key") == "test"
    tool(paste(line_of(b, "Publish a test picture")))
    b.wait_text(ROW, r"live/test\s+live\b")


# ---- what it looks like ----

# [what, contrast] of each border of a control or card with what is around it.
BORDERS = """
const light = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((n) => n / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (node) => {
  for (let n = node; n; n = n.parentElement) {
    const colour = getComputedStyle(n).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
};
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
return [...document.querySelectorAll(
  'button, input, select, table, .totals > div, .facts, .empty, .stream, code')]
  .filter((n) => n.offsetParent &&
    getComputedStyle(n).borderTopStyle === 'solid' &&
    getComputedStyle(n).borderTopWidth !== '0px')
  .map((n) => [n.outerHTML.slice(0, 60), Math.min(
    ...[ground(n), ground(n.parentElement)].map((colour) => contrast(
      light(colour), light(getComputedStyle(n).borderTopColor))))]);
"""


def set_scheme(b, name):
    b.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": name}]})


def check_look(b):
    assert b.script("return [...document.querySelectorAll('h1')]"
                    ".filter((h) => h.offsetParent).length") == 1
    for scheme in ("dark", "light"):
        set_scheme(b, scheme)
        borders = b.script(BORDERS)
        assert len(borders) >= 1
        assert [one for one in borders if one[1] < 3] == []


def test_borders_and_headings(weir, browser, tool):
    w = console(weir)
    b = browser
    b.open(w.http_url("/"))
    b.wait_text(".empty", "OBS: stream key")
    check_look(b)
    tool(publish_picture(w.rtmp_url("test")))
    b.click(f"{ROW} a")
    b.wait_text(".stream .facts", "Publisher")
    check_look(b)
    # The only row begins where the stream beside it does.
    tops = b.script("return ['.list .table', '.stream'].map((s) => document"
                    ".querySelector(s).getBoundingClientRect().top)")
    assert abs(tops[0] - tops[1]) < 1
    for view in ("sessions", "server"):
        b.click(f"nav a[href='#/{view}']")
        b.wait_text("h1", view.title())
        check_look(b)


def names_shown(b):
    return b.script("return [...document.querySelectorAll("
                    "'.streams .list td.name a')].map((a) => a.textContent)")


def test_order_and_search_are_in_the_address(weir, browser):
    w = console(weir)
    b = browser
    feeds = [Feed(w.rtmp, name=name).head().frames(30)
             for name in ("cam1", "cam2", "film")]
    b.open(w.http_url("/"))
    wait_for(lambda: len(names_shown(b)) == 3, 10)
    assert b.script("return location.hash") in ("", "#/streams")
    b.click("th[data-id=name] button")
    b.type(".list input", "cam")
    wanted = ["live/cam2", "live/cam1"]
    wait_for(lambda: names_shown(b) == wanted, 10)
    assert b.script("return location.hash") == "#/streams?sort=-name&find=cam"
    # They stay when a stream is looked at, and in another window.
    b.click(f"{ROW} a")
    b.wait_text(".stream h2", "live/cam2")
    address = b.script("return location.href")
    assert address.endswith("#/streams/live%2Fcam2?sort=-name&find=cam")
    b.open("about:blank")
    b.open(address)
    b.wait_text(".stream h2", "live/cam2")
    wait_for(lambda: names_shown(b) == wanted, 10)
    b.open(w.http_url("/#/sessions?find=film&sort=-rate"))
    b.wait_text(".sessions tbody", "live/film")
    assert "cam" not in b.text(".sessions tbody")
    assert b.script("return document.querySelector('th[aria-sort=descending]')"
                    ".dataset.id") == "rate"
    for f in feeds:
        f.stop()


def chart_points(b):
    path = b.script("return document.querySelector('.line.video,.line.out')"
                    "?.getAttribute('d')") or ""
    return len(re.findall("[ML]", path))


def test_charts_have_what_was_before_the_page(weir, browser):
    w = console(weir)
    b = browser
    f = Feed(w.rtmp, name="test").head().run()
    wait_for(lambda: len([p for p in json.loads(
        get(w.http, "/stat/history?of=live%2Ftest").body)["levels"][0]["points"]
        if p and p[0]]) >= 8, 30)
    for place in ("streams/live%2Ftest", "server"):
        b.open("about:blank")
        b.open(w.http_url(f"/#/{place}"))
        wait_for(lambda: chart_points(b) >= 8, 10)
        # The axis is no longer than what is known.
        assert "−1 min" not in b.text(".chart svg") or chart_points(b) > 50
        assert "5 min" not in b.script(
            "return document.querySelector('.chart .grid').textContent")
        b.script("const s = document.querySelector('.chart select');"
                 "s.value = '1h'; s.dispatchEvent(new Event('change'))")
        wait_for(lambda: chart_points(b) >= 1, 15)
    b.open("about:blank")
    b.open(w.http_url("/"))
    wait_for(lambda: len(re.findall("[ML]", b.script(
        "return document.querySelector('.totals .spark .line')"
        "?.getAttribute('d')") or "")) >= 8, 10)
    f.stop()
    assert not b.complaints()


# ---- the player ----

def test_the_player_says_what_it_waits_for(weir, browser, tool):
    parts = {"rtmp_listen": f'"127.0.0.1:{free_port()}"',
             "http_listen": f'"127.0.0.1:{free_port()}"', "hold": "1h"}
    w = console(weir, **parts)
    b = browser
    url = w.rtmp_url("test")
    ffmpeg = tool(publish_picture(url))
    b.open(w.http_url("/#/streams/live%2Ftest"))
    check_moving(b)
    ffmpeg.process.kill()
    b.wait_text(".player-words", "On hold")
    ffmpeg = tool(publish_picture(url))
    wait_for(lambda: b.text(".player-words") == "", 10)
    check_moving(b)
    w.stop()
    b.wait_text(".player-words", "weir is away")
    w.status = None
    w.start()
    tool(publish_picture(url))
    wait_for(lambda: b.text(".player-words") == "", 40)
    check_moving(b)


def sized(path, size, profile, between):
    """Tags of a stream with that many frames between two references."""
    check(["ffmpeg", *QUIET, "-y", "-f", "lavfi", "-i",
           f"testsrc2=size={size}:rate=25", "-f", "lavfi", "-i", "sine",
           "-c:v", "libx264", "-preset", "veryfast", "-profile:v", profile,
           "-g", "25", "-pix_fmt", "yuv420p", "-bf", str(between), "-c:a",
           "aac", "-t", "4", "-f", "flv", str(path)])
    return flv.read_file(path)


class Changing:
    """Publishes one of several files again and again, on one connection."""

    def __init__(self, port, *files):
        self.c = publisher(port, "live", "test")
        self.files, self.at, self.over = files, 0, False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        origin = 0
        while not self.over:
            at, begin = self.at, time.monotonic()
            for t in self.files[at]:
                time.sleep(max(0, t.time / 1000 - time.monotonic() + begin))
                if self.over or self.at != at:
                    break
                self.c.send(t.type, t.payload, origin + t.time, self.c.msid,
                            csid=4 if t.type == flv.AUDIO else 6)
            # An encoder that begins anew leaves out the time that it takes.
            origin += self.files[at][-1].time + 40

    def stop(self):
        self.over = True
        self.thread.join()
        self.c.close()


def test_other_sizes_on_the_same_connection_are_played(weir, browser,
                                                       tmp_path):
    w = console(weir)
    b = browser
    p = Changing(w.rtmp, sized(tmp_path / "1.flv", "320x180", "baseline", 0),
                 sized(tmp_path / "2.flv", "1280x720", "high", 2))
    b.open(w.http_url("/#/streams/live%2Ftest"))
    for turn in range(3):
        p.at = turn % 2
        width = (320, 1280)[p.at]
        b.wait_player(f"{width} wide, playing", 20)
        assert b.picture(b.picture()["at"] + 3)
        # mpegts.js would stall, or give up: the player asks anew, on a slow
        # machine perhaps more than once.
        wait_for(lambda n=turn: len(re.findall(
            r"GET /live/test\.flv", w.access_log())) >= n, 10)
    p.stop()
    assert not b.complaints()


# The next piece of media cannot be taken, as where a decoder gives up.
BREAK = """
const { appendBuffer } = SourceBuffer.prototype;
SourceBuffer.prototype.appendBuffer = function () {
  SourceBuffer.prototype.appendBuffer = appendBuffer;
  throw new DOMException('broken', 'InvalidStateError');
};
"""


def test_a_picture_that_breaks_is_begun_anew(weir, browser, tmp_path):
    w = console(weir)
    b = browser
    p = Changing(w.rtmp, sized(tmp_path / "1.flv", "320x180", "baseline", 0))
    b.open(w.http_url("/#/streams/live%2Ftest"))
    b.wait_player("320 wide, playing", 20)
    at = b.picture()["at"]
    b.script(BREAK)
    wait_for(lambda: len(re.findall(r"GET /live/test\.flv",
                                    w.access_log())) == 1, 10, "another player")
    b.wait_player("320 wide, playing", 20)
    assert b.picture(at)
    p.stop()
