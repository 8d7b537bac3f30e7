"""The protocol Wyoming, as Home Assistant speaks it to its engines."""
# SPDX-License-Identifier: BSD-2-Clause

import io
import json
import os
import re
import signal
import socket
import struct
import wave

import pytest

import proxy_header
import tls_files
from http_client import get, request
from weir import descendants, title, wait_for
from wyoming_help import Wyoming

ANY = '"127.0.0.1:0"'
LOCATION = '{ path = "/speech"; module = "tts"; },'
TEXT = "The quick brown fox jumps over the lazy dog. "


def tts(listen=ANY, wyoming="", more="", name="main"):
    return (f'tts = ( {{ name = "{name}"; {more} wyoming = '
            f'{{ listen = ( {listen} ); {wyoming} }}; }} );')


@pytest.fixture
def speech(weir):
    """A weir that speaks, once its speaker has started."""
    def start(**parts):
        more = parts.pop("more", "")
        listen = parts.pop("listen", ANY)
        wyoming = parts.pop("wyoming", "")
        parts.setdefault("locations", LOCATION)
        w = weir(top=tts(listen, wyoming, more), **parts)
        wait_for(lambda: get(w.http, "/speech/voices").status == 200, 10,
                 "the speaker")
        return w
    return start


def connect(w, **options):
    return Wyoming(w.port("tts"), **options)


def over_http(w, **fields):
    """The rate and the samples of the same text by HTTP."""
    a = request(w.http, "POST", "/speech/", body=json.dumps(fields).encode())
    assert a.status == 200, a.body
    with wave.open(io.BytesIO(a.body)) as f:
        return f.getframerate(), f.readframes(f.getnframes())


def process(w, name):
    def look():
        return [p for p in descendants(w.pid) if title(p) == f"weir: {name}"]
    return wait_for(look, 5, name)[0]


def outcome(w, name):
    text = get(w.http, "/metrics").body.decode()
    found = re.findall(rf'^weir_tts_requests_total{{outcome="{name}",.*}} '
                       r'(\d+)$', text, re.M)
    return sum(map(int, found))


def fails(c, code):
    """The error, behind which the connection ends."""
    e = c.expect("error")
    assert e.data["code"] == code, e
    assert c.read() is None
    return e.data["text"]


# ---- what a client asks for ----

def test_the_list_of_voices(speech):
    w = speech(more='voice = "de";')
    with connect(w) as c:
        info = c.info()
        assert c.info() == info
    assert [k for k in info if info[k]] == ["tts"]
    program, = info["tts"]
    assert program["installed"] and program["supports_synthesize_streaming"]
    assert set(program["attribution"]) == {"name", "url"}
    voices = {v["name"]: v for v in program["voices"]}
    assert set(voices) == set(get(w.http, "/speech/voices").json())
    assert voices["en-US"]["languages"] == ["en-US"]
    assert voices["de"]["languages"] == ["de"]
    for v in voices.values():
        assert v["installed"] and v["description"] and v["languages"]
        assert (v["speakers"] is None) == (v["name"] != "de")
    assert {"name": "f3"} in voices["de"]["speakers"]


def test_sound_is_that_of_http(speech):
    w = speech()
    with connect(w) as c:
        for text, voice, fields in (
                ("Hello.", {}, {}),
                (TEXT * 20, {}, {}),
                ("Guten Tag", {"name": "de"}, {"voice": "de"}),
                ("Hello.", {"name": "en-US", "speaker": "f3"},
                 {"voice": "en-US", "speaker": "f3"}),
                ("Hello.", {"speaker": "5"}, {"speaker_id": 5}),
                ("Bonjour", {"language": "fr-FR"}, {"voice": "fr-FR"}),
                ("...", {}, {})):
            assert c.say(text, **voice) == over_http(w, text=text, **fields), \
                text[:20]


def test_an_event_in_each_form(speech):
    w = speech()
    due = over_http(w, text="Hello.")
    line = {"type": "synthesize", "data": {"text": "Hello."}}
    outer = json.dumps({"text": "Hello."}).encode()
    with connect(w) as c:
        c.raw(json.dumps(line).encode() + b"\n")
        assert c.sound() == due
        line["data"] = {"text": "Bye.", "voice": None}
        line["data_length"] = len(outer)
        line["payload_length"] = 70000
        c.raw(json.dumps(line).encode() + b"\n" + outer + b"\n{" * 35000)
        assert c.sound() == due
        c.send("audio-chunk", {"rate": 1}, b"123")
        c.send("ping", {"text": "are you there?"})
        assert c.expect("pong").data == {"text": "are you there?"}
        c.send("ping")
        assert c.expect("pong").data == {}


def test_bytes_that_come_one_by_one(speech):
    w = speech()
    inner = json.dumps({"text": "Hello."}).encode()
    line = json.dumps({"type": "synthesize", "data_length": len(inner),
                       "payload_length": 3}).encode()
    with connect(w) as c:
        c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in line + b"\n" + inner + b"abc":
            c.raw(bytes([byte]))
        assert c.sound() == over_http(w, text="Hello.")


def test_requests_that_wait_behind_each_other(speech):
    w = speech()
    with connect(w) as c:
        for n in range(20):
            c.send("synthesize", {"text": f"Number {n}."})
            c.send("ping", {"text": str(n)})
        c.end()
        for n in range(20):
            assert c.sound() == over_http(w, text=f"Number {n}.")
            assert c.expect("pong").data["text"] == str(n)
        assert c.read() is None


# ---- text that comes bit by bit ----

def test_sentences_are_spoken_as_they_come(speech):
    w = speech()
    with connect(w) as c:
        c.send("synthesize-start", {"voice": {"name": "en-GB"}})
        c.send("synthesize-chunk", {"text": "Hello wor"})
        c.send("synthesize-chunk", {"text": "ld. This is Dr. No"})
        assert c.sound() == over_http(w, text="Hello world. ", voice="en-GB")
        c.send("synthesize-chunk", {"text": ", who has\nno time! "})
        c.send("synthesize", {"text": "all of it again, for old servers"})
        c.send("synthesize-stop")
        assert c.sound() == over_http(
            w, text="This is Dr. No, who has\nno time! ", voice="en-GB")
        c.expect("synthesize-stopped")
        assert c.say("Bye.") == over_http(w, text="Bye.")


def test_a_stream_without_text(speech):
    w = speech()
    with connect(w) as c:
        c.send("synthesize-start")
        c.send("synthesize-chunk", {"text": " \n"})
        c.send("synthesize-stop")
        c.expect("synthesize-stopped")
        assert c.say("Bye.")[1]


# ---- mistakes ----

def test_mistakes_of_a_request(speech):
    w = speech(more="max_text = 1000;")
    for code, kind, data in (
            ("unknown-voice", "synthesize",
             {"text": "x", "voice": {"name": "nosuch"}}),
            ("bad-request", "synthesize",
             {"text": "x", "voice": {"name": "de", "speaker": "nobody"}}),
            ("bad-request", "synthesize", {"text": 5}),
            ("bad-request", "synthesize", {}),
            ("bad-request", "synthesize", {"text": " "}),
            ("too-long", "synthesize", {"text": "x" * 1001}),
            ("bad-request", "synthesize-chunk", {"text": "x"}),
            ("bad-request", "synthesize-stop", {})):
        with connect(w) as c:
            c.send(kind, data)
            told = fails(c, code)
            assert ("describe lists them" in told) == ("voice" in data)
    with connect(w) as c:
        c.send("synthesize-start")
        c.send("synthesize-chunk", {"text": "x" * 1000})
        c.send("synthesize-chunk", {"text": "x"})
        assert fails(c, "too-long")


def test_what_is_no_event(speech):
    w = speech(more="max_text = 1000;")
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\n", b"[]\n", b'{"type":5}\n',
                 b'{"type":"ping","data_length":-1}\n',
                 b'{"type":"ping","data_length":1e9}\n',
                 b'{"type":"ping","data_length":99999999}\n',
                 b'{"type":"ping","payload_length":99999999}\n',
                 b'{"type":"ping","data_length":2}\n[]',
                 b'{"type":"ping"}\xff\n', b"x" * 100000):
        with connect(w) as c:
            c.raw(sent)
            assert fails(c, "protocol")
    with connect(w) as c:
        assert c.say("Still here.")[1]


# ---- clients that are slow, silent, or go ----

def is_closed(s):
    try:
        return s.recv(100) == b""
    except ConnectionError:
        return True


def test_one_that_is_silent(speech):
    w = speech(wyoming='idle_timeout = "300ms";')
    for sent in (b"", b'{"type":', b'{"type":"ping","data_length":5}\nxx',
                 b'{"type":"synthesize-start"}\n'):
        with connect(w) as c:
            c.raw(sent)
            assert is_closed(c.socket), sent


LONG = TEXT * 600  # half an hour of sound, 80 MB


def long_speech(speech, **parts):
    return speech(more='max_text = 100000; max_audio = "2h"; '
                       'timeout = "600s"; cpu = 600;', **parts)


def test_a_slow_reader_costs_little(speech):
    """Its synthesis waits, and others are served."""
    w = long_speech(speech, workers=1)
    with connect(w, receive=4096) as slow:
        slow.send("synthesize", {"text": LONG})
        slow.expect("audio-start")
        with connect(w) as c:
            for _ in range(5):
                assert c.say("Hello.")[1]
        read = 0
        while read < 1000000:
            e = slow.expect("audio-chunk")
            read += len(e.payload)
    wait_for(lambda: outcome(w, "client_gone") == 1, 10, "its end")


def test_one_that_takes_nothing(speech):
    w = long_speech(speech, wyoming='idle_timeout = "500ms";')
    with connect(w, receive=4096) as c:
        c.send("synthesize", {"text": LONG})
        wait_for(lambda: outcome(w, "client_gone") == 1, 10, "its end")


def test_whole_answers_that_nobody_takes_have_a_bound(speech):
    w = speech(more='buffer = "16M";', http_block='max_unsent = "24M";')
    due = request(w.http, "POST", "/speech/", body=json.dumps(
        {"text": TEXT * 80, "format": "pcm"}).encode()).body
    clients = [connect(w, receive=4096) for _ in range(5)]
    for c in clients:  # from the cache: others are streamed
        c.send("synthesize", {"text": TEXT * 80})
    wait_for(lambda: outcome(w, "crashed") >= 2, 30, "the slowest are cut")
    w.wait_log(r"http\.max_unsent \(25165824 bytes\) is kept for clients")
    with connect(w) as c:
        assert c.say(TEXT * 80)[1] == due
    for c in clients:
        c.close()


def test_a_client_that_goes_ends_its_synthesis(speech):
    w = long_speech(speech, workers=1)
    c = connect(w, receive=4096)
    c.send("synthesize", {"text": LONG})
    c.expect("audio-start")
    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
    c.close()
    wait_for(lambda: outcome(w, "client_gone") == 1, 10, "its end")
    with connect(w) as d:
        assert d.say("Hello.")[1]


def test_two_at_once(speech):
    w = speech(workers=1)
    due = [over_http(w, text=f"{TEXT * 50} {n}") for n in range(2)]
    with connect(w) as a, connect(w) as b:
        for n, c in enumerate((a, b)):
            c.send("synthesize", {"text": f"{TEXT * 50} {n}"})
        assert [a.sound(), b.sound()] == due


SO_TIMESTAMPNS = 35  # the system notes when bytes came; TCP has it as well


def pong_came(c):
    """When, by the system's clock; None: the system has just begun to note
    it."""
    parts, came = b"", None
    while not parts.endswith(b'"}'):
        data, notes, _, _ = c.socket.recvmsg(4096, 256)
        assert data, parts
        parts += data
        for level, kind, note in notes:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                came = struct.unpack("qq", note[:16])
    return came


def ping(c):
    c.send("ping", {"text": "?"})


def test_many_small_events_keep_nobody_waiting(speech):
    """Both clients have sent all when the worker looks; the first one's pong
    comes behind that of the second."""
    w = speech(workers=1, more="max_text = 65536;")
    chunk = b'{"type":"synthesize-chunk","data":{"text":"%s"}}\n'
    worker = process(w, "worker 0")
    with connect(w) as many, connect(w) as other:
        for c in (many, other):
            c.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            wait_for(lambda: ping(c) or pong_came(c), 10, "a noted time")
        many.send("synthesize-start")
        many.send("synthesize-chunk", {"text": "x" * 60000})
        ping(many)
        pong_came(many)
        os.kill(worker, signal.SIGSTOP)
        try:
            many.raw((chunk % b"" + chunk % b"y") * 400 +
                     b'{"type":"ping","data":{"text":"?"}}\n')
            ping(other)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert pong_came(other) < pong_came(many)


# ---- processes that end ----

def test_the_speaker_is_killed_midway(speech):
    w = long_speech(speech)
    with connect(w, receive=4096) as c:
        c.send("synthesize", {"text": LONG})
        c.expect("audio-start")
        os.kill(process(w, "speaker"), signal.SIGKILL)
        e = c.read()
        while e is not None and e.kind == "audio-chunk":
            e = c.read()
        assert e is not None and e.kind == "error", e
        assert c.read() is None

    def speaks():
        with connect(w) as c:
            c.send("synthesize", {"text": "Hello."})
            return c.read().kind == "audio-start"
    wait_for(speaks, 20, "the next speaker")


def lists(w):
    with connect(w) as c:
        c.send("describe")
        return c.read().kind == "info"


def test_no_speaker(speech):
    w = speech()
    held = process(w, "speaker")
    os.kill(held, signal.SIGSTOP)
    with connect(w) as c:
        c.send("describe")
        assert fails(c, "busy")
    try:
        os.kill(held, signal.SIGCONT)
    except ProcessLookupError:
        pass  # the master has killed it
    wait_for(lambda: lists(w), 20, "the list of voices")


def test_a_reload_lets_it_finish(speech):
    w = long_speech(speech, workers=1)
    with connect(w, receive=4096) as c, connect(w) as idle:
        assert idle.say("Hello.")[1]
        c.send("synthesize", {"text": TEXT * 40})
        c.expect("audio-start")
        w.reload()
        assert idle.read() is None
        e = c.read()
        while e is not None and e.kind == "audio-chunk":
            e = c.read()
        assert e is not None and e.kind == "audio-stop", e
        assert c.read() is None


# ---- weir's own ----

def test_tls(speech, certificates):
    w = speech(listen=tls_files.listen(certificates.group("localhost")))
    with Wyoming(connected=tls_files.connect(w.port("ttss"),
                                             certificates.root)) as c:
        assert c.say(TEXT * 30) == over_http(w, text=TEXT * 30)


def test_a_proxy_says_who_asks(speech):
    w = speech(listen='{ address = "127.0.0.1:0"; proxy_protocol = true; }',
               wyoming='trusted_proxies = ( "127.0.0.1" );')
    with connect(w) as c:
        c.raw(proxy_header.v1("192.0.2.1"))
        assert c.say("Hello.")[1]
        c.raw(b"\n")
        assert fails(c, "protocol")
    w.wait_log("wyoming of tts main: 192.0.2.1:40000 left: ")
