"""Disks that are full: the directory's, then the store's."""
# SPDX-License-Identifier: BSD-2-Clause

import errno
import os
import subprocess

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from weir import wait_for

__all__ = ["downloads", "media"]  # fixtures

SIZE = 64 << 20


class Disk:
    def __init__(self, path):
        self.path = path
        os.mkdir(path)
        if os.geteuid() != 0:
            pytest.skip("only root may mount")
        made = subprocess.run(["mount", "-t", "tmpfs", "-o",
                               f"size={SIZE},mode=0755", "none", path],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip(f"cannot mount: {made.stderr.strip()}")

    def kill(self):
        subprocess.run(["umount", "-l", self.path], check=True)

    def free(self):
        s = os.statvfs(self.path)
        return s.f_bavail * s.f_frsize

    def fill(self, leave=0):
        with open(f"{self.path}/filler", "ab", buffering=0) as f:
            while self.free() > leave:
                try:
                    f.write(bytes(min(1 << 20, self.free() - leave)))
                except OSError as e:
                    assert e.errno == errno.ENOSPC
                    return

    def empty(self):
        os.unlink(f"{self.path}/filler")


@pytest.fixture
def disk(tool, tmp_path):
    return tool(Disk(f"{tmp_path}/disk"))


def test_a_full_directory(downloads, media, disk):
    d = downloads(directory=f"{disk.path}/d")
    small = media.file("/small.mp4", 100_000, hold=50_000)
    large = media.zeros("/large.mp4", 2 * SIZE)
    d.added(small)
    d.wait_status(small, "downloading", timeout=60)
    before = disk.free()
    with d.listen() as ears:
        d.added(large)
        entry = ears.wait_for("completed", large, timeout=120)
        assert entry["status"] == "error"
        assert "No space left on device" in entry["msg"]
        assert disk.path not in entry["msg"]
    assert len(d.run_folders()) == 1  # the other's
    assert disk.free() >= before - 65536
    media.release("/small.mp4")
    d.wait_done(small, 60)
    assert d.files() == ["small.mp4"]
    wait_for(lambda: d.run_folders() == [], 15, "the end of the runs")
    again = media.file("/again.mp4", 1_000_000)
    d.added(again)
    d.wait_done(again, 60)


def test_nothing_starts_below_min_free(downloads, media, disk):
    d = downloads('min_free = "32M";', directory=f"{disk.path}/d")
    disk.fill(leave=16 << 20)
    urls = [media.file(f"/{n}.mp4", 1000) for n in range(2)]
    d.added(urls[0])
    d.added(urls[1])
    for url in urls:
        assert d.find(url, "queue")["status"] == "pending"
    assert media.asked("/0.mp4") and d.run_folders() == []
    assert d.files() == []
    disk.empty()
    for url in urls:
        d.wait_done(url, 60)


def test_a_full_store(downloads, media, disk):
    d = downloads(store=f'path = "{disk.path}/weir.db";')
    done = media.file("/done.mp4", 1000)
    d.added(done)
    d.wait_done(done, 60)
    active = media.file("/active.mp4", 100_000, hold=50_000)
    d.added(active)
    d.wait_status(active, "downloading", timeout=60)
    disk.fill()
    kept = []
    for n in range(100):
        url = media.file(f"/{n}.mp4", 1000)
        a = d.add(url, auto_start=False)
        if a.status != 200:
            break
        kept.append(url)
    assert a.status == 503 and a.json()["status"] == "error"
    assert int(a.header("Retry-After")) >= 1
    assert d.urls("pending") == kept and not d.find(url)
    assert d.delete(active).status == 503  # nor is this half done
    assert d.find(active, "queue")["status"] == "downloading"
    media.release("/active.mp4")
    wait_for(lambda: "active.mp4" in d.files(), 60, "the file")
    assert d.find(active, "queue")
    disk.empty()
    assert d.wait_done(active, 60)["filename"] == "active.mp4"
    assert d.file(d.find(active, "done")).status == 200
    d.added(url)
    d.wait_done(url, 60)
    d.weir.stop()
