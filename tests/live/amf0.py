"""AMF0 (Adobe, 2007), written for the tests alone: shares nothing with weir.

Python       AMF0
float, int   number            str   string (long string above 65535)
bool         boolean           None  null
dict         object            Ecma  ECMA array
list         strict array      UNDEFINED
"""
# SPDX-License-Identifier: BSD-2-Clause

import struct


class Ecma(dict):
    """A dict that is written as an ECMA array."""


class Undefined:
    def __repr__(self):
        return "UNDEFINED"


UNDEFINED = Undefined()


def _key(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _members(value):
    body = b"".join(_key(k) + encode(v) for k, v in value.items())
    return body + b"\0\0\x09"


def encode(*values):
    return b"".join(_encode(value) for value in values)


def _encode(value):
    if value is None:
        return b"\x05"
    if value is UNDEFINED:
        return b"\x06"
    if isinstance(value, bool):
        return b"\x01" + bytes([value])
    if isinstance(value, (int, float)):
        return b"\0" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        if len(data) > 65535:
            return b"\x0c" + struct.pack(">I", len(data)) + data
        return b"\x02" + _key(value)
    if isinstance(value, Ecma):
        return b"\x08" + struct.pack(">I", len(value)) + _members(value)
    if isinstance(value, dict):
        return b"\x03" + _members(value)
    if isinstance(value, list):
        return b"\x0a" + struct.pack(">I", len(value)) + encode(*value)
    raise TypeError(f"no AMF0 for {value!r}")


def decode(data):
    """All values of a message body."""
    values = []
    at = 0
    while at < len(data):
        value, at = _decode(data, at)
        values.append(value)
    return values


def _string(data, at, size):
    form = ">H" if size == 2 else ">I"
    length = struct.unpack_from(form, data, at)[0]
    end = at + size + length
    assert end <= len(data), "AMF0 string passes the end"
    return data[at + size:end].decode(), end


def _decode_members(data, at, kind):
    result = kind()
    while True:
        key, at = _string(data, at, 2)
        if key == "" and data[at] == 9:
            return result, at + 1
        result[key], at = _decode(data, at)


def _decode(data, at):
    marker = data[at]
    at += 1
    if marker == 0:
        return struct.unpack_from(">d", data, at)[0], at + 8
    if marker == 1:
        return bool(data[at]), at + 1
    if marker == 2:
        return _string(data, at, 2)
    if marker == 3:
        return _decode_members(data, at, dict)
    if marker == 5:
        return None, at
    if marker == 6:
        return UNDEFINED, at
    if marker == 8:
        return _decode_members(data, at + 4, Ecma)
    if marker == 10:
        count = struct.unpack_from(">I", data, at)[0]
        at += 4
        items = []
        for _ in range(count):
            item, at = _decode(data, at)
            items.append(item)
        return items, at
    if marker == 11:
        return struct.unpack_from(">d", data, at)[0], at + 10
    if marker == 12:
        return _string(data, at, 4)
    raise ValueError(f"AMF0 marker {marker} at {at - 1}")
