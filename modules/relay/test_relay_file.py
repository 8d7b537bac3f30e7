"""Relays of weir.conf that the API has, too, or is asked for."""
# SPDX-License-Identifier: BSD-2-Clause

import re

from control_client import ctl
from feed import Feed, read_two_keys, read_until
from rtmp_client import player
from test_relay_api import CONTROL, OK, control, relayer, relays, task
from weir import configuration, place, run, wait_for

__all__ = ["control"]
OPEN = 'egress = [ "allow loopback", "allow all" ];'
NOBODY = "rtmp://127.0.0.1:1/live/x"


def one(kind, url, name="a"):
    return f'{kind} = ( {{ name = "{name}"; url = "{url}"; }} );'


def change(w, app=""):
    w.set_config(top=OPEN, locations=CONTROL, app=app, hold="0")
    w.reload()


def wait_list(w, *expected):
    """(origin, state) of all."""
    wait_for(lambda: sorted((t["origin"], t["state"]) for t in relays(w)) ==
             sorted(expected), 10, f"{expected}")


def test_a_push_that_comes_into_the_file(weir, control):
    """It goes on, once; what the API has of it can be stopped."""
    there = weir()
    url = there.rtmp_url("x")
    w = control(top=OPEN, hold="0")
    f = Feed(w.rtmp, "a").head().run()
    assert task(w, "push", url=url, wait=60) == OK
    with player(there.rtmp, "live", "x") as p:
        read_two_keys(p)
        change(w, one("push", url))
        wait_list(w, ("config", "running"))
        assert task(w, "push", url=url) == OK
        assert task(w, "push", oper="stop", url=url) == OK
        read_until(p, f"key {f.next // 25 * 25 + 25}")
        wait_list(w, ("config", "running"))
    assert relays(w)[0]["attempts"] == 1
    status, words = task(w, "push", oper="stop", url=url)
    assert (status, "is in the configuration" in words) == (409, True)
    done = ctl(w, "relay", "stop", "push", "live", "a")
    assert (done.returncode != 0, "in the configuration" in done.stderr) == \
        (True, True)
    change(w)
    wait_list(w)
    assert task(w, "push", oper="stop", url=url)[0] == 404
    assert len(re.findall("stream live/x: published", there.log())) == 1
    f.stop()


def test_a_pull_that_leaves_the_file(weir, control):
    """And is the API's again."""
    there = weir()
    url = there.rtmp_url("x")
    f = Feed(there.rtmp, "x").head().run()
    w = control(top=OPEN, hold="0")
    assert task(w, url=url, wait=60) == OK
    change(w, one("pull", url))
    wait_list(w, ("config", "running"))
    w.stop()
    w.start()
    wait_list(w, ("config", "running"))
    change(w)
    wait_list(w, ("api", "running"))
    assert ctl(w, "relay", "stop", "pull", "live", "a").returncode == 0
    wait_list(w)
    f.stop()


def test_another_url_of_the_api_can_be_stopped(control):
    w = control(top=OPEN)
    for kind in ("pull", "push"):
        assert task(w, kind, url=NOBODY) == OK
        change(w, one(kind, NOBODY + "y"))
        wait_for(lambda: len(relays(w)) == 2, 5, "both")
        assert task(w, kind, oper="stop", url=NOBODY) == OK
        wait_for(lambda: [t["origin"] for t in relays(w)] == ["config"], 5,
                 "the file's alone")
        assert task(w, kind, oper="stop", url=NOBODY + "y")[0] == 409
        change(w)
        wait_list(w)


def test_pushes_of_the_api_beside_one_of_the_file(control):
    w = control(top=OPEN, app=one("push", NOBODY))
    assert task(w, "push", url=NOBODY + "y") == OK
    wait_for(lambda: len(relays(w)) == 2, 5, "both")
    assert task(w, "push", oper="stop", url=NOBODY)[0] == 409
    assert task(w, "push", oper="stop", url=NOBODY + "z") == \
        (404, "there is no push of live/a with that url")
    # The only one that can be stopped.
    assert task(w, "push", oper="stop") == OK
    wait_list(w, ("config", "waiting for the local stream"))
    status, words = task(w, "push", oper="stop")
    assert (status, "is in the configuration" in words) == (409, True)


def test_a_push_of_all_streams_comes_into_the_file(weir, control):
    there = weir()
    url = there.rtmp_url("x")
    w = control(top=OPEN, hold="0")
    f = Feed(w.rtmp, "a").head().run()
    assert task(w, "push", url=url, wait=60) == OK
    assert task(w, "push", name="b", url=url) == OK
    wait_list(w, ("api", "running"), ("api", "waiting for the local stream"))
    change(w, f'push = ( "{url}" );')
    wait_list(w, ("config", "running"))
    f.stop()
    wait_list(w)
    assert task(w, "push", oper="stop", url=url) == OK
    change(w)
    wait_list(w, ("api", "waiting for the local stream"))


def test_a_push_of_streams_by_pattern(weir, control):
    """Those that fit, each once, also when another push has it by name."""
    there = weir()
    out = f"rtmp://127.0.0.1:{there.rtmp}/live"
    w = control(top=OPEN, hold="0")
    feeds = {n: Feed(w.rtmp, n).head().run()
             for n in ("show-1", "Show-2", "other", "show-3")}
    change(w, f'push = ( {{ name = "~* ^show-[0-9]$"; url = "{out}"; }}, '
              f'{{ name = "show-3"; url = "{out}"; }} );')
    wait_list(w, *[("config", "running")] * 3)

    def arrived():
        return sorted(re.findall(r"stream live/(\S+): published", there.log()))
    wait_for(lambda: arrived() == ["Show-2", "show-1", "show-3"], 10)
    status, words = task(w, "push", name="show-1", oper="stop", url=out)
    assert (status, "is in the configuration" in words) == (409, True)
    # Another pattern: one goes, one comes, the others go on.
    change(w, f'push = ( {{ name = "~ ^(show|other)"; url = "{out}"; }} );')
    wait_for(lambda: arrived() == ["Show-2", "other", "show-1", "show-3"], 10)
    wait_list(w, *[("config", "running")] * 3)
    for f in feeds.values():
        f.stop()
    wait_list(w)


def test_a_pattern_that_is_wrong(tmp_path):
    place(tmp_path, configuration(
        app='publish = "open"; push = ( { name = "~ ("; '
            'url = "rtmp://192.0.2.1/x"; } );'))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and "push.name" in r.stderr, r.stderr


def test_wait_for_one_of_the_file(weir, control):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    # The same to who must not know the key.
    keys = [there.rtmp_url("key" + k) for k in "123"]
    w = control(top=OPEN, hold="1h", app=one("pull", NOBODY) + "push = ( " +
                f'{{ name = "p"; url = "{NOBODY}"; }}, ' + ", ".join(
                    f'{{ name = "p"; url = "{u}"; }}' for u in keys) + " );")
    status, words = task(w, url=NOBODY, wait=1)
    assert (status, "Connection refused" in words) == (502, True)
    assert task(w, "push", name="p", url=keys[1], wait=1) == \
        (502, "waiting for the local stream")
    g = Feed(w.rtmp, "p").head().run()
    for url in keys:
        assert task(w, "push", name="p", url=url, wait=60) == OK
        assert task(w, "push", name="p", url=url) == OK
    status, words = task(w, "push", name="p", url=NOBODY, wait=1)
    assert (status, "Connection refused" in words) == (502, True)
    change(w, one("pull", there.rtmp_url("x")))
    assert task(w, url=there.rtmp_url("x"), wait=60) == OK
    assert relays(w)[0]["state"] == "running"
    g.stop()
    f.stop()


def test_weirctl_without_a_store(weir):
    """There is none where no location asks for relays; what runs goes on."""
    w = weir(top=OPEN, app=one("pull", NOBODY))
    pid = relayer(w)
    for words, why in (
            (("stop", "pull", "live", "a"), "it is in the configuration"),
            (("stop", "pull", "live", "b"), "no location has module relay"),
            (("start", "pull", "live", "b", NOBODY), "no location has")):
        done = ctl(w, "relay", *words)
        assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert relayer(w) == pid
