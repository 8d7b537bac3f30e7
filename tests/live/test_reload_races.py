"""Reload: what comes to the master in one and the same turn of its loop."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal

from http_client import get
from weir import descendants, read_text, wait_for

ROUNDS = 12


def state_of(pid):
    """T: stopped, Z: dead and not yet missed..."""
    return read_text(f"/proc/{pid}/stat").rpartition(") ")[2][:1]


def test_hup_together_with_a_dead_worker(weir):
    w = weir(workers=2)
    for n in range(ROUNDS):
        w.kill(signal.SIGSTOP)
        wait_for(lambda: state_of(w.pid) == "T", what="a stopped master")
        dead = w.workers()[0]
        os.kill(dead, signal.SIGKILL)
        wait_for(lambda d=dead: state_of(d) == "Z", what="a dead worker")
        w.kill(signal.SIGHUP)
        w.kill(signal.SIGCONT)
        w.wait_log(f"generation {n + 2} is in force")
        w.wait_log(f"generation {n + 1} has ended")
        wait_for(lambda: len(descendants(w.pid)) == 2, 10,
                 "two workers and nobody else")
        assert len(re.findall("reload: reading", w.log())) == n + 1
    assert get(w.http, "/healthz").status == 200
