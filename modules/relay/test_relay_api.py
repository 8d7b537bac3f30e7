"""GET /control/pull, /push and /relays, and weirctl's words for relays."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import threading
import time
from urllib.parse import urlencode

import pytest

from control_client import ctl
from feed import Feed, read_two_keys, read_until
from http_client import Http, get, request
from keys_help import KEYED, error, keeper, key_of
from patience import busy
from rtmp_client import player, publisher
from test_relays import check_at_once
from weir import (descendants, descriptors, free_port, resident, stat_of,
                  title, wait_for)

EGRESS = 'egress = [ "allow loopback", "allow 192.0.2.1", "deny all" ];'
CONTROL = '{ path = "/control"; module = "relay"; rate = { rate = "100000/s"; }; },'


@pytest.fixture
def control(store_backend, weir):
    """A weir with /control; ask() it."""
    def start(**parts):
        parts.setdefault("top", EGRESS)
        return weir(locations=CONTROL, **parts)

    return start


def ask(w, kind, **parameters):
    path = f"/control/{kind}?{urlencode(parameters)}"
    answer = get(w.http, path)
    assert answer.header("Cache-Control") == "no-store"
    body = answer.json()
    assert set(body) == {"status", "data"}
    assert body["status"] == answer.status
    return answer.status, body["data"]


def task(w, kind="pull", oper="start", app="live", name="a", **more):
    return ask(w, kind, oper=oper, app=app, name=name, **more)


def relays(w):
    status, tasks = ask(w, "relays")
    assert status == 200
    return tasks


def relayer(w):
    return wait_for(lambda: next((p for p in descendants(w.pid) if title(p) ==
                                  "weir: relayer"), None), 5, "the relayer")


OK = (200, "Ok")


# ---- start and stop ----

def test_start_and_stop(weir, control):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = control(workers=2)
    url = there.rtmp_url("x")
    assert relays(w) == []
    assert task(w, url=url, wait=60) == OK
    shown, = relays(w)
    assert (shown["kind"], shown["app"], shown["name"], shown["url"]) == \
        ("pull", "live", "a", url)
    assert (shown["state"], shown["reason"], shown["origin"]) == \
        ("running", "", "api")
    assert shown["attempts"] == 1 and shown["failures"] == 0
    assert shown["failed"] is None and shown["last_failure"] == ""
    with player(w.rtmp, "live", "a") as p:
        read_two_keys(p)
    wait_for(lambda: relays(w)[0]["frames"] > 25, 3, "counted frames")
    wait_for(lambda: relays(w)[0]["bytes"] > 25000, 3, "counted bytes")
    assert task(w, url=url) == OK
    assert task(w, url=url, wait=1) == OK
    assert relays(w)[0]["attempts"] == 1
    status, words = task(w, url=url + "y")
    assert (status, "another url" in words) == (409, True)
    assert task(w, oper="stop", url=url) == OK
    wait_for(lambda: relays(w) == [], 3, "the relay's end")
    w.wait_log("relay pull live/a: ended")
    status, words = task(w, oper="stop", url=url)
    assert (status, words) == (404, "there is no pull of live/a")
    f.stop()


def test_a_stream_does_not_feed_itself_through_a_remote(weir, control):
    there = weir()
    w = control()
    url = there.rtmp_url("mirror")
    assert task(w, "push", url=url) == OK
    status, words = task(w, "pull", url=url)
    assert (status, "feed itself" in words) == (409, True)
    assert task(w, "push", url=url) == OK
    assert task(w, "pull", url=there.rtmp_url("other")) == OK
    assert task(w, "push", oper="stop", url=url) == OK


def test_push_by_the_api(weir, control):
    there = weir()
    w = control()
    assert task(w, "push", url=there.rtmp_url("key")) == OK
    assert task(w, "push", url=there.rtmp_url("key"), wait=1) == \
        (502, "waiting for the local stream")
    f = Feed(w.rtmp, "a").head().frames(5)
    assert task(w, "push", url=there.rtmp_url("key"), wait=60) == OK
    shown, = relays(w)
    assert shown["url"][:-8] == f"rtmp://127.0.0.1:{there.rtmp}/live/***#"
    with player(there.rtmp, "live", "key") as p:
        f.frames(30)
        read_until(p, "video 34")
    assert task(w, "push", oper="stop", url="rtmp://x/y/z") == \
        (404, "there is no push of live/a with that url")
    assert task(w, "push", oper="stop", url=there.rtmp_url("key")) == OK
    there.wait_log("stream live/key: publisher left")
    f.stop()


def test_a_stream_is_pushed_to_several_places(weir, control):
    here, there = weir(), weir()
    urls = [here.rtmp_url("s3cret"), here.rtmp_url("two"),
            there.rtmp_url("one")]
    w = control(workers=2)
    f = Feed(w.rtmp, "a").head().run(4)
    for url in urls * 2:
        assert task(w, "push", url=url, wait=60) == OK
    assert [t["state"] for t in relays(w)] == ["running"] * 3

    def plays(server, name):
        with player(server.rtmp, "live", name) as p:
            read_until(p, f"key {f.next // 25 * 25 + 25}")
    plays(here, "s3cret")
    plays(here, "two")
    plays(there, "one")
    status, words = task(w, "push", oper="stop")
    shown = [t["url"] for t in relays(w)]
    assert len(set(shown)) == 3, "two look alike"
    assert [u[:-8] for u in shown] == [u[:u.rindex("/") + 1] + "***#"
                                       for u in urls]
    for u in shown:
        w.wait_log(rf"relay push live/a: running \(to {re.escape(u)}\)")
    assert "s3cret" not in w.log()
    assert (status, words) == (
        400, "live/a has several pushes, say by url which: " +
        " ".join(shown))
    status, words = task(w, "push", oper="stop", url=urls[1] + "x")
    assert (status, words) == (404,
                               "there is no push of live/a with that url")
    assert len(relays(w)) == 3
    for url in urls[:2]:
        assert task(w, "push", oper="stop", url=url) == OK
    here.wait_log("publisher left", count=2)
    plays(there, "one")
    assert len(re.findall("live/one: published", there.log())) == 1
    assert task(w, "push", oper="stop") == OK
    wait_for(lambda: relays(w) == [], 3, "the relays' end")
    assert task(w, "push", oper="stop") == (404, "there is no push of live/a")
    assert "s3cret" not in w.log() + w.access_log()
    f.stop()


def test_many_pushes_are_listed_as_far_as_there_is_room(control):
    w = control(top=EGRESS + "relays = { max = 100; };")
    url = "rtmp://127.0.0.1:1/" + "a" * 80 + "/%d"
    for n in range(40):
        assert task(w, "push", url=url % n) == OK
    status, words = task(w, "push", oper="stop")
    assert (status, len(words) < 1000) == (400, True)
    listed = words.count("rtmp://")
    assert listed > 5 and words.endswith(f" and {40 - listed} more")


def test_rows_of_before_pushes_had_their_urls(control, store_backend):
    """A database of an earlier weir: its relays go on."""
    w = control()
    url = "rtmp://127.0.0.1:1/live/x"
    assert task(w, "push", url=url) == OK
    assert task(w, url=url + "y") == OK
    ids = store_backend.query(w, "select id from relay_tasks order by id")
    w.stop()
    columns = "id, kind, app, name, url, created, target"
    for sql in {
            "sqlite": [
                "alter table relay_tasks rename to moved",
                "create table relay_tasks (id integer not null primary key "
                "autoincrement, kind text not null, app text not null, "
                "name text not null, url text not null, created bigint not "
                "null, target text, unique (kind, app, name))",
                f"insert into relay_tasks ({columns}) select {columns} "
                "from moved",
                "drop table moved"],
            "postgres": [
                "drop index relay_tasks_place",
                "alter table relay_tasks drop column place",
                "alter table relay_tasks add constraint "
                "relay_tasks_kind_app_name_key unique (kind, app, name)"],
    }[store_backend.name] + ["delete from store_migration where "
                             "name = 'relay' and number = 6"]:
        store_backend.query(w, sql)
    w.start()
    w.wait_log("migration 6 of schema relay is made")
    assert store_backend.query(
        w, "select id from relay_tasks order by id") == ids
    assert task(w, "push", url=url) == OK
    assert task(w, "push", url=url + "z") == OK
    assert task(w, url=url)[0] == 409
    assert task(w, "push", oper="stop", url=url) == OK
    assert task(w, oper="stop") == OK
    assert task(w, "push", oper="stop") == OK
    wait_for(lambda: relays(w) == [], 10, "an empty list")


WRONG = [
    ({"oper": None}, 400, "parameter oper is missing"),
    ({"oper": ""}, 400, "parameter oper is empty"),
    ({"oper": "begin"}, 400, 'parameter oper must be "start" or "stop"'),
    ({"app": None}, 400, "parameter app is missing"),
    ({"app": "a/b"}, 400, "parameter app must not contain '/' or '?'"),
    ({"app": "nothing"}, 404, 'there is no application "nothing"'),
    ({"name": None}, 400, "parameter name is missing"),
    ({"name": "a/../b"}, 400, "parameter name"),
    ({"url": None}, 400, "parameter url is missing"),
    ({"url": "http://h/a/b"}, 400,
     "parameter url must begin with rtmp:// or rtmps://"),
    ({"url": "rtmp://"}, 400, ""),
    ({"url": "rtmp://h:99999/a/b"}, 400, ""),
    ({"url": "rtmp://h"}, 400, ""),
    ({"url": "rtmp://10.0.0.1/a/b"}, 403, "egress: 10.0.0.1 is refused"),
    ({"url": "rtmp://[::ffff:10.0.0.1]/a/b"}, 403, "egress"),
    ({"wait": "x"}, 400, "parameter wait must be a whole number"),
    ({"wait": "9999"}, 400, "parameter wait must be a whole number"),
]


def test_wrong_parameters(control):
    w = control()
    for kind in ("pull", "push"):
        for change, status, words in WRONG:
            given = {"oper": "start", "app": "live", "name": "a",
                     "url": "rtmp://127.0.0.1:1/a/b"}
            given.update(change)
            given = {k: v for k, v in given.items() if v is not None}
            answer = ask(w, kind, **given)
            assert answer[0] == status, (change, answer)
            assert words in answer[1]
    assert relays(w) == []


def test_methods_and_other_sites(control):
    one = control()
    target = "/control/pull?" + urlencode(
        {"oper": "start", "app": "live", "name": "a", "url": "rtmp://h/a/b"})
    for method in ("POST", "PUT", "DELETE"):
        answer = request(one.http, method, target)
        assert answer.status == 405, method
        assert answer.header("Allow") == "GET, HEAD, OPTIONS"
    for path in (target, "/control/relays"):
        answer = get(one.http, path, "Origin: http://evil.example")
        assert answer.status == 403
    assert relays(one) == []


def test_heads_that_are_refused(control):
    """In the form of all other errors here."""
    w = control()
    for target, headers, status in (
            ("/control/get?room=" + "a" * 20000, (), 414),
            ("/control/" + "a/" * 10000, (), 414),
            ("/control/relays", ("X: " + "a" * 20000,), 431),
            ("/control/relays", ("Host: other",), 400),
            ("/control/relays", ("Expect: miracles",), 417)):
        answer = get(w.http, target, *headers)
        assert answer.status == status
        assert set(answer.json()) == {"status", "data"}
        assert answer.json()["status"] == status
        assert answer.header("Cache-Control") == "no-store"
    answer = get(w.http, "/" + "a" * 20000)
    assert (answer.status, answer.json()["status"]) == (414, 414)
    assert "detail" in answer.json()


def test_head_only_looks(control):
    w = control()
    url = "rtmp://127.0.0.1:1/a/b"

    def head(kind, **more):
        given = {"oper": "start", "app": "live", "name": "a", "url": url}
        given.update(more)
        answer = request(w.http, "HEAD",
                         f"/control/{kind}?{urlencode(given)}")
        assert answer.header("Cache-Control") == "no-store"
        assert answer.body == b""
        return answer.status
    assert [head(kind) for kind in ("pull", "push")] == [404, 404]
    assert relays(w) == []
    assert task(w, url=url) == OK
    wait_for(lambda: head("pull") == 200, 10, "the relay")
    assert head("pull", oper="stop") == 200
    assert head("push") == head("pull", name="b") == 404
    assert head("pull", url=url + "y") == 200
    there = "rtmp://127.0.0.1:1/a/c"
    assert task(w, "push", url=there) == OK
    wait_for(lambda: head("push", url=there) == 200, 10, "the push")
    assert head("push") == 404
    assert head("pull", oper="") == head("pull", url="x") == 400
    assert len(relays(w)) == 2


def test_wait_tells_why_not(control):
    w = control()
    begin = time.monotonic()
    status, words = task(w, url="rtmp://127.0.0.1:1/live/x", wait=3)
    assert (status, "Connection refused" in words) == (502, True)
    assert time.monotonic() - begin > 2.9
    status, words = task(w, name="b", url="rtmp://localhost.:1/live/x", wait=3)
    assert status in (403, 502)
    shown = {t["name"]: t for t in relays(w)}
    assert shown["a"]["failures"] >= 1 and shown["a"]["failed"]


def test_the_last_failure_is_kept(weir, control):
    """When it runs again, too."""
    port = free_port()
    w = control()
    url = f"rtmp://us:pa55word@127.0.0.1:{port}/live/x"
    assert task(w, url=url) == OK
    shown, = wait_for(lambda: [t for t in relays(w) if t["failures"]], 5)
    assert shown["last_failure"] == shown["reason"]
    there = weir(rtmp_listen=f'"127.0.0.1:{port}"')
    f = Feed(there.rtmp, "x").head().run()
    assert task(w, url=url, wait=60) == OK
    shown, = relays(w)
    assert (shown["state"], shown["reason"]) == ("running", "")
    assert "Connection refused" in shown["last_failure"] and shown["failed"]
    words = ctl(w, "show", "relays").stdout
    assert "Connection refused" in words
    assert "pa55word" not in str(shown) + words
    f.stop()


def test_no_more_than_max(control):
    w = control(top=EGRESS + "relays = { max = 2; };")
    for name in ("a", "b"):
        assert task(w, name=name, url="rtmp://127.0.0.1:1/l/x") == OK
    status, words = task(w, name="c", url="rtmp://127.0.0.1:1/l/x")
    assert (status, "relays.max allows (2)" in words) == (507, True)
    assert task(w, name="a", url="rtmp://127.0.0.1:1/l/x") == OK
    assert task(w, name="a", oper="stop", url="rtmp://127.0.0.1:1/l/x") == OK
    assert task(w, name="c", url="rtmp://127.0.0.1:1/l/x") == OK
    status, words = task(w, "push", url="rtmp://127.0.0.1:1/l/y")
    assert (status, "relays.max allows (2)" in words) == (507, True)


def test_no_more_pushes_of_a_stream_than_max(control):
    w = control(top=EGRESS + "relays = { max = 2; };")
    url = "rtmp://127.0.0.1:1/l/%d"
    for n in (1, 2, 1):
        assert task(w, "push", url=url % n) == OK
    status, words = task(w, "push", url=url % 3)
    assert (status, "relays.max allows (2)" in words) == (507, True)
    assert task(w, "push", oper="stop", url=url % 1) == OK
    assert task(w, "push", url=url % 3) == OK


def test_relays_of_the_file_are_not_the_apis(weir, control):
    there = weir()
    url = there.rtmp_url("x")
    w = control(app=f'pull = ( {{ name = "a"; url = "{url}"; }} );')
    shown, = wait_for(lambda: relays(w), 3)
    assert shown["origin"] == "config"
    assert task(w, url=url) == OK
    assert task(w, url=url + "y")[0] == 409
    assert task(w, oper="stop", url=url)[0] == 409
    assert len(relays(w)) == 1


def test_a_relay_to_itself(control):
    port = free_port()
    w = control(rtmp_listen=f'"127.0.0.1:{port}"')
    status, words = task(w, url=f"rtmp://localhost:{port}/live/a")
    assert (status, "to itself" in words) == (400, True)
    url = f"rtmp://localhost:{port}/live/b"
    assert task(w, url=url) == OK
    assert task(w, url=url, oper="stop") == OK


def itself(w, count):
    """The relays, when so many were told that they are to themselves."""
    def told():
        found = [t for t in relays(w)
                 if "a relay of a stream to itself" in t["reason"]]
        return len(found) == count and found
    return wait_for(told, 20, "refusals")


def hosts():
    """Names of this host that no configuration file has."""
    try:
        socket.getaddrinfo(socket.gethostname(), 1, socket.AF_INET)
        return ["127.0.0.2", socket.gethostname()]
    except OSError:  # nobody knows it
        return ["127.0.0.2"]


def test_a_relay_to_itself_by_other_names(control):
    w = control(rtmp_listen='"0.0.0.0:0"',
                top='egress = [ "allow loopback", "allow all" ];')
    feeds = []
    for n, host in enumerate(hosts()):
        url = f"rtmp://{host}:{w.rtmp}/live"
        feeds.append(Feed(w.rtmp, f"out{n}").head().frames(2))
        assert task(w, "push", name=f"out{n}", url=url) == OK
        assert task(w, "pull", name=f"in{n}", url=f"{url}/in{n}") == OK
    assert len(itself(w, 2 * len(feeds))) == len(relays(w))
    for f in feeds:
        f.frames(2)
        f.stop()


def test_a_push_to_the_key_of_its_room(control):
    w = control(apps=KEYED % "")
    key = key_of(w, "movie")
    with publisher(w.rtmp, "keyed", key) as c:
        f = Feed(w.rtmp, client=c).head().frames(2)
        url = w.rtmp_url(key, "keyed")
        assert task(w, "push", app="keyed", name="movie", url=url) == OK
        shown, = itself(w, 1)
        assert shown["url"][:-8].endswith("/keyed/***#")
        assert shown["frames"] == 0
        f.frames(2)
    assert key[:8] not in w.log() + w.access_log()


def test_without_the_keeper(weir):
    """No relay is started or stopped that is not on the disk."""
    w = weir(locations=CONTROL, store='timeout = "500ms";',
             top=EGRESS + 'watchdog = "0";')
    url = "rtmp://127.0.0.1:1/a/b"
    assert task(w, name="old", url=url) == OK
    pid = keeper(w)
    os.kill(pid, signal.SIGSTOP)
    try:
        for kind in ("pull", "push"):
            for oper in ("start", "stop"):
                answer = get(w.http, f"/control/{kind}?" + urlencode(
                    {"oper": oper, "app": "live", "name": "a", "url": url}))
                error(answer, 503)
                assert int(answer.header("retry-after")) >= 1
        wait_for(lambda: [t["name"] for t in relays(w)] == ["old"], 10)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: task(w, url=url) == OK, 10, "the keeper")


# ---- what outlives what ----

def test_tasks_outlive_weir(weir, control):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = control()
    assert task(w, url=there.rtmp_url("x"), wait=60) == OK
    assert task(w, "push", name="b", url=there.rtmp_url("y")) == OK
    assert task(w, name="gone", url=there.rtmp_url("y")) == OK
    assert task(w, name="gone", oper="stop", url=there.rtmp_url("y")) == OK
    family = descendants(w.pid)
    w.stop(signal.SIGKILL)
    wait_for(lambda: not any(stat_of(pid) for pid in family), what="the end")
    w.status = None
    w.start()
    wait_for(lambda: {(t["kind"], t["name"], t["state"]) for t in relays(w)} ==
             {("pull", "a", "running"),
              ("push", "b", "waiting for the local stream")}, 5, "the tasks")
    f.stop()


def test_tasks_outlive_the_relayer(weir, control):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = control()
    assert task(w, url=there.rtmp_url("x"), wait=60) == OK
    os.kill(relayer(w), signal.SIGKILL)
    w.wait_log("relay pull live/a: running", count=2)
    check_at_once(w, "pull live/a")
    shown, = relays(w)
    assert (shown["attempts"], shown["failures"]) == (1, 0)
    f.stop()


def test_reload_does_not_interrupt(weir, control):
    there = weir()
    f = Feed(there.rtmp, "x").head().run(4)
    w = control()
    assert task(w, url=there.rtmp_url("x"), wait=60) == OK
    w.reload()
    w.reload()
    assert task(w, url=there.rtmp_url("x"), wait=60) == OK
    assert relays(w)[0]["attempts"] == 1
    f.stop()


# ---- weirctl ----

def test_weirctl(weir, control):
    there = weir()
    w = control()
    url = there.rtmp_url("secret-key")

    def relay(*words):
        r = ctl(w, "relay", *words)
        return r.returncode, r.stdout + r.stderr

    assert relay("start", "push", "live", "a", url)[0] == 0
    wait_for(lambda: relays(w), 3, "the relay")
    shown = ctl(w, "show", "relays").stdout
    assert re.search(r"push +live/a +waiting_for_the_local_stream +api", shown)
    assert "secret-key" not in shown
    assert relay("start", "push", "live", "a", url + "y")[0] == 0
    film = there.rtmp_url("film")
    assert relay("start", "pull", "live", "b", film)[0] == 0
    code, words = relay("start", "pull", "live", "b", film + "y")
    assert (code != 0, "another URL" in words) == (True, True)
    code, words = relay("stop", "push", "live", "a")
    assert (code != 0, words.count("/live/***")) == (True, 2), words
    code, words = relay("stop", "push", "live", "a", url + "z")
    assert (code != 0, "no push of live/a with that url" in words) == \
        (True, True)
    assert relay("stop", "push", "live", "a", url + "y")[0] == 0
    assert relay("stop", "pull", "live", "b")[0] == 0
    code, words = relay("start", "push", "none", "a", url)
    assert (code != 0, "no application" in words) == (True, True)
    code, words = relay("start", "push", "live", "a", "rtmp://10.0.0.1/a/b")
    assert (code != 0, "egress" in words) == (True, True)
    assert relay("stop", "push", "live", "a")[0] == 0
    w.wait_log(r"relay start push live a \*\*\*")
    assert "secret-key" not in w.log()
    code, words = relay("stop", "push", "live", "a")
    assert (code != 0, "there is no push of live/a" in words) == (True, True)
    wait_for(lambda: relays(w) == [], 3, "an empty list")


# ---- remotes that are of no use ----

class Useless(threading.Thread):
    """Takes connections and says nothing, or closes them when they have been
    greeted."""

    def __init__(self, greets):
        super().__init__(daemon=True)
        self.s = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"rtmp://127.0.0.1:{self.s.getsockname()[1]}/live/x"
        self.greets = greets
        self.kept = []
        self.start()

    def run(self):
        while True:
            try:
                c = self.s.accept()[0]
            except OSError:
                return
            if self.greets:
                c.sendall(b"\x03" + bytes(1536) + bytes(1536))
                c.close()
            else:
                self.kept.append(c)

    def close(self):
        self.s.shutdown(socket.SHUT_RDWR)
        self.s.close()
        for c in self.kept:
            c.close()


def start_and_stop(w, count):
    """So many times; nothing may be left.  Seconds that an answer takes: the
    one in the middle."""
    useless = [Useless(False), Useless(True)]
    urls = ["rtmp://127.0.0.1:1/live/x"] + [u.url for u in useless]
    pid = relayer(w)
    before = len(descriptors(pid))
    took = []
    for i in range(count):
        with Http(w.http) as c:
            for oper in ("start", "stop"):
                begin = time.monotonic()
                c.send("GET", "/control/pull?" + urlencode(
                    {"oper": oper, "app": "live", "name": f"n{i % 7}",
                     "url": urls[i % len(urls)]}))
                answer = c.answer()
                assert answer.status == 200, answer.body
                took.append(time.monotonic() - begin)
    wait_for(lambda: relays(w) == [], 5, "an empty list")
    wait_for(lambda: len(descriptors(pid)) <= before, 5, "closed descriptors")
    assert relayer(w) == pid
    for u in useless:
        u.close()
    return sorted(took)[len(took) // 2]


def test_remotes_of_no_use(control):
    assert start_and_stop(control(), 60) < 3


@pytest.mark.soak
def test_remotes_of_no_use_for_long(control):
    w = control()
    start_and_stop(w, 200)
    before = resident(relayer(w))
    assert start_and_stop(w, 1800) < 3
    assert resident(relayer(w)) < before + (4 << 20)


def test_a_connection_goes_on_after_an_answer_that_was_waited_for(weir,
                                                                 control):
    there, w = weir(), control()
    f = Feed(w.rtmp, name="a").head().frames(3)
    query = urlencode({"oper": "start", "app": "live", "name": "a",
                       "url": there.rtmp_url("key"), "wait": 60})
    with Http(w.http) as c:
        c.send("GET", "/control/push?" + query)
        assert c.answer().status == 200
        c.send("GET", "/control/relays")
        assert len(c.answer().json()["data"]) == 1
    f.stop()
