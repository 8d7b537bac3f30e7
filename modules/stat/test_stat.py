"""/livestat: who publishes and plays, how much and how fast."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import resource
import signal
import threading
import time

import pytest

import flv
from feed import Feed, read_until
from flv_client import FlvPlayer
from http_client import Http, get, request
from media import ffmpeg_publish
from patience import busy
from rtmp_client import AUDIO, VIDEO, Rtmp, player, publisher
from stat_client import LOCATION, check_livestat, livestat, only, rows
from weir import SANITIZED, wait_for


@pytest.fixture(name="node")
def fixture_node(weir):
    """A weir that has the module."""
    def start(**parts):
        return weir(**{"locations": LOCATION, **parts})
    return start


def payloads(tags):
    """Sum of payload bytes: (video, audio)."""
    return tuple(sum(len(t.payload) for t in tags if t.type == kind)
                 for kind in (VIDEO, AUDIO))


def totals(row):
    return row["video_total_bytes"], row["audio_total_bytes"]


# ---- shape ----

def test_nobody(node):
    a = get(node().http, "/stat/livestat")
    assert check_livestat(a) == {"publishers": [], "players": []}
    assert a.body == b'{"publishers":[],"players":[]}'


def test_addresses(node):
    w = node()
    r = Rtmp(w.rtmp)
    r.connect("live", tcUrl="rtmp://me:pass@media.test:1935/live?a=1&token=t0")
    r.create_stream()
    msid = r.play("room?x=1&KEY=t1", r.create_stream())
    h = Http(w.http)
    h.send("GET", "/live/room.flv?b=%20&token=t3&a=t", host="web.test:80")
    f = Feed(w.rtmp).head().frames(1)
    told = wait_for(lambda: len(livestat(w)["players"]) == 2 and livestat(w))
    pub = only(told["publishers"])
    assert pub["key"] == "live/room" and pub["stream_id"] == f.c.msid
    assert pub["url"] == "rtmp://127.0.0.1/live/room"
    rtmp, web = sorted(told["players"], key=lambda p: p["url"], reverse=True)
    assert rtmp["stream_id"] == msid == 2 and web["stream_id"] == 1
    assert rtmp["key"] == web["key"] == "live/room"
    assert rtmp["url"].startswith("rtmp://media.test:1935/live/room?")
    assert set(rtmp["url"].partition("?")[2].split("&")) == \
        {"x=1", "a=1", "KEY=***", "token=***"}
    assert web["url"] == \
        "http://web.test:80/live/room.flv?b=%20&token=***&a=t"
    r.close(), h.close(), f.stop()


def test_masked_names_are_a_setting(node):
    w = node(rtmp='mask_args = [ "code" ];', http='mask_args = [ "pin" ];')
    r = player(w.rtmp, "live", "room?code=1&pin=2")
    h = Http(w.http)
    h.send("GET", "/live/room.flv?code=3&pin=4")
    told = wait_for(lambda: len(livestat(w)["players"]) == 2 and livestat(w))
    assert sorted(p["url"].partition("?")[2] for p in told["players"]) == \
        ["code=***&pin=2", "code=3&pin=***"]
    r.close(), h.close()


def test_long_addresses_are_whole(node):
    w = node()
    args = "a=" + "x" * 600
    r = player(w.rtmp, "live", "room?" + args)
    assert only(livestat(w)["players"])["url"] == \
        "rtmp://127.0.0.1/live/room?" + args
    r.close()


def test_room(node):
    w = node()
    feeds = [Feed(w.rtmp, name).head().frames(1) for name in ("a", "ab")]
    watching = [player(w.rtmp, "live", name) for name in ("a", "c/d")]
    for key in ("a", "ab", "c/d"):
        told = livestat(w, f"?x=1&room=live/{key}")
        found = told["publishers"] + told["players"]
        assert found and {r["key"] for r in found} == {f"live/{key}"}
    for query in ("room=live%2Fa", "r%6fom=live/a", "x&room=live/a&y="):
        assert len(livestat(w, "?" + query)["publishers"]) == 1, query
    assert livestat(w, "?room=live/none") == {"publishers": [], "players": []}
    assert livestat(w, "?room=other/a") == {"publishers": [], "players": []}
    assert len(livestat(w)["publishers"]) == 2
    for c in watching:
        c.close()
    for f in feeds:
        f.stop()


@pytest.mark.parametrize("room", [
    "", "live", "/", "live/", "/room", "live/%ff", "live/%zz", "live/%4",
    "live/%00", "live/a%0ab", "live/" + "x" * 300, "live/a&room=live/a",
    "live/a&r%6fom=live/b"])
def test_malformed_room(node, room):
    w = node()
    a = get(w.http, "/stat/livestat?room=" + room)
    assert a.status == 400
    assert a.header("content-type") == "application/json"
    told = a.json()
    assert list(told) == ["status", "data"] and told["status"] == 400
    assert "room" in told["data"]


def test_methods(node):
    w = node()
    with Http(w.http) as c:
        for path in ("livestat", "streams", "sessions", "server", "events"):
            c.send("HEAD", "/stat/" + path)
            a = c.answer("HEAD")
            assert a.status == 200 and a.header("cache-control") == "no-store"
            c.send("POST", "/stat/" + path)
            a = c.answer()
            assert a.status == 405 and a.json()["status"] == 405
            assert set(a.header("allow").split(", ")) == \
                {"GET", "HEAD", "OPTIONS"}
    a = request(w.http, "GET", "/stat/livestat", version="1.0")
    assert a.status == 200


# ---- numbers ----

def test_totals_of_a_file(node, sample):
    """Sent tag by tag, all at once; who joined before has all of it, however
    far it falls behind on a busy machine."""
    w = node(workers=2, live='window = "10m";')
    tags = flv.read_file(sample)
    sums = payloads(tags)
    r, h = player(w.rtmp, "live", "room"), FlvPlayer(w.http, "room")
    wait_for(lambda: len(livestat(w)["players"]) == 2)
    c = publisher(w.rtmp, "live", "room")
    for t in tags:
        c.send(t.type, t.payload, t.time, c.msid, csid=4)
    c.answer(c.command("_checkbw", None))
    assert totals(only(livestat(w)["publishers"])) == sums

    rtmp_got, flv_got = [], []
    while payloads(rtmp_got) != sums:
        rtmp_got.append(r.read(AUDIO, VIDEO))
    while payloads(flv_got) != sums:
        flv_got.append(h.tag())
    told = wait_for(lambda: [p for p in livestat(w)["players"]
                             if totals(p) == sums] == livestat(w)["players"]
                    and livestat(w)["players"])
    assert len(told) == 2
    r.close(), h.close(), c.close()


def test_totals_with_ffmpeg(node, sample, tool, tmp_path):
    """What ffmpeg sends is what it writes to a file."""
    import media
    same = str(tmp_path / "same.flv")
    media.check(["ffmpeg", *media.QUIET, "-i", sample, *media.BOTH,
                 "-c", "copy", "-f", "flv", same])
    sums = payloads(flv.read_file(same))
    w = node(workers=2, hold="20s")
    r, h = player(w.rtmp, "live", "room"), FlvPlayer(w.http, "room")
    tool(ffmpeg_publish(sample, w.rtmp_url("room"), 6.0)).wait()
    stream = wait_for(lambda: [s for s in rows(w, "streams")
                               if s["state"] == "hold"])
    assert totals(only(stream)) == sums

    def all_sent():
        return [totals(p) for p in livestat(w)["players"]] == [sums, sums]
    wait_for(all_sent)
    assert livestat(w)["publishers"] == []
    r.close(), h.close()


def test_data_counts_for_neither(node):
    w = node()
    c = publisher(w.rtmp, "live", "room")
    r = player(w.rtmp, "live", "room")
    c.send(18, flv.metadata(), 0, c.msid)
    c.send(VIDEO, flv.avc_frame(0, 500, True), 0, c.msid)
    c.send(18, flv.metadata(more="x" * 1000), 0, c.msid)
    c.send(AUDIO, flv.aac_frame(0, 50), 0, c.msid)
    read_until(r, "audio 0")
    assert totals(only(livestat(w)["publishers"])) == (505, 52)
    wait_for(lambda: totals(only(livestat(w)["players"])) == (505, 52))
    r.close(), c.close()


def drain(*socks):
    """Reads and forgets what comes, for as long as the connections live."""
    def work(sock):
        try:
            sock.settimeout(busy(30))
            while sock.recv(1 << 16):
                pass
        except OSError:
            pass
    for sock in socks:
        threading.Thread(target=work, args=(sock,), daemon=True).start()


def test_speed(node):
    """Bits per second: of one that runs on, of one that stands still."""
    w = node(workers=2)
    watching = [player(w.rtmp, "live", name) for name in ("run", "stop")]
    web = FlvPlayer(w.http, "run")
    drain(web.http.sock, *[c.sock for c in watching])
    begin = time.monotonic()
    run, stop = [Feed(w.rtmp, name, size=5000).head().run()
                 for name in ("run", "stop")]
    video, audio = 5005 * 25 * 8, 102 * 25 * 8

    def told(name):
        t = livestat(w, "?room=live/" + name)
        return t["publishers"] + t["players"]

    def near(name, count):
        found = told(name)
        return len(found) == count and all(
            abs(row["video_speed"] - video) <= video / 20 and
            abs(row["audio_speed"] - audio) <= audio / 20 for row in found)

    def still():
        return all(row["video_speed"] == row["audio_speed"] == 0
                   for row in told("stop"))
    wait_for(lambda: time.monotonic() > begin + 1.5)
    wait_for(lambda: near("run", 3) and near("stop", 2), 5, "young sessions")
    stop.stopping = True  # it stays connected
    stop.thread.join()
    stood = time.monotonic()
    assert not still() or time.monotonic() > stood + 4
    wait_for(still, 8, "speed 0")
    assert len(told("stop")) == 2
    assert time.monotonic() > begin + 6
    wait_for(lambda: near("run", 3), 5, "older than the window")
    web.close(), run.stop(), stop.stop()
    for c in watching:
        c.close()


# ---- all processes ----

def each_worker(w, count):
    """A connection to each worker."""
    found = {}
    idle = []
    while len(found) < count:
        assert len(idle) < 200
        c = Http(w.http)
        found.setdefault(w.worker_of(c.sock), c)
        idle.append(c)
    for c in idle:
        if c not in found.values():
            c.close()
    return found


def ask(c, what="livestat"):
    c.send("GET", "/stat/" + what)
    return check_livestat(c.answer())


def same(told):
    """What does not move, in any order."""
    return [sorted((r["key"], r["url"], r["stream_id"]) + totals(r)
                   for r in told[part]) for part in ("publishers", "players")]


def test_every_worker_tells_the_same(node):
    w = node(workers=4)
    feeds = [Feed(w.rtmp, f"r{i}").head().frames(3) for i in range(6)]
    watching = [player(w.rtmp, "live", f"r{i % 6}") for i in range(20)]
    web = [FlvPlayer(w.http, f"r{i % 6}") for i in range(10)]
    for i, c in enumerate(watching):
        read_until(c, "video 2")
    for c in web:
        c.read_until("video 2")
    workers = each_worker(w, 4)
    told = [same(ask(c)) for c in workers.values()]
    assert len(told[0][0]) == 6 and len(told[0][1]) == 30
    assert all(t == told[0] for t in told)
    sessions = rows(w, "sessions")
    assert {s["pid"] for s in sessions} <= set(w.workers())
    assert len({s["pid"] for s in sessions}) > 1
    for c in [*watching, *web, *workers.values()]:
        c.close()
    for f in feeds:
        f.stop()


def test_old_generation_is_told_too(node):
    w = node(workers=2)
    f = Feed(w.rtmp).head().frames(2)
    r = player(w.rtmp, "live", "room")
    w.reload()
    told = livestat(w)
    assert only(told["publishers"])["key"] == "live/room"
    assert only(told["players"])["key"] == "live/room"
    before = totals(only(told["publishers"]))
    f.frames(2)
    assert totals(only(livestat(w)["publishers"])) > before
    r.close(), f.stop()


def test_sessions_of_a_killed_worker_are_gone(node):
    w = node(workers=2, hold="20s")
    f = Feed(w.rtmp).head().frames(2)
    victim = w.worker_of(f.c.sock)
    watching = [player(w.rtmp, "live", "room") for _ in range(12)]
    where = [w.worker_of(c.sock) for c in watching]
    assert len(set(where)) == 2
    os.kill(victim, signal.SIGKILL)

    def gone():
        told = livestat(w)
        return not told["publishers"] and \
            len(told["players"]) == sum(pid != victim for pid in where)
    wait_for(gone)
    assert victim not in {s["pid"] for s in rows(w, "sessions")}
    assert only(rows(w, "streams"))["state"] == "hold"
    for c in watching:
        c.close()
    f.stop()


def test_many_in_pieces(node):
    """More than one piece, whatever the reader does."""
    w = node(workers=2)
    clients = [Rtmp(w.rtmp) for _ in range(60)]
    for c in clients:
        c.connect("live")
        for _ in range(8):
            c.create_stream()
    for i, c in enumerate(clients):
        for k in range(8):
            c.play(f"r{i}-{k}", k + 1)
    expected = {f"live/r{i}-{k}" for i in range(60) for k in range(8)}
    a = get(w.http, "/stat/livestat")
    assert a.header("transfer-encoding") == "chunked"
    told = check_livestat(a)["players"]
    assert len(told) == 480 and {r["key"] for r in told} == expected
    a = request(w.http, "GET", "/stat/livestat", version="1.0")
    assert check_livestat(a)["players"] == told
    gone = Http(w.http)
    gone.send("GET", "/stat/livestat")
    gone.close()
    for c in clients:
        c.close()


def cpu_ms(pid):
    """Processor time of a process."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e6


def test_ten_thousand_sessions(node):
    """Cost a worker a fraction of a second."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    w = node(workers=2, top="limits = { connections_per_address = 0; "
             "incomplete_per_address = 0; };")
    clients = []
    for i in range(1250):
        c = Rtmp(w.rtmp)
        c.connect("live")
        for _ in range(8):
            c.command("createStream", None)
        for k in range(8):
            c.command("play", None, f"r{i % 50}?n={i}", -2000, msid=k + 1)
        clients.append(c)
    with Http(w.http, timeout=busy(30)) as h:
        pid = w.worker_of(h.sock)
        wait_for(lambda: get(w.http, "/stat/server").json()["players"] ==
                 10000, 30)
        took = []
        for _ in range(5):  # the best: others warm the caches less each time
            before = cpu_ms(pid)
            assert len(ask(h)["players"]) == 10000
            took.append(cpu_ms(pid) - before)
        assert min(took) < (20 if SANITIZED else 1) * busy(30), took
    for c in clients:
        c.close()
