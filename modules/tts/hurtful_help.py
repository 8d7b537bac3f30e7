"""Requests for speech that were written to hurt, and what may come of them."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import struct
from urllib.parse import quote

from speech_help import Sound

NAME_58 = ("abcdefghijklmnopqrstuvwxyz" * 3)[:58]

PIECES = [
    "hello ", "world. ", "one, two; three: ", "1234567890123456789 ", "3.14 ",
    "...", "?!", "\n\n", "\t", "-", "(", ")", '"', "[[h@l'oU]]", "[[", "]]",
    "é", "中文字", "Привет ", "नमस्ते ", "مرحبا ", "😀", "\uffff", "\u200d",
    "\u00a0", "\U000e0001", "\ue03c", "\0", "\x01", "\x01Vgmw/de ",
    "\x01V../../../etc/passwd ", "\x019999S", "\x015M", "\x01Babcdefghij ",
    "\x02", "\x1b", "\x7f", "&#1;", "&#x1;", "&#1;V../../etc/passwd ",
    "&#4294967297;", "&#1#;", "&#x110000;", "&#-5;", "&lt;", "&amp;",
    "&nosuchentity;", "<", ">", "/>", "</", "<!--", "-->", "<?xml",
    "<![CDATA[", "]]>", "<speak>", "</speak>",
    '<speak version="1.0" xml:lang="de">', '<voice name="de">',
    '<voice name="../../../../etc/passwd">', '<voice name="/etc/passwd">',
    '<voice name="en-mb1">', '<voice name="mb/mb-en1">',
    f'<voice name="en+{NAME_58}">', f'<voice name="{NAME_58}">',
    '<voice xml:lang="fr" variant="9999999999">', '<voice xml:lang="',
    '<voice gender="female" age="6" variant="3">', "</voice>", "<p>", "</p>",
    '<s xml:lang="hi">', "</s>",
    '<prosody rate="x-fast" pitch="-90%" volume="999">',
    '<prosody rate="1e99">', "</prosody>", '<break time="3600s"/>',
    '<break time="99999999999s"/>', '<break strength="x-strong"/>',
    '<say-as interpret-as="characters">', '<say-as interpret-as="tts:key">',
    "</say-as>", '<sub alias="a b c d">', "</sub>",
    '<phoneme alphabet="espeak" ph="h@l\'oU">', "</phoneme>",
    '<audio src="/etc/passwd">', '<audio src="file:///etc/passwd"/>',
    '<audio src="|id"/>', "</audio>", '<mark name="abcdefghijklmnop"/>',
    '<tts:style field="punctuation" mode="all">', "</tts:style>",
]

VOICES = [
    "en-us", "en", "de", "fr", "hi", "ru", "cmn", "ar", "ja", "ko", "jbo",
    "en+f3", "English (America)", "../../etc/passwd", "/etc/passwd",
    "gmw/../../../../etc/passwd", "en/../de", "gmw/en", "mb/mb-en1", "mb-en1",
    "en+../../../../etc/passwd", "en+/etc/passwd", f"en+{NAME_58}", NAME_58,
    "en\0", "e\nn", "\x01", "!v/f3", "/proc/self/mem", "..", "", "x" * 5000,
]

SPEAKERS = ["f3", "klatt", "whisper", "Mr serious", "9", "+", "../f3",
            "../../../../../etc/passwd", NAME_58, NAME_58[:57], "\0", ""]

NUMBERS = {"speaker_id": (0, 120), "length_scale": (0.1, 10),
           "noise_scale": (0, 10), "noise_w_scale": (0, 2), "pitch": (0, 99),
           "range": (0, 99), "volume": (0, 200), "sentence_silence": (0, 10),
           "sample_rate": (8000, 48000)}

FORMATS = ["wav", "pcm", "mulaw", "flac", "opus", "mp3"]

WRONG = [None, True, -1, 1e300, 2 ** 70, "1", "", [], {}, [[1]], "nan",
         "../../etc/passwd"]


def any_text(r):
    if r.random() < 0.002:
        return r.choice(PIECES) * 20000
    most = r.randrange(1, 120)
    text = ""
    while len(text) < most:
        text += r.choice(PIECES) if r.random() < 0.97 else \
            chr(r.choice((r.randrange(1, 0x80), r.randrange(0xa0, 0xd800))))
    return text


def any_number(r, low, high):
    return r.choice((low, high) * 4 + (low - 1, high * 2) + (
        r.randint(int(low + 1), int(high)), r.uniform(low, high)) * 2)


def any_fields(r):
    fields = {"text": any_text(r), "ssml": r.random() < 0.6}
    if r.random() < 0.6:
        fields["voice"] = r.choice(VOICES[:12] if r.random() < 0.6 else VOICES)
    if r.random() < 0.3:
        fields["speaker"] = r.choice(SPEAKERS[:4] if r.random() < 0.7
                                     else SPEAKERS)
    for name, bounds in NUMBERS.items():
        if r.random() < 0.04:
            fields[name] = any_number(r, *bounds)
    if r.random() < 0.3:
        fields["format"] = r.choice(FORMATS)
    if r.random() < 0.15:
        fields["stream"] = True
    if r.random() < 0.05:
        fields[r.choice(list(fields))] = r.choice(WRONG)
    return fields


def mutated(r, body):
    body = bytearray(body)
    for _ in range(r.randrange(1, 5)):
        body[r.randrange(len(body))] = r.randrange(128 if r.random() < 0.9
                                                   else 256)
    if r.random() < 0.2:
        del body[r.randrange(len(body)):]
    return bytes(body) or b"{"


class Hurtful:
    """A request: method, target below the base, body."""

    def __init__(self, r):
        self.method, self.path, self.openai = "POST", "/", False
        fields = any_fields(r)
        kind = r.random()
        if kind < 0.06:
            self.method = "GET"
            self.path = "/?" + "&".join(
                k + "=" + quote(str(v).lower() if v is True or v is False
                                else str(v))[:3000]
                for k, v in fields.items())[:6000]
            self.body = b""
            return
        if kind < 0.12:
            self.path, self.openai = "/v1/audio/speech", True
            fields = {"model": "tts-1", "input": fields["text"],
                      "voice": fields.get("voice", "alloy"),
                      "response_format": fields.get("format", "wav")}
        elif kind < 0.2:
            self.path = "/timings"
        elif kind < 0.25:
            self.path = "/synthesize"
        self.body = json.dumps(fields, ensure_ascii=r.random() < 0.5).encode()
        if kind > 0.9:
            self.body = mutated(r, self.body)
        elif kind > 0.89:
            self.body = r.choice((b"[" * 20000, b"{}", b"null", b"\0" * 99,
                                  b'{"text":' * 900, b"\xff\xfe{}"))


# ---- answers ----

def seconds_of(answer):
    """How long the sound of a 200 is; None: it is of MP3."""
    kind, body = answer.header("content-type"), answer.body
    if kind == "audio/wav":
        if struct.unpack_from("<H", body, 20)[0] == 1:
            return Sound(body).seconds
        rate, = struct.unpack_from("<I", body, 24)
        return (len(body) - body.index(b"data") - 8) / rate
    if kind == "audio/pcm":
        return len(body) / 2 / int(answer.header("x-sample-rate"))
    if kind == "audio/flac":
        bits = int.from_bytes(body[18:26], "big")
        return (bits & (1 << 36) - 1) / (bits >> 44)
    if kind == "audio/ogg":
        last = body.rindex(b"OggS")
        return struct.unpack_from("<q", body, last + 6)[0] / 48000
    if kind.startswith("application/json"):
        return answer.json()["duration"]
    assert kind == "audio/mpeg", kind
    return None


def problem_of(request, answer, max_audio):
    """What is wrong with an answer; None: nothing."""
    if answer.status == 200:
        seconds = seconds_of(answer)
        if seconds is not None and seconds > max_audio + 0.1:
            return f"{seconds} seconds of sound"
        return None
    if answer.status not in (400, 404, 413, 414, 500, 503):
        return f"status {answer.status}"
    told = answer.json()
    message = told["error"] if request.openai and "error" in told else told
    return None if message["message"] else "no message"


def problem_of_part(answer, max_audio):
    """The same of a body that was broken off."""
    rate = answer.header("x-sample-rate")
    if answer.header("content-type") not in ("audio/wav", "audio/pcm") or \
            len(answer.body) < 44:
        return None
    seconds = (len(answer.body) - 44) / 2 / int(rate)
    return f"{seconds} seconds" if seconds > max_audio + 0.1 else None
