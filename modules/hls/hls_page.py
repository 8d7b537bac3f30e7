"""Players in a page of Chromium: hls.js, shaka, and the browser itself
("native").

Each tells where it is, what it complained of, when it had nothing to play, and
which pictures it showed when: those of numbered() say their number."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import shutil
import time

from browser import AUTOPLAY, Browser
from weir import wait_for

STRIPES = 16  # bits of a picture's number
SHAKA = "build/clients/live/node_modules/shaka-player/dist/" \
    "shaka-player.compiled.js"


def numbered(size="160x90", rate=25):
    """A source of ffmpeg: it moves, and its upper half is the number of the
    picture in stripes, the lowest bit first."""
    width, height = (int(n) for n in size.split("x"))
    return (f"testsrc2=size={size}:rate={rate},format=yuv420p[all];"
            f"color=size={width}x{height // 4 * 2}:rate={rate},format=gray,"
            "geq=lum='16+219*mod(floor(N/pow(2,floor(X/"
            f"{width // STRIPES}))),2)',format=yuv420p[number];"
            "[all][number]overlay")


PAGE = """<!doctype html><meta charset="utf-8">
<script src="/vendor/hls.js"></script>
SHAKA_SCRIPT<body><script>
const canvas = document.createElement('canvas');
canvas.width = 160; canvas.height = 1;
const paper = canvas.getContext('2d', { willReadFrequently: true });
function numberOf(video) {
  paper.drawImage(video, 0, video.videoHeight / 4, video.videoWidth, 1,
                  0, 0, 160, 1);
  const row = paper.getImageData(0, 0, 160, 1).data;
  let number = 0;
  for (let i = 0; i < STRIPES; i++) {
    const x = Math.floor((i + 0.5) * 160 / STRIPES);
    if (row[4 * x] > 128) number += 2 ** i;
  }
  return number;
}
// Two pictures with none between them that the page did not see.
function compare(p, now, frame) {
  if (p.first === null) p.first = now - p.began;
  else if (now - p.last > LEAST && frame.presentedFrames - p.count < 2)
    p.frozen.push([p.last, now - p.last]);
  p.last = now;
  p.count = frame.presentedFrames;
}
function look(p) { // the number of a picture, five times a second
  p.video.requestVideoFrameCallback((now, frame) => {
    compare(p, now, frame);
    if (now - p.looked > 200) {
      p.looked = now;
      p.shown.push([now, numberOf(p.video)]);
    }
    look(p);
  });
}
function startHls(p, plan) {
  const hls = p.hls = new Hls(plan.config || {});
  hls.on(Hls.Events.ERROR, (event, data) => {
    p.errors.push([performance.now(), data.details, data.fatal,
      data.error && data.error.message,
      p.video.error && p.video.error.message]);
    if (!data.fatal) return;
    p.fatal.push(data.details);
    if (data.type === Hls.ErrorTypes.MEDIA_ERROR) hls.recoverMediaError();
    else hls.loadSource(plan.url);
  });
  hls.loadSource(plan.url);
  hls.attachMedia(p.video);
}
function startShaka(p, plan) {
  const player = p.shaka = new shaka.Player();
  const note = (e) => {
    const fatal = e.severity === shaka.util.Error.Severity.CRITICAL;
    p.errors.push([performance.now(), e.code, fatal, e.data]);
    if (fatal) p.fatal.push(String(e.code));
  };
  player.addEventListener('error', (event) => note(event.detail));
  player.configure(plan.config || {});
  player.attach(p.video).then(() => player.load(plan.url)).catch(note);
}
// It cannot begin at a segment without a key frame: asked again, it begins
// where there is one.
function startNative(p, plan) {
  p.video.onerror = () => {
    if (p.video.currentTime > 2) p.fatal.push(p.video.error.message);
    else Object.assign(p, { first: null, seen: 0, stalls: [], frozen: [] });
    p.video.src = plan.url;
    p.video.play();
  };
  p.video.src = plan.url;
}
const players = PLANS.map((plan) => {
  const video = document.createElement('video');
  video.muted = video.autoplay = true;
  video.crossOrigin = 'anonymous'; // else its pictures have no number
  document.body.append(video);
  const p = { video, at: 0, seen: 0, most: 0, looked: 0, fatal: [],
    errors: [], waits: [], shown: [], stalls: [], jumps: [], frozen: [],
    first: null, last: 0, count: 0, still: 0, ticked: 0, late: 0,
    numbered: plan.numbered };
  video.onwaiting = () => { if (p.seen) p.waits.push(performance.now()); };
  setTimeout(() => {
    p.began = performance.now();
    const start = plan.native ? startNative :
      plan.shaka ? startShaka : startHls;
    start(p, plan);
    video.play().catch(() => {}); // shaka loads anew: autoplay
    if (plan.numbered) look(p);
  }, plan.after || 0);
  return p;
});
// A tick that is late makes no stall: what counts is when the time was last
// seen to stand.
setInterval(() => {
  const now = performance.now();
  for (const p of players) {
    const moved = p.video.currentTime - p.at;
    const passed = now - p.ticked;
    if (p.ticked) p.late = Math.max(p.late, passed - 50);
    p.ticked = now;
    if (moved === 0) {
      p.still = now;
      continue;
    }
    if (p.seen) {
      const stood = p.still - p.seen;
      // A player that begins may go to its place before it has anything.
      const begun = p.first !== null && p.seen > p.began + p.first;
      if (stood > LEAST && (begun || !p.numbered))
        p.stalls.push([p.seen, stood]);
      p.most = Math.max(p.most, stood);
      if (Math.abs(moved * 1000 - passed) > 500)
        p.jumps.push([now, moved - passed / 1000]);
    }
    p.at = p.video.currentTime;
    p.seen = now;
  }
}, 50);
window.told = () => players.map((p) => ({ at: p.at, fatal: p.fatal,
  stalls: p.stalls, most: p.most / 1000, waits: p.waits,
  first: p.first, frozen: p.frozen, jumps: p.jumps, last: p.last,
  late: p.late,
  dropped: p.video.getVideoPlaybackQuality().droppedVideoFrames,
  errors: p.errors, shown: p.shown.splice(0),
  width: p.video.videoWidth, rate: p.video.playbackRate,
  pictures: p.video.webkitDecodedFrameCount,
  sound: p.video.webkitAudioDecodedByteCount,
  idle: (performance.now() - p.seen) / 1000 }));
</script>"""


class Page:
    """plans: of each player {"url", "native" or "shaka", "config" of hls.js or
    shaka, "numbered", "after": ms}; all but the first may be left out.  plays:
    seconds until all do; 0: nothing is waited for.  least: a stall is longer,
    s."""

    def __init__(self, w, plans, plays=40, least=0.5):
        html = f"{w.prefix}/html"
        os.makedirs(f"{html}/vendor", exist_ok=True)
        shutil.copy("html/vendor/hls.js", f"{html}/vendor/hls.js")
        script = ""
        if any(plan.get("shaka") for plan in plans):
            shutil.copy(SHAKA, f"{html}/vendor/shaka-player.js")
            script = '<script src="/vendor/shaka-player.js"></script>'
        text = PAGE.replace("SHAKA_SCRIPT", script)
        for word, value in (("PLANS", json.dumps(plans)),
                            ("STRIPES", str(STRIPES)),
                            ("LEAST", str(least * 1000))):
            text = text.replace(word, value)
        with open(f"{html}/players.html", "w", encoding="utf-8") as f:
            f.write(text)
        self.browser = Browser(AUTOPLAY)
        try:
            self.browser.open(w.http_url("/players.html"))
            if plays:
                wait_for(lambda: all(p["at"] > 1 for p in self.told()), plays,
                         "all play")
        except BaseException:
            print(self.told(), self.browser.complaints()[:10])
            self.quit()
            raise

    def told(self):
        return self.browser.script("return told()")

    def clock(self):
        """What is to be added to a time of the page, ms, for one of
        time.monotonic(), s.  The fastest answer is the best."""
        found = []
        for _ in range(20):
            before = time.monotonic()
            page = self.browser.script("return performance.now()")
            after = time.monotonic()
            found.append((after - before, (before + after) / 2 - page / 1000))
        return min(found)[1]

    def quit(self):
        self.browser.quit()
