"""The control socket, spoken to by hand, and the real weirctl."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import socket
import subprocess

from patience import busy
from weir import BINARY, wait_for

WEIRCTL = os.path.join(os.path.dirname(BINARY), "weirctl")


def connect(w, path="run/control.sock"):
    """A raw socket; the path may be longer than a socket's address."""
    folder = os.open(os.path.dirname(f"{w.prefix}/{path}"), os.O_RDONLY)
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(busy(10))
        s.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        return s
    finally:
        os.close(folder)


class Control:
    """A connection that takes one command after the other."""

    def __init__(self, w, path="run/control.sock"):
        self.s = connect(w, path)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def send(self, line):
        data = line if isinstance(line, bytes) else line.encode()
        self.s.sendall(data + b"\n")

    def answer(self):
        """Its lines, up to the empty one."""
        while b"\n\n" not in self.buffer:
            data = self.s.recv(1 << 20)
            assert data, f"ended after {self.buffer!r}"
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\n\n", 1)
        return text.decode().split("\n")

    def line(self):
        while b"\n" not in self.buffer:
            data = self.s.recv(1 << 20)
            assert data, f"ended after {self.buffer!r}"
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\n", 1)
        return text.decode()

    def ask(self, line):
        self.send(line)
        return self.answer()

    def json(self, line):
        lines = self.ask(line + " --json")
        assert len(lines) == 1, lines
        return json.loads(lines[0])

    def ended(self, timeout=5):
        self.s.settimeout(busy(timeout))
        try:
            while self.s.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except socket.timeout:
            return False


def wait_players(w, count=1):
    """Until so many have said what they want to play."""
    with Control(w) as c:
        wait_for(lambda: len([r for r in c.json("show sess")
                              if r["kind"] != "publisher"]) >= count, 10,
                 "players")


def ctl(w, *words, before=(), stdin=None, timeout=30):
    """weirctl to its end, where weir stands."""
    return subprocess.run([*before, WEIRCTL, *words], cwd=w.prefix,
                          input=stdin, timeout=busy(timeout),
                          capture_output=True, text=True, check=False)


def ctl_json(w, *words):
    r = ctl(w, "--json", *words)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)
