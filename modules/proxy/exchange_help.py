"""Servers behind a weir that record what they get, and say what a test tells
them, also what no server should say."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import socket
import threading

import pytest

from patience import busy
from weir import HOSTS

EGRESS = 'egress = [ "allow loopback", "allow all" ];'


class Request:
    def __init__(self, lines, connection):
        self.method, self.target, self.version = lines[0].split(" ")
        self.headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(": ")
            assert colon, line
            self.headers.append((name.lower(), value))
        self.connection = connection  # the number of its connection
        self.body = b""
        self.trailers = []

    def all(self, name):
        return [v for n, v in self.headers if n == name.lower()]

    def header(self, name):
        found = self.all(name)
        assert len(found) <= 1, found
        return found[0] if found else None


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock, number):
        self.sock, self.number = sock, number
        self.file = sock.makefile("rb")

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError
        return line[:-2]

    def exactly(self, count):
        part = self.file.read(count)
        if len(part) < count:
            raise EOFError
        return part

    def head(self):
        lines = [self.line()]
        while lines[-1]:
            lines.append(self.line())
        return Request([x.decode("latin-1") for x in lines[:-1]], self.number)

    def body(self, r):
        """Reads it as strictly as RFC 9112 can be read."""
        length, coding = r.header("content-length"), \
            r.header("transfer-encoding")
        assert length is None or coding is None
        if coding is not None:
            assert coding == "chunked"
            r.body = self.chunks(r)
        elif length is not None:
            assert length.isdigit()
            r.body = self.exactly(int(length))

    def chunks(self, r):
        body = bytearray()
        while True:
            size = int(self.line(), 16)
            if size == 0:
                break
            body += self.exactly(size)
            assert self.exactly(2) == b"\r\n"
        while True:
            line = self.line().decode()
            if not line:
                return bytes(body)
            r.trailers.append(line)

    def say(self, data):
        self.sock.sendall(data.encode("latin-1") if isinstance(data, str)
                          else data)


def ok(body=b"good", *headers, status="200 OK"):
    body = body.encode() if isinstance(body, str) else body
    lines = "".join(h + "\r\n" for h in headers)
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n"
            f"{lines}\r\n").encode() + body


class Server:
    """answer(request, peer) may say something itself, or returns what is said;
    None ends the connection.  With whole, bodies are read before."""

    def __init__(self, answer=None, whole=True):
        self.answer = answer or (lambda r, p: ok())
        self.whole = whole
        self.requests, self.connections, self.errors = [], 0, []
        self.peers = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                sock.settimeout(busy(60))
                self.connections += 1
                peer = Peer(sock, self.connections)
                self.peers.add(peer)
                threading.Thread(target=self.serve, args=(peer,),
                                 daemon=True).start()

    def serve(self, peer):
        try:
            while True:
                r = peer.head()
                self.requests.append(r)
                if self.whole:
                    peer.body(r)
                said = self.answer(r, peer)
                if said is None:
                    return
                peer.say(said)
        except (OSError, EOFError):
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.errors.append(repr(e))
        finally:
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
            peer.sock.close()
            self.peers.discard(peer)

    @property
    def last(self):
        return self.requests[-1]

    def end(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for p in list(self.peers):
            with contextlib.suppress(OSError):
                p.sock.shutdown(socket.SHUT_RDWR)
        assert self.errors == []


@pytest.fixture
def server():
    """server(answer) is one that ends with the test."""
    made = []

    def make(*arguments, **named):
        made.append(Server(*arguments, **named))
        return made[-1]

    yield make
    for s in made:
        s.end()


def at_root(server, more=""):
    """A configuration in which the server answers everything."""
    return f"""
pid = "run/weir.pid"; stop_grace = "0"; {EGRESS}
error_log = {{ file = "stderr"; level = "info"; }};
http = {{ servers = ( {{ listen = "127.0.0.1:0"; {HOSTS}
  access_log = "run/access.log"; client_header_timeout = "1h";
  client_max_body_size = "200M";
  locations = ( {{ path = "/"; layers = ( {layer(server.url, more)} ); }} );
}} ); }};
"""


def layer(upstream, more=""):
    return f'{{ module = "proxy"; upstream = "{upstream}"; {more} }}'


def location(server, path="/p", more=""):
    return (f'{{ path = "{path}"; client_max_body_size = "200M"; '
            f'layers = ( {layer(server.url, more)} ); }},')


def group(servers, name="group", more=""):
    """The block upstreams with these servers."""
    items = ", ".join(f'"127.0.0.1:{s.port}"' for s in servers)
    return (f'{EGRESS} upstreams = ( {{ name = "{name}"; {more} '
            f'servers = ( {items} ); }} );')
