"""Several weirs on one database: one queue, each entry is run by one of them,
and all tell their clients."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import re
import signal

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from http_client import get
from media_server_help import content
from weir import descendants, wait_for

__all__ = ["downloads", "media"]  # fixtures
OK = {"status": "ok", "not_found": []}


@pytest.fixture
def node(postgres, downloads):
    """Starts a weir on the test's database: node("a")."""
    assert postgres

    def start(name, expiry="60s", settings="", **parts):
        d = downloads(settings, store=f'node = "{name}"; '
                      f'node_expiry = "{expiry}";', **parts)
        d.name = name
        return d
    return start


def held(d, media, path="/held.mp4"):
    url = media.file(path, 4 << 20, hold=2 << 20)
    d.added(url)
    wait_for(lambda: (e := d.find(url)) and (e["percent"] or 0) > 20, 30,
             "a half")
    return url


def kill_all(d):
    """The whole weir; the master first, for it would start others anew."""
    d.weir.children_may_crash = True
    for pid in [d.weir.pid] + descendants(d.weir.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    d.weir.process.wait()
    d.weir.status = 0  # nothing is left to look at


def leases(d):
    text = get(d.port, "/metrics").body.decode()
    return sum(float(n) for n in
               re.findall(r"^weir_store_leases (\S+)$", text, re.M))


# ---- all see all ----

def test_what_one_adds_all_tell(node, media):
    a, b = node("a"), node("b")
    url = media.file("/small.mp4", 10_000)
    with a.listen() as at_a, b.listen() as at_b:
        a.added(url, auto_start=False)
        for ears in (at_a, at_b):
            assert ears.wait_for("added", url)["list"] == "pending"
        assert b.start(url).json() == OK
        for ears in (at_a, at_b):
            done = ears.wait_for("completed", url, timeout=30)
            assert (done["status"], done["size"]) == ("finished", 10_000)
            assert ears.names(url) == ["added", "updated", "completed"]
        assert a.history() == b.history()
        assert b.delete(url, where="done").json() == OK
        for ears in (at_a, at_b):
            ears.wait_for("cleared", url)
    assert a.urls("done") == b.urls("done") == []
    assert a.files() + b.files() == ["small.mp4"]  # one of them ran it


def test_the_same_address_at_both(node, media):
    """Both have asked their engine; the queue has it once."""
    a, b = node("a"), node("b")
    url = media.file("/small.mp4", 1000)
    for _ in range(3):
        a.added(url, auto_start=False)
        b.added(url, auto_start=False)
    wait_for(lambda: a.urls("pending") == b.urls("pending") == [url], 10,
             "one of it")


def test_each_entry_is_run_once(node, media):
    a, b = node("a", settings="max_concurrent = 2;"), \
        node("b", settings="max_concurrent = 2;")
    urls = [media.file(f"/{n}.mp4", 20_000 + n, rate=40_000)
            for n in range(8)]
    for n, url in enumerate(urls):
        (a, b)[n % 2].added(url)
    for d in (a, b):
        wait_for(lambda d=d: len(d.urls("done")) == 8, 90, "all of them")
        assert d.urls("done") == urls
        assert {e["status"] for e in d.history()["done"]} == {"finished"}
    assert sorted(a.files() + b.files()) == [f"{n}.mp4" for n in range(8)]
    assert a.files() and b.files()  # both worked
    wait_for(lambda: leases(a) + leases(b) == 0, 10, "no lease is left")


def test_progress_of_another_node(node, media):
    a, b = node("a"), node("b", settings="max_concurrent = 1;")
    url = held(a, media)
    with b.listen() as ears:
        wait_for(lambda: (e := b.find(url)) and (e["percent"] or 0) > 20, 30,
                 "its progress there")
        assert b.find(url)["status"] == "downloading"
        media.release("/held.mp4")
        ears.wait_for("completed", url, timeout=30)
        assert len(ears.all("completed")) == 1
    assert len(b.processes("weir-supervisor") +
               a.processes("weir-supervisor")) == 0


def test_cancelled_at_another_node(node, media):
    a, b = node("a"), node("b")
    url = held(a, media)
    wait_for(lambda: b.find(url), 10, "it there")
    with a.listen() as at_a, b.listen() as at_b:
        other = b if a.processes("weir-supervisor") else a
        assert other.delete(url).json() == OK
        for ears in (at_a, at_b):
            ears.wait_for("canceled", url, timeout=30)
            assert not ears.all("completed")
    for d in (a, b):
        assert d.find(url) is None and d.files() == []
        assert d.run_folders() == [] and not d.processes("weir-supervisor")


def test_a_file_goes_where_it_is(node, media):
    """A file of its name at the other node is another one."""
    a, b = node("a", settings="delete_files = true;"), \
        node("b", settings="delete_files = true;")
    url = media.file("/small.mp4", 1000)
    a.added(url)
    for d in (a, b):
        d.wait_done(url, 30)
    runs, other = (a, b) if a.files() else (b, a)
    assert (runs.files(), other.files()) == (["small.mp4"], [])
    with open(f"{other.directory}/small.mp4", "w", encoding="utf-8") as f:
        f.write("another one")
    assert other.delete(url, where="done").json() == OK
    wait_for(lambda: runs.files() == [], 20, "the end of the file")
    assert runs.urls("done") == other.urls("done") == []
    assert other.files() == ["small.mp4"]


def test_a_file_goes_with_a_record_of_its_own_node(node, media):
    a, b = node("a", settings="delete_files = true;"), \
        node("b", settings="delete_files = true;")
    url = media.file("/small.mp4", 1000)
    b.added(url)
    for d in (a, b):
        d.wait_done(url, 30)
    runs = a if a.files() else b
    assert runs.delete(url, where="done").json() == OK
    assert a.files() + b.files() == []
    wait_for(lambda: a.urls("done") + b.urls("done") == [], 20, "its end")


# ---- one is gone ----

def pair(node, media, **parts):
    """(the node that runs it, the other one, its address)."""
    a, b = node("a", **parts), node("b", **parts)
    url = held(a, media)
    runs = a if a.processes("weir-supervisor") else b
    return runs, b if runs is a else a, url


def test_a_dead_nodes_entries_go_on_elsewhere(node, media):
    runs, other, url = pair(node, media, expiry="2s")
    waits = [media.file(f"/{n}.mp4", 1000) for n in range(3)]
    with other.listen() as ears:
        kill_all(runs)
        for w in waits:
            other.added(w)
        media.release("/held.mp4")
        done = ears.wait_for("completed", url, timeout=60)
        assert done["status"] == "finished"
        assert len(ears.all("completed", url)) == 1
    for w in waits:
        other.wait_done(w)
    with open(f"{other.directory}/held.mp4", "rb") as f:
        assert f.read() == content(4 << 20)


def test_a_cancellation_goes_on_elsewhere(node, media):
    runs, other, url = pair(node, media, expiry="2s")
    with other.listen() as ears:
        os.kill(runs.weir.pid, signal.SIGSTOP)
        fetcher, = runs.processes("weir: fetcher")
        os.kill(fetcher, signal.SIGSTOP)
        assert other.delete(url).json() == OK
        assert other.find(url) is None
        kill_all(runs)
        ears.wait_for("canceled", url, timeout=60)
        assert not ears.all("completed")


def test_a_stop_hands_over(node, media):
    """The expiry is a minute: the other one was told."""
    runs, other, url = pair(node, media)
    assert runs.weir.stop() == 0
    wait_for(lambda: other.processes("weir-supervisor"), 30, "it runs there")
    media.release("/held.mp4")
    other.wait_done(url, 30)


def send_all(family, number):
    """One of them may have come to its end."""
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_sleeping_node_gives_way(node, media):
    """It wakes up when another node runs its entry: its run ends, and nothing
    is told twice."""
    runs, other, url = pair(node, media, expiry="2s")
    family = [runs.weir.pid] + descendants(runs.weir.pid)
    send_all(family, signal.SIGSTOP)
    with other.listen() as ears:
        wait_for(lambda: other.processes("weir-supervisor"), 60,
                 "it runs there")
        send_all(family, signal.SIGCONT)
        wait_for(lambda: not runs.processes("weir-supervisor"), 30,
                 "the end of the first run")
        media.release("/held.mp4")
        ears.wait_for("completed", url, timeout=60)
        # The first has no more to say of it than before its next words.
        last = media.file("/last.mp4", 1000)
        runs.added(last, auto_start=False)
        ears.wait_for("added", last)
        assert len(ears.all("completed", url)) == 1
    wait_for(lambda: runs.urls("done") == other.urls("done") == [url], 20,
             "both know")
    assert runs.files() == []


def test_a_node_that_was_killed_goes_on(node, media):
    """It is started again at once, and has its leases still."""
    runs, other, url = pair(node, media)
    kill_all(runs)
    runs.weir.start()
    runs.weir.status = None
    wait_for(lambda: runs.processes("weir-supervisor"), 30, "it runs again")
    # It may ask its engine's version just now; the entry's would stay.
    wait_for(lambda: not other.processes("weir-supervisor"), 30,
             "nothing runs elsewhere")
    media.release("/held.mp4")
    runs.wait_done(url, 30)
    other.wait_done(url, 30)
