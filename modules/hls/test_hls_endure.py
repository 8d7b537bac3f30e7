"""Reloads and kill -9 of workers under viewers: no gap in numbers, no name
with other bytes, no long stall.

"make check-long" does 100 of each ($KILLS), with 2 players of hls.js, 4 of
ffmpeg, and 44 of our own; the figures are told."""
# SPDX-License-Identifier: BSD-2-Clause

import os

import pytest

from hls_endure import SETTINGS, Crowd
from patience import busy

TARGET = 2  # s, of the stream


def endure(weir, folder, count, longest, **clients):
    w = weir(workers=2, **SETTINGS)
    crowd = Crowd(w, folder, **clients)
    try:
        for _ in range(count):
            crowd.reload()
            crowd.kill()
    finally:
        crowd.stop()
        print(crowd.figures())
    crowd.check(longest)
    assert crowd.done == {"reloads": count, "kills": count}


def test_three_reloads_and_three_kills(weir, tmp_path):
    endure(weir, tmp_path, 3, busy(TARGET), own=8, pages=1, ffmpegs=1)


@pytest.mark.soak
def test_a_hundred_reloads_and_a_hundred_kills(weir, tmp_path):
    endure(weir, tmp_path, int(os.environ.get("KILLS", "100")), TARGET,
           own=44, pages=2, ffmpegs=4)
