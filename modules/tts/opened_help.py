"""Files that a weir's processes open, as the kernel tells it.

Such a weir sees the machine's files through mounts of its own (unshare(1)), and
fanotify(7) tells what is opened there: file and process.  Files in memory lie
on no mount, and O_PATH opens nothing.
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import ctypes
import os
import re
import shutil
import struct
import threading
import time

import weir as weir_py

LIBC = ctypes.CDLL(None, use_errno=True)
CLOEXEC, NONBLOCK, UNLIMITED = 1, 2, 16  # of fanotify_init()
ADD, MOUNT = 1, 16                       # of fanotify_mark()
OPEN, OVERFLOW = 0x20, 0x4000            # events
KINDS = ("proc", "ext4", "xfs", "btrfs", "overlay", "tmpfs", "sysfs",
         "devtmpfs")


def fanotify():
    """A descriptor; -1: the kernel has it not, or it is not for us."""
    return LIBC.fanotify_init(UNLIMITED | CLOEXEC | NONBLOCK,
                              os.O_RDONLY | os.O_LARGEFILE)


def can_watch():
    fd = fanotify()
    if fd != -1:
        os.close(fd)
    return fd != -1 and shutil.which("unshare") is not None


def use_own_mounts(monkeypatch, folder):
    """For the next weir that is started."""
    program = folder / "weir"
    program.write_text("#!/bin/sh\nexec unshare --mount "
                       f"{os.path.abspath(weir_py.BINARY)} \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setattr(weir_py, "BINARY", str(program))


def mounts(pid):
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as f:
        for line in f:
            place, kind = re.match(r"(?:\S+ ){4}(\S+) .* - (\S+) ",
                                   line).groups()
            if kind in KINDS:
                yield place


class Opened:
    """What all but some processes open while this is entered: paths has how
    often."""

    def __init__(self, w, all_but):
        self.all_but = set(all_but)
        self.paths, self.lost, self.ends = collections.Counter(), False, False
        self.fd = fanotify()
        self.marks = [self.mark(f"/proc/{w.pid}/root{place}")
                      for place in mounts(w.pid)]
        assert any(self.marks), "no mount can be watched"
        self.thread = threading.Thread(target=self.run)

    def mark(self, path):
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False  # a file, or hidden below another mount
        done = LIBC.fanotify_mark(self.fd, ADD | MOUNT, ctypes.c_uint64(OPEN),
                                  folder, None)
        os.close(folder)
        return done == 0

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        os.close(self.fd)

    def run(self):
        while not self.read() or not self.ends:
            time.sleep(0.01)

    def read(self):
        """Whether there is nothing more."""
        try:
            events = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return True
        while events:
            size, _, _, _, mask, fd, pid = struct.unpack_from("=IBBHQii",
                                                              events)
            events = events[size:]
            self.lost |= bool(mask & OVERFLOW)
            if fd >= 0:
                if pid not in self.all_but:
                    self.paths[os.readlink(f"/proc/self/fd/{fd}")] += 1
                os.close(fd)
        return False
