"""Small servers behind a weir, which do what a test tells them."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import socket
import ssl
import threading

from control_client import ctl, ctl_json
from weir import free_port

EGRESS = 'egress = [ "allow loopback", "allow all" ];'
CONTROL = 'control = { socket = "run/control.sock"; };'


class Upstream:
    """Answers GET with its name.  health: the status of /healthz; held:
    requests get no answer while it is set."""

    def __init__(self, name, path=None, tls=None, port=None):
        self.name, self.tls = name, tls
        self.health = 200
        self.broken = False  # ends connections without an answer
        self.requests = []   # paths, without those of checks
        self.checks = 0
        self.names = []      # SNI
        self.slow = ""       # requests with this in their path wait for free
        self.free = threading.Event()
        self.free.set()
        self.path = path
        self.port = port or (None if path else free_port())
        self.listener = None
        self.connections = set()
        self.listen()

    @property
    def address(self):
        return f"unix:{self.path}" if self.path else f"127.0.0.1:{self.port}"

    def listen(self):
        if self.path:
            if os.path.exists(self.path):
                os.unlink(self.path)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            os.chmod(self.path, 0o777)
        else:
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET,
                                     socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(512)
        threading.Thread(target=self.accept, args=(self.listener,),
                         daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,),
                             daemon=True).start()

    def serve(self, c):
        self.connections.add(c)
        try:
            if self.tls:
                c = self.tls.wrap_socket(c, server_side=True)
            f = c.makefile("rwb")
            while self.answer(f):
                pass
        except (OSError, ValueError, ssl.SSLError):
            pass
        finally:
            self.connections.discard(c)
            c.close()

    def answer(self, f):
        """Whether the connection goes on."""
        line = f.readline().split()
        if len(line) < 2:
            return False
        headers = {}
        while True:
            h = f.readline().strip()
            if not h:
                break
            key, _, value = h.partition(b":")
            headers[key.lower()] = value.strip()
        path = line[1].decode()
        status = 200
        if path == "/healthz":
            self.checks += 1
            status = self.health
        else:
            self.requests.append(path)
            if self.slow in path:
                self.free.wait()
            if self.broken:
                return False
        body = self.name.encode()
        last = headers.get(b"connection", b"").lower() == b"close"
        f.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s"
                % (status, len(body), b"Connection: close\r\n" if last else b"",
                   body))
        f.flush()
        return not last

    def stop(self):
        """As if it was killed."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for c in list(self.connections):
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.free.set()
        self.stop()


def upstreams(servers, more="", name="api"):
    """The setting; servers: Upstreams or texts."""
    items = ", ".join(s if isinstance(s, str) else f'"{s.address}"'
                      for s in servers)
    return (f'{EGRESS} {CONTROL} upstreams = ( {{ name = "{name}"; '
            f'servers = ( {items} ); {more} }} );')


def item(server, more):
    return f'{{ address = "{server.address}"; {more} }}'


LOCATION = '{ path = "/api"; module = "proxy"; upstream = "api"; },'


def shown(w):
    """{server: row} of "weirctl show upstreams"."""
    return {row["server"]: row for row in ctl_json(w, "show", "upstreams")}


def state(w, server):
    return shown(w)[server.address]["state"]


def set_upstream(w, server, *words, name="api"):
    r = ctl(w, "set", "upstream", f"{name}/{server.address}", *words)
    assert r.returncode == 0, r.stderr
