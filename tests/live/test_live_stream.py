"""A stream's life: waiting, starting, holding, ending."""
# SPDX-License-Identifier: BSD-2-Clause

import socket
import struct
import time

import pytest

from feed import STEP, Feed, kinds, number, read_until, video_numbers
from flv import avc_frame
from flv_client import FlvPlayer
from patience import busy
from rtmp_client import (AUDIO, CONTROL, DATA, STREAM_BEGIN, STREAM_EOF,
                         VIDEO, Closed, Refused, Rtmp, player, publisher)


def media_time(messages):
    return [m.time for m in messages if m.type in (AUDIO, VIDEO)]


def read_control(c, event):
    while True:
        m = c.read(CONTROL)
        if struct.unpack(">H", m.payload[:2])[0] == event:
            return struct.unpack(">I", m.payload[2:6])[0]


def test_play_before_publish_waits_and_gets_all(weir):
    w = weir(workers=2)
    with player(w.rtmp, "live", "room") as c:
        c.silent(0.3, AUDIO, VIDEO, DATA)
        f = Feed(w.rtmp).head().frames(5)
        assert kinds(read_until(c, "video 4")) == [
            "meta", "video header", "audio header", "key 0", "audio 1",
            "video 1", "audio 2", "video 2", "audio 3", "video 3",
            "audio 4", "video 4"]
        f.stop()


@pytest.mark.parametrize("gop_cache", ["true", "false"])
def test_who_waited_gets_a_burst_from_its_start(weir, gop_cache):
    """Groups of pictures that come faster than a worker looks: who was there
    before them misses none, on no worker."""
    w = weir(workers=2, app=f"gop_cache = {gop_cache};")
    waiting = [player(w.rtmp, "live", "room") for _ in range(6)]
    f = Feed(w.rtmp, gop=10, size=20)
    with f.c.one_send():
        f.head()
        for _ in range(35):
            f.frame()
    for c in waiting:
        assert video_numbers(read_until(c, "video 34")) == list(range(35))
        c.close()
    f.stop()


@pytest.mark.parametrize("leave", ["deleteStream", "close"])
def test_who_waited_gets_a_burst_whose_publisher_left(weir, leave):
    """What hold keeps is there for those who waited for it."""
    w = weir(workers=2, hold="1h")
    waiting = [player(w.rtmp, "live", "room") for _ in range(6)]
    f = Feed(w.rtmp, gop=10, size=20)
    with f.c.one_send():
        f.head()
        for _ in range(35):
            f.frame()
        if leave == "deleteStream":
            f.c.command("deleteStream", None, f.c.msid)
    f.c.close()
    for c in waiting:
        assert video_numbers(read_until(c, "video 34")) == list(range(35))
        c.close()


def test_burst_at_a_hold(weir):
    """Who came while nobody published gets the next publisher's burst from
    its start, and nothing of the last one's."""
    w = weir(workers=2, hold="1h")
    Feed(w.rtmp, gop=10, size=20).head().frames(15).stop()
    w.wait_log("publisher left")
    waiting = [player(w.rtmp, "live", "room") for _ in range(6)]
    for c in waiting:
        c.silent(0.05, AUDIO, VIDEO)
    f = Feed(w.rtmp, gop=10, size=20, first=100)
    with f.c.one_send():
        f.head()
        for _ in range(35):
            f.frame()
    for c in waiting:
        got = video_numbers(read_until(c, "video 134"))
        assert got == list(range(100, 135))
        c.close()
    f.stop()


def test_join_gets_headers_then_the_last_key_frame(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp, gop=10).head().frames(25)
    for _ in range(6):
        with player(w.rtmp, "live", "room") as c:
            got = read_until(c, "video 24")
            assert set(kinds(got[:3])) == \
                {"meta", "video header", "audio header"}
            assert kinds(got)[0] == "meta"
            assert video_numbers(got) == [20, 21, 22, 23, 24]
    f.stop()


def test_join_without_gop_cache_starts_at_the_next_key_frame(weir):
    w = weir(app="gop_cache = false;")
    f = Feed(w.rtmp, gop=10).head().frames(15)
    with player(w.rtmp, "live", "room") as c:
        c.silent(0.3, VIDEO)
        f.frames(10)
        got = read_until(c, "video 24")
        assert video_numbers(got) == [20, 21, 22, 23, 24]
    f.stop()


def test_play_start_begins_the_stream(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        msid = c.create_stream()
        c.command("play", None, "room", -2000, msid=msid)
        assert read_control(c, STREAM_BEGIN) == msid
        assert c.status()["code"] in ("NetStream.Play.Reset",
                                      "NetStream.Play.Start")
        m = c.read(VIDEO)
        assert m.msid == msid
    f.stop()


def test_second_netstream_gets_its_own_message_stream_id(weir):
    w = weir()
    f = Feed(w.rtmp, "a").head().frames(3)
    g = Feed(w.rtmp, "b", first=100).head().frames(3)
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        one = c.play("a")
        two = c.play("b")
        assert one != two
        seen = {one: [], two: []}
        while len(seen[one]) < 4 or len(seen[two]) < 4:
            m = c.read(VIDEO)
            seen[m.msid].append(m)
        assert video_numbers(seen[one]) == [0, 1, 2]
        # 100 is a key frame: 100 % 25 == 0
        assert video_numbers(seen[two]) == [100, 101, 102]
    f.stop()
    g.stop()


def test_publisher_back_within_hold_continues(weir):
    """Players stay, and timestamps go on by the time that went by."""
    w = weir(workers=2, hold="1h")
    f = Feed(w.rtmp).head().frames(10)
    left = time.monotonic()
    players = [player(w.rtmp, "live", "room") for _ in range(4)]
    before = [read_until(c, "video 9") for c in players]
    f.stop()
    w.wait_log("publisher left")
    for c in players:
        c.silent(0.1, VIDEO)
    away = time.monotonic() - left
    # The encoder starts again from 0, with frames 50...
    g = Feed(w.rtmp, first=50).head().frames(5)
    for c, old in zip(players, before):
        new = read_until(c, "video 54")
        assert video_numbers(new) == [50, 51, 52, 53, 54]
        times = media_time(old + new)
        assert times == sorted(times)
        assert media_time(new)[0] - media_time(old)[-1] >= away * 1000 - 1
        # The new timestamps advance as the encoder's do.
        video = [m.time for m in new if m.type == VIDEO][-5:]
        assert [b - a for a, b in zip(video, video[1:])] == [STEP] * 4
        c.close()
    g.stop()


@pytest.mark.parametrize("start", [-2000, -1000, 0, 5000])
def test_play_for_a_while(weir, start):
    """The duration of play, in milliseconds of the stream; others go on."""
    w = weir(workers=2)
    f = Feed(w.rtmp, gop=10).head().frames(15)
    with player(w.rtmp, "live", "room") as other, Rtmp(w.rtmp) as c:
        c.connect("live")
        m = c.create_stream()
        c.command("play", None, "room", start, 10 * STEP, msid=m)
        c.status("NetStream.Play.Start")
        assert video_numbers(read_until(c, "video 14")) == list(range(10, 15))
        f.frames(10)
        assert video_numbers(read_until(c, "video 19")) == list(range(15, 20))
        assert read_control(c, STREAM_EOF) == m
        c.status("NetStream.Play.Stop")
        c.wait_closed()
        assert video_numbers(read_until(other, "video 24")) == \
            list(range(10, 25))
    f.stop()


@pytest.mark.parametrize("duration", [-1000, 0, float("nan"), "3", None])
def test_play_of_no_duration_goes_on(weir, duration):
    w = weir()
    f = Feed(w.rtmp, gop=10).head().frames(1)
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("play", None, "room", -2000, duration,
                  msid=c.create_stream())
        c.status("NetStream.Play.Start")
        f.frames(54)
        assert video_numbers(read_until(c, "video 54"))[-1] == 54
    f.stop()


def test_new_player_during_hold_waits_for_the_publisher(weir):
    w = weir(workers=2, hold="1h")
    Feed(w.rtmp).head().frames(10).stop()
    w.wait_log("publisher left")
    with player(w.rtmp, "live", "room") as c:
        g = Feed(w.rtmp, first=50).head().frames(3)
        got = read_until(c, "video 52")
        assert video_numbers(got)[-3:] == [50, 51, 52]
        times = media_time(got)
        assert times == sorted(times)
        g.stop()


def test_hold_over_ends_players(weir):
    w = weir(workers=2, hold="1s")
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        f.stop()
        began = time.monotonic()
        assert read_control(c, STREAM_EOF) == c.msid
        assert c.status("NetStream.Play.UnpublishNotify")
        c.wait_closed()
        assert 0.9 < time.monotonic() - began < busy(1)


def test_hold_zero_ends_players_at_once(weir):
    w = weir(hold="0s")
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        f.stop()
        began = time.monotonic()
        c.status("NetStream.Play.UnpublishNotify")
        c.wait_closed()
        assert time.monotonic() - began < busy(1)


def test_publisher_that_resets_is_held_too(weir):
    w = weir(hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        f.c.reset()
        g = Feed(w.rtmp, first=25).head().frames(2)
        read_until(c, "video 26")
        g.stop()


def test_silent_publisher_is_closed_after_idle_timeout(weir):
    w = weir(app='idle_timeout = "1s";')
    f = Feed(w.rtmp).head().frames(3)
    began = time.monotonic()
    f.c.wait_closed()
    assert time.monotonic() - began > 0.9
    w.wait_log("idle|without a message|silent")


def test_close_stream_and_publish_again_on_one_connection(weir):
    w = weir(hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        f.c.command("closeStream", None, msid=f.c.msid)
        f.c.publish("room", msid=f.c.msid)
        f.head()
        f.next = 25
        f.frames(2)
        read_until(c, "video 26")
    f.stop()


def test_fcunpublish_and_delete_stream_then_publish_other_name(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    f.c.command("FCUnpublish", None, "room")
    f.c.command("deleteStream", None, f.c.msid)
    f.c.msid = f.c.publish("other")
    f.next = 25
    f.head().frames(2)
    with player(w.rtmp, "live", "other") as c:
        read_until(c, "video 26")
    f.stop()


def test_stop_playing_and_play_another(weir):
    w = weir()
    f = Feed(w.rtmp, "a").head().frames(3)
    g = Feed(w.rtmp, "b", first=25).head().frames(3)
    with player(w.rtmp, "live", "a") as c:
        read_until(c, "video 2")
        c.command("closeStream", None, msid=c.msid)
        c.play("b", msid=c.msid)
        assert video_numbers(read_until(c, "video 27")) == [25, 26, 27]
    f.stop()
    g.stop()


def test_same_metadata_again_is_sent_once(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(1)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "key 0")
        for _ in range(20):
            f.head()
        f.frames(2)
        got = kinds(read_until(c, "video 2"))
        assert got.count("meta") == 0
    f.stop()


def test_audio_only_stream_plays(weir):
    w = weir()
    f = Feed(w.rtmp, video=False).head().run()
    with player(w.rtmp, "live", "room") as c:
        got = read_until(c, "audio 80")
        numbers = [number(m.payload) for m in got
                   if m.type == AUDIO and m.payload[1] == 1]
        assert numbers == list(range(numbers[0], 81))
    f.stop()


def test_who_waited_for_sound_alone_gets_all_of_it(weir):
    """Also what came before it was clear that there is no picture."""
    w = weir(workers=2)
    waiting = [player(w.rtmp, "live", "room") for _ in range(4)]
    f = Feed(w.rtmp, video=False).head().frames(30)
    for c in waiting:
        got = kinds(read_until(c, "audio 29"))
        assert got == ["meta", "audio header"] + \
            [f"audio {n}" for n in range(30)]
        c.close()
    f.stop()


def test_gather_delays_audio_but_never_loses_it(weir):
    for gather in ('"0s"', '"50ms"', '"350ms"'):
        w = weir(app=f"gather = {gather};")
        with player(w.rtmp, "live", "room") as c:
            f = Feed(w.rtmp).head().run(speed=2)
            got = read_until(c, "video 40")
            f.stop()
            assert video_numbers(got) == list(range(41))
            numbers = [number(m.payload) for m in got
                       if m.type == AUDIO and m.payload[1] == 1]
            assert numbers == list(range(1, 41))  # from the key frame on


def test_gather_does_not_delay_the_start_of_a_player(weir):
    w = weir(app='gather = "1s";')
    f = Feed(w.rtmp).head().frames(20)
    took = []
    for _ in range(5):  # a delay would be in each
        began = time.monotonic()
        with player(w.rtmp, "live", "room") as c:
            read_until(c, "video 19")
            took.append(time.monotonic() - began)
    assert min(took) < 0.9, took
    f.stop()


def test_large_frames_come_through_whole(weir):
    w = weir(live='max_stream_memory = "64M";')
    with player(w.rtmp, "live", "room") as c:
        f = Feed(w.rtmp, size=3_000_000).head().frames(3)
        assert video_numbers(read_until(c, "video 2")) == [0, 1, 2]
        f.stop()


def test_arena_full_refuses_or_drops_but_never_crashes(weir):
    """Many streams in a small arena: old ones go on, none is stuck."""
    w = weir(live='memory = "16M"; max_stream_memory = "4M";', hold="100ms")
    feeds, refused = [], 0
    for n in range(24):
        try:
            f = Feed(w.rtmp, f"s{n}", size=40_000)
        except (Refused, Closed):
            refused += 1
            continue
        feeds.append(f)
    for _ in range(60):
        for f in feeds:
            if f.next == 0:
                f.head()
            try:
                f.frame()
            except OSError:
                pass
    assert len(w.workers()) == 1
    for f in feeds:
        f.stop()
    w.wait_log("ended, no publisher came back", count=len(feeds))
    with player(w.rtmp, "live", "again") as c:
        f = Feed(w.rtmp, "again").head().frames(3)
        assert video_numbers(read_until(c, "video 2")) == [0, 1, 2]
        f.stop()


def test_timestamps_above_the_extended_limit_and_wrap(weir):
    """Across 0xffffff and across 2^32."""
    for start in (0xffffff - 100, 0xffffffff - 100):
        w = weir()
        with player(w.rtmp, "live", "room") as c:
            f = Feed(w.rtmp, size=300)
            f.c.set_chunk_size(128)
            f.origin = start
            f.head()
            for _ in range(6):
                f.origin &= 0xffffffff
                frame_time = f.time() & 0xffffffff
                f.c.send(VIDEO, avc_frame(f.next, 300, f.next == 0),
                         frame_time, f.c.msid, csid=6)
                f.next += 1
            got = read_until(c, "video 5")
            video = [m.time for m in got if m.type == VIDEO][-6:]
            steps = [(b - a) & 0xffffffff for a, b in zip(video, video[1:])]
            assert steps == [STEP] * 5
            f.stop()


@pytest.mark.parametrize("framing", ["rtmp", "flv"])
def test_many_players_all_get_the_same_bytes(weir, framing):
    w = weir(workers=2)
    if framing == "rtmp":
        all_players = [player(w.rtmp, "live", "room") for _ in range(40)]
        until = read_until
    else:
        all_players = [FlvPlayer(w.http, "room") for _ in range(40)]
        until = FlvPlayer.read_until
    f = Feed(w.rtmp).head().frames(20)
    got = [until(c, "video 19") for c in all_players]
    f.frames(30)
    for c, first in zip(all_players, got):
        assert video_numbers(first + until(c, "video 49")) == \
            list(range(50))
        c.close()
    f.stop()


def test_socket_timeouts_are_not_confused_with_silence(weir):
    """The test client itself: silent() fails when something comes."""
    w = weir()
    f = Feed(w.rtmp).head().frames(1)
    with player(w.rtmp, "live", "room") as c:
        with pytest.raises((AssertionError, socket.timeout)):
            c.silent(busy(2), VIDEO)
    f.stop()


def test_publish_twice_on_one_netstream(weir):
    """A second publish on the same NetStream ends the first."""
    w = weir()
    with publisher(w.rtmp, "live", "a") as c:
        c.publish("b", msid=c.msid)
        f = Feed(w.rtmp, "b", client=c)
        f.head().frames(2)
        with player(w.rtmp, "live", "b") as p:
            read_until(p, "video 1")
