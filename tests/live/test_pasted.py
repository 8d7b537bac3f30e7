"""Each command of README.md, docs/ and EXAMPLES of the manual is pasted into a
terminal and does what its page says (tutorial.py, desk.py)."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import subprocess

import pytest

import tutorial
from desk import Desk, Sheet
from media import QUIET
from patience import busy

pytestmark = pytest.mark.once

PICTURE = "Video: h264"
PLAYED = {"ffplay ": PICTURE}


def make_film(desk, seconds=40):
    subprocess.run(
        ["ffmpeg", *QUIET, "-y", "-f", "lavfi", "-i",
         f"testsrc2=size=320x180:rate=25:duration={seconds}", "-f", "lavfi",
         "-i", f"sine=duration={seconds}", "-c:v", "libx264", "-preset",
         "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac",
         f"{desk.folder}/film.mp4"], check=True, timeout=busy(60))


def short_film(desk):
    make_film(desk, 5)


def install(desk):
    """weir and weirctl are found by their names, as the manual has it."""
    desk.install()


def with_film(desk):
    desk.install()
    make_film(desk)


def with_short_film(desk):
    desk.install()
    short_film(desk)


def with_secrets(desk):
    desk.install()
    os.makedirs(f"{desk.folder}/secrets")


def sites(desk):
    for name in ("example", "html"):
        os.makedirs(f"{desk.folder}/{name}", exist_ok=True)
        desk.write(f"{name}/index.html", f"<p>{name}\n")


LIVE = """
live = { hold = "1s"; };
rtmp = { servers = ( { listen = "1935"; applications = (
  { name = "live"; publish = "open"; ladder = ( "_720", "_360" ); },
  { name = "big"; publish = "open"; },
  { name = "small"; publish = "open"; } ); } ); };
http = { servers = ( { listen = "8080"; locations = (
  { path = "/watch"; module = "flv"; },
  { path = "/"; layers = ( { module = "hls"; }, { module = "flv"; } ); } ); } );
};
"""

PIECES = Sheet(pieces=True, before=install)
FILM = {"ffmpeg -nostdin -re -i film.mp4 -c copy -f flv rtmp://HOST/%s/film":
        "Press|frame="}


def film_of(app):
    return {command % app: shown for command, shown in FILM.items()}


SHEETS = {
    "README.md": Sheet("shipped", make_film,
                       ends={"ffplay rtmp": PICTURE, "weirctl show events": "."},
                       stays={"ffplay http": PICTURE}),
    "docs/adding-a-service.md": Sheet(),
    "docs/articles.md": Sheet(),
    "docs/downloads.md": Sheet(),
    "docs/from-nginx-rtmp.md": Sheet(LIVE, short_film, beside=film_of("big")),
    "docs/hls.md": Sheet(LIVE, short_film, fills={"INPUT": "film.mp4"}),
    "docs/proxy.md": Sheet(),
    "docs/servers.md": Sheet(pieces=True, before=sites, fills={
        '"80"': '"8080"', r"http://127\.0\.0\.1/a": "http://127.0.0.1:8080/a"}),
    "docs/socket-io.md": Sheet(),
    "docs/speech.md": Sheet(),
    "docs/versions.md": Sheet(),
    "man/weir-module.7": Sheet(pieces=True, before=install, fills={
        '"mine"': '"hello"', "/mine": "/hello"}),
    "man/weir.8": Sheet("shipped", install, ends=PLAYED),
    "man/weir.conf.5": Sheet(before=with_secrets, fills={
        "/run/secrets": "secrets"}),
    "man/weirctl.8": Sheet(LIVE, install, refused={
        "weirctl kick addr": "nobody is there"}),
    "modules/articles/articles.7": PIECES,
    "modules/downloads/downloads.7": PIECES,
    "modules/echo/echo.7": Sheet(pieces=True, before=with_short_film),
    "modules/flv/flv.7": Sheet(LIVE, with_film, ends=PLAYED,
                               beside=film_of("live")),
    "modules/hello/hello.7": PIECES,
    "modules/hls/hls.7": Sheet(LIVE, with_film, ends=PLAYED,
                               beside=film_of("live")),
    "modules/proxy/proxy.7": PIECES,
    "modules/relay/relay.7": Sheet("shipped", with_film, ends=PLAYED, fills={
        "//camera/": "//127.0.0.1:9/", r"//(one|other)\.example/":
        "//127.0.0.1:9/"}),
    "modules/stat/stat.7": Sheet("shipped", install),
    "modules/status/status.7": PIECES,
    "modules/tts/tts.7": PIECES,
    "modules/version/version.7": PIECES,
    "modules/visits/visits.7": PIECES,
}


@pytest.mark.parametrize("page", sorted(SHEETS))
def test_a_page(page, tmp_path):
    rows = tutorial.listed()
    desk = Desk(tmp_path, SHEETS[page])
    try:
        desk.paste_page(page, lambda c: tutorial.is_listed(page, c, rows))
    finally:
        desk.close()
    assert desk.pasted
