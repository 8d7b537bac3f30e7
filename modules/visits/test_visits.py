"""modules/visits as clients and operators see it, also while its processes are
killed and held."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import threading

import pytest

from control_client import ctl, ctl_json
from http_client import Http, get, request
from test_store_postgres import own, server
from weir import descendants, title, wait_for

__all__ = ["own", "server"]

ONE = 'visits = { name = "main"; };'
LOCATION = '{ path = "/v"; module = "visits"; },'
PATIENT = 'visits = { name = "main"; timeout = "60s"; };'


def two(w_settings="max_rooms = 2;"):
    return {"top": f'visits = ( {{ name = "a"; {w_settings} }}, '
                   '{ name = "b"; } );',
            "locations": '{ path = "/a"; module = "visits"; instance = "a"; },'
                         '{ path = "/b"; module = "visits"; instance = "b"; },'}


def visit(w, room, path="/v"):
    return request(w.http, "POST", f"{path}/{room}")


def visits(w, room, path="/v"):
    a = get(w.http, f"{path}/{room}")
    assert a.status == 200, a.body
    return a.json()["visits"]


def process(w, name):
    def look():
        return [p for p in descendants(w.pid) if title(p) == f"weir: {name}"]
    return wait_for(look, 5, name)[0]


def kill(w, name):
    """And waits for the next one."""
    killed = process(w, name)
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: process(w, name) != killed, 20, f"another {name}")


def refused(w, reason):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(rf'^weir_visits_refused_total{{reason="{reason}"}} '
                         r'(\d+)$', text, re.M)[1])


def unavailable(a):
    assert a.status == 503 and int(a.header("retry-after")) >= 1, a.body
    return a.json()["message"]


# ---- what clients see ----

def test_visits_are_counted(store_backend, weir):
    w = weir(top=ONE, locations=LOCATION, workers=2)
    assert visits(w, "x") == 0
    assert [visit(w, "x").json() for _ in range(3)] == \
        [{"room": "x", "visits": n} for n in (1, 2, 3)]
    assert visit(w, "y").json()["visits"] == 1
    assert visits(w, "x") == 3
    assert get(w.http, "/v").json() == get(w.http, "/v/").json() == {
        "instance": "main", "next": None,
        "rooms": [{"room": "x", "visits": 3}, {"room": "y", "visits": 1}]}
    assert "weir_visits_counted_total 4" in get(
        w.http, "/metrics").body.decode()


def test_instances_have_counts_and_bounds_of_their_own(store_backend, weir):
    w = weir(**two())
    for room in "xyx":
        assert visit(w, room, "/a").status == 200
    full = visit(w, "z", "/a")
    assert full.status == 507 and "max_rooms" in full.json()["message"]
    assert visit(w, "z", "/b").json()["visits"] == 1
    assert visits(w, "x", "/a") == 2 and visits(w, "x", "/b") == 0
    assert refused(w, "max_rooms") == 1


def test_rooms_come_in_pages(weir):
    w = weir(top=ONE, locations=LOCATION)
    rooms = [f"r{n:03}" for n in range(150)]
    with Http(w.http) as c:
        for room in rooms:
            c.send("POST", f"/v/{room}")
            assert c.answer("POST").status == 200
    first = get(w.http, "/v").json()
    assert first["next"] == rooms[99]
    then = get(w.http, f"/v?after={rooms[99]}").json()
    assert then["next"] is None
    assert [r["room"] for r in first["rooms"] + then["rooms"]] == rooms


@pytest.mark.parametrize("room", ["_page", "-a", "%ff", "a%00b", "a" * 65,
                                  "a%20b", "%3Cb%3E"])
def test_bad_names_are_refused(weir, room):
    w = weir(top=ONE, locations=LOCATION)
    assert visit(w, room).status in (400, 405)
    if room != "_page":
        assert get(w.http, f"/v/{room}").status == 400
    assert get(w.http, "/v?after=%ff").status == 400
    assert get(w.http, "/v").json()["rooms"] == []


def test_a_page_of_another_site_counts_nothing(weir):
    w = weir(top=ONE, locations=LOCATION)
    a = request(w.http, "POST", "/v/x", "Origin: http://evil.example",
                "Sec-Fetch-Site: cross-site")
    assert a.status == 403 and visits(w, "x") == 0


def test_the_page(weir):
    w = weir(top=ONE, locations=LOCATION)
    for path, kind in (("_page", "text/html"), ("_page.js", "text/javascript")):
        a = get(w.http, f"/v/{path}")
        assert a.status == 200 and a.header("content-type").startswith(kind)
        assert "default-src 'none'" in a.header("content-security-policy")
    assert b"<script>" not in get(w.http, "/v/_page").body


@pytest.mark.parametrize("top, locations, told", [
    ("", LOCATION, r"instance"),
    ('visits = { name = "a b"; };', LOCATION, "must be letters"),
    ('visits = { name = "a"; max_rooms = 0; };', LOCATION, "max_rooms"),
    (ONE, LOCATION.replace('s";', 's"; instance = "man";'),
     'did you mean "main"'),
])
def test_wrong_settings_are_told(weir, top, locations, told):
    with pytest.raises(AssertionError, match=r"weir\.conf:\d+: .*" + told):
        weir(top=top, locations=locations)


# ---- what operators see ----

def test_weirctl(store_backend, weir):
    w = weir(**two())
    assert ctl_json(w, "show", "visits") == []
    for room in "xxy":
        visit(w, room, "/a")
    visit(w, "z", "/b")
    assert ctl_json(w, "show", "visits") == [
        {"name": "a", "rooms": 2, "visits": 3},
        {"name": "b", "rooms": 1, "visits": 1}]
    assert "again: 2" in ctl(w, "visits", "reset", "a").stdout
    assert visits(w, "x", "/a") == 0 and visits(w, "z", "/b") == 1
    assert "no visits" in ctl(w, "visits", "reset", "a").stderr
    assert ctl(w, "visits", "reset", '"a b"').returncode == 1


def test_weirctl_where_nothing_counts(weir):
    w = weir(top=ONE)
    assert "no location" in ctl(w, "show", "visits").stderr


# ---- reloads ----

def test_a_reload_changes_the_bound_and_not_the_counter(weir):
    w = weir(**two())
    counter = process(w, "counter")
    for room in "xy":
        assert visit(w, room, "/a").status == 200
    assert visit(w, "z", "/a").status == 507
    w.set_config(**two("max_rooms = 3;"))
    w.reload()
    wait_for(lambda: visit(w, "z", "/a").status == 200, 10, "a new bound")
    assert process(w, "counter") == counter
    assert visits(w, "x", "/a") == 1


def test_a_reload_takes_the_module_away_and_brings_it_back(weir):
    w = weir(top=ONE, locations=LOCATION)
    assert visit(w, "x").status == 200
    w.set_config(top=ONE)
    w.reload()
    wait_for(lambda: not [p for p in descendants(w.pid)
                          if title(p) == "weir: counter"], 10, "its end")
    w.set_config(top=ONE, locations=LOCATION)
    w.reload()
    wait_for(lambda: visit(w, "x").status == 200, 10, "a counter")
    assert visits(w, "x") == 2


# ---- kills ----

class Visitors:
    """Threads that visit rooms.  What was answered is counted; what was not
    may be, or not."""

    def __init__(self, w, count=8):
        self.w, self.going = w, True
        self.lock = threading.Lock()
        self.counted, self.unknown, self.others = {}, {}, []
        self.threads = [threading.Thread(target=self._run, args=(f"r{n % 4}",))
                        for n in range(count)]
        for t in self.threads:
            t.start()

    def _run(self, room):
        while self.going:
            try:
                a = visit(self.w, room)
            except (OSError, EOFError):
                a = None
            with self.lock:
                if a is None or a.status == 503:
                    self.unknown[room] = self.unknown.get(room, 0) + 1
                elif a.status == 200:
                    self.counted[room] = self.counted.get(room, 0) + 1
                else:
                    self.others.append((a.status, a.body))

    def wait(self, more):
        wanted = sum(self.counted.values()) + more
        wait_for(lambda: sum(self.counted.values()) >= wanted, 60, "visits")

    def end(self):
        self.going = False
        for t in self.threads:
            t.join()


def test_what_was_acknowledged_outlives_kills(store_backend, weir):
    w = weir(top=PATIENT, locations=LOCATION, workers=2,
             store='timeout = "60s";')
    w.allowed = [r"counter", r"keeper", r"signal 9"]
    w.may_grow = True
    visitors = Visitors(w)
    try:
        for _ in range(3):
            visitors.wait(30)
            kill(w, "counter")
            visitors.wait(30)
            kill(w, "keeper")
        visitors.wait(30)
    finally:
        visitors.end()
    assert not visitors.others
    for room, counted in visitors.counted.items():
        there = visits(w, room)
        assert counted <= there <= counted + visitors.unknown.get(room, 0)


def test_a_keeper_that_is_killed_counts_nothing_twice(weir):
    """The counter's writes are sent again, and each is done once."""
    w = weir(top=PATIENT, locations=LOCATION, workers=2,
             store='timeout = "60s";')
    w.allowed = [r"keeper", r"signal 9"]
    w.may_grow = True
    visitors = Visitors(w)
    try:
        for _ in range(3):
            visitors.wait(30)
            kill(w, "keeper")
        visitors.wait(30)
    finally:
        visitors.end()
    assert not visitors.others and not visitors.unknown
    assert {r: visits(w, r) for r in visitors.counted} == visitors.counted


def test_counts_outlive_weir(store_backend, weir):
    w = weir(top=ONE, locations=LOCATION)
    assert visit(w, "x").status == 200
    w.stop()
    w.status = None
    w.start()
    assert visit(w, "x").json()["visits"] == 2


# ---- slow and gone ----

@pytest.mark.parametrize("name, reason", [("counter", "counter"),
                                          ("keeper", "counter")])
def test_one_that_is_held_costs_a_visitor_its_timeout(weir, name, reason):
    w = weir(top='visits = { name = "main"; timeout = "300ms"; };',
             locations=LOCATION, workers=2)
    w.allowed = [name]
    wait_for(lambda: visit(w, "first").status == 200, 10, "a visit")
    assert visit(w, "x").status == 200
    before = refused(w, reason)
    held = process(w, name)
    os.kill(held, signal.SIGSTOP)
    try:
        unavailable(visit(w, "y"))
        assert visits(w, "x") == 1  # the worker reads by itself
    finally:
        os.kill(held, signal.SIGCONT)
    assert refused(w, reason) == before + 1
    wait_for(lambda: visit(w, "x").status == 200, 10, "a visit")


def test_a_store_that_is_away(own, weir):
    w = weir(top=ONE, locations=LOCATION, store='timeout = "500ms";')
    assert visit(w, "x").status == 200
    w.allowed = [r"store", r"keeper"]
    own.server.stop()
    unavailable(visit(w, "x"))
    unavailable(get(w.http, "/v/x"))
    own.server.start()
    wait_for(lambda: visit(w, "x").status == 200, 20, "the store")


def test_a_visitor_who_goes_costs_nothing(weir):
    w = weir(top=PATIENT, locations=LOCATION)
    held = process(w, "counter")
    w.allowed = ["counter"]
    os.kill(held, signal.SIGSTOP)
    try:
        for _ in range(20):
            with Http(w.http) as c:
                c.send("POST", "/v/x")
    finally:
        os.kill(held, signal.SIGCONT)
    wait_for(lambda: visit(w, "y").status == 200, 10, "a visit")


def test_a_counter_that_stops_refuses_who_waits(weir):
    w = weir(top=PATIENT, locations=LOCATION, store='timeout = "60s";')
    w.allowed = ["keeper", "counter"]
    held, counter = process(w, "keeper"), process(w, "counter")
    os.kill(held, signal.SIGSTOP)
    try:
        with Http(w.http) as c:
            c.send("POST", "/v/x")
            get(w.http, "/v/x")
            os.kill(counter, signal.SIGTERM)
            unavailable(c.answer("POST"))
    finally:
        os.kill(held, signal.SIGCONT)
    wait_for(lambda: visit(w, "x").status == 200, 10, "another counter")
