"""FLV (Adobe, version 10.1, annex E) for the tests: tags in and out, and
payloads of made-up media that are easy to recognise."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import struct

import amf0

AUDIO, VIDEO, DATA = 8, 9, 18
COUNTING = bytes(range(256))

Tag = collections.namedtuple("Tag", "type time payload")


class Reader:
    """Tags out of bytes that come piecemeal; checks the back pointers."""

    def __init__(self):
        self.buffer = bytearray()
        self.flags = None

    def feed(self, data):
        self.buffer += data
        tags = []
        if self.flags is None:
            if len(self.buffer) < 13:
                return tags
            assert self.buffer[:4] == b"FLV\x01", bytes(self.buffer[:13])
            assert self.buffer[5:13] == b"\0\0\0\x09\0\0\0\0"
            self.flags = self.buffer[4]
            del self.buffer[:13]
        while len(self.buffer) >= 11:
            size = int.from_bytes(self.buffer[1:4], "big")
            if len(self.buffer) < 15 + size:
                break
            tags.append(self._tag(size))
            del self.buffer[:15 + size]
        return tags

    def _tag(self, size):
        head = self.buffer[:11]
        back = int.from_bytes(self.buffer[11 + size:15 + size], "big")
        assert back == 11 + size, "PreviousTagSize is wrong"
        assert head[8:11] == b"\0\0\0", "StreamID is not 0"
        time = head[7] << 24 | int.from_bytes(head[4:7], "big")
        return Tag(head[0], time, bytes(self.buffer[11:11 + size]))


def file_of(tags):
    """The bytes of a file."""
    out = [b"FLV\x01\x05\0\0\0\x09\0\0\0\0"]
    for kind, stamp, payload in tags:
        size, low = len(payload), stamp & 0xffffff
        out.append(struct.pack(">B3s3sB3x", kind, size.to_bytes(3, "big"),
                               low.to_bytes(3, "big"), stamp >> 24) +
                   payload + struct.pack(">I", size + 11))
    return b"".join(out)


def read_file(path):
    with open(path, "rb") as f:
        return Reader().feed(f.read())


def is_header(tag):
    """AVC or AAC sequence header."""
    return len(tag.payload) > 1 and tag.payload[1] == 0 and (
        tag.type == VIDEO and tag.payload[0] & 15 == 7 or
        tag.type == AUDIO and tag.payload[0] >> 4 == 10)


def is_key(tag):
    return tag.type == VIDEO and tag.payload[0] >> 4 == 1 \
        and not is_header(tag)


# ---- payloads that no decoder has to like ----

AVC_HEADER = b"\x17\0\0\0\0" + bytes.fromhex(
    "0142c00affe100176742c00ada0141fb0110000003001000000303c8f14264e0"
    "01000468ce3c80")
AAC_HEADER = b"\xaf\0\x12\x10"


def avc_frame(number, size=1000, key=False):
    """Bytes that tell which frame it is and whether all of it came."""
    first = number & 255
    body = COUNTING * (size // 256 + 2)
    return bytes([0x17 if key else 0x27, 1, 0, 0, 0]) + \
        struct.pack(">I", number) + body[first:first + max(size - 4, 0)]


def aac_frame(number, size=100):
    body = struct.pack(">I", number)
    return b"\xaf\x01" + body + bytes([number & 255]) * (size - len(body))


def metadata(**more):
    values = {"width": 320.0, "height": 180.0, "encoder": "weir tests"}
    values.update(more)
    return amf0.encode("@setDataFrame", "onMetaData", amf0.Ecma(values))
