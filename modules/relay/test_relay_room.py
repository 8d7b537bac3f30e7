"""relays.max: who has room, and what becomes of those that have none."""
# SPDX-License-Identifier: BSD-2-Clause

import re

from control_client import ctl
from feed import Feed
from test_relay_api import CONTROL, OK, control, relays, task
from weir import run, wait_for

__all__ = ["control"]
OPEN = 'egress = [ "allow loopback", "allow all" ];'
NOBODY = "rtmp://127.0.0.1:1/live/x"


def most(n):
    return OPEN + f"relays = {{ max = {n}; }};"


def pulls(*names, url=NOBODY):
    return "pull = ( " + ", ".join(
        f'{{ name = "{n}"; url = "{url}"; }}' for n in names) + " );"


def change(w, **parts):
    w.set_config(locations=CONTROL, **parts)
    w.reload()


def begun(w):
    """Names of those that were given room."""
    return {t["name"] for t in relays(w) if t["attempts"]}


def wait_begun(w, *names):
    wait_for(lambda: begun(w) == set(names), 5, f"{names} run")


def no_room(w):
    """{name: reason} of the others."""
    return {t["name"]: t["reason"] for t in relays(w)
            if t["state"] == "not started"}


def test_a_file_with_too_many(weir):
    w = weir()

    def check():
        return run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    for kind, app in (("pull", pulls("a", "b")), ("pull", pulls("a") + "\n" +
                      f'push = ( {{ name = "a"; url = "{NOBODY}z"; }} );'),
                      ("push", f'push = ( "{NOBODY}",\n "{NOBODY}y" );')):
        w.set_config(top=most(1), app=app)
        done = check()
        assert done.returncode == 1
        assert re.search(rf"weir\.conf:\d+: {kind}: there are more than "
                         r"relays\.max allows \(1\)", done.stderr), done.stderr
        w.reload(good=False)
        w.set_config(top=most(2), app=app)
        assert check().returncode == 0
    w.set_config(top=most(0), app=pulls("a"))
    assert "relays.max allows (0)" in check().stderr


def test_what_is_changed_makes_room_for_itself(control):
    w = control(top=most(1), app=pulls("a"))
    wait_begun(w, "a")
    change(w, top=most(1), app=pulls("a", url=NOBODY + "y"))
    wait_for(lambda: [t["url"] for t in relays(w)] == [NOBODY + "y"], 5,
             "the new relay")
    wait_begun(w, "a")
    change(w, top=most(2), app=pulls("b", "c"))
    wait_begun(w, "b", "c")
    assert no_room(w) == {}


def test_those_of_the_file_count(control):
    w = control(top=most(2), app=pulls("file"))
    assert task(w, name="a", url=NOBODY) == OK
    status, words = task(w, name="b", url=NOBODY)
    assert (status, "relays.max allows (2)" in words) == (507, True)
    done = ctl(w, "relay", "start", "pull", "live", "b", NOBODY)
    assert (done.returncode != 0, "relays.max" in done.stderr) == (True, True)
    assert task(w, name="a", url=NOBODY) == OK
    wait_begun(w, "file", "a")
    assert len(relays(w)) == 2


def test_who_has_no_room_waits_for_it(control):
    """Of the file too, if the API was first."""
    w = control(top=most(2))
    for name in ("a", "b"):
        assert task(w, name=name, url=NOBODY) == OK
    change(w, top=most(2), app=pulls("c", "d"))
    wait_for(lambda: no_room(w) == dict.fromkeys(
        "cd", "no room: relays.max is 2"), 5, "those without room")
    assert begun(w) == {"a", "b"}
    assert re.search(r"live/d +not_started .*no.room:.relays\.max.is.2",
                     ctl(w, "show", "relays").stdout)
    assert task(w, name="a", oper="stop", url=NOBODY) == OK
    wait_begun(w, "b", "c")
    change(w, top=most(3), app=pulls("c", "d"))
    wait_begun(w, "b", "c", "d")
    change(w, top=most(2), app=pulls("d"))
    wait_begun(w, "b", "d")
    assert no_room(w) == {}


def test_streams_of_which_all_are_pushed(control):
    w = control(top=most(1), app=f'push = ( "{NOBODY}" );', hold="0")
    f = Feed(w.rtmp, "a").head().frames(5)
    wait_begun(w, "a")
    g = Feed(w.rtmp, "b").head().frames(5)
    wait_for(lambda: no_room(w), 5, "one without room")
    assert no_room(w) == {"b": "no room: relays.max is 1"}
    assert task(w, name="c", url=NOBODY + "z")[0] == 507
    f.stop()
    wait_begun(w, "b")
    g.stop()
    wait_for(lambda: relays(w) == [], 5, "an empty list")
    assert task(w, name="c", url=NOBODY + "z") == OK
