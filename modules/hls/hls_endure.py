"""Many clients of one stream, each of which believes nothing, while workers are
killed and replaced: a publisher that comes back, clients of our own, hls.js
and ffmpeg.  All note faults and how long they had nothing to play."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import os
import random
import signal
import subprocess
import threading
import time

import flv
from hls_check import Viewer
from hls_page import Page, numbered
from http_client import Http
from media import QUIET, check
from patience import busy
from rtmp_client import Closed, Refused, publisher
from weir import descendants, descriptors, inodes_of, wait_for

SETTINGS = {"locations": '{ path = "/hls"; module = "hls"; },', "hold": "1h"}
TARGET = "/hls/live/room.m3u8"
HLS_JS = {"url": TARGET, "config": {"maxLiveSyncPlaybackRate": 1.1}}
SECONDS = 16  # of the publisher's loop: whole frames of sound at 48 kHz
AWAY = (OSError, EOFError, Closed, Refused, AssertionError)


def make_loop(path):
    """160x90, a key frame a second; no two frames are alike."""
    check(["ffmpeg", *QUIET, "-y", "-f", "lavfi", "-i",
           numbered(), "-f", "lavfi", "-i",
           "anoisesrc=amplitude=0.1:sample_rate=48000", "-c:v", "libx264",
           "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25",
           "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "32k", "-t",
           str(SECONDS), "-f", "flv", str(path)])
    return str(path)


class Loop:
    """Publishes a file over and over, in real time; when its connection breaks
    it comes back with the next key frame, as an encoder does whose clock begins
    anew."""

    def __init__(self, port, path, name="room"):
        self.port, self.name = port, name
        tags = flv.read_file(path)
        self.heads = [t for t in tags if t.type == flv.DATA or
                      flv.is_header(t)]
        self.tags = [t for t in tags if t not in self.heads and
                     len(t.payload) > 5 and t.time < SECONDS * 1000]
        pictures = [t.payload[5:] for t in self.tags if t.type == flv.VIDEO]
        self.pictures = {p: i for i, p in enumerate(pictures)}
        assert len(self.pictures) == len(pictures)
        self.sent = {}  # number of a picture: when, the last time
        self.sounds = {t.payload[2:] for t in self.tags
                       if t.type == flv.AUDIO}
        self.length = SECONDS * 1000
        self.sessions = 0
        self.away = threading.Event()   # set: to be away
        self.client = None
        self.stopping = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def follows(self, before, after):
        return after == (before + 1) % len(self.pictures)

    def stop(self):
        self.stopping = True
        self.thread.join()

    def leave(self):
        """Closes the connection; back() comes again."""
        self.away.set()

    def back(self):
        self.away.clear()

    def _run(self):
        at = 0
        while not self.stopping:
            if self.away.is_set():
                time.sleep(0.01)
                continue
            try:
                self.client = publisher(self.port, "live", self.name)
            except AWAY:
                time.sleep(0.05)
                continue
            self.sessions += 1
            try:
                at = self._session(at)
            finally:
                self.client.close()

    def _session(self, at):
        """Returns the tag that is to be sent next."""
        while not flv.is_key(self.tags[at % len(self.tags)]):
            at += 1
        begin = time.monotonic() - self._time(at) / 1000
        first = self._time(at)
        try:
            for tag in self.heads:
                self._send(tag, 0)
            while not (self.stopping or self.away.is_set()):
                late = begin + self._time(at) / 1000 - time.monotonic()
                if late > 0:
                    time.sleep(late)
                tag = self.tags[at % len(self.tags)]
                if tag.type == flv.VIDEO:
                    self.sent[self.pictures[tag.payload[5:]]] = \
                        time.monotonic()
                self._send(tag, self._time(at) - first)
                at += 1
        except OSError:
            pass
        return at

    def _time(self, at):
        rounds, index = divmod(at, len(self.tags))
        return rounds * self.length + self.tags[index].time

    def _send(self, tag, stamp):
        self.client.send(tag.type, tag.payload, stamp, self.client.msid,
                         csid={flv.AUDIO: 4, flv.VIDEO: 6}.get(tag.type, 5))


class Stalls:
    """What a player would have felt that plays `buffer` seconds behind."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.until = None  # what is there lasts so long
        self.lengths = []

    def began(self):
        self.until = time.monotonic() + self.buffer

    def came(self, duration):
        if self.until is None:
            return
        now = time.monotonic()
        if now > self.until:
            self.lengths.append(now - self.until)
            self.until = now
        self.until += duration


class Watcher(Viewer):
    """One client: with parts, or of whole segments.  What breaks is asked for
    again."""

    def __init__(self, port, source, digests, parts):
        super().__init__(port, TARGET, connect=self._connected)
        self.port, self.connections = port, 0
        self.source, self.digests, self.parts = source, digests, parts
        self.steps = 0
        self.stalls = None
        self.failure = None
        self.stopping = threading.Event()
        self._picture = self._part_of = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join(busy(20))

    def _run(self):
        try:
            self.start(wait=30)
            self.take_media()
            p = self.playlist
            self.stalls = Stalls(
                3 * float(p.part_target if self.parts else p.target))
            self.stalls.began()
            while not self.stopping.is_set():
                self.next_playlist()
                self.steps += self.take_media() > 0
        except BaseException as e:  # told by Crowd.check()
            if not self.stopping.is_set():
                self.failure = repr(e)
        finally:
            self.close()

    def _connected(self):
        self.connections += 1
        return Http(self.port, timeout=busy(10))

    def get(self, target, *headers):
        until = time.monotonic() + busy(3)
        while True:
            try:
                return super().get(target, *headers)
            except (EOFError, OSError):
                self.close()
                if self.stopping.is_set() or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def next_playlist(self, skip=False):
        if self.parts:
            super().next_playlist(skip=self.reloads % 5 == 0)
            return
        wanted = [s.number for s in self.playlist.listed if s.uri][-1] + 1
        new = self.reload(_HLS_msn=wanted)
        if not [s for s in new.listed if s.uri and s.number >= wanted]:
            self.faults.add("blocked", f"{wanted}: {new.newest()}")
        self._take(new)

    def take_media(self):
        if self.parts:
            return super().take_media()
        count = 0
        for segment in self.playlist.listed:
            if segment.uri and segment.number > (self._part_of or 0):
                self._part_of = segment.number
                data = self.object(f"/hls/live/{segment.uri}")
                if data is not None:
                    self._judge_media(segment, data, segment.uri,
                                      segment.duration, None)
                count += 1
        return count

    def _judge_media(self, segment, data, uri, duration, independent):
        restart = self._seen_discontinuity != segment.discontinuity
        super()._judge_media(segment, data, uri, duration, independent)
        if self.stalls:
            self.stalls.came(float(duration))
        for s in self.samples:
            self._compare(bytes(s.data), restart, segment)
        self.samples.clear()

    def _compare(self, data, restart, segment):
        """Each frame is the publisher's, and after a picture comes its
        next."""
        number = self.source.pictures.get(data)
        if number is None:
            if data not in self.source.sounds:
                self.faults.add("bytes", f"in {segment.uri}: {len(data)} "
                                         "bytes that nobody published")
            return
        if self._picture is not None and not restart and \
                not self.source.follows(self._picture, number):
            self.faults.add("bytes", f"in {segment.uri or segment.number}: "
                            f"picture {number} after {self._picture}")
        self._picture = number


class Ffmpeg:
    """It plays pictures in real time; each is a line.  stalls: when they began
    and how long they were."""

    def __init__(self, w):
        self.process = subprocess.Popen(
            ["ffmpeg", *QUIET, "-re", "-i", w.http_url(TARGET), "-map", "0:v",
             "-c", "copy", "-flush_packets", "1", "-f", "framecrc", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.count, self.seen, self.most, self.stalls = 0, None, 0, []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            if line[:1].isdigit():
                now = time.monotonic()
                if self.seen is not None:
                    self.most = max(self.most, now - self.seen)
                    if now - self.seen > 0.5:
                        self.stalls.append((self.seen, now - self.seen))
                self.seen = now
                self.count += 1

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()


class Crowd:
    """A stream with its publisher and clients.  Every fourth of ours takes
    parts."""

    def __init__(self, w, folder, own=8, pages=1, ffmpegs=1):
        self.w = w
        self.chance = random.Random(os.environ.get("SEED", "endure"))
        self.source = Loop(w.rtmp, make_loop(folder / "loop.flv"))
        self.digests = {}
        self.done = collections.Counter()
        self.page = None
        self.players, self.watchers = [], []
        self.began = time.monotonic()
        try:
            # Three targets to begin behind, and segments with parts.
            with Viewer(w.http, TARGET) as first:
                first.start(wait=30)
                wait_for(lambda: len(first.reload().listed) > 4, 60,
                         "segments")
            self.watchers = [Watcher(w.http, self.source, self.digests,
                                     n % 4 == 0) for n in range(own)]
            self.players = [Ffmpeg(w) for _ in range(ffmpegs)]
            self.page = pages and Page(w, pages * [HLS_JS])
            wait_for(lambda: all(p.count > 25 for p in self.players), 40,
                     "ffmpeg plays")
            self.wait_steps()
        except BaseException:
            self.stop()
            raise

    def wait_steps(self):
        """Until each client has got something new."""
        before = [w.steps for w in self.watchers]
        def all_went_on():
            return all(w.steps > b or w.failure
                       for w, b in zip(self.watchers, before))
        wait_for(all_went_on, 20, "something new for each")
        assert self.failures() == [], self.failures()

    def failures(self):
        return [w.failure for w in self.watchers if w.failure]

    def _publishers_worker(self):
        """It may be one that a reload has replaced; None: between two."""
        sock = self.source.client.sock
        try:
            ends = [(sock.getpeername()[1], sock.getsockname()[1])]
        except OSError:
            return None
        inode = f"socket:[{inodes_of(ends)[0]}]"
        for pid in self.w.workers() + self.w.old_workers():
            if inode in descriptors(pid).values():
                return pid
        return None

    def kill(self):
        """A worker, every other time the publisher's; until there is another
        one and all went on."""
        workers = self.w.workers()
        victim = self.chance.choice(workers)
        if self.done["kills"] % 2 == 0:
            victim = self._publishers_worker() or victim
        os.kill(victim, signal.SIGKILL)
        self.done["kills"] += 1
        wait_for(lambda: len(self.w.workers()) == len(workers) and
                 victim not in descendants(self.w.pid), 20, "another worker")
        self.wait_steps()

    def reload(self):
        self.w.reload()
        self.done["reloads"] += 1
        self.wait_steps()

    def stop(self):
        for w in self.watchers:
            w.stopping.set()
        for w in self.watchers:
            w.stop()
        self.told = self.page.told() if self.page else []
        for p in self.players:
            p.alive = p.process.poll() is None
            p.kill()
        if self.page:
            self.page.quit()
        self.source.stop()

    def figures(self):
        own = [s for w in self.watchers if w.stalls for s in w.stalls.lengths]
        return {
            **self.done, "seconds": round(time.monotonic() - self.began),
            "sessions of the publisher": self.source.sessions,
            "objects": len(self.digests),
            "playlists": sum(w.reloads for w in self.watchers),
            "bodies": sum(len(w.fetched) for w in self.watchers),
            "connections": sum(w.connections for w in self.watchers),
            "faults": sum(len(w.faults) for w in self.watchers),
            "stalls": len(own), "longest": round(max(own, default=0), 2),
            "hls.js": [(round(p["at"]), p["stalls"], round(p["most"], 2),
                        p["fatal"]) for p in self.told],
            "ffmpeg": [(p.count, round(p.most, 2)) for p in self.players]}

    def check(self, longest):
        """To be called after stop()."""
        assert self.failures() == [], self.failures()
        faults = [w.faults.text() for w in self.watchers if w.faults]
        assert not faults, "\n".join(faults)[:4000]
        assert all(p.alive for p in self.players), "ffmpeg ended"
        stalls = [s for w in self.watchers for s in w.stalls.lengths] + \
            [p.most for p in self.players] + [p["most"] for p in self.told] + \
            [p["idle"] for p in self.told]
        assert max(stalls, default=0) < longest, self.figures()
