"""Who may publish and play, and under which name."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import flv
from control_client import Control
from feed import Feed, read_until, video_numbers
from http_client import get
from rtmp_client import (AUDIO, DATA, VIDEO, Closed, Refused, Rtmp, player,
                         publisher)
from weir import wait_for


def refused(port, app, name, **more):
    """Publishing is refused before Publish.Start, then closed: the reason."""
    with Rtmp(port, **more) as c:
        c.connect(app)
        with pytest.raises(Refused) as e:
            c.publish(name)
        c.wait_closed()
        return e.value


def test_replace_the_newest_wins(weir):
    w = weir(workers=2)
    old = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        new = Feed(w.rtmp, first=25).head().frames(3)
        read_until(c, "video 27")
        old.c.wait_closed()
        w.wait_log("replaced")
        new.frames(2)
        assert video_numbers(read_until(c, "video 29"))[-1] == 29
        new.stop()


def test_replace_of_a_publisher_that_says_nothing_any_more(weir):
    """A half-open encoder does not lock its own name."""
    w = weir(workers=2)
    old = Feed(w.rtmp).head().frames(1)
    for n in range(2):
        new = Feed(w.rtmp, first=25 * (n + 1)).head().frames(1)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "key 50")
    new.stop()
    old.stop()


def test_third_replacement_within_ten_seconds_is_refused(weir):
    w = weir(workers=2)
    feeds = [Feed(w.rtmp, first=25 * n).head().frames(1) for n in range(3)]
    e = refused(w.rtmp, "live", "room")
    assert e.code == "NetStream.Publish.BadName"
    assert "replace" in e.text
    # The one that was there goes on.
    with player(w.rtmp, "live", "room") as c:
        feeds[-1].frames(2)
        read_until(c, "video 52")
    for f in feeds:
        f.stop()


def test_refuse_keeps_the_first(weir):
    w = weir(workers=2, app='publish_conflict = "refuse";')
    f = Feed(w.rtmp).head().frames(3)
    for _ in range(4):  # whichever worker is asked
        e = refused(w.rtmp, "live", "room")
        assert e.code == "NetStream.Publish.BadName"
        assert e.text
    with player(w.rtmp, "live", "room") as c:
        f.frames(2)
        read_until(c, "video 4")
    f.stop()


def test_refuse_lets_the_name_go_when_its_publisher_left(weir):
    w = weir(app='publish_conflict = "refuse";', hold="1h")
    Feed(w.rtmp).head().frames(3).stop()

    def again():
        try:
            publisher(w.rtmp, "live", "room").close()
            return True
        except Refused:
            return False
    wait_for(again, what="the name is free")


def test_key_refuses_what_is_no_key(weir):
    w = weir(apps=', { name = "keyed"; publish = "key"; }')
    for _ in range(3):
        e = refused(w.rtmp, "keyed", "anything")
        assert e.code == "NetStream.Publish.BadName"
        assert "key" in e.text
    # Playing is not a matter of keys.
    player(w.rtmp, "keyed", "anything").close()


def test_publish_is_key_unless_told(weir):
    w = weir(apps=', { name = "plain"; }')
    assert refused(w.rtmp, "plain", "x").code == "NetStream.Publish.BadName"


def test_unknown_application_is_refused_at_connect(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        with pytest.raises(Refused) as e:
            c.connect("nothere")
        assert e.value.code in ("NetConnection.Connect.InvalidApp",
                                "NetConnection.Connect.Rejected")
        assert "nothere" in e.value.text
        c.wait_closed()


def test_empty_name_takes_the_last_segment_of_app(weir):
    """rtmp://host/live/room with everything in the server field."""
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live/room")
        c.set_chunk_size(4096)
        c.msid = c.publish("")
        f = Feed(w.rtmp, client=c).head().frames(2)
        with player(w.rtmp, "live", "room") as p:
            read_until(p, "video 1")
        del f


def test_empty_name_of_a_bare_app_has_a_clear_answer(weir):
    """app "live", name "": either the room "live", or told why not."""
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        try:
            c.publish("")
        except Refused as e:
            assert e.code == "NetStream.Publish.BadName"
            assert "name" in e.text or "key" in e.text


NAMES = [  # (app, tcUrl or None, name) that all mean live/room
    ("live", None, "room"),
    ("live", None, "room?token=x&a=b"),
    ("live?k=v", "rtmp://h/live?k=v", "room"),
    ("live/", "rtmp://h/live/", "room"),
    ("/live", "rtmp://h//live", "/room"),
    ("live", None, "/room/"),
    ("live//", None, "//room"),
    ("live/_definst_", "rtmp://h/live/_definst_", "room"),
    ("live", "rtmp://h/live/room?x", "room"),
    ("live", "", "room"),
]


def test_names_are_normalised(weir):
    """One player of live/room sees what is published under each."""
    w = weir(hold="5s", app='publish_conflict = "refuse";')
    with player(w.rtmp, "live", "room") as p:
        for n, (app, tc_url, name) in enumerate(NAMES):
            more = {} if tc_url is None else {"tcUrl": tc_url}
            with Rtmp(w.rtmp) as c:
                c.connect(app, **more)
                c.set_chunk_size(4096)
                c.msid = c.publish(name)
                Feed(w.rtmp, client=c, first=25 * n).head().frames(1)
                read_until(p, f"key {25 * n}")
                with Rtmp(w.rtmp) as other:
                    other.connect(app, **more)
                    other.play(name)
                    read_until(other, f"key {25 * n}")
                c.command("FCUnpublish", None, name)
                c.command("deleteStream", None, c.msid)
                c.answer(c.command("_checkbw", None))


def test_missing_tc_url_and_odd_connect_objects(weir):
    import amf0
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live", tcUrl=None, flashVer=None)
    with Rtmp(w.rtmp) as c:  # an ECMA array instead of an object
        tid = c.command("connect", amf0.Ecma({"app": "live"}))
        c.answer(tid)
    for app in (None, 5, True, {}, []):  # not a string
        with Rtmp(w.rtmp) as c:
            c.command("connect", {"app": app, "tcUrl": 7})
            with pytest.raises((Refused, Closed)):
                c.answer(c.tid)


def test_publish_access_and_play_access(weir):
    w = weir(apps="""
        , { name = "nopub"; publish = "open"; publish_access = [ "deny all" ]; }
        , { name = "noplay"; publish = "open";
            play_access = [ "deny loopback", "allow all" ]; }
        , { name = "local"; publish = "open";
            publish_access = [ "allow 127.0.0.0/8", "deny all" ];
            play_access = "allow loopback"; }
        , { name = "none"; publish = "open";
            publish_access = [ "allow 192.0.2.1" ]; }""")
    assert "allowed" in refused(w.rtmp, "nopub", "x").text
    assert refused(w.rtmp, "none", "x").code == "NetStream.Publish.BadName"
    player(w.rtmp, "nopub", "x").close()
    publisher(w.rtmp, "noplay", "x").close()
    with Rtmp(w.rtmp) as c:
        c.connect("noplay")
        with pytest.raises(Refused) as e:
            c.play("x")
        assert e.value.code.startswith("NetStream.Play.")
        c.wait_closed()
    f = Feed(w.rtmp, app="local").head().frames(2)
    with player(w.rtmp, "local", "room") as c:
        read_until(c, "video 1")
    f.stop()


def test_long_names_are_refused_with_a_reason(weir):
    w = weir()
    e = refused(w.rtmp, "live", "x" * 5000)
    assert e.code == "NetStream.Publish.BadName"
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        with pytest.raises((Refused, Closed)):
            c.play("x" * 5000)


def test_refusals_are_in_the_log_with_their_reason(weir):
    w = weir(app='publish_conflict = "refuse";')
    f = Feed(w.rtmp).head()
    text = refused(w.rtmp, "live", "room").text
    w.wait_log(r"live/room.*" + text.split()[0])
    f.stop()


def test_applications_do_not_share_names(weir):
    w = weir(apps=', { name = "other"; publish = "open"; }')
    f = Feed(w.rtmp, app="live").head().frames(1)
    g = Feed(w.rtmp, app="other", first=25).head().frames(1)
    with player(w.rtmp, "other", "room") as c:
        assert video_numbers(read_until(c, "key 25")) == [25]
    with player(w.rtmp, "live", "room") as c:
        assert video_numbers(read_until(c, "key 0")) == [0]
    f.stop()
    g.stop()


def header(n):
    return flv.AVC_HEADER + bytes([n >> 8, n & 0xff])


def test_codec_headers_that_change_too_often(weir):
    """Each takes memory that nobody can use for a while."""
    w = weir(workers=2)
    f = Feed(w.rtmp).head().frames(1)
    try:
        for n in range(200):
            f.c.send(VIDEO, header(n), f.time(), f.c.msid, csid=6)
    except OSError:
        pass
    f.c.wait_closed()
    w.wait_log("publisher stopped: its codec headers change too often")
    text = get(w.http, "/metrics").body.decode()
    assert 'weir_live_publishers_stopped_total{reason="headers"} 1' in text
    with Control(w) as c:
        assert "its codec headers change too often" in \
            [row["reason"] for row in c.json("show errors")]
    again = Feed(w.rtmp, first=100).head().frames(1)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "key 100")
    again.stop()


def test_codec_headers_of_many_tracks_and_of_spots(weir):
    """Seven tracks of each kind begin at once; later headers and metadata
    change several times, as they do at the seams of a programme."""
    w = weir()
    f = Feed(w.rtmp, gop=1).head()
    for track in range(1, 7):
        f.c.send(VIDEO, b"\x96\x00avc1" + bytes([track]) + header(track)[5:],
                 0, f.c.msid, csid=6)
        f.c.send(AUDIO, b"\x95\x00mp4a" + bytes([track, 0x12, 0x10]), 0,
                 f.c.msid, csid=4)
    for n in range(4):
        f.c.send(DATA, flv.metadata(title=f"part {n}"), f.time(), f.c.msid,
                 csid=4)
        f.c.send(VIDEO, header(n), f.time(), f.c.msid, csid=6)
        f.c.send(AUDIO, flv.AAC_HEADER + bytes([n]), f.time(), f.c.msid,
                 csid=4)
        f.frames(1)
    text = get(w.http, "/metrics").body.decode()
    assert "weir_live_headers_lost_total 0" in text
    assert 'weir_rtmp_publishers{app="live"} 1' in text
    f.stop()
