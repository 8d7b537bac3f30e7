"""Room for requests that wait: one address, or two together, cannot take it
all."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import re

import pytest

from enhanced_publisher import Clips, EnhancedPublisher, Track
from hls_play import AT, Player
from http_client import Http, get
from patience import busy
from share_help import Hog, NOBODY_EXEMPT, refusals, row
from weir import wait_for

POOL = "hls.max_waiting"
SIZE = 16
ROUNDS = 8


@pytest.fixture
def playing(weir, tmp_path):
    """A stream that goes on as the test says, and a player of it."""
    w = weir(locations=AT % f"max_waiting = {SIZE};", top=NOBODY_EXEMPT,
             app='segment = "1s"; part = "333ms";')
    p = EnhancedPublisher(w.rtmp, tracks=[
        Track(Clips(tmp_path).make("h264", gop=25, size="160x90"))])
    p.send(4)
    yield w, p, Player(w).start()
    p.stop()


def waiting(w):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(r"weir_hls_waiting (\d+)\n", text)[1])


def far(c):
    """What comes last of all that may be asked for."""
    return f"{c.base}{c.media}&_HLS_msn={c.list().last + 2}"


def next_part(c):
    h = Http(c.w.http, timeout=busy(10))
    got = c.list()
    h.send("GET", f"{c.base}{c.media}&_HLS_msn={got.last + 1}&_HLS_part="
                  f"{len([n for n in got.parts if f'/{got.last + 1}.' in n])}")
    return h


@pytest.mark.parametrize("hogs", [1, 2])
def test_others_wait_too(playing, hogs):
    """Those that take it all have half of it each at most; when it is full, the
    largest gives."""
    w, p, c = playing
    with contextlib.ExitStack() as all_of_them:
        took = [all_of_them.enter_context(
            Hog(w, 2 * SIZE, far(c), source=f"127.0.0.{2 + i}"))
            for i in range(hogs)]
        wait_for(lambda: all(h.refused() for h in took), 20, "refusals")
        assert waiting(w) <= (SIZE // 2 if hogs == 1 else SIZE)
        told = row(w, POOL)
        assert told["limit"] == SIZE and told["largest"] in \
            [h.source for h in took], told
        assert told["holds"] <= SIZE // 2
        for _ in range(ROUNDS):
            h = next_part(c)
            c.list()  # so the worker has read the request before
            p.send(0.4)
            a = h.answer()
            assert a.status == 200, a.body
            h.close()
        a = took[0].refused()[0]
        assert a.header("retry-after") == "1"
        assert b"max_waiting" in a.body
        assert refusals(w, POOL) > 0
    w.wait_log(r"hls\.max_waiting: 127\.0\.0\.\d is refused, it has its share")


def test_places_come_back(playing):
    """Whoever leaves, and whoever is answered, has no place any more."""
    w, p, c = playing
    with Hog(w, 2 * SIZE, far(c)) as hog:
        wait_for(hog.refused, 20, "a refusal")
        p.send(4)
    wait_for(lambda: row(w, POOL)["used"] == 0, 20, "nobody waits")
    assert row(w, POOL)["largest"] == "-"
