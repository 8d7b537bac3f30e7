"""The trap table: what real publishers do to a chunk reader."""
# SPDX-License-Identifier: BSD-2-Clause

import struct

import pytest

import amf0
import flv
from feed import Feed, number, read_until, video_numbers
from rtmp_client import (ABORT, ACK, AGGREGATE, AUDIO, COMMAND3, CONTROL,
                         DATA, DATA3, PING, SET_CHUNK_SIZE, VIDEO, WINDOW,
                         Rtmp, aggregate, basic_header, chunks, player, publisher)
from weir import resident, wait_for


@pytest.fixture
def pair(weir):
    """A publisher with its headers sent, and a player that saw them."""
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    c = player(w.rtmp, "live", "room")
    f = Feed(w.rtmp, client=p)
    f.head().frame()
    read_until(c, "key 0")
    yield p, c
    p.close()
    c.close()


def frame(n, size=1000):
    return flv.avc_frame(n, size)


def expect(c, *numbers):
    assert video_numbers(read_until(c, f"video {numbers[-1]}")) == \
        list(numbers)


@pytest.mark.parametrize("size", [1, 2, 127, 128, 4096, 65536, 65537,
                                  1 << 20, 0xffffff, 0x7fffffff])
def test_any_chunk_size(pair, size):
    p, c = pair
    p.set_chunk_size(size)
    if size == 0x7fffffff:
        p.chunk_out = 0xffffff  # cannot be more than a message anyway
    p.send(VIDEO, frame(1, 3000), 40, p.msid, csid=6)
    p.send(VIDEO, frame(2, 70000 if size > 128 else 500), 80, p.msid, csid=6)
    expect(c, 1, 2)


def test_chunk_size_may_change_in_the_middle_of_a_message(pair):
    p, c = pair
    p.set_chunk_size(100)
    payload = frame(1, 255)
    first = chunks(VIDEO, 40, payload, p.msid, 6, size=100)
    p.raw(first[:12 + 100])
    p.send(SET_CHUNK_SIZE, struct.pack(">I", 200), csid=2)
    p.raw(basic_header(3, 6) + payload[100:])
    expect(c, 1)


@pytest.mark.parametrize("csid", [2, 3, 6, 31, 32, 63, 64, 65, 319, 320,
                                  1000, 65598, 65599])
def test_any_chunk_stream_id(pair, csid):
    p, c = pair
    p.set_chunk_size(128)
    for n in (1, 2):
        p.send(VIDEO, frame(n), 40 * n, p.msid, csid=csid)
    expect(c, 1, 2)


def test_two_and_three_byte_ids_do_not_mix(pair):
    """Interleaved messages on 64, 320 and 65 599."""
    p, c = pair
    p.set_chunk_size(128)
    ids = (64, 320, 65599, 5)
    parts = [chunks(VIDEO, 40 * n, frame(n, 123 * 3), p.msid, csid, size=128)
             for n, csid in enumerate(ids, 1)]
    # Each part: head + 128, then three bytes or one + ... per chunk.
    pieces = []
    for csid, part in zip(ids, parts):
        head = len(basic_header(0, csid)) + 11 + 128
        rest = len(basic_header(3, csid)) + 128
        cut = [part[:head]]
        cut += [part[at:at + rest] for at in range(head, len(part), rest)]
        pieces.append(cut)
    for row in range(max(map(len, pieces))):
        for cut in pieces:
            if row < len(cut):
                p.raw(cut[row])
    expect(c, 1, 2, 3, 4)


def test_fmt_1_first_on_a_chunk_stream(pair):
    """librtmp's ping comes as 0x42."""
    p, c = pair
    p.raw(chunks(CONTROL, 0, struct.pack(">HI", PING, 7), 0, 2, fmt=1,
                 delta=0))
    p.raw(chunks(VIDEO, 0, frame(1, 100), p.msid, 17, 4096, fmt=0))
    expect(c, 1)


def test_fmt_3_first_on_a_chunk_stream_is_survived(pair):
    """Nothing to refer to: an empty message, not a crash."""
    p, c = pair
    p.raw(basic_header(3, 40))
    p.send(VIDEO, frame(1), 40, p.msid, csid=6)
    expect(c, 1)


def test_fmt_1_2_3_timestamps(pair):
    """Deltas add up; fmt 3 that begins a message repeats the delta."""
    p, c = pair
    p.send(VIDEO, frame(1, 500), 1000, p.msid, csid=6)
    p.raw(chunks(VIDEO, 0, frame(2, 600), p.msid, 6, 4096, 1, delta=30))
    p.raw(chunks(VIDEO, 0, frame(3, 600), p.msid, 6, 4096, 2, delta=50))
    p.raw(chunks(VIDEO, 0, frame(4, 600), p.msid, 6, 4096, 3))
    got = [m for m in read_until(c, "video 4") if m.type == VIDEO]
    times = [m.time - got[0].time for m in got]
    assert times == [0, 30, 80, 130]


def test_fmt_3_begins_a_message_after_fmt_0(pair):
    """The timestamp of fmt 0 counts as the delta (RTMP 1.0, 5.3.1.2.4), or
    the time stays; it must not go back."""
    p, c = pair
    p.send(VIDEO, frame(1, 500), 40, p.msid, csid=6)
    p.raw(chunks(VIDEO, 0, frame(2, 500), p.msid, 6, 4096, 3))
    got = [m for m in read_until(c, "video 2") if m.type == VIDEO]
    assert got[1].time - got[0].time in (0, 40)


@pytest.mark.parametrize("repeated", [True, False])
def test_extended_timestamp_with_and_without_repeat_in_fmt_3(pair, repeated):
    p, c = pair
    p.set_chunk_size(128)
    for n in (1, 2, 3):
        p.raw(chunks(VIDEO, 0x1000000 + 40 * n, frame(n), p.msid, 6, 128,
                     extended_in_3=repeated))
    got = [m for m in read_until(c, "video 3") if m.type == VIDEO]
    assert [m.time - got[0].time for m in got] == [0, 40, 80]


def test_extended_delta(pair):
    p, c = pair
    p.send(VIDEO, frame(1), 40, p.msid, csid=6)
    p.raw(chunks(VIDEO, 0, frame(2), p.msid, 6, 4096, 1, delta=0x1000000))
    got = [m for m in read_until(c, "video 2") if m.type == VIDEO]
    assert got[1].time >= got[0].time


def test_abort_drops_the_half_message(pair):
    p, c = pair
    p.set_chunk_size(128)
    part = chunks(VIDEO, 40, frame(1), p.msid, 6, 128)
    p.raw(part[:12 + 128])
    p.send(ABORT, struct.pack(">I", 6), csid=2)
    p.send(VIDEO, frame(2), 80, p.msid, csid=6)
    expect(c, 2)


def test_new_header_in_the_middle_of_a_message(pair):
    """fmt 0 on a chunk stream whose message is not whole: the new one is
    what counts, or the connection is closed; nothing mixes."""
    p, c = pair
    p.set_chunk_size(128)
    part = chunks(VIDEO, 40, frame(1), p.msid, 6, 128)
    p.raw(part[:12 + 128])
    p.send(VIDEO, frame(2), 80, p.msid, csid=6)
    try:
        expect(c, 2)
    except (AssertionError, OSError):
        p.wait_closed()


def test_aggregate_is_taken_apart(pair):
    """Times inside are relative to the first of them (RTMP 1.0, 7.1.6)."""
    p, c = pair
    body = aggregate((VIDEO, 5000, frame(1, 200)),
                     (AUDIO, 5010, flv.aac_frame(1)),
                     (VIDEO, 5040, frame(2, 200)))
    p.send(AGGREGATE, body, 400, p.msid, csid=6)
    got = read_until(c, "video 2")
    assert [number(m.payload) for m in got] == [1, 1, 2]
    base = got[0].time
    assert [m.time - base for m in got] == [0, 10, 40]


@pytest.mark.parametrize("cut", [1, 5, 11, 100])
def test_damaged_aggregate_harms_nobody(pair, cut):
    p, c = pair
    body = aggregate((VIDEO, 0, frame(1, 200)))
    p.send(AGGREGATE, body[:-cut - 4], 400, p.msid, csid=6)
    try:
        p.send(VIDEO, frame(2), 440, p.msid, csid=6)
        p.answer(p.command("_checkbw", None))
    except (Closed, OSError):
        p.wait_closed()
    else:
        read_until(c, "video 2")


def test_amf3_envelope_of_commands_and_data(weir):
    """Types 17 and 15: a zero byte, then AMF0."""
    w = weir()
    with Rtmp(w.rtmp) as p:
        p.tid = 1
        p.send(COMMAND3, b"\0" + amf0.encode("connect", 1, {
            "app": "live", "objectEncoding": 3}))
        p.answer(1)
        p.send(COMMAND3, b"\0" + amf0.encode("createStream", 2, None))
        msid = int(p.answer(2)[-1])
        p.send(COMMAND3, b"\0" + amf0.encode("publish", 3, None, "room",
                                             "live"), msid=msid)
        p.status("NetStream.Publish.Start")
        with player(w.rtmp, "live", "room") as c:
            p.send(DATA3, b"\0" + flv.metadata(), msid=msid)
            p.send(VIDEO, flv.AVC_HEADER, 0, msid, csid=6)
            p.send(VIDEO, flv.avc_frame(0, 90, True), 0, msid, csid=6)
            got = read_until(c, "key 0")
            assert got[0].type == DATA
            assert amf0.decode(got[0].payload)[0] == "onMetaData"


def test_zero_length_messages(pair):
    p, c = pair
    for kind in (AUDIO, VIDEO, DATA, DATA3, 99):
        p.send(kind, b"", 40, p.msid, csid=6)
    p.send(VIDEO, frame(1), 80, p.msid, csid=6)
    got = read_until_video(c, 1)
    assert got


def read_until_video(c, n):
    while True:
        m = c.read(VIDEO)
        if m.payload and number(m.payload) == n:
            return m


def test_unknown_message_types_are_passed_over(pair):
    p, c = pair
    for kind in (0, 7, 10, 13, 16, 19, 21, 23, 200, 255):
        p.send(kind, b"\1\2\3", 40, p.msid, csid=9)
    p.send(VIDEO, frame(1), 80, p.msid, csid=6)
    expect(c, 1)


def test_transaction_id_zero(weir):
    """GStreamer says releaseStream, FCPublish and publish with 0."""
    w = weir()
    with Rtmp(w.rtmp) as p:
        p.connect("live")
        p.command("releaseStream", None, "room", tid=0)
        p.command("FCPublish", None, "room", tid=0)
        msid = p.create_stream()
        p.command("publish", None, "room", "live", msid=msid, tid=0)
        p.status("NetStream.Publish.Start")
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        msid = c.create_stream()
        c.command("play", None, "room", -2, msid=msid, tid=0)
        c.status("NetStream.Play.Start")


def test_bytes_one_at_a_time(weir):
    """TCP may cut anywhere."""
    w = weir()
    with Rtmp(w.rtmp, handshake=None) as p:
        hello = b"\x03" + bytes(8) + bytes(1528)
        for at in range(0, len(hello), 97):
            p.raw(hello[at:at + 97])
        answer = p.take(3073)
        p.raw(answer[1:1537])
        data = chunks(20, 0, amf0.encode("connect", 1, {"app": "live"}), 0, 3)
        for at in range(len(data)):
            p.raw(data[at:at + 1])
        p.answer(1)


def test_everything_in_one_segment(weir):
    """C0, C1 and the rest written without waiting for an answer."""
    w = weir()
    with Rtmp(w.rtmp, handshake=None) as p:
        c1 = bytes(8) + bytes(range(256)) * 5 + bytes(248)
        words = chunks(20, 0, amf0.encode("connect", 1, {"app": "live"}), 0,
                       3)
        words += chunks(20, 0, amf0.encode("createStream", 2, None), 0, 3)
        p.raw(b"\x03" + c1 + c1 + words)
        p.take(3073)
        p.answer(1)
        assert p.answer(2)[-1] >= 1


def test_acknowledgements_both_ways(weir):
    w = weir()
    with publisher(w.rtmp, "live", "room") as p:
        p.send(WINDOW, struct.pack(">I", 100_000), csid=2)
        f = Feed(w.rtmp, client=p, size=10_000).head().frames(100)
        p.send(20, amf0.encode("createStream", 99, None))
        p.answer(99)
        assert p.acks, "no acknowledgement for a megabyte"
        assert all(b > a for a, b in zip(p.acks, p.acks[1:]))
        assert p.window > 0, "the server asks for no acknowledgements"
        del f


def test_player_acknowledgements_are_taken(weir):
    w = weir()
    f = Feed(w.rtmp, size=20_000).head()
    with player(w.rtmp, "live", "room") as c:
        f.frames(200)
        read_until(c, "video 199")
        c.send(ACK, struct.pack(">I", 0xffffffff), csid=2)
        f.frames(1)
        read_until(c, "key 200")
    f.stop()


def test_client_ping_is_answered(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.control(PING, 12345)
        while True:
            m = c.read(CONTROL)
            if m.payload[:2] == b"\0\x07":
                assert struct.unpack(">I", m.payload[2:6])[0] == 12345
                break


def test_server_pings_and_closes_who_does_not_answer(weir):
    w = weir(rtmp='ping_interval = "1s"; ping_timeout = "3s";')
    with player(w.rtmp, "live", "room") as good, \
            player(w.rtmp, "live", "room") as bad:
        bad.answer_pings = False
        while "closed after" not in w.log():
            good.silent(0.2, VIDEO)  # reads, and so answers
        assert "ping" in w.log()
        bad.wait_closed()
        Feed(w.rtmp).head().frames(2).stop()
        read_until(good, "video 1")


# ---- bombs: memory grows by bytes received, not by what headers declare ----

def test_declared_sizes_cost_nothing(weir):
    w = weir()
    worker = w.workers()[0]
    before = resident(worker)
    bombs = []
    for n in range(50):
        p = publisher(w.rtmp, "live", f"bomb{n}")
        head = b"\0\0\0" + b"\xff\xff\xff" + bytes([VIDEO]) + \
            struct.pack("<I", 1) + b"few bytes"
        try:
            for csid in range(3, 63):
                p.raw(basic_header(0, csid) + head)
        except OSError:
            pass  # refused: so many half messages at once
        bombs.append(p)
    assert w.workers()[0] == worker
    grown = resident(worker) - before
    assert grown < 24 << 20, f"{grown >> 20} MB for 50 connections"
    for p in bombs:
        p.close()


def test_too_large_a_message_is_refused_with_a_reason(weir):
    w = weir(rtmp='max_message = "1M";')
    with publisher(w.rtmp, "live", "room") as p:
        p.set_chunk_size(65536)
        p.raw(chunks(VIDEO, 0, bytes(2 << 20), p.msid, 6, 65536)[:200_000])
        p.wait_closed()
    w.wait_log("message")


def test_memory_of_half_messages_is_capped(weir):
    """Many chunk streams, each nearly whole."""
    w = weir(rtmp='max_message = "1M"; max_memory = "4M";')
    worker = w.workers()[0]
    before = resident(worker)
    p = publisher(w.rtmp, "live", "room")
    p.set_chunk_size(0xffffff)
    try:
        for csid in range(10, 60):
            part = chunks(VIDEO, 0, bytes(1 << 20), 1, csid, 0xffffff)
            p.raw(part[:-1])
    except OSError:
        pass
    assert resident(worker) - before < 32 << 20
    p.wait_closed()
    p.close()


def test_many_chunk_streams_are_bounded(weir):
    """65 536 chunk streams with a few bytes each."""
    w = weir()
    worker = w.workers()[0]
    before = resident(worker)
    p = Rtmp(w.rtmp)
    p.connect("live")
    try:
        for csid in range(64, 65600):
            p.raw(basic_header(0, csid) + b"\0\0\0\0\0\x09\x09\1\0\0\0" +
                  b"12345678")
    except OSError:
        pass
    assert resident(worker) - before < 32 << 20
    p.close()
    # Nobody else notices.
    wait_for(lambda: Rtmp(w.rtmp).connect("live"), what="another session")
