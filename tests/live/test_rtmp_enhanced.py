"""Enhanced RTMP: passed through byte for byte, and a player's start still
finds codec headers and the key frame."""
# SPDX-License-Identifier: BSD-2-Clause

import struct

import pytest

import amf0
import flv
from flv_client import FlvPlayer
from rtmp_client import AUDIO, DATA, VIDEO, player, publisher

# Video: high bit, frame type, packet type; audio: sound format 9, type.
SEQUENCE_START, CODED, CODED_X, META, MODEX, MULTITRACK = 0, 1, 3, 4, 7, 6
KEY, INTER, COMMAND = 1, 2, 5


def video(fourcc, kind, key, body):
    head = bytes([0x80 | (KEY if key else INTER) << 4 | kind])
    time = b"\0\0\0" if kind == CODED and fourcc in (b"hvc1", b"avc1") \
        else b""
    return head + fourcc + time + body


def audio(fourcc, kind, body):
    return bytes([0x90 | kind]) + fourcc + body


def stream_of(p, fourcc, sound=b"Opus", early=None):
    """Headers, then frames: key 0 .. inter 4, key 5 .. inter 9; early must
    get each of them."""
    p.send(DATA, flv.metadata(), 0, p.msid, csid=4)
    sent = [(VIDEO, video(fourcc, SEQUENCE_START, True, b"config")),
            (AUDIO, audio(sound, SEQUENCE_START, b"OpusHead"))]
    for n in range(10):
        body = struct.pack(">I", n) * 100
        kind = CODED_X if fourcc == b"hvc1" and n % 2 else CODED
        sent.append((VIDEO, video(fourcc, kind, n % 5 == 0, body)))
        sent.append((AUDIO, audio(sound, CODED, body[:40])))
    for n, (kind, body) in enumerate(sent):
        p.send(kind, body, 10 * n, p.msid, csid=6 if kind == VIDEO else 4)
        if early and n == 4:  # headers, key frame: it has started
            assert read_count(early, 5) == sent[:5]
    if early:
        assert read_count(early, len(sent) - 5) == sent[5:]
    p.answer(p.command("_checkbw", None))  # all of it was heard
    return sent


def read_count(c, count):
    return [(m.type, m.payload) for m in
            (c.read(AUDIO, VIDEO) for _ in range(count))]


@pytest.mark.parametrize("fourcc", [b"hvc1", b"av01", b"vp09", b"vp08",
                                    b"avc1", b"vvc1"])
def test_passed_through_and_started_at_the_key_frame(weir, fourcc):
    w = weir(workers=2)
    early = player(w.rtmp, "live", "room")
    p = publisher(w.rtmp, "live", "room")
    sent = stream_of(p, fourcc, early=early)
    late = player(w.rtmp, "live", "room")
    got = read_count(late, 12)
    assert sorted(got[:2]) == sorted(sent[:2])
    assert got[2:] == sent[12:]
    for c in (early, late, p):
        c.close()


@pytest.mark.parametrize("sound", [b"Opus", b"fLaC", b"ac-3", b"ec-3",
                                   b".mp3", b"mp4a"])
def test_sound(weir, sound):
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    sent = stream_of(p, b"av01", sound)
    late = player(w.rtmp, "live", "room")
    got = read_count(late, 12)
    assert sorted(got[:2]) == sorted(sent[:2])
    assert got[2:] == sent[12:]
    late.close()
    p.close()


def test_modex_before_the_frame(weir):
    """Enhanced RTMP v2: a nanosecond offset stands before the packet type."""
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    head = video(b"av01", SEQUENCE_START, True, b"config")
    p.send(VIDEO, head, 0, p.msid, csid=6)

    def modex(key, n):
        first = bytes([0x80 | (KEY if key else INTER) << 4 | MODEX])
        # size - 1, three bytes, then ModEx type 0 and the next packet type
        return first + b"\x02\0\0\x05" + bytes([CODED]) + b"av01" + \
            struct.pack(">I", n) * 50
    frames = [modex(n == 3, n) for n in range(6)]
    for n, body in enumerate(frames):
        p.send(VIDEO, body, 40 * n, p.msid, csid=6)
    with player(w.rtmp, "live", "room") as c:
        assert read_count(c, 4) == \
            [(VIDEO, b) for b in [head] + frames[3:]]
    p.close()


def test_multitrack_passes(weir):
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    with player(w.rtmp, "live", "room") as c:
        p.send(VIDEO, video(b"av01", SEQUENCE_START, True, b"c"), 0, p.msid,
               csid=6)
        p.send(VIDEO, video(b"av01", CODED, True, b"k" * 99), 0, p.msid,
               csid=6)
        # one track, packet type CODED, track id 1
        body = bytes([0x80 | INTER << 4 | MULTITRACK, 0x01]) + b"av01" + \
            b"\x01" + b"z" * 99
        p.send(VIDEO, body, 40, p.msid, csid=6)
        assert read_count(c, 3)[2] == (VIDEO, body)
    p.close()


ONE, MANY, MANY_CODECS = 0, 1, 2  # AvMultitrackType


def tracks_in_one(kind, how, packet, key, bodies):
    """Enhanced RTMP v2: a message of the tracks {id: (fourcc, body)}."""
    first = 0x80 | (KEY if key else INTER) << 4 | MULTITRACK \
        if kind == VIDEO else 0x95
    out = bytes([first, how << 4 | packet])
    for n, (track, (fourcc, body)) in enumerate(bodies.items()):
        out += fourcc if how == MANY_CODECS or n == 0 else b""
        out += bytes([track])
        out += b"" if how == ONE else len(body).to_bytes(3, "big")
        out += body
    return out


MULTITRACKS = {
    "one": (ONE, {1: (b"av01", b"x" * 60)}, {2: (b"Opus", b"o" * 20)}),
    "many": (MANY, {0: (b"av01", b"x" * 60), 1: (b"av01", b"y" * 40)},
             {0: (b"Opus", b"o" * 20), 3: (b"Opus", b"p" * 30)}),
    "many codecs": (
        MANY_CODECS, {0: (b"av01", b"x" * 60), 1: (b"vp09", b"y" * 40)},
        {0: (b"Opus", b"o" * 20), 3: (b"fLaC", b"p" * 30)}),
}


@pytest.mark.parametrize("how", MULTITRACKS)
def test_several_tracks_in_a_message_pass_unchanged(weir, how):
    """To players of RTMP and FLV, to a remote that they are pushed to, and to
    one that pulls them; a later player starts with the headers."""
    how, pictures, sounds = MULTITRACKS[how]
    egress = 'egress = [ "allow loopback", "allow all" ];'
    there = weir(top=egress)
    w = weir(top=egress, app=f'push = ( "rtmp://127.0.0.1:{there.rtmp}/live" );')
    puller = weir(top=egress, app='pull = ( { name = "room"; url = "%s"; } );' %
                  w.rtmp_url("room"))
    clients = [player(x.rtmp, "live", "room") for x in (w, there, puller)]
    p = publisher(w.rtmp, "live", "room")
    sent = []

    def say(key, packet):
        for kind, tracks in ((VIDEO, pictures), (AUDIO, sounds)):
            sent.append((kind, tracks_in_one(kind, how, packet, key, tracks)))
            p.send(kind, sent[-1][1], 20 * len(sent), p.msid, csid=6)
    say(True, SEQUENCE_START)
    say(True, CODED)
    p.answer(p.command("_checkbw", None))
    w.wait_log("relay push live/room.*: running")
    puller.wait_log("relay pull live/room: running")
    for n in range(6):
        say(n == 3, CODED)
    p.answer(p.command("_checkbw", None))
    for c in clients:
        assert read_count(c, 16) == sent
        c.close()
    late = sorted(sent[:2]) + sent[10:]
    for over_flv in (False, True):
        got = first_of(w, 8, over_flv)
        assert sorted(got[:2]) + got[2:] == late
    p.close()


def test_players_start_with_the_first_track(weir):
    """The second track's key frame is not where the picture begins."""
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    sent = [video(b"av01", SEQUENCE_START, True, b"c")]
    for n in range(10):
        sent.append(video(b"av01", CODED, n == 2, b"%d" % n * 50))
        head = 0x80 | (KEY if n == 7 else INTER) << 4 | MULTITRACK
        sent.append(bytes([head, CODED]) + b"av01\1" + b"%d" % n * 50)
    for n, body in enumerate(sent):
        p.send(VIDEO, body, 20 * n, p.msid, csid=6)
    p.answer(p.command("_checkbw", None))
    with player(w.rtmp, "live", "room") as c:
        assert read_count(c, 17) == [(VIDEO, b) for b in sent[:1] + sent[5:]]
    p.close()


def test_codec_header_changes_in_the_middle(weir):
    """A publisher that changes its resolution: late players get the header
    that belongs to the key frame they start at."""
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    stream_of(p, b"hvc1")
    new = video(b"hvc1", SEQUENCE_START, True, b"another config")
    p.send(VIDEO, new, 500, p.msid, csid=6)
    frame = video(b"hvc1", CODED, True, b"k" * 50)
    p.send(VIDEO, frame, 510, p.msid, csid=6)
    with player(w.rtmp, "live", "room") as c:
        got = [b for t, b in read_count(c, 3) if t == VIDEO]
        assert got == [new, frame]
    p.close()


def colours(fourcc, body):
    return bytes([0x80 | COMMAND << 4 | META]) + fourcc + \
        amf0.encode("colorInfo", {"colorConfig": {"bitDepth": 10.0}}) + body


def speakers(fourcc, body):
    return audio(fourcc, META, b"\x01\x02" + body)


def first_of(w, count, flv_too):
    """What a new player gets first, over RTMP or HTTP-FLV."""
    if not flv_too:
        with player(w.rtmp, "live", "room") as c:
            return read_count(c, count)
    c = FlvPlayer(w.http, "room")
    tags = []
    while len(tags) < count:
        tag = c.tag()
        if tag.type != DATA:
            tags.append((tag.type, tag.payload))
    c.close()
    return tags


@pytest.mark.parametrize("flv_too", [False, True], ids=["rtmp", "http-flv"])
@pytest.mark.parametrize("before", [False, True],
                         ids=["behind the header", "before it"])
def test_metadata_of_tracks_reaches_every_player(weir, before, flv_too):
    """Colours (HDR) and speakers that come before the first picture, behind
    the headers as FFmpeg sends them, or before as OBS does."""
    w = weir(workers=2)
    p = publisher(w.rtmp, "live", "room")
    heads = [(VIDEO, video(b"hvc1", SEQUENCE_START, True, b"config")),
             (AUDIO, audio(b"Opus", SEQUENCE_START, b"OpusHead"))]
    metas = [(VIDEO, colours(b"hvc1", b"old")),
             (AUDIO, speakers(b"Opus", b"old"))]
    sent = metas + heads if before else heads + metas
    early = player(w.rtmp, "live", "room")
    for kind, body in sent:
        p.send(kind, body, 0, p.msid, csid=6)

    def pictures(first, count):
        frames = [(VIDEO, video(b"hvc1", CODED_X, n == 0, b"%d" % n * 50))
                  for n in range(count)]
        for n, (kind, body) in enumerate(frames):
            p.send(kind, body, first + 40 * n, p.msid, csid=6)
        p.answer(p.command("_checkbw", None))
        return frames
    frames = pictures(0, 3)
    assert read_count(early, 7) == sent + frames
    assert first_of(w, 7, flv_too) == sent + frames
    # The newest counts, wherever it comes; nobody starts at it.
    new = [(VIDEO, colours(b"hvc1", b"new")),
           (AUDIO, speakers(b"Opus", b"new"))]
    for kind, body in new:
        p.send(kind, body, 0, p.msid, csid=6)
    p.answer(p.command("_checkbw", None))
    assert read_count(early, 2) == new
    assert sorted(first_of(w, 9, flv_too)[:4]) == sorted(heads + new)
    frames = pictures(200, 2)
    assert first_of(w, 6, flv_too)[4:] == frames
    early.close()
    p.close()


def test_metadata_that_change_all_the_time_stop_nobody(weir):
    """No more of them are kept than of onMetaData; all are passed on."""
    w = weir()
    p = publisher(w.rtmp, "live", "room")
    with player(w.rtmp, "live", "room") as c:
        sent = [video(b"hvc1", SEQUENCE_START, True, b"config"),
                video(b"hvc1", CODED_X, True, b"k" * 50)]
        sent += [colours(b"hvc1", b"%d" % n) for n in range(100)]
        sent += [video(b"hvc1", CODED_X, False, b"i" * 50)]
        for part in sent[:2], sent[2:]:  # it has begun before they change
            for n, body in enumerate(part):
                p.send(VIDEO, body, n, p.msid, csid=6)
            assert read_count(c, len(part)) == [(VIDEO, b) for b in part]
    w.wait_log("metadata of .* cannot be kept")
    p.close()
