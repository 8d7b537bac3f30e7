"""Players that do not read cost nobody else anything."""
# SPDX-License-Identifier: BSD-2-Clause

import time

import pytest

from feed import Feed, kinds, read_until, video_numbers
from http_client import Http
from rtmp_client import VIDEO, Rtmp, player
from weir import SANITIZED, resident


def stuck_player(port, name="room"):
    c = Rtmp(port, receive_buffer=4096)
    c.connect("live")
    c.play(name, wait=False)
    return c


@pytest.mark.parametrize("io_uring", ["true", "false"])
def test_never_reading_players_beside_healthy_ones(weir, io_uring):
    w = weir(live=f'window = "1s"; max_stream_memory = "8M"; '
             f'io_uring = {io_uring};')
    stuck = [stuck_player(w.rtmp) for _ in range(10)]
    for _ in range(5):
        c = Http(w.http)
        c.send("GET", "/live/room.flv")
        stuck.append(c)
    healthy = [player(w.rtmp, "live", "room") for _ in range(5)]
    before = resident(w.workers()[0])
    f = Feed(w.rtmp, size=20_000, gop=25).head()
    for n in range(200):
        f.frame()
        for c in healthy:
            got = read_until(c, f"{'key' if n % 25 == 0 else 'video'} {n}")
            assert video_numbers(got) == [n]
    # What waits for stuck players is bounded: at most one frame each.
    limit = 200 << 20 if SANITIZED else 8 << 20
    assert resident(w.workers()[0]) - before < limit
    for c in healthy + stuck:
        c.close()
    f.stop()


def test_slow_player_skips_to_a_key_frame_and_stays_whole(weir):
    """Falls behind, then reads on: whole frames, from a key frame, no
    timestamp back."""
    w = weir(live='window = "30s"; max_stream_memory = "4M";')
    c = Rtmp(w.rtmp, receive_buffer=8192)
    c.connect("live")
    c.play("room")
    f = Feed(w.rtmp, size=60_000, gop=10).head()
    for _ in range(250):  # more than sockets and window hold: 15 MB
        f.frame()
        time.sleep(0.005)
    got = read_until(c, "video 249", timeout=15)
    numbers = video_numbers(got)
    assert numbers == sorted(numbers)
    assert len(numbers) < 250, "nothing was skipped: the test is too weak"
    for a, b in zip(numbers, numbers[1:]):
        assert b == a + 1 or b % 10 == 0, f"{a} then {b}"
    back = [(a.time, b.time, kinds([a, b])) for a, b in zip(got, got[1:])
            if b.time < a.time]
    assert not back
    c.close()
    f.stop()


def test_player_that_never_reads_is_closed_in_the_end(weir):
    w = weir(live='window = "1s"; max_stream_memory = "4M";',
             rtmp='send_timeout = "2s";')
    c = stuck_player(w.rtmp)
    f = Feed(w.rtmp, size=30_000, gop=10).head().run(speed=2)
    w.wait_log(r"player .*(slow|stuck|behind|taken nothing|send)", 20)
    f.stop()
    c.close()


def test_publisher_is_not_slowed_by_stuck_players(weir):
    w = weir(live='window = "1s"; max_stream_memory = "8M";',
             rtmp='send_timeout = "1h";')
    stuck = [stuck_player(w.rtmp) for _ in range(20)]
    f = Feed(w.rtmp, size=50_000).head().frames(300)
    with player(w.rtmp, "live", "room") as c:
        assert c.read(VIDEO)
    for s in stuck:
        s.close()
    f.stop()
