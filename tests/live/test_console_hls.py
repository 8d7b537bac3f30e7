"""The console's wall of pictures and its HLS player, in Chromium."""
# SPDX-License-Identifier: BSD-2-Clause

import functools
import http.server
import re
import shutil
import threading

import pytest

from browser import Browser
from media import QUIET, Tool, check
from weir import configuration, wait_for

pytestmark = pytest.mark.once


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


def make_still(path, colour):
    """An MP4 of one key frame."""
    check(["ffmpeg", *QUIET, "-y", "-f", "lavfi", "-i",
           f"color={colour}:size=320x180", "-frames:v", "1", "-c:v", "libx264",
           "-pix_fmt", "yuv420p", str(path)])
    return path.read_bytes()


class Stills(http.server.ThreadingHTTPServer):
    """The console's files, and stills that are let go when the test says."""

    daemon_threads = True

    def __init__(self, bodies):
        handler = functools.partial(StillsHandler, directory="html")
        super().__init__(("127.0.0.1", 0), handler)
        self.bodies = bodies
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.asked = []
        self.status = 200
        self.go = threading.Event()
        self.go.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def count(self, path):
        with self.lock:
            return self.asked.count(path)


class StillsHandler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not self.path.endswith(".still.mp4"):
            super().do_GET()
            return
        s = self.server
        with s.lock:
            s.now += 1
            s.most = max(s.most, s.now)
            s.asked.append(self.path)
            tag = f'"{s.asked.count(self.path) // 2}"'
            body = s.bodies[len(s.asked) % len(s.bodies)]
        s.go.wait(60)
        with s.lock:
            s.now -= 1
        self.send_response(s.status)
        self.send_header("ETag", tag)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # it has gone out of sight

    def log_message(self, *_):
        pass


@pytest.fixture
def stills(tmp_path):
    s = Stills([make_still(tmp_path / "r.mp4", "red"),
                make_still(tmp_path / "b.mp4", "blue")])
    yield s
    s.go.set()
    s.shutdown()
    s.server_close()


# The wall alone, with as many streams as asked for.
WALL = """
const [count, done] = arguments;
import('/console/wall.js').then(({ WallView }) => {
  window.model = {
    streams: new Map([...Array(count).keys()].map((n) => [`live/${n}`, {
      key: `live/${n}`, state: 'live', video_speed: 1000, audio_speed: 0,
      ended: 0 }])),
    streamsLeftOut: 0, streamsKnown: true, away: false,
  };
  window.wall = new WallView(model);
  document.getElementById('view').replaceChildren(wall.node);
  wall.show();
  wall.update();
  done();
});
"""

SHOWN = """
return [...document.querySelectorAll('.tiles video')].filter((v) =>
  v.readyState >= 2 && v.videoWidth === 320).length;
"""

IN_SIGHT = """
return [...document.querySelectorAll('.tiles li')].filter((li) => {
  const { top, bottom } = li.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}).length;
"""


def open_wall(stills, b, count):
    # The page's own model asks for statistics, which are not here.
    b.open(stills.url("/"))
    b.driver.execute_async_script(WALL, count)


def test_the_wall_shows_what_is_in_sight(stills, browser):
    b = browser
    stills.go.clear()
    open_wall(stills, b, 200)
    wait_for(lambda: stills.now >= 3, 10, "requests")
    assert b.text(".tile-name") == "live/0"
    stills.go.set()
    seen = b.script(IN_SIGHT)
    assert 4 <= seen < 60
    wait_for(lambda: b.script(SHOWN) >= seen, 20, "pictures in sight")
    assert b.script(SHOWN) < seen + 12
    assert stills.most == 3
    assert stills.count("/live/199.still.mp4") == 0
    # Others come into sight; what left it is given back.
    b.script("document.querySelector('.tiles li:last-child')"
             ".scrollIntoView()")
    wait_for(lambda: stills.count("/live/199.still.mp4") > 0, 20)
    wait_for(lambda: not b.script(
        "return document.querySelector('.tiles li:first-child video')"), 10)
    assert b.script(SHOWN) < 60
    # It is asked for again and again.
    wait_for(lambda: stills.count("/live/199.still.mp4") > 2, 30)
    assert stills.most == 3
    b.script("wall.close()")
    wait_for(lambda: not b.script("return document.querySelectorAll("
                                  "'.tiles li').length"), 5)


def set_hidden(b, hidden):
    b.script("""
        Object.defineProperty(document, 'hidden',
          { configurable: true, value: arguments[0] });
        document.dispatchEvent(new Event('visibilitychange'));
        """, hidden)


def test_the_wall_rests_while_nobody_looks(stills, browser):
    b = browser
    open_wall(stills, b, 6)
    wait_for(lambda: b.script(SHOWN) == 6, 20)
    set_hidden(b, True)
    # What was under way has ended; each further round would be 4 s.
    b.script("window.before = performance.now()")
    before = len(stills.asked)
    wait_for(lambda: b.script("return performance.now() - before > 6000"), 20)
    assert len(stills.asked) <= before + 3
    set_hidden(b, False)
    wait_for(lambda: len(stills.asked) > before + 3, 10)
    assert b.script(SHOWN) == 6


def test_the_wall_asks_less_for_what_is_not_there(stills, browser):
    b = browser
    stills.status = 404
    open_wall(stills, b, 1)
    b.wait_text(".tile-words", "no picture")
    stills.status = 503
    b.wait_text(".tile-words", "no picture yet", 30)
    stills.status = 200
    # It is live anew: it is asked for at once.
    b.script("const row = model.streams.get('live/0');"
             "model.streams.set('live/0', { ...row, state: 'hold' });"
             "wall.update(); model.streams.set('live/0', row); wall.update()")
    wait_for(lambda: b.script(SHOWN) == 1, 3)
    assert b.text(".tile-words") == ""
    assert [c for c in b.complaints()
            if not re.search("status of 404|status of 503|/stat/", c)] == []


# ---- with weir ----

PLAY_HLS = """
const done = arguments[arguments.length - 1];
import('/console/hls.js').then(async ({ hls }) => {
  const video = document.createElement('video');
  video.muted = true;
  document.getElementById('view').replaceChildren(video);
  window.errors = [];
  hls.start(await hls.load(), video, 'live/test', {
    onEnd: () => errors.push('end'),
    onError: (error) => errors.push(error),
  });
  done();
});
"""


def test_the_wall_and_hls_of_a_real_stream(weir, tool, browser):
    w = weir(configuration(
        locations='{ path = "/stat"; module = "stat"; },').replace(
        '{ module = "flv";', '{ module = "hls"; }, { module = "flv";'))
    shutil.copytree("html", f"{w.prefix}/html", dirs_exist_ok=True)
    tool(Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi", "-i",
              "testsrc2=size=320x180:rate=25", "-c:v", "libx264", "-preset",
              "ultrafast", "-tune", "zerolatency", "-g", "25", "-pix_fmt",
              "yuv420p", "-f", "flv", w.rtmp_url("test")))
    b = browser
    b.open(w.http_url("/#/wall"))
    b.wait_text(".tile-name", "^live/test$", 20)
    wait_for(lambda: b.script(SHOWN) == 1, 30)
    b.driver.execute_async_script(PLAY_HLS)
    first = b.picture(timeout=30)
    assert b.picture(first["at"] + 2)["points"] != first["points"]
    assert b.script("return errors") == []
    assert [c for c in b.complaints()
            if not re.search("status of 503|status of 404", c)] == []
