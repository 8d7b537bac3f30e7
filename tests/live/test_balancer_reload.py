"""Reloads behind HAProxy with connection reuse: clients see none of them."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import pytest

from balancer import Haproxy
from test_balancer import REQUESTS, REUSE, Crowd, behind, server
from weir import wait_for


def check_reloads(weir, tool, tmp_path, count):
    """Reloads one after the other until all requests are answered."""
    w = behind(weir, workers=2)
    w.may_grow = True
    h = tool(Haproxy(tmp_path, REUSE + server(w)))
    before = set(w.workers())
    crowd = Crowd(h.port, count)
    reloads = 0
    while crowd.running() or reloads < 3:
        w.kill(signal.SIGHUP)
        wait_for(lambda: not before & set(w.workers()), 60,
                 f"the workers of reload {reloads}")
        before = set(w.workers())
        reloads += 1
    assert crowd.join() == count
    wait_for(lambda: w.access_log().count("\n") == count, 30, "lines")


def test_reloads(weir, tool, tmp_path):
    check_reloads(weir, tool, tmp_path, REQUESTS)


@pytest.mark.soak
def test_reloads_long(weir, tool, tmp_path):
    check_reloads(weir, tool, tmp_path,
                  int(os.environ.get("WEIR_REQUESTS", "1000000")))
