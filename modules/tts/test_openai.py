"""The routes that clients of OpenAI's API ask for."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from http_client import get, request
from speech_help import RATE, SENTENCE, Sound, post, probe, say, speaking

SPEECH = "/v1/audio/speech"


def ask(w, text=SENTENCE, **fields):
    return post(w, {"model": "tts-1", "input": text, "voice": "alloy",
                    **fields}, path=SPEECH)


def refused(a, status, param=None):
    assert a.status == status, a.body
    assert a.header("content-type") == "application/json"
    error = a.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] == param
    assert error["type"] == ("invalid_request_error" if status < 500 else
                             "server_error")
    return error


def test_speech_is_mp3(weir):
    w = speaking(weir)
    for a in (ask(w), ask(w, response_format=None),
              ask(w, response_format="mp3")):
        assert a.status == 200 and a.header("content-type") == "audio/mpeg"
        assert probe(a.body)["codec_name"] == "mp3"


@pytest.mark.parametrize("name, kind, codec", [
    ("opus", "audio/ogg", "opus"), ("flac", "audio/flac", "flac"),
    ("wav", "audio/wav", "pcm_s16le")])
def test_other_formats(weir, name, kind, codec):
    w = speaking(weir)
    a = ask(w, response_format=name)
    assert a.status == 200 and a.header("content-type") == kind
    assert probe(a.body)["codec_name"] == codec


def test_pcm_is_as_theirs(weir):
    w = speaking(weir)
    a = ask(w, response_format="pcm")
    assert a.header("content-type") == "audio/pcm"
    assert a.header("x-sample-rate") == "24000"
    seconds = Sound(ask(w, response_format="wav").body).seconds
    assert abs(len(a.body) / 2 / 24000 - seconds) < 0.05


@pytest.mark.parametrize("speed", [0.25, 0.5, 1, 2])
def test_speed(weir, speed):
    w = speaking(weir)
    sound = Sound(ask(w, speed=speed, response_format="wav").body)
    plain = Sound(ask(w, response_format="wav").body)
    assert abs(sound.seconds * speed / plain.seconds - 1) < 0.03


def test_their_voices_have_voices_here(weir):
    w = speaking(weir)
    names = ("alloy", "ash", "ballad", "coral", "echo", "fable", "nova",
             "onyx", "sage", "shimmer", "verse")
    bodies = {ask(w, "Hello.", voice=n, response_format="wav").body
              for n in names}
    assert len(bodies) == len(names)


def test_voices_of_ours(weir):
    w = speaking(weir)
    ours = say(w, "hello", voice="de+f2").body
    for voice in ("de+f2", {"id": "de+f2"}, {"name": "de+f2"}):
        a = ask(w, "hello", voice=voice, response_format="wav")
        assert a.body == ours and a.header("x-voice") == "de+f2"
    a = post(w, {"input": "hello"}, path=SPEECH)
    assert a.status == 200 and a.header("x-voice") == "en-US"


def test_voices_are_mapped_by_settings(weir):
    w = speaking(weir, tts='voice_map = ( { name = "alloy"; voice = "de"; }, '
                           '{ name = "boss"; voice = "fr-fr+m7"; } );')
    assert ask(w).header("x-voice") == "de"
    assert ask(w, voice="Boss").header("x-voice") == "fr+m7"
    assert ask(w, voice="nova").header("x-voice") == "en-US+f3"
    listed = get(w.http, "/speech/v1/audio/voices").json()["voices"]
    assert [v["id"] for v in listed[:2]] == ["alloy", "boss"]
    assert [v["id"] for v in listed].count("alloy") == 1


def test_what_has_no_meaning_here_is_taken(weir):
    w = speaking(weir)
    plain = ask(w, response_format="wav").body
    assert ask(w, response_format="wav", instructions="be glad",
               stream_format="audio", model="gpt-4o-mini-tts",
               user="me").body == plain


@pytest.mark.parametrize("fields, param", [
    ({"input": None}, "input"), ({"input": ""}, "input"),
    ({"input": 5}, "input"), ({"voice": 5}, "voice"),
    ({"voice": {}}, "voice"), ({"voice": "nobody"}, "voice"),
    ({"speed": 0.2}, "speed"), ({"speed": 4.1}, "speed"),
    ({"speed": "1"}, "speed"), ({"response_format": "aac"},
                                "response_format"),
    ({"response_format": 5}, "response_format"),
    ({"stream_format": "sse"}, "stream_format")])
def test_mistakes(weir, fields, param):
    w = speaking(weir)
    error = refused(ask(w, **{"text": SENTENCE, **{
        "text" if k == "input" else k: v for k, v in fields.items()}}), 400,
        param)
    if fields == {"voice": "nobody"}:
        assert "GET /speech/v1/audio/voices lists them" in error["message"]
    if param == "response_format":
        assert "mp3, opus, flac, wav, pcm" in error["message"]


def test_bodies_that_are_none(weir):
    w = speaking(weir)
    for body in (b"", b"{", b"[]", b"hello"):
        refused(post(w, body, path=SPEECH), 400)
    assert refused(post(w, {}, path=SPEECH), 400, "input")
    assert refused(ask(w, "a" * 70000), 400,
                   "input")["code"] == "string_above_max_length"


def test_other_errors_have_the_same_form(weir):
    w = speaking(weir)
    refused(request(w.http, "PUT", "/speech" + SPEECH), 405)
    refused(get(w.http, "/speech/v1/nothing"), 404)
    assert refused(get(w.http, "/speech/v1/models/gpt-9"), 404,
                   "model")["code"] == "model_not_found"


def test_lists(weir):
    w = speaking(weir)
    models = get(w.http, "/speech/v1/models").json()
    assert models["object"] == "list"
    for m in models["data"]:
        assert m["object"] == "model"
        assert get(w.http, f"/speech/v1/models/{m['id']}").json() == m
    voices = get(w.http, "/speech/v1/audio/voices").json()["voices"]
    ids = [v["id"] for v in voices]
    assert len(ids) == len(set(ids)) and {"alloy", "de", "en-US"} <= set(ids)
    for name in ("alloy", "de", ids[-1]):
        assert ask(w, "a", voice=name, response_format="wav").status == 200


def test_a_long_answer_is_streamed(weir):
    w = speaking(weir, tts='buffer = "64K";')
    a = ask(w, response_format="wav")
    assert a.header("transfer-encoding") == "chunked"
    assert Sound(a.body).rate == RATE
    assert Sound(a.body).seconds > 5
