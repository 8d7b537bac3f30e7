"""A made-up stream: frames that carry their number, sent by hand or by a
thread, and the check of what came out."""
# SPDX-License-Identifier: BSD-2-Clause

import struct
import threading
import time

import flv
from patience import busy
from rtmp_client import AUDIO, DATA, VIDEO, publisher

STEP = 40  # ms between two video frames
GOP = 25   # video frames from key frame to key frame


class Feed:
    """Publishes frames number 0, 1, ...: frame n has timestamp n * STEP and
    an audio message of its own; every GOP-th is a key frame."""

    def __init__(self, port, name="room", app="live", size=1000, audio=True,
                 video=True, first=0, start_time=0, client=None, gop=GOP):
        self.c = client or publisher(port, app, name)
        self.size, self.audio, self.video = size, audio, video
        self.next = first
        self.origin = start_time - first * STEP
        self.gop = gop
        self.thread = None
        self.stopping = False

    def head(self):
        m = self.c.msid
        self.c.send(DATA, flv.metadata(), 0, m, csid=4)
        if self.video:
            self.c.send(VIDEO, flv.AVC_HEADER, self.time(), m, csid=6)
        if self.audio:
            self.c.send(AUDIO, flv.AAC_HEADER, self.time(), m, csid=4)
        return self

    def time(self):
        return self.origin + self.next * STEP

    def frame(self):
        n, m = self.next, self.c.msid
        if self.audio:
            self.c.send(AUDIO, flv.aac_frame(n), self.time(), m, csid=4)
        if self.video:
            frame = flv.avc_frame(n, self.size, n % self.gop == 0)
            self.c.send(VIDEO, frame, self.time(), m, csid=6)
        self.next += 1

    def frames(self, count):
        """Returns when weir has all of them."""
        for _ in range(count):
            self.frame()
        self.c.answer(self.c.command("_checkbw", None))
        return self

    def run(self, speed=1.0):
        """Sends in real time (times speed) until stop()."""
        def work():
            try:
                begin = time.monotonic()
                first = self.next
                while not self.stopping:
                    due = (self.next - first) * STEP / 1000 / speed
                    late = due - (time.monotonic() - begin)
                    if late > 0:
                        time.sleep(late)
                    self.frame()
            except OSError:
                pass
        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        return self

    def stop(self):
        self.stopping = True
        if self.thread:
            self.thread.join()
        self.c.close()


def number(payload):
    """Which frame it is; checks that all of it came."""
    n = struct.unpack(">I", payload[5:9] if payload[0] != 0xaf
                      else payload[2:6])[0]
    if payload[0] == 0xaf:
        assert payload == flv.aac_frame(n, len(payload) - 2)
    else:
        assert payload == flv.avc_frame(n, len(payload) - 5,
                                        payload[0] == 0x17)
    return n


def kinds(messages):
    """"meta", "video header", "key 25", "video 26", "audio 26", ..."""
    return [kind(m.type, m.payload) for m in messages]


def kind(type_, payload):
    if type_ == DATA:
        return "meta"
    name = "video" if type_ == VIDEO else "audio"
    if flv.is_header(flv.Tag(type_, 0, payload)):
        return name + " header"
    if type_ == VIDEO and payload[0] == 0x17:
        name = "key"
    return f"{name} {number(payload)}"


def read_until(c, wanted, timeout=10):
    """Media messages up to the one that kinds() calls wanted."""
    got = []
    end = time.monotonic() + busy(timeout)
    while True:
        left = end - time.monotonic()
        assert left > 0, f"{wanted} did not come: {kinds(got)}"
        m = c.read(AUDIO, VIDEO, DATA, timeout=left)
        got.append(m)
        if kind(m.type, m.payload) == wanted:
            return got


def read_two_keys(c, timeout=10):
    """Returns with the second key frame: of a stream that goes on, a player has
    them whenever it came."""
    end = time.monotonic() + busy(timeout)
    keys = 0
    while keys < 2:
        left = end - time.monotonic()
        assert left > 0, f"{keys} key frames came"
        m = c.read(VIDEO, timeout=left)
        keys += kind(m.type, m.payload).startswith("key ")


def video_numbers(messages):
    return [number(m.payload) for m in messages if m.type == VIDEO
            and not flv.is_header(flv.Tag(m.type, 0, m.payload))]
