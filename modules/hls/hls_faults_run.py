"""Publishers of random faults (hls_faults.py) in real time, many at once, and
the judges of what comes of them.

    hls_faults_run.py RTMP_PORT HTTP_PORT FOLDER SEED...

prints a line of JSON for each seed when its run is over: {"seed", "plan",
"findings", ...}.  Names of streams are those of seeds: "f17".
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import heapq
import itertools
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

import hls_fmp4
import hls_playlist
from enhanced_publisher import Clips
from hls_check import NoPlaylist, Viewer
from hls_faults import HOLD, LENGTH, Plan
from hls_faults_sent import build, kinds_of, longest_gap
from http_client import Http
from patience import busy
from rtmp_client import AUDIO, VIDEO, Closed, Refused, chunks, publisher

LOCATIONS = {"": "/hls", "ts": "/ts", "apart": "/apart"}
EACH = 0.05  # seconds from one publisher's beginning to the next one's
AWAY = (OSError, EOFError, Closed, Refused)
CHUNK = 4096
LEAST = 0.7  # share of frames that players get, whatever happens,
FEW = 20     # where there are more than so many


# ---- publishing ----

class Publisher:
    """One plan on its way."""

    def __init__(self, port, plan, clips):
        self.port, self.plan, self.name = port, plan, f"f{plan.seed}"
        self.events = build(plan, clips)
        self.at, self.began, self.client = 0, None, None
        self.failure = None
        self.over = threading.Event()

    def due(self):
        return self.began + self.events[self.at].at

    def begin(self):
        self.began = time.monotonic()
        self.come()

    def come(self):
        until = time.monotonic() + busy(2)
        while True:
            try:
                self.client = publisher(self.port, "live", self.name,
                                        chunk=CHUNK)
                return
            except AWAY:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def step(self, now):
        """Sends all that is due; False: it is over."""
        data = bytearray()
        try:
            while self.at < len(self.events) and self.due() <= now:
                e = self.events[self.at]
                self.at += 1
                if e.kind is not None:
                    data += chunks(e.kind, e.stamp, e.payload,
                                   self.client.msid, e.csid, CHUNK)
                    continue
                self.send(data)
                self.act(e.payload)
            self.send(data)
        except AWAY as e:
            self.failure = f"{e!r} at {now - self.began:.2f}"
            self.at = len(self.events)
        if self.at == len(self.events):
            self.over.set()
        return not self.over.is_set()

    def send(self, data):
        if data:
            self.client.raw(bytes(data))
            data.clear()

    def act(self, what):
        if what == "come":
            self.come()
        elif what == "reset":
            self.client.reset()
        else:
            self.client.close()


def publish_all(publishers):
    """In real time; returns when all are over."""
    begin, waiting = time.monotonic(), []
    numbers = itertools.count()
    for i, p in enumerate(publishers):
        heapq.heappush(waiting, (begin + i * EACH, next(numbers), p))
    while waiting:
        due, _, p = heapq.heappop(waiting)
        time.sleep(max(0, due - time.monotonic()))
        if p.began is None:
            p.begin()
        if p.step(time.monotonic()):
            heapq.heappush(waiting, (p.due(), next(numbers), p))


# ---- what is expected ----

def slack_of(events):
    """By how much intervals of pictures differ, of those that are no gap."""
    for kind, mine in kinds_of(events):
        if kind == VIDEO:
            apart = [b.stamp - a.stamp for a, b in zip(mine, mine[1:])
                     if 0 < b.stamp - a.stamp <= 500] or [0]
            return max(0.05, (max(apart) - min(apart) + 10) / 1000)
    return 0.05


def sound_slack_of(plan):
    moved = plan.wild or plan.leaps or plan.away or any(
        s.pauses or s.changes for s in plan.sounds)
    return 0.2 if moved else 0


def excused(plan, fault, rendition):
    """What is the publisher's own doing."""
    back = any(ms < 0 for _, _, ms in plan.leaps)
    ends = any(s.pauses or s.changes or s.ends < LENGTH for s in plan.sounds)
    # Sound that jumps back is left out until its clock is where it was; where
    # it ends, nothing is to the end of the part.  Pictures that pause have told
    # nobody how long the last one lasts.  Parts of sound end where those of
    # pictures do, of which the viewer knows why one is short.
    beside = (rendition or "").startswith("=a") and plan.pictures
    return fault.rule == "date-goes-on" and bool(plan.stalls) or \
        fault.rule == "duration" and (back or ends) or \
        fault.rule == "part-short" and bool(beside) or \
        fault.rule == "time" and \
        bool(plan.pictures and plan.pictures.pauses)


# ---- judging ----

class Watched(Viewer):
    """It keeps the lists in which the first fault was found."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.texts, self.shown = collections.deque(maxlen=3), None

    def _text_of(self, answer, target):
        data = super()._text_of(answer, target)
        self.texts.append(f"{target}\n{(data or b'').decode()}")
        return data

    def _take(self, playlist):
        super()._take(playlist)
        if self.faults and self.shown is None:
            self.shown = list(self.texts)


class Judge:
    """Follows a stream with the checker, from run to run."""

    def __init__(self, port, publisher_, rendition=None):
        self.port, self.p, self.rendition = port, publisher_, rendition
        self.plan = publisher_.plan
        self.target = f"{LOCATIONS[self.plan.format]}/live/{self.p.name}.m3u8"
        self.findings, self.offers, self.lists = [], [], []
        self.playlists = self.objects = 0
        self.maps, self.seen = set(), set()  # of samples: their bytes
        self.gaps = False
        self.ready = threading.Event()  # a first playlist was there
        self.thread = threading.Thread(target=self.run, daemon=True)

    def connect(self):
        seed = self.plan.seed
        return Http(self.port, timeout=busy(10),
                    source=f"127.1.{seed // 250 % 250}.{seed % 250 + 1}")

    def viewer(self):
        return Watched(self.port, self.target, connect=self.connect,
                       rendition=self.rendition, slack=slack_of(self.p.events),
                       sound_slack=sound_slack_of(self.plan))

    def say(self, what):
        at = time.monotonic() - self.p.began
        self.findings.append(f"by {at:.1f} s: {what}")

    def waits(self):
        """Until there is something to play; False: nothing comes any more."""
        with self.connect() as http:
            while True:
                left = not self.p.over.is_set()
                http.send("GET", self.target)
                answer = http.answer()
                status = answer.status
                if status == 200 and (self.rendition or "").encode() in \
                        answer.body:
                    return True
                if not left:
                    return False
                if status not in (200, 404, 503):
                    self.say(f"{status} for {self.target}")
                time.sleep(0.2)

    def run(self):
        try:
            last = None
            while self.waits():
                v = self.viewer()
                try:
                    self.follow(v, last)
                except AssertionError as e:
                    if not str(e).startswith(f"no {self.rendition}"):
                        raise
                    time.sleep(0.2)  # its track was announced and never came
                finally:
                    v.close()
                    self.playlists += v.reloads
                    self.objects += len(v.fetched)
                if v.playlist and v.playlist.ended and self.p.over.is_set() \
                        or len(self.findings) > 10:
                    return
                last = v.playlist
        except Exception as e:  # told
            self.say(repr(e))

    def follow(self, v, last):
        """One run of the stream, to its end."""
        try:
            v.start(wait=1)
            self.ready.set()
            self.offers.append({
                "at": round(time.monotonic() - self.p.began, 2),
                "target": v.playlist.target,
                "first": v.playlist.sequence,
                "part": float(v.playlist.part_target or 0)})
            if last and v.playlist.segments and last.segments and not \
                    last.ended:
                self.say("the list ended without ENDLIST")
            v.follow(until_end=True, delta_each=7)
        except NoPlaylist as e:
            if e.status != 503:
                raise
            v.faults = hls_playlist.Faults(
                f for f in v.faults if f.rule != "status")
            if v.playlist is not None and not self.again():
                self.say(f"no playlist any more: {e}")
            time.sleep(0.1)
        finally:
            self.take(v)

    def again(self):
        """A new run may have begun, without the end of the old one."""
        at = time.monotonic() - self.p.began
        return any(begin + lasts - 0.5 <= at and lasts > HOLD
                   for begin, lasts, _, _ in self.plan.away)

    def take(self, v):
        """Each kind of fault with its first examples."""
        count = {}
        self.lists += v.shown or []
        self.gaps |= v.gaps
        self.maps |= {uri.rpartition("/")[2] for uri in v._inits}
        self.seen |= {s.data for s in v.samples}
        for f in v.faults:
            if excused(self.plan, f, self.rendition):
                continue
            count[f.rule] = count.get(f.rule, 0) + 1
            if count[f.rule] <= 2:
                self.say(f"{f.rule}: {f.what[:300]}")
        for rule, times in count.items():
            if times > 2:
                self.say(f"{rule}: {times} times")


class Endless:
    """Reads NAME.mp4 from its beginning to its end, and again when that is
    before the publisher's."""

    def __init__(self, port, publisher_):
        self.port, self.p, self.findings = port, publisher_, []
        self.bytes = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            while not self.p.over.is_set():
                with Http(self.port, timeout=busy(10)) as http:
                    http.send("GET", f"/hls/live/{self.p.name}.mp4",
                              version="1.0")
                    answer = http.answer()
                if answer.status == 200:
                    self.judge(answer.body)
                else:
                    time.sleep(0.2)
        except Exception as e:
            self.findings.append(f"mp4: {e!r}")

    def judge(self, data):
        self.bytes += len(data)
        boxes = hls_fmp4.boxes_of(data, hls_fmp4.Fmp4Faults())
        if len(boxes) < 3:
            return
        head = boxes[2].start
        init = hls_fmp4.Init(data[:head])
        fragments = hls_fmp4.Fragments(data[head:], init)
        timeline = hls_fmp4.Timeline(10 ** 9, 10 ** 9).add(fragments)
        for fault in (init.faults + fragments.faults + timeline)[:3]:
            self.findings.append(f"mp4: {fault.rule}: {fault.what[:200]}")
        ends = {}
        for s in fragments.samples:
            if s.time < ends.get(s.track, 0):
                self.findings.append(
                    f"mp4: track {s.track} goes back to {s.time}")
                return
            ends[s.track] = s.time


# Lines of ffmpeg that are its own doing, and why.
FFMPEG_MAY = (
    # Its demuxer reads the MAP in front of each segment.
    "Found duplicated MOOV Atom. Skipped it",
    "Last message repeated",
    # A fragment of 5 s of pictures is all that it looks at ...
    "Could not find codec parameters for stream .*Audio",
    "Consider increasing the value for the 'analyzeduration'",
    "Guessed Channel Layout",
    # A track comes late: it plays those that were there.
    "New (audio|video) stream",
)
# ... and it knows the first MAP alone: of streams whose tracks or codec headers
# change, or whose decoders would be lost, only these lines are looked at.
# 69: too much of it could not be decoded.
FFMPEG_NEVER = ("HTTP error", "it did not end", "^status (?!69$)")


class Ffmpeg:
    """Reads a playlist to its end, as it comes."""

    def __init__(self, url, decodes):
        how = ["-fps_mode", "passthrough", "-enc_time_base", "-1"] \
            if decodes else ["-c", "copy"]
        self.process = subprocess.Popen(
            ["ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "warning",
             "-threads", "1", "-i", url, "-map", "0", *how, "-f", "null", "-"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def lines(self, headers_change, returns):
        """What it complained of, at the end of the stream.  returns: a
        publisher behind the hold, whose list begins when it has read none of
        the end of the one before."""
        try:
            told = self.process.communicate(timeout=busy(6))[1].decode(
                errors="replace")
        except subprocess.TimeoutExpired:
            self.process.kill()
            told = self.process.communicate()[1].decode(errors="replace") + \
                "\nit did not end with the list"
        if self.process.returncode:
            told += f"\nstatus {self.process.returncode}"
        told = re.sub(r" @ 0x[0-9a-f]+|x?[0-9a-f]{12,}", "", told)
        lines = [line for line in told.splitlines() if line.strip() and
                 not any(re.search(m, line) for m in FFMPEG_MAY)]
        if headers_change():
            lines = [line for line in lines if
                     any(re.search(m, line) for m in FFMPEG_NEVER)]
        return [] if returns and any(" 503 " in line for line in lines) \
            else lines


class Run:
    """A plan, its publisher and those who look."""

    def __init__(self, ports, plan, clips):
        rtmp, http = ports
        self.plan = plan
        self.publisher = Publisher(rtmp, plan, clips)
        self.judges = [Judge(http, self.publisher)]
        if plan.format == "apart" or len(plan.sounds) > 1:
            self.judges += [Judge(http, self.publisher, f"=a{s.number}")
                            for s in plan.sounds if plan.pictures or s.number]
        self.mp4 = Endless(http, self.publisher) if plan.mp4 else None
        self.url = f"http://127.0.0.1:{http}{self.judges[0].target}"
        self.ffmpeg, self.told = None, []
        self.thread = threading.Thread(target=self.play, daemon=True)

    def start(self):
        while self.publisher.began is None:
            time.sleep(0.02)
        for each in [*self.judges, self]:
            each.thread.start()
        if self.mp4:
            self.mp4.thread.start()

    def play(self):
        while not self.judges[0].ready.wait(0.2):
            if not self.judges[0].thread.is_alive():
                return
        told = Ffmpeg(self.url, self.plan.decodes()).lines(
            self.headers_change,
            any(lasts > HOLD for _, lasts, _, _ in self.plan.away))
        # It does not know EXT-X-GAP yet.
        self.told = [line for line in told if "error 404" not in line or
                     not any(j.gaps for j in self.judges)]

    def headers_change(self):
        return bool(self.plan.broken) or \
            any(len(j.maps) > 1 for j in self.judges)

    def end(self):
        for each in [*self.judges, self, self.mp4]:
            if each:
                each.thread.join(busy(10))
        return self.result()

    def came(self):
        """Of each kind, the share of frames that players got."""
        if self.plan.format == "ts":
            return {}
        found = set().union(*(j.seen for j in self.judges))
        shares = {}
        for kind, mine in kinds_of(self.publisher.events):
            mine = [e for e in mine if e.at > self.first_offer()]
            if len(mine) <= FEW:
                continue
            got = sum(e.frame in found for e in mine)
            shares["sound" if kind == AUDIO else "pictures"] = \
                round(got / len(mine), 2)
        return shares

    def first_offer(self):
        offers = self.judges[0].offers
        return offers[0]["at"] if offers else LENGTH

    def result(self):
        findings = [f for j in self.judges for f in j.findings]
        findings += [f"ffmpeg: {line}" for line in dict.fromkeys(self.told)]
        findings += self.mp4.findings if self.mp4 else []
        for each in [*self.judges, self, self.mp4]:
            if each and each.thread.is_alive():
                findings.append(f"{type(each).__name__} did not end")
        if self.publisher.failure:
            findings.append(f"publisher: {self.publisher.failure}")
        if not self.judges[0].offers:
            findings.append("no playlist ever came")
        came = self.came()
        if not findings:
            findings = [f"lost: {share} of the {kind} came" for kind, share in
                        came.items() if share < LEAST]
        return {"seed": self.plan.seed, "plan": self.plan.text(),
                "findings": findings,
                "gap": round(longest_gap(self.publisher.events), 2),
                "came": came,
                "lists": [t for j in self.judges for t in j.lists],
                "offers": [j.offers for j in self.judges],
                "maps": sorted(self.judges[0].maps),
                "playlists": sum(j.playlists for j in self.judges),
                "objects": sum(j.objects for j in self.judges)}


def run_all(make, folder):
    """Makes the runs with the clips of that folder, publishes all at once, and
    prints the result of each, a line of JSON."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    runs = make(Clips(folder))
    print("made", flush=True)
    for r in runs:
        threading.Thread(target=r.start, daemon=True).start()
    publish_all([r.publisher for r in runs])
    for r in runs:
        print(json.dumps(r.end()), flush=True)


def main(rtmp, http, folder, *seeds):
    run_all(lambda clips: [Run((int(rtmp), int(http)), Plan(int(s)), clips)
                           for s in seeds], folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
