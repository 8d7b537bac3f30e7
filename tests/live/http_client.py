"""HTTP/1 spoken by hand, so that a test can say it wrong."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import socket

from patience import busy


class Answer:
    def __init__(self, head, body):
        lines = head.split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0])
        assert match, f"status line {lines[0]!r}"
        self.status = int(match[1])
        self.headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            assert colon, f"header line {line!r}"
            self.headers.append((name.lower(), value.strip()))
        self.body = body

    def header(self, name):
        """The only header of that name, or None."""
        found = [v for n, v in self.headers if n == name.lower()]
        assert len(found) <= 1, f"{name} comes {len(found)} times"
        return found[0] if found else None

    def json(self):
        return json.loads(self.body)


class Http:
    def __init__(self, port=None, host="127.0.0.1", path=None,
                 timeout=busy(10), source=None):
        family = socket.AF_UNIX if path else \
            socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect(path or (host, port))
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def close(self):
        self.sock.close()

    def raw(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def send(self, method, target, *headers, body=b"", version="1.1",
             host="test"):
        lines = [f"{method} {target} HTTP/{version}"]
        if host is not None:
            lines.append(f"Host: {host}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        lines += headers
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def _more(self):
        data = self.sock.recv(1 << 16)
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                raise EOFError(f"ended before {mark!r}: {bytes(self.buffer)!r}")
        end = self.buffer.index(mark)
        part = bytes(self.buffer[:end])
        del self.buffer[:end + len(mark)]
        return part

    def _exactly(self, count):
        part = self.buffer[:count]
        del self.buffer[:count]
        while len(part) < count:
            data = self.sock.recv(min(1 << 18, count - len(part)))
            if not data:
                raise EOFError("ended within a body")
            part += data
        return bytes(part)

    def _chunked(self):
        body = bytearray()
        while True:
            size = int(self._until(b"\r\n"), 16)
            body += self._exactly(size)
            if size == 0:
                assert self._until(b"\r\n") == b""
                return bytes(body)
            assert self._exactly(2) == b"\r\n"

    def head(self):
        """The next head alone: an Answer without body."""
        return Answer(self._until(b"\r\n\r\n").decode("latin-1"), b"")

    def answer(self, to="GET"):
        """The next whole answer."""
        a = self.head()
        if to == "HEAD" or a.status in (204, 304) or a.status < 200:
            return a
        if a.header("transfer-encoding") == "chunked":
            a.body = self._chunked()
        elif a.header("content-length") is not None:
            a.body = self._exactly(int(a.header("content-length")))
        else:
            while self._more():
                pass
            a.body = bytes(self.buffer)
            self.buffer.clear()
        return a

    def ended(self, timeout=5):
        """True when the server ends the connection without more bytes."""
        self.sock.settimeout(busy(timeout))
        try:
            return self.buffer == b"" and self.sock.recv(1) == b""
        except ConnectionResetError:
            return True


def request(port, method, target, *headers, **more):
    """One request on a connection of its own."""
    where = {k: more.pop(k) for k in ("path", "timeout") if k in more}
    with Http(port, host=more.pop("address", "127.0.0.1"), **where) as c:
        c.send(method, target, *headers, **more)
        return c.answer(method)


def get(port, target, *headers, **more):
    return request(port, "GET", target, *headers, **more)
