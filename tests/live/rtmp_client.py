"""An RTMP client for the tests, independent of weir's own code.

It can say everything wrong as well as right: chunks are written with any
chunk stream id, header format and chunk size, and raw bytes can be put in
between.

    c = Rtmp(port)
    c.connect("live")
    c.play("room")
    message = c.read()
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import contextlib
import hmac
import os
import socket
import struct
import time

import amf0
from patience import busy

SET_CHUNK_SIZE, ABORT, ACK, CONTROL, WINDOW, BANDWIDTH = 1, 2, 3, 4, 5, 6
AUDIO, VIDEO, DATA3, COMMAND3, DATA, COMMAND, AGGREGATE = \
    8, 9, 15, 17, 18, 20, 22
STREAM_BEGIN, STREAM_EOF, STREAM_DRY, BUFFER_LENGTH = 0, 1, 2, 3
PING, PONG = 6, 7

# Data messages of the server's own, not of the stream.
SERVER_WORDS = (amf0.encode("|RtmpSampleAccess"), amf0.encode("onStatus"))

Message = collections.namedtuple("Message", "type time msid payload csid")


class Closed(Exception):
    """The server ended the connection."""


class Refused(Exception):
    """An onStatus or _error came instead of success: .code, .text."""

    def __init__(self, info):
        super().__init__(f"{info}")
        self.code = info.get("code", "")
        self.text = info.get("description", "")


def basic_header(fmt, csid):
    if csid < 64:
        return bytes([fmt << 6 | csid])
    if csid < 320:
        return bytes([fmt << 6, csid - 64])
    return bytes([fmt << 6 | 1]) + struct.pack("<H", csid - 64)


def chunks(kind, stamp, payload, msid, csid, size=128, fmt=0, delta=None,
           extended_in_3=True):
    """The bytes of one message.  fmt 1 and 2 send delta; fmt 3 none."""
    value = stamp if fmt == 0 else (delta or 0)
    extended = b""
    if value >= 0xffffff:
        extended = struct.pack(">I", value & 0xffffffff)
        value = 0xffffff
    head = basic_header(fmt, csid)
    if fmt <= 2:
        head += struct.pack(">I", value)[1:]
    if fmt <= 1:
        head += struct.pack(">I", len(payload))[1:] + bytes([kind])
    if fmt == 0:
        head += struct.pack("<I", msid)
    if fmt <= 2:
        head += extended
    out = [head, payload[:size]]
    for at in range(size, len(payload), size):
        out.append(basic_header(3, csid))
        if extended and extended_in_3:
            out.append(extended)
        out.append(payload[at:at + size])
    return b"".join(out)


def aggregate(*parts):
    """The payload of one: (type, time, payload) each."""
    out = b""
    for kind, stamp, payload in parts:
        head = bytes([kind]) + struct.pack(">I", len(payload))[1:]
        head += struct.pack(">I", stamp)[1:] + bytes([stamp >> 24])
        head += b"\0\0\0"
        out += head + payload + struct.pack(">I", len(payload) + 11)
    return out


class Digest:
    """The handshake with digests ("complex") as Flash players do it."""
    PLAYER = b"Genuine Adobe Flash Player 001"
    SERVER = b"Genuine Adobe Flash Media Server 001"
    TAIL = bytes.fromhex("f0eec24a8068bee82e00d0d1029e7e576eec5d2d29806fab"
                         "93b8e636cfeb31ae")

    @staticmethod
    def place(block, scheme):
        base = 8 if scheme == 0 else 772
        return base + 4 + sum(block[base:base + 4]) % 728

    @classmethod
    def make(cls, block, scheme, key):
        at = cls.place(block, scheme)
        joined = block[:at] + block[at + 32:]
        return at, hmac.new(key, joined, "sha256").digest()

    @classmethod
    def c1(cls, scheme):
        block = struct.pack(">I", 0) + bytes([9, 0, 0x7c, 2])
        block += os.urandom(1528)
        at, digest = cls.make(block, scheme, cls.PLAYER)
        return block[:at] + digest + block[at + 32:], digest

    @classmethod
    def check(cls, s1, s2, scheme, digest):
        """S1 carries the server's digest, S2 answers ours."""
        at, want = cls.make(s1, scheme, cls.SERVER)
        assert s1[at:at + 32] == want, "S1 has a wrong digest"
        key = hmac.new(cls.SERVER + cls.TAIL, digest, "sha256").digest()
        sign = hmac.new(key, s2[:-32], "sha256").digest()
        assert s2[-32:] == sign, "S2 does not answer our digest"


class Rtmp:
    def __init__(self, port=None, host="127.0.0.1", path=None,
                 handshake="simple", timeout=busy(10), receive_buffer=None,
                 before=b"", tls=None, accepted=None):
        if accepted:
            self._begin(accepted, timeout)
            return
        family = socket.AF_UNIX if path else \
            socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                 receive_buffer)
        self.sock.settimeout(timeout)
        self.sock.connect(path or (host, port))
        if not path:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.sendall(before)  # PROXY protocol
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self._begin(self.sock, timeout)
        if handshake:
            self.handshake(handshake)

    def _begin(self, sock, timeout):
        self.sock = sock
        self.timeout = timeout
        self.buffer = bytearray()
        self.held = None      # see one_send()
        self.chunk_in = 128   # what the server sends with
        self.chunk_out = 128  # what we send with
        self.state = {}       # csid -> what fmt 1, 2, 3 refer to
        self.kept = collections.deque()  # read, not yet asked for
        self.window = 0       # the server's acknowledgement window
        self.received = self.acknowledged = 0
        self.tid = 0
        self.answer_pings = True
        self.acks = []        # acknowledgements the server sent

    # ---- bytes ----

    def raw(self, data):
        if self.held is not None:
            self.held += data
        else:
            self.sock.sendall(data)

    @contextlib.contextmanager
    def one_send(self):
        """What is sent in it goes out together, by one send at its end."""
        self.held = bytearray()
        try:
            yield
            self.sock.sendall(self.held)
        finally:
            self.held = None

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends the connection with a RST, as a crash of a peer may."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def local_port(self):
        return self.sock.getsockname()[1]

    def need(self, count):
        while len(self.buffer) < count:
            try:
                data = self.sock.recv(1 << 18)
            except ConnectionResetError as e:
                raise Closed("reset") from e
            if not data:
                raise Closed("end of stream")
            self.buffer += data
            self.received += len(data)
        return self.buffer

    def take(self, count):
        data = bytes(self.need(count)[:count])
        del self.buffer[:count]
        return data

    def wait_closed(self, timeout=5):
        """Reads and forgets until the server ends the connection."""
        end = time.monotonic() + busy(timeout)
        try:
            while True:
                self.sock.settimeout(max(0.01, end - time.monotonic()))
                if not self.sock.recv(1 << 16):
                    return
        except (ConnectionResetError, BrokenPipeError):
            return
        except socket.timeout:
            raise AssertionError("the server keeps the connection") from None

    # ---- handshake ----

    def handshake(self, kind):
        """simple, digest0 or digest1 (the two places of the digest)."""
        if kind == "simple":
            c1, digest = b"\0" * 8 + os.urandom(1528), None
        else:
            scheme = int(kind[-1])
            c1, digest = Digest.c1(scheme)
        self.raw(b"\x03" + c1)
        answer = self.take(1 + 2 * 1536)
        assert answer[0] == 3
        s1, s2 = answer[1:1537], answer[1537:]
        if digest:
            Digest.check(s1, s2, scheme, digest)
        else:
            assert s2[8:] == c1[8:], "S2 does not echo C1"
        self.raw(s1)
        self.received = 0

    # ---- messages ----

    def send(self, kind, payload, stamp=0, msid=0, csid=3, fmt=0, delta=None,
             **more):
        self.raw(chunks(kind, stamp, payload, msid, csid, self.chunk_out,
                        fmt, delta, **more))

    def set_chunk_size(self, size):
        self.send(SET_CHUNK_SIZE, struct.pack(">I", size), csid=2)
        self.chunk_out = size & 0x7fffffff

    def control(self, event, *values):
        self.send(CONTROL, struct.pack(f">H{len(values)}I", event, *values),
                  csid=2)

    def command(self, name, *args, msid=0, csid=3, tid=None, kind=COMMAND):
        """kind COMMAND3: AMF0 behind the 0 that says so."""
        if tid is None:
            self.tid += 1
            tid = self.tid
        front = b"\0" if kind == COMMAND3 else b""
        self.send(kind, front + amf0.encode(name, tid, *args), msid=msid,
                  csid=csid)
        return tid

    def _csid(self):
        first = self.need(1)[0]
        self.need(1 + (first & 63 == 0) + 2 * (first & 63 == 1))
        if first & 63 == 0:
            return first >> 6, self.take(2)[1] + 64
        if first & 63 == 1:
            return first >> 6, struct.unpack("<H", self.take(3)[1:])[0] + 64
        return self.take(1)[0] >> 6, first & 63

    def _read_chunk(self):
        """One chunk; the message when it is whole, else None."""
        fmt, csid = self._csid()
        s = self.state.setdefault(csid, {"got": b"", "delta": 0})
        head = self.take((11, 7, 3, 0)[fmt])
        if fmt <= 2:
            value = int.from_bytes(head[:3], "big")
            s["extended"] = value == 0xffffff
            if fmt <= 1:
                s["len"] = int.from_bytes(head[3:6], "big")
                s["type"] = head[6]
            if fmt == 0:
                s["msid"] = struct.unpack("<I", head[7:])[0]
        if s["extended"]:
            value = struct.unpack(">I", self.take(4))[0]
        if not s["got"] and fmt == 0:
            s["time"], s["delta"] = value, 0
        elif not s["got"]:
            s["delta"] = value if fmt < 3 else s["delta"]
            s["time"] = (s["time"] + s["delta"]) & 0xffffffff
        s["got"] += self.take(min(self.chunk_in, s["len"] - len(s["got"])))
        if len(s["got"]) < s["len"]:
            return None
        payload, s["got"] = s["got"], b""
        return Message(s["type"], s["time"], s["msid"], payload, csid)

    def _read_any(self):
        message = None
        while message is None:
            message = self._read_chunk()
        self._housekeep(message)
        return message

    def _housekeep(self, m):
        if m.type == SET_CHUNK_SIZE:
            self.chunk_in = struct.unpack(">I", m.payload)[0]
        elif m.type == WINDOW:
            self.window = struct.unpack(">I", m.payload)[0]
        elif m.type == ACK:
            self.acks.append(struct.unpack(">I", m.payload)[0])
        elif m.type == CONTROL and m.payload[:2] == b"\0\x06" \
                and self.answer_pings:
            self.control(PONG, struct.unpack(">I", m.payload[2:6])[0])
        if self.window and self.received - self.acknowledged >= self.window:
            self.acknowledged = self.received
            self.send(ACK, struct.pack(">I", self.received & 0xffffffff),
                      csid=2)

    def read(self, *types, timeout=None):
        """The next message (of these types; others are passed over)."""
        end = time.monotonic() + (timeout or self.timeout)
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise socket.timeout(f"no message of {types or 'any'} type")
            self.sock.settimeout(left)
            message = self.kept.popleft() if self.kept else self._read_any()
            if message.type == DATA and \
                    message.payload.startswith(SERVER_WORDS):
                continue
            if not types or message.type in types:
                return message

    def silent(self, seconds, *types):
        """Asserts that no message (of these types) comes for a while."""
        try:
            message = self.read(*types, timeout=seconds)
        except socket.timeout:
            return
        raise AssertionError(f"unexpected {message}")

    # ---- commands ----

    def answer(self, tid, timeout=None):
        """Arguments of _result; Refused for _error."""
        passed = []
        while True:
            m = self.read(timeout=timeout)
            if m.type != COMMAND:
                passed.append(m)
                continue
            values = amf0.decode(m.payload)
            if values[0] not in ("_result", "_error") or values[1] != tid:
                passed.append(m)
                continue
            self.kept.extendleft(reversed(passed))
            if values[0] == "_error":
                raise Refused(values[-1])
            return values[2:]

    def status(self, *codes, timeout=None):
        """The next onStatus; Refused for level error, checks the code.
        Media that comes before it is kept for read()."""
        passed = []
        try:
            return self._status(codes, passed, timeout)
        finally:
            self.kept.extendleft(reversed(passed))

    def _status(self, codes, passed, timeout):
        while True:
            m = self.read(timeout=timeout)
            if m.type != COMMAND:
                passed.append(m)
                continue
            values = amf0.decode(m.payload)
            if values[0] == "_error":
                raise Refused(values[-1])
            if values[0] != "onStatus":
                continue
            info = values[3]
            if info["level"] == "error":
                raise Refused(info)
            if not codes or info["code"] in codes:
                return info

    def connect(self, app, **more):
        values = {"app": app, "flashVer": "LNX 9,0,124,2",
                  "tcUrl": f"rtmp://127.0.0.1/{app}"}
        values.update(more)
        values = {k: v for k, v in values.items() if v is not None}
        return self.answer(self.command("connect", values))

    def create_stream(self):
        return int(self.answer(self.command("createStream", None))[-1])

    def publish(self, name, kind="live", msid=None):
        """Until Publish.Start; the message stream id."""
        msid = msid or self.create_stream()
        self.command("publish", None, name, kind, msid=msid)
        self.status("NetStream.Publish.Start")
        return msid

    def play(self, name, msid=None, wait=True):
        msid = msid or self.create_stream()
        self.command("play", None, name, -2000, msid=msid)
        if wait:
            self.status("NetStream.Play.Start")
        return msid


def publisher(port, app, name, handshake="simple", chunk=4096, **more):
    c = Rtmp(port, handshake=handshake, **more)
    c.connect(app)
    c.set_chunk_size(chunk)
    c.msid = c.publish(name)
    return c


def player(port, app, name, handshake="simple", **more):
    c = Rtmp(port, handshake=handshake, **more)
    c.connect(app)
    c.msid = c.play(name)
    return c
