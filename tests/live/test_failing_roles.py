"""A service that cannot start takes nothing else down: -t says so, the rest
serves, /readyz and show proc name it, and it is back when the cause is gone."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import shutil
import signal

import pytest

import weir as weir_py
from control_client import Control
from http_client import get
from weir import (configuration, descendants, open_way, place, run, title,
                  wait_for)

PROGRAMS = ("weir", "weirctl", "weir-speaker", "weir-fetch", "weir-supervisor")
SPEECH = '{ path = "/speech"; module = "tts"; },'
LOADS = '{ path = "/downloads"; module = "downloads"; },'
KEYS = '{ path = "/control"; module = "relay"; },'


def speech(more=""):
    return {"top": f'tts = ( {{ name = "main"; {more} }} );',
            "locations": SPEECH}


def downloads(folder="run/downloads"):
    return {"top": f'downloads = ( {{ name = "main"; directory = "{folder}"; '
                   '} );', "locations": LOADS}


def store(path):
    return {"store": f'path = "{path}";', "locations": KEYS}


# ---- what is wrong, and how it is put right ----

def moved(path):
    def away(prefix):
        os.rename(f"{prefix}/{path}", f"{prefix}/{path}.away")

    def back(prefix):
        os.rename(f"{prefix}/{path}.away", f"{prefix}/{path}")
    return away, back


def mode(path, bad, good):
    def spoil(prefix):
        os.makedirs(f"{prefix}/{path}", exist_ok=True)
        os.chmod(f"{prefix}/{path}", bad)

    def mend(prefix):
        os.chmod(f"{prefix}/{path}", good)
    return spoil, mend


def no_right(path):
    return (lambda prefix: os.chmod(f"{prefix}/{path}", 0o644),
            lambda prefix: os.chmod(f"{prefix}/{path}", 0o755))


def missing(path):
    def make(prefix):
        os.makedirs(f"{prefix}/{path}", mode=0o755)
    return lambda prefix: None, make


def voices(prefix):
    os.makedirs(f"{prefix}/data/voices")
    with open(f"{prefix}/data/voices/alice", "w", encoding="utf-8") as f:
        f.write("name alice\nlanguage en-us\npitch 70 90\n")


ROWS = {
    "no-speaker": ("speaker", speech(), moved("bin/weir-speaker"),
                   "install weir-speaker there"),
    "speaker-no-right": ("speaker", speech(), no_right("bin/weir-speaker"),
                         "Permission denied"),
    "no-voice": ("speaker", speech('voice = "alice"; data_dir = [ "data" ];'),
                 (lambda prefix: None, voices), "data"),
    "no-supervisor": ("fetcher", downloads(), moved("bin/weir-supervisor"),
                      "install weir-supervisor"),
    "no-fetch": ("fetcher", downloads(), moved("bin/weir-fetch"),
                 "install weir-fetch"),
    "directory-no-right": ("fetcher", downloads("kept"),
                           mode("kept", 0o555, 0o777), "cannot write into"),
    "no-directory": ("fetcher", downloads("disk/kept"), missing("disk"),
                     "disk/kept"),
    "no-store": ("keeper", store("disk/db/weir.db"), missing("disk"),
                 "disk/db"),
}


@pytest.fixture(name="installed")
def fixture_installed(tmp_path, monkeypatch):
    """A folder with programs of its own."""
    prefix = str(tmp_path / "weir")
    os.makedirs(f"{prefix}/bin")
    for name in PROGRAMS:
        shutil.copy2(f"{os.path.dirname(weir_py.BINARY)}/{name}",
                     f"{prefix}/bin/{name}")
    monkeypatch.setattr(weir_py, "BINARY", f"{prefix}/bin/weir")
    open_way(prefix)
    return prefix


def tried(prefix):
    return run("-t", "-c", f"{prefix}/weir.conf", "-p", prefix)


def proc(w, name):
    with Control(w) as c:
        return next(r for r in c.json("show proc") if r["name"] == name)


def readiness(w):
    a = get(w.http, "/readyz")
    return a.status, a.body.decode().strip()


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_rest_serves(installed, request, row):
    role, parts, (spoil, mend), words = ROWS[row]
    place(installed, configuration(**parts))
    spoil(installed)
    ended = tried(installed)
    assert ended.returncode == 1 and words in ended.stderr, ended.stderr
    w = weir_py.Weir(installed, **parts)
    request.node.weirs = [w]
    try:
        w.wait_log(rf"\[error\].* {role} cannot start: .*{words}.*; the rest "
                   "serves")
        assert readiness(w) == (200, f"degraded: {role} cannot start")
        assert words in proc(w, role)["why"]
        mend(installed)
        w.reload()
        wait_for(lambda: readiness(w) == (200, "ready"), 20, "readiness")
        wait_for(lambda: proc(w, role)["why"] == "-", 20, "show proc")
        assert w.log().count(f"[error] {w.pid} {role} cannot start") == 1
        assert tried(installed).returncode == 0
        w.finish()
    finally:
        w.end_all()


# ---- what ends soon each time ----

PROXY = ('{ path = "/up"; module = "proxy"; upstream = "up"; },')
ALL = {
    "top": 'egress = [ "allow loopback", "deny all" ]; tts = ( { name = "main"; } ); downloads = ( { name = "main"; '
           'directory = "run/downloads"; } ); upstreams = ( { name = "up"; '
           'servers = ( "127.0.0.1:9" ); health = { path = "/"; }; } ); '
           'visits = { name = "main"; };',
    "locations": SPEECH + LOADS + KEYS + PROXY +
                 '{ path = "/visits"; module = "visits"; },',
}
NAMES = ("keeper", "channel", "relayer", "prober", "speaker", "fetcher",
         "counter")


def pid_of(w, name):
    return next((p for p in descendants(w.pid) if title(p) == f"weir: {name}"),
                None)


def loop(w, name):
    """Killed as soon as it runs, until that is called a crash loop."""
    def fails():
        pid = pid_of(w, name)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return proc(w, name)["why"] != "-"
    wait_for(fails, 30, f"{name} that fails")


@pytest.mark.parametrize("name", NAMES)
def test_one_that_ends_again_and_again(weir, name):
    w = weir(**ALL)
    loop(w, name)
    assert readiness(w)[0] == 200 and name in readiness(w)[1]
    w.wait_log(f"{name} cannot start: it end(s soon after each start|ed "
               "before it was ready)")
    assert get(w.http, "/healthz").status == 200
    wait_for(lambda: readiness(w) == (200, "ready"), 60, "readiness")
