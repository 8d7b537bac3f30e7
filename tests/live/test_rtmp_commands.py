"""What clients say beside connect, publish and play."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import amf0
from feed import Feed, read_until, video_numbers
from patience import busy
from rtmp_client import (AUDIO, COMMAND, VIDEO, Refused, Rtmp, player,
                         publisher)


def test_connect_answers_in_one_write_with_what_clients_need(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        properties, info = c.connect("live")
        assert info["code"] == "NetConnection.Connect.Success"
        assert info["level"] == "status"
        assert info["objectEncoding"] == 0
        assert "fmsVer" in properties
        assert c.window > 0


def test_fourcc_list_is_answered(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        wanted = ["hvc1", "av01", "vp09", "Opus"]
        properties, info = c.connect("live", fourCcList=wanted)
        known = {**info, **properties}["fourCcList"]
        assert set(wanted) <= set(known) or "*" in known


def test_every_command_with_a_transaction_id_is_answered(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        for words in (("releaseStream", None, "room"),
                      ("FCSubscribe", "room"), ("_checkbw", None),
                      ("getStreamLength", None, "room"),
                      ("somethingNew", None, 1, "x")):
            c.answer(c.command(*words), timeout=busy(3))


def test_fcpublish_is_answered_with_onfcpublish(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("FCPublish", None, "room")
        while True:
            values = amf0.decode(c.read(COMMAND, timeout=busy(3)).payload)
            if values[0] == "onFCPublish":
                break


def test_fcsubscribe_is_answered_with_onfcsubscribe(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.command("FCSubscribe", None, "room")
        while True:
            values = amf0.decode(c.read(COMMAND, timeout=busy(3)).payload)
            if values[0] == "onFCSubscribe":
                break


def test_pause_and_resume(weir):
    w = weir()
    f = Feed(w.rtmp, gop=10).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        c.command("pause", None, True, 0, msid=c.msid)
        c.status("NetStream.Pause.Notify")
        f.frames(10)
        c.silent(0.4, VIDEO, AUDIO)
        c.command("pause", None, False, 0, msid=c.msid)
        c.status("NetStream.Unpause.Notify")
        f.frames(10)
        numbers = video_numbers(read_until(c, "video 22"))
        assert numbers[0] % 10 == 0, "does not go on at a key frame"
        assert numbers == list(range(numbers[0], 23))
    f.stop()


def test_resume_does_not_wait_for_a_key_frame(weir):
    """The next one is far: it goes on where it stopped, and its time never
    goes back; also when the publisher has come back meanwhile."""
    w = weir(hold="1h")
    f = Feed(w.rtmp, gop=250).head().frames(10)
    with player(w.rtmp, "live", "room") as c:
        got = read_until(c, "video 9")
        for first, count in ((10, 5), (15, 75)):
            c.command("pause", None, True, 0, msid=c.msid)
            c.status("NetStream.Pause.Notify")
            f.frames(count)
            c.command("pause", None, False, 0, msid=c.msid)
            c.status("NetStream.Unpause.Notify")
            got += read_until(c, f"video {first + count - 1}")
        assert video_numbers(got) == list(range(90))
        times = [m.time for m in got if m.type in (AUDIO, VIDEO)]
        assert times == sorted(times)
        c.command("pause", None, True, 0, msid=c.msid)
        c.status("NetStream.Pause.Notify")
        f.c.close()
        f = Feed(w.rtmp, gop=250, first=250).head().frames(1)
        f.frames(2)
        c.command("pause", None, False, 0, msid=c.msid)
        more = read_until(c, "video 252")
        assert video_numbers(more) == [250, 251, 252]
        assert [m.time for m in more if m.type == VIDEO][0] >= times[-1]
    f.stop()


def test_receive_audio_off_and_on(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        c.command("receiveAudio", None, False, msid=c.msid)
        c.answer(c.command("_checkbw", None))  # it was heard
        f.frames(3)
        got = read_until(c, "video 5")
        assert [m.type for m in got] == [VIDEO] * 3
        c.command("receiveAudio", None, True, msid=c.msid)
        c.answer(c.command("_checkbw", None))
        f.frames(3)
        got = read_until(c, "video 8")
        assert [m.type for m in got].count(AUDIO) >= 3
    f.stop()


def test_receive_video_off_and_on_goes_on_at_a_key_frame(weir):
    w = weir()
    f = Feed(w.rtmp, gop=10).head().frames(3)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 2")
        c.command("receiveVideo", None, False, msid=c.msid)
        c.answer(c.command("_checkbw", None))
        f.frames(3)
        got = read_until(c, "audio 5")
        assert VIDEO not in [m.type for m in got]
        c.command("receiveVideo", None, True, msid=c.msid)
        c.answer(c.command("_checkbw", None))
        f.frames(10)
        numbers = video_numbers(read_until(c, "video 15"))
        assert numbers[0] in (0, 10)
        assert numbers[-1] == 15
    f.stop()


def test_two_publishes_on_one_connection(weir):
    w = weir()
    with Rtmp(w.rtmp) as p:
        p.connect("live")
        p.set_chunk_size(4096)
        one = p.publish("a")
        two = p.publish("b")
        assert one != two
        for name, msid, first in (("a", one, 0), ("b", two, 100)):
            p.msid = msid
            Feed(w.rtmp, client=p, first=first).head().frames(2)
            with player(w.rtmp, "live", name) as c:
                assert video_numbers(read_until(c, f"video {first + 1}")) \
                    == [first, first + 1]


def test_publish_and_play_on_one_connection(weir):
    w = weir()
    with Rtmp(w.rtmp) as p:
        p.connect("live")
        p.set_chunk_size(4096)
        p.msid = p.publish("a")
        Feed(w.rtmp, client=p).head().frames(2)
        p.play("a")
        assert video_numbers(read_until(p, "video 1")) == [0, 1]


def test_delete_stream_stops_media_and_frees_the_id(weir):
    w = weir()
    f = Feed(w.rtmp).head().frames(2)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 1")
        c.command("deleteStream", None, c.msid)
        c.answer(c.command("_checkbw", None))
        f.frames(3)
        c.silent(0.4, VIDEO)
        for _ in range(50):  # ids come back
            msid = c.create_stream()
            c.command("deleteStream", None, msid)
    f.stop()


def test_publish_types(weir):
    """"live" and "record" and "append" publish; weir records nothing."""
    w = weir()
    for kind in ("live", "record", "append", "LIVE", None):
        with Rtmp(w.rtmp) as p:
            p.connect("live")
            msid = p.create_stream()
            words = ["publish", None, f"r{kind}"] + ([kind] if kind else [])
            p.command(*words, msid=msid)
            p.status("NetStream.Publish.Start")


def test_second_connect_is_an_error_and_harmless(weir):
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        try:
            c.connect("live")
        except (Refused, OSError, Exception):  # noqa: closing is fine too
            pass
    with Rtmp(w.rtmp) as c:
        c.connect("live")


@pytest.mark.parametrize("start", [-2, -1, -1000, -2000, 0, 5])
def test_play_start_values(weir, start):
    w = weir()
    f = Feed(w.rtmp).head().frames(2)
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        msid = c.create_stream()
        c.command("play", None, "room", start, msid=msid)
        c.status("NetStream.Play.Start")
        read_until(c, "video 1")
    f.stop()


def test_buffer_length_before_create_stream(weir):
    """librtmp says SetBufferLength for stream 0 first."""
    w = weir()
    f = Feed(w.rtmp).head().frames(2)
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.control(3, 0, 3000)
        c.play("room")
        c.control(3, 1, 3000)
        read_until(c, "video 1")
    f.stop()


def test_publisher_hears_nothing_of_other_publishers(weir):
    w = weir()
    with publisher(w.rtmp, "live", "a") as p:
        f = Feed(w.rtmp, "b").head().frames(3)
        p.silent(0.3, VIDEO, AUDIO, COMMAND)
        f.stop()


@pytest.mark.parametrize("app", ["live", "live/inst"])
@pytest.mark.parametrize("name", [False, "", None])
def test_publish_without_a_name_ends_it(weir, app, name):
    """Flash says publish(false), Wirecast an empty name.  The connection and
    the NetStream are there for the next one."""
    w = weir(hold="100ms")
    with Rtmp(w.rtmp) as p:
        p.connect(app)
        msid = p.publish("room")
        for more in ("other", "room"):
            p.command("publish", None, name, "live", msid=msid, tid=0)
            p.status("NetStream.Unpublish.Success")
            p.publish(more, msid=msid)
    w.wait_log("closeStream", count=2)


@pytest.mark.parametrize("name", [False, "", None])
def test_play_without_a_name_ends_it(weir, name):
    w = weir()
    f = Feed(w.rtmp).head().frames(2)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 1")
        c.command("play", None, name, msid=c.msid, tid=0)
        c.status("NetStream.Play.Stop")
        f.frames(2)
        c.answer(c.command("_checkbw", None))
        assert VIDEO not in [m.type for m in c.kept]
        c.play("room", msid=c.msid)
        read_until(c, "video 3")
    f.stop()


def test_false_for_a_name(weir):
    """Where nothing is done, it ends nothing, and names nothing."""
    w = weir()
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        msid = c.create_stream()
        for word in ("publish", "play"):
            c.command(word, None, False, msid=msid, tid=0)
        c.publish("room", msid=msid)
