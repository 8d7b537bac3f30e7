"""What one client may have, and clients that take for ever."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import resource
import signal
import socket
import threading
import time

import pytest

from http_client import Http, get
from patience import busy
from rtmp_client import Rtmp
from weir import SANITIZED, resident, wait_for

GOOD = b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n"


def limits(more):
    return 'limits = { exempt = "deny all"; ' + more + " };"


def connect(port, address="127.0.0.1"):
    s = socket.socket()
    s.settimeout(busy(10))
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    return s


def served(s):
    """Whether a request on this connection is answered 200."""
    try:
        s.sendall(GOOD)
        return s.recv(4096).startswith(b"HTTP/1.1 200 ")
    except (ConnectionResetError, BrokenPipeError):
        return False


# ---- per address ----

def test_connections_of_an_address(weir):
    """Counted over all workers and both protocols; places come free again,
    also those of a worker that dies."""
    w = weir(workers=2, top=limits("connections_per_address = 8;"))
    rtmp = [Rtmp(w.rtmp) for _ in range(3)]
    http = [connect(w.http) for _ in range(5)]
    assert all(served(s) for s in http)
    for _ in range(3):
        with connect(w.http) as s:
            assert not served(s)
        with connect(w.rtmp) as s:
            assert s.recv(1) == b""
    with connect(w.http, "127.0.0.2") as s:
        assert served(s)  # somebody else
    w.wait_log("too many connections of this address")
    http.pop().close()

    def free():
        with connect(w.http) as s:
            return served(s)
    wait_for(free, 5, "a free place")
    for c in rtmp:
        c.sock.close()
    for s in http:
        s.close()
    wait_for(lambda: w.settled(), 5)
    http = [connect(w.http) for _ in range(8)]
    assert all(served(s) for s in http)
    old = w.workers()
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(w.workers()) == 2 and not set(old) & set(w.workers()),
             10, "new workers")
    wait_for(free, 5, "the places of the dead")
    w.may_grow = True


def test_incomplete_heads_of_an_address(weir):
    w = weir(workers=2, top=limits("incomplete_per_address = 4;"),
             http='client_header_timeout = "60s";',
             rtmp='handshake_timeout = "60s";')
    slow = [connect(w.http) for _ in range(3)]
    for s in slow:
        s.sendall(b"GET / HT")
    half = connect(w.rtmp)  # a handshake that does not come
    half.sendall(b"\x03abc")
    for s in slow + [half]:
        w.worker_of(s)  # it is accepted: not behind who comes later

    def is_full():
        with connect(w.http) as s:
            return not served(s)
    wait_for(is_full, 5, "a refusal")
    w.wait_log("too many half-open connections of this address")
    assert served(connect(w.http, "127.0.0.2"))
    slow[0].sendall(b"TP/1.1\r\nHost: t\r\n\r\n")
    slow[0].recv(100)  # one is whole: there is place for another
    done = connect(w.http)
    assert served(done)
    # Whole ones are not counted, however many.
    more = []
    for _ in range(20):
        more.append(connect(w.http))
        assert served(more[-1])
    # The next head of one of them is.
    done.sendall(b"GET / HT")
    wait_for(is_full, 5, "a refusal")
    for s in slow + more + [done, half]:
        s.close()


def test_loopback_is_not_limited(weir):
    w = weir(top="limits = { connections_per_address = 2;"
                 " incomplete_per_address = 2; };")
    many = [connect(w.http) for _ in range(20)]
    assert all(served(s) for s in many)
    for s in many:
        s.close()


# ---- room ----

def test_idle_connections_make_room(weir):
    """Of 40 places 36 may be taken before those go that have been idle
    longest; who is at work stays."""
    w = weir(top="worker_connections = 40;", locations=SLOW["locations"])
    working = connect(w.http)
    working.sendall(b"POST /e HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\n")
    idle = []
    for _ in range(35):
        idle.append(connect(w.http))
        assert served(idle[-1])
    new = [connect(w.http) for _ in range(5)]
    assert all(served(s) for s in new)
    for s in idle[:5]:
        assert s.recv(1) == b""  # these had waited longest
    assert all(served(s) for s in idle[5:])  # and no more than had to
    working.sendall(b"abcde")
    assert working.recv(100).startswith(b"HTTP/1.1 201 ")
    for s in idle + new + [working]:
        s.close()


# ---- slow ones ----

def test_body_byte_by_byte(weir):
    """Keeps every pause short, and is still too slow on the whole."""
    w = weir(http='client_body_timeout = "1s"; client_body_min_rate = 1000;',
             locations='{ path = "/e"; module = "echo"; routes = "* /*"; },')
    with Http(w.http) as c:
        c.raw("POST /e/x HTTP/1.1\r\nHost: t\r\nContent-Length: 9000\r\n\r\n")
        began = time.monotonic()
        stop = threading.Event()

        def trickle():
            while not stop.wait(0.2):
                try:
                    c.raw(b"x")
                except OSError:
                    return
        t = threading.Thread(target=trickle)
        t.start()
        try:
            a = c.answer()
        finally:
            stop.set()
            t.join()
        assert a.status == 408
        assert a.header("connection") == "close"
        assert time.monotonic() - began > 0.9
    # Fast enough, and longer than the time-out.
    status, longest = body_in_pieces(w)
    while longest > 0.5:  # the machine was slow, not weir
        status, longest = body_in_pieces(w)
    assert status == 201


def body_in_pieces(w):
    """(status, seconds of the longest pause)"""
    with Http(w.http) as c:
        c.raw("POST /e/x HTTP/1.1\r\nHost: t\r\nContent-Length: 6000\r\n\r\n")
        longest, last = 0, time.monotonic()
        for _ in range(12):
            c.raw(b"x" * 500)
            longest = max(longest, time.monotonic() - last)
            last = time.monotonic()
            time.sleep(0.15)
        return c.answer().status, longest


def big_file(w, size):
    with open(f"{w.prefix}/html/big", "wb") as f:
        f.truncate(size)


def test_answer_byte_by_byte(weir):
    """A client that takes a little all the time: too slow on the whole."""
    w = weir(http='send_timeout = "1s"; send_min_rate = 1048576;')
    big_file(w, 64 << 20)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(busy(10))
        s.connect(("127.0.0.1", w.http))
        s.sendall(b"GET /big HTTP/1.1\r\nHost: t\r\n\r\n")
        got = 0
        try:
            while True:
                n = len(s.recv(20000))
                got += n
                if n == 0:
                    break
                time.sleep(0.1)
        except ConnectionResetError:
            pass
        assert got < 64 << 20
    w.wait_log("takes the answer too slowly")


def test_lingering_has_an_end(weir):
    """After the last answer a client that goes on sending is heard out, but
    only so far."""
    w = weir(http='lingering_time = "1s"; lingering_timeout = "500ms";'
                  ' lingering_size = "100k";')
    bad = b"GET / HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\n"
    for piece, pause in ((b"x" * 10, 0.1), (b"x" * 50000, 0)):
        with connect(w.http) as s:
            s.sendall(bad)
            assert s.recv(4096).startswith(b"HTTP/1.1 400 ")
            with pytest.raises(OSError):
                for _ in range(1000):  # 100 s, or 50 MB
                    s.sendall(piece)
                    time.sleep(pause)


def test_who_says_close_is_not_heard_out(weir):
    """It sends no other request, so its end need not be waited for."""
    w = weir(http='lingering_timeout = "1h"; lingering_time = "1h";')
    with open(f"{w.prefix}/html/a.html", "w", encoding="ascii") as f:
        f.write("x" * 100)
    with connect(w.http) as s:
        s.sendall(b"GET /a.html HTTP/1.1\r\nHost: t\r\n"
                  b"Connection: close\r\n\r\n")
        answer = b""
        while part := s.recv(4096):
            answer += part
        assert answer.endswith(b"x" * 100)
        with pytest.raises(OSError):  # weir is gone, not lingering
            for _ in range(100):
                s.sendall(b"x")
                time.sleep(0.1)


# ---- slowloris ----

class Crowd:
    """Connections that each say a little now and then."""

    def __init__(self, port, count, first, piece):
        self.socks, self.piece = [], piece
        for n in range(count):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            # more than 28 000 ports are not to be had from one address
            s.bind((f"127.0.1.{n % 200 + 1}", 0))
            s.connect(("127.0.0.1", port))
            s.sendall(first)
            s.setblocking(False)
            self.socks.append(s)

    def say(self):
        for s in self.socks:
            try:
                s.send(self.piece)
            except OSError:
                pass

    def ended(self):
        n = 0
        for s in self.socks:
            try:
                while True:
                    if s.recv(65536) == b"":
                        n += 1
                        break
            except BlockingIOError:
                pass
            except OSError:
                n += 1
        return n

    def close(self):
        for s in self.socks:
            s.close()


def p99(port, count, each=lambda: None):
    """Seconds that 99 of 100 good requests take, each on its own connection."""
    taken = []
    for n in range(count):
        began = time.perf_counter()
        assert get(port, "/healthz").status == 200
        taken.append(time.perf_counter() - began)
        if n % 50 == 0:
            each()
    return sorted(taken)[count * 99 // 100]


def slowloris(w, count):
    """A third sends heads, a third bodies, a third reads nothing."""
    big_file(w, 16 << 20)
    idle = min(p99(w.http, 400) for _ in range(3))
    before = sum(resident(pid) for pid in w.workers())
    crowds = [
        Crowd(w.http, count // 3, b"GET / HTTP/1.1\r\nHost: t\r\n", b"X: a\r\n"),
        Crowd(w.http, count // 3, b"POST /e/x HTTP/1.1\r\nHost: t\r\n"
              b"Content-Length: 100000\r\n\r\n", b"x" * 20),
        Crowd(w.http, count // 3, b"GET /big HTTP/1.1\r\nHost: t\r\n\r\n", b""),
    ]
    try:
        def say():
            for c in crowds[:2]:
                c.say()
        loaded = min(p99(w.http, 400, say) for _ in range(3))
        grown = sum(resident(pid) for pid in w.workers()) - before
        # 16 KB of head, 100 KB of body, and what a file is sent by.
        assert grown / count < (200 << 10 if SANITIZED else 80 << 10), grown
        # The heads end after 3 s, whatever they say.
        wait_for(lambda: crowds[0].say() or crowds[0].ended() == count // 3,
                 60, "the end of slow heads")
        print(f"{count} slow ones: p99 {idle * 1000:.2f} ms idle,"
              f" {loaded * 1000:.2f} ms; {grown / count:.0f} bytes each")
        return idle, loaded
    finally:
        for c in crowds:
            c.close()


SLOW = {
    "http": 'client_header_timeout = "3s";',
    "locations": '{ path = "/e"; module = "echo"; routes = "* /*"; },',
}


def test_slowloris(weir):
    """Good requests notice next to nothing; the machine may be loaded by
    other tests, so the bound here is loose (make check-long has the bar)."""
    w = weir(workers=2, **SLOW)
    idle, loaded = slowloris(w, 501)
    assert loaded < max(10 * idle, busy(0.2)), (idle, loaded)


@pytest.mark.soak
def test_slowloris_ten_thousand(weir):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    w = weir(workers=2, **{**SLOW, "http": 'client_header_timeout = "30s";'})
    idle, loaded = slowloris(w, 10002)
    assert loaded < 2 * idle or loaded < 0.002, (idle, loaded)
