"""Adding: how many are looked at at once, and what is not taken."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import select

from downloads_help import downloads, media  # pylint: disable=W0611
from http_client import Http
from weir import wait_for

__all__ = ["downloads", "media"]  # fixtures
WAITING = 128


def ask(d, url):
    """Without waiting for the answer."""
    c = Http(d.port)
    c.send("POST", f"{d.path}/add",
           body=json.dumps({"url": url, "quality": "best"}).encode())
    return c


def answered(clients):
    return select.select([c.sock for c in clients], [], [], 0)[0]


def test_too_many_wait(downloads, media):
    """One is looked at, 128 wait, the others are refused at once."""
    d = downloads("max_extractions = 1; extract_timeout = \"10m\";")
    quiet = media.file("/quiet.mp4", 1000, quiet=True)
    first = ask(d, quiet)
    wait_for(lambda: media.asked("/quiet.mp4"), 15, "the engine")
    missing = media.url("/missing.mp4")
    clients = [ask(d, missing) for _ in range(WAITING + 5)]
    wait_for(lambda: len(answered(clients)) == 5, 20, "refusals")
    a = d.add(missing)
    assert a.status == 503 and a.header("retry-after") == "1", a.body
    assert a.json()["status"] == "error"
    assert len(answered(clients)) == 5
    for c in clients:
        c.close()
    media.release("/quiet.mp4")
    wait_for(lambda: answered([first]), 20, "its turn")
    first.close()
    d.wait_done(quiet)


def test_a_page_that_leads_to_another_protocol(downloads, media):
    d = downloads()
    page = media.page("/page.html", ["rtmp://127.0.0.1/live/x"])
    assert "rtmp" in d.refused(page)
    assert d.history() == {"done": [], "queue": [], "pending": []}


def test_what_another_engine_cannot(downloads, media):
    d = downloads('engine = "direct";')
    url = media.file("/a.mp4", 1000)
    assert "converts nothing" in d.refused(url, 400, format="mp3")
    d.added(url, format="mp4")
    d.wait_done(url)


def test_an_item_that_is_a_list_itself(downloads, media):
    """It is told, and not one of many taken for the whole."""
    d = downloads()
    media.file("/one.mp4", 1001)
    media.file("/two.mp4", 1002)
    page = media.page("/page.html", ["one.mp4", "two.mp4"])
    d.added(media.feed("/feed.xml", [("Page", page)]))
    e = d.wait_done(page, status="error")
    assert "list of 2" in e["msg"], e
