"""Bodies that modules/echo sends back as they come."""
# SPDX-License-Identifier: BSD-2-Clause

import hashlib
import os
import subprocess
import threading

from http_client import Http
from patience import busy
from weir import resident, wait_for

BACK = """
    { path = "/back"; module = "echo"; stream = true; routes = [ "* /*" ];
      client_max_body_size = "100M"; },"""
SIZE = 50_000_000


def test_a_large_body_there_and_back(weir, tmp_path):
    w = weir(locations=BACK)
    film, copy = tmp_path / "film", tmp_path / "copy"
    film.write_bytes(os.urandom(SIZE))
    for how in ([], ["-H", "Transfer-Encoding: chunked"]):
        subprocess.run(
            ["curl", "-sSf", "-T", film, "-o", copy, *how, "-m",
             str(busy(60)), w.http_url("/back/film")], check=True)
        assert copy.read_bytes() == film.read_bytes()


def test_a_client_that_reads_slowly_is_read_slowly(weir):
    """weir holds neither the body nor the answer meanwhile."""
    w = weir(locations=BACK)
    before = resident(w.workers()[0])
    sent = [0]
    with Http(w.http) as c:
        c.raw("PUT /back/x HTTP/1.1\r\nHost: a\r\n"
              f"Content-Length: {SIZE}\r\n\r\n")

        def send():
            block = b"x" * 100_000
            while sent[0] < SIZE:
                c.sock.sendall(block)
                sent[0] += len(block)

        sender = threading.Thread(target=send)
        sender.start()

        def stands():
            """The system's buffers, and ours, are full."""
            last[0], now = sent[0], last[0]
            return now == last[0] > 0

        last = [0]
        wait_for(stands, what="a sender that stands")
        assert sent[0] < SIZE
        assert resident(w.workers()[0]) < before + (8 << 20)
        got = hashlib.sha256()
        left = SIZE
        while b"\r\n\r\n" not in c.buffer:
            c.buffer += c.sock.recv(65536)
        rest = c.buffer.split(b"\r\n\r\n", 1)[1]
        while rest:
            got.update(rest)
            left -= len(rest)
            rest = c.sock.recv(65536) if left else b""
        sender.join()
        assert left == 0
    assert got.digest() == hashlib.sha256(b"x" * SIZE).digest()


def test_chunks_and_trailers(weir):
    w = weir(locations=BACK)
    with Http(w.http) as c:
        c.raw("POST /back/x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n"
              "Transfer-Encoding: chunked\r\n\r\n")
        c.raw("3\r\nabc\r\n")
        while b"3\r\nabc\r\n" not in c.buffer:
            c.buffer += c.sock.recv(1000)
        c.raw("0\r\nSum: 7\r\n\r\n")
        while not c.buffer.endswith(b"0\r\nSum: 7\r\n\r\n"):
            more = c.sock.recv(1000)
            assert more
            c.buffer += more
