"""Speech that cannot be had: what clients are told."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import signal
import time

import pytest

from http_client import get, request
from patience import busy
from speech_help import (LONG, SENTENCE, Sound, begin, busy_children, engine,
                         outcomes, post, say, speaking)
from weir import descendants, title, wait_for

SMALL = 'buffer = "64K";'


def refused(a, status, field=None):
    assert a.status == status, a.body
    assert a.header("content-type") == "application/json"
    told = a.json()
    assert told["status"] == status
    assert told.get("field") == field
    return told["message"]


# ---- mistakes of the client ----

@pytest.mark.parametrize("body, told", [
    (b"", "empty"), (b"hello", "not valid JSON"), (b"text=hello", "JSON"),
    (b"[]", "object"), (b'"hello"', "object"), (b'{"text":"a"', "too early"),
    (b'{"text":"a","length_scale":NaN}', "JSON"),
    (b'{"text":"a","text":"b"}', "twice"),
    (b'{"text":"a\xff"}', "UTF-8"), (b'{"text":"\\ud800"}', "JSON"),
    (b'{"text":"a","x":' + b"[" * 40 + b"]" * 40 + b"}", "not taken")])
def test_bodies_that_are_none(weir, body, told):
    w = speaking(weir)
    assert told in refused(post(w, body), 400)


@pytest.mark.parametrize("fields", [
    {}, {"text": None}, {"text": ""}, {"text": " \n\t"}, {"text": 5},
    {"text": True}, {"text": ["a"]}, {"text": {}}])
def test_texts_that_are_none(weir, fields):
    w = speaking(weir)
    assert "text" in refused(post(w, fields), 400, "text")


@pytest.mark.parametrize("field, value, bounds", [
    ("voice", 5, "a string"), ("speaker", 5, "a string"),
    ("speaker_id", "1", "0 to"), ("speaker_id", -1, "0 to"),
    ("speaker_id", 1.5, "whole"), ("length_scale", "0.5", "0.1 to 10"),
    ("length_scale", 0, "0.1 to 10"), ("length_scale", 10.1, "0.1 to 10"),
    ("noise_scale", -1, "0 to 10"), ("noise_w_scale", 3, "0 to 2"),
    ("pitch", 100, "0 to 99"), ("range", -1, "0 to 99"),
    ("volume", 201, "0 to 200"), ("sentence_silence", 11, "0 to 10"),
    ("ssml", "yes", "true or false"), ("stream", 1, "true or false"),
    ("format", "aac", "wav, pcm, mulaw"), ("sample_rate", 7999, "8000 to"),
    ("sample_rate", 96000, "to 48000")])
def test_values_that_are_wrong(weir, field, value, bounds):
    w = speaking(weir)
    told = refused(say(w, **{field: value}), 400, field)
    assert field in told and bounds in told and str(value) in told


def test_a_query_is_judged_as_a_body_is(weir):
    w = speaking(weir)
    for q, field in (("text=", "text"), ("text=%20", "text"),
                     ("text=a%ff", "text"), ("text=a&pitch=x", "pitch"),
                     ("text=a&length_scale=nan", "length_scale"),
                     ("text=a&length_scale=inf", "length_scale"),
                     ("text=a&ssml=maybe", "ssml"), ("text=a&text=b", "text"),
                     ("text=a&pitch=1&pitch=1", "pitch")):
        refused(get(w.http, "/speech?" + q), 400, field)
    refused(get(w.http, "/speech?text=a&voice=nobody"), 404, "voice")


def test_a_text_may_be_too_long(weir):
    w = speaking(weir, tts='max_text = "1K";')
    assert say(w, "a" * 1024).status == 200
    assert "1024" in refused(say(w, "a" * 1025), 413, "text")
    assert "1024" in refused(say(w, "ä" * 513), 413, "text")


def test_a_body_may_be_too_long(weir):
    w = speaking(weir, locations=(
        '{ path = "/speech"; module = "tts"; client_max_body_size = "1K"; },'))
    assert say(w, "a" * 2000).status == 413


# ---- voices ----

@pytest.mark.parametrize("voice", [
    "nobody", "../../etc/passwd", "/etc/passwd", "en\u0000", "mb/mb-en1",
    "en-us+nobody", "v" * 1000, "en-us+" + "v" * 58, "!v/f3", "."])
def test_unknown_voices(weir, voice):
    w = speaking(weir)
    a = say(w, voice=voice)
    assert a.status in (400, 404), a.body
    refused(a, a.status, "voice" if a.status == 404 else a.json()["field"])
    assert outcomes(w, "ok") == 1  # of speaking()


def test_an_unknown_voice_is_told_the_nearest(weir):
    w = speaking(weir)
    told = refused(say(w, voice="en-UX"), 404, "voice")
    assert "en-US" in told and told.endswith("; GET /speech/voices lists them")
    told = refused(say(w, speaker="nobody"), 400, "speaker")
    assert told.endswith("; GET /speech/voices lists them")


@pytest.mark.parametrize("fields", [{"speaker": "nobody"},
                                    {"speaker_id": 100000}])
def test_unknown_speakers(weir, fields):
    w = speaking(weir)
    refused(say(w, **fields), 400, next(iter(fields)))


def test_unknown_voices_may_be_forgiven(weir):
    w = speaking(weir, tts='unknown_voice = "default";')
    a = say(w, voice="nobody", speaker="nobody")
    assert a.status == 200 and a.header("x-voice") == "en-US"


# ---- too much at once, and too long ----

def test_a_full_queue_is_told_at_once(weir):
    w = speaking(weir, tts="children = 1; queue = 0;")
    held = engine(w)
    for p in held:
        os.kill(p, signal.SIGSTOP)
    with begin(w, SENTENCE):
        wait_for(lambda: say(w, "b").status == 503, 5, "it is full")
        a = say(w, "c")
        refused(a, 503)
        assert int(a.header("retry-after")) >= 1
        assert outcomes(w, "queue_full") >= 1
        for p in held:
            os.kill(p, signal.SIGCONT)
    wait_for(lambda: say(w, "d").status == 200, 10, "it speaks again")


def test_sound_has_a_longest(weir):
    w = speaking(weir, tts='max_audio = "2s";')
    refused(say(w), 413, "text")
    assert outcomes(w, "too_long") == 1
    assert say(w, "a").status == 200
    with begin(w, LONG, stream=True) as c:
        assert c.head().status == 200
        with pytest.raises((EOFError, ConnectionResetError)):
            c._chunked()


# ---- what breaks ----

def test_a_stream_breaks_with_its_child(weir):
    w = speaking(weir)
    with begin(w) as c:
        assert c.head().status == 200
        child, = wait_for(lambda: busy_children(w), 5, "a child")
        os.kill(child, signal.SIGKILL)
        with pytest.raises((EOFError, ConnectionResetError)):
            c._chunked()
    assert outcomes(w, "crashed") == 1
    assert say(w).status == 200


def test_a_stream_lasts_as_long_as_it_is_read(weir):
    """Longer than the speaker is waited for: 9 seconds here."""
    w = speaking(weir, tts='timeout = "5s";')
    sound = b""
    with begin(w, stream=True, format="pcm") as c:
        assert c.head().status == 200
        c.sock.settimeout(busy(10))
        end = time.monotonic() + 11
        while time.monotonic() < end:
            sound += c.sock.recv(4096)
            time.sleep(0.01)
        while not sound.endswith(b"\r\n0\r\n\r\n"):
            got = c.sock.recv(1 << 20)
            assert got, "it ends before its end"
            sound += got
    assert outcomes(w, "ok") >= 2


def test_a_stream_to_http_10_breaks_with_a_reset(weir):
    w = speaking(weir)
    with begin(w, version="1.0") as c:
        assert c.head().status == 200
        child, = wait_for(lambda: busy_children(w), 5, "a child")
        os.kill(child, signal.SIGKILL)
        with pytest.raises(ConnectionResetError):
            while c._more():
                c.buffer.clear()


def test_a_child_that_dies_before_the_first_byte_is_an_error(weir):
    w = speaking(weir, tts="children = 1;")
    held = engine(w)
    for p in held:
        os.kill(p, signal.SIGSTOP)
    with begin(w, SENTENCE) as c:
        wait_for(lambda: outcomes(w, "ok") == 1, 5, "the answers before")
        for p in held[1:]:  # one of them will have had it
            os.kill(p, signal.SIGKILL)
        os.kill(held[0], signal.SIGCONT)
        a = c.answer("POST")
        assert a.status in (200, 500, 503)
        if a.status != 200:
            refused(a, a.status)
    wait_for(lambda: say(w).status == 200, 10, "it speaks again")


def speaker(w):
    return [p for p in descendants(w.pid) if title(p) == "weir: speaker"]


def test_without_its_speaker_it_is_unavailable(weir):
    w = speaking(weir)
    old, = speaker(w)
    with begin(w) as c:
        assert c.head().status == 200
        os.kill(old, signal.SIGKILL)
        with pytest.raises((EOFError, ConnectionResetError)):
            c._chunked()
    a = say(w, "new")
    if a.status != 200:  # else the next one was quick
        refused(a, 503)
        assert int(a.header("retry-after")) >= 1
    wait_for(lambda: say(w, "new").status == 200, 20, "another speaker")
    assert speaker(w) != [old]


def test_a_speaker_that_hangs_is_given_up(weir):
    w = speaking(weir, tts='timeout = "100ms";')
    held, = speaker(w)
    os.kill(held, signal.SIGSTOP)
    began = time.monotonic()
    a = say(w, "new")
    refused(a, 503)  # by us, or the master has killed it
    assert int(a.header("retry-after")) >= 1
    assert time.monotonic() - began < busy(10)
    with contextlib.suppress(ProcessLookupError):
        os.kill(held, signal.SIGCONT)
    wait_for(lambda: say(w).status == 200, 10, "it speaks again")


def test_errors_of_weir_itself_are_json(weir):
    w = speaking(weir)
    for method, path, status in (("PUT", "/", 405), ("GET", "/nothing", 404),
                                 ("DELETE", "/voices", 405)):
        a = request(w.http, method, "/speech" + path)
        assert a.status == status and a.json()["status"] == status


def test_after_all_errors_it_still_speaks(weir):
    w = speaking(weir, tts=SMALL)
    for _ in range(20):
        post(w, b"{")
        say(w, voice="nobody")
        begin(w).close()
    assert Sound(say(w).body).seconds > 5
