"""README's first command in a tree to which its owner alone has a way: below
root's home, or one's own.  Everything that weir.conf as shipped names is on
air, stays there when processes die, and after a reload."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import signal
import tempfile
import threading
from urllib.parse import quote

import pytest

from control_client import ctl
from http_client import request
from media import check, ffmpeg_record, make_sample, packets
from patience import busy
from private_tree import ORDINARY, PrivateTree, shipped
from weir import descendants, read_text, stat_of, title, wait_for

pytestmark = pytest.mark.once

ROOT = os.geteuid() == 0
OWNERS = [pytest.param("above", None, id="below-roots-folder"),
          pytest.param("own", None, id="roots-folder"),
          pytest.param("above", ORDINARY, id="below-a-users-folder")]
TEXT = "Hello from weir."


@pytest.fixture(name="tree")
def fixture_tree(request):
    """Starts one: tree(closed, user, {old: new})."""
    folder = tempfile.mkdtemp(prefix="weir-private-")
    started = request.node.weirs = []

    def start(closed, user, changes=(), more=()):
        if user is None and not ROOT:
            pytest.skip("only root starts a weir whose processes are others'")
        os.mkdir(f"{folder}/home")
        os.chmod(folder, 0o755)
        started.append(PrivateTree(f"{folder}/home", shipped(changes), closed,
                                   user if ROOT else None, more))
        return started[-1]

    yield start
    try:
        for w in started:
            w.finish(check=not getattr(request.node, "test_failed", False))
    finally:
        shutil.rmtree(folder)


@pytest.fixture(name="sample")
def fixture_sample(made_once):
    return made_once("private.flv", make_sample_in)


def make_sample_in(folder):
    os.mkdir(folder)
    return make_sample(f"{folder}/private.flv")


@pytest.fixture(name="files")
def fixture_files(sample):
    """The address of the sample on a server of files on loopback."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=os.path.dirname(sample))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{os.path.basename(sample)}"
    server.shutdown()
    server.server_close()


def get(port, target):
    return request(port, "GET", target, host="127.0.0.1", timeout=busy(60))


def post(w, path, body):
    return request(w.http, "POST", path, "Content-Type: application/json",
                   host="127.0.0.1", body=json.dumps(body).encode(),
                   timeout=busy(60))


# ---- each service ----

def check_pages(w):
    assert b"<html" in get(w.http, "/").body
    assert b"<html" in get(w.own, "/").body
    wait_for(lambda: get(w.http, "/readyz").status == 200, 20, "readiness")
    assert get(w.own, "/metrics").status == 200
    said = ctl(w, "ping")
    assert said.returncode == 0, said.stderr


def check_media(w, sample, tool, name):
    key = get(w.own, f"/control/get?room={name}").body.decode().strip()
    tool(w.publish(sample, key))
    for url in (w.rtmp_url(name), w.flv_url(name)):
        path = f"{w.folder}/{name}.played"
        tool(ffmpeg_record(url, path, "-t", "1")).wait()
        assert packets(path)
    hls = f"/live/{name}.m3u8"
    wait_for(lambda: get(w.http, hls).status == 200, 20, "the playlist")
    assert "codec_name=h264" in check(
        ["ffprobe", "-v", "error", "-show_streams", w.http_url(hls)])


def check_speech(w, text=TEXT):
    a = wait_for(lambda: (a := post(w, "/speech/", {"text": text})).status ==
                 200 and a, 20, "speech")
    assert a.body[:4] == b"RIFF" and len(a.body) > 10_000


def check_articles(w, name):
    a = post(w, "/articles", {"title": name, "content": "<p>Hello</p>",
                              "author": {"id": 1}})
    assert a.status == 201, a.body
    assert name.encode() in get(w.http, "/articles?num=20").body


def find(w, url):
    a = get(w.http, "/downloads/history")
    done = a.json()["done"] if a.status == 200 else []
    return next((e for e in done if e["url"] == url), None)


def check_download(w, url, sample):
    a = wait_for(lambda: (a := post(
        w, "/downloads/add", {"url": url, "quality": "best"})).status == 200 and
        a, 20, "the queue")
    assert a.json() == {"status": "ok"}, a.body
    e = wait_for(lambda: find(w, url), 60, "the download's end")
    assert e["status"] == "finished", e
    a = get(w.http, "/downloads/download/" + quote(e["filename"]))
    with open(sample, "rb") as f:
        assert a.status == 200 and a.body == f.read()


def check_everything(w, tool, sample, files, engine, name):
    check_pages(w)
    check_media(w, sample, tool, name)
    check_speech(w, f"{TEXT} {name}")
    check_articles(w, name)
    w.wait_log(f'the engine is {engine}', 20)
    check_download(w, f"{files}?{name}", sample)


def check_log(w):
    """An ordinary user makes no cgroups."""
    bad = [line for line in w.log().splitlines()
           if re.search(r"\[(alert|crit)\]|ermission denied", line) and
           "cgroup" not in line]
    assert not bad, bad


# ---- whoever dies ----

def named(w, name):
    return [p for p in descendants(w.pid) if re.match(name, title(p))]


def kill_one(w, name):
    """All processes of a name; waits for others in their place."""
    old = {p: stat_of(p) for p in named(w, name)}
    assert old, name
    for pid in old:
        with contextlib.suppress(ProcessLookupError):  # a child of another
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: [p for p in named(w, name)
                      if stat_of(p) != old.get(p)], 30, f"another {name}")


@pytest.mark.parametrize("closed,user", OWNERS)
def test_everything_is_on_air(tree, tool, sample, files, closed, user):
    w = tree(closed, user)
    check_everything(w, tool, sample, files, "yt-dlp", "first")
    for name in ("weir-speaker", "weir: speaker", "weir: fetcher",
                 "weir: keeper", "weir: relayer", r"weir: worker \d+"):
        kill_one(w, name)
    check_everything(w, tool, sample, files, "yt-dlp", "second")
    w.set_config(shipped({'engine = "auto"': 'engine = "direct"'}))
    w.reload()
    check_everything(w, tool, sample, files, "direct", "third")
    check_log(w)
    if user is None:
        ways = [os.stat(f).st_mode & 0o777 for f in (w.folder, w.prefix)]
        assert sorted(ways) == [0o700, 0o755]


# ---- what a configuration may name besides ----

VOICE = "name alice\nlanguage en-us\npitch 70 90\n"
MORE = {
    'voice = "en-us"': 'voice = "alice"; data_dir = [ "data" ]',
    'engine = "auto"': 'engine = "yt-dlp"; engine_path = "TREE/bin/yt-dlp"; '
                       'engine_options_file = "options/engine.json"',
    '{ path = "/speech"; module = "tts";':
        '{ path = "/more"; module = "static"; root = "more"; '
        'types_file = "more/types"; }, { path = "/speech"; module = "tts";',
}
FILES = {"data/voices/alice": VOICE, "more/a.x": "hello",
         "more/types": "text/x-more x\n", "options/engine.json": "{}",
         "bin/yt-dlp": read_text(shutil.which("yt-dlp") or os.devnull)}


@pytest.mark.parametrize("closed,user", OWNERS)
def test_what_else_it_names(tree, sample, files, closed, user):
    """Voices, options of the engine, types of files: also those that come
    later, and for processes that are new."""
    w = tree(closed, user, MORE, FILES)
    check_speech(w)
    a = get(w.http, "/more/a.x")
    assert (a.status, a.body) == (200, b"hello")
    assert a.header("content-type").startswith("text/x-more")
    w.write("options/engine.json", '{"retries": 1}')
    w.wait_log(r"engine options of \S+/options/engine.json: 1", 20)
    assert "is not watched" not in w.log()
    check_download(w, f"{files}?more", sample)
    w.write("data/voices/bob", VOICE.replace("alice", "bob"))
    w.reload()
    wait_for(lambda: post(w, "/speech/", {"text": TEXT, "voice": "bob"}).status
             == 200, 20, "the voice bob")
    check_log(w)
