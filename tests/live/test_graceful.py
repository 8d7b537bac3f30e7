"""Graceful stops under load: who asks is answered or refused, never reset.

The numbers of an operator's bad day are in the soak forms ("make
check-long"); the quick forms do the same a few times.
"""
# SPDX-License-Identifier: BSD-2-Clause

import errno
import signal
import socket
import threading
import time

import pytest

from balancer import Haproxy, Nginx
from feed import Feed, read_until
from http_client import Http
from patience import busy
from rtmp_client import player
from weir import free_port, wait_for

CLIENTS = 24
ECHO = '{ path = "/echo"; module = "echo"; routes = [ "* /*" ]; },'
# A kept connection is closed by whoever is in front, never by a weir that its
# next request is on the way to.
PATIENT = 'stop_drain = "3h"; keepalive_min_timeout = "1h";'


def node(weir):
    """On a port of its own, with a role beside its workers."""
    return weir(workers=2, locations=ECHO, top=PATIENT,
                apps=', { name = "keys"; publish = "key"; }',
                http_listen=f'"127.0.0.1:{free_port()}"')


class Crowd:
    """Half of the clients ask with GET on new connections, half with POST on
    kept ones, without a pause.  What was neither answered nor refused
    is in wrong."""

    def __init__(self, port):
        self.port, self.wrong, self.over = port, [], False
        self.answered, self.refused = [0] * CLIENTS, [0] * CLIENTS
        self.threads = [threading.Thread(target=self._client, args=(i,))
                        for i in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def _ask(self, c, i, method):
        c.send(method, f"/echo/{i}", body=b"x" * 100 * (method == "POST"))
        a = c.answer()
        if a.status in (200, 201):
            self.answered[i] += 1
        else:
            self.wrong.append(a.status)
        return a.header("connection") != "close"

    def _connection(self, i):
        try:
            c = Http(self.port)
        except ConnectionRefusedError:
            self.refused[i] += 1
            time.sleep(0.01)
            return
        with c:
            if i % 2:
                while not self.over and self._ask(c, i, "POST"):
                    pass
            else:
                self._ask(c, i, "GET")

    def _client(self, i):
        while not self.over and len(self.wrong) < 100:
            try:
                self._connection(i)
            except (OSError, EOFError, AssertionError) as e:
                self.wrong.append((i % 2, repr(e)))

    def more(self, count=500):
        """Until so many more are answered."""
        before = sum(self.answered)
        wait_for(lambda: self.wrong or sum(self.answered) >= before + count,
                 30, "answers")
        assert self.wrong == []

    def end(self):
        self.over = True
        for t in self.threads:
            t.join()
        print(f"{sum(self.answered)} answered, {sum(self.refused)} refused, "
              f"{len(self.wrong)} wrong")
        assert self.wrong == []


def restart(w):
    assert w.stop(signal.SIGQUIT, 60) == 0
    w.start()
    w.status = None


def stop_and_start(weir, times):
    w = node(weir)
    crowd = Crowd(w.http)
    try:
        for _ in range(times):
            crowd.more()
            restart(w)
        crowd.more()
    finally:
        crowd.end()


def test_stops_under_load(weir):
    stop_and_start(weir, 4)


@pytest.mark.soak
def test_20_stops_under_load(weir):
    stop_and_start(weir, 20)


def is_refused(port):
    with socket.socket() as s:
        s.settimeout(busy(5))
        return s.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_ports_are_closed_while_sessions_go_on(weir):
    """Whatever else runs: roles, and workers of before a reload."""
    w = node(weir)
    ports = w.rtmp, w.http
    f = Feed(ports[0]).head().frames(2)
    with player(ports[0], "live", "room") as old:
        w.reload()
        with player(ports[0], "live", "room") as new:
            w.kill(signal.SIGQUIT)
            for port in ports:
                wait_for(lambda p=port: is_refused(p), 5, "a closed port")
            f.frames(3)
            read_until(old, "video 4")
            read_until(new, "video 4")
            assert w.process.poll() is None
    f.stop()
    assert w.wait_exit() == 0


# ---- two nodes behind a balancer ----

def nginx(tool, folder, both):
    servers = " ".join(f"server 127.0.0.1:{w.http} max_fails=0;" for w in both)
    return tool(Nginx(folder, f"""http {{ access_log off;
    upstream weir {{ {servers} keepalive 32; keepalive_timeout 1s; }}
    server {{ listen 127.0.0.1:{{port}}; location / {{
      proxy_pass http://weir; proxy_http_version 1.1;
      proxy_set_header Host $http_host; proxy_set_header Connection "";
    }} }} }}"""))


def haproxy(tool, folder, both):
    servers = "\n    ".join(
        f"server s{i} 127.0.0.1:{w.http} pool-purge-delay 1s"
        for i, w in enumerate(both))
    return tool(Haproxy(folder, f"""http-reuse always
    balance roundrobin
    retries 5
    option redispatch 1
    {servers}"""))


def roll(weir, tool, tmp_path, front, times):
    both = [node(weir) for _ in range(2)]
    crowd = Crowd(front(tool, tmp_path, both).port)
    try:
        for _ in range(times):
            for w in both:
                crowd.more()
                restart(w)
        crowd.more()
    finally:
        crowd.end()


@pytest.mark.parametrize("front", [nginx, haproxy])
def test_rolling_restarts(weir, tool, tmp_path, front):
    roll(weir, tool, tmp_path, front, 1)


@pytest.mark.soak
@pytest.mark.parametrize("front", [nginx, haproxy])
def test_20_rolling_restarts(weir, tool, tmp_path, front):
    roll(weir, tool, tmp_path, front, 20)
