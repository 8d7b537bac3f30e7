"""PROXY protocol headers, right ones and parts to make wrong ones of."""
# SPDX-License-Identifier: BSD-2-Clause

import socket
import struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL = SIGNATURE + b"\x20\0\0\0"


def v1(client="192.0.2.1", port=40000):
    return f"PROXY TCP4 {client} 10.0.0.1 {port} 1935\r\n".encode()


def binary(body, version_command=0x21, family=0x11):
    return SIGNATURE + struct.pack(">BBH", version_command, family,
                                   len(body)) + body


def field(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


def addresses(client="192.0.2.1", port=40000):
    return socket.inet_aton(client) + socket.inet_aton("10.0.0.1") + \
        struct.pack(">HH", port, 1935)


def v2(client="192.0.2.1", port=40000, fields=b""):
    return binary(addresses(client, port) + fields)


# Each must end the connection without a word.
WRONG = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "rtmp": b"\x03" + b"\0" * 1536,
    "lower case": b"proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
    "lf only": b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
    "too long": b"PROXY UNKNOWN " + b"x" * 92 + b"\r\n",
    "no end": b"PROXY UNKNOWN " + b"x" * 93,
    "udp": b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
    "leading zero": b"PROXY TCP4 1.2.3.04 1.2.3.4 1 2\r\n",
    "port with zero": b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
    "port too big": b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
    "two spaces": b"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n",
    "space at end": b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n",
    "six in four": b"PROXY TCP4 ::1 ::1 1 2\r\n",
    "name": b"PROXY TCP4 localhost 1.2.3.4 1 2\r\n",
    "missing port": b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
    "version 1 binary": binary(addresses(), 0x11),
    "version 3": binary(addresses(), 0x31),
    "command 2": binary(addresses(), 0x22),
    "datagrams": binary(addresses(), family=0x12),
    "family 4": binary(bytes(216), family=0x41),
    "short addresses": binary(addresses()[:-1]),
    "long": SIGNATURE + b"\x21\x11\xff\xff",
    "field over the end": binary(addresses() + b"\x04\0\x09x"),
    "half a field": binary(addresses() + b"\x04\0"),
    "bad checksum": v2(fields=field(3, b"\1\2\3\4")),
    "long id": v2(fields=field(5, b"x" * 129)),
    "short ssl": v2(fields=field(0x20, b"\1\0\0")),
    "signature broken": SIGNATURE[:-1] + b"X\x21\x11\0\x0c" + addresses(),
}
