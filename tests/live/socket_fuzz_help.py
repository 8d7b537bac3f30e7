"""Frames and polling bodies that mean harm, among right ones whose answers are
known: run by processes of their own, which count what they send.

A connection has right frames, whose echoes must come, each once and in order;
then some that were changed by chance, after which anything may come."""
# SPDX-License-Identifier: BSD-2-Clause

import errno
import json
import multiprocessing
import random
import socket

from patience import busy

PLAIN, SOCKET_IO = "/echo/engine.io/", "/echo/socket.io/"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
HANDSHAKE = """GET {}?EIO=4&transport=websocket HTTP/1.1\r
Host: test\r
Connection: Upgrade\r
Upgrade: websocket\r
Sec-WebSocket-Version: 13\r
Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"""
HOLDER = '{"_placeholder":true,"num":0}'
PACKETS = [  # of Socket.IO, right and wrong
    "40", "41", "40/custom,", '40/custom,{"a":1}', "41/custom,", "40/none,",
    '42["message",1]', '42["message","\u00e4\u20ac\U0001f600"]',
    '427["message-with-ack",[1,{"a":null}],"x"]', '43[1]', "431[]",
    '42/custom,["message"]', f'451-["message",{HOLDER}]',
    f'451-7["message-with-ack",{HOLDER}]', f'462-1[{HOLDER}]',
    '44{"message":"x"}', '42["broadcast",{"n":1,"t":2}]', "47", "4", "42",
    '42[]', '42[1]', '42["connect"]', "42999999999999999999999[]",
    '42["\\u0000"]',
    "4599999999999-[]", '42["message"' + ',[' * 200 + ']' * 200 + "]",
    "3", "2", "6", "5", "1", "2probe", "0", "bAAAA", "b!", ""]
EDGES = [0, 1, 0x0a, 0x1e, 0x22, 0x2d, 0x30, 0x34, 0x5b, 0x5d, 0x7b, 0x7d,
         0x7e, 0x7f, 0x80, 0x81, 0x82, 0x88, 0xc0, 0xed, 0xf4, 0xfe, 0xff]


def masked(data, mask):
    n = len(data)
    whole = (mask * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "big") ^
            int.from_bytes(whole, "big")).to_bytes(n, "big")


def frame(chance, opcode, data=b"", first=0x80):
    n = len(data)
    head = bytes([first | opcode])
    head += bytes([0x80 | n]) if n < 126 else \
        b"\xfe" + n.to_bytes(2, "big") if n < 65536 else \
        b"\xff" + n.to_bytes(8, "big")
    mask = chance.randbytes(4)
    return head + mask + masked(data, mask)


def mutated(chance, data):
    """Some bytes changed, cut out, put in, doubled."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 9))):
        at = chance.randrange(len(data) + 1)
        how = chance.randrange(6)
        if how == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif how == 1 and at < len(data):
            data[at] = chance.choice(EDGES)
        elif how == 2:
            del data[at:at + chance.randrange(1, 9)]
        elif how == 3:
            data[at:at] = chance.randbytes(chance.randrange(1, 9))
        elif how == 4:
            data[at:at] = data[max(0, at - 8):at]
        else:
            data[at:at] = bytes([chance.choice(EDGES)])
    return bytes(data)


def some_text(chance):
    size = chance.choice((0, 1, 5, 30, 121, 122, 130, 300))
    return "".join(chance.choice("ab \"\\\u00e4\u20ac\U0001f600\x7f")
                   for _ in range(size))


class Ended(Exception):
    pass


class Connection:
    """A WebSocket; sent counts frames."""

    def __init__(self, port, path, chance):
        self.chance, self.plain = chance, path == PLAIN
        self.expected, self.out, self.buffer = [], [], b""
        self.frames = 0
        self.sock = socket.create_connection(("127.0.0.1", port), busy(20))
        self.sock.sendall(HANDSHAKE.format(path).encode())
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101 "), head

    def more(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Ended()
        self.buffer += data

    def read(self):
        """The next message of data; what is about control goes."""
        while True:
            while len(self.buffer) < 2:
                self.more()
            first, n = self.buffer[:2]
            skip = 2 if n < 126 else 4 if n == 126 else 10
            while len(self.buffer) < skip:
                self.more()
            n = n if n < 126 else int.from_bytes(self.buffer[2:skip], "big")
            while len(self.buffer) < skip + n:
                self.more()
            data = self.buffer[skip:skip + n]
            self.buffer = self.buffer[skip + n:]
            assert first in (0x81, 0x82, 0x88, 0x8a), hex(first)
            if first == 0x88:
                raise Ended(data)
            if first != 0x8a:
                return data.decode() if first == 0x81 else data

    def add(self, opcode, data=b"", first=0x80):
        self.out.append(frame(self.chance, opcode, data, first))

    def add_message(self, opcode, data):
        """Whole, or in pieces with control frames between them."""
        c = self.chance
        if c.randrange(4):
            self.add(opcode, data)
            return
        cuts = sorted(c.randrange(len(data) + 1)
                      for _ in range(c.randrange(1, 4)))
        parts = [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]
        for i, part in enumerate(parts):
            last = 0x80 if i == len(parts) - 1 else 0
            self.add(opcode if i == 0 else 0, part, last)
            if not last and c.randrange(2):
                self.add(c.choice((PING, PONG)), c.randbytes(c.randrange(126)))

    def add_right(self):
        c = self.chance
        if c.randrange(8) == 0:
            self.add(c.choice((PING, PONG)), c.randbytes(c.randrange(126)))
        elif self.plain and c.randrange(2):
            data = c.randbytes(c.choice((0, 1, 125, 126, 200, 400)))
            self.add_message(BINARY, data)
            self.expected.append(data)
        elif self.plain:
            self.expected.append("4" + some_text(c))
            self.add_message(TEXT, self.expected[-1].encode())
        elif c.randrange(4):
            args = json.dumps([some_text(c), {"a": [c.random(), None]}])
            self.add_message(TEXT, f'42["message",{args}]'.encode())
            self.expected.append(f'42["message-back",{args}]')
        else:
            data = c.randbytes(c.randrange(300))
            self.add_message(TEXT, f'451-["message",{HOLDER}]'.encode())
            self.add_message(BINARY, data)
            self.expected += [f'451-["message-back",{HOLDER}]', data]

    def add_wrong(self):
        c = self.chance
        packet = c.choice(PACKETS).encode()
        how = c.randrange(8)
        if how < 3:
            self.add(TEXT, mutated(c, packet))
        elif how < 6:
            whole = frame(c, c.choice((TEXT, BINARY, CLOSE, PING, 0)), packet)
            self.out.append(mutated(c, whole))
        elif how == 6:
            self.add(c.randrange(16), packet, c.randrange(16) << 4)
        else:
            self.out.append(c.randbytes(c.randrange(1, 40)))

    def run(self, frames):
        """Returns how many frames were sent."""
        greetings = 1
        if not self.plain:
            self.add(TEXT, b"40")
            greetings = 3  # the session, the namespace, "auth"
            self.add(TEXT, b'42["message"]')  # "auth" comes before its echo
            self.expected.append('42["message-back"]')
        while len(self.out) < frames:
            self.add_right()
        for _ in range(self.chance.randrange(1, 4)):
            self.add_wrong()
        self.sock.sendall(b"".join(self.out))
        got = [self.read() for _ in range(greetings)]
        assert got[0][0] == "0", got
        for wanted in self.expected:
            assert self.read() == wanted
        self.end()
        return len(self.out)

    def end(self):
        """Takes what is left."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
            while self.sock.recv(1 << 18):
                pass
        except (ConnectionResetError, BrokenPipeError):
            pass
        except OSError as e:  # it was reset before our shutdown()
            if e.errno != errno.ENOTCONN:
                raise
        self.sock.close()


class Polls:
    """Sessions over polling, on one connection."""

    def __init__(self, port, chance):
        self.port, self.chance = port, chance
        self.sock, self.buffer = None, b""
        self.opened = 0

    def ask(self, method, query, body=b""):
        if self.sock is None:
            self.sock = socket.create_connection(("127.0.0.1", self.port),
                                                 busy(20))
            self.buffer = b""
        kind = "Content-Type: text/plain;charset=UTF-8\r\n"
        more = f"{kind}Content-Length: {len(body)}\r\n" \
            if method == "POST" else ""
        self.sock.sendall(f"{method} {self.path}?EIO=4&transport=polling"
                          f"{query} HTTP/1.1\r\nHost: test\r\n{more}\r\n"
                          .encode() + body)
        return self.answer()

    def answer(self):
        """Status and body."""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        words = head.decode().lower().split("\r\n")
        size = next(int(w.split(":")[1]) for w in words
                    if w.startswith("content-length:"))
        while len(self.buffer) < size:
            self.more()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        if "connection: close" in words:
            self.sock.close()
            self.sock = None
        return int(words[0].split()[1]), body

    def more(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Ended()
        self.buffer += data

    def body(self):
        c = self.chance
        packets = [c.choice(PACKETS).encode()
                   for _ in range(c.choice((1, 1, 2, 5)))]
        whole = b"\x1e".join(packets)
        return mutated(c, whole) if c.randrange(4) else whole

    def run(self, bodies):
        """A session, until it ends or so many were sent; returns how many
        were."""
        self.path = self.chance.choice((PLAIN, SOCKET_IO))
        status, said = self.ask("GET", "")
        assert status == 200, said
        self.opened += 1
        sid = json.loads(said[1:])["sid"]
        for sent in range(1, bodies + 1):
            status, said = self.ask("POST", f"&sid={sid}", self.body())
            assert status in (200, 400), (status, said)
            if status == 400:
                return sent
        self.ask("POST", f"&sid={sid}", b"1")
        return bodies + 1


def campaign(port, frames, bodies, seed, out):
    chance = random.Random(seed)
    done = {"frames": 0, "websockets": 0, "bodies": 0, "polls": 0}
    polls = Polls(port, chance)
    try:
        while done["frames"] < frames:
            c = Connection(port, chance.choice((PLAIN, SOCKET_IO)), chance)
            done["websockets"] += 1
            done["frames"] += c.run(chance.randrange(1, 16))
        while done["bodies"] < bodies:
            done["bodies"] += polls.run(chance.randrange(1, 16))
        done["polls"] = polls.opened
    except BaseException as e:  # pylint: disable=broad-except
        done["failed"] = f"seed {seed}, {done}: {e!r}"
    out.put(done)


def run_campaigns(port, frames, bodies, seed, processes=2):
    """By several processes; their counts, added."""
    out = multiprocessing.Queue()
    running = [multiprocessing.Process(
        target=campaign,
        args=(port, -(-frames // processes), -(-bodies // processes),
              f"{seed}.{n}", out)) for n in range(processes)]
    for p in running:
        p.start()
    done = [out.get() for _ in running]
    for p in running:
        p.join()
    failed = [d["failed"] for d in done if "failed" in d]
    assert not failed, failed
    return {key: sum(d[key] for d in done) for key in done[0]}
