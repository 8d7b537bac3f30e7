"""weir -m VOICE: options, the configuration that they make, and weir on it."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import socket

import pytest

from alone_help import Alone, setting, voice
from control_client import ctl_json
from http_client import get
from weir import descendants, free_port, open_way, place, run, title, wait_for


@pytest.fixture
def alone(request, tmp_path):
    """Starts one; it is stopped and checked when the test is over."""
    started = request.node.weirs = []

    def start(*arguments):
        folder = tmp_path / f"alone{len(started)}"
        folder.mkdir()
        started.append(Alone(folder, *arguments))
        return started[-1]

    yield start
    for w in reversed(started):
        w.finish(check=not getattr(request.node, "test_failed", False))


def print_of(*arguments, prefix=None):
    result = run("-m", "en-us", *arguments, "-T", prefix=prefix)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*arguments, prefix=None):
    result = run(*arguments, prefix=prefix)
    assert result.returncode in (1, 2) and not result.stdout, result
    return result.stderr


# ---- a weir without a file ----

def test_it_speaks_and_writes_nothing(alone):
    w = alone("-m", "en-us", "--port", "0")
    a = w.say('{"text": "hello"}')
    assert a.status == 200 and a.header("content-type") == "audio/wav"
    assert a.header("x-voice") == "en-US" and a.body[:4] == b"RIFF"
    assert w.voices()["en-US"]["name"] == "en-US"
    assert sorted(title(p) for p in descendants(w.pid)
                  if title(p).startswith("weir: ")) == \
        ["weir: speaker", "weir: worker 0"]
    assert sorted(os.listdir(w.prefix)) == \
        ["html", "run", "sanitizer", "stderr.log", "weir.conf"]  # the test's
    assert not os.listdir(f"{w.prefix}/run")


def test_localhost_is_all_of_its_addresses(alone):
    port = free_port()
    w = alone("-m", "en-us", "--port", str(port))
    wanted = ["127.0.0.1"]
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        known = socket.getaddrinfo("localhost", None, socket.AF_INET6)
        wanted += ["::1"] if known else []
    except OSError:
        pass
    for host in wanted:
        assert get(port, "/voices", address=host,
                   host="localhost").status in (200, 503)
    assert w.log().count("listening on http") == len(wanted)


def test_an_address_in_use(alone):
    w = alone("-m", "en-us", "--port", "0")
    result = run("-m", "en-us", "--host", "127.0.0.1", "--port", str(w.http))
    assert result.returncode == 2 and "in use" in result.stderr


def test_defaults_reach_requests(alone):
    def seconds(*arguments):
        w = alone("-m", "en-us", "--port", "0", *arguments)
        a = w.say('{"text": "This is one sentence. And this is another."}')
        assert a.status == 200
        return float(a.header("x-audio-duration")), a.header("x-voice")

    plain, name = seconds()
    assert name == "en-US"
    slow, name = seconds("--length-scale", "2", "-s", "f3")
    assert slow > 1.5 * plain and name == "en-US+f3"
    assert seconds("--sentence-silence", "3")[0] > 2.5 + plain


def test_with_a_prefix_it_can_be_asked(alone, tmp_path):
    folder = tmp_path / "prefix"
    folder.mkdir()
    open_way(folder)
    w = alone("-m", "en-us", "--port", "0", "-p", str(folder))
    shown = ctl_json(w, "-s", f"{folder}/run/control.sock", "show", "info")
    assert shown["file"] == "(-m)" and shown["pid"] == w.pid
    with open(f"{folder}/run/weir.pid", encoding="ascii") as f:
        assert int(f.read()) == w.pid


# ---- voices of directories ----

def both_shapes(folder):
    """A folder with espeak-ng-data/ in it, and one without."""
    voice(f"{folder}/one/espeak-ng-data", "mine", "Mine")
    voice(f"{folder}/two", "mine", "Hidden", "x-hidden")
    voice(f"{folder}/two", "other", "Other Voice", "x-other")
    open_way(folder / "two")
    return "--data-dir", f"{folder}/one", "--data_dir", f"{folder}/two"


def test_directories_of_both_shapes(alone, tmp_path):
    w = alone("-m", "x-mine", "--port", "0", *both_shapes(tmp_path))
    voices = w.voices()
    assert voices["mine"]["description"] == "Mine"
    assert voices["other"]["description"] == "Other Voice"
    assert "en-US" in voices
    for asked, name in (("", "mine"), (', "voice": "OTHER_voice"', "other"),
                        (', "voice": "en-gb"', "en")):
        a = w.say(f'{{"text": "hello"{asked}}}')
        assert a.status == 200 and len(a.body) > 1000, a.body
        assert a.header("x-voice") == name
    assert w.say('{"text": "a", "voice": "x-hidden"}').status == 404


def test_a_relative_directory(alone, tmp_path):
    both_shapes(tmp_path)
    w = alone("-m", "mine", "--port", "0", "--data-dir", "../one")
    a = w.say('{"text": "hello"}')
    assert a.status == 200 and a.header("x-voice") == "mine"


def test_a_reload_sees_other_voices(alone, tmp_path):
    w = alone("-m", "mine", "--port", "0", *both_shapes(tmp_path))
    assert w.say('{"text": "hello", "voice": "new"}').status == 404
    voice(f"{tmp_path}/two", "new", "New")
    os.unlink(f"{tmp_path}/two/voices/other")
    w.reload()
    wait_for(lambda: w.say('{"text": "hello", "voice": "new"}').status == 200,
             10, "the new voice")
    assert w.say('{"text": "hello", "voice": "other"}').status == 404
    assert "new" in w.voices() and "other" not in w.voices()


def test_a_reload_without_its_voice_changes_nothing(alone, tmp_path):
    w = alone("-m", "mine", "--port", "0", *both_shapes(tmp_path))
    for folder in ("one/espeak-ng-data", "two"):
        os.unlink(f"{tmp_path}/{folder}/voices/mine")
    w.kill(signal.SIGHUP)
    w.wait_log(r'there is no voice "mine"')
    assert get(w.http, "/voices", host="localhost").status in (200, 503)


# ---- options ----

@pytest.mark.parametrize("option, value, name, shown", [
    ("-s", "f3", "speaker", '"f3"'),
    ("--speaker", "0", "speaker", '""'),
    ("--speaker", "1", "speaker", '"Alex"'),
    ("--length-scale", "0.5", "length_scale", "0.5"),
    ("--length_scale", "1e0", "length_scale", "1.0"),
    ("--noise-scale", "0.667", "noise_scale", "0.667"),
    ("--noise_scale", "0", "noise_scale", "0.0"),
    ("--noise-w-scale", ".8", "noise_w_scale", "0.8"),
    ("--noise_w_scale", "2", "noise_w_scale", "2.0"),
    ("--noise-w", "1", "noise_w_scale", "1.0"),
    ("--noise_w", "1.5", "noise_w_scale", "1.5"),
    ("--sentence-silence", "0.25", "sentence_silence", '"250ms"'),
    ("--sentence_silence", "2", "sentence_silence", '"2s"'),
    ("--host", "127.0.0.3", "address", '"127.0.0.3:5000"'),
    ("--host", "[::]", "address", '"[::]:5000"'),
    ("--port", "5001", "address", '"127.0.0.1:5001"'),
    ("--model", "en-gb+f3", "voice", '"en-gb+f3"'),
])
def test_every_spelling(option, value, name, shown):
    assert setting(print_of(option, value), name) == shown
    if option.startswith("--"):
        assert setting(print_of(f"{option}={value}"), name) == shown


def test_what_is_in_force():
    text = print_of()
    for name, shown in (("worker_processes", "1"), ("pid", '""'),
                        ("socket", '""'), ("voice", '"en-us"'),
                        ("speaker", '""'), ("length_scale", "1.0"),
                        ("noise_scale", '"voice"'), ("noise_w_scale", "0.0"),
                        ("level", '"info"')):
        assert setting(text, name) == shown, name
    assert setting(print_of("--debug"), "level") == '"debug"'
    assert run("-m", "en-us", "-t").stdout == "(-m): ok\n"


def test_it_can_be_kept_as_a_file(tmp_path):
    strange = tmp_path / 'a "b" \\ ${env:HOME} $$ é \n c'
    voice(strange, "mine", "Mine")
    place(tmp_path, print_of("--data-dir", str(strange), "--port", "0"))
    result = run("-c", "weir.conf", "-t", prefix=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert run("-c", "weir.conf", "-T", prefix=tmp_path).stdout == \
        print_of("--data-dir", str(strange), "--port", "0")


def test_the_name_that_it_listens_on_is_its_own():
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        pytest.skip("the host's own name has no address")
    assert f'hosts = [ "{name}" ];' in print_of("--host", name)
    assert "hosts = [ ];" in print_of("--host", "0.0.0.0")


def test_options_without_a_meaning():
    result = run("-m", "en-us", "--cuda", "--download-dir", "/x", "-t")
    assert result.returncode == 0
    assert result.stderr.splitlines() == [
        "weir: --cuda is ignored: no voice here needs a graphics card",
        "weir: --download-dir is ignored: weir downloads no voices"]


@pytest.mark.parametrize("arguments, words", [
    (("--port", "65536"), '--port must be a whole number from 0 to 65535, not '
                          '"65536"'),
    (("--port", "http"), 'not "http"'),
    (("--length_scale", "0"), "--length_scale must be a number from 0.1 to "
                              '10.0, not "0"'),
    (("--length-scale", "nan"), 'not "nan"'),
    (("--noise-scale", "-1"), "--noise-scale must be a number from 0.0 to"),
    (("--noise-w", "2.1"), "--noise-w must be a number from 0.0 to 2.0"),
    (("--sentence-silence", "1s"), 'not "1s"'),
    (("--speaker", "100000"), "--speaker must be from 0 to"),
    (("--speaker", "f33"), 'there is no speaker "f33"; near are "f3"'),
    (("--host", "nowhere.invalid"), '--host "nowhere.invalid" has no address'),
    (("--host", ""), '--host "" has no address'),
    (("--data-dir", "/nowhere"), '"/nowhere": No such file'),
    (("--data-dir", "/proc"), '--data-dir: no voices in "/proc"'),
    (("--model", ""), "--model must have 1 to 80 bytes"),
    (("--model", "en-uss"), 'there is no voice "en-uss"; near are "en-US"'),
    (("--model", "en-us+f33"), 'there is no speaker "f33"'),
    (("--model", "../../etc/passwd"), "nor one with a name like it"),
    (("-c", "weir.conf"), "two configurations: -c and --model"),
    (("--no-such",), "unrecognized option '--no-such'"),
    (("more",), "an argument too many: more"),
])
def test_wrong_values(arguments, words):
    assert words in refused("-m", "en-us", *arguments)


def test_options_go_with_the_voice():
    assert "'--host'" in refused("--host", "localhost")
    assert "option requires an argument -- 'm'" in refused("-m")
    assert "-m, --model VOICE" in run("-h").stdout


# ---- the same checks in a file ----

LOCATION = 'http = { servers = ( { listen = ( "127.0.0.1:0" ); locations = ' \
    '( { path = "/"; module = "tts"; } ); } ); };'


@pytest.mark.parametrize("instance, words", [
    ('voice = "germn";', 'tts.voice: there is no voice "germn"; near are "de"'),
    ('speaker = "f33";', 'tts.speaker: there is no speaker "f33"; near are '),
    ('data_dir = "/proc";', 'tts.data_dir: no voices in "/proc"'),
    ('voice_map = ( { name = "x"; voice = "yy-yy"; } );',
     'tts.voice_map: there is no voice "yy-yy"'),
])
def test_a_file_is_checked(tmp_path, instance, words):
    place(tmp_path, f'tts = {{\n name = "main"; {instance} }};\n{LOCATION}')
    text = refused("-c", "weir.conf", "-t", prefix=tmp_path)
    assert text.startswith("weir.conf:1: " + words), text


def test_a_weir_without_a_pid_file_cannot_be_signalled(tmp_path):
    place(tmp_path, 'pid = "";')
    result = run("-c", "weir.conf", "-s", "stop", prefix=tmp_path)
    assert result.returncode == 2 and "has no pid file" in result.stderr
