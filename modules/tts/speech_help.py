"""Asking weir for speech, and looking into what comes."""
# SPDX-License-Identifier: BSD-2-Clause

import io
import json
import os
import re
import struct
import subprocess
import tempfile
import wave

from http_client import Http, get, request
from weir import descendants, descriptors, stat_of, wait_for

RATE = 22050  # of the voices of espeak-ng

SENTENCE = ("The quick brown fox jumps over the lazy dog while the old "
            "sailor tells the children a long story about storms, islands "
            "and the stars that led him home.")
# Some five minutes of sound.
LONG = " ".join(f"Sentence number {n} of a long text: {SENTENCE}"
                for n in range(30))


def speaking(weir, tts="", locations="", top="", **parts):
    """A weir whose speaker is ready."""
    w = weir(top=f'tts = ( {{ name = "main"; {tts} }} ); {top}',
             locations=locations or
             '{ path = "/speech"; module = "tts"; },', **parts)
    path = "/speech" if not locations else \
        re.search(r'path = "([^"]+)"', locations)[1]
    wait_for(lambda: say(w, "a", base=path).status == 200, 10, "a voice")
    return w


def say(w, text=SENTENCE, *headers, base="/speech", path="/", **fields):
    return post(w, {"text": text, **fields}, *headers, base=base, path=path)


def post(w, body, *headers, base="/speech", path="/", **more):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return request(w.http, "POST", base + path, *headers, body=body, **more)


class Sound:
    def __init__(self, body):
        with wave.open(io.BytesIO(body)) as f:
            self.rate = f.getframerate()
            self.channels = f.getnchannels()
            self.width = f.getsampwidth()
            self.told = f.getnframes()
            self.bytes = f.readframes(self.told)
        self.frames = len(self.bytes) // (self.width * self.channels)
        self.seconds = self.frames / self.rate

    def samples(self):
        return struct.unpack(f"<{len(self.bytes) // 2}h", self.bytes)

    def is_silent(self):
        return not any(self.bytes)


def probe(body):
    """What ffprobe says of a file of one stream."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(body)
        f.flush()
        out = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries",
             "stream=codec_name,sample_rate,channels:format=duration", "-of",
             "json", f.name], capture_output=True, check=True)
    told = json.loads(out.stdout)
    return {**told["streams"][0], **told.get("format", {})}


def metric(w, name, labels=""):
    text = get(w.http, "/metrics").body.decode()
    found = re.search(rf"^weir_tts_{name}{re.escape(labels)} (\d+)$", text,
                      re.M)
    return int(found[1]) if found else 0


def outcomes(w, outcome, voices=("default", "named", "variant")):
    return sum(metric(w, "requests_total",
                      f'{{outcome="{outcome}",voice="{v}"}}') for v in voices)


def begin(w, text=LONG, version="1.1", **fields):
    """A connection on which a request was sent; the answer is not read."""
    c = Http(w.http)
    c.send("POST", "/speech", version=version,
           body=json.dumps({"text": text, **fields}).encode())
    return c


def program(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def engine(w):
    """All processes of weir-speaker: its zygote is the first, whatever the
    numbers of its children."""
    stats = {p: stat_of(p) for p in descendants(w.pid)
             if program(p).startswith("weir-speaker")}
    return sorted((p for p in stats if stats[p]),
                  key=lambda p: (stats[p][0] in stats, p))


def busy_children(w):
    """Those that write sound: their descriptors are what they were sent."""
    return [p for p in engine(w)
            if any(f.startswith("/memfd:") for f in descriptors(p).values())]
