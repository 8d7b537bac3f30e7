"""A worker in the hands of a stranger: whatever it writes, sends or calls, the
master lives, serves with a new worker, and stops in time.

The module modules/stranger of this folder does what the stranger would."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re

import pytest

import weir as weir_py
from control_client import Control
from feed import Feed
from http_client import Http, get
from rtmp_client import Closed
from weir import SANITIZED, stat_of, wait_for


@pytest.fixture(scope="module")
def stranger_binary(binary_with):
    return binary_with("stranger")


@pytest.fixture
def taken_over(stranger_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", stranger_binary)

    def start(**parts):
        w = weir(locations='{ path = "/stranger"; module = "stranger"; },',
                 hold="200ms", **parts)
        w.allowed.append(r"worker \d+ \(pid \d+\) (was ended by signal|"
                         "ended with status)")
        w.may_grow = True
        return w
    return start


def go(w, how):
    """What the stranger's worker says it could do; it may die of it."""
    with Http(w.http) as c:
        c.send("GET", f"/stranger/{how}")
        try:
            return c.answer().body.decode()
        except (Closed, ConnectionError, EOFError):
            return "it died"


def lives(w):
    """The master answers, and somebody serves who can be published to."""
    with Control(w) as c:
        assert c.json("show info")["pid"] == w.master()
        for words in ("show proc", "show streams", "show sess", "show limits",
                      "show events", "show errors", "show metrics",
                      "show relays"):
            c.ask(words)
    assert stat_of(w.master())
    wait_for(w.workers, 20, "a worker")
    wait_for(lambda: serves(w), 30, "a worker that serves")


def serves(w):
    try:
        return get(w.http, "/healthz").status == 200
    except OSError:
        return False


def kill_workers(w):
    """What the operator would: the next ones are nobody's but weir's."""
    before = w.workers()
    for pid in before:
        os.kill(pid, 9)
    wait_for(lambda: w.workers() and not set(before) & set(w.workers()), 20,
             "new workers")


def publishes(w):
    """A stream comes, is seen, and ends when its hold is over."""
    feed = Feed(w.rtmp, "after").head().frames(30)
    with Control(w) as c:
        wait_for(lambda: "live/after" in "\n".join(c.ask("show streams")), 10,
                 "the stream")
        feed.stop()
        wait_for(lambda: "live/after" not in "\n".join(c.ask("show streams")),
                 10, "the end of the stream")


@pytest.mark.parametrize("how", ["segments", "ends", "names", "times"])
def test_words_of_streams(taken_over, how):
    w = taken_over()
    feed = Feed(w.rtmp).head().frames(60)
    assert go(w, how) in ("done", "it died")
    lives(w)
    feed.stop()
    with Control(w) as c:
        wait_for(lambda: all(row["state"] != "live"
                             for row in c.json("show streams")), 20,
                 "nobody publishes")
    lives(w)
    kill_workers(w)
    lives(w)
    publishes(w)


def test_rubbish_everywhere(taken_over):
    if SANITIZED:
        pytest.skip("the worker's own report is none of the master's")
    w = taken_over(workers=2)
    feeds = [Feed(w.rtmp, f"room{i}").head().frames(30) for i in range(4)]
    go(w, "rubbish")
    lives(w)
    for feed in feeds:
        feed.c.close()
    kill_workers(w)
    lives(w)
    assert len(w.log()) < 4 << 20


def told(w):
    """Counts of weir as a dict by series, and what is negative, of the control
    socket, whose process nobody has taken over."""
    with Control(w) as c:
        lines = c.ask("show metrics")
        limits = c.json("show limits")
    kinds = dict(line.split()[2:4] for line in lines
                 if line.startswith("# TYPE"))
    values = {series: float(value) for series, value in
              (line.rsplit(" ", 1) for line in lines if line[:1] == "w")}
    below = [s for s, value in values.items() if value < 0]
    below += [row["name"] for row in limits if row["used"] < 0]
    counts = {s: value for s, value in values.items()
              if re.sub("(_bucket|_sum|_count)?({.*)?$", "", s) in
              [k for k, kind in kinds.items() if kind == "histogram"]
              or kinds.get(s.split("{")[0]) == "counter"}
    return counts, below


def test_counters_do_not_fall_and_no_number_is_negative(taken_over):
    if SANITIZED:
        pytest.skip("the worker's own report is none of the master's")
    w = taken_over(workers=2)
    for _ in range(5):
        get(w.http, "/healthz")
    before, _ = told(w)
    assert sum(before.values()) > 0
    go(w, "rubbish")
    for stranger in (True, False):
        after, below = told(w)
        assert not below
        lost = {s: (value, after.get(s)) for s, value in before.items()
                if not s.startswith("weir_stream_") and
                not 0 <= after.get(s, -1) - value < 1e9}
        assert not lost
        if stranger:
            lives(w)
            kill_workers(w)
            lives(w)
        before = after


def test_last_words_without_end(taken_over):
    w = taken_over()
    assert go(w, "words") == "it died"
    w.wait_log(r"ended with status 1")
    lives(w)
    assert len(re.findall(r"\[crit\]", w.log())) < 100
    publishes(w)


def test_what_is_the_masters_cannot_be_written(taken_over):
    w = taken_over()
    first = w.workers()
    assert go(w, "writable-cards") == "EACCES"
    assert go(w, "writable-keys") == "EACCES"
    assert go(w, "descriptor") == "ENOENT"
    assert go(w, "ftruncate") == "EPERM"
    assert go(w, "wait") == "EPERM"
    assert w.workers() == first
    if not SANITIZED:
        assert go(w, "card") == "it died"
        w.wait_log("was ended by signal 11")
    lives(w)
    publishes(w)


def test_messages_in_the_name_of_others(taken_over):
    w = taken_over(workers=2)
    go(w, "forge")
    w.wait_log(r"\[error\].* was refused: this process may not send it")
    lives(w)
    assert "[debug]" not in w.log()
    assert len(re.findall("was refused", w.log())) < 1000
    go(w, "much")
    w.wait_log("was refused: it is too long")
    lives(w)
    publishes(w)


def test_mailboxes_are_shut_down(taken_over):
    """Processes that hear nothing any more are replaced, and the master does
    not go round and round."""
    w = taken_over(workers=2)
    first = set(w.workers())
    go(w, "shutdown")
    wait_for(lambda: len(w.workers()) == 2 and not first & set(w.workers()),
             30, "other workers")
    lives(w)
    publishes(w)
    w.reload()
    before = processor_time(w.master())
    lives(w)
    assert processor_time(w.master()) - before < 2


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
