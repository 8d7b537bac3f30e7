"""kill -9 of the fetcher and of the keeper between the steps of an entry: the
keeper is held, so that the write of the step waits, and then one of them
dies."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import threading
from contextlib import contextmanager, suppress

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from media_server_help import content
from weir import wait_for

__all__ = ["downloads", "media"]  # fixtures
OK = {"status": "ok", "not_found": []}
SIZE = 4 << 20

victims = pytest.mark.parametrize("victim", ["fetcher", "keeper"])


@contextmanager
def death(d, victim):
    """The keeper is held within; behind it the victim is dead, the other one
    goes on."""
    d.weir.children_may_crash = True
    d.weir.allowed += ["fetcher", "keeper"]
    keeper, = d.processes("weir: keeper")
    os.kill(keeper, signal.SIGSTOP)
    old, = d.processes(f"weir: {victim}")
    yield
    with suppress(ProcessLookupError):  # the watchdog was quicker
        os.kill(old, signal.SIGKILL)
        os.kill(keeper, signal.SIGCONT)
    wait_for(lambda: d.processes(f"weir: {victim}") not in ([], [old]), 20,
             "another one")
    wait_for(lambda: d.get("history").status == 200, 20, "the queue")


class Asked(threading.Thread):
    """A request that is under way."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.ok = ask, None
        self.start()

    def run(self):
        a = self.ask()
        self.ok = a.status == 200 and a.json()["status"] == "ok"

    def answered(self):
        self.join()
        return self.ok


def held(d, media):
    url = media.file("/held.mp4", SIZE, hold=2 << 20)
    d.added(url)
    wait_for(lambda: (d.find(url)["percent"] or 0) > 20, 15, "a half")
    return url


def all_of(d, url):
    return [e for entries in d.history().values() for e in entries
            if e["url"] == url]


@victims
def test_added(downloads, media, victim):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    with death(d, victim):
        asked = Asked(lambda: d.add(url, auto_start=False))
        wait_for(lambda: media.asked("/small.mp4") and
                 not d.processes("weir-supervisor"), 20, "its extraction")
    if asked.answered():
        assert len(all_of(d, url)) == 1
    else:
        d.added(url, auto_start=False)
    assert len(all_of(d, url)) == 1
    assert d.start(url).json() == OK
    d.wait_done(url)
    assert d.files() == ["small.mp4"]


@victims
def test_started(downloads, media, victim):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url, auto_start=False)
    with death(d, victim):
        asked = Asked(lambda: d.start(url))
        asked.join(0.5)
    if not asked.answered():
        d.start(url)
    d.wait_done(url)
    assert len(all_of(d, url)) == 1 and d.files() == ["small.mp4"]


@victims
def test_completed(downloads, media, victim):
    """The file has its place when the write of the end waits."""
    d = downloads()
    url = held(d, media)
    with death(d, victim):
        media.release("/held.mp4")
        wait_for(lambda: "held.mp4" in d.files(), 20, "its file")
    done = d.wait_done(url, 30)
    assert (done["filename"], done["size"]) == ("held.mp4", SIZE)
    assert len(all_of(d, url)) == 1 and d.files() == ["held.mp4"]
    with open(f"{d.directory}/held.mp4", "rb") as f:
        assert f.read() == content(SIZE)
    wait_for(lambda: not d.run_folders(), 10, "no folder")


@victims
def test_cancelled(downloads, media, victim):
    d = downloads()
    url = held(d, media)
    with death(d, victim):
        asked = Asked(lambda: d.delete(url))
        asked.join(0.5)
    if not asked.answered():
        d.delete(url)
    d.wait_gone(url)
    wait_for(lambda: not d.run_folders() and
             not d.processes("weir-supervisor"), 30, "nothing is left")
    assert d.files() == []


@victims
def test_cancelled_when_it_was_moved(downloads, media, victim):
    """Its file has its place, its end is not written, a client cancels it."""
    d = downloads()
    url = held(d, media)
    with death(d, victim):
        media.release("/held.mp4")
        wait_for(lambda: "held.mp4" in d.files(), 20, "its file")
        asked = Asked(lambda: d.delete(url))
        asked.join(0.5)
    wait_for(lambda: not d.find(url) or d.find(url, "done"), 30, "an end")
    if asked.answered() and not d.find(url):
        wait_for(lambda: d.files() == [], 20, "no file")
    else:
        assert d.files() == ["held.mp4"]
    wait_for(lambda: not d.run_folders(), 20, "no folder")


@victims
def test_gone(downloads, media, victim):
    """The files of a cancelled one are gone, its row is not."""
    d = downloads()
    url = held(d, media)
    with d.listen() as ears:
        assert d.delete(url).json() == OK
        with death(d, victim):
            wait_for(lambda: not d.processes("weir-supervisor"), 30, "its end")
        if victim == "keeper":
            ears.wait_for("canceled", url, timeout=30)
        assert not ears.all("completed")
    d.wait_gone(url)
    d.added(url, auto_start=False)
    assert len(all_of(d, url)) == 1


@victims
def test_cleared(downloads, media, victim):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url)
    d.wait_done(url)
    with death(d, victim):
        asked = Asked(lambda: d.delete(url, where="done"))
        asked.join(0.5)
    if not asked.answered():
        d.delete(url, where="done")
    assert all_of(d, url) == [] and d.files() == ["small.mp4"]
