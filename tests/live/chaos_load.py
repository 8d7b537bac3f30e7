"""Everything at once that a node does, for tests that disturb it: publishers
that come and go, players, requests, words on the control socket, reloads and
killed workers; and clients of all kinds of services (chaos_clients.py).

What fails does not matter at once.  Clients of a kind note when they were last
served right: served_since() waits until all have been.  Each client gives up by
itself.
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import contextlib
import os
import random
import signal
import socket
import threading
import time

from chaos_clients import KINDS, UNSERVED, Site
from control_client import Control
from feed import Feed
from http_client import get
from rtmp_client import player, publisher
from weir import free_port, wait_for

NAMES = [f"room{n}" for n in range(6)]
PATIENCE = 3  # seconds that a client gives the server
SHOWN = ("show streams", "show streams live/room0", "show sess", "show proc",
         "show info", "show events info", "show errors 50", "show limits",
         "show listeners", "show metrics", "show sess all", "show relays",
         "show upstreams", "set upstream far/127.0.0.1:1 weight 3",
         "kick stream live/room1", "kick stream live/room2 players",
         "kick addr 192.0.2.7", "clear counters", "set state ready")
REQUESTS = ("/", "/healthz", "/readyz", "/stat/streams", "/stat/server",
            "/metrics", "/nowhere", "/control/relays", "/far/x",
            "/control/get?room=room1", "/control/reset?room=room2",
            "/control/delete?room=room3",
            "/control/push?oper=start&app=live&name=room4&url={remote}",
            "/control/push?oper=stop&app=live&name=room4&url={remote}",
            "/control/pull?oper=start&app=live&name=far&url={remote}",
            "/control/pull?oper=stop&app=live&name=far&url={remote}")

LOCATIONS = '''
  { path = "/control"; module = "relay"; rate = { rate = "100000/s"; }; },
  { path = "/stat"; module = "stat"; },
  { path = "/far"; module = "proxy"; upstream = "far"; },'''

# Nobody listens there: requests, checks and fails are counted all the time.
UPSTREAM = '''
  { name = "far"; balance = "least_connections"; queue = 4;
    servers = ( { address = "127.0.0.1:1"; max_connections = 9; },
                { address = "127.0.0.1:2"; fail_timeout = "100ms"; } );
    health = { path = "/"; interval = "100ms"; }; }'''


# A weir that makes all memory that processes share.
SHARING = ('max_generations = 2; limits = { keys = 4096; }; '
           'egress = [ "allow loopback", "deny all" ];')


class Load:
    """Runs from start() to stop(); done counts what went well.  kinds: names of
    chaos_clients.KINDS, each of which has two clients."""

    def __init__(self, w, rng=None, kinds=(), reload_s=5, kill_s=4):
        self.w = w
        self.rng = rng or random.Random()
        self.remote = f"rtmp://127.0.0.1:{free_port()}/live/far"
        self.rtmp, self.http = w.rtmp, w.http
        self.done = collections.Counter()
        self.stopping, self.resting = threading.Event(), threading.Event()
        self.site = Site(w) if kinds else None
        self.served = dict.fromkeys(kinds, 0.0)  # when that use began
        self.unserved = {}  # kind: why, the last time
        every = [(self.publish, 0.05)] * 4 + [(self.play, 0.05)] * 4 + \
            [(self.play_flv, 0.05)] * 2 + [(self.request, 0.02)] * 2 + \
            [(self.refused, 0.2), (self.ask, 0.05)] + \
            [(self.reload, reload_s), (self.kill, kill_s)]
        self.threads = [threading.Thread(target=self._repeat, args=a,
                                         daemon=True) for a in every] + \
            [threading.Thread(target=self._use, args=(kind,), daemon=True)
             for kind in kinds for _ in range(2)]

    def start(self):
        for t in self.threads:
            t.start()
        return self

    def stop(self):
        self.stopping.set()
        for t in self.threads:
            t.join(PATIENCE * 10)
        if self.site:
            self.site.stop()

    @contextlib.contextmanager
    def rest(self):
        """Nobody is killed, kicked or reloaded meanwhile."""
        self.resting.set()
        try:
            yield
        finally:
            self.resting.clear()

    def served_since(self, begin, timeout):
        """{kind: seconds from then until a use of it had gone well}"""
        found = {}

        def all_are():
            now = time.monotonic()
            for kind, last in self.served.items():
                if last > begin:
                    found.setdefault(kind, now - begin)
            return len(found) == len(self.served)

        try:
            wait_for(all_are, timeout)
        except AssertionError:
            raise AssertionError("not served: " + str(
                {k: self.unserved.get(k) for k in self.served
                 if k not in found})) from None
        return found

    def _repeat(self, what, pause):
        rng = random.Random(self.rng.random())
        while not self.stopping.wait(pause):
            if self.resting.is_set() and what in (self.ask, self.reload,
                                                  self.kill):
                continue
            try:
                what(rng)
                self.done[what.__name__] += 1
            except UNSERVED:
                pass

    def _use(self, kind):
        rng = random.Random(self.rng.random())
        while not self.stopping.wait(0.1):
            begin = time.monotonic()
            try:
                KINDS[kind](self.site, rng)
                self.served[kind] = max(begin, self.served[kind])
                self.done[kind] += 1
            except UNSERVED as e:
                self.unserved[kind] = repr(e)
                self.done[f"{kind} failed"] += 1

    # ---- clients ----

    def publish(self, rng):
        c = publisher(self.rtmp, "live", rng.choice(NAMES), timeout=PATIENCE)
        feed = Feed(0, client=c, size=4000).head().run(speed=4)
        try:
            self.stopping.wait(rng.uniform(0.3, 4))
        finally:
            feed.stop()

    def play(self, rng):
        with player(self.rtmp, "live", rng.choice(NAMES),
                    timeout=PATIENCE) as c:
            self._drink(c.sock, rng)

    def play_flv(self, rng):
        with socket.create_connection(("127.0.0.1", self.http),
                                      PATIENCE) as s:
            name = rng.choice(NAMES)
            s.sendall(f"GET /live/{name}.flv HTTP/1.1\r\n"
                      "Host: a\r\n\r\n".encode())
            self._drink(s, rng)

    def _drink(self, s, rng):
        s.settimeout(0.5)
        end = time.monotonic() + rng.uniform(0.5, 5)
        while time.monotonic() < end and not self.stopping.is_set():
            try:
                if not s.recv(1 << 18):
                    return
            except socket.timeout:
                pass

    def request(self, rng):
        target = rng.choice(REQUESTS).format(remote=self.remote)
        get(self.http, target, timeout=PATIENCE)

    def refused(self, _rng):
        with socket.create_connection(("127.0.0.1", self.http),
                                      PATIENCE) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
            s.recv(1000)

    def ask(self, rng):
        with Control(self.w) as c:
            c.s.settimeout(PATIENCE)
            c.ask(rng.choice(SHOWN))

    # ---- what an operator does ----

    def reload(self, _rng):
        with Control(self.w) as c:
            c.s.settimeout(PATIENCE)
            c.ask("reload")

    def kill(self, rng):
        os.kill(rng.choice(self.w.workers()),
                rng.choice((signal.SIGKILL, signal.SIGSEGV)))
