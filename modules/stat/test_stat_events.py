"""/streams, /sessions, /server and /events."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import time

import pytest

from feed import Feed, read_until
from flv_client import FlvPlayer
from http_client import Http, get
from media import ffmpeg_publish
from rtmp_client import Rtmp, player
from stat_client import LOCATION, Changes, Events, only, rows
from weir import wait_for


@pytest.fixture(name="node")
def fixture_node(weir):
    """A weir that has the module."""
    def start(settings="", **parts):
        location = LOCATION.replace('"stat";', f'"stat"; {settings}')
        return weir(**{"locations": location, **parts})
    return start


def server(w):
    a = get(w.http, "/stat/server")
    assert a.status == 200 and a.header("cache-control") == "no-store"
    return a.json()


def metric(w, name):
    text = get(w.http, "/metrics").body.decode()
    return int(re.search(rf"^{name} (\d+)$", text, re.M)[1])


# ---- streams ----

def test_stream(node, sample, tool):
    w = node()
    c = FlvPlayer(w.http, "cam")
    tool(ffmpeg_publish(sample, w.rtmp_url("cam"), 1.0, for_ever=True))
    # Two whole groups of pictures: 2 s of the file.
    s = wait_for(lambda: [s for s in rows(w, "streams")
                          if s["key_frames"] > 2])
    s = only(s)
    assert (s["key"], s["app"], s["name"]) == ("live/cam", "live", "cam")
    assert s["state"] == "live" and s["players"] == 1
    video = dict(s["video"])
    assert video.pop("profile") and video.pop("level") == "1.3"
    assert 24.5 <= video.pop("fps") <= 25.5
    assert video == {"codec": "H.264", "width": 320, "height": 180,
                     "gop_ms": 1000, "gop_frames": 25}
    assert s["audio"] == {"codec": "AAC", "profile": "LC",
                          "sample_rate": 44100, "channels": 1}
    assert s["video_total_bytes"] > 0 < s["audio_total_bytes"]
    assert s["video_speed"] > 0 < s["audio_speed"]
    assert s["frames"] > 50 and s["dropped"] == 0
    assert s["memory_bytes"] % 65536 == 0 < s["memory_bytes"]
    pub = only([x for x in rows(w, "sessions") if x["role"] == "publisher"])
    assert s["publisher"] == {k: pub[k] for k in ("id", "protocol", "address")}
    c.close()


def test_what_is_not_known_is_null(node):
    w = node(hold="20s")
    f = Feed(w.rtmp, video=False).head().frames(2)
    s = only(rows(w, "streams"))
    assert s["video"] is None and s["audio"]["codec"] == "AAC"
    f.stop()
    wait_for(lambda: only(rows(w, "streams"))["state"] == "hold")
    s = only(rows(w, "streams"))
    assert s["publisher"] is None and s["audio_total_bytes"] > 0
    f = Feed(w.rtmp, audio=False).head().frames(1)
    s = only(rows(w, "streams"))
    assert s["state"] == "live" and s["audio"] is None
    assert s["video"]["codec"] == "H.264"
    assert s["video"]["gop_ms"] is s["video"]["gop_frames"] is None
    f.stop()


# ---- sessions, server ----

def test_sessions(node):
    w = node(workers=2)
    r, h = player(w.rtmp, "live", "room?key=s3cret"), FlvPlayer(w.http, "room")
    f = Feed(w.rtmp).head().frames(3)
    read_until(r, "video 2"), h.read_until("video 2")
    found = {(s["role"], s["protocol"]): s for s in rows(w, "sessions")}
    assert set(found) == {("publisher", "rtmp"), ("player", "rtmp"),
                          ("player", "flv")}
    for (role, protocol), sock in ((("publisher", "rtmp"), f.c.sock),
                                   (("player", "rtmp"), r.sock),
                                   (("player", "flv"), h.http.sock)):
        s = found[role, protocol]
        assert list(s) == [
            "id", "role", "protocol", "key", "url", "stream_id", "address",
            "uptime_ms", "video_total_bytes", "video_speed",
            "audio_total_bytes", "audio_speed", "dropped", "process", "pid"]
        assert s["key"] == "live/room" and s["stream_id"] == 1
        assert s["address"] == "127.0.0.1:%d" % sock.getsockname()[1]
        assert s["pid"] == w.worker_of(sock)
        assert re.fullmatch(r"worker \d", s["process"])
        assert re.fullmatch(r"\d+:\d+", s["id"])
        assert 0 <= s["uptime_ms"] < 60000 and s["dropped"] == 0
    assert "s3cret" not in str(found)
    r.close(), h.close(), f.stop()


def test_server(node):
    w = node(workers=2)
    f = Feed(w.rtmp).head().frames(3)
    r = player(w.rtmp, "live", "room")
    read_until(r, "video 2")
    told = server(w)
    assert re.match(r"\d+\.\d+", told["version"])
    assert told["pid"] == w.pid and told["generation"] == 1
    assert told["state"] == "ready" and told["uptime_ms"] > 0
    names = {p["name"]: p for p in told["processes"]}
    assert {p["pid"] for n, p in names.items() if n.startswith("worker")} == \
        set(w.workers())
    assert names["master"]["pid"] == w.pid
    assert told["connections"] >= 3
    assert (told["streams"], told["publishers"], told["players"]) == (1, 1, 1)
    assert told["bytes_in"] > 3000 < told["bytes_out"]
    memory = told["memory"]
    assert 0 < memory["used_bytes"] < memory["arena_bytes"]
    w.reload()
    assert server(w)["generation"] == 2
    r.close(), f.stop()


def test_server_tells_where_it_is_asked(node):
    w = node(apps=', { name = "keyed"; publish = "key"; }',
             rtmp_listen='"127.0.0.1:0", "unix:run/rtmp.sock"')
    told = server(w)
    rtmp, http = only(told["rtmp"]), only(told["http"])
    plain = {"any": False, "tls": False, "proxy_protocol": False}
    assert rtmp["listen"][0] == {"address": f"127.0.0.1:{w.rtmp}", **plain}
    assert rtmp["listen"][1]["address"].endswith("run/rtmp.sock")
    assert rtmp["applications"] == [{"name": "live", "publish": "open"},
                                    {"name": "keyed", "publish": "key"}]
    assert http["listen"] == [{"address": f"127.0.0.1:{w.http}", **plain}]
    assert {"path": "/stat", "modules": ["stat"]} in http["locations"]
    assert told["here"] == 0


def test_a_refusal_names_the_address_of_this_machine(node):
    w = node('access = [ "deny all" ];')
    assert "local" not in get(w.http, "/stat/server").json()
    page = ' { path = "/"; module = "static"; root = "html"; } ); },' \
        ' { listen = "127.0.0.1:0"; locations = (' \
        ' { path = "/stat"; module = "stat"; },'
    w = node('access = [ "deny all" ];', locations=LOCATION.replace(
        '"stat";', '"stat"; access = [ "deny all" ];') + page)
    a = get(w.http, "/stat/server")
    assert a.status == 403
    assert a.json()["local"] == f"http://127.0.0.1:{w.port('http', 1)}/"


# ---- events ----

def next_round(e):
    """{"server": ..., "streams": ..., "sessions": ...}, in this order."""
    got = [e.next() for _ in range(3)]
    assert [name for name, _ in got] == ["server", "streams", "sessions"]
    return dict(got)


def test_events(node):
    w = node("interval = \"300ms\";", workers=2)
    f = Feed(w.rtmp).head().frames(3)
    begin = time.monotonic()
    e = Events(w.http)
    assert e.head.status == 200
    assert e.head.header("content-type") == "text/event-stream"
    assert e.head.header("cache-control") == "no-store"
    assert e.next() == ("retry", 1000)
    first = next_round(e)
    assert set(first["server"]) == set(server(w))
    assert set(only(first["streams"]["streams"])) == \
        set(only(rows(w, "streams")))
    assert set(only(first["sessions"]["sessions"])) == \
        set(only(rows(w, "sessions")))
    assert first["streams"]["more"] == first["sessions"]["more"] == 0
    f.frames(3)
    others = [Events(w.http) for _ in range(5)]
    for i in range(3):
        last = next_round(e)
    assert time.monotonic() - begin > 0.5
    assert only(last["streams"]["streams"])["frames"] > \
        only(first["streams"]["streams"])["frames"]
    for o in others:
        assert o.next()[0] == "retry"
        assert next_round(o)
        o.close()
    e.close(), f.stop()


def test_limit_of_subscribers(node):
    w = node("subscribers = 2;")
    all_of_them = [Events(w.http) for _ in range(2)]
    a = get(w.http, "/stat/events")
    assert a.status == 503 and a.header("retry-after")
    assert a.json()["status"] == 503 and "subscribers" in a.json()["data"]
    assert metric(w, "weir_stat_subscribers") == 2
    all_of_them[0].close()
    wait_for(lambda: metric(w, "weir_stat_subscribers") == 1)
    e = Events(w.http)
    assert e.head.status == 200
    e.close(), all_of_them[1].close()
    wait_for(lambda: metric(w, "weir_stat_subscribers") == 0)


def test_a_reload_ends_the_answer(node):
    w = node(workers=2)
    e = Events(w.http)
    e.next(), next_round(e)
    w.reload()
    while True:
        got = e.next()
        if got is None:
            break
        last = got
    assert last == ("retry", 1000)
    again = Events(w.http)
    again.next()
    assert next_round(again)["server"]["generation"] == 2
    again.close()


def test_a_reload_closes_the_connection(node):
    """Or the client would ask the process that drains once more."""
    w = node("interval = \"200ms\";", top='keepalive_min_timeout = "1h";')
    e = Events(w.http)
    e.next(), next_round(e)
    w.reload()
    while e.next() is not None:
        pass
    assert e.http.ended()


def test_who_does_not_read_misses_rounds(node):
    """And holds nobody else up; what it reads later is in order."""
    w = node("interval = \"200ms\";",
             http_listen='{ address = "127.0.0.1:0"; sndbuf = "64k"; }')
    clients = [Rtmp(w.rtmp) for _ in range(30)]
    for i, c in enumerate(clients):
        c.connect("live")
        for k in range(8):
            c.play(f"{'x' * 200}{i}-{k}", c.create_stream())
    slow, quick = Events(w.http), Events(w.http)
    quick.next()
    skipped = 0
    while skipped < 3:
        assert len(next_round(quick)["sessions"]["sessions"]) == 240
        skipped = metric(w, "weir_stat_events_skipped_total")
    assert slow.next()[0] == "retry"
    for _ in range(3):
        assert len(next_round(slow)["sessions"]["sessions"]) == 240
    slow.close(), quick.close()
    for c in clients:
        c.close()


def test_no_more_than_a_thousand_rows(node):
    w = node()
    clients = [Rtmp(w.rtmp) for _ in range(126)]
    for c in clients:
        c.connect("live")
        for _ in range(8):
            c.play("room", c.create_stream())
    e = Events(w.http)
    e.next()
    told = next_round(e)["sessions"]
    assert len(told["sessions"]) == 1000 and told["more"] == 8
    assert len(rows(w, "sessions")) == 1008
    e.close()
    for c in clients:
        c.close()


# ---- changes ----

def test_changes(node):
    w = node('interval = "200ms";', workers=2)
    a = Feed(w.rtmp, name="a").head().frames(3)
    e = Changes(w.http, "streams")
    first = e.round()
    assert list(first) == ["streams", "server"]
    assert first["streams"]["reset"] and e.keys() == ["live/a"]
    assert set(e.server) - {"place"} | {"rtmp", "http", "here"} == \
        set(server(w))
    # One that comes later gets the whole; the first one only what is new.
    b = Feed(w.rtmp, name="b").head().frames(30)
    later = Changes(w.http, "streams")
    later.round()
    while e.keys() != ["live/a", "live/b"]:
        assert "reset" not in e.round()["server"]
    while later.keys() != e.keys():
        later.round()
    # What both have put together is what /streams tells.
    wait_for(lambda: e.round() and all(
        s["video_speed"] == 0 for s in e.rows["streams"].values()), 20)
    assert "streams" not in e.round()  # nothing differs
    for row in e.rows["streams"].values():
        told = only([s for s in rows(w, "streams") if s["key"] == row["key"]])
        for name in ("state", "players", "dropped", "skipped"):
            assert row[name] == told[name]
        assert row["video"]["codec"] == told["video"]["codec"]
        assert abs(told["uptime_ms"] - e.server["uptime_ms"] +
                   row["began_ms"]) < 60_000
    a.stop()
    while e.keys() != ["live/b"]:
        e.round()
    e.close(), later.close(), b.stop()


def test_changes_of_one_stream(node):
    w = node('interval = "200ms";')
    e = Changes(w.http, "streams,sessions&of=live%2Fa")
    assert list(e.round()) == ["stream", "streams", "sessions", "server"]
    assert e.stream is None and not e.rows["sessions"]
    a, b = (Feed(w.rtmp, name=n).head().frames(3) for n in "ab")
    r = player(w.rtmp, "live", "a")
    while e.round().get("stream") is None or len(e.rows["sessions"]) < 2:
        pass
    assert set(e.stream) == set(rows(w, "streams")[0])
    assert e.stream["key"] == "live/a" and e.stream["frames"] > 0
    assert sorted(s["role"] for s in e.rows["sessions"].values()) == \
        ["player", "publisher"]
    ids = {s["id"] for s in e.rows["sessions"].values()}
    assert ids == {s["id"] for s in rows(w, "sessions")
                   if s["key"] == "live/a"}
    while e.keys() != ["live/a", "live/b"]:
        e.round()
    r.close(), a.stop()
    while e.round().get("stream", "none") is not None:
        pass
    e.close(), b.stop()


def test_malformed_changes(node):
    w = node()
    for query, word in (("changes=", None), ("changes=server", None),
                        ("changes=streams,,server", "changes"),
                        ("changes=all", "changes"),
                        ("changes=streams&of=a", "of"),
                        ("changes=streams&of=a/b&of=a/c", "of")):
        with Http(w.http) as c:
            c.send("GET", "/stat/events?" + query)
            head = c.head()
            assert head.status == (400 if word else 200), query
            assert head.header("cache-control") == "no-store"


def test_who_misses_a_round_of_changes_gets_the_whole(node):
    w = node('interval = "200ms";',
             http_listen='{ address = "127.0.0.1:0"; sndbuf = "64k"; }')
    clients, long = [Rtmp(w.rtmp) for _ in range(60)], "x" * 200
    for i, c in enumerate(clients):
        c.connect("live")
        for k in range(8):
            c.play(f"{long}{i}-{k}", c.create_stream())
    e = Changes(w.http, "sessions")  # its first round is 400 KB

    def missed():
        clients.append(player(w.rtmp, "live", f"{long}{len(clients)}"))
        return metric(w, "weir_stat_events_skipped_total") > 1
    wait_for(missed, 20)
    clients.append(player(w.rtmp, "live", long + "last"))
    resets = 0
    while not any(s["key"].endswith("last") for s in
                  e.rows.get("sessions", {}).values()) or resets < 2:
        resets += "reset" in e.round().get("sessions", {})
    wait_for(lambda: e.round() and len(e.rows["sessions"]) ==
             480 + len(clients) - 60, 20)
    e.close()
    for c in clients:
        c.close()
