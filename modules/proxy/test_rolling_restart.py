"""Two servers are restarted one after the other under load: SIGTERM closes a
listener, two seconds later the process is killed, and another takes its place.
No answer is 5xx while one of them is up.  HAProxy stands before the same two
meanwhile, under the same load; the record of the test says how it fared."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from balancer import Haproxy
from test_upstreams import state
from upstream_help import CONTROL, EGRESS, LOCATION
from weir import free_port, wait_for

ROUNDS = 2
LASTS = 2  # seconds between SIGTERM and the end
SERVER = r"""
import signal, socket, sys, threading

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)

def serve(c):
    f = c.makefile("rwb")
    while line := f.readline():
        length = 0
        while (h := f.readline().strip()):
            name, _, value = h.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        f.read(length)
        f.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        f.flush()

def accept():
    while True:
        try:
            c, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(c,), daemon=True).start()

def close(*_):
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()

signal.signal(signal.SIGTERM, close)
threading.Thread(target=accept, daemon=True).start()
while True:
    signal.pause()
"""
HEALTH = 'health = { path = "/"; interval = "200ms"; rise = 2; fall = 2; };'
HAPROXY = """
    balance roundrobin
    option httpchk GET /
    option redispatch
    retries 3
    retry-on all-retryable-errors
    default-server check inter 200ms rise 2 fall 2
"""
SECONDS = 20


class Server:
    def __init__(self):
        self.port = free_port()
        self.process = None
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.port)],
            stderr=subprocess.DEVNULL)  # of connections that are reset
        wait_for(self.answers, 10, "a server")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except OSError:
            return False

    def restart(self):
        self.process.send_signal(signal.SIGTERM)
        time.sleep(LASTS)
        self.end()
        self.start()

    def end(self):
        self.process.kill()
        self.process.wait()


class Load(threading.Thread):
    """Some 200 requests a second, of one method, over kept connections."""

    def __init__(self, folder, port, method):
        super().__init__()
        self.script = folder / f"{method}{port}.lua"
        self.script.write_text(
            f'wrk.method = "{method}"; '
            + ('wrk.body = "abc";' if method == "POST" else "")
            + "function delay() return 40 end")
        self.command = ["wrk", "-t1", "-c8", f"-d{SECONDS}s",
                        "-s", str(self.script),
                        f"http://127.0.0.1:{port}/api/x"]
        self.out = ""
        self.start()

    def run(self):
        self.out = subprocess.run(self.command, capture_output=True,
                                  text=True, check=True).stdout

    def end(self):
        """(answers, those that were no 2xx, requests without an answer)"""
        self.join()
        wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", self.out)
        lost = re.search(r"Socket errors: connect (\d+), read (\d+), "
                         r"write (\d+), timeout (\d+)", self.out)
        return (int(re.search(r"(\d+) requests in", self.out)[1]),
                int(wrong[1]) if wrong else 0,
                sum(map(int, lost.groups())) if lost else 0)


@pytest.fixture
def servers():
    made = [Server(), Server()]
    yield made
    for s in made:
        s.end()


@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not here")
def test_a_rolling_restart_loses_no_request(weir, tool, servers, tmp_path,
                                            record_property):
    items = ", ".join(f'"{s.address}"' for s in servers)
    w = weir(top=f'{EGRESS} {CONTROL} upstreams = ( {{ name = "api"; {HEALTH} '
                 f'servers = ( {items} ); }} );', locations=LOCATION, workers=2)
    haproxy = tool(Haproxy(tmp_path, HAPROXY + "".join(
        f"    server s{s.port} {s.address}\n" for s in servers)))
    loads = [Load(tmp_path, port, method) for port in (w.http, haproxy.port)
             for method in ("GET", "POST")]
    for _ in range(ROUNDS):
        for s in servers:
            s.restart()
            wait_for(lambda: state(w, s) == "up", 10, "the server")
    of_weir, of_haproxy = loads[:2], loads[2:]
    for load in of_haproxy:
        record_property("HAProxy: answers, not 2xx, lost", load.end())
    for load in of_weir:
        answers, wrong, lost = load.end()
        record_property("weir: answers, not 2xx, lost", (answers, wrong, lost))
        assert answers > 100 and wrong == 0 and lost == 0, (answers, wrong,
                                                            lost)
