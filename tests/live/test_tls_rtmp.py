"""RTMPS: real publishers and players, players that do not keep up."""
# SPDX-License-Identifier: BSD-2-Clause

import socket
import time

import pytest

import media
import proxy_header
from control_client import Control, wait_players
from feed import Feed, kinds, read_until, video_numbers
from patience import busy
from rtmp_client import Refused, Rtmp
from stat_client import LOCATION, livestat, rows
from tls_files import context, listen
from weir import SANITIZED, read_text, resident, wait_for


@pytest.fixture
def rtmps(weir, certificates):
    """A weir with RTMPS (first) and RTMP, HTTPS and HTTP."""
    def start(**parts):
        both = listen(certificates.group("localhost"), "127.0.0.1:0")
        return weir(rtmp_listen=both, http_listen=both, **parts)
    return start


def rtmps_url(w, name):
    return f"rtmps://127.0.0.1:{w.port('rtmps')}/live/{name}"


def player(w, root, name="room", **more):
    c = Rtmp(w.port("rtmps"), tls=context(root), **more)
    c.connect("live")
    c.play(name, wait=False)
    return c


def test_ffmpeg_publishes_and_plays(rtmps, tool, sample, tmp_path):
    w = rtmps(workers=2, hold="300ms")
    outs = [tmp_path / f"out{i}.flv" for i in range(3)]
    urls = (rtmps_url(w, "room"), w.rtmp_url("room"), w.flv_url("room"))
    players = [tool(media.ffmpeg_record(url, out))
               for url, out in zip(urls, outs)]
    wait_players(w, 3)
    tool(media.ffmpeg_publish(sample, rtmps_url(w, "room"))).wait()
    for p in players:
        p.wait()
    want = media.by_stream(media.packets(sample))
    for out in outs:
        assert media.by_stream(media.packets(out)) == want
    w.wait_log(r"rtmps 127\.0\.0\.1:\d+: closed after", count=2)


def test_a_publisher_over_rtmp_and_players_over_rtmps(rtmps, certificates):
    w = rtmps(workers=4, live='window = "60s";')
    players = [player(w, certificates.root) for _ in range(8)]
    f = Feed(w.rtmp, size=20_000).head()
    for n in range(60):
        f.frame()
    for c in players:
        got = read_until(c, "video 59")
        assert video_numbers(got) == list(range(60))
        c.close()
    f.stop()


def test_a_publisher_over_rtmps(rtmps, certificates):
    w = rtmps(workers=2, live='window = "60s"; max_stream_memory = "32M";')
    with Rtmp(w.rtmp) as c:
        c.connect("live")
        c.play("room", wait=False)
        ours = Rtmp(w.port("rtmps"), tls=context(certificates.root))
        ours.connect("live")
        ours.set_chunk_size(4096)
        ours.msid = ours.publish("room")
        f = Feed(None, size=100_000, client=ours).head().frames(40)
        assert video_numbers(read_until(c, "video 39")) == list(range(40))
        f.stop()


def test_a_slow_player_skips_and_stays_whole(rtmps, certificates):
    """What waits in the middle of a record is finished first."""
    w = rtmps(live='window = "30s"; max_stream_memory = "4M";')
    c = player(w, certificates.root, receive_buffer=8192)
    f = Feed(w.rtmp, size=60_000, gop=10).head()
    for _ in range(250):  # more than sockets and window hold: 15 MB
        f.frame()
        time.sleep(0.005)
    got = read_until(c, "video 249", timeout=30)
    numbers = video_numbers(got)
    assert numbers == sorted(numbers)
    assert len(numbers) < 250, "nothing was skipped: the test is too weak"
    for a, b in zip(numbers, numbers[1:]):
        assert b == a + 1 or b % 10 == 0, f"{a} then {b}"
    back = [(a.time, b.time, kinds([a, b])) for a, b in zip(got, got[1:])
            if b.time < a.time]
    assert not back
    c.close()
    f.stop()


def test_players_that_never_read_cost_one_record(rtmps, certificates):
    w = rtmps(live='window = "1s"; max_stream_memory = "8M";')
    stuck = [player(w, certificates.root, receive_buffer=4096)
             for _ in range(20)]
    healthy = player(w, certificates.root)
    before = resident(w.workers()[0])
    f = Feed(w.rtmp, size=20_000, gop=25).head()
    for n in range(100):
        f.frame()
        got = read_until(healthy, f"{'key' if n % 25 == 0 else 'video'} {n}")
        assert video_numbers(got) == [n]
    limit = 200 << 20 if SANITIZED else 8 << 20
    assert resident(w.workers()[0]) - before < limit
    for c in stuck + [healthy]:
        c.close()
    f.stop()


def test_plain_rtmp_to_the_rtmps_port_and_back(rtmps, certificates):
    w = rtmps()
    with socket.create_connection(("127.0.0.1", w.port("rtmps")), busy(10)) as s:
        s.sendall(b"\x03" + bytes(1536))
        try:
            assert s.recv(1) == b""
        except ConnectionResetError:
            pass
    w.wait_log("not TLS .but plain RTMP.*takes rtmps only")
    with pytest.raises(OSError):
        Rtmp(w.rtmp, tls=context(certificates.root))
    w.wait_log("not RTMP but TLS: this address takes plain RTMP only")


def test_a_drain_lets_sessions_end(rtmps, certificates):
    w = rtmps(top='stop_drain = "1h";')
    c = player(w, certificates.root)
    f = Feed(w.rtmp).head().frames(2)
    read_until(c, "video 1")
    half = socket.create_connection(("127.0.0.1", w.port("rtmps")), busy(10))
    half.sendall(b"\x16\x03")
    wait_for(lambda: w.worker_of(half), 5)
    w.kill(3)  # QUIT
    w.wait_log("drains: 3 connections are open")
    f.frame()
    read_until(c, "video 2")
    half.close()
    c.close()
    f.stop()
    assert w.wait_exit() == 0


# By a proxy that has ended TLS before weir.
OVER_TLS = proxy_header.v2(fields=proxy_header.field(
    0x20, b"\x01\0\0\0\0"))
PROXIED = '{ address = "127.0.0.1:0"; proxy_protocol = true; }'


def plain_way(w, _):
    return {"port": w.rtmp}


def tls_way(w, root):
    return {"port": w.port("rtmps"), "tls": context(root)}


def proxy_way(w, _):
    return {"port": w.port("rtmp", 1), "before": proxy_header.v2()}


def tls_proxy_way(w, _):
    return {"port": w.port("rtmp", 1), "before": OVER_TLS}


@pytest.mark.parametrize("way, name", [
    (plain_way, "rtmp"), (tls_way, "rtmps"), (proxy_way, "rtmp"),
    (tls_proxy_way, "rtmps")])
def test_tls_is_told_wherever_a_protocol_is(weir, certificates, way, name):
    w = weir(rtmp_listen=listen(certificates.group("localhost"),
                                "127.0.0.1:0") + ", " + PROXIED,
             rtmp='trusted_proxies = "127.0.0.1"; '
             'access_log = "run/rtmp.log"; '
             'access_log_format = "$scheme $command";',
             apps=', { name = "shut"; play_access = "deny all"; }',
             locations=LOCATION)

    def connect(app="live"):
        c = Rtmp(**way(w, certificates.root))
        c.connect(app, tcUrl="without a scheme")
        return c
    c, p, refused = connect(), connect(), connect("shut")
    c.publish("room")
    p.play("room")
    with pytest.raises(Refused):
        refused.play("room")
    told = wait_for(lambda: len(s := rows(w, "sessions")) == 2 and s)
    assert [s["protocol"] for s in told] == [name, name]
    assert [s["url"].split(":")[0] for s in told] == [name, name]
    assert rows(w, "streams")[0]["publisher"]["protocol"] == name
    assert livestat(w)["players"][0]["url"].startswith(name + ":")
    with Control(w) as control:
        assert {s["protocol"] for s in control.json("show sess")} == {name}
        assert [e["proto"] for e in control.json("show errors")] == [name]
    for s in (c, p, refused):
        s.close()
    w.wait_log(rf"{name} [\d.]+:\d+: closed after", count=3)
    w.wait_log(rf"{name} [\d.]+:\d+: play shut/room refused")
    log = wait_for(lambda: len(t := read_text(
        f"{w.prefix}/run/rtmp.log").split("\n")) == 4 and t)
    assert sorted(log) == ["", f"{name} PLAY", f"{name} PLAY",
                           f"{name} PUBLISH"]
