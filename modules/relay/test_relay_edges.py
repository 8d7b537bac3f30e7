"""Relays whose configuration changes under them, and what is told of them."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import re
import signal
import socket
import time

import pytest

from control_client import ctl
from feed import Feed
from http_client import get
from remote import Nginx
from test_relay_api import CONTROL, OK, control, relayer, relays, task
from weir import run, wait_for

__all__ = ["control"]
OPEN = 'egress = [ "allow loopback", "allow all" ];'
SHUT = 'egress = [ "deny loopback", "allow all" ];'
NOBODY = "rtmp://127.0.0.1:1/live/x"


@contextlib.contextmanager
def black_hole():
    """A port whose queue is full: who connects to it gets no answer."""
    with contextlib.ExitStack() as stack:
        s = stack.enter_context(socket.socket())
        s.bind(("127.0.0.1", 0))
        s.listen(0)
        for _ in range(4):
            c = stack.enter_context(socket.socket())
            c.setblocking(False)
            c.connect_ex(s.getsockname())
        yield s.getsockname()[1]


def shown(w, name="a"):
    return next((t for t in relays(w) if t["name"] == name), None)


def test_connecting_while_egress_changes(control):
    """The attempt under way is judged by the rules in force."""
    with black_hole() as port:
        w = control(top=OPEN)
        # One of weir.conf would be a mistake that the reload finds.
        assert task(w, url=f"rtmp://127.0.0.1:{port}/live/x") == OK
        wait_for(lambda: (shown(w) or {}).get("attempts"), 3)
        assert shown(w)["state"] == "connecting"

        def shut_and_open(times):
            """Seconds until it goes on."""
            w.set_config(top=SHUT, locations=CONTROL)
            w.reload()
            w.wait_log("relay pull live/a: backing off: egress: 127.0.0.1 is "
                       'refused by "deny loopback"', 3, times)
            w.set_config(top=OPEN, locations=CONTROL)
            w.reload()
            begin = time.monotonic()
            wait_for(lambda: shown(w)["state"] == "connecting")
            return time.monotonic() - begin
        # It does not sit out the time for what is allowed now: 1 s and more
        # each time.
        assert any(shut_and_open(n) < 0.8 for n in range(1, 6))


def test_what_became_wrong_can_be_stopped(control):
    w = control(top=OPEN, apps=', { name = "more"; publish = "open"; }')
    for app in ("live", "more"):
        assert task(w, app=app, url=NOBODY) == OK
        assert task(w, app=app, name="b", url=NOBODY) == OK
    w.set_config(top=SHUT, locations=CONTROL)
    w.reload()
    assert task(w, name="c", url=NOBODY)[0] == 403
    assert task(w, app="more", name="c", url=NOBODY)[0] == 404
    for app in ("live", "more"):
        assert task(w, app=app, oper="stop", url=NOBODY) == OK
        assert ctl(w, "relay", "stop", "pull", app, "b").returncode == 0
        assert task(w, app=app, oper="stop", url=NOBODY)[0] == 404
    wait_for(lambda: relays(w) == [], 3, "an empty list")


def test_wait_tells_nothing_of_other_relays(control):
    w = control(top=OPEN)
    assert "refused" in task(w, name="other", url=NOBODY, wait=3)[1]
    pid = relayer(w)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert task(w, url=NOBODY, wait=1) == \
            (502, "the relayer has not begun with it")
    finally:
        os.kill(pid, signal.SIGCONT)


def test_urls_are_not_in_the_access_log(control):
    w = control(top=OPEN)
    url = "rtmp://me:pa55word@127.0.0.1:1/live/k3y?t=s3cret"
    assert task(w, "push", url=url) == OK
    get(w.http, "/control/push?oper=start&app=live&name=b&url=" + url)
    w.wait_access_log("name=b")
    w.stop()
    text = w.access_log() + w.log()
    for secret in ("pa55word", "k3y", "s3cret"):
        assert secret not in text


# ---- whom rtmps:// remotes are verified with ----

def test_a_system_without_cas(weir, monkeypatch):
    """What needs none of them works."""
    there = weir()
    f = Feed(there.rtmp, "x").head().run()
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    w = weir(top=OPEN, app='pull = ( { name = "a"; url = "' +
             there.rtmp_url("x") + '"; }, { name = "b"; '
             f'url = "rtmps://127.0.0.1:{there.rtmp}/live/x"; }} );')
    w.wait_log("relay pull live/a: running")
    w.wait_log("relay pull live/b: backing off: cannot read the system's CAs")
    f.stop()


def test_a_wrong_tls_ca_is_found_in_the_file(weir, tmp_path):
    w = weir()
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for path in ("/nonexistent/ca.pem", str(empty), str(tmp_path)):
        w.set_config(top=f'relays = {{ tls_ca = "{path}"; }};')
        done = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
        assert done.returncode == 1, path
        assert "tls_ca" in done.stderr and path in done.stderr
        w.reload(good=False)


# ---- how soon it comes back ----

@pytest.mark.soak
def test_failures_of_long_ago_do_not_count(weir, tmp_path):
    """Also when it did not fail since, but its local stream went."""
    n = Nginx(tmp_path / "nginx")
    n.kill()
    try:
        w = weir(top=OPEN, hold="0", app=f'push = ( {{ name = "a"; '
                 f'url = "{n.url("x")}"; }} );')
        f = Feed(w.rtmp, "a").head().run()
        w.wait_log("relay push live/a: connecting", 30, 6)
        n.start()
        w.wait_log("relay push live/a: running", 10)
        time.sleep(11)
        f.stop()
        w.wait_log("push live/a: waiting for the local stream: the stream")
        n.kill()
        count = len(re.findall("push live/a: backing off", w.log()))
        f = Feed(w.rtmp, "a").head().run()
        w.wait_log("relay push live/a: backing off", 3, count + 1)
        n.start()
        w.wait_log("relay push live/a: running", 3, 2)
        f.stop()
    finally:
        n.kill()
