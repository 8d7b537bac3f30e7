"""Engine.IO and Socket.IO spoken by hand, with a server that echoes: modules/echo
of weir, or the reference server.

SOCKET_PEER=reference in the environment runs the tests of test_engine_io.py,
test_socket_io.py and test_socket_clients.py against tests/live/clients/peer.js:
a test that fails there expects more than the protocol says.  Those that weir
alone can pass (@weir_only) are skipped then.
"""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import json
import os
import queue
import subprocess
import threading

import engineio
import pytest
import socketio

from http_client import Http
from patience import busy
from weir import wait_for

REFERENCE = os.environ.get("SOCKET_PEER") == "reference"
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.abspath("build/clients/live/node_modules")
SEPARATOR = b"\x1e"
ENDPOINTS = ("engine.io", "socket.io")

weir_only = pytest.mark.skipif(REFERENCE, reason="weir is stricter here")

# Times are ms, sizes bytes; those that a test does not name never end it.
LONG = 10 * 60 * 1000
SETTINGS = {"ping_interval": LONG, "ping_timeout": LONG,
            "upgrade_timeout": LONG, "connect_timeout": LONG}
QUICK = {"ping_interval": 300, "ping_timeout": 200}

NODE_NAMES = {
    "ping_interval": "pingInterval", "ping_timeout": "pingTimeout",
    "upgrade_timeout": "upgradeTimeout", "connect_timeout": "connectTimeout",
    "max_payload": "maxHttpBufferSize", "transports": "transports",
    "cookie": "cookie", "recovery": "connectionStateRecovery",
    "cors": "cors",
}


# ---- servers ----

def node(script, *arguments, **more):
    """A program of tests/live/clients, with the packages of npm."""
    return subprocess.Popen(
        ["node", f"{HERE}/clients/{script}", *arguments], text=True,
        env={**os.environ, "NODE_PATH": PACKAGES}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, **more)


class Lines:
    """Lines of JSON that a program tells."""

    def __init__(self, process):
        self.process = process
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def say(self, **word):
        self.process.stdin.write(json.dumps(word) + "\n")
        self.process.stdin.flush()

    def next(self):
        told = self.lines.get(timeout=busy(20))
        assert told is not None, "the client has ended"
        return told

    def expect(self, **wanted):
        """The next line has these; others are wrong."""
        told = self.next()
        assert {k: told.get(k) for k in wanted} == wanted, told
        return told

    def until(self, **wanted):
        """The first line that has these."""
        while True:
            told = self.next()
            if all(told.get(k) == v for k, v in wanted.items()):
                return told

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


class Reference:
    def __init__(self, settings):
        options = {NODE_NAMES[k]: v for k, v in settings.items()}
        if "connectionStateRecovery" in options:
            options["connectionStateRecovery"] = {
                "maxDisconnectionDuration": settings["recovery"]}
        if "cookie" in options:
            options["cookie"] = {"name": settings["cookie"], "path": "/",
                                 "httpOnly": True, "sameSite": "lax"}
        if "cors" in options:
            options["cors"] = {"origin": settings["cors"]}
        self.process = node("peer.js", json.dumps({"path": "/echo",
                                                   **options}))
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def as_text(name, value):
    if name in ("ping_interval", "ping_timeout", "upgrade_timeout",
                "connect_timeout", "recovery"):
        return f'{name} = "{value}ms";'
    if isinstance(value, (list, tuple)):
        return f"{name} = [ " + ", ".join(f'"{v}"' for v in value) + " ];"
    return f'{name} = "{value}";' if isinstance(value, str) else \
        f"{name} = {str(value).lower()};"


def location(path="/echo", cors=None, more="", **settings):
    """One of weir.conf that echoes; cors is an origin."""
    group = " ".join(as_text(*pair) for pair in
                     {**SETTINGS, **settings}.items())
    allowed = f'cors = {{ allow_origins = "{cors}"; }};' if cors else ""
    return (f'{{ path = "{path}"; {allowed} {more} layers = ( {{ '
            f'module = "echo"; routes = [ "GET /hello" ]; '
            f'socket_io = {{ {group} }}; }} ); }},')


class Place:
    """Of a server that echoes at /echo: the port, and where clients come
    from."""

    def __init__(self, port, source=None):
        self.port, self.source = port, source

    def connect(self):
        return Http(self.port, source=self.source)

    def target(self, endpoint, query):
        """Of a request; a value of None leaves its name out."""
        query = {"EIO": "4", "transport": "polling", **query}
        return f"/echo/{endpoint}/?" + "&".join(
            f"{k}={v}" for k, v in query.items() if v is not None)

    def request(self, endpoint, method="GET", *headers, body=b"", **query):
        with self.connect() as c:
            c.send(method, self.target(endpoint, query), *headers, body=body)
            return c.answer(method)

    def polling(self, endpoint="socket.io", **query):
        return Polling(self, endpoint, **query)

    def websocket(self, endpoint="socket.io", *headers, **query):
        return WebSocket(self.connect(), self.target(
            endpoint, {"transport": "websocket", **query}), *headers)

    def refusal(self, endpoint="socket.io", *headers, **query):
        """The answer to a WebSocket that is refused."""
        with pytest.raises(Refused) as caught:
            self.websocket(endpoint, *headers, **query)
        return caught.value.answer


class Echo(Place):
    """weir, or the reference server."""

    def __init__(self, weir, tool, settings):
        settings = {**SETTINGS, **settings}
        if REFERENCE:
            super().__init__(tool(Reference(settings)).port)
        else:
            self.weir = weir(locations=location(**settings))
            super().__init__(self.weir.http)


# ---- polling ----

def payload(body):
    """Its packets: texts, and bytes of binary ones."""
    return [base64.b64decode(p[1:]) if p[:1] == b"b" else p.decode()
            for p in body.split(SEPARATOR)]


def packed(packets):
    return SEPARATOR.join(
        b"b" + base64.b64encode(p) if isinstance(p, bytes) else p.encode()
        for p in packets)


class Polling:
    """A session over HTTP long-polling."""

    def __init__(self, server, endpoint, **query):
        self.server, self.endpoint = server, endpoint
        self.handshake = server.request(endpoint, **query)
        assert self.handshake.status == 200, self.handshake.body
        first = self.handshake.body.decode()
        assert first[0] == "0"
        self.open = json.loads(first[1:])
        self.sid = self.open["sid"]
        self.waiting = []

    def get(self, **query):
        return self.server.request(self.endpoint, sid=self.sid, **query)

    def hold(self):
        """A poll that waits for its answer."""
        c = self.server.connect()
        c.send("GET", self.server.target(self.endpoint, {"sid": self.sid}))
        return c

    def post(self, body, *headers):
        headers = headers or ("Content-Type: text/plain;charset=UTF-8",)
        return self.server.request(self.endpoint, "POST", *headers,
                                   sid=self.sid, body=body)

    def send(self, *packets):
        a = self.post(packed(packets))
        assert (a.status, a.body) == (200, b"ok")

    def receive(self):
        """The next packet."""
        while not self.waiting:
            a = self.get()
            assert a.status == 200, (a.status, a.body)
            self.waiting = payload(a.body)
        return self.waiting.pop(0)

    def receive_data(self):
        """The next message but heartbeats."""
        while (packet := self.receive()) == "2":
            self.send("3")
        return packet

    def receive_message(self):
        """The next message; an upgrade that begins ends polls by "6"."""
        while (packet := self.receive_data()) == "6":
            pass
        return packet

    def wait_gone(self, look=None):
        """Until the session has ended; whatever was left to be read goes."""
        def gone():
            a = (look or self.get)()
            assert a.status in (200, 400), (a.status, a.body)
            return a.status == 400 and a.body and a.json()["code"] == 1
        wait_for(gone, what="the end of the session")


# ---- WebSocket ----

class Refused(Exception):
    def __init__(self, answer):
        super().__init__(f"{answer.status} {answer.body!r}")
        self.answer = answer


class Closed(Exception):
    """code: of the close frame; None: there was none."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed with {code} {reason}")
        self.code, self.reason = code, reason


TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    def __init__(self, http, target, *headers, key=b"0123456789abcdef"):
        self.http = http
        self.http.send(
            "GET", target, "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: " + base64.b64encode(key).decode(), *headers)
        try:
            self.handshake = self.http.head()
            if self.handshake.status != 101:
                self._refused()
        except BaseException:
            self.http.close()
            raise

    def _refused(self):
        length = self.handshake.header("content-length")
        self.handshake.body = self.http._exactly(int(length or 0))
        raise Refused(self.handshake)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Without a word."""
        self.http.close()

    def frame(self, opcode, data=b"", first=0x80):
        """first: FIN and reserved bits."""
        n = len(data)
        head = bytes([first | opcode])
        head += bytes([0x80 | n]) if n < 126 else \
            b"\xfe" + n.to_bytes(2, "big") if n < 65536 else \
            b"\xff" + n.to_bytes(8, "big")
        mask = b"\x12\x34\x56\x78"
        whole = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        data = (int.from_bytes(data, "big") ^ whole).to_bytes(n, "big")
        self.http.raw(head + mask + data)

    def send(self, *packets):
        for p in packets:
            if isinstance(p, bytes):
                self.frame(BINARY, p)
            else:
                self.frame(TEXT, p.encode())

    def _read(self, count):
        try:
            return self.http._exactly(count)
        except (EOFError, ConnectionResetError) as e:
            raise Closed(None) from e

    def read_frame(self):
        first, length = self._read(2)
        assert not length & 0x80, "a server does not mask"
        if length > 125:
            length = int.from_bytes(
                self._read(2 if length == 126 else 8), "big")
        return first & 0x80, first & 0x0F, self._read(length)

    def receive(self):
        """The next message, a text or bytes; Closed is raised."""
        kind, whole = None, b""
        while True:
            last, opcode, data = self.read_frame()
            if opcode == CLOSE:
                code = int.from_bytes(data[:2], "big") if data else 1005
                raise Closed(code, data[2:].decode())
            if opcode == PING:
                self.frame(PONG, data)
            elif opcode != PONG:
                kind = opcode or kind
                whole += data
                if last:
                    return whole.decode() if kind == TEXT else whole

    def receive_data(self):
        while (packet := self.receive()) == "2":
            self.send("3")
        return packet

    def opened(self):
        """Its first packet."""
        first = self.receive()
        assert first[0] == "0"
        return json.loads(first[1:])

    def wait_closed(self):
        """The code that it is closed with; whatever comes before goes."""
        with pytest.raises(Closed) as caught:
            while True:
                self.receive()
        self.close()
        return caught.value.code


def upgraded(server, endpoint):
    """A session that has gone from polling to WebSocket: both."""
    session = server.polling(endpoint)
    ws = server.websocket(endpoint, sid=session.sid)
    ws.send("2probe")
    assert ws.receive() == "3probe"
    ws.send("5")
    return session, ws


# ---- python-socketio ----

class _InOrder(engineio.Client):
    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        del run_async
        return super()._trigger_event(event, *args, **kwargs)


class PythonSocketIO(socketio.Client):
    """It hears messages in their order.  As it is, a thread of its own takes
    each, and one overtakes the other."""

    def _engineio_client_class(self):
        return _InOrder
