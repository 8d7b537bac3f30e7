"""The end of a stream: who plays it gets all that was published, then is told
at once, whatever gathering and hold say."""
# SPDX-License-Identifier: BSD-2-Clause

import time

import pytest

import flv
from control_client import wait_players
from feed import Feed, kinds, number, read_until, video_numbers
from flv_client import FlvPlayer
from rtmp_client import AUDIO, VIDEO, Closed, Rtmp, player

GATHER = ["auto", "0s", "30ms", "1s"]
FRAMES = 41


def audio_numbers(messages):
    return [number(m.payload) for m in messages if m.type == AUDIO
            and not flv.is_header(flv.Tag(m.type, 0, m.payload))]


class Watcher:
    """A player of either kind."""

    def __init__(self, w, framing, name="room", **more):
        self.flv = framing == "flv"
        self.c = FlvPlayer(w.http, name, **more) if self.flv \
            else player(w.rtmp, "live", name, **more)

    def until(self, wanted):
        return self.c.read_until(wanted) if self.flv \
            else read_until(self.c, wanted)

    def rest(self):
        """All media up to the end of the connection."""
        got = []
        try:
            while True:
                m = self.c.tag() if self.flv else \
                    self.c.read(AUDIO, VIDEO)
                if m is None:
                    return got
                got.append(m)
        except Closed as e:
            assert str(e) == "end of stream"
            return got

    def close(self):
        self.c.close()


def leave(f, how):
    if how == "delete":
        f.c.command("deleteStream", None, f.c.msid)
    else:
        f.c.close()


@pytest.mark.parametrize("how", ["delete", "close"])
@pytest.mark.parametrize("framing", ["rtmp", "flv"])
@pytest.mark.parametrize("gather", GATHER)
def test_without_hold_all_that_was_published_comes(weir, gather, framing,
                                                   how):
    w = weir(workers=2, hold="0s", app=f'gather = "{gather}";')
    f = Feed(w.rtmp).head().frames(3)
    watchers = [Watcher(w, framing) for _ in range(6)]
    first = [c.until("video 2") for c in watchers]
    while f.next < FRAMES:
        f.frame()
        time.sleep(0.004)  # in several sends; the last ones wait to be gathered
    f.c.send(AUDIO, flv.aac_frame(FRAMES), f.time(), f.c.msid, csid=4)
    leave(f, how)
    for c, before in zip(watchers, first):
        got = before + c.rest()
        assert video_numbers(got) == list(range(FRAMES))
        assert audio_numbers(got) == list(range(1, FRAMES + 1))
        c.close()
    f.c.close()


@pytest.mark.parametrize("framing", ["rtmp", "flv"])
def test_large_frames_at_the_end_come_whole(weir, framing):
    """More than sockets take at once, to players that read slowly."""
    w = weir(workers=2, hold="0s", live='window = "10m";')
    f = Feed(w.rtmp, size=60_000, audio=False).head().frames(3)
    f.c.set_chunk_size(60_000)
    slow = {"rtmp": {"receive_buffer": 4096}, "flv": {}}[framing]
    watchers = [Watcher(w, framing, **slow) for _ in range(4)]
    for c in watchers:
        c.until("video 2")
    with f.c.one_send():
        while f.next < 60:
            f.frame()
        leave(f, "delete")
    for c in watchers:
        assert video_numbers(c.rest()) == list(range(3, 60))
        c.close()
    f.c.close()


def test_who_reads_is_told_the_end_while_another_does_not(weir):
    """Its end waits for the one that is stuck, the others do not; and the
    name can be published again meanwhile."""
    w = weir(hold="0s", live='window = "10m";')
    f = Feed(w.rtmp, size=60_000).head().frames(1)
    stuck = Rtmp(w.rtmp, receive_buffer=4096)
    stuck.connect("live")
    stuck.play("room")
    healthy = [Watcher(w, "rtmp"), Watcher(w, "flv")]
    wait_players(w, 3)
    first = [c.until("key 0") for c in healthy]
    f.c.set_chunk_size(60_000)
    f.frames(149)  # 9 MB: within max_stream_memory, more than a socket takes
    f.c.close()
    for c, before in zip(healthy, first):
        assert video_numbers(before + c.rest()) == list(range(150))
        c.close()
    g = Feed(w.rtmp, first=150, size=1000).head().frames(2)
    with player(w.rtmp, "live", "room") as c:
        assert video_numbers(read_until(c, "video 151")) == [150, 151]
    g.stop()
    stuck.close()


def test_a_stuck_player_is_not_waited_for_longer_than_the_window(weir):
    w = weir(hold="0s", live='window = "500ms";')
    f = Feed(w.rtmp, size=60_000).head().frames(1)
    stuck = Rtmp(w.rtmp, receive_buffer=4096)
    stuck.connect("live")
    stuck.play("room")
    wait_players(w, 1)
    f.c.set_chunk_size(60_000)
    f.frames(149)
    f.c.close()
    w.wait_log("ended, no publisher came back")
    stuck.wait_closed()


def test_who_waits_for_the_next_publisher_stays(weir):
    """A player that came too late for one has waited for the other."""
    w = weir(workers=2, hold="0s", live='window = "10m";')
    f = Feed(w.rtmp, size=60_000).head().frames(1)
    stuck = Rtmp(w.rtmp, receive_buffer=4096)
    stuck.connect("live")
    stuck.play("room")
    wait_players(w, 1)
    f.c.set_chunk_size(60_000)
    f.frames(149)
    f.c.close()
    w.wait_log("publisher left")
    late = [player(w.rtmp, "live", "room") for _ in range(4)]
    stuck.close()
    w.wait_log("ended, no publisher came back")
    g = Feed(w.rtmp).head().frames(5)
    for c in late:
        assert kinds(read_until(c, "video 4"))[3] == "key 0"
        c.close()
    g.stop()
