"""Relays and the remotes they meet: silent ones, ones that want a login, and
by which addresses they are reached; what statistics tell of all that."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import time

import pytest

from feed import Feed, number, read_two_keys
from http_client import get
from patience import busy
from remote import Nginx
from rtmp_client import VIDEO, player
from rtmp_server import Server
from weir import wait_for

SHORT = 'egress = [ "allow loopback" ]; relays = { idle_timeout = "3s"; };'
EGRESS = 'egress = [ "allow loopback" ];'
PLACES = '{ path = "/control"; module = "relay"; },' \
    '{ path = "/stat"; module = "stat"; },'


def push(*urls, name="a"):
    return "push = ( " + ", ".join(
        f'{{ name = "{name}"; url = "{u}"; }}' for u in urls) + " );"


def pull(url, name="a"):
    return f'pull = ( {{ name = "{name}"; url = "{url}"; }} );'


def state(w, relay, word, *, count=1, timeout=10):
    return w.wait_log(rf"relay {re.escape(relay)}: {word}", timeout, count)


def relays(w):
    return get(w.http, "/control/relays").json()["data"]


def only(found):
    assert len(found) == 1, found
    return found[0]


# ---- pushed to, and silent ----

def read_frame(p, first):
    """Up to a frame of that number or a later one."""
    end = time.monotonic() + busy(10)
    while True:
        m = p.read(VIDEO, timeout=max(0.01, end - time.monotonic()))
        if m.payload[1] == 1 and number(m.payload) >= first:
            return


def check_silence(weir, url, stop, go, size):
    """Noticed, told, and back; another push and who plays here know nothing
    of it."""
    other = weir()
    w = weir(top=SHORT, locations=PLACES, app=push(url),
             apps=', { name = "two"; publish = "open"; '
             f'{push(other.rtmp_url("b"), name="b")} }}')
    f = Feed(w.rtmp, "a", size=size).head().run()
    g = Feed(w.rtmp, "b", app="two").head().run()
    state(w, "push live/a", "running")
    state(w, "push two/b", "running")
    with player(w.rtmp, "live", "a") as here, \
            player(other.rtmp, "live", "b") as beyond:
        for p in (here, beyond):
            read_two_keys(p)  # a ping was asked, and answered
        stop()
        state(w, "push live/a", "backing off: .+")
        shown = {r["name"]: r for r in relays(w)}
        assert shown["a"]["state"] != "running" and shown["a"]["reason"]
        assert shown["b"]["state"] == "running"
        assert shown["b"]["failures"] == 0
        go()
        state(w, "push live/a", "running", count=2)
        for p, feed in ((here, f), (beyond, g)):
            read_frame(p, feed.next + 5)
    f.stop()
    g.stop()


@pytest.mark.parametrize("size", [100, 40000], ids=["low rate", "8 Mbit/s"])
def test_pushed_to_nginx_that_stops(weir, tmp_path, size):
    n = Nginx(tmp_path / "nginx")
    try:
        check_silence(weir, n.url("x"), n.pause, lambda: n.pause(False),
                      size)
    finally:
        n.kill()


def test_pushed_to_a_weir_that_stops(weir):
    there = weir(workers=1, top="watchdog = 0;")
    pid = there.workers()[0]
    check_silence(weir, there.rtmp_url("x"),
                  lambda: os.kill(pid, signal.SIGSTOP),
                  lambda: os.kill(pid, signal.SIGCONT), 1000)


def test_pushed_to_one_that_does_not_read(weir):
    """It answered no ping before either: what TCP takes is what tells."""
    with Server(pongs=False) as s:
        check_silence(weir, s.url("live/x"), s.reads.clear, s.reads.set,
                      200000)


def test_pushed_to_one_that_answers_no_ping(weir):
    with Server(pongs=False) as s:
        w = weir(top=SHORT, app=push(s.url("live/x")))
        f = Feed(w.rtmp, "a").head().run()
        state(w, "push live/a", "running")
        wait_for(lambda: s.frames > 125, 10, "five seconds of frames")
        assert "backing off" not in w.log()
        f.stop()


# ---- addresses ----

def test_ipv6_literals(weir):
    there = weir(rtmp_listen='"[::1]:0"')
    base = f"rtmp://[::1]:{there.rtmp}/live"
    w = weir(top=EGRESS, locations=PLACES,
             app=push(f"{base}/x") + pull(f"{base}/x", name="b"))
    f = Feed(w.rtmp, "a").head().run()
    state(w, "push live/a", "running")
    state(w, "pull live/b", "running")
    with player(w.rtmp, "live", "b") as p:
        read_two_keys(p)
    assert {r["url"].split("#")[0] for r in relays(w)} == \
        {f"{base}/x", f"{base}/***"}
    f.stop()


def test_a_name_with_a_dead_address(weir):
    """localhost is ::1, where nobody listens, and 127.0.0.1."""
    there = weir()
    w = weir(top=EGRESS, app=push(f"rtmp://localhost:{there.rtmp}/live/x"))
    f = Feed(w.rtmp, "a").head().run()
    state(w, "push live/a", "running", timeout=3)
    with player(there.rtmp, "live", "x") as p:
        read_two_keys(p)
    assert "backing off" not in w.log()
    f.stop()


# ---- logins ----

@pytest.mark.parametrize("auth", ["adobe", "llnw"])
@pytest.mark.parametrize("kind", ["push", "pull"])
def test_login(weir, auth, kind):
    with Server(auth, "pa55word") as s:
        url = s.url("live/x", "us:pa55word@")
        w = weir(top=EGRESS, locations=PLACES,
                 app=push(url) if kind == "push" else pull(url))
        if kind == "push":
            f = Feed(w.rtmp, "a").head().run()
            state(w, "push live/a", "running", timeout=3)
            wait_for(lambda: s.frames > 25, 5, "frames")
            f.stop()
        else:
            state(w, "pull live/a", "running", timeout=3)
            with player(w.rtmp, "live", "a") as p:
                read_two_keys(p)
        assert s.wishes == [("publish" if kind == "push" else "play", "x")]
        assert [c["app"].count("response=") for c in s.connects] == [0, 0, 1]
        listed = get(w.http, "/control/relays").body.decode()
        w.stop()
        for secret in ("pa55word", "response="):
            assert secret not in w.log() + listed


@pytest.mark.parametrize("auth", ["adobe", "llnw"])
def test_wrong_password(weir, auth):
    """Told, and not tried again at once."""
    with Server(auth, "pa55word") as s:
        w = weir(top=EGRESS, locations=PLACES,
                 app=pull(s.url("live/x", "us:wr0ngword@")))
        state(w, "pull live/a", "backing off: the remote refused the password")
        wait_for(lambda: len(s.times) > 3, 5, "another try")
        assert s.times[3] - s.times[2] > 0.9  # a try connects three times
        shown = only(relays(w))
        assert shown["reason"] == "the remote refused the password"
        assert "wr0ngword" not in str(shown)
        w.stop()
        assert "wr0ngword" not in w.log()


# ---- what a URL has ----

@pytest.mark.parametrize("path, app, name", [
    ("live/x?t=1&u=%20a/b", "live", "x?t=1&u=%20a/b"),
    ("app/inst/deep/er/x?sign=a=b==", "app/inst", "deep/er/x?sign=a=b=="),
    ("app?vhost=h/x", "app?vhost=h", "x"),
])
def test_urls_arrive_unchanged(weir, path, app, name):
    with Server() as s:
        w = weir(top=EGRESS, app=push(s.url(path)) + pull(s.url(path), "b"))
        f = Feed(w.rtmp, "a").head().run()
        state(w, "push live/a", "running")
        state(w, "pull live/b", "running")
        assert [c["app"] for c in s.connects] == [app, app]
        assert {c["tcUrl"] for c in s.connects} == {s.url(app)}
        assert sorted(s.wishes) == [("play", name), ("publish", name)]
        wait_for(lambda: s.frames > 5, 5, "frames")
        assert s.chunk_sizes[0] == 60000
        f.stop()


# ---- statistics ----

def test_statistics_know_relays(weir):
    with Server() as s:
        w = weir(top=EGRESS, locations=PLACES, hold="1h",
                 app=push(s.url("live/k3y?t=s3cret", "us:pa55word@")) +
                 pull(s.url("live/x?token=s3cret", "us:pa55word@"), "b"))
        f = Feed(w.rtmp, "a").head().run()
        state(w, "push live/a", "running")
        state(w, "pull live/b", "running")

        def told():
            return get(w.http, "/stat/livestat").json()

        def pushed():
            return only(told()["players"])

        wait_for(lambda: pushed()["video_speed"] > 100000, 5, "a speed")
        pulled = wait_for(lambda: [
            p for p in told()["publishers"]
            if p["key"].endswith("b") and p["video_total_bytes"] > 0], 5,
            "a pulled frame")
        pulled = only(pulled)
        assert pulled["url"] == s.url("live/x?token=***", "us:***@")
        assert pushed()["url"].startswith(s.url("live/***", "us:***@"))
        sessions = get(w.http, "/stat/sessions").json()["sessions"]
        assert sorted(x["protocol"] for x in sessions) == \
            ["pull", "push", "rtmp"], sessions

        def server():
            return get(w.http, "/stat/server").json()

        def relayer():
            return next(p for p in server()["processes"]
                        if p["name"] == "relayer")

        wait_for(lambda: relayer()["connections"] == 2, 5, "the connections")
        pushed_bytes = pushed()["video_total_bytes"]
        assert pushed_bytes > 0 and server()["bytes_out"] >= pushed_bytes
        f.stop()
        wait_for(lambda: (pushed()["video_speed"], pushed()["audio_speed"])
                 == (0, 0), 15, "speeds that fall")
        text = str(told()) + str(sessions) + w.log()
        for secret in ("k3y", "s3cret", "pa55word"):
            assert secret not in text
