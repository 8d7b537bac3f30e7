"""Peers that mean harm: mutated sessions and floods, run by a process of
their own so that they cost the test's other threads nothing."""
# SPDX-License-Identifier: BSD-2-Clause

import multiprocessing
import random
import select
import socket
import struct
import time

import amf0
import flv
from rtmp_client import (ABORT, AGGREGATE, AUDIO, BANDWIDTH, COMMAND, CONTROL,
                         DATA, PING, SET_CHUNK_SIZE, VIDEO, WINDOW,
                         basic_header, chunks)

HELLO = b"\x03" + bytes(2 * 1536)  # C0 C1 C2, without waiting


def call(msid, name, *args, tid=0):
    return chunks(COMMAND, 0, amf0.encode(name, tid, *args), msid, 3)


def number(kind, value, tail=b""):
    return chunks(kind, 0, struct.pack(">I", value) + tail, 0, 2)


def open_streams(app, count=1):
    return HELLO + call(0, "connect", {"app": app, "flashVer": "x",
                                       "tcUrl": f"rtmp://h/{app}"}, tid=1) + \
        b"".join(call(0, "createStream", None, tid=2 + i)
                 for i in range(count))


def frames(msid, count, size=400):
    out = chunks(DATA, 0, flv.metadata(), msid, 4)
    out += chunks(VIDEO, 0, flv.AVC_HEADER, msid, 6)
    for n in range(count):
        out += chunks(VIDEO, n * 40, flv.avc_frame(n, size, n % 9 == 0),
                      msid, 6)
        out += chunks(AUDIO, n * 40, flv.aac_frame(n), msid, 4)
    return out


def tag(kind, stamp, body):
    return bytes([kind]) + struct.pack(">I", len(body))[1:] + \
        struct.pack(">I", stamp)[1:] + bytes(4) + body + \
        struct.pack(">I", 11 + len(body))


def publish(msid, name):
    return call(msid, "publish", None, name, "live")


def play(msid, name):
    return call(msid, "play", None, name, -2000)


def close(msid):
    return call(msid, "closeStream", None)


def sessions():
    """Valid ones, as sent; of what goes wrong they are the seeds."""
    yield open_streams("mob") + call(0, "FCPublish", None, "a", tid=9) + \
        publish(1, "a") + frames(1, 30) + \
        call(0, "FCUnpublish", None, "a", tid=10) + \
        call(0, "deleteStream", None, 1)
    yield open_streams("live") + play(1, "room") + number(WINDOW, 1) + \
        call(1, "pause", None, True, 0) + call(1, "pause", None, False, 0) + \
        call(1, "receiveVideo", None, False) + \
        call(1, "receiveVideo", None, True) + close(1) + play(1, "room")
    # Several NetStreams: the same name twice, both ways on one, again.
    yield open_streams("mob", 4) + publish(1, "b") + frames(1, 3) + \
        play(2, "b") + play(3, "b") + frames(1, 9, 90_000) + \
        publish(2, "c") + publish(2, "c") + frames(2, 5) + play(2, "b") + \
        publish(4, "b") + frames(4, 3)
    yield open_streams("live", 8) + b"".join(
        play(n, "room") for n in range(1, 9)) + b"".join(
        close(n) + play(n, "nothing") for n in range(1, 9))
    yield open_streams("mob") + number(SET_CHUNK_SIZE, 1 << 16) + \
        number(BANDWIDTH, 1000, b"\2") + publish(1, "d") + \
        chunks(AGGREGATE, 0, tag(9, 0, flv.AVC_HEADER) + tag(8, 0, b"") +
               tag(9, 40, flv.avc_frame(0, 90, True)), 1, 6) + \
        chunks(VIDEO, 0xfffffff0, flv.avc_frame(1, 500), 1, 6) + \
        number(ABORT, 6) + chunks(AUDIO, 0, b"", 1, 70) + \
        b"".join(publish(1, f"d{n}") + close(1) for n in range(9))


def mutate(r, data, start):
    data = bytearray(data)
    for _ in range(r.choice((0, 1, 1, 2, 4, 16))):
        at = r.randrange(start, len(data))
        end = min(len(data), at + r.choice((1, 2, 12, 200)))
        what = r.randrange(5)
        if what == 0:
            data[at] = r.randrange(256)
        elif what == 1:
            data[at] ^= 1 << r.randrange(8)
        elif what == 2 and end - at < len(data) - start:
            del data[at:end]
        elif what == 3:
            data[at:at] = data[at:end]
        else:
            data[at:end] = r.randbytes(end - at)
        start = min(start, len(data) - 1)
    return bytes(data)


class Peer:
    """Sends its bytes in its manner, over and over if they are a flood."""

    def __init__(self, port, data, manner, flood=b""):
        self.sock = socket.socket()
        if manner == "deaf":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setblocking(False)
        self.data, self.flood, self.manner = data, flood, manner
        self.at = 0
        self.until = time.monotonic() + 1.5

    def step(self, events):
        """False when it is done."""
        try:
            if events & select.EPOLLIN and self.manner != "deaf" and \
                    not self.sock.recv(1 << 18):
                return False
            if events & select.EPOLLOUT:
                self.send()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return bool(self.flood) or time.monotonic() < self.until

    def send(self):
        size = 3 if self.manner == "dribble" else 1 << 17
        self.at += self.sock.send(self.data[self.at:self.at + size])
        if self.at == len(self.data):
            self.data, self.at = self.flood, 0
            if not self.flood and self.manner == "half":
                self.sock.shutdown(socket.SHUT_WR)

    def events(self):
        out = select.EPOLLOUT if self.at < len(self.data) else 0
        return out | (0 if self.manner == "deaf" else select.EPOLLIN)

    def end(self):
        if self.manner == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
        self.sock.close()


def run(make, count, seconds):
    """count peers at any time; who is done is followed by the next."""
    poll, peers, end = select.epoll(), {}, time.monotonic() + seconds

    def add():
        p = make()
        peers[p.sock.fileno()] = p
        poll.register(p.sock.fileno(), p.events())

    while time.monotonic() < end:
        if len(peers) < count:
            add()
        ready = dict(poll.poll(0 if len(peers) < count else 0.02))
        for fd in list(peers) if not ready else ready:
            if peers[fd].step(ready.get(fd, 0)):
                poll.modify(fd, peers[fd].events())
            else:
                poll.unregister(fd)
                peers.pop(fd).end()
    for p in peers.values():
        p.end()


def mutants(port, seed, seconds, count=300):
    r, seeds = random.Random(seed), list(sessions())
    manners = ["whole"] * 4 + ["dribble", "deaf", "reset", "half"]

    def make():
        start = 0 if r.random() < 0.1 else len(HELLO)
        return Peer(port, mutate(r, r.choice(seeds), start),
                    r.choice(manners))
    run(make, count, seconds)


def floods():
    """What comes first, and what is then said for ever."""
    yield open_streams("mob"), \
        chunks(CONTROL, 0, struct.pack(">HI", PING, 1), 0, 2) * 3000
    yield open_streams("mob"), chunks(99, 0, b"", 0, 3) + b"\xc3" * 60000
    yield open_streams("mob") + publish(1, "%NAME"), \
        chunks(AUDIO, 0, b"", 1, 4) + b"\xc4" * 60000
    yield open_streams("mob") + publish(1, "%NAME"), b"".join(
        chunks(DATA, 0, flv.metadata(n=float(n)), 1, 4) for n in range(500))
    yield open_streams("mob") + publish(1, "%NAME"), \
        number(SET_CHUNK_SIZE, 60000) + \
        chunks(AGGREGATE, 0, tag(8, 0, b"") * 60000, 1, 6, 60000)
    yield open_streams("mob"), call(0, "createStream", None, tid=5) * 1500
    yield open_streams("mob"), (publish(1, "%NAME") + close(1)) * 500
    yield open_streams("live"), (play(1, "room") + close(1)) * 500
    yield open_streams("live") + play(1, "room"), \
        (call(1, "pause", None, True) + call(1, "pause", None, False)) * 500
    yield open_streams("mob"), b"".join(
        number(BANDWIDTH, n & 1, b"\0") for n in range(2000))
    yield open_streams("mob"), b"".join(
        chunks(99, 0, b"", 0, 70 + n) for n in range(64)) + b"".join(
        basic_header(3, 70 + n) for n in reversed(range(64))) * 400


def flood(port, seconds, count):
    kinds, made = list(floods()), []

    def make():
        made.append(1)
        first, rest = kinds[len(made) % len(kinds)]
        name = b"%05d" % len(made)
        return Peer(port, first.replace(b"%NAME", name), "reset",
                    rest.replace(b"%NAME", name))
    run(make, count, seconds)


def start(f, *arguments):
    process = multiprocessing.get_context("fork").Process(
        target=f, args=arguments, daemon=True)
    process.start()
    return process
