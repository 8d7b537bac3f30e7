"""A stream key is in no log, no statistic, no metric and no title."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import subprocess

import pytest

from feed import Feed, read_until
from http_client import get, request
from keys_help import KEY, key_of, refused, start_keyed
from rtmp_client import Refused, Rtmp, player, publisher
from weir import BINARY, descendants, read_text

ALL = ("$remote_addr $command $app $name $args $tcurl $pageurl $swfurl "
       "$flashver $reason")
APPS = """, { name = "far"; publish = "key"; publish_access = "deny all";
   play_access = "deny all"; }
 , { name = "one"; publish = "key"; publish_conflict = "refuse"; }"""


def show(w, *words):
    control = os.path.join(os.path.dirname(BINARY), "weirctl")
    done = subprocess.run([control, "-s", f"{w.prefix}/run/control.sock",
                           *words], capture_output=True, text=True,
                          timeout=10, check=True)
    return done.stdout


def texts(w):
    """All that may be read of it."""
    found = {"log": w.log(), "access log": w.access_log(),
             "rtmp log": read_text(f"{w.prefix}/run/rtmp.log"),
             "metrics": get(w.http, "/metrics").body.decode()}
    for what in ("livestat", "streams", "sessions", "server"):
        found["/stat/" + what] = get(w.http, "/stat/" + what).body.decode()
    for words in ("streams", "sess", "errors", "events", "proc", "config"):
        found[words] = show(w, "show", words)
        found[words + " as JSON"] = show(w, "--json", "show", words)
    for pid in [w.pid, *descendants(w.pid)]:
        found[f"title of {pid}"] = read_text(f"/proc/{pid}/cmdline")
    return found


def say(w, app, name, **more):
    """What a client may say wrong: it is refused, somehow."""
    with Rtmp(w.rtmp) as c:
        with pytest.raises(Refused):
            c.connect(app, **more)
            c.publish(name)
        c.wait_closed()


@pytest.fixture
def loud(store_backend, weir):
    w = start_keyed(weir, workers=2, apps=APPS, locations=(
        '{ path = "/stat"; module = "stat"; },'), rtmp=(
        f'access_log = "run/rtmp.log"; access_log_format = "{ALL}";'
        ' connect_timeout = "1s";'), top=(
        'control = { socket = "run/control.sock"; };'
        'metrics = { stream_labels = true; };'))
    show(w, "set", "log", "level", "debug")
    return w


def test_keys_are_nowhere(loud):
    w = loud
    key = key_of(w, "movie")
    url = "rtmp://127.0.0.1"
    # Refused in every way there is.
    refused(w, key[:-1] + "!")
    refused(w, "/".join([key, "deep"]))
    refused(w, key, "far")
    say(w, "nothere", key)
    say(w, f"nothere/{key}", "", tcUrl=f"{url}/nothere/{key}")
    say(w, "keyed", "movie", tcUrl=f"{url}/keyed/{key}")
    say(w, "keyed", f"{key}?{'x' * 2000}")
    with Rtmp(w.rtmp) as c:  # nothing but the connect
        c.connect(f"keyed/{key}", tcUrl=f"{url}/keyed/{key}")
    with publisher(w.rtmp, "one", key):
        say(w, "one", key)  # the stream is taken
    # Let in, in both forms, seen live.
    with Rtmp(w.rtmp) as c:
        c.connect(f"keyed/{key}", tcUrl=f"{url}/keyed/{key}")
        c.set_chunk_size(4096)
        c.msid = c.publish("")
        Feed(w.rtmp, client=c).head().frames(2)
        with player(w.rtmp, "keyed", "movie") as p:
            read_until(p, "video 1")
            seen = texts(w)
    assert "movie" in seen["sess"] and "movie" in seen["streams"]
    # Taken back while it is live.
    with publisher(w.rtmp, "keyed", key + "?token=x") as c:
        key_of(w, "movie", "reset")
        with pytest.raises(Refused):
            c.status()
    refused(w, key)
    w.wait_log("reset or deleted")
    for when in (seen, texts(w)):
        for what, text in when.items():
            assert key not in text, what
            assert key[:8] not in text, what
    assert "PUBLISH keyed movie" in read_text(f"{w.prefix}/run/rtmp.log")
    assert "PUBLISH keyed ***" in read_text(f"{w.prefix}/run/rtmp.log")


def not_played(w, app, name, **more):
    """Before Play.Start: the reason."""
    with Rtmp(w.rtmp) as c:
        c.connect(app, **more)
        with pytest.raises(Refused) as e:
            c.play(name)
        c.wait_closed()
    assert e.value.code == "NetStream.Play.Failed"
    return e.value.text


def test_a_key_that_is_played_is_nowhere(loud):
    """Keys are mistaken for rooms: the player is told so, and nobody else."""
    w = loud
    key = key_of(w, "movie")
    with publisher(w.rtmp, "keyed", key):
        for app, name in (("keyed", key), ("keyed", key + "?token=x"),
                          (f"keyed/{key}", ""), (f"keyed/{key}", "movie"),
                          ("keyed", f"movie/{key}"), ("keyed", f"mp4:{key}"),
                          ("keyed", f"{key}.flv"),
                          ("keyed", f"mp4:{key}.mp4")):
            url = f"rtmp://127.0.0.1/{app}"
            words = not_played(w, app, name, tcUrl=url)
            assert "stream key" in words and "room" in words
        assert "address" in not_played(w, "far", key)
        for method in ("GET", "HEAD"):
            for name in (key, f"%{ord(key[0]):02x}{key[1:]}"):
                a = request(w.http, method, f"/keyed/{name}.flv?x=1")
                assert a.status == 404
        assert "stream key" in get(w.http, f"/keyed/{key}.flv").body.decode()
        assert get(w.http, f"/far/{key}.flv").status == 403
        w.wait_log("play keyed.* refused: .*stream key", count=5)
        w.wait_access_log(r'"GET \*\*\* HTTP/1.1" 403')
        w.wait_access_log(r'"HEAD \*\*\* HTTP/1.1" 404')
        for what, text in texts(w).items():
            assert key not in text, what
            assert key[:8] not in text, what
            assert key[1:9] not in text, what
    rtmp = read_text(f"{w.prefix}/run/rtmp.log")
    assert rtmp.count("PLAY keyed ***") == 8 and "PLAY far ***" in rtmp
    metrics = get(w.http, "/metrics").body.decode()
    assert 'weir_flv_refused_total{reason="key"} 5' in metrics


def test_a_room_may_look_like_a_key(loud):
    """It is played while it is published, and shown then."""
    w = loud
    room = "0123456789abcdef" * 3
    assert KEY.fullmatch(room.encode())
    key = key_of(w, room)
    assert "stream key" in not_played(w, "keyed", room)
    assert get(w.http, f"/keyed/{room}.flv").status == 404
    with publisher(w.rtmp, "keyed", key) as c:
        feed = Feed(w.rtmp, client=c).head().frames(2)
        assert request(w.http, "HEAD", f"/keyed/{room}.flv").status == 200
        with player(w.rtmp, "keyed", room) as p:
            read_until(p, "video 1")
            told = get(w.http, "/stat/livestat").json()
            assert [r["key"] for r in told["players"]] == [f"keyed/{room}"]
        feed.frames(1)
    with player(w.rtmp, "live", room):  # keys are nothing to this one
        pass
