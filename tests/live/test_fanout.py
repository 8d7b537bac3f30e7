"""Many players of one stream, with and without io_uring: the same bytes."""
# SPDX-License-Identifier: BSD-2-Clause

import hashlib
import os
import socket

import pytest

import flv
from patience import busy
import weir as fixture
from feed import Feed, kinds, read_until
from rtmp_client import player
from weir import descriptors

PLAYERS = 90  # more than one submission has room for
FRAMES = 30

DENY = """#!/usr/bin/python3
import ctypes, errno, os, struct, sys

IO_URING_SETUP = 425
libc = ctypes.CDLL(None, use_errno=True)
allow, deny = 0x7fff0000, 0x00050000 | errno.EPERM
code = ctypes.create_string_buffer(b"".join(
    struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 1, IO_URING_SETUP),
        (0x06, 0, 0, deny), (0x06, 0, 0, allow))))
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
os.execv("{binary}", ["{binary}", *sys.argv[1:]])
"""


def rings(w):
    return [link for pid in w.workers()
            for link in descriptors(pid).values()
            if link == "anon_inode:[io_uring]"]


def kernel_grants(w):
    return "no io_uring" not in w.log()


class RawFlv:
    """A player that keeps what it gets as it is."""

    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port), busy(10))
        self.s.sendall(b"GET /live/room.flv HTTP/1.0\r\n\r\n")
        self.got = b""

    def until(self, end):
        """The body up to and with the bytes that end it."""
        while end not in self.got:
            part = self.s.recv(65536)
            assert part, "closed early"
            self.got += part
        body = self.got[self.got.index(b"\r\n\r\n") + 4:]
        return body[:body.index(end) + len(end)]


def digest(messages):
    h = hashlib.sha256()
    for m in messages:
        h.update(repr(m).encode())
    return h.hexdigest()


def fan_out(w):
    """What each of many players got: {digest} over RTMP, {body} over FLV."""
    players = [player(w.rtmp, "live", "room") for _ in range(PLAYERS)]
    raw = [RawFlv(w.http) for _ in range(PLAYERS // 3)]
    f = Feed(w.rtmp, size=40_000, gop=10).head()
    for n in range(FRAMES):
        f.frame()
        last = f"{'key' if n % 10 == 0 else 'video'} {n}"
        got = [read_until(c, last) for c in players]
        for c, messages in zip(players, got):
            c.all = getattr(c, "all", []) + messages
    end = flv.avc_frame(FRAMES - 1, 40_000, (FRAMES - 1) % 10 == 0)[-64:]
    bodies = {c.until(end) for c in raw}
    digests = {digest(c.all) for c in players}
    assert kinds(players[0].all)[:3] == ["meta", "video header",
                                         "audio header"]
    for c in players:
        c.close()
    for c in raw:
        c.s.close()
    f.stop()
    return digests, bodies


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bytes_with_and_without_io_uring(weir, workers):
    on = weir(workers=workers)
    off = weir(workers=workers, live="io_uring = false;")
    assert len(rings(on)) == (workers if kernel_grants(on) else 0)
    assert not rings(off)
    results = [fan_out(w) for w in (on, off)]
    assert results[0] == results[1]
    assert len(results[0][0]) == 1, "RTMP players got different messages"
    assert len(results[0][1]) == 1, "FLV players got different bytes"


def test_denied_io_uring_is_said_and_done_without(weir, tmp_path, monkeypatch):
    script = tmp_path / "denied"
    script.write_text(DENY.replace("{binary}", os.path.abspath(fixture.BINARY)))
    os.chmod(script, 0o755)
    monkeypatch.setattr(fixture, "BINARY", str(script))
    w = weir()
    w.wait_log(r"\[info\].* live: no io_uring: Operation not permitted: "
               r"players are sent to one by one")
    assert w.log().count("no io_uring") == 1
    assert not rings(w)
    digests, bodies = fan_out(w)
    assert len(digests) == len(bodies) == 1


def test_players_leave_while_others_watch(weir):
    """Each time some hang up, some by a reset, while frames go out."""
    w = weir()
    players = [player(w.rtmp, "live", "room") for _ in range(PLAYERS)]
    f = Feed(w.rtmp, size=20_000, gop=10).head()
    for n in range(FRAMES):
        for c in players[-2:]:
            c.reset() if n % 2 else c.close()
        del players[-2:]
        f.frame()
        for c in players:
            got = read_until(c, f"{'key' if n % 10 == 0 else 'video'} {n}")
            assert len(got) <= 5
    for c in players:
        c.close()
    f.stop()
