"""Names that players give to live streams as if they were files."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import media
from control_client import Control, wait_players
from feed import Feed, read_until
from rtmp_client import player, publisher
from stat_client import LOCATION, rows
from weir import wait_for

# Published, asked for, played.
NAMES = [
    ("room", "mp4:room", "room"),
    ("room", "flv:room", "room"),
    ("room", "mp3:room", "room"),
    ("room", "room.flv", "room"),
    ("room", "mp4:room.mp4", "room"),
    ("room", "mp4:room.f4v?token=x", "room"),
    ("inst/room", "inst/mp4:room", "inst/room"),
    ("room.mp4", "mp4:room.mp4", "room.mp4"),
    ("room.flv", "room.flv", "room.flv"),
    ("mp4:room", "mp4:room.mp4", "mp4:room"),
    ("mp4:room.f4v", "mp4:room.f4v", "mp4:room.f4v"),  # as FMLE does
]


def playing(w):
    return [s["key"] for s in rows(w, "sessions") if s["role"] == "player"]


@pytest.mark.parametrize("published, asked, played", NAMES)
def test_a_name_like_a_file_plays_the_stream(weir, published, asked, played):
    """And is told as the stream's."""
    w = weir(locations=LOCATION)
    f = Feed(w.rtmp, published).head().frames(2)
    with player(w.rtmp, "live", asked) as p:
        read_until(p, "video 1")
        assert wait_for(lambda: playing(w)) == [f"live/{played}"]
    f.stop()


def test_the_own_name_goes_first(weir):
    """Also of a stream on hold."""
    w = weir(locations=LOCATION, hold="1h")
    f = Feed(w.rtmp, "room").head().frames(2)
    g = Feed(w.rtmp, "mp4:room").head().frames(2)
    g.c.close()
    wait_for(lambda: {s["key"]: s["state"] for s in rows(w, "streams")} ==
             {"live/room": "live", "live/mp4:room": "hold"})
    with player(w.rtmp, "live", "mp4:room") as p:
        assert wait_for(lambda: playing(w)) == ["live/mp4:room"]
        Feed(w.rtmp, "mp4:room", first=50).head().frames(1)
        read_until(p, "key 50")
    f.stop()


def test_a_stream_on_hold_is_meant_too(weir):
    w = weir(hold="1h")
    f = Feed(w.rtmp, "room").head().frames(2)
    f.c.close()
    with Control(w) as c:
        wait_for(lambda: c.json("show streams")[0]["state"] == "hold")
    with player(w.rtmp, "live", "room.flv") as p:
        wait_players(w, 1)
        f = Feed(w.rtmp, "room", first=50).head().frames(1)
        read_until(p, "key 50")
    f.stop()


def test_who_comes_first_waits_for_the_name_as_it_is(weir):
    w = weir(locations=LOCATION)
    with player(w.rtmp, "live", "mp4:room.mp4") as p:
        assert wait_for(lambda: playing(w)) == ["live/mp4:room.mp4"]
        f = Feed(w.rtmp, "mp4:room.mp4").head().frames(2)
        read_until(p, "video 1")
        f.stop()


def test_publishers_keep_their_names(weir):
    w = weir(locations=LOCATION)
    f = Feed(w.rtmp, "room").head().frames(2)
    with publisher(w.rtmp, "live", "mp4:room.flv"):
        assert wait_for(lambda: len(s := rows(w, "streams")) == 2 and s)
        assert {s["key"] for s in rows(w, "streams")} == \
            {"live/room", "live/mp4:room.flv"}
    f.stop()


@pytest.mark.once
@pytest.mark.parametrize("name", ["room.flv", "room.mp4", "mp4:room",
                                  "room.mp3"])
def test_tools_play_what_they_take_for_files(weir, tool, sample, name):
    """ffmpeg and librtmp make "mp4:room.mp4" of the second, and librtmp
    "mp3:room" of the last."""
    w = weir()
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"), 1.0, for_ever=True))
    with Control(w) as c:
        wait_for(lambda: c.json("show streams"))
    media.check(["ffmpeg", *media.QUIET, "-y", "-t", "1", "-i",
                 w.rtmp_url(name), "-c", "copy", "-f", "null", "-"])
    tool(media.Tool("rtmpdump", "-q", "--live", "--stop", "1", "-r",
                    w.rtmp_url(name), "-o", "/dev/null")).wait()
