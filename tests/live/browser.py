"""Chromium without a window, for what is made to be looked at."""
# SPDX-License-Identifier: BSD-2-Clause

import itertools
import json
import os
import re
import tempfile
import time
import urllib.request

import websocket
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from patience import busy
from weir import wait_for

ARGUMENTS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
             "--mute-audio", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-default-apps", "--no-proxy-server",
             "--remote-allow-origins=*"]

AUTOPLAY = "--autoplay-policy=no-user-gesture-required"

# The picture as 64 x 36 points, [red, green, blue] each; null: none yet.
POINTS = """
const video = document.querySelector('video');
if (!video || video.readyState < 2) return null;
const canvas = document.createElement('canvas');
canvas.width = 64; canvas.height = 36;
const c = canvas.getContext('2d', { willReadFrequently: true });
c.drawImage(video, 0, 0, 64, 36);
const d = c.getImageData(0, 0, 64, 36).data;
const points = [];
for (let i = 0; i < d.length; i += 4) points.push([d[i], d[i+1], d[i+2]]);
return { at: video.currentTime, points };
"""

PLAYER = """
const video = document.querySelector('video');
const spans = [];
for (let i = 0; i < video.buffered.length; i++)
  spans.push([video.buffered.start(i), video.buffered.end(i)]);
return {
  state: `${video.videoWidth} wide, ` +
    document.querySelector('.player').dataset.state,
  words: document.querySelector('.player-words').textContent,
  at: video.currentTime, ready: video.readyState, spans,
};
"""

UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def number_of(text):
    """The bit rate that a text begins with, in bit/s; None: a dash."""
    found = re.match(r"([\d.]+) ([kMG]?bit/s)", text)
    return float(found[1]) * UNITS[found[2]] if found else None


BROKEN = (KeyError, OSError, WebDriverException,
          websocket.WebSocketException)


class Chromium:
    """A program that several tests use, one after the other: to start one costs
    more than most of them do.  Each test has a context of its own, as a private
    window is: its cookies, caches and stores are its own and go with it."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = tempfile.TemporaryDirectory()
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in [*ARGUMENTS, *arguments]:
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.add_argument(f"--user-data-dir={self.folder.name}")
        options.set_capability("goog:loggingPrefs",
                               {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(
            service=Service("/usr/bin/chromedriver"), options=options)
        self.home = self.driver.current_window_handle
        place = self.driver.capabilities["goog:chromeOptions"]
        with urllib.request.urlopen(
                f"http://{place['debuggerAddress']}/json/version",
                timeout=busy(20)) as answer:
            url = json.load(answer)["webSocketDebuggerUrl"]
        self.socket = websocket.create_connection(url, busy(20),
                                                  suppress_origin=True)
        self.calls = itertools.count(1)
        self.context = None

    def call(self, method, **parameters):
        """Of the browser itself, which chromedriver does not offer."""
        number = next(self.calls)
        self.socket.send(json.dumps({"id": number, "method": method,
                                     "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == number:
                return answer["result"]

    def begin(self, width, height):
        """A context with one window, which is the driver's."""
        self.context = self.call("Target.createBrowserContext")[
            "browserContextId"]
        self.open(newWindow=True, width=width, height=height)
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # what was before

    def open(self, **how):
        """A window or tab of the context, which is the driver's then."""
        self.driver.switch_to.window(self.call(
            "Target.createTarget", url="about:blank",
            browserContextId=self.context, **how)["targetId"])

    def end(self):
        """Closes the windows of the context."""
        self.call("Target.disposeBrowserContext",
                  browserContextId=self.context)
        self.driver.switch_to.window(self.home)

    def quit(self):
        try:
            self.socket.close()
            self.driver.quit()
        except (OSError, WebDriverException):
            pass  # it has crashed: the test has failed already
        self.folder.cleanup()


idle = []  # Chromiums that no test uses


def quit_idle():
    """At the end of all tests of this process."""
    while idle:
        idle.pop().quit()


def begun(arguments, width, height):
    """An idle one; where that has died, or there is none, another."""
    for chromium in [c for c in idle if c.arguments == arguments]:
        idle.remove(chromium)
        try:
            chromium.begin(width, height)
            return chromium
        except BROKEN:
            chromium.quit()
    chromium = Chromium(arguments)
    chromium.begin(width, height)
    return chromium


class Browser:
    def __init__(self, *arguments, width=1280, height=900):
        self.chromium = begun(arguments, width, height)
        self.driver = self.chromium.driver
        self.driver.set_page_load_timeout(busy(20))
        self.driver.set_script_timeout(busy(10))

    def open(self, url):
        self.driver.get(url)

    def open_tab(self):
        self.chromium.open()

    def windows(self):
        """Of this test; the driver knows of one more."""
        return [w for w in self.driver.window_handles
                if w != self.chromium.home]

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def text(self, selector):
        """Of the first shown element; "" if there is none."""
        return self.script("""
            const all = [...document.querySelectorAll(arguments[0])];
            return all.find((e) => e.offsetParent)?.innerText ?? '';
            """, selector)

    def wait_text(self, selector, pattern, timeout=10):
        """The match of pattern in what the element shows."""
        shown = ""

        def look():
            nonlocal shown
            shown = self.text(selector)
            return re.search(pattern, shown)
        try:
            return wait_for(look, timeout)
        except AssertionError:
            raise AssertionError(f"{selector}: {shown!r} is not {pattern!r}; "
                                 f"{self.complaints()}") from None

    def click(self, selector):
        wait_for(lambda: self.text(selector), 10, selector)
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def type(self, selector, text):
        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(text)

    def press(self, key):
        """A key of selenium's Keys, where the focus is."""
        self.driver.switch_to.active_element.send_keys(key)

    def press_escape(self):
        self.press(Keys.ESCAPE)

    def picture(self, after=0.0, timeout=15):
        """{at, points} of the video when it has played past "after" s."""
        def look():
            found = self.script(POINTS)
            return found and found["at"] > after and found
        return wait_for(look, timeout,
                        f"a picture after {after} s: "
                        f"{self.text('.player-words')!r}")

    def wait_player(self, state, timeout=15):
        """Until the player is in that state: "WIDTH wide, STATE"."""
        found = None

        def look():
            nonlocal found
            found = self.script(PLAYER)
            return found["state"] == state
        try:
            wait_for(look, timeout)
        except AssertionError:
            raise AssertionError(f"player: not {state!r}, but {found}; "
                                 f"{self.complaints()}") from None

    def phone(self, width, height=800):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 2,
            "mobile": True})

    def measure(self, seconds):
        """(bytes that came, ms of processor time of the page's main thread),
        each of a second."""
        def work():
            found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})
            return next(m["value"] for m in found["metrics"]
                        if m["name"] == "TaskDuration")
        self.driver.execute_cdp_cmd("Performance.enable",
                                    {"timeDomain": "threadTicks"})
        self.driver.get_log("performance")  # what was before
        before, begin = work(), time.monotonic()
        time.sleep(seconds)
        took, passed = work() - before, time.monotonic() - begin
        events = [json.loads(entry["message"])["message"]
                  for entry in self.driver.get_log("performance")]
        came = sum(e["params"]["encodedDataLength"] for e in events
                   if e["method"] == "Network.dataReceived")
        came += sum(len(e["params"]["response"]["payloadData"]) for e in events
                    if e["method"] == "Network.webSocketFrameReceived")
        return came / passed, took * 1000 / passed

    def complaints(self):
        """Warnings and errors of the page since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("WARNING", "SEVERE")]

    def quit(self):
        """One that answers is kept for the next test."""
        try:
            self.chromium.end()
        except BROKEN:
            self.chromium.quit()
        else:
            idle.append(self.chromium)
