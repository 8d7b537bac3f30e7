"""What the console costs with many streams: events, the page's work."""
# SPDX-License-Identifier: BSD-2-Clause

import random
import threading

import pytest

from browser import Browser
from feed import Feed
from patience import BUSY
from test_console import ROW, STAT, console
from weir import wait_for

pytestmark = pytest.mark.once

STREAMS = 200

# Counts which rows are touched in three rounds of events.
TOUCHED = """
const done = arguments[0];
const body = document.querySelector('.streams tbody');
const touched = new Set();
let rounds = 0;
const watch = (node, found) => new MutationObserver(found).observe(node,
  { childList: true, characterData: true, attributes: true, subtree: true });
watch(body, (changes) => changes.forEach(({ target }) => {
  const row = (target.closest ? target : target.parentElement).closest('tr');
  touched.add(row);
}));
watch(document.querySelector('.totals'), () => {
  if (++rounds === 3) done(touched.size);
});
"""


@pytest.fixture(name="crowd")
def fixture_crowd():
    """Begins STREAMS streams whose speed is another each second."""
    feeds, over = [], threading.Event()

    def send():
        while not over.wait(0.5):
            for f in feeds:
                f.size = random.randint(2000, 30000)
                f.frame()
    thread = threading.Thread(target=send, daemon=True)

    def begin(w):
        feeds.extend(Feed(w.rtmp, name=f"room-{n}", gop=4).head()
                     for n in range(STREAMS))
        thread.start()
    yield begin
    over.set()
    thread.join()
    for f in feeds:
        f.c.close()


def test_many_streams_cost_little(weir, crowd):
    w = console(weir, STAT, workers=2, http="gzip = true;")
    crowd(w)
    b = Browser()
    try:
        b.open(w.http_url("/"))
        wait_for(lambda: b.script(
            f"return document.querySelectorAll('{ROW}').length") == STREAMS, 20)
        wait_for(lambda: b.text(f"{ROW} .rate").endswith("bit/s"), 20)
        came, work = b.measure(5)
        print(f"{came:.0f} bytes and {work:.1f} ms of work a second")
        assert 100 < came < 15_000  # six rounds may fall into five seconds
        assert 0 < work < 50 * BUSY  # on an idle machine: 50
        # What is far out of view is not touched, ...
        touched = b.driver.execute_async_script(TOUCHED)
        assert 5 < touched < STREAMS / 3
        # ... but filled when it comes into view.
        last = f"{ROW}:last-child .uptime"
        before = b.script(f"return document.querySelector('{last}').innerText")
        b.script(f"document.querySelector('{last}').scrollIntoView()")
        wait_for(lambda: b.text(last) not in ("", before), 10)
        assert not b.complaints()
    finally:
        b.quit()
