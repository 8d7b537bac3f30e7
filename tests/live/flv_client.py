"""A player of HTTP-FLV."""
# SPDX-License-Identifier: BSD-2-Clause

import flv
from feed import kind, kinds
from http_client import Http
from patience import busy
from rtmp_client import Message


class FlvPlayer:
    """GET /APP/NAME.flv, read tag by tag."""

    def __init__(self, port, name, app="live", version="1.1",
                 timeout=busy(10)):
        self.http = Http(port, timeout=timeout)
        self.http.send("GET", f"/{app}/{name}.flv", version=version)
        self.reader = flv.Reader()
        self.kept = []
        self.head = None
        self.size = 0  # of the chunk that is being read

    def read_head(self):
        if self.head is None:
            self.head = self.http.head()
        return self.head

    def _body(self):
        """Some more bytes of the body; b"" at the end."""
        if self.read_head().header("transfer-encoding") == "chunked":
            return self._chunk()
        if not self.http.buffer:
            self.http._more()
        data, self.http.buffer = self.http.buffer, bytearray()
        return data

    def _chunk(self):
        size = int(self.http._until(b"\r\n"), 16)
        data = self.http._exactly(size)
        self.http._exactly(2)
        return data

    def tag(self):
        while not self.kept:
            data = self._body()
            if not data:
                return None
            self.kept += self.reader.feed(data)
        return self.kept.pop(0)

    def read_until(self, wanted):
        got = []
        while True:
            t = self.tag()
            assert t, f"ended before {wanted}: {kinds(got)}"
            got.append(Message(t.type, t.time, 1, t.payload, 0))
            if kind(t.type, t.payload) == wanted:
                return got

    def close(self):
        self.http.close()
