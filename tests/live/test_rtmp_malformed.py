"""An unauthenticated peer sends anything: no worker dies, nobody else
notices."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import socket
import struct
import time

import pytest

import amf0
import flv
from feed import Feed, read_until
from patience import busy
from rtmp_client import (ABORT, COMMAND, DATA, SET_CHUNK_SIZE, VIDEO, Closed,
                         Refused, Rtmp, chunks, player, publisher)


@pytest.fixture
def watched(weir):
    """A weir with a healthy stream; at the end its workers are the same and
    its player missed nothing."""
    w = weir(workers=2)
    workers = w.workers()
    f = Feed(w.rtmp).head().frames(1)
    c = player(w.rtmp, "live", "room")
    read_until(c, "key 0")
    yield w
    f.frames(1)
    read_until(c, "video 1")
    assert w.workers() == workers, "a worker died"
    c.close()
    f.stop()


def try_bytes(w, data, connect=True):
    """Sends it and reads what comes, without complaint."""
    try:
        with Rtmp(w.rtmp, handshake="simple" if connect else None) as p:
            if connect:
                p.connect("live")
            p.raw(data)
            p.sock.shutdown(socket.SHUT_WR)
            p.wait_closed(10)
    except (OSError, Closed):
        pass


def test_not_rtmp_at_all(watched):
    for data in (b"", b"\0", b"\x06", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 99,
                 b"\x03", b"\x03" + bytes(100), b"\x16\x03\x01\x02\x00",
                 os.urandom(5000)):
        try_bytes(watched, data, connect=False)


def test_handshake_with_wrong_digest_is_taken_as_simple(watched):
    with Rtmp(watched.rtmp, handshake=None) as p:
        c1 = bytes(4) + b"\x09\0\x7c\x02" + os.urandom(1528)
        p.raw(b"\x03" + c1)
        answer = p.take(3073)
        assert answer[1 + 1536 + 8:] == c1[8:]
        p.raw(answer[1:1537])
        p.connect("live")


def test_slow_handshake_is_ended(weir):
    w = weir(rtmp='handshake_timeout = "1s"; connect_timeout = "1s";')
    began = time.monotonic()
    with Rtmp(w.rtmp, handshake=None) as silent, \
            Rtmp(w.rtmp, handshake=None) as partial, Rtmp(w.rtmp) as nothing:
        partial.raw(b"\x03" + bytes(700))
        silent.wait_closed()
        partial.wait_closed()
        nothing.wait_closed()
        with Rtmp(w.rtmp) as idle:
            idle.connect("live")
            idle.wait_closed()
    assert time.monotonic() - began < busy(1.5)  # 20 s unless told


COMMANDS = {
    "nothing": b"",
    "a marker alone": b"\x02",
    "a string longer than the message": b"\x02\xff\xffab",
    "a number cut": b"\x02\0\x07connect\0\x3f",
    "no transaction id": amf0.encode("connect"),
    "name is a number": amf0.encode(5, 1, {}),
    "no object": amf0.encode("connect", 1),
    "null": amf0.encode("connect", 1, None),
    "app is a number": amf0.encode("connect", 1, {"app": 5}),
    "app is an object": amf0.encode("connect", 1, {"app": {}}),
    "transaction id is a string": amf0.encode("connect", "1", {"app": "l"}),
    "transaction id is NaN": amf0.encode("connect", float("nan"),
                                         {"app": "live"}),
    "unknown marker": b"\x02\0\x07connect\x11\x01",
    "object without an end": b"\x02\0\x07connect\0" + bytes(8) + b"\x03\0\x01a",
    "ECMA array that says 4 billion": b"\x02\0\x07connect\0" + bytes(8) +
                                      b"\x08\xff\xff\xff\xff",
    "strict array that says 4 billion": b"\x02\0\x07connect\0" + bytes(8) +
                                        b"\x0a\xff\xff\xff\xff",
    "long string that says 4 billion": b"\x02\0\x07connect\0" + bytes(8) +
                                       b"\x0c\xff\xff\xff\xff",
    "deep nesting": b"\x02\0\x07connect\0" + bytes(8) +
                    b"\x03\0\x01a" * 20000,
    "deep arrays": b"\x02\0\x07connect\0" + bytes(8) +
                   b"\x0a\0\0\0\x01" * 20000,
    "NUL in app": amf0.encode("connect", 1, {"app": "live\0x"}),
    "control characters in app": amf0.encode("connect", 1,
                                             {"app": "li\r\nve\x1b[2J"}),
    "app that is not UTF-8": b"\x02\0\x07connect\0" + bytes(8) +
                             b"\x03\0\x03app\x02\0\x02\xff\xfe\0\0\x09",
    "huge app": amf0.encode("connect", 1, {"app": "x" * 60000}),
    "odd tcUrl": amf0.encode("connect", 1, {"app": "live",
                                            "tcUrl": "rtmp://h/%zz"}),
    "publish before connect": amf0.encode("publish", 1, None, "a", "live"),
    "play before connect": amf0.encode("play", 1, None, "a"),
    "createStream before connect": amf0.encode("createStream", 1, None),
}


def test_commands_before_connect(watched):
    workers = watched.workers()
    for name, body in COMMANDS.items():
        try:
            with Rtmp(watched.rtmp) as p:
                p.set_chunk_size(65536)
                p.send(COMMAND, body)
                p.send(17, b"\0" + body)
                p.send(DATA, body)
                p.sock.shutdown(socket.SHUT_WR)
                p.wait_closed(10)
        except (OSError, Closed):
            pass
        assert watched.workers() == workers, f"{name}: a worker died"


AFTER_CONNECT = [
    ("createStream",), ("publish",), ("publish", None), ("play",),
    ("publish", None, 5), ("publish", None, None), ("publish", None, "a", 7),
    ("publish", None, "a\0b", "live"), ("publish", None, "../../x", "live"),
    ("publish", None, "a" * 65535, "live"), ("publish", None, "?", "live"),
    ("play", None, "a", "b", "c"), ("play", None, {}), ("deleteStream",),
    ("deleteStream", None, -1), ("deleteStream", None, 1e300),
    ("deleteStream", None, float("nan")), ("deleteStream", None, "x"),
    ("closeStream",), ("pause",), ("pause", None, "x", "y"), ("seek",),
    ("receiveAudio",), ("receiveVideo", None, 5), ("connect", {"app": "live"}),
    ("getStreamLength",), ("FCPublish",), ("FCUnpublish",), ("_result",),
    ("_error", None, {}), ("onStatus", None, {}), ("", None), ("x" * 60000,),
    ("releaseStream", None, []), ("call", None, [[[[1]]]]),
]


def try_command(w, words, msid):
    try:
        with Rtmp(w.rtmp) as p:
            p.connect("live")
            p.create_stream()
            p.command(*words, msid=msid)
            p.sock.shutdown(socket.SHUT_WR)
            p.wait_closed(10)
    except (OSError, Closed, Refused):
        pass


def test_commands_after_connect(watched):
    workers = watched.workers()
    for words in AFTER_CONNECT:
        for msid in (0, 1, 2, 0xffffffff):
            try_command(watched, words, msid)
        assert watched.workers() == workers, f"{words}: a worker died"


def test_too_many_netstreams(watched):
    with Rtmp(watched.rtmp) as p:
        p.connect("live")
        try:
            for _ in range(200):
                p.create_stream()
        except (Refused, Closed):
            return
    raise AssertionError("200 NetStreams on one connection")


def test_wrong_control_messages(watched):
    for kind in range(0, 8):
        for body in (b"", b"\0", b"\0\0", b"\0\0\0", bytes(4),
                     b"\xff" * 4, b"\xff" * 5, bytes(100), b"\xff" * 100):
            try_bytes(watched, chunks(kind, 0, body, 0, 2))


def test_chunk_size_zero_and_negative(watched):
    for size in (0, 0x80000000, 0xffffffff, 0x1000000):
        body = struct.pack(">I", size)
        try_bytes(watched, chunks(SET_CHUNK_SIZE, 0, body, 0, 2) +
                  chunks(VIDEO, 0, bytes(1000), 1, 6))


def test_abort_of_every_kind(watched):
    for csid in (0, 1, 2, 3, 64, 70000, 0xffffffff):
        try_bytes(watched, chunks(ABORT, 0, struct.pack(">I", csid), 0, 2))


def test_media_before_and_without_publish(watched):
    with Rtmp(watched.rtmp) as p:
        p.connect("live")
        for msid in (0, 1, 5, 0xffffffff):
            p.send(VIDEO, flv.avc_frame(1), 0, msid, csid=6)
        p.create_stream()
        p.send(VIDEO, flv.avc_frame(1), 0, 1, csid=6)


def test_strange_payloads_from_a_publisher(watched):
    """What inspects the payload must not trust it; players get it as is."""
    p = publisher(watched.rtmp, "live", "strange")
    c = player(watched.rtmp, "live", "strange")
    bodies = [b"\x17", b"\x17\0", b"\x17\0\0\0\0", b"\xaf", b"\xaf\0",
              b"\x80", b"\x90", b"\x90hvc", b"\x90hvc1", b"\x97", b"\xff",
              b"\x90" + bytes(4), b"\xf0" * 20, b"\x97\xff\xff\xff",
              b"\x96" * 40, b"\x2f", b"\x9f", b"\x9f\xff" * 10]
    for body in bodies:
        for kind in (8, 9, 18, 15, 22):
            p.send(kind, body, 0, p.msid, csid=6)
    p.send(VIDEO, flv.AVC_HEADER, 0, p.msid, csid=6)
    p.send(VIDEO, flv.avc_frame(0, 99, True), 0, p.msid, csid=6)
    while c.read(VIDEO).payload != flv.avc_frame(0, 99, True):
        pass
    p.close()
    c.close()


def test_garbage_in_every_state(watched):
    """Random bytes, and a good session with random bytes flipped."""
    r = random.Random(1)
    good = chunks(20, 0, amf0.encode("connect", 1, {"app": "live"}), 0, 3)
    good += chunks(20, 0, amf0.encode("createStream", 2, None), 0, 3)
    good += chunks(20, 0, amf0.encode("publish", 3, None, "g", "live"), 1, 3)
    good += chunks(18, 0, flv.metadata(), 1, 4)
    good += chunks(9, 0, flv.AVC_HEADER, 1, 6)
    good += chunks(9, 0, flv.avc_frame(0, 900, True), 1, 6)
    for n in range(120):
        data = bytearray(good if n % 3 else r.randbytes(2000))
        for _ in range(r.randrange(1, 12)):
            data[r.randrange(len(data))] = r.randrange(256)
        try:
            with Rtmp(watched.rtmp) as p:
                p.raw(bytes(data))
                p.sock.shutdown(socket.SHUT_WR)
                p.wait_closed(10)
        except (OSError, Closed):
            pass


def test_connections_that_go_in_the_middle(watched):
    for n in range(60):
        p = Rtmp(watched.rtmp, handshake=None)
        p.raw((b"\x03" + bytes(1536) + bytes(1536))[:1 + n * 50])
        if n % 2:
            p.reset()
        else:
            p.close()
    for n in range(30):
        p = publisher(watched.rtmp, "live", f"gone{n}")
        p.send(VIDEO, flv.AVC_HEADER, 0, p.msid, csid=6)
        p.raw(chunks(VIDEO, 0, bytes(5000), p.msid, 6, 4096)[:n * 100])
        if n % 2:
            p.reset()
        else:
            p.close()


def test_peer_that_sends_and_never_reads(watched):
    """Asks for answers without taking them: bounded, then closed."""
    p = Rtmp(watched.rtmp, receive_buffer=4096)
    p.connect("live")
    body = amf0.encode("createStream", 9, None) + b"\x02\0\x01a" * 20
    words = chunks(20, 0, body, 0, 3)
    p.sock.settimeout(5)
    try:
        for _ in range(20000):
            p.raw(words * 10)
    except (OSError, Closed):
        pass
    p.close()
