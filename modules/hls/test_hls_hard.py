"""HLS when things go on around it: reloads under what is being answered,
clients that leave, a master that is killed."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import pytest

from hls_endure import AWAY, SETTINGS, Loop, make_loop
from hls_play import Player, Playlist
from http_client import Http, get
from patience import busy
from weir import configuration, free_port, wait_for


@pytest.fixture
def loop(weir, tmp_path):
    """loop(settings..): a weir and a publisher that comes back."""
    running = []

    def start(**parts):
        w = weir(**{"workers": 2, **SETTINGS, **parts})
        running.append(Loop(w.rtmp, make_loop(tmp_path / "loop.flv")))
        return w, running[0], Player(w).start()

    yield start
    for source in running:
        source.stop()


def metrics(w):
    return get(w.http, "/metrics").body.decode()


def wait_waiting(w, count):
    wait_for(lambda: f"weir_hls_waiting {count}\n" in metrics(w), 20,
             f"{count} that wait")


def ask(c, target):
    h = Http(c.w.http)
    h.send("GET", c.base + target)
    return h


# ---- reloads ----

def test_reload_under_blocked_requests(loop):
    """Those that wait in a worker that is replaced are answered by it."""
    w, source, c = loop()
    source.leave()
    wait_for(lambda: source.client.sock.fileno() == -1, 10, "nobody")
    got = c.list()
    waiting = [ask(c, f"{c.media}&_HLS_msn={got.last + 1}") for _ in range(6)]
    waiting += [ask(c, got.hint) for _ in range(2)]
    wait_waiting(w, 8)
    w.reload()
    source.back()
    for h in waiting:
        try:
            a = h.answer()
        except AWAY:
            continue  # asked again below
        if a.status == 200 and a.body.startswith(b"#EXTM3U"):
            assert Playlist(a.body.decode()).last >= got.last + 1
        else:
            # The hinted part is none when the segment ended before it.
            assert a.status in (200, 404, 503), a.body
        h.close()
    wait_for(lambda: c.list().last > got.last, 20, "more")
    wait_waiting(w, 0)


def test_reload_under_an_endless_answer(loop):
    """NAME.mp4 goes on in the worker that has it."""
    w, _, c = loop()
    h = ask(c, "room.mp4")
    h.sock.settimeout(busy(10))
    assert h.head().status == 200
    assert h.sock.recv(1000)
    w.reload()
    came = 0
    while came < 30000:  # seconds of the stream, longer than was on its way
        data = h.sock.recv(65536)
        assert data
        came += len(data)
    assert get(w.http, "/hls/live/room.still.mp4").status == 200
    h.close()


def test_reload_changes_how_streams_are_cut(loop):
    """It counts for those that begin afterwards."""
    w, _, c = loop()
    before = c.list().target
    text = configuration(**{"workers": 2, **SETTINGS,
                            "app": 'segment = "4s"; part = "500ms";'})
    w.set_config(text)
    w.reload()
    last = c.list().last
    got = wait_for(lambda: (g := c.list()).last > last + 1 and g, 20, "more")
    assert got.target == before == 3
    other = Loop(w.rtmp, f"{os.path.dirname(w.prefix)}/loop.flv", "other")
    try:
        assert Player(w, "other").start().list().target == 5
    finally:
        other.stop()


def test_stop_under_viewers(loop):
    """QUIT: who waits does not hold the worker, who is being answered gets
    the whole answer."""
    w, source, c = loop(grace='stop_grace = "20s";')
    got = wait_for(lambda: (g := c.list()).segments and g, 20, "a segment")
    target = got.segments[-1]
    whole = c.get(target).body
    waiting = [ask(c, f"{c.media}&_HLS_msn={got.last + 2}") for _ in range(4)]
    wait_waiting(w, 4)
    slow = ask(c, target)
    w.kill(signal.SIGQUIT)
    assert slow.answer().body == whole
    source.stop()
    w.wait_exit(60)
    for h in waiting + [slow]:
        h.close()


# ---- clients that leave ----

def test_places_of_those_who_leave(loop):
    """Who closes while it waits has its place free at once."""
    w, source, c = loop(workers=1, locations=(
        '{ path = "/hls"; module = "hls"; max_waiting = 3; },'))
    source.leave()
    wait_for(lambda: source.client.sock.fileno() == -1, 10, "nobody")
    wanted = f"{c.media}&_HLS_msn={c.list().last + 2}"
    for _ in range(3):
        waiting = [ask(c, wanted) for _ in range(3)]
        wait_waiting(w, 3)
        a = c.get(wanted)
        assert a.status == 503
        assert a.header("retry-after") == "1"
        for h in waiting:
            h.close()
        wait_waiting(w, 0)


# ---- all of it anew ----

def test_killed_master(loop):
    """Started anew, streams have other words and higher numbers."""
    where = f'"127.0.0.1:{free_port()}"'
    w, _, c = loop(http_listen=where,
                   rtmp_listen=f'"127.0.0.1:{free_port()}"')
    before = c.list()
    w.kill(signal.SIGKILL)
    w.process.wait()
    wait_for(lambda: not w.workers(), 10, "the end of all")
    w.start()
    got = wait_for(lambda: (a := c.playlist()).status == 200 and
                   Playlist(a.body.decode()), 40, "the stream")
    assert got.first > before.last
    assert not set(got.segments) & set(before.segments)
    assert c.get(before.segments[-1]).status == 404
