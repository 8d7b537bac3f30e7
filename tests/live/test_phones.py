"""Every page of weir on phones: nothing is wider than the window, and what is
touched is large enough for a finger."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import shutil

import pytest

from browser import Browser
from feed import Feed
from http_client import request
from weir import HOSTS, TRACED, open_way

pytestmark = pytest.mark.once

WIDTHS = (320, 360, 390, 430)
FINGER = 43.5  # points; 44 are meant
LONG = "a-very-long-name-without-any-place-to-break-it-" * 3

CONFIG = f"""
stop_grace = "0"; {TRACED} worker_processes = 1;
egress = [ "allow loopback" ];
tts = ( {{ name = "main"; }} );
visits = ( {{ name = "main"; }} );
downloads = ( {{ name = "main"; directory = "run/downloads"; }} );
rtmp = {{ servers = ( {{ listen = "127.0.0.1:0";
  applications = ( {{ name = "live"; publish = "open"; }},
                   {{ name = "keys"; publish = "key"; }} ); }} ); }};
http = {{ servers = (
  {{ listen = "127.0.0.1:0"; {HOSTS} locations = (
      {{ path = "/stat"; module = "stat"; }},
      {{ path = "/control"; module = "relay"; }},
      {{ path = "/speech"; module = "tts"; }},
      {{ path = "/downloads"; module = "downloads"; }},
      {{ path = "/visits"; module = "visits"; }},
      {{ path = "/files"; module = "static"; root = "FOLDER/files";
         autoindex = true; }},
      {{ path = "/"; layers = ( {{ module = "articles"; }}, {{ module = "hls"; }},
        {{ module = "flv"; }},
        {{ module = "static"; root = "FOLDER/html"; }} ); }} ); }},
  {{ listen = "127.0.0.1:0"; {HOSTS} locations = (
      {{ path = "/stat"; module = "stat"; access = [ "deny all" ]; }},
      {{ path = "/"; module = "static"; root = "FOLDER/html"; }} ); }} ); }};
"""


class Site:
    def __init__(self, weir, folder):
        open_way(folder)
        shutil.copytree("html", folder / "html")
        for name in ("files/folder", "files/" + LONG):
            os.makedirs(folder / name)
        (folder / "files" / f"{LONG}.mp4").write_bytes(bytes(123456789))
        self.w = weir(CONFIG.replace("FOLDER", str(folder)))
        self.feeds = []

    def publish(self):
        """One with a long name; weir has something to tell of it."""
        self.feeds = [Feed(self.w.rtmp, name).head().frames(30)
                      for name in ("test", LONG)]

    def add_downloads(self):
        """One that waits."""
        a = request(self.w.http, "POST", "/downloads/add",
                    "Content-Type: application/json", body=(
                        '{"url": "http://127.0.0.1:%d/files/%s.mp4",'
                        '"quality": "best", "auto_start": false}'
                        % (self.w.http, LONG)).encode())
        assert a.json()["status"] == "ok", a.body

    def url(self, path, server=0):
        return f"http://127.0.0.1:{self.w.port('http', server)}{path}"


@pytest.fixture
def site(weir, tmp_path):
    s = Site(weir, tmp_path)
    yield s
    for f in s.feeds:
        f.stop()


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


# What a finger is meant for; links in a sentence are as high as their line.
TOO_SMALL = """
const small = (e) => {
  const { width, height } = e.getBoundingClientRect();
  return e.offsetParent && (height < arguments[0] || width < 24) && {
    what: e.outerHTML.slice(0, 120), width, height };
};
return [...document.querySelectorAll(
  'button, select, input:not([type=checkbox], [type=radio]), textarea, ' +
  'summary, nav a, .console a, .back, .brand, .tiles a, td:not(.name) a, li .buttons a')]
  .map(small).filter(Boolean);
"""

TOO_WIDE = """
const width = document.documentElement.clientWidth;
const inside = (e) => e && (/auto|scroll|hidden/.test(
  getComputedStyle(e).overflowX) || inside(e.parentElement));
return document.documentElement.scrollWidth <= width &&
    innerWidth === arguments[0] ? [] : [`${innerWidth} wide`,
  ...[...document.body.querySelectorAll('*')].filter((e) =>
    e.getBoundingClientRect().right > width + 1 && !inside(e.parentElement))
    .map((e) => e.outerHTML.slice(0, 120))];
"""


def streams(site):
    site.publish()


# Of each page: its address, what comes before, what it shows when it is there.
PAGES = {
    "empty console": ("/", None, ".empty", "No stream is live"),
    "streams": ("/", streams, ".streams tbody", "live/test"),
    "one stream": ("/#/streams/live%2Ftest", streams, ".use", "ffplay"),
    "a long name": (f"/#/streams/live%2F{LONG}", streams, ".use", "ffplay"),
    "pictures": ("/#/wall", streams, ".tiles", "live/test"),
    "sessions": ("/#/sessions", streams, ".sessions tbody", "publisher"),
    "server": ("/#/server", streams, "#view", "Configuration generation"),
    "speech": ("/speech/", None, "#state", r"\d+ voices"),
    "downloads": ("/downloads/", Site.add_downloads, "#pending_title",
                  r"\(1\)"),
    "visits": ("/visits/_page", None, "#state", "main"),
    "index": ("/files/", None, "table", "a-very"),
    "error": (f"/{LONG}", None, "h1", "404"),
}


def look(b, wide):
    """At each width."""
    for width in WIDTHS:
        b.phone(width)
        assert b.script(TOO_WIDE, width) == [], width
        if wide:
            assert b.script(TOO_SMALL, FINGER) == [], width


@pytest.mark.parametrize("page", PAGES)
def test_a_page(site, browser, page):
    path, before, selector, shown = PAGES[page]
    if before:
        before(site)
    b = browser
    b.phone(WIDTHS[0])
    b.open(site.url(path))
    b.wait_text(selector, shown, 20)
    look(b, page != "visits")  # it has no style, being there to be copied


def test_refused_statistics(site, browser):
    b = browser
    b.phone(WIDTHS[0])
    b.open(site.url("/", 1))
    b.wait_text("#notice", "not for this address")
    look(b, True)
