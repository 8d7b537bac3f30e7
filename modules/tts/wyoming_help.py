"""A client of the protocol Wyoming, as Home Assistant has one."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import socket

from patience import busy


class Event:
    def __init__(self, kind, data=None, payload=b""):
        self.kind = kind
        self.data = data or {}
        self.payload = payload

    def __repr__(self):
        return f"{self.kind} {self.data} {len(self.payload)} bytes"


class Wyoming:
    """A connection; events are sent in the form that the library has today:
    data behind the line."""

    def __init__(self, port=None, connected=None, receive=0,
                 source=None):
        s = connected or socket.socket()
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.settimeout(busy(10))
        if source:
            s.bind((source, 0))
        if not connected:
            s.connect(("127.0.0.1", port))
        self.socket = s
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, kind, data=None, payload=b""):
        inner = json.dumps(data).encode() if data else b""
        line = {"type": kind, "version": "1.7.1"}
        if inner:
            line["data_length"] = len(inner)
        if payload:
            line["payload_length"] = len(payload)
        self.raw(json.dumps(line).encode() + b"\n" + inner + payload)

    def raw(self, data):
        self.socket.sendall(data)

    def end(self):
        self.socket.shutdown(socket.SHUT_WR)

    def read(self):
        """The next event; None: the connection has ended."""
        line = self.file.readline()
        if not line:
            return None
        head = json.loads(line)
        data = head.get("data", {})
        if head.get("data_length"):
            data |= json.loads(self.file.read(head["data_length"]))
        payload = self.file.read(head.get("payload_length", 0))
        assert len(payload) == head.get("payload_length", 0)
        return Event(head["type"], data, payload)

    def expect(self, kind):
        e = self.read()
        assert e is not None and e.kind == kind, e
        return e

    def sound(self):
        """The rate and the samples of a sound that is whole."""
        start = self.expect("audio-start")
        assert (start.data["width"], start.data["channels"]) == (2, 1)
        pieces = []
        e = self.read()
        while e is not None and e.kind == "audio-chunk":
            assert e.data["rate"] == start.data["rate"], e
            assert len(e.payload) % 2 == 0, e
            pieces.append(e.payload)
            e = self.read()
        assert e is not None and e.kind == "audio-stop", e
        return start.data["rate"], b"".join(pieces)

    def say(self, text, **voice):
        self.send("synthesize", {"text": text, "voice": voice or None})
        return self.sound()

    def info(self):
        self.send("describe")
        return self.expect("info").data
