"""Streams that would feed themselves: pushed to where they are pulled from."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

from control_client import ctl
from feed import Feed
from remote import Nginx
from test_relay_api import CONTROL, OK, control, relays, task
from weir import run, wait_for

__all__ = ["control"]
EGRESS = 'egress = [ "allow loopback", "allow all" ];'
FEEDS = "the stream would feed itself"


def push(url, name="film"):
    named = f'name = "{name}"; ' if name else ""
    return f'push = ( {{ {named}url = "{url}"; }} );'


def pull(url, name="film"):
    return f'pull = ( {{ name = "{name}"; url = "{url}"; }} );'


def shown(w, kind="pull", name="film"):
    return next((t for t in relays(w)
                 if (t["kind"], t["name"]) == (kind, name)), None)


def held(w, name="film"):
    """What the list says of a pull that waits for a push to go."""
    def look():
        t = shown(w, name=name)
        return t and t["state"] == "backing off" and FEEDS in t["reason"] and t
    return wait_for(look, 10, "a pull that is held")["reason"]


def running(w, kind="pull", name="film"):
    wait_for(lambda: (shown(w, kind, name) or {}).get("state") == "running",
             10, f"the {kind}")


def spellings(port):
    """Of one and the same stream, where it is called film here."""
    return (f"rtmp://127.0.0.1:{port}/live/film",
            f"rtmp://127.0.0.1:{port}/live",
            f"rtmp://localhost:{port}/live/",
            f"rtmp://LOCALHOST.:{port}/live/film?token=x",
            f"rtmp://me:word@127.0.0.1:{port}/live/_definst_/film",
            f"rtmp://[::1]:{port}/live/film")


# ---- the API ----

@pytest.mark.parametrize("name", ["film", ""])
def test_pull_from_where_weir_conf_pushes(control, name):
    w = control(top=EGRESS,
                app=push("rtmp://Remote.Example:1935/live", name))
    for url in ("rtmp://remote.example/live/film",
                "rtmp://remote.example./live?k=v",
                "rtmps://remote.example/live/film",
                "rtmp://u:p@REMOTE.example:1935/live/film?token=x"):
        status, words = task(w, name="film", url=url)
        assert (status, FEEDS in words) == (409, True), url
        done = ctl(w, "relay", "start", "pull", "live", "film", url)
        assert done.returncode != 0 and FEEDS in done.stderr + done.stdout
    for url in ("rtmp://remote.example/live/other",
                "rtmp://remote.example:1936/live/film",
                "rtmp://other.example/live/film"):
        assert task(w, name="film", url=url) == OK, url
        assert task(w, name="film", oper="stop", url=url) == OK


def test_push_to_where_weir_conf_pulls_from(control):
    w = control(top=EGRESS, app=pull("rtmp://remote.example/live/film"))
    status, words = task(w, "push", name="film",
                         url="rtmp://remote.example:1935/live")
    assert (status, FEEDS in words) == (409, True)
    assert task(w, "push", name="more",
                url="rtmp://remote.example/live/film") == OK


def test_other_spellings_of_one_url(control):
    w = control(top=EGRESS)
    one, *others = spellings(1)
    assert task(w, "push", name="film", url=one) == OK
    for url in others:
        status, words = task(w, name="film", url=url)
        assert (status, FEEDS in words) == (409, True), url
        done = ctl(w, "relay", "start", "pull", "live", "film", url)
        assert done.returncode != 0 and "feed itself" in \
            done.stderr + done.stdout, url
    assert task(w, "push", name="film", oper="stop", url=one) == OK
    assert task(w, name="film", url=others[0]) == OK
    assert task(w, "push", name="film", url=one)[0] == 409


# ---- the file ----

def test_a_file_is_refused(weir):
    w = weir(top=EGRESS)
    one, *others = spellings(1)
    for to, url, wrong in (
            *((push(url), one, True) for url in others),
            (push("rtmp://127.0.0.1:1/live", ""), one, True),
            (push(one), one + "2", False),
            (push(one, "more"), one, False)):
        w.set_config(top=EGRESS, app=to + "\n" + pull(url))
        done = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
        assert (done.returncode == 1) == wrong, (to, url, done.stderr)
        assert bool(re.search(r"weir\.conf:\d+: pull: url is where the stream "
                              r"is pushed to in line \d+: it would feed "
                              r"itself", done.stderr)) == wrong
        if wrong:
            w.reload(good=False)


# ---- the relayer ----

def test_a_reload_brings_the_push(control, tmp_path):
    """The pull yields, nothing goes round, and it starts when the push is
    gone."""
    n = Nginx(tmp_path / "nginx")
    try:
        w = control(top=EGRESS)
        assert task(w, name="film", url=n.url("film")) == OK
        f = Feed(n.port, "film").head().run()
        running(w)
        w.set_config(top=EGRESS, app=push(n.url("film")), locations=CONTROL)
        w.reload()
        assert f"rtmp://127.0.0.1:{n.port}/live/***" in held(w)
        status, words = task(w, name="other", url=n.url("film"), wait=60)
        assert (status, words) == OK
        f.stop()
        # The stream's own publisher comes and goes: nobody brings it back.
        f = Feed(w.rtmp, "film").head().run()
        running(w, "push")
        f.stop()
        w.wait_log("push live/film: waiting for the local stream: the stream")
        assert FEEDS in held(w)
        f = Feed(n.port, "film").head().run()
        w.set_config(top=EGRESS, locations=CONTROL)
        w.reload()
        running(w)
        f.stop()
    finally:
        n.kill()


def test_a_reload_brings_a_push_of_all_streams(control, weir):
    there = weir()
    f = Feed(there.rtmp, "film").head().run()
    w = control(top=EGRESS)
    assert task(w, name="film", url=there.rtmp_url("film"), wait=60) == OK
    w.set_config(top=EGRESS, app=push(f"rtmp://localhost:{there.rtmp}/live",
                                      ""), locations=CONTROL)
    w.reload()
    assert "of weir.conf" in held(w)
    status, words = task(w, name="film", url=there.rtmp_url("film"))
    assert status == 409
    w.set_config(top=EGRESS, locations=CONTROL)
    w.reload()
    running(w)
    f.stop()


def test_addresses_that_texts_do_not_tell(control, weir):
    """Whichever of both comes second."""
    there = weir(rtmp_listen='"0.0.0.0:0"',
                 app='publish_conflict = "refuse";')
    f = Feed(there.rtmp, "film").head().run()
    w = control(top=EGRESS)
    url = f"rtmp://127.0.0.2:{there.rtmp}/live/film"
    assert task(w, name="film", url=url, wait=60) == OK
    assert task(w, "push", name="film", url=there.rtmp_url("film")) == OK
    assert "of the API" in held(w)
    assert task(w, name="film", url=url, wait=1)[0] == 502
    assert shown(w)["frames"] > 0
    assert task(w, "push", name="film", oper="stop") == OK
    running(w)
    # Neither port, name nor application are the same.
    for name, to in (("b", "film"), ("film", "b")):
        assert task(w, "push", name=name, url=there.rtmp_url(to)) == OK
    running(w, "push", "film")
    f.stop()


# ---- pulls of one weir ----

@pytest.mark.parametrize("chain", [("r1", "r2"), ("r1", "r2", "r3")])
def test_pulls_of_one_another(control, chain):
    """Each of the next one, the last of the first: one has to wait, also when
    somebody has published into the middle of it."""
    w = control(top=EGRESS)
    for name, source in zip(chain[1:], chain):
        assert task(w, name=name, url=w.rtmp_url(source)) == OK
        wait_for(lambda n=name: "no media" in (shown(w, name=n) or
                                               {"reason": ""})["reason"], 10)
    assert task(w, name="r1", url=w.rtmp_url(chain[-1])) == OK
    assert f"live/{chain[-1]} of this weir is pulled from it" in held(w, "r1")
    f = Feed(w.rtmp, "r1").head().run()
    running(w, name=chain[-1])
    wait_for(lambda: shown(w, name="r1")["state"] == "local publisher present",
             10)
    f.stop()
    assert held(w, "r1") and shown(w, name="r1")["frames"] == 0
    # The ring is open: the pull begins.
    last = chain[-1]
    assert task(w, name=last, oper="stop", url=w.rtmp_url("x")) == OK
    f = Feed(w.rtmp, last).head().run()
    running(w, name="r1")
    f.stop()
    for name in chain[:-1]:  # or each would ask the next one for ever
        assert task(w, name=name, oper="stop", url=w.rtmp_url("x")) == OK
