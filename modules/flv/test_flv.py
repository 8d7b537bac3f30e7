"""HTTP-FLV: heads, header flags, waiting, 404."""
# SPDX-License-Identifier: BSD-2-Clause

import time

from control_client import wait_players
from feed import Feed, kinds, read_until, video_numbers
from flv_client import FlvPlayer
from http_client import Http, get, request
from patience import busy
from rtmp_client import AUDIO, DATA, VIDEO, player
from weir import wait_for


def test_head_of_the_answer(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    c = FlvPlayer(w.http, "room")
    a = c.read_head()
    assert a.status == 200
    assert a.header("content-type") == "video/x-flv"
    assert a.header("access-control-allow-origin") == "*"
    assert a.header("content-length") is None
    assert "no-" in a.header("cache-control")
    c.close()
    f.stop()


def test_headers_then_key_frame(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp, gop=10).head().frames(25)
    for version in ("1.0", "1.1", "1.0", "1.1"):
        c = FlvPlayer(w.http, "room", version=version)
        got = c.read_until("video 24")
        assert set(kinds(got[:3])) == {"meta", "video header",
                                       "audio header"}
        assert video_numbers(got) == [20, 21, 22, 23, 24]
        c.close()
    f.stop()


def test_players_of_1_0_and_1_1_at_once(weir):
    w = weir(workers=2)
    all_players = [FlvPlayer(w.http, "room", version=v)
                   for v in ("1.0", "1.1") * 6]
    f = Feed(w.rtmp).head().frames(20)
    got = [c.read_until("video 19") for c in all_players]
    f.frames(30)
    for c, first in zip(all_players, got):
        assert video_numbers(first + c.read_until("video 49")) == \
            list(range(50))
        c.close()
    f.stop()


def flags_of(w, **parts):
    name = "-".join(parts) or "both"
    f = Feed(w.rtmp, name, **parts).head().run()
    c = FlvPlayer(w.http, name)
    assert c.tag()
    f.stop()
    c.close()
    return c.reader.flags


def test_header_flags_say_which_kinds_there_are(weir):
    w = weir()
    assert flags_of(w) == 5
    assert flags_of(w, audio=False) == 1
    assert flags_of(w, video=False) == 4


def test_unpublished_name_waits_then_404(weir):
    w = weir(flv='flv_wait = "1s";')
    began = time.monotonic()
    a = get(w.http, "/live/nobody.flv")
    assert a.status == 404
    assert 0.9 < time.monotonic() - began < busy(0.4)  # 5 s unless told


def test_live_stream_without_a_start_is_not_404(weir):
    """The next key frame is further away than flv_wait: what asks after it
    gets its 404 before."""
    w = weir(workers=2, app="gop_cache = false;", flv='flv_wait = "200ms";')
    f = Feed(w.rtmp).head().frames(3)
    players = [FlvPlayer(w.http, "room") for _ in range(4)]
    wait_players(w, 4)
    for _ in range(3):
        assert get(w.http, "/live/nobody.flv").status == 404
    f.frames(30)
    for c in players:
        assert video_numbers(c.read_until("video 32")) == list(range(25, 33))
        c.close()
    waits = Http(w.http)
    waits.send("GET", "/live/room.flv")
    f.stop()
    assert waits.answer().status == 404  # since nobody publishes it any more


def test_unpublished_name_plays_when_published_while_waiting(weir):
    w = weir(workers=2, flv='flv_wait = "1h";')
    players = [FlvPlayer(w.http, "room") for _ in range(4)]
    wait_players(w, 4)
    f = Feed(w.rtmp).head().frames(5)
    for c in players:
        assert video_numbers(c.read_until("video 4")) == [0, 1, 2, 3, 4]
        c.close()
    f.stop()


def test_connection_after_404_is_as_its_header_says(weir):
    w = weir(flv='flv_wait = "100ms";')
    with Http(w.http) as c:
        c.send("GET", "/live/nobody.flv")
        a = c.answer()
        assert a.status == 404
        if a.header("connection") == "close":
            assert c.ended()
        else:
            c.send("GET", "/healthz")
            assert c.answer().status == 200


def test_head_request(weir):
    w = weir(flv='flv_wait = "300ms";')
    f = Feed(w.rtmp).head().frames(3)
    a = request(w.http, "HEAD", "/live/room.flv")
    assert a.status == 200
    assert a.header("content-type") == "video/x-flv"
    assert a.body == b""
    assert a.header("content-length") is None    # as in the answer to GET
    assert request(w.http, "HEAD", "/live/nobody.flv").status == 404
    with Http(w.http) as c:                      # and the connection goes on
        for _ in range(2):
            c.send("HEAD", "/live/room.flv")
            assert c.answer("HEAD").status == 200
    f.stop()


def test_cors_of_the_location_counts(weir):
    w = weir(locations="""
        { path = "/of"; module = "flv";
          cors = { allow_origins = "https://a.example"; }; },""")
    f = Feed(w.rtmp).head().frames(3)
    a = request(w.http, "HEAD", "/of/live/room.flv",
                "Origin: https://a.example")
    assert a.status == 200
    assert a.header("access-control-allow-origin") == "https://a.example"
    a = request(w.http, "HEAD", "/of/live/room.flv", "Origin: https://b.example")
    assert a.status == 200
    assert a.header("access-control-allow-origin") is None
    f.stop()


def test_other_methods_and_unknown_application(weir):
    w = weir(flv='flv_wait = "1h";')
    a = request(w.http, "POST", "/live/room.flv")
    assert a.status == 405
    assert "GET" in a.header("allow")
    assert get(w.http, "/nothere/room.flv").status == 404
    assert get(w.http, "/live/.flv").status == 404


def test_play_access_holds_for_flv_too(weir):
    w = weir(apps=', { name = "noplay"; publish = "open";'
                  ' play_access = [ "deny all" ]; }')
    f = Feed(w.rtmp, app="noplay").head().frames(3)
    assert get(w.http, "/noplay/room.flv").status == 403
    f.stop()


def test_end_of_the_stream_ends_the_answer(weir):
    for version in ("1.0", "1.1"):
        w = weir(hold="500ms")
        f = Feed(w.rtmp).head().frames(3)
        c = FlvPlayer(w.http, "room", version=version)
        c.read_until("video 2")
        f.stop()
        assert c.tag() is None
        c.close()


def test_republish_within_hold_goes_on(weir):
    w = weir(hold="1h")
    f = Feed(w.rtmp).head().frames(3)
    c = FlvPlayer(w.http, "room")
    old = c.read_until("video 2")
    f.stop()
    g = Feed(w.rtmp, first=25).head().frames(3)
    new = c.read_until("video 27")
    times = [m.time for m in old + new if m.type in (AUDIO, VIDEO)]
    assert times == sorted(times)
    c.close()
    g.stop()


def test_same_payloads_over_rtmp_and_flv(weir):
    w = weir(workers=2)
    over_rtmp = player(w.rtmp, "live", "room")
    over_flv = FlvPlayer(w.http, "room")
    wait_players(w, 2)
    f = Feed(w.rtmp).head().frames(20)
    a = read_until(over_rtmp, "video 19")
    b = over_flv.read_until("video 19")
    assert [(m.type, m.time, m.payload) for m in a] == \
        [(m.type, m.time, m.payload) for m in b]
    assert a[0].type == DATA
    over_rtmp.close()
    over_flv.close()
    f.stop()


def test_access_log_tells_bytes_of_a_player(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(10)
    c = FlvPlayer(w.http, "room")
    c.read_until("video 9")
    c.close()
    line = wait_for(lambda: "/live/room.flv" in w.access_log()
                    and w.access_log(), what="access log")
    assert '"GET /live/room.flv HTTP/1.1" 200 ' in line
    f.stop()
