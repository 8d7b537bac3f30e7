"""A module is one folder: put beside the others, configured, built, it works.

The module is modules/gate of this folder, which decides over publishers and
players as one does that has to ask somebody else first."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil
import socket
import subprocess

import pytest

import flv
import weir as weir_py
from feed import Feed
from http_client import get
from module_tree import (OUTPUT, ROOT, VARIANT, configure, copy_tree,
                         run_in, run_tests)
from patience import busy
from rtmp_client import COMMAND, VIDEO, Refused, Rtmp, player, publisher


@pytest.fixture(scope="module")
def gate_binary(binary_with):
    return binary_with("gate")


@pytest.fixture
def gate(gate_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", gate_binary)
    return weir


def test_it_is_in_the_table(gate_binary):
    told = subprocess.run([gate_binary, "-V"], capture_output=True, text=True,
                          check=True).stdout
    assert "decides late, for tests" in told


@pytest.mark.parametrize("name", ["no-way", "late-no-way"])
@pytest.mark.parametrize("verb", ["publish", "play"])
def test_a_refusal_comes_instead_of_start(gate, name, verb):
    w = gate()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        with pytest.raises(Refused, match="the gate says no"):
            getattr(c, verb)(name)
        c.wait_closed()


@pytest.mark.parametrize("key", ["key-room", "late-key-room"])
def test_a_key_appears_as_its_room(gate, key):
    w = gate(workers=2)
    with publisher(w.rtmp, "live", key) as c:
        feed = Feed(w.rtmp, client=c).head().frames(3)
        with player(w.rtmp, "live", "room") as p:
            feed.frames(1)
            assert p.read(VIDEO).payload == flv.AVC_HEADER


def test_a_key_opens_what_takes_keys_only(gate):
    w = gate(apps=',{ name = "keys"; publish = "key"; }')
    with publisher(w.rtmp, "keys", "late-key-room"):
        pass
    with Rtmp(w.rtmp) as c:
        c.connect("keys")
        with pytest.raises(Refused, match="stream keys only"):
            c.publish("late-room")


def test_others_are_served_while_one_waits(gate):
    w = gate(rtmp='connect_timeout = "1s";')
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("publish", None, "never-1", "live", msid=c.create_stream())
        with publisher(w.rtmp, "live", "other"):
            with player(w.rtmp, "live", "other"):
                c.silent(0.2, COMMAND)


@pytest.mark.parametrize("verb", ["publish", "play"])
def test_a_decision_that_does_not_come_is_a_refusal(gate, verb):
    w = gate(rtmp='connect_timeout = "300ms";')
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        with pytest.raises(Refused, match="no decision in time"):
            getattr(c, verb)("never-1")
        c.wait_closed()
    w.wait_log("gate: nobody waits")


@pytest.mark.parametrize("name", ["never-1", "late-no-1", "late-1"])
def test_who_goes_while_it_waits_is_forgotten(gate, name):
    w = gate()
    for _ in range(5):
        with Rtmp(w.rtmp) as c:
            c.connect("live")
            c.command("play", None, name, msid=c.create_stream())
            c.reset()
    w.wait_log("gate: nobody waits", count=5)
    with publisher(w.rtmp, "live", "after"):
        pass


def test_weir_stops_while_one_waits(gate):
    w = gate()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("publish", None, "never-1", "live", msid=c.create_stream())
        w.stop()
        w.wait_log("gate: nobody waits")


@pytest.mark.parametrize("connect,name", [
    ({"app": "live"}, "key-room"),
    ({"app": "live", "tcUrl": "rtmp://h/live?k=key-room"}, "key-room?key-room"),
    ({"app": "live/key-room", "tcUrl": "rtmp://h/live/key-room"}, ""),
])
def test_statistics_have_the_room_not_the_key(gate, connect, name):
    w = gate(locations='{ path = "/stat"; module = "stat"; },')
    with Rtmp(w.rtmp) as c:
        connect = dict(connect)
        c.connect(connect.pop("app"), **connect)
        c.publish(name)
        for what in ("livestat", "streams", "sessions"):
            a = get(w.http, "/stat/" + what)
            assert b"key-room" not in a.body and b"live/room" in a.body
        told = get(w.http, "/stat/livestat").json()["publishers"]
        assert [p["url"].partition("/live")[2] for p in told] == ["/room"]


def walk_through():
    """The commands of weir-module(7)'s first step."""
    with open(f"{ROOT}/man/weir-module.7", encoding="utf-8") as f:
        text = f.read()
    return re.search(r"^cp -r modules/hello.*?(?=^\.Ed)", text, re.S | re.M)[0]


COPY_ECHO = """
cp -r modules/echo modules/parrot
cd modules/parrot
for f in *echo*; do mv $f $(echo $f | sed s/echo/parrot/); done
sed -i s/echo/parrot/g *
"""


@pytest.mark.once
def test_a_copy_works_and_is_told_nowhere_else(tmp_path, weir, monkeypatch):
    """Of hello, and of echo, which has listeners of its own."""
    tree = str(tmp_path / "tree")
    copy_tree(tree)
    for name in ("docs", "man", "tests/lint", "tests/live"):
        shutil.copytree(f"{ROOT}/{name}", f"{tree}/{name}")
    run_in(tree, "sh", "-ec", walk_through())
    run_in(tree, "sh", "-ec", COPY_ECHO)
    configure(tree)
    said = run_in(tree, "make", f"VARIANT={VARIANT}", f"{OUTPUT}/weir")
    compiled = re.findall(r"^  CC\t.*/obj/(.*)\.o$", said, re.M)
    assert "build/modules" in compiled
    for name in compiled:  # nothing but what is new
        with open(f"{tree}/{name}.c", encoding="utf-8") as file:
            assert (re.match("modules/(mine|parrot)/|build/", name) or
                    '#include "config.h"' in file.read()), name
    if OUTPUT != "build":
        os.symlink(f"{tree}/{OUTPUT}/weir", f"{tree}/build/weir")
    listed = subprocess.run([f"{tree}/{OUTPUT}/weir", "-V"],
                            capture_output=True, text=True, check=True).stdout
    assert re.search(r"^  mine +answers GET /mine", listed, re.M)
    run_in(tree, "tests/lint/run", "manual", "metrics", "pages")
    run_tests(tree, "mine")
    run_in(tree, "sh", "-c", "rm modules/mine/mine.7 && "
           "cp modules/hello/hello.7 modules/mine/mine.7 && "
           "! tests/lint/run metrics > said; grep -q weir_mine_ said")
    monkeypatch.setattr(weir_py, "BINARY", f"{tree}/{OUTPUT}/weir")
    w = weir(top='parrot = { name = "p"; listen = "127.0.0.1:0"; };')
    with socket.create_connection(("127.0.0.1", w.port("parrot"))) as s:
        s.settimeout(busy(10))
        s.sendall(b"pretty\n")
        assert s.recv(100) == b"pretty\n"
