"""Speech as clients of HTTP get it."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import subprocess
import urllib.parse

import pytest

from http_client import Http, get, request
from speech_help import (LONG, RATE, SENTENCE, Sound, begin, busy_children,
                         metric, outcomes, post, probe, say, speaking)
from weir import resident, wait_for

SMALL = 'buffer = "64K";'  # 1.5 seconds


def durations(w, **fields):
    return Sound(say(w, **fields).body).seconds


def query(**fields):
    return "/speech?" + urllib.parse.urlencode(fields)


# ---- POST / ----

def test_text_becomes_a_wav(weir):
    w = speaking(weir)
    a = say(w)
    assert a.status == 200 and a.header("content-type") == "audio/wav"
    sound = Sound(a.body)
    assert (sound.rate, sound.channels, sound.width) == (RATE, 1, 2)
    assert sound.told == sound.frames and not sound.is_silent()
    assert 5 < sound.seconds < 20
    assert int(a.header("content-length")) == len(a.body)
    assert a.header("x-sample-rate") == str(RATE)
    assert abs(float(a.header("x-audio-duration")) - sound.seconds) < 0.002
    assert a.header("x-voice") == "en-US"
    assert a.header("accept-ranges") == "none"
    assert a.header("cache-control") == "no-store"
    told = probe(a.body)
    assert told["codec_name"] == "pcm_s16le"
    assert abs(float(told["duration"]) - sound.seconds) < 0.01


def test_all_doors_lead_to_the_same_sound(weir):
    w = speaking(weir)
    a = say(w, "hello there").body
    assert post(w, {"text": "hello there"}, path="").body == a
    assert say(w, "hello there", path="/synthesize").body == a
    assert get(w.http, query(text="hello there")).body == a
    assert get(w.http, "/speech/?text=hello+there&unknown=1").body == a


@pytest.mark.parametrize("header", [
    "Content-Type: application/json",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: text/plain; charset=utf-8",
    "X-No-Type: 1"])
def test_the_type_of_the_body_does_not_matter(weir, header):
    w = speaking(weir)
    assert say(w, "hello", header).status == 200


def test_curl_as_people_type_it(weir):
    w = speaking(weir)
    got = subprocess.run(
        ["curl", "-s", "-f", "-d", '{"text": "This is a test."}',
         w.http_url("/speech")], capture_output=True, check=True)
    assert Sound(got.stdout).seconds > 0.5


def test_unknown_fields_and_null_are_nothing(weir):
    w = speaking(weir)
    a = say(w, "hello").body
    assert say(w, "hello", future={"x": [1]}, voice=None, speaker=None,
               speaker_id=None, length_scale=None, noise_scale=None,
               noise_w_scale=None).body == a


def test_a_text_of_nothing_speakable_is_an_empty_wav(weir):
    w = speaking(weir)
    for text in ("...", "?!", "\u200b"):
        a = say(w, text)
        assert a.status == 200, a.body
        assert Sound(a.body).seconds < 1


def test_texts_of_many_scripts(weir):
    w = speaking(weir)
    for voice, text in (("de", "Größe"), ("ru", "Привет, мир"),
                        ("el", "Καλημέρα"), ("hi", "नमस्ते"),
                        ("fr", "ça va\r\n\ttrès bien")):
        a = say(w, text, voice=voice)
        assert a.status == 200, a.body
        assert Sound(a.body).seconds > 0.3
        assert a.header("x-voice") == voice


# ---- voices and speakers ----

def test_a_voice_has_several_names(weir):
    w = speaking(weir)
    german = say(w, "Guten Tag", voice="de")
    assert german.header("x-voice") == "de"
    assert german.body != say(w, "Guten Tag").body
    for name in ("en-US", "EN-us", "english (america)", "en-us"):
        assert say(w, voice=name).header("x-voice") == "en-US"
    for name in ("en-gb", "English (Great Britain)", "EN"):
        assert say(w, voice=name).header("x-voice") == "en"


def test_speakers_are_variants(weir):
    w = speaking(weir)
    plain = say(w)
    woman = say(w, speaker="f3")
    assert woman.header("x-voice") == "en-US+f3"
    assert woman.body != plain.body
    assert say(w, voice="en-us+f3").body == woman.body
    assert say(w, voice="en-us+m3", speaker="f3").body == woman.body
    assert say(w, voice="+f3").body == woman.body
    ids = get(w.http, "/speech/voices").json()["en-US"]["speaker_id_map"]
    assert say(w, speaker="m3", speaker_id=ids["f3"]).body == woman.body
    assert say(w, speaker="m3", speaker_id=0).body == plain.body
    assert say(w, speaker="m3", speaker_id=0.0).body == plain.body


def test_the_default_voice_and_speaker_are_settings(weir):
    w = speaking(weir, tts='voice = "de"; speaker = "f2";')
    assert say(w).header("x-voice") == "de+f2"
    assert say(w, voice="fr").header("x-voice") == "fr+f2"
    assert say(w, voice="en-us+m1").header("x-voice") == "en-US+m1"


def test_voices_are_listed(weir):
    w = speaking(weir)
    a = get(w.http, "/speech/voices")
    assert a.status == 200 and a.header("content-type") == "application/json"
    voices = a.json()
    assert len(voices) > 100
    for name, v in voices.items():
        assert v["name"] == name and v["sample_rate"] == RATE
    assert "de" in voices and "en-US" in voices
    head = request(w.http, "HEAD", "/speech/voices")
    assert head.status == 200 and not head.body
    again = get(w.http, "/speech/voices",
                f"If-None-Match: {a.header('etag')}")
    assert again.status == 304 and not again.body


def test_every_voice_that_is_listed_speaks(weir):
    w = speaking(weir)
    for name in get(w.http, "/speech/voices").json():
        a = say(w, "1 2 3", voice=name)
        assert a.status == 200, (name, a.body)
        assert a.header("x-voice") == name


# ---- the scales ----

@pytest.mark.parametrize("scale", [0.4, 0.5, 0.8, 1.25, 2, 3, 4])
def test_length_scale_is_the_duration(weir, scale):
    w = speaking(weir)
    ratio = durations(w, length_scale=scale) / durations(w, length_scale=1)
    assert abs(ratio / scale - 1) < 0.03


def test_without_noise_the_sound_is_the_same_every_time(weir):
    w = speaking(weir, tts="cache = 0;")
    assert len({say(w, noise_scale=0).body for _ in range(5)}) == 1
    assert say(w, noise_scale=0).body != say(w, noise_scale=10).body
    assert say(w, noise_w_scale=0).body != say(w, noise_w_scale=2).body


def test_pitch_range_and_volume_can_be_heard(weir):
    w = speaking(weir)
    plain = say(w).body
    quiet, loud = (max(Sound(say(w, volume=v).body).samples())
                   for v in (20, 100))
    assert quiet < loud / 2
    assert Sound(say(w, volume=0).body).is_silent()
    assert len({plain, *(say(w, **f).body for f in (
        {"pitch": 0}, {"pitch": 99}, {"range": 0}, {"range": 99}))}) == 5


def test_silence_between_sentences(weir):
    w = speaking(weir)
    three = "One. Two. Three."
    assert abs(durations(w, text=three, sentence_silence=1.5) -
               durations(w, text=three) - 3) < 0.1


def test_ssml(weir):
    w = speaking(weir)
    ssml = 'a <break time="2s"/> b'
    assert durations(w, text=ssml, ssml=True) > 2
    assert durations(w, text=ssml, ssml=False) > \
        durations(w, text="a b", ssml=False)


# ---- formats ----

@pytest.mark.parametrize("name, kind, codec, rate", [
    ("wav", "audio/wav", "pcm_s16le", RATE),
    ("mulaw", "audio/wav", "pcm_mulaw", 8000),
    ("flac", "audio/flac", "flac", RATE),
    ("opus", "audio/ogg", "opus", 48000),
    ("mp3", "audio/mpeg", "mp3", RATE)])
def test_formats(weir, name, kind, codec, rate):
    w = speaking(weir)
    a = say(w, format=name)
    assert a.status == 200 and a.header("content-type") == kind
    assert int(a.header("content-length")) == len(a.body)
    told = probe(a.body)
    assert told["codec_name"] == codec and told["channels"] == 1
    assert int(told["sample_rate"]) == rate


def test_pcm_is_the_wav_without_its_header(weir):
    w = speaking(weir)
    a = say(w, format="pcm")
    assert a.header("content-type") == "audio/pcm"
    assert a.header("x-sample-rate") == str(RATE)
    assert a.body == Sound(say(w).body).bytes


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 44100, 48000])
def test_the_sample_rate_may_be_asked_for(weir, rate):
    w = speaking(weir)
    a = say(w, sample_rate=rate)
    sound = Sound(a.body)
    assert sound.rate == rate and a.header("x-sample-rate") == str(rate)
    assert abs(sound.seconds - Sound(say(w).body).seconds) < 0.05


# ---- timings ----

def test_timings(weir):
    w = speaking(weir)
    text = "Hello there, world. A second sentence."
    a = say(w, text, path="/timings")
    assert a.status == 200 and a.header("content-type") == "application/json"
    assert a.header("x-audio-duration") is None  # there is no sound in it
    told = a.json()
    assert told["voice"] == "en-US" and told["sample_rate"] == RATE
    assert abs(told["duration"] - durations(w, text=text)) < 0.1
    assert [x["text"] for x in told["words"]][:2] == ["Hello", "there"]
    for x in told["words"]:
        assert text[x["from"]:x["to"]] == x["text"]
        assert 0 <= x["start"] < x["end"] <= told["duration"] + 0.05
    assert len(told["sentences"]) == 2
    assert post(w, {"text": text, "timings": True}).json() == told
    assert get(w.http, query(text=text, timings="1")).json() == told


# ---- long answers ----

def test_a_long_answer_is_streamed(weir):
    w = speaking(weir, tts=SMALL)
    a = say(w)
    assert a.status == 200 and a.header("content-length") is None
    assert a.header("transfer-encoding") == "chunked"
    assert a.header("x-accel-buffering") == "no"
    assert a.header("x-voice") == "en-US"
    assert a.header("x-sample-rate") == str(RATE)
    sound = Sound(a.body)
    assert sound.told > sound.frames  # not known when the head was sent
    told = probe(a.body)
    assert told["codec_name"] == "pcm_s16le"
    assert int(told["sample_rate"]) == RATE
    whole = say(w, format="pcm", sample_rate=RATE)
    assert whole.body == sound.bytes
    assert say(w, "a").header("content-length") is not None


def test_a_stream_has_the_same_sound(weir):
    w = speaking(weir)
    stream = say(w, stream=True)
    whole = say(w)
    assert whole.header("transfer-encoding") is None
    assert stream.header("transfer-encoding") == "chunked"
    assert stream.header("x-audio-duration") is None
    assert Sound(stream.body).bytes == Sound(whole.body).bytes


def test_minutes_of_sound(weir):
    w = speaking(weir)
    a = say(w, LONG)
    assert a.header("transfer-encoding") == "chunked"
    assert Sound(a.body).seconds > 200


def test_the_connection_goes_on(weir):
    w = speaking(weir, tts=SMALL)
    with Http(w.http) as c:
        for n in range(3):
            c.send("POST", "/speech", body=b'{"text":"a"}')
            assert c.answer("POST").header("content-length") is not None
            c.send("POST", "/speech", body=b'{"text":"' + SENTENCE.encode() +
                   b'"}')
            a = c.answer("POST")
            assert Sound(a.body).seconds > 5
            c.send("POST", "/speech", body=b"{}")
            assert c.answer("POST").status == 400, n


def test_http_10(weir):
    w = speaking(weir, tts=SMALL)
    short, long = (request(w.http, "POST", "/speech", version="1.0",
                           body=f'{{"text":"{text}"}}'.encode())
                   for text in ("a", SENTENCE))
    assert int(short.header("content-length")) == len(short.body)
    assert long.header("content-length") is None
    assert long.header("transfer-encoding") is None
    assert Sound(long.body).bytes == Sound(say(w).body).bytes


def test_head(weir):
    w = speaking(weir, tts=SMALL)
    for text in ("a", SENTENCE):
        a = request(w.http, "HEAD", query(text=text))
        assert a.status == 200 and a.header("content-type") == "audio/wav"
    whole = get(w.http, query(text="a"))
    assert request(w.http, "HEAD", query(text="a")).header(
        "content-length") == whole.header("content-length")
    assert say(w, "a").status == 200


# ---- what is kept ----

def test_equal_requests_come_from_the_cache(weir):
    w = speaking(weir)
    before = metric(w, "cache_hits_total")
    first, second = say(w), say(w)
    assert first.body == second.body
    assert metric(w, "cache_hits_total") == before + 1
    w.wait_access_log(r"speech: ok, voice en-US, cached yes, duration \d+\.")
    w.wait_access_log(r"speech: ok, voice en-US, cached no, duration \d+\.")


def test_a_client_may_keep_an_answer(weir):
    w = speaking(weir)
    a = get(w.http, query(text="hello"))
    tag = a.header("etag")
    assert tag and a.header("cache-control") == "no-cache"
    again = get(w.http, query(text="hello"), f"If-None-Match: {tag}")
    assert again.status == 304 and not again.body
    assert again.header("etag") == tag
    for fields in ({"text": "hallo"}, {"text": "hello", "pitch": 1},
                   {"text": "hello", "format": "pcm"}):
        assert get(w.http, query(**fields),
                   f"If-None-Match: {tag}").status == 200
    assert say(w, "hello", f"If-None-Match: {tag}").status == 200


# ---- slow clients, and those that go ----

def test_a_slow_client_gets_all_of_it(weir):
    """More than all buffers hold: the synthesis waits for its reader."""
    w = speaking(weir, tts="children = 1;")
    with begin(w) as c:
        a = c.head()
        assert a.header("transfer-encoding") == "chunked"
        # The only slot is free again while this reader does nothing.
        assert all(Sound(say(w, f"number {n}").body).seconds > 0.3
                   for n in range(3))
        c.buffer[:0] = b"x: y\r\n\r\n"
        c.head = lambda: a
        c._until(b"\r\n\r\n")
        assert Sound(c.answer().body).seconds > 200


def test_a_reader_that_stands_still_costs_little(weir):
    w = speaking(weir, tts="children = 1;")
    worker, = w.workers()
    before = resident(worker)
    readers = [begin(w, f"{n}. {LONG}") for n in range(20)]
    for c in readers:
        assert c.head().status == 200
    assert say(w).status == 200
    assert resident(worker) - before < 20 << 20
    for c in readers:
        c.close()
    wait_for(lambda: outcomes(w, "client_gone") == 20, 10, "all are gone")


def unsent(w, name):
    return int(re.search(rf"^weir_http_unsent_{name} (\d+)$", get(
        w.http, "/metrics").body.decode(), re.M)[1])


def test_whole_answers_that_nobody_takes_have_a_bound(weir):
    """They lie in memory: the slowest are cut."""
    w = speaking(weir, tts='buffer = "16M"; cache = 0;',
                 http_block='max_unsent = "32M";')
    readers = [begin(w, f"{n}. {LONG}") for n in range(6)]
    wait_for(lambda: unsent(w, "cut_total") >= 3, 30, "the slowest are cut")
    wait_for(lambda: 8 << 20 < unsent(w, "bytes") <= 32 << 20, 10, "the rest")
    assert Sound(say(w, LONG).body).seconds > 200
    for c in readers:
        c.close()
    wait_for(lambda: unsent(w, "bytes") == 0, 10, "all is given back")


def test_the_synthesis_stops_when_its_client_goes(weir):
    w = speaking(weir)
    c = begin(w)
    assert c.head().status == 200
    wait_for(lambda: busy_children(w), 5, "a child")
    c.close()
    wait_for(lambda: outcomes(w, "client_gone") == 1, 10, "it is gone")
    wait_for(lambda: not busy_children(w), 10, "its child ends")
    assert metric(w, "child_ends_total", '{reason="gone"}') == 1
    w.wait_access_log("speech: client gone, voice en-US")


def test_many_at_once(weir):
    w = speaking(weir, workers=2)
    waiting = [begin(w, f"number {n}") for n in range(40)]
    bodies = [c.answer("POST") for c in waiting]
    assert [a.status for a in bodies] == [200] * 40
    assert len({a.body for a in bodies}) == 40
    for c in waiting:
        c.close()


# ---- GET /, methods ----

def test_what_stands_at_the_base(weir):
    w = speaking(weir)
    page = get(w.http, "/speech/", "Accept: text/html,*/*;q=0.8")
    assert page.status == 200
    assert page.header("content-type").startswith("text/html")
    told = get(w.http, "/speech/")
    assert told.header("content-type") == "application/json"
    assert "text" in told.json()["message"]
    assert set(told.json()["formats"]) >= {"wav", "pcm", "mulaw"}
    assert told.header("vary") == page.header("vary") == "Accept"
    sound = get(w.http, "/speech/?text=a", "Accept: text/html,*/*;q=0.8")
    assert sound.header("content-type") == "audio/wav"


@pytest.mark.parametrize("path, allow", [
    ("/", {"GET", "HEAD", "POST"}), ("/synthesize", {"POST"}),
    ("/timings", {"POST"}), ("/voices", {"GET", "HEAD"})])
def test_methods(weir, path, allow):
    w = speaking(weir)
    a = request(w.http, "OPTIONS", "/speech" + path)
    assert a.status == 204
    assert set(a.header("allow").split(", ")) == allow | {"OPTIONS"}
    a = request(w.http, "PUT", "/speech" + path)
    assert a.status == 405 and "message" in a.json()
    assert set(a.header("allow").split(", ")) == allow | {"OPTIONS"}


def test_pages_of_other_sites_need_cors(weir):
    origin = "Origin: http://web.example"
    w = speaking(weir)
    assert say(w, "a", origin, "Sec-Fetch-Site: cross-site").status == 403
    w = speaking(weir, locations=(
        '{ path = "/speech"; module = "tts"; '
        'cors = { allow_origins = [ "http://web.example" ]; }; },'))
    a = say(w, "a", origin, "Sec-Fetch-Site: cross-site")
    assert a.status == 200
    assert a.header("access-control-allow-origin") == "http://web.example"


# ---- instances, reload ----

def test_instances_have_voices_of_their_own(weir):
    w = weir(top='tts = ( { name = "a"; voice = "de"; }, '
                 '{ name = "b"; voice = "fr-fr"; } );',
             locations='{ path = "/a"; module = "tts"; instance = "a"; },'
                       '{ path = "/b"; module = "tts"; instance = "b"; },')
    for base, voice in (("/a", "de"), ("/b", "fr")):
        wait_for(lambda b=base: say(w, "eins", base=b).status == 200, 10,
                 "a voice")
        assert say(w, "eins", base=base).header("x-voice") == voice


def test_a_reload_changes_the_voice_and_breaks_nothing(weir):
    w = speaking(weir)
    with begin(w) as c:
        assert c.head().status == 200
        w.set_config(top='tts = ( { name = "main"; voice = "de"; } );',
                     locations='{ path = "/speech"; module = "tts"; },')
        w.reload()
        wait_for(lambda: say(w, "a").header("x-voice") == "de", 10,
                 "the new voice")
        assert len(c._chunked()) > 200 * 2 * RATE


def test_outcomes_are_counted(weir):
    w = speaking(weir)
    good, bad = outcomes(w, "ok"), outcomes(w, "bad_request")
    say(w)
    say(w, "")
    say(w, voice="nobody")
    assert outcomes(w, "ok") == good + 1
    assert outcomes(w, "bad_request") == bad + 1
    assert outcomes(w, "unknown_voice") == 1
    say(w, "a" * (64 * 1024 + 1))
    assert outcomes(w, "too_long") == 1


@pytest.mark.parametrize("voice, asked", [
    ("default", {}),
    ("default", {"voice": None, "speaker": ""}),
    ("named", {"voice": "de"}),
    ("variant", {"voice": "de+f3"}),
    ("variant", {"speaker": "f3"}),
    ("variant", {"voice": "de", "speaker_id": 0}),
])
def test_requests_are_counted_by_class_of_voice(weir, voice, asked):
    w = speaking(weir)
    before = outcomes(w, "ok", [voice]), outcomes(w, "ok")
    assert say(w, **asked).status == 200
    after = outcomes(w, "ok", [voice]), outcomes(w, "ok")
    assert after == (before[0] + 1, before[1] + 1)


def test_the_worker_holds_no_descriptor_afterwards(weir):
    w = speaking(weir, tts=SMALL)
    worker, = w.workers()

    def held():
        return len(os.listdir(f"/proc/{worker}/fd"))
    before = held()
    for text in ("a", SENTENCE, ""):
        say(w, text)
    c = begin(w)
    c.head()
    c.close()
    wait_for(lambda: held() <= before, 5, "its descriptors are closed")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGQUIT])
def test_a_stop_waits_for_nobody_who_reads_nothing(weir, stop):
    """No longer than stop_drain."""
    w = speaking(weir, top='stop_drain = "1s";')
    with begin(w) as c:
        assert c.head().status == 200
        w.stop(stop)
