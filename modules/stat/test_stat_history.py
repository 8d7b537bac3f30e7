"""/history: it outlives reloads, workers and streams."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
from urllib.parse import quote

from feed import Feed
from http_client import get
from stat_client import LOCATION
from weir import wait_for

LEVELS = [(1000, 300), (10_000, 360), (120_000, 720)]


def history(w, key=None):
    """The answer, after a look at its shape; None: it has no points."""
    a = get(w.http, "/stat/history" + (f"?of={quote(key, '')}" if key else ""))
    assert a.header("cache-control") == "no-store"
    assert a.status == 200, a.body
    told = a.json()
    assert told["key"] == key
    assert told["series"] == (["video", "audio"] if key else ["in", "out"])
    for level, (step, most) in zip(told["levels"], LEVELS):
        assert level["step_ms"] == step and len(level["points"]) <= most
        assert 0 <= level["age_ms"]
        for point in level["points"]:
            assert point is None or all(n >= 0 for n in point)
    return told if told["levels"][0]["points"] else None


def seconds(w, key=None):
    told = history(w, key)
    return told["levels"][0]["points"] if told else []


def answers(w):
    try:
        return get(w.http, "/stat/history").status == 200
    except OSError:
        return False


def test_history_of_a_stream_and_of_the_node(weir):
    w = weir(locations=LOCATION, workers=2)
    assert history(w, "live/a") is None
    f = Feed(w.rtmp, name="a").head().run()
    wait_for(lambda: len([p for p in seconds(w, "live/a") if p and p[0] > 0]) >
             2, 15)
    wait_for(lambda: any(p and p[0] > 0 for p in seconds(w)), 10)
    f.stop()
    # What was stays when the stream is over, marked where it was not there.
    wait_for(lambda: seconds(w, "live/a")[-1] is None, 20)
    assert any(p and p[0] > 0 for p in seconds(w, "live/a"))
    assert get(w.http, "/stat/history?of=a").status == 400


def test_history_outlives_reload_and_worker(weir):
    w = weir(locations=LOCATION, workers=2)
    f = Feed(w.rtmp, name="a").head().run()
    wait_for(lambda: len([p for p in seconds(w, "live/a") if p and p[0]]) > 2,
             15)
    count = len(seconds(w, "live/a"))
    w.reload()
    assert len(seconds(w, "live/a")) >= count
    f.stop()
    before = w.workers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(set(w.workers()) - set(before)) == 2, 20)
    wait_for(lambda: answers(w), 20)
    after = seconds(w, "live/a")
    assert len(after) >= count and any(p and p[0] > 0 for p in after)


def test_history_is_bounded(weir):
    w = weir(locations=LOCATION, live="history_streams = 1;", hold="1s")
    a = Feed(w.rtmp, name="a").head().run()
    wait_for(lambda: history(w, "live/a"), 10)
    b = Feed(w.rtmp, name="b").head().run()
    wait_for(lambda: len(seconds(w, "live/a")) > 3, 20)
    assert history(w, "live/b") is None
    a.stop()
    wait_for(lambda: history(w, "live/b"), 20)
    assert history(w, "live/a") is None
    b.stop()


def test_no_history(weir):
    w = weir(locations=LOCATION, live="history_streams = 0;")
    assert history(w) is None
