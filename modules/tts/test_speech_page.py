"""The page to try voices, looked at with Chromium: it plays sound, tells what is
wrong, and can be used on a phone and by keyboard."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import shutil

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import AUTOPLAY, Browser
from http_client import get, request
from weir import wait_for

pytestmark = pytest.mark.once

TOP = 'tts = ( { name = "main"; voice = "en-us"; %s } );'
LOCATIONS = '{ path = "/speech"; module = "tts"; },'

# Listens to the audio element from now on: the loudest sample so far.
LISTEN = """
const audio = document.getElementById('audio');
const context = new AudioContext();
const analyser = context.createAnalyser();
context.createMediaElementSource(audio).connect(analyser);
analyser.connect(context.destination);
const samples = new Float32Array(analyser.fftSize);
window.loudest = 0;
setInterval(() => {
  analyser.getFloatTimeDomainData(samples);
  for (const s of samples) window.loudest = Math.max(window.loudest, s);
}, 20);
"""
PLAYED = """
const a = document.getElementById('audio');
return { at: a.currentTime, length: a.duration, loudest: window.loudest };
"""
FITS = "return document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def browser():
    b = Browser(AUTOPLAY)
    yield b
    b.quit()


def opened(weir, b, settings="", path="/speech/"):
    w = weir(top=TOP % settings, locations=LOCATIONS, workers=1)
    b.open(w.http_url(path))
    b.wait_text("#state", r"\d+ voices")
    return w


def write(b, text):
    b.script("document.getElementById('text').value = arguments[0];"
             "document.getElementById('text').dispatchEvent("
             "new Event('input', { bubbles: true }))", text)


def choose(b, name, value):
    """As a hand does: the events of a choice follow."""
    b.script("""
        const e = document.getElementById(arguments[0]);
        e.value = arguments[1];
        for (const n of ['input', 'change']) {
          e.dispatchEvent(new Event(n, { bubbles: true }));
        }""", name, value)


def options(b, name):
    return b.script("return [...document.getElementById(arguments[0]).options]"
                    ".map((o) => o.value)", name)


def asked(b):
    """The request, as the line for the terminal has it."""
    line = b.text("#curl")
    return json.loads(line[line.index("--json '") + 8:line.rindex("' --out")]
                      .replace("'\\''", "'"))


def test_it_plays_what_is_written(weir, browser):
    b = browser
    w = opened(weir, b)
    b.script(LISTEN)
    b.click("#speak")
    b.wait_text("#state", "playing|done")
    played = wait_for(lambda: (p := b.script(PLAYED))["at"] > 0.3 and
                      p["loudest"] > 0.05 and p, 15, "sound")
    told = request(w.http, "POST", "/speech/timings",
                   body=json.dumps({"text": b.script(
                       "return document.getElementById('text').value")})
                   .encode()).json()
    assert abs(played["length"] - told["duration"]) < 0.2
    b.wait_text("#facts", r"First byte\s+[\d.]+ ms")
    b.wait_text("#facts", r"First sound\s+[\d.]+ ms")
    b.wait_text("#facts", r"Voice\s+en-US")
    b.wait_text("#state", "done", 30)
    link = b.driver.find_element(By.ID, "download")
    assert link.get_attribute("download") == "speech.wav"
    assert link.get_attribute("href").startswith("blob:")
    assert not b.complaints()


def test_without_its_slash_it_is_the_same_page(weir, browser):
    w = opened(weir, browser, path="/speech")
    assert browser.driver.current_url == w.http_url("/speech/")


def test_voices_variants_and_scales_are_asked_for(weir, browser):
    b = browser
    w = opened(weir, b)
    voices = get(w.http, "/speech/voices").json()
    assert options(b, "voice") == ["", *voices]
    b.type("#filter", "german")
    wait_for(lambda: 0 < len(options(b, "voice")) < 10, 5)
    assert "de" in options(b, "voice") and "" not in options(b, "voice")
    choose(b, "voice", "de")
    assert len(options(b, "speaker")) == len(voices["de"]["speaker_id_map"])
    choose(b, "speaker", "f3")
    choose(b, "length_scale", "2")
    choose(b, "noise_scale", "0")
    choose(b, "noise_w_scale", "0.5")
    write(b, "Sag's noch einmal.")
    assert b.text("#curl").startswith(f"curl {w.http_url('/speech/')} --json '")
    assert asked(b) == {
        "text": "Sag's noch einmal.", "voice": "de", "speaker": "f3",
        "length_scale": 2, "noise_scale": 0, "noise_w_scale": 0.5}
    b.click("#speak")
    b.wait_text("#facts", r"Voice\s+de\+f3")
    b.click("#reset")
    wait_for(lambda: "length_scale" not in asked(b), 5)
    assert not b.complaints()


def test_mistakes_are_told_beside_their_field(weir, browser):
    b = browser
    opened(weir, b, "max_text = 100;")
    for text, told in ((" ", "empty"), ("a" * 101, "100"),
                       ("...", "nothing in this text")):
        write(b, text)
        b.click("#speak")
        b.wait_text("#error", told)
        assert b.script("return document.activeElement.id + "
                        "document.activeElement.ariaInvalid") == "texttrue"
    write(b, "Good.")
    b.click("#speak")
    b.wait_text("#facts", r"Size\s+\d+ bytes")
    assert b.text("#error") == ""


def test_it_says_when_weir_is_away(weir, browser):
    b = browser
    opened(weir, b)
    b.driver.execute_cdp_cmd("Network.enable", {})
    b.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
        "offline": True, "latency": 0, "downloadThroughput": -1,
        "uploadThroughput": -1})
    b.click("#speak")
    b.wait_text("#error", "did not come whole")


def test_a_long_sound_is_whole_and_has_its_length(weir, browser):
    """Longer than the buffer: its header has no length until the page mends
    it."""
    b = browser
    opened(weir, b, 'buffer = "64K";')
    write(b, "This is a rather long sentence. " * 10)
    b.click("#speak")
    b.wait_text("#facts", r"Length\s+\d\d\.\d\d s")
    length = b.script(PLAYED)["length"]
    size = int(b.wait_text("#facts", r"Size\s+(\d+) bytes")[1])
    assert abs((size - 44) / 44100 - length) < 0.1


def test_it_fits_a_phone_and_a_keyboard(weir, browser):
    b = browser
    b.phone(360)
    opened(weir, b)
    assert b.script(FITS)
    unnamed = b.script("""
        return [...document.querySelectorAll('input, select, textarea')]
          .filter((e) => !e.labels.length).map((e) => e.id);""")
    assert unnamed == []
    small = b.script("""
        return [...document.querySelectorAll('button, select, textarea')]
          .filter((e) => e.getBoundingClientRect().height < 24)
          .map((e) => e.id);""")
    assert small == []
    b.script("document.getElementById('noise_w_scale').focus()")
    b.press(Keys.TAB)
    b.press(Keys.ENTER)  # Speak
    b.wait_text("#state", "playing|done")
    assert b.script(FITS)
    b.wait_text("#noise_w_scale_shown", r"0\.00")


def test_nothing_else_runs_in_it(weir):
    w = weir(top=TOP % "", locations=LOCATIONS)
    for path, kind in (("", "text/html"), ("_page.js", "text/javascript"),
                       ("_page.css", "text/css")):
        a = get(w.http, f"/speech/{path}", "Accept: text/html")
        assert a.status == 200 and a.header("content-type").startswith(kind)
        policy = a.header("content-security-policy")
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert a.header("x-content-type-options") == "nosniff"
    a = get(w.http, "/speech?x=/y/", "Accept: text/html")
    assert a.status == 307 and a.header("location") == "./speech/"


def test_the_console_leads_there(weir, browser, tmp_path):
    w = weir(top=TOP % "", locations=LOCATIONS +
             '{ path = "/stat"; module = "stat"; },')
    shutil.copytree("html", f"{w.prefix}/html", dirs_exist_ok=True)
    b = browser
    b.open(w.http_url("/"))
    b.wait_text("#speech", "Speech")
    b.click("#speech")
    b.wait_text("#state", r"\d+ voices")
    assert b.driver.current_url == w.http_url("/speech/")
