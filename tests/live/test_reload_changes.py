"""Reloads that change listeners, locations and the count of workers while
everything weir does goes on: requests, streams, a relay, the store, speech, a
download, clients of Socket.IO."""
# SPDX-License-Identifier: BSD-2-Clause

import errno
import itertools
import json
import os
import random
import select
import socket
import struct
import threading
import time
from urllib.parse import urlencode

import pytest

from control_client import ctl
from feed import Feed
from http_client import Http, get, request
from patience import busy
from socket_help import Place, WebSocket
from test_reload_load import Load, Watcher
from weir import free_port, wait_for

TOTAL_RETRANS = 100  # struct tcp_info, its offset
EXTRA = 4        # ports that come and go
STAY = 5         # reloads that publishers and players stay for
WORKERS = (2, 4, 1, 3, 2)
FAKE = os.path.abspath(os.path.join(
    os.path.dirname(__file__), "../../modules/downloads/fake_engine_help.py"))
# Guests stay for STAY reloads, and each generation between has workers that
# end when their last connection does.
TOP = ('keepalive_min_timeout = "1h"; max_generations = 16; '
       'egress = [ "allow loopback", "deny all" ]; '
       'tts = ( { name = "main"; } ); '
       'downloads = ( { name = "main"; directory = "run/downloads"; '
       f'min_free = "0"; engine_path = "{FAKE}"; }} );')
CONTROL = ('{ path = "/control"; module = "relay"; '
           'rate = { rate = "100000/s"; }; },'
           '{ path = "/speech"; module = "tts"; },'
           '{ path = "/downloads"; module = "downloads"; },')
GOES_ON = "http://fake.test/tick"


def can_bind(port):
    """As another server would."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
            return True  # a visitor would come to one that listens
        except OSError:
            return False


def refuses(port):
    """The first packet, not the one that a client sends a second later."""
    with socket.socket() as s:
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        select.select([], [s], [], busy(10))
        info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        again = struct.unpack_from("I", info, TOTAL_RETRANS)[0]
        error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return (error, again) == (errno.ECONNREFUSED, 0)


def reload(w):
    """It is told to be done."""
    done = ctl(w, "reload", timeout=busy(60))
    assert done.returncode == 0, done.stderr


class Visitor(threading.Thread):
    """Asks at a port that comes and goes: it is answered or refused."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.wrong, self.over = port, [], False
        self.answered = self.refused = 0
        self.start()

    def _ask(self):
        with Http(self.port) as c:
            c.send("GET", "/healthz")
            if c.answer().status == 200:
                self.answered += 1
            else:
                self.wrong.append("not 200")

    def run(self):
        while not self.over:
            try:
                self._ask()
            except ConnectionRefusedError:
                self.refused += 1
            except (OSError, EOFError) as e:
                self.wrong.append(repr(e))
            time.sleep(0.02)


class Speaker(threading.Thread):
    """Asks for speech, again and again."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.wrong, self.over, self.said = port, [], False, 0
        self.start()

    def run(self):
        while not self.over:
            try:
                a = request(self.port, "POST", "/speech/",
                            body=b'{"text": "Number one."}')
                assert a.status == 200 and a.body.startswith(b"RIFF"), a.status
                self.said += 1
            except (OSError, EOFError, AssertionError) as e:
                self.wrong.append(repr(e))
            time.sleep(0.1)


class Downloads:
    """One that goes on, and clients that hear of those that are added."""

    def __init__(self, port):
        self.port = port
        wait_for(lambda: get(port, "/downloads/history").status == 200, 10)
        self.add(GOES_ON)
        self.began = wait_for(self.running, 30, "a run")["started_at"]
        place = Place(port)
        target = "/downloads/socket.io/?EIO=4&transport="
        self.socket = WebSocket(place.connect(), target + "websocket")
        self.socket.send("40")
        self.waits = request(port, "GET", target + "polling")
        assert self.waits.status == 200
        sid = json.loads(self.waits.body[1:])["sid"]
        self.poll = f"{target}polling&sid={sid}"
        assert request(port, "POST", self.poll, body=b"40").status == 200

    def add(self, url, **fields):
        body = {"url": url, "quality": "best", **fields}
        a = request(self.port, "POST", "/downloads/add",
                    body=json.dumps(body).encode())
        assert a.status == 200 and a.json()["status"] == "ok", a.body

    def running(self):
        found = get(self.port, "/downloads/history").json()["queue"]
        return next((e for e in found if e["status"] == "downloading"), None)

    def look(self, n):
        """Both hear of another one."""
        url = f"http://fake.test/{n}"
        self.add(url, auto_start=False)
        told = f'"url":"{url}"'
        while told not in self.socket.receive_data():
            pass
        heard = ""
        while told not in heard:
            a = get(self.port, self.poll)
            assert a.status == 200, (a.status, a.body)
            heard = a.body.decode()
            if "2" in heard.split("\x1e"):
                request(self.port, "POST", self.poll, body=b"3")
        assert self.running()["started_at"] == self.began


class Guests:
    """A publisher with a player of each kind, who stay for a while."""

    def __init__(self, w, name, relayed):
        self.feed = Feed(w.rtmp, name=name, size=300).head()
        self.feed.run(0.5)
        self.players = [Watcher(w, name, kind) for kind in ("rtmp", "flv")]
        self.players.append(Watcher(w, relayed, "rtmp"))
        wait_for(lambda: all(p.last or p.wrong for p in self.players), 30,
                 "all players play")

    def leave(self):
        reached = [p.last or 0 for p in self.players]
        wait_for(lambda: all(p.wrong or p.last > before for p, before
                             in zip(self.players, reached)), 20, "frames")
        assert [p.wrong for p in self.players if p.wrong] == []
        for p in self.players:
            p.stop()
        self.feed.stop()


class Changing:
    """A weir whose configuration is never twice the same."""

    def __init__(self, weir):
        self.ports = [free_port() for _ in range(EXTRA)]
        self.main, self.number = free_port(), 0
        self.open = set(self.ports)
        self.w = weir(**self.parts())
        self.path = f"{self.w.prefix}/run/other.sock"

    def parts(self):
        n = self.number
        listen = [f'"127.0.0.1:{p}"'
                  for p in (self.main, *sorted(self.open))]
        if n % 2:
            listen.append('"unix:run/other.sock"')
        return {"workers": WORKERS[n % len(WORKERS)], "top": TOP,
                "http_listen": ", ".join(listen),
                "apps": f', {{ name = "app{n}"; publish = "key"; }}',
                "locations": CONTROL + f'{{ path = "/new{n}"; '
                'module = "status"; },'}

    def reload(self):
        """Who was removed is free for others."""
        before = self.open
        self.number += 1
        self.open = {p for p in self.ports if random.random() < 0.5}
        self.w.set_config(**self.parts())
        reload(self.w)
        for port in before - self.open:
            assert refuses(port) and can_bind(port)
        for port in self.open:
            assert get(port, "/healthz").status == 200
        assert get(self.main, f"/control/get?room=r{self.number}").status == \
            200
        if self.number % 2:
            assert get(None, "/healthz", path=self.path).status == 200
        else:
            wait_for(lambda: not os.path.exists(self.path), 2, "no path")


def relay_from(w, there, name):
    asked = urlencode({"oper": "start", "app": "live", "name": name,
                       "url": there.rtmp_url("far"), "wait": 60})
    assert get(w.http, f"/control/pull?{asked}").status == 200


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["http_listen", "rtmp_listen"])
def test_an_address_that_is_gone_refuses_at_once(weir, kind, workers):
    """As soon as the reload is told to be done; it is free for others, and
    connections to it are served."""
    stays = free_port()
    w = weir(workers=workers, **{kind: f'"127.0.0.1:{stays}"'})
    for _ in range(4):
        gone = free_port()
        w.set_config(workers=workers, **{
            kind: f'"127.0.0.1:{stays}", "127.0.0.1:{gone}"'})
        reload(w)
        with socket.create_connection(("127.0.0.1", gone), busy(10)) as s:
            w.set_config(workers=workers, **{kind: f'"127.0.0.1:{stays}"'})
            reload(w)
            assert refuses(gone) and can_bind(gone)
            if kind == "http_listen":
                s.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert s.recv(100).startswith(b"HTTP/1.1 200 ")


def reload_and_change(weir, count):
    there = weir()
    far = Feed(there.rtmp, "far", size=300).head()
    far.run(0.5)
    c = Changing(weir)
    relay_from(c.w, there, "relayed")
    load = Load(c.main, busy=64, fresh=100)
    visitors = [Visitor(p) for p in c.ports]
    speaker, downloads = Speaker(c.main), Downloads(c.main)
    guests, names = [], itertools.count()
    for n in range(count):
        if n % STAY == 0:
            for g in guests:
                g.leave()
            guests = [Guests(c.w, f"room{next(names)}", "relayed")]
        c.reload()
        before = load.done
        wait_for(lambda b=before: load.done > b + 100, 20, "load goes on")
        downloads.look(n)
    for g in guests:
        g.leave()
    load.stop()
    for v in [speaker, *visitors]:
        v.over = True
        v.join()
    far.stop()
    print(f"{load.done} requests, {len(load.failed)} failed; ports that come "
          f"and go: {sum(v.answered for v in visitors)} answered, "
          f"{sum(v.refused for v in visitors)} refused; "
          f"{speaker.said} times speech")
    assert load.failed == [] and speaker.wrong == [] and speaker.said > 0
    assert [v.wrong for v in visitors if v.wrong] == []


def test_reloads_that_change_much(weir):
    reload_and_change(weir, 8)


@pytest.mark.soak
def test_100_reloads_that_change_much(weir):
    reload_and_change(weir, 100)
