"""The page for people, looked at with Chromium and the real engine: it adds,
shows progress, starts, cancels, clears, plays, and can be used on a phone."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import shutil

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import AUTOPLAY, Browser
from downloads_help import (downloads, media)  # pylint: disable=W0611
from http_client import get
from weir import wait_for

pytestmark = pytest.mark.once

__all__ = ["downloads", "media"]  # fixtures

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_engine_help.py")

# {list: [[title, what it says, value of its bar or null], ...]}
SHOWN = """
const row = (li) => [li.querySelector('.title').innerText,
  li.querySelector('.soft + progress + .soft').innerText,
  li.querySelector('progress').offsetParent ?
    li.querySelector('progress').value : null];
return Object.fromEntries(['queue', 'pending', 'done'].map((name) => [name,
  [...document.getElementById(name).children].map(row)]));
"""
FITS = "return document.documentElement.scrollWidth <= innerWidth"
UNNAMED = """
return [...document.querySelectorAll(
    'input, select, button, progress, video, a')]
  .filter((e) => e.offsetParent && !e.labels?.length &&
    !e.getAttribute('aria-label') && !e.innerText.trim() && e.id !== 'video')
  .map((e) => e.outerHTML);"""


@pytest.fixture
def browser():
    b = Browser(AUTOPLAY)
    yield b
    b.quit()


def opened(d, b, path="/downloads/"):
    b.open(d.weir.http_url(path))
    b.wait_text("#state", "^connected$")


def shown(b, name):
    return b.script(SHOWN)[name]


def titles(b, name):
    return [row[0] for row in shown(b, name)]


def add(b, url, **fields):
    for name, value in {**fields, "url": url}.items():
        e = b.driver.find_element(By.ID, name)
        if e.tag_name == "select":
            Select(e).select_by_visible_text(value)
        elif e.get_attribute("type") == "checkbox":
            if e.is_selected() != value:
                e.click()
        else:
            e.clear()
            e.send_keys(value)
    b.click("#add")


def press(b, label):
    b.driver.find_element(By.CSS_SELECTOR,
                          f'[aria-label="{label}"]').click()


def test_it_adds_shows_and_clears(downloads, media, browser):
    b, d = browser, downloads()
    opened(d, b)
    url = media.file("/small.mp4", 4 << 20, hold=2 << 20)
    add(b, url)
    row = wait_for(lambda: (r := shown(b, "queue")) and r[0][2] and
                   r[0][2] > 40 and r[0], 20, "a bar")
    assert row[0] == "small" and "downloading" in row[1]
    b.wait_text("#queue_title", r"Active \(1\)")
    assert b.driver.find_element(By.ID, "url").get_attribute("value") == ""
    media.release("/small.mp4")
    wait_for(lambda: titles(b, "done") == ["small"], 20, "its end")
    assert shown(b, "queue") == []
    assert "finished" in shown(b, "done")[0][1]
    assert "4.2 MB" in shown(b, "done")[0][1]
    link = b.driver.find_element(By.CSS_SELECTOR, "#done a[download]")
    assert link.get_attribute("href") == \
        d.weir.http_url("/downloads/download/small.mp4")
    press(b, "Clear small")
    wait_for(lambda: titles(b, "done") == [], 10)
    assert d.urls("done") == []
    assert not b.complaints()


def test_all_fields_are_asked_for(downloads, media, browser):
    b, d = browser, downloads()
    opened(d, b)
    urls = [media.movie(f"/m{n}.mp4") for n in range(2)]
    feed = media.feed("/feed.xml", [("One <b>&amp;", urls[0]),
                                    ("Two", urls[1])])
    b.click("summary")
    add(b, feed, quality="128", format="mp3", folder="sub/x",
        custom_name_prefix="", playlist_item_limit="1", auto_start=False)
    wait_for(lambda: titles(b, "pending") == ["One <b>&amp;"], 20)
    e = d.find(urls[0], "pending")
    assert (e["quality"], e["format"], e["folder"],
            e["playlist_item_limit"]) == ("128", "mp3", "sub/x", 1)
    press(b, "Start One <b>&amp;")
    wait_for(lambda: titles(b, "done"), 30)
    assert d.find(urls[0])["filename"].endswith(".mp3")
    href = b.driver.find_element(By.CSS_SELECTOR, "#done a[download]") \
        .get_attribute("href").removeprefix(f"http://127.0.0.1:{d.port}")
    assert get(d.port, href).status == 200
    add(b, urls[1], quality="best", format="any", folder="",
        custom_name_prefix="pre", playlist_item_limit="", auto_start=True)
    wait_for(lambda: len(titles(b, "done")) == 2, 20)
    assert d.find(urls[1])["filename"] == "pre.m1.mp4"
    assert not b.complaints()


def test_it_cancels_and_clears_all(downloads, media, browser):
    b, d = browser, downloads("max_concurrent = 1;")
    opened(d, b)
    held = [media.file(f"/held{n}.mp4", 4 << 20, hold=2 << 20)
            for n in range(3)]
    small = [media.file(f"/small{n}.mp4", 1000) for n in range(2)]
    for url in small:
        d.added(url, auto_start=False)
    wait_for(lambda: len(titles(b, "pending")) == 2, 10)
    b.click("#start_all")
    wait_for(lambda: len(titles(b, "done")) == 2, 20)
    for url in held:
        d.added(url)
    wait_for(lambda: len(titles(b, "queue")) == 3, 20)
    assert "waits for its turn" in shown(b, "queue")[2][1]
    press(b, "Cancel held1")
    wait_for(lambda: titles(b, "queue") == ["held0", "held2"], 10)
    b.click("#cancel_all")
    wait_for(lambda: titles(b, "queue") == [], 30)
    b.click("#clear_all")
    wait_for(lambda: titles(b, "done") == [], 10)
    assert [len(v) for v in d.history().values()] == [0, 0, 0]
    assert not b.driver.find_element(By.ID, "clear_all").is_enabled()
    assert not b.complaints()


def test_it_cancels_many_with_long_addresses(downloads, browser):
    """A thousand of them are longer than a request may be."""
    b, d = browser, downloads(f'engine_path = "{FAKE}"; max_concurrent = 1;')
    d.added("http://fake.test/tick")  # the others wait for its end
    for n in range(2):
        url = f"http://fake.test/list/150/1/{n}" + "x" * 7900
        assert d.added(url, auto_start=False)["added"] == 150
    assert sum(len(url) for url in d.urls("pending")) > 2_000_000
    opened(d, b)
    b.wait_text("#pending_title", r"\(300\)", 20)
    b.click("#start_all")
    wait_for(lambda: not d.urls("pending"), 20, "the starts")
    b.wait_text("#queue_title", r"\(301\)", 20)
    b.click("#cancel_all")
    wait_for(lambda: not d.urls("queue"), 30, "the ends")
    assert not b.complaints()


def test_it_plays_the_file(downloads, media, browser):
    b, d = browser, downloads()
    d.added(media.movie("/a movie #1.mp4"), folder="sub dir")
    opened(d, b)
    wait_for(lambda: titles(b, "done") == ["a movie #1"], 20)
    press(b, "Play a movie #1")
    b.picture(after=0.2)
    b.wait_text("#player_title", "a movie #1")
    b.click("#close")
    wait_for(lambda: not b.text("#player_title"), 5)
    assert not b.complaints()


def test_mistakes_and_failures_are_shown(downloads, media, browser):
    b, d = browser, downloads()
    opened(d, b)
    add(b, "file:///etc/passwd")
    b.wait_text("#error", "http")
    assert b.script("return document.activeElement.id") == "url"
    add(b, media.url("/gone.mp4"))
    b.wait_text("#error", "404")
    b.click("summary")
    add(b, media.file("/small.mp4", 1000), playlist_item_limit="many")
    b.wait_text("#error", "playlist_item_limit")
    assert b.script("return document.activeElement.id + "
                    "document.activeElement.ariaInvalid") == \
        "playlist_item_limittrue"
    add(b, media.feed("/feed.xml", [media.url("/lost.mp3")]),
        playlist_item_limit="")
    b.wait_text("#done .bad", "404", 20)
    assert b.text("#error") == ""
    assert b.driver.find_elements(By.CSS_SELECTOR, "#done a[download]") == []
    b.complaints()  # of answers that were errors


def test_it_says_that_there_is_no_engine(downloads, browser):
    b, d = browser, downloads('engine_path = "/nowhere/yt-dlp";')
    opened(d, b)
    b.wait_text("#engine", "cannot run.*/nowhere/yt-dlp.*direct")


def test_it_comes_back_when_weir_was_away(downloads, media, browser):
    b, d = browser, downloads()
    opened(d, b)
    d.weir.set_config(d.weir.config.replace(
        'listen = ( "127.0.0.1:0" ); access_log',
        f'listen = ( "127.0.0.1:{d.port}" ); access_log'))
    d.weir.stop()
    b.wait_text("#state", "^connecting")
    d.weir.start()
    d.weir.status = None
    b.wait_text("#state", "^connected$", 60)
    d.added(media.file("/small.mp4", 1000))
    wait_for(lambda: titles(b, "done") == ["small"], 20)


def test_it_works_with_strings(downloads, media, browser):
    b = browser
    d = downloads(layer='event_payload = "string";')
    d.added(media.file("/one.mp4", 1000))
    d.added(media.file("/two.mp4", 1000), auto_start=False)
    opened(d, b)
    wait_for(lambda: titles(b, "done") == ["one"], 20)
    wait_for(lambda: titles(b, "pending") == ["two"], 20)
    press(b, "Start two")
    wait_for(lambda: titles(b, "done") == ["two", "one"], 20)
    press(b, "Clear one")
    wait_for(lambda: titles(b, "done") == ["two"], 20)
    add(b, "file:///etc/passwd")
    b.wait_text("#error", "http")


def test_it_fits_a_phone_and_a_keyboard(downloads, media, browser):
    b, d = browser, downloads()
    d.added(media.file("/" + "long_name" * 12 + ".mp4", 1000))
    d.added(media.file("/waits.mp4", 1000), auto_start=False)
    b.phone(360)
    opened(d, b)
    wait_for(lambda: len(titles(b, "done")) == 1, 20)
    assert b.script(FITS)
    assert b.script(UNNAMED) == []
    small = b.script("""
        return [...document.querySelectorAll('button, select, input')]
          .filter((e) => e.offsetParent && e.type !== 'checkbox' &&
            e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)""")
    assert small == []
    b.driver.find_element(By.ID, "url").send_keys(
        media.file("/keys.mp4", 1000), Keys.ENTER)
    wait_for(lambda: len(titles(b, "done")) == 2, 20)
    assert b.script(FITS)


def test_nothing_else_runs_in_it(downloads):
    d = downloads()
    for path, kind in (("", "text/html"), ("_page.js", "text/javascript"),
                       ("_page.css", "text/css")):
        a = get(d.port, f"/downloads/{path}", "Accept: text/html")
        assert a.status == 200 and a.header("content-type").startswith(kind)
        policy = a.header("content-security-policy")
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert a.header("x-content-type-options") == "nosniff"
    a = get(d.port, "/downloads?x=/y/", "Accept: text/html")
    assert a.status == 302 and a.header("location") == "./downloads/"


def test_the_console_leads_there(downloads, browser):
    d = downloads(locations='{ path = "/stat"; module = "stat"; },')
    shutil.copytree("html", f"{d.weir.prefix}/html", dirs_exist_ok=True)
    b = browser
    b.open(d.weir.http_url("/"))
    b.wait_text("#downloads", "Downloads")
    b.click("#downloads")
    b.wait_text("#state", "^connected$")
    assert b.driver.current_url == d.weir.http_url("/downloads/")
