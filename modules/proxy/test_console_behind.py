"""The shipped console through another weir: its events, its player, and a
WebSocket."""
# SPDX-License-Identifier: BSD-2-Clause

import shutil
import types

import pytest

from browser import Browser
from exchange_help import at_root
from flv_client import FlvPlayer
from media import QUIET, Tool
from weir import wait_for

pytestmark = pytest.mark.once

STAT = '{ path = "/stat"; module = "stat"; },'
ROW = ".streams tbody tr"
PICTURE = [*QUIET, "-re", "-f", "lavfi",
           "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264",
           "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25",
           "-pix_fmt", "yuv420p", "-f", "flv"]
# Messages of a WebSocket and events of a stream, counted.
COUNT = """
window.messages = window.events = 0;
new WebSocket(`ws://${location.host}/live/test.flv`).onmessage =
    () => window.messages++;
const events = new EventSource('/stat/events');
for (const type of ['message', 'server', 'streams', 'stream', 'snapshot',
                    'changes'])
    events.addEventListener(type, () => window.events++);
"""


def players(b):
    return b.script("""
        const row = [...document.querySelectorAll('.facts > div')].find(
          (div) => div.querySelector('dt').textContent === 'Players');
        return row?.querySelector('dd').textContent;
        """)


def test_the_console_behind_another_weir(weir, tool):
    inner = weir(locations=STAT)
    shutil.copytree("html", f"{inner.prefix}/html", dirs_exist_ok=True)
    outer = weir(at_root(types.SimpleNamespace(
        url=f"http://127.0.0.1:{inner.http}")))
    outer.may_grow = True  # it keeps connections to the inner one
    tool(Tool("ffmpeg", *PICTURE, inner.rtmp_url("test")))
    b = Browser()
    try:
        b.open(outer.http_url("/"))
        b.wait_text("#link", "^live$")
        b.wait_text(ROW, r"live/test\s+live\b")
        b.click(f"{ROW} a")
        first = b.picture()
        b.picture(first["at"] + 1)
        wait_for(lambda: players(b) == "1", 5, "the page itself")
        other = FlvPlayer(inner.http, "test")
        other.read_head()
        wait_for(lambda: players(b) == "2", 5, "an event of another player")
        other.close()
        b.script(COUNT)
        wait_for(lambda: b.script("return window.messages > 20 && "
                                  "window.events > 1"), 10,
                 "messages and events")
    finally:
        b.quit()
    wait_for(lambda: '" 101 ' in outer.access_log(), 10, "the tunnel's line")
