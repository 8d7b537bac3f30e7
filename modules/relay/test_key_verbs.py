"""Stream keys by the control socket: weirctl key get, reset, delete, list."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import pytest

from control_client import Control
from keys_help import KEY, ask, key_of, refused, start_keyed
from rtmp_client import publisher
from test_relay_api import relayer
from weir import wait_for


@pytest.fixture
def keyed(store_backend, weir):
    """On both databases."""
    return lambda *a, **k: start_keyed(weir, *a, **k)


def test_the_same_keys_as_over_http(keyed):
    w = keyed()
    with Control(w) as c:
        made = c.json("key get film")
        assert list(made) == ["room", "key"] and made["room"] == "film"
        assert KEY.fullmatch(made["key"].encode())
        assert key_of(w, "film") == made["key"]
        assert c.json("key get film") == made
        over_http = key_of(w, "other")
        assert c.ask("key get other") == ["room: other", f"key: {over_http}"]
        assert c.ask("key list") == ["room", "film", "other"]
        assert c.json("key list") == [{"room": "film"}, {"room": "other"}]
        changed = c.json("key reset film")["key"]
        assert changed not in ("", made["key"])
        assert key_of(w, "film") == changed
        assert c.ask("key delete film") == ["OK"]
        assert c.ask("key delete film") == ["ERR missing this room has no key"]
        assert ask(w, "delete", "film").status == 404
        assert c.json("key list") == [{"room": "other"}]
        for wrong in ("key get", "key get a b", "key get a/b",
                      "key get " + "x" * 300, "key list x"):
            assert c.ask(wrong)[0].startswith("ERR usage "), wrong


def test_who_publishes_with_the_old_key_is_closed(keyed):
    w = keyed()
    with Control(w) as c:
        old = c.json("key get room")["key"]
        live = publisher(w.rtmp, "keyed", old)
        wait_for(lambda: c.json("show streams"), 10, "the stream")
        new = c.json("key reset room")["key"]
        live.wait_closed()
        assert refused(w, old)
        publisher(w.rtmp, "keyed", new).close()
    w.wait_log(r"relay: the key of room room was reset for the operator")
    for key in (old, new):
        assert key not in w.log()


def test_more_rooms_than_one_answer_holds(keyed):
    w = keyed()
    rooms = [f"room{i:03}" for i in range(250)]
    with Control(w) as c:
        for room in rooms:
            c.send(f"key get {room}")
        for room in rooms:
            assert c.answer()[0] == f"room: {room}"
        assert [r["room"] for r in c.json("key list")] == rooms


def test_no_more_than_max_rooms(keyed):
    w = keyed("max_rooms = 2;")
    with Control(w) as c:
        assert c.json("key get a")["key"] and c.json("key get b")["key"]
        assert c.ask("key get c")[0].startswith("ERR failed ")
        assert c.ask("key get a")[0] == "room: a"


def test_without_the_module(weir):
    w = weir()
    with Control(w) as c:
        assert c.ask("key get a")[0].startswith("ERR failed ")
        assert c.ask("key list")[0].startswith("ERR failed ")


def test_the_relayer_dies_while_it_is_asked(weir):
    w = start_keyed(weir)
    pid = relayer(w)
    with Control(w) as c, Control(w) as other:
        made = c.json("key get film")
        os.kill(pid, signal.SIGSTOP)
        c.send("key get film")
        for _ in range(2):  # behind these the order is on its way
            other.ask("show info")
        os.kill(pid, signal.SIGKILL)
        assert c.answer() == ["ERR failed the relayer ended before it answered"]
        wait_for(lambda: relayer(w) != pid, 10, "the next relayer")
        wait_for(lambda: c.ask("key get film")[0] == "room: film", 10,
                 "its answer")
        assert c.json("key get film") == made
