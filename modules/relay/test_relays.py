"""Relays: streams pulled from and pushed to other servers."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import time

import pytest

import media
from control_client import Control
from feed import (Feed, kinds, number, read_two_keys, read_until,
                  video_numbers)
from patience import busy
from remote import Nginx
from rtmp_client import AUDIO, VIDEO, player
from tls_files import context, listen
from weir import descendants, free_port, run, title, wait_for

EGRESS = 'egress = [ "allow loopback", "allow all" ];'


def push(*urls):
    return "push = ( " + ", ".join(f'"{u}"' for u in urls) + " );"


def pull(**named):
    return "pull = ( " + ", ".join(
        f'{{ name = "{n}"; url = "{u}"; }}' for n, u in named.items()) + " );"


def relayer(w):
    return wait_for(lambda: next((p for p in descendants(w.pid) if title(p) ==
                                  "weir: relayer"), None), 5, "the relayer")


def state(w, relay, word, *, count=1, timeout=10):
    return w.wait_log(rf"relay {re.escape(relay)}: {word}", timeout, count)


@pytest.fixture
def nginx(tmp_path):
    """Starts an nginx; each is killed when the test is over."""
    running = []

    def start(**parts):
        running.append(Nginx(tmp_path / f"nginx{len(running)}", **parts))
        return running[-1]

    yield start
    for n in running:
        n.kill()


def check_whole(messages):
    """Frames follow one another from the first."""
    numbers = video_numbers(messages)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def read_frames(p, first, seconds):
    """Until a frame of that number or a later one."""
    end = time.monotonic() + busy(seconds)
    while True:
        m = p.read(AUDIO, VIDEO, timeout=max(0.01, end - time.monotonic()))
        if m.payload[1] == 1 and number(m.payload) >= first:
            return


def check_delays(w, relay):
    """It was to try again every second at first, then ever more seldom: what
    decides how soon it is back, on however slow a machine."""
    delays = [int(ms) for ms in re.findall(
        rf"relay {re.escape(relay)}: again in (\d+) ms", w.log())]
    assert delays
    for i, ms in enumerate(delays):
        assert 1000 <= ms <= min(1250 << max(0, i - 3), 30000), delays


def attempts(w, relay):
    return len(re.findall(rf"relay {re.escape(relay)}: connecting(?: \(to \S+\))?\n", w.log())) \
        + len(re.findall(rf"relay {re.escape(relay)}: connecting: (?!connected)",
                         w.log()))


# ---- what goes through ----

def test_push_to_nginx(weir, nginx):
    n = nginx()
    w = weir(top=EGRESS, app=push(f"rtmp://127.0.0.1:{n.port}/live"))
    with player(n.port, "live", "a") as p:
        f = Feed(w.rtmp, "a").head().frames(30)
        got = read_until(p, "video 29")
        f.frames(30)
        got += read_until(p, "video 59")
        # The metadata is the stream's own, and the remote keeps it.
        assert kinds(got)[0] == "meta"
        assert {"audio header", "video header"} < set(kinds(got))
        check_whole(got)
        f.stop()


def test_pull_from_nginx(weir, nginx):
    n = nginx()
    w = weir(top=EGRESS, app=pull(b=n.url("a")))
    with player(w.rtmp, "live", "b") as p:
        f = Feed(n.port, "a").head().run()
        got = read_until(p, "video 60")
        assert kinds(got)[0] == "meta"
        check_whole(got)
        f.stop()


def test_packet_for_packet_over_three_weirs(weir, sample, tool, tmp_path):
    """Published to one, pushed to the next, pulled by the last."""
    b = weir(top=EGRESS)
    a = weir(top=EGRESS, app=push(b.rtmp_url("x")))
    c = weir(top=EGRESS, app=pull(z=b.rtmp_url("x")))
    got = tmp_path / "got.flv"
    r = tool(media.ffmpeg_record(c.rtmp_url("z"), got))
    tool(media.ffmpeg_publish(sample, a.rtmp_url("y"), 2.0)).wait()
    r.wait()
    ours, theirs = (media.by_stream(media.packets(f)) for f in (got, sample))
    for stream in (0, 1):
        assert len(theirs[stream]) > 100
        kept = ours[stream]
        # The pull begins a moment later than the push: at a key frame.
        assert [p[1:] for p in kept] == \
            [p[1:] for p in theirs[stream]][-len(kept):]
        assert len(kept) > len(theirs[stream]) / 2


def test_rtmps_is_verified(weir, certificates):
    there = weir(rtmp_listen=listen(certificates.group("localhost")))
    url = f"rtmps://localhost:{there.port('rtmps')}/live/a"
    good = weir(top=EGRESS + f'relays = {{ tls_ca = "{certificates.root}"; }};',
                app=push(url))
    bad = weir(top=EGRESS, app=push(url))
    f = Feed(good.rtmp, "a").head().frames(10)
    g = Feed(bad.rtmp, "a").head().frames(10)
    state(good, "push live/a", "running")
    state(bad, "push live/a", "backing off: .*certificate verify failed")
    with player(there.port("rtmps"), "live", "a",
                tls=context(certificates.root)) as p:
        f.frames(30)
        read_until(p, "video 39")
    f.stop()
    g.stop()


def test_names_and_secrets_of_urls(weir):
    """User, password, deep path and query reach the remote; no log has
    them."""
    there = weir(apps=', { name = "deep"; publish = "open"; }')
    url = f"rtmp://us:pa55word@127.0.0.1:{there.rtmp}/deep/inst/k3y?t=s3cret"
    w = weir(top=EGRESS, app=push(url))
    f = Feed(w.rtmp, "a").head().frames(5)
    state(w, "push live/a", "running")
    there.wait_log("stream deep/inst/k3y: published")
    f.stop()
    w.stop()
    for secret in ("pa55word", "k3y", "s3cret"):
        assert secret not in w.log()


# ---- remotes that go ----

def test_pushed_to_a_remote_that_is_killed(weir, nginx):
    n = nginx()
    w = weir(top=EGRESS, app=push(n.url("x")))
    f = Feed(w.rtmp, "a").head().run()
    state(w, "push live/a", "running")
    n.kill()
    state(w, "push live/a", "backing off")
    n.start()
    tried = attempts(w, "push live/a")
    with player(n.port, "live", "x") as p:
        read_until(p, "meta", 10)
        p.read(VIDEO, timeout=busy(10))
    assert attempts(w, "push live/a") <= tried + 1
    check_delays(w, "push live/a")
    f.stop()


def test_pulled_from_a_remote_that_is_killed(weir, nginx):
    n = nginx()
    w = weir(top=EGRESS, hold="1h", app=pull(b=n.url("a")))
    with player(w.rtmp, "live", "b") as p:
        f = Feed(n.port, "a").head().run()
        read_two_keys(p)
        n.kill()
        state(w, "pull live/b", "backing off")
        n.start()
        tried = attempts(w, "pull live/b")
        g = Feed(n.port, "a", first=1000).head().run()
        read_frames(p, 1000, 10)
        assert attempts(w, "pull live/b") <= tried + 1
        check_delays(w, "pull live/b")
        f.stop()
        g.stop()


def test_pulled_over_rtmps_from_a_remote_that_is_killed(weir, certificates):
    port = free_port()
    there = weir(rtmp_listen=f'{{ address = "127.0.0.1:{port}"; '
                 f'{certificates.group("localhost")} }}, "127.0.0.1:0"')
    w = weir(top=EGRESS + f'relays = {{ tls_ca = "{certificates.root}"; }};',
             hold="1h", app=pull(b=f"rtmps://localhost:{port}/live/a"))
    f = Feed(there.rtmp, "a").head().run()
    with player(w.rtmp, "live", "b") as p:
        read_two_keys(p)
        there.end_all()
        state(w, "pull live/b", "backing off")
        there.start()
        tried = attempts(w, "pull live/b")
        g = Feed(there.rtmp, "a", first=1000).head().run()
        read_frames(p, 1000, 10)
        assert attempts(w, "pull live/b") <= tried + 1
        check_delays(w, "pull live/b")
    f.stop()
    g.stop()


def test_a_silent_remote_is_noticed(weir, nginx):
    n = nginx()
    w = weir(top=EGRESS + 'relays = { idle_timeout = "1s"; };',
             app=pull(b=n.url("a")))
    f = Feed(n.port, "a").head().run()
    state(w, "pull live/b", "running")
    n.pause()
    state(w, "pull live/b", "backing off: the remote sent no media", timeout=4)
    n.pause(False)
    state(w, "pull live/b", "running", count=2)
    f.stop()


# ---- the local side ----

def test_push_waits_for_the_stream_and_leaves_it(weir):
    there = weir()
    w = weir(top=EGRESS, hold="4s",
             app=f'push = ( {{ name = "a"; url = "{there.rtmp_url("x")}"; }} );')
    state(w, "push live/a", "waiting for the local stream")
    assert "live/x" not in there.log()
    f = Feed(w.rtmp, "a").head().frames(5)
    state(w, "push live/a", "running")
    f.stop()
    state(w, "push live/a", "waiting for the local stream: the local publisher")
    f = Feed(w.rtmp, "a").head().frames(5)  # within hold: the same session
    state(w, "push live/a", "running", count=2)
    f.stop()
    state(w, "push live/a", "waiting for the local stream: the stream is over")
    there.wait_log("stream live/x: publisher left")
    assert len(re.findall("stream live/x: published", there.log())) == 1


def test_pull_never_replaces_a_local_publisher(weir):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = weir(top=EGRESS, app=pull(a=there.rtmp_url("x")) +
             'publish_conflict = "replace";')
    state(w, "pull live/a", "running")
    g = Feed(w.rtmp, "a").head().frames(30)  # takes the name
    state(w, "pull live/a", "local publisher present")
    with player(w.rtmp, "live", "a") as p:
        g.frames(20)
        read_until(p, "video 49")
    w.wait_log("replaced")
    g.stop()
    state(w, "pull live/a", "running", count=2)
    f.stop()


# ---- a stream to itself ----

def test_relay_to_itself_is_found_in_the_file(weir):
    w = weir()
    own, other = free_port(), free_port()
    for relay, wrong in (
            (push(f"rtmp://127.0.0.1:{own}/live"), True),
            (push(f"rtmp://localhost:{own}/live"), True),
            (push(f"rtmp://127.0.0.1:{own}/other"), False),
            (push(f"rtmp://127.0.0.1:{other}/live"), False),
            (pull(a=f"rtmp://[::1]:{own}/live/a"), True),
            (pull(a=f"rtmp://[::1]:{own}/live/b"), False)):
        w.set_config(top=EGRESS, app=relay, rtmp_listen=f'"{own}"')
        done = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
        assert (done.returncode == 1) == wrong, (relay, done.stderr)
        assert ("relay of a stream to itself" in done.stderr) == wrong


def test_a_remote_that_egress_refuses_is_found_in_the_file(weir):
    w = weir()
    for url, rules, wrong in (
            ("rtmp://10.1.0.7/live/a", "", True),
            ("rtmp://127.0.0.1:19351/live/a", "", True),
            ("rtmp://localhost:19351/live/a", "", True),
            ("rtmp://10.1.0.7/live/a", 'egress = "allow 10.1.0.0/16";', False),
            ("rtmp://camera.example/live/a", "", False)):
        for relay in (push(url), pull(a=url)):
            w.set_config(top=rules, app=relay)
            done = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
            assert (done.returncode == 1) == wrong, (relay, done.stderr)
            assert (": egress: " in done.stderr) == wrong


def test_relay_to_itself_is_refused_when_it_runs(weir):
    """Port 0: the file does not tell which address is our own."""
    w = weir(top=EGRESS)
    w.set_config(top=EGRESS, app=f'push = ( {{ name = "a"; '
                 f'url = "rtmp://127.0.0.1:{w.rtmp}/live"; }} );' +
                 pull(p=w.rtmp_url("p")))
    w.reload()
    f = Feed(w.rtmp, "a").head().frames(5)
    state(w, "push live/a", "backing off: .*relay of a stream to itself")
    state(w, "pull live/p", "backing off: .*relay of a stream to itself")
    f.frames(5)
    f.stop()


# ---- the life of the relayer ----

def check_at_once(w, relay):
    """The relayer that was killed was started again without delay, and the
    relay connected once in each of their lives."""
    assert "relayer starts again in" not in w.log()
    assert attempts(w, relay) == 2
    assert f"relay {relay}: again in" not in w.log()


def test_reload_changes_only_what_changed(weir):
    one, two = weir(), weir()
    f = Feed(one.rtmp, "s", size=3000).head().run(4)
    parts = {"a": one.rtmp_url("s"), "b": one.rtmp_url("s")}
    w = weir(top=EGRESS, app=pull(**parts))
    state(w, "pull live/a", "running")
    state(w, "pull live/b", "running")
    pid = relayer(w)
    with player(w.rtmp, "live", "a") as p:
        got = read_until(p, f"key {(f.next // 25 + 2) * 25}")
        w.set_config(top=EGRESS, app=pull(a=parts["a"],
                                          c=one.rtmp_url("s")) +
                     push(two.rtmp_url("t")))
        w.reload()
        state(w, "pull live/c", "running")
        w.wait_log("relay pull live/b: ended")
        two.wait_log("stream live/t: published")
        later = f.next + 50
        got += read_until(p, f"{'key' if later % 25 == 0 else 'video'} {later}")
        check_whole(got)
    assert relayer(w) == pid
    assert len(re.findall("relay pull live/a: running", w.log())) == 1
    f.stop()


def test_relayer_that_is_killed_comes_back(weir):
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = weir(top=EGRESS, hold="1h", app=pull(a=there.rtmp_url("x")))
    with player(w.rtmp, "live", "a") as p:
        read_two_keys(p)
        pid = relayer(w)
        os.kill(pid, signal.SIGKILL)
        state(w, "pull live/a", "running", count=2)
        check_at_once(w, "pull live/a")
        f.stop()
        number = f.next // 25 * 25 + 25  # a key frame
        f = Feed(there.rtmp, "x", first=number).head().frames(30)
        read_until(p, f"video {number + 29}")
    assert relayer(w) != pid
    f.stop()


def relayer_connections(c):
    return next((row.split()[6] for row in c.ask("show proc")
                 if "relayer" in row), None)


def test_a_drain_does_not_wait_for_relays(weir):
    """They go on for as long as the remote sends."""
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    w = weir(top=EGRESS + 'stop_drain = "3h";',
             app=pull(a=there.rtmp_url("x")))
    state(w, "pull live/a", "running")
    with Control(w) as c:
        wait_for(lambda: relayer_connections(c) == "1", what="its connection")
    assert w.stop(signal.SIGQUIT) == 0
    f.stop()


def test_without_relays_there_is_no_relayer(weir):
    there = weir()
    f = Feed(there.rtmp, "x").head().frames(5)
    w = weir(top=EGRESS)
    assert "weir: relayer" not in [title(p) for p in descendants(w.pid)]
    w.set_config(top=EGRESS, app=pull(a=there.rtmp_url("x")))
    w.reload()
    f.frames(30)
    state(w, "pull live/a", "running")
    w.set_config(top=EGRESS)
    w.reload()
    wait_for(lambda: "weir: relayer" not in
             [title(p) for p in descendants(w.pid)], 5, "the relayer's end")
    f.stop()
