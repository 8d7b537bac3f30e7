"""Stream keys: GET /control/get, /reset, /delete, and publishers by key."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import socket

import pytest

import media
from feed import Feed, read_until
from http_client import Http, get, request
from keys_help import (KEYED, LOCATION, ask, at_once, deleted, error, keeper,
                       key_of, refused, room_url, start_keyed)
from patience import busy
from rtmp_client import Refused, Rtmp, player, publisher
from weir import descendants, stat_of, title, wait_for

@pytest.fixture
def keyed(store_backend, weir):
    """A weir with /control and an application that wants keys, on both
    databases."""
    return lambda *a, **k: start_keyed(weir, *a, **k)


@pytest.fixture
def sqlite_keyed(weir):
    return lambda *a, **k: start_keyed(weir, *a, **k)


def everywhere(w, f, rounds=40):
    """f(socket) for a new connection of its own to each worker."""
    seen = set()
    for _ in range(rounds):
        with Http(w.http) as c:
            seen.add(f(c))
        if len(seen) == len(w.workers()):
            return
    raise AssertionError("some worker was never asked")


# ---- keys over HTTP ----

def test_get_makes_a_key_once(keyed):
    w = keyed()
    first = key_of(w, "movie")
    assert key_of(w, "movie") == first
    assert key_of(w, "other") != first

    def same(c):
        c.send("GET", room_url("get", "movie"))
        assert c.answer().body.decode() == first
        return w.worker_of(c.sock)
    everywhere(w, same)


def test_reset_gives_another(keyed):
    w = keyed()
    first = key_of(w, "movie")
    second = key_of(w, "movie", "reset")
    assert second != first
    assert key_of(w, "movie") == second
    made = key_of(w, "new", "reset")  # a room that had none
    assert key_of(w, "new") == made


def test_delete(keyed):
    w = keyed()
    assert error(ask(w, "delete", "movie"), 404) == "room not found"
    first = key_of(w, "movie")
    deleted(w, "movie")
    assert ask(w, "delete", "movie").body == \
        b'{"status":404,"data":"room not found"}'
    assert key_of(w, "movie") != first


def test_rooms_and_keys_are_different_names(keyed):
    w = keyed()
    key = key_of(w, "movie")
    error(ask(w, "delete", key), 404)
    assert key_of(w, key) not in (key, "movie")
    assert key_of(w, "movie") == key


GOOD = ["a", "x" * 200, "caf\u00e9", "a b", "a+b", "100%", "..a", "a&b=c",
        "'\"", "<script>", "\u6620\u753b", "a.b", "_definst_x", "#"]


def test_what_can_be_a_room(keyed):
    w = keyed()
    keys = {room: key_of(w, room) for room in GOOD}
    assert len(set(keys.values())) == len(GOOD)
    for room, key in keys.items():
        with publisher(w.rtmp, "keyed", key), \
                player(w.rtmp, "keyed", room):
            assert key_of(w, room) == key
    # '+' is a space, as in any query.
    assert get(w.http, "/control/get?room=a+b").body.decode() == keys["a b"]


BAD = [  # (query, what is said of room)
    ("", "is missing"), ("room", "is empty"), ("room=", "is empty"),
    ("Room=a", "is missing"), ("rooms=a", "is missing"),
    ("room=a&room=b", "more than once"), ("room=a&room=a", "more than once"),
    ("room=a&r%6fom=b", "more than once"),
    ("room=" + "x" * 201, "longer than 200 bytes"),
    ("room=" + "%C3%A9" * 101, "longer than 200 bytes"),
    ("room=a/b", "must not contain '/' or '?'"),
    ("room=a%2Fb", "must not contain '/' or '?'"),
    ("room=/", "'/'"), ("room=a%3Fb", "'?'"),
    ("room=.", '"."'), ("room=..", '".."'), ("room=%2E%2E", '".."'),
    ("room=_definst_", "_definst_"),
    ("room=a%00b", "UTF-8 without control"), ("room=%0A", "control"),
    ("room=a%7F", "control"), ("room=%FF", "UTF-8"), ("room=%C0%AF", "UTF-8"),
    ("room=%ED%A0%80", "UTF-8"),
    ("room=%zz", "ill-formed"), ("room=a%4", "ill-formed"),
]


def test_what_cannot_be_a_room(store_backend, keyed):
    w = keyed()
    for verb in ("get", "reset", "delete"):
        for query, said in BAD:
            words = error(get(w.http, f"/control/{verb}?{query}"), 400)
            assert "room" in words and said in words, (query, words)
    assert store_backend.query(w, "select count(*) from relay_keys") == [(0,)]


def test_methods(keyed):
    w = keyed()
    for verb in ("get", "reset", "delete"):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            a = request(w.http, method, room_url(verb, "movie"))
            error(a, 405)
            assert a.header("allow") == "GET, HEAD, OPTIONS"
        # HEAD only looks.
        assert request(w.http, "HEAD", room_url(verb, "movie")).status == 404
        assert request(w.http, "HEAD", f"/control/{verb}?room=").status == 400
    key = key_of(w, "movie")
    for verb in ("get", "reset", "delete"):
        a = request(w.http, "HEAD", room_url(verb, "movie"))
        assert a.status == 200 and a.header("cache-control") == "no-store"
    assert key_of(w, "movie") == key


def test_all_answers_have_one_form(keyed):
    """Those of paths that nobody has, too, and of OPTIONS."""
    w = keyed()
    for path in ("/control", "/control/", "/control/nothing",
                 "/control/get/", "/control/get/more"):
        assert "nothing" in error(get(w.http, path), 404)
        error(request(w.http, "POST", path), 405)
    a = request(w.http, "HEAD", "/control/nothing")
    assert a.status == 404 and a.header("cache-control") == "no-store"
    for verb in ("get", "reset", "delete", "pull", "push", "relays"):
        a = request(w.http, "OPTIONS", f"/control/{verb}?room=movie")
        assert a.status == 204 and a.body == b""
        assert a.header("allow") == "GET, HEAD, OPTIONS"
        assert a.header("cache-control") == "no-store"
    a = get(w.http, "/controls")  # is none of ours
    assert a.status == 404 and "message" in a.json()


SITES = [  # (headers, whether it is let in); the Host is "test"
    ([], True),
    (["Sec-Fetch-Site: none"], True),
    (["Sec-Fetch-Site: same-origin"], True),
    (["Sec-Fetch-Site: same-origin", "Origin: http://test"], True),
    (["Sec-Fetch-Site: same-site"], False),
    (["Sec-Fetch-Site: cross-site"], False),
    (["Sec-Fetch-Site: cross-site", "Origin: http://evil"], False),
    (["Sec-Fetch-Site: cross-site", "Origin: http://test"], False),
    (["Sec-Fetch-Site: same-origin", "Origin: http://evil"], False),
    (["Sec-Fetch-Site: whatever"], False),
    (["Origin: http://test"], True),
    (["Origin: https://TEST"], True),
    (["Origin: http://test:8090"], False),
    (["Origin: http://test.evil"], False),
    (["Origin: http://eviltest"], False),
    (["Origin: null"], False),
    (["Origin: test"], False),
    (["Origin: "], False),
    (["Referer: http://test/console?x"], True),
    (["Referer: http://evil/test"], False),
    (["Referer: http://evil"], False),
    (["Origin: http://test", "Referer: http://evil/"], True),
]


def test_pages_of_other_sites_are_not_heard(keyed):
    w = keyed()
    key_of(w, "movie")
    for verb in ("get", "reset", "delete"):
        for headers, good in SITES:
            if verb == "delete":
                key_of(w, "movie")
            a = get(w.http, room_url(verb, "movie"), *headers)
            if good:
                assert a.status == 200, headers
            else:
                assert "other sites" in error(a, 403), headers
    before = key_of(w, "movie")
    for verb in ("reset", "delete"):
        error(get(w.http, room_url(verb, "movie"),
                  "Sec-Fetch-Site: cross-site"), 403)
    assert key_of(w, "movie") == before


def test_origins_that_cors_allows_are_heard(keyed):
    w = keyed('cors = { allow_origins = [ "https://a.example" ]; };')
    a = ask_from = get(w.http, room_url("get", "movie"),
                       "Origin: https://a.example",
                       "Sec-Fetch-Site: cross-site")
    assert ask_from.status == 200
    assert a.header("access-control-allow-origin") == "https://a.example"
    error(get(w.http, room_url("get", "movie"), "Origin: https://b.example",
              "Sec-Fetch-Site: cross-site"), 403)


def test_errors_of_filters_have_the_form(keyed):
    w = keyed(locations='{ path = "/closed"; module = "relay"; '
                        'access = "deny all"; },')
    error(get(w.http, "/closed/get?room=a"), 403)


def test_there_is_a_rate_for_other_hosts_unless_one_is_set(keyed):
    w = keyed(workers=1, http='trusted_proxies = "127.0.0.1";',
              locations='{ path = "/usual"; module = "relay"; },')

    def asked(*headers):
        with Http(w.http) as c:  # at once: time brings more to spend
            for _ in range(200):
                c.send("GET", "/usual/get?room=movie", *headers)
            for _ in range(200):
                yield c.answer()

    assert {a.status for a in asked()} == {200}
    late = [a for a in asked("X-Forwarded-For: 192.0.2.1") if a.status != 200]
    assert 20 <= len(late) <= 150
    for a in late:
        error(a, 429)
        assert int(a.header("retry-after")) >= 1


def test_max_rooms(keyed):
    w = keyed("max_rooms = 5;")
    keys = {n: key_of(w, f"room{n}") for n in range(5)}
    for verb in ("get", "reset"):
        assert "max_rooms" in error(ask(w, verb, "one-more"), 507)
    assert {n: key_of(w, f"room{n}") for n in range(5)} == keys
    assert key_of(w, "room0", "reset") != keys[0]  # no room more
    deleted(w, "room1")
    error(ask(w, "delete", "room1"), 404)
    key_of(w, "one-more", "reset")
    error(ask(w, "get", "room1"), 507)
    # Many at once do not get past it.
    deleted(w, "room2")
    rooms = [f"late{n}" for n in range(30)]
    got = at_once([lambda room=room: ask(w, "get", room).status
                   for room in rooms])
    assert sorted(set(got)) == [200, 507] and got.count(200) == 1


def test_first_gets_of_a_room_at_once_give_one_key(keyed):
    w = keyed(workers=4)
    for n in range(5):
        keys = at_once([lambda: key_of(w, f"room{n}")] * 40)
        assert len(set(keys)) == 1
        assert key_of(w, f"room{n}") == keys[0]


def test_a_client_that_goes_is_no_matter(keyed):
    w = keyed(workers=1)
    for n in range(30):
        with Http(w.http) as c:
            c.send("GET", room_url(("get", "reset", "delete")[n % 3], "movie"))
            if n % 2:
                c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\1\0\0\0\0\0\0\0")
    key_of(w, "movie")


# ---- publishing ----

def test_ffmpeg_publishes_by_key(keyed, tool, sample, tmp_path):
    w = keyed()
    out = tmp_path / "out.flv"
    key = key_of(w, "movie")
    with player(w.rtmp, "keyed", "movie") as p:
        tool(media.ffmpeg_publish(sample, w.rtmp_url(key, "keyed"),
                                  for_ever=True))
        p.read(9)  # video
    tool(media.ffmpeg_record(w.flv_url("movie", "keyed"), out, "-t", "1")
         ).wait()
    assert media.packets(out)


def test_what_is_refused(keyed):
    w = keyed()
    key = key_of(w, "movie")
    for name in ("movie", "x", key[:-1], key + "x", key + "/x", "x/" + key,
                 "movie/" + key):
        assert "not one" in refused(w, name)
    assert "no room" in refused(w, "x" * 48)
    assert "no room" in refused(w, key[::-1])
    swapped = key.swapcase()
    assert swapped == key or "no room" in refused(w, swapped)
    # Behind the application, with the name elsewhere.
    assert "not one" in refused(w, "movie", f"keyed/{key}")


def test_keys_in_the_forms_that_encoders_use(keyed):
    w = keyed(app='publish_conflict = "refuse";')
    key = key_of(w, "movie")
    forms = [("keyed", key), ("keyed", key + "?token=x&a=b"),
             ("keyed/", "/" + key), (f"keyed/{key}", ""),
             ("keyed?x=y", key)]
    with player(w.rtmp, "keyed", "movie") as p:
        for n, (app, name) in enumerate(forms):
            def publish():
                with Rtmp(w.rtmp) as c:
                    c.connect(app)
                    c.set_chunk_size(4096)
                    c.msid = c.publish(name)
                    Feed(w.rtmp, client=c, first=25 * n).head().frames(1)
                    read_until(p, f"key {25 * n}")
                    c.command("deleteStream", None, c.msid)
                    c.answer(c.command("_checkbw", None))
            publish()


def test_open_applications_look_nothing_up(keyed):
    w = keyed()
    key = key_of(w, "movie")
    for name in ("movie", key):  # a key is a name like any other there
        with publisher(w.rtmp, "live", name):
            player(w.rtmp, "live", name).close()


def test_names_that_are_too_long_together(keyed):
    app = "a" * 80
    w = keyed(apps=', { name = "%s"; publish = "key"; }' % app)
    key = key_of(w, "r" * 200)
    assert "too long" in refused(w, key, app)
    publisher(w.rtmp, "keyed", key).close()


def test_without_a_location_keys_are_looked_up_too(store_backend, weir):
    w = weir(apps=KEYED % "")
    assert "not one" in refused(w, "movie")
    assert "no room" in refused(w, "x" * 48)


def live_on(w, key):
    """A publisher for each worker, at most one of a room."""
    return publisher(w.rtmp, "keyed", key)


@pytest.mark.parametrize("verb", ["reset", "delete"])
def test_the_old_key_is_no_good_at_once(keyed, verb):
    w = keyed(workers=4)
    busy = {}
    for n in range(60):
        room = f"room{n}"
        c = live_on(w, key_of(w, room))
        at = w.worker_of(c.sock)
        if at in busy:
            c.close()
        else:
            busy[at] = (room, c)
        if len(busy) == 4:
            break
    assert len(busy) == 4
    for room, c in busy.values():
        old = key_of(w, room)
        if verb == "reset":
            new = key_of(w, room, "reset")
        else:
            deleted(w, room)
            new = key_of(w, room)
        seen = set()
        for _ in range(60):  # every worker refuses it
            with Rtmp(w.rtmp) as late:
                late.connect("keyed")
                with pytest.raises(Refused) as e:
                    late.publish(old)
                assert "no room" in e.value.text
        del seen
        with pytest.raises(Refused) as e:
            c.status()
        assert e.value.code == "NetStream.Publish.BadName"
        assert "reset or deleted" in e.value.text
        c.wait_closed()
        c.close()
        live_on(w, new).close()
    w.wait_log("its key was reset or deleted")


def test_others_stay(keyed):
    """A reset closes the room's publisher and nobody else."""
    w = keyed()
    keys = {room: key_of(w, room) for room in ("a", "b")}
    with live_on(w, keys["a"]) as a, live_on(w, keys["b"]) as b:
        key_of(w, "a", "reset")
        with pytest.raises(Refused):
            a.status()
        b.answer(b.command("_checkbw", None))
        f = Feed(w.rtmp, client=b).head().frames(2)
        with player(w.rtmp, "keyed", "b") as p:
            read_until(p, "video 1")
        del f


def test_keep_lets_the_publisher_stay(keyed):
    w = keyed(app='on_key_change = "keep";', workers=1)
    old = key_of(w, "movie")
    with live_on(w, old) as c:
        key_of(w, "movie", "reset")
        assert "no room" in refused(w, old)
        Feed(w.rtmp, client=c).head().frames(2)
        with player(w.rtmp, "keyed", "movie") as p:
            read_until(p, "video 1")


def test_publishers_of_old_generations_are_closed_too(keyed):
    w = keyed(workers=1)
    with live_on(w, key_of(w, "movie")) as c:
        old = w.worker_of(c.sock)
        w.reload()
        wait_for(lambda: old in w.old_workers(), 10, "it drains")
        key_of(w, "movie", "reset")
        with pytest.raises(Refused):
            c.status()


# ---- the store ----

def test_a_key_that_was_answered_is_there_after_kill_9(keyed):
    w = keyed()
    keys = {}
    for n in range(8):
        keys[f"room{n}"] = key_of(w, f"room{n}", ("get", "reset")[n % 2])
    family = [w.pid, *descendants(w.pid)]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    w.process.wait()
    wait_for(lambda: not any(stat_of(pid) for pid in family), 5, "all gone")
    w.start()
    for room, key in keys.items():
        assert key_of(w, room) == key


def test_keys_over_reloads_and_restarts(keyed):
    w = keyed()
    key = key_of(w, "movie")
    w.reload()
    assert key_of(w, "movie") == key
    assert w.stop() == 0
    w.start()
    assert key_of(w, "movie") == key
    publisher(w.rtmp, "keyed", key).close()


def keepers(w):
    return [p for p in descendants(w.pid) if title(p) == "weir: keeper"]


def with_keys(w):
    """Until an old worker has answered its last connection."""
    w.set_config(workers=2, apps=KEYED % "", locations=LOCATION % "")
    w.reload()
    wait_for(lambda: ask(w, "get", "movie").status == 200, 5, "an answer")


def test_reloads_that_want_keys_and_do_not(store_backend, weir):
    """Who is live in an old generation hears of its key all the same."""
    w = weir(workers=2)
    assert keepers(w) == []
    with_keys(w)
    key = key_of(w, "movie")
    with publisher(w.rtmp, "keyed", key) as live:
        w.set_config(workers=2)
        w.reload()
        wait_for(lambda: keepers(w) == [], 10, "no keeper")
        with_keys(w)
        wait_for(lambda: len(keepers(w)) == 1, 5, "one keeper")
        assert key_of(w, "movie") == key
        key_of(w, "movie", "reset")
        with pytest.raises(Refused) as e:
            live.status()
        assert "reset or deleted" in e.value.text
        live.wait_closed()


def test_a_reload_that_wants_a_keeper_that_cannot_start(weir):
    w = weir(workers=2)
    path = f"{w.prefix}/run/weir.db"
    os.makedirs(f"{w.prefix}/run", exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"this is no database, whatever it is called " * 100)
    w.set_config(workers=2, apps=KEYED % "", locations=LOCATION % "")
    w.reload(good=False)
    wait_for(lambda: keepers(w) == [], 10, "no keeper")
    assert len(w.workers()) == 2
    for end in ("", "-wal", "-shm"):
        os.unlink(path + end)
    with_keys(w)


class Broken:
    """The database as a disk might leave it, until the end of the block."""

    def __init__(self, w):
        self.keeper = keeper(w)
        self.files = {}
        for end in ("", "-wal", "-shm"):
            path = f"{w.prefix}/run/weir.db{end}"
            with open(path, "rb") as f:
                self.files[path] = f.read()

    def write(self, change):
        for path, content in self.files.items():
            with open(path, "r+b") as f:
                f.write(change(content))

    def __enter__(self):
        os.kill(self.keeper, signal.SIGSTOP)
        self.write(lambda content: b"\xa5" * len(content))

    def __exit__(self, *_):
        self.write(lambda content: content)
        os.kill(self.keeper, signal.SIGKILL)


def test_grace_while_the_store_cannot_be_read(sqlite_keyed):
    w = sqlite_keyed(workers=1, app='key_grace = "1h";', top='watchdog = "0";',
              apps=', { name = "strict"; publish = "key"; key_grace = "0"; }')
    keys = {room: key_of(w, room) for room in ("seen", "unseen", "reset")}
    publisher(w.rtmp, "keyed", keys["seen"]).close()
    publisher(w.rtmp, "keyed", keys["reset"]).close()
    key_of(w, "reset", "reset")
    refused(w, keys["reset"])
    with Broken(w):
        with publisher(w.rtmp, "keyed", keys["seen"]), \
                player(w.rtmp, "keyed", "seen"):
            assert "cannot be looked up" in refused(w, keys["unseen"])
        for name, app in ((keys["reset"], "keyed"), ("x" * 48, "keyed"),
                          (keys["seen"], "strict")):
            assert "cannot be looked up" in refused(w, name, app)
        assert "not one" in refused(w, "seen")
    w.wait_log("let in because its key was good lately")
    wait_for(lambda: ask(w, "get", "new").status == 200, 10)
    publisher(w.rtmp, "keyed", keys["unseen"]).close()


def test_without_the_keeper(sqlite_keyed):
    """What is on the disk can be read; what must be written is told no."""
    w = sqlite_keyed(store='timeout = "500ms";', top='watchdog = "0";')
    key = key_of(w, "movie")
    pid = keeper(w)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert key_of(w, "movie") == key
        publisher(w.rtmp, "keyed", key).close()
        assert "no room" in refused(w, "x" * 48)
        for verb in ("reset", "delete"):
            a = ask(w, verb, "movie")
            error(a, 503)
            assert int(a.header("retry-after")) >= 1
        error(ask(w, "get", "new"), 503)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: ask(w, "get", "new").status == 200, 10)
