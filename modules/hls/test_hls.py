"""HLS: playlists, segments and parts of a stream that ffmpeg publishes."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import os
import signal
import time

from control_client import Control, ctl, ctl_json, wait_players
from feed import Feed
from hls_check import Viewer
from hls_play import AT, Player, Playlist, decoded, end, probe, publish
from http_client import Http, get, request
from patience import busy
from weir import place, run, wait_for


def playing(weir, settings="", publisher=None, **parts):
    w = weir(locations=AT % settings, **parts)
    p = publish(w, **(publisher or {}))
    return w, p, Player(w).start()


def wait_for_parts(c):
    """Of the first segment it was not known how long parts are: it has none.
    It is older than segments that need them."""
    wait_for(lambda: len(c.list().segments) > 4, 30, "segments")


def metrics(w):
    return get(w.http, "/metrics").body.decode()


def players(w):
    with Control(w) as c:
        return len([r for r in c.json("show sess") if r["kind"] == "player"])


def codecs(data):
    return sorted(probe(data, "-show_entries", "stream=codec_name"))


def test_ffmpeg_plays(weir):
    w, p, _ = playing(weir, workers=2)
    video, audio = decoded(w.http_url("/hls/live/room.m3u8"), 4)
    assert video == 120
    assert audio > 160
    end(p)


def test_parts_make_the_segment(weir):
    """On every worker the same bytes, however they are asked for."""
    _, p, c = playing(weir, workers=2)
    wait_for(lambda: len(c.list().segments) > 2, 20, "segments")
    got = c.list()
    segment = got.segments[-1]
    number = segment[:-len(".m4s")]
    whole = {c.get(segment).body for _ in range(8)}
    assert len(whole) == 1
    parts = [u for u in got.parts if u.startswith(number + ".")]
    assert len(parts) > 3
    assert b"".join(c.get(u).body for u in parts) == whole.pop()
    init = c.get(got.map)
    assert init.header("content-type") == "video/mp4"
    data = init.body + c.get(segment).body
    assert codecs(data) == ["aac", "h264"]
    assert len(probe(data, "-select_streams", "v", "-show_entries",
                     "packet=size")) == 60
    end(p)


def test_transport_streams(weir):
    w, p, c = playing(weir, 'format = "ts";')
    got = c.list()
    assert not got.parts and not got.map and not got.hint
    a = c.get(got.segments[-1])
    assert a.header("content-type") == "video/mp2t"
    assert codecs(a.body)[:2] == ["aac", "h264"] or \
        set(codecs(a.body)) == {"aac", "h264"}
    video, _ = decoded(w.http_url("/hls/live/room.m3u8"), 2)
    assert video == 60
    end(p)


def test_sound_apart(weir):
    w, p, c = playing(weir, "separate_audio = true;")
    assert 'TYPE=AUDIO' in c.multivariant
    got = c.list()
    assert codecs(c.get(got.map).body + c.get(got.segments[-1]).body) == \
        ["h264"]
    sound = got.segments[-1].replace("/v-", "/a0-")
    a = c.get(sound)
    assert a.status == 200
    assert a.header("content-type") == "audio/mp4"
    assert codecs(c.get(got.map.replace("/v-", "/a0-")).body + a.body) == \
        ["aac"]
    assert decoded(w.http_url("/hls/live/room.m3u8"), 2)[0] == 60
    end(p)


def test_pictures_alone_and_sound_alone(weir):
    w = weir(locations=AT % "")
    for name, what in (("v", {"audio": ""}), ("a", {"video": ""})):
        p = publish(w, name, **what)
        c = Player(w, name).start()
        wait_for(lambda c=c: c.list().segments, 20, "segments")
        got = c.list()
        assert codecs(c.get(got.map).body + c.get(got.segments[-1]).body) == \
            (["h264"] if name == "v" else ["aac"])
        end(p)


def test_blocked_playlist(weir):
    """It is answered with the part that it waited for."""
    _, p, c = playing(weir)
    wait_for(lambda: len(c.list().segments) > 1, 20, "segments")
    got = c.list()
    for n in range(1, 4):
        began = time.monotonic()
        a = c.playlist(f"&_HLS_msn={got.last + n}")
        assert Playlist(a.body.decode()).last >= got.last + n
        assert time.monotonic() - began < busy(4)
        assert "max-age=18" in a.header("cache-control")
    number = got.last + 4
    for part in range(7):
        text = c.list(f"&_HLS_msn={number}&_HLS_part={part}").text
        assert f"/{number}.{part}.m4s" in text
    # A part that a segment has not is the first of the next one.
    text = c.list(f"&_HLS_msn={number}&_HLS_part=7").text
    assert f"/{number + 1}.0.m4s" in text
    end(p)


def test_hinted_part_is_held_back(weir):
    _, p, c = playing(weir, workers=2)
    for _ in range(5):
        hint = c.list().hint
        a = c.get(hint)
        assert a.status == 200
        assert int(a.header("content-length")) == len(a.body) > 0
        assert hint in c.list().parts
    end(p)


def test_wrong_directives(weir):
    _, p, c = playing(weir)
    last = c.list().last
    for query in ("_HLS_part=1", "_HLS_msn=x", f"_HLS_msn={last + 9}",
                  f"_HLS_msn={last}1", f"_HLS_msn={last + 1}&_HLS_part=99"):
        assert c.playlist("&" + query).status == 400, query
    assert c.playlist("&_HLS_new=1").status == 200
    assert c.get("room.m3u8?rendition=other").status == 400
    end(p)


def test_what_is_not_there(weir):
    w = weir(locations=AT % "")
    c = Player(w)
    a = c.get("room.m3u8")
    assert a.status == 404
    assert "no-store" in a.header("cache-control")
    assert c.get("room/0123456789abcdef/1.m4s").status == 404
    f = Feed(w.rtmp).head().frames(3)
    a = wait_for(lambda: (lambda b: b.status == 503 and b)(
        c.get("room.m3u8")), 10, "503")
    assert a.header("retry-after") == "1"
    f.run()
    c.start()
    got = c.list()
    word = got.segments[-1].split("/")[1]
    for name in (f"{word}/1.m4s", f"{word}/{got.last + 5}.m4s",
                 f"{word}/{got.last}.99.m4s", f"{word}/init-9.mp4",
                 f"{word}/a7-{got.last}.m4s",
                 f"0123456789abcdef/{got.last}.m4s"):
        a = c.get("room/" + name)
        assert a.status == 404, name
        assert a.header("cache-control") == "no-store"
    assert get(w.http, "/hls/other/room.m3u8").status == 404
    f.stop()


def test_segment_that_has_gone(weir):
    """It is there for a while after it left the list, then 404."""
    _, p, c = playing(weir, app='segment = "1s";', publisher={
        "video": "-g 15"})
    target = c.list().segments[0]
    part = wait_for(lambda: c.list().parts, 20, "parts")[0]
    assert c.get(part).status == 200
    assert c.get(target).status == 200
    wait_for(lambda: target not in c.list().segments, 30, "another list")
    assert c.get(target).status == 200
    for each in (target, part):
        wait_for(lambda each=each: c.get(each).status == 404, 60, "404")
    end(p)


def test_headers_of_objects(weir):
    _, p, c = playing(weir)
    wait_for(lambda: c.list().parts, 20, "parts")
    got = c.list()
    for target in (got.segments[-1], got.parts[-1], got.map):
        a = c.get(target)
        assert "immutable" in a.header("cache-control")
        assert a.header("access-control-allow-origin") == "*"
        assert a.header("accept-ranges") == "bytes"
        b = c.get(target, f"If-None-Match: {a.header('etag')}")
        assert (b.status, b.body) == (304, b"")
        assert b.header("etag") == a.header("etag")
        b = request(c.w.http, "HEAD", c.base + target)
        assert b.status == 200
        assert b.header("content-length") == str(len(a.body))
    end(p)


def test_ranges(weir):
    _, p, c = playing(weir)
    target = c.list().segments[-1]
    whole = c.get(target).body
    size = len(whole)
    for text, first, last in (("0-99", 0, 99), ("100-", 100, size - 1),
                              ("-7", size - 7, size - 1),
                              (f"5-{size * 2}", 5, size - 1)):
        a = c.get(target, f"Range: bytes={text}")
        assert a.status == 206
        assert a.body == whole[first:last + 1]
        assert a.header("content-range") == f"bytes {first}-{last}/{size}"
    a = c.get(target, f"Range: bytes={size}-")
    assert a.status == 416
    assert a.header("content-range") == f"bytes */{size}"
    end(p)


def test_headers_of_playlists(weir):
    _, p, c = playing(weir, http="gzip = true; gzip_min_length = 100;")
    a = c.playlist()
    assert a.header("content-type") == "application/vnd.apple.mpegurl"
    assert "max-age=1" in a.header("cache-control").split(", ")
    packed = c.playlist("", "Accept-Encoding: gzip")
    assert packed.header("content-encoding") == "gzip"
    assert "Accept-Encoding" in packed.header("vary")
    assert Playlist(gzip.decompress(packed.body).decode()).first > 0
    a = c.get("room.m3u8")
    assert a.header("cache-control") == "no-store"
    a = request(c.w.http, "HEAD", c.base + c.media)
    assert a.status == 200
    assert int(a.header("content-length")) > 100
    a = request(c.w.http, "OPTIONS", c.base + "room.m3u8")
    assert a.status == 204
    assert "Range" in a.header("access-control-allow-headers")
    end(p)


def test_delta(weir):
    """What is older than CAN-SKIP-UNTIL may be left out."""
    _, p, c = playing(weir, app='segment = "1s";', publisher={"video": "-g 30"})
    wait_for(lambda: len(c.list().segments) >= 6, 30, "segments")
    got = c.list("&_HLS_skip=YES")
    assert got.skipped >= 0
    assert got.last >= c.list().last - 1
    end(p)


def test_stream_ends(weir):
    """All that wait are answered; a later stream has higher numbers."""
    w, p, c = playing(weir, hold="1s", workers=2)
    last = c.list().last
    waiting = []
    for n in range(10):
        waiting.append(Http(w.http))
        waiting[-1].send("GET", f"{c.base}{c.media}&_HLS_msn={last + 2}")
    end(p)
    for h in waiting:
        a = h.answer()
        assert a.status == 200, a.body
        assert Playlist(a.body.decode()).ended or \
            Playlist(a.body.decode()).last >= last + 2
        h.close()
    got = c.list()
    assert got.ended and not got.hint
    for target in got.segments:
        assert c.get(target).status == 200
    p = publish(w)
    wait_for(lambda: c.playlist().status == 200 and
             b"ENDLIST" not in c.playlist().body, 20, "another stream")
    wait_for(lambda: c.playlist().status == 200, 20, "its first segment")
    assert c.list().first > got.last
    assert c.get(got.segments[-1]).status in (200, 404)
    end(p)


def test_return_within_hold(weir):
    """The list goes on, with a discontinuity."""
    _, p, c = playing(weir, hold="1h")
    before = wait_for(lambda: (lambda g: len(g.segments) > 1 and g)(
        c.list()), 20, "segments")
    end(p)
    p = publish(c.w)
    got = wait_for(lambda: (lambda g: g.last > before.last + 1 and g)(
        c.list()), 20, "segments")
    assert got.first == before.first
    assert got.segments[:2] == before.segments[:2]
    assert "#EXT-X-DISCONTINUITY\n" in got.text
    end(p)


def test_wait_has_an_end(weir):
    """Blocked for longer than three target durations: 503."""
    _, p, c = playing(weir, hold="1h", app='segment = "1s";',
                      publisher={"video": "-g 30"})
    end(p)
    last = c.list().last
    a = c.playlist(f"&_HLS_msn={last + 2}")
    assert a.status == 503
    assert a.header("retry-after") == "1"
    assert c.playlist().status == 200


def test_max_waiting(weir):
    w, p, c = playing(weir, "max_waiting = 3;", hold="1h")
    end(p)
    last = c.list().last
    waiting = [Http(w.http) for _ in range(3)]
    for h in waiting:
        h.send("GET", f"{c.base}{c.media}&_HLS_msn={last + 2}")
    wait_for(lambda: "weir_hls_waiting 3" in metrics(w), 10,
             "three that wait")
    assert c.playlist(f"&_HLS_msn={last + 2}").status == 503
    for h in waiting:
        h.close()
    wait_for(lambda: "weir_hls_waiting 0" in metrics(w), 10,
             "nobody waits")


def test_slow_client(weir):
    """It gets all bytes, from the copy that its slowness made."""
    w, p, c = playing(weir, publisher={
        "video": "-g 15 -b:v 20M -minrate 20M -maxrate 20M -bufsize 2M "
                 "-x264-params nal-hrd=cbr"})
    target = c.list().segments[-1]
    whole = c.get(target).body
    assert len(whole) > 3000000
    slow = [Http(w.http) for _ in range(5)]
    for h in slow:
        h.send("GET", c.base + target)
    wait_for(lambda: f"weir_hls_copies_bytes {len(whole)}" in
             metrics(w), 10, "one copy")
    time.sleep(0.5)
    for h in slow:
        assert h.answer().body == whole
        h.close()
    end(p)


def test_access(weir):
    w = weir(locations=AT % "", apps=', { name = "noplay"; publish = "open";'
             ' play_access = [ "deny all" ]; }')
    f = Feed(w.rtmp, app="noplay").head().run()
    assert get(w.http, "/hls/noplay/room.m3u8").status == 403
    assert get(w.http, "/hls/noplay/room/0123456789abcdef/1.m4s").status == 403
    f.stop()


def test_viewers_are_counted_and_kicked(weir):
    w, p, c = playing(weir, workers=2)
    c.list()
    wait_players(w, 1)
    other = Player(w).start()
    other.list()
    wait_players(w, 2)
    assert ctl(w, "kick", "stream", "live/room",
                            "players").returncode == 0
    for each in (c, other):
        assert each.playlist().status == 403
    assert c.get("room.m3u8").status == 200  # another viewer
    end(p)


def test_viewers_that_make_their_own_ids(weir):
    """Whatever they write, they are one, and are kicked as one."""
    w, p, c = playing(weir, workers=2)
    plain = c.media.split("&viewer=")[0]
    given = c.media.split("&viewer=")[1]
    c.list()
    wait_players(w, 1)
    assert players(w) == 1
    others = ["", "&viewer=", "&viewer=" + "0" * 32, "&viewer=" + "f" * 32,
              "&viewer=x", "&viewer=" + given[:-1],
              "&viewer=" + given[16:] + given[:16]]
    others += [f"&viewer={i:032x}" for i in range(1, 30)]
    for other in others:
        assert c.get(plain + other).status == 200
    assert players(w) == 2
    assert ctl(w, "kick", "stream", "live/room",
               "players").returncode == 0
    for other in others + ["&viewer=" + given] * 8:
        assert c.get(plain + other).status == 403
    end(p)


def test_viewers_go_on_in_a_server_that_begins_anew(weir):
    """It did not give out their ids, and counts them by their addresses."""
    w, p, c = playing(weir)
    end(p)
    w.stop()
    w.start()
    p = publish(w)
    Player(w).start()
    assert players(w) == 1
    for _ in range(5):
        assert c.playlist().status == 200
    assert players(w) == 2
    end(p)


def test_killed_worker(weir):
    """Numbers and bytes go on."""
    w, p, c = playing(weir, workers=2, hold="1h")
    before = c.list()
    bodies = {u: c.get(u).body for u in before.segments}
    for pid in w.workers():
        os.kill(pid, signal.SIGKILL)
    end(p)
    wait_for(lambda: len(w.workers()) == 2, 20, "workers")

    def again():
        try:
            return c.list()
        except (OSError, EOFError, AssertionError):
            return None
    got = wait_for(again, 20, "playlist")
    assert got.first == before.first
    for target, body in bodies.items():
        assert c.get(target).body == body


def test_nothing_is_wrong_with_it(weir):
    """A strict reader of playlists and boxes, on two workers."""
    w = weir(workers=2, locations=AT % "")
    p = publish(w)
    wait_for_parts(Player(w).start())
    v = Viewer(w.http, "/hls/live/room.m3u8")
    v.follow(parts=30)
    assert not v.faults, v.faults.text()
    v.close()
    end(p)


def test_nothing_is_wrong_with_what_is_apart(weir):
    w = weir(workers=2, locations=AT % "separate_audio = true;")
    p = publish(w)
    wait_for_parts(Player(w).start())
    for rendition in ("rendition=v", "rendition=a0"):
        v = Viewer(w.http, "/hls/live/room.m3u8", rendition=rendition)
        v.follow(parts=15)
        assert not v.faults, v.faults.text()
        v.close()
    end(p)


def test_nothing_is_wrong_with_transport_streams(weir):
    w = weir(workers=2, locations=AT % 'format = "ts";')
    p = publish(w)
    wait_for_parts(Player(w).start())
    v = Viewer(w.http, "/hls/live/room.m3u8")
    v.follow(parts=4)
    assert not v.faults, v.faults.text()
    v.close()
    end(p)


def test_operators_see_what_is_listed(weir):
    w, p, c = playing(weir, workers=2)
    wait_for(lambda: len(c.list().segments) > 3, 20, "segments")
    row, = ctl_json(w, "show", "hls")
    got = c.list()
    assert row["name"] == "live/room" and row["state"] == "offered"
    assert got.segments[0].startswith(f"room/{row['word']}/")
    assert row["target_ms"] == 2500 and row["part_ms"] > 0
    assert abs(row["segments"] - len(got.segments)) <= 2
    assert row["list_ms"] >= 2 * row["target_ms"]
    assert 0 <= row["age_ms"] < 5000
    assert ctl_json(w, "show", "hls", "live/other") == []
    end(p)


def test_a_check_of_the_file_says_which_streams_fit(tmp_path):
    with open("conf/weir.conf", encoding="utf-8") as f:
        shipped = f.read()
    longer = shipped.replace('{ name = "live";', '{ name = "live";'
                             ' max_segment = "20s"; part = "700ms";')
    assert longer != shipped
    for text, said in ((shipped, ""), (longer, "up to 1917 kbit/s")):
        place(tmp_path, text)
        done = run("-t", "-c", "weir.conf", prefix=tmp_path)
        assert done.returncode == 0, done.stderr
        assert said in done.stderr if said else done.stderr == ""
