"""The channel and the way to it: what happens to sessions of Engine.IO when
weir reloads, drains, loses a process; what a worker says itself; commands.

Protocols are tested elsewhere: here a session is one that echoes."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import signal

import pytest

from control_client import Control
from http_client import Http
from socket_help import WebSocket, packed, payload
from tls_files import Certificates, context
from weir import descendants, run, title, wait_for

ENGINE = "/echo/engine.io/?EIO=4&transport="
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket",
           "Sec-WebSocket-Version: 13",
           "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==")
CONTROL = 'control = { socket = "run/control.sock"; };'
# None of them ends a test that says nothing of it.
TIMES = "".join(f'{name} = "10m"; ' for name in (
    "ping_interval", "ping_timeout", "upgrade_timeout", "connect_timeout"))


def location(path="/echo", name="echo", more="", settings=""):
    return (f'{{ path = "{path}"; {more} layers = ( {{ module = "echo"; '
            f'name = "{name}"; routes = [ "GET /hello" ]; '
            f'socket_io = {{ {TIMES} {settings} }}; }} ); }},')


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    made = Certificates(tmp_path_factory.mktemp("tls"))
    made.make("a", "localhost")
    return made


def process(w, name):
    """Of that role; None: it does not run."""
    for pid in descendants(w.master()):
        if title(pid) == f"weir: {name}":
            return pid
    return None


def ask(w, method, query, *headers, body=b"", path=ENGINE, version="1.1"):
    with Http(w.http) as c:
        c.send(method, path + query, *headers, body=body, version=version)
        return c.answer(method)


def opened(w):
    """The id of a new session over polling."""
    a = ask(w, "GET", "polling")
    assert a.status == 200, a.body
    return json.loads(a.body[1:])["sid"]


def poll(w, sid):
    return ask(w, "GET", f"polling&sid={sid}")


def post(w, sid, text):
    return ask(w, "POST", f"polling&sid={sid}", "Content-Type: text/plain",
               body=packed([text]))


def hold(w, sid):
    """A poll that waits, once the channel has it."""
    c = Http(w.http)
    c.send("GET", f"{ENGINE}polling&sid={sid}")
    return c


def assert_echoes(w, sid):
    assert post(w, sid, "4words").body == b"ok"
    assert payload(poll(w, sid).body) == ["4words"]


def websocket(w, *headers):
    ws = WebSocket(Http(w.http), ENGINE + "websocket", *headers)
    ws.opened()
    return ws


def tls_websocket(w, files):
    """Over TLS, which stays with its worker."""
    http = Http(w.port("https"))
    http.sock = context(files.root).wrap_socket(http.sock,
                                                server_hostname="localhost")
    ws = WebSocket(http, ENGINE + "websocket")
    ws.opened()
    return ws


def assert_ws_echoes(ws):
    ws.send("4words", b"\x00\x01")
    assert ws.receive_data() == "4words"
    assert ws.receive_data() == b"\x00\x01"


def sockets(w):
    with Control(w) as c:
        return c.json("show sockets")


def both(files):
    return ('"127.0.0.1:0", { address = "127.0.0.1:0"; '
            f'{files.group("a")} }}')


# ---- reload and death ----

def test_a_reload_takes_nothing_from_sessions(weir, files):
    w = weir(locations=location(), http_listen=both(files), workers=2)
    sid = opened(w)
    channel = process(w, "channel")
    with websocket(w) as plain, tls_websocket(w, files) as tls:
        held = hold(w, opened(w))
        for _ in range(2):
            w.reload()
            assert_ws_echoes(plain)
            assert_ws_echoes(tls)
            assert_echoes(w, sid)
        assert process(w, "channel") == channel
        held.close()


def test_a_reload_without_the_endpoint_ends_its_sessions(weir):
    w = weir(locations=location() + location(path="/two", name="two"))
    sid = opened(w)
    with websocket(w) as ws:
        held = hold(w, sid)
        w.set_config(locations=location(path="/two", name="two"))
        w.reload()
        assert ws.wait_closed() in (1000, 1001)
        assert held.answer("GET").body == b"1"
        held.close()
    assert ask(w, "GET", "polling").status == 404
    assert ask(w, "GET", "polling", path="/two/engine.io/?EIO=4&transport="
               ).status == 200
    w.set_config(locations="")
    w.reload()
    wait_for(lambda: process(w, "channel") is None, what="the channel's end")


def test_new_settings_hold_for_new_sessions(weir):
    w = weir(locations=location())
    before = opened(w)
    w.set_config(locations=location(settings="max_payload = 2000;"))
    w.reload()
    a = ask(w, "GET", "polling")
    assert json.loads(a.body[1:])["maxPayload"] == 2000
    assert_echoes(w, before)
    assert post(w, before, "4" + "x" * 2000).status == 413


def test_a_reload_brings_the_channel(weir):
    w = weir()
    assert process(w, "channel") is None
    assert ask(w, "GET", "polling").status == 404
    w.set_config(locations=location())
    w.reload()
    # The old worker takes connections until it is told.
    wait_for(lambda: ask(w, "GET", "polling").status == 200, 10)
    assert_echoes(w, opened(w))
    w.set_config(locations=location() + location("/two", "two"))
    w.reload()
    assert ask(w, "GET", "polling", path="/two/engine.io/?EIO=4&transport="
               ).status == 200


def test_any_worker_serves_any_session(weir):
    w = weir(locations=location(), workers=2)
    sid = opened(w)
    asked = set()

    def both_asked():
        with Http(w.http) as c:
            asked.add(w.worker_of(c.sock))
            c.send("POST", f"{ENGINE}polling&sid={sid}",
                   "Content-Type: text/plain", body=b"4a")
            assert c.answer("POST").body == b"ok"
        assert payload(poll(w, sid).body) == ["4a"]
        return len(asked) == 2

    wait_for(both_asked, 60, what="both workers")


def test_when_the_channel_is_killed_clients_come_back(weir):
    w = weir(locations=location())
    w.children_may_crash = True
    sid = opened(w)
    with websocket(w) as ws:
        held = hold(w, sid)
        wait_for(lambda: int(metric(w, 'sessions{transport="polling"}')) == 1,
                 what="the session")
        os.kill(process(w, "channel"), signal.SIGKILL)
        assert ws.wait_closed() is None
        a = held.answer("GET")
        held.close()
        assert a.status == 503 and a.header("retry-after") == "1"
    wait_for(lambda: ask(w, "GET", "polling").status == 200, 10,
             what="a new channel")
    a = poll(w, sid)
    assert (a.status, a.json()["code"]) == (400, 1)
    assert_echoes(w, opened(w))
    with websocket(w) as ws:
        assert_ws_echoes(ws)


def test_when_a_worker_is_killed_other_sessions_go_on(weir, files):
    w = weir(locations=location(), http_listen=both(files))
    w.children_may_crash = True
    sid = opened(w)
    with websocket(w) as plain, tls_websocket(w, files) as tls:
        os.kill(w.workers()[0], signal.SIGKILL)
        assert tls.wait_closed() is None
        assert_ws_echoes(plain)
        assert_echoes(w, sid)


def test_a_graceful_stop_tells_clients(weir, files):
    w = weir(locations=location(), http_listen=both(files), workers=2)
    held = hold(w, opened(w))
    with websocket(w) as ws, tls_websocket(w, files) as tls:
        wait_for(lambda: int(metric(w, 'sessions{transport="websocket"}')) == 2,
                 what="both sessions")
        w.kill(signal.SIGQUIT)
        assert ws.wait_closed() == 1001
        assert tls.wait_closed() == 1001
    a = held.answer("GET")
    assert (a.status, a.body) == (200, b"1")
    held.close()
    assert w.wait_exit() == 0


# ---- what a worker says ----

def metric(w, name):
    with Http(w.http) as c:
        c.send("GET", "/metrics")
        text = c.answer("GET").body.decode()
    return re.search(rf"^weir_channel_{re.escape(name)} (\S+)$", text,
                     re.M)[1]


def test_a_client_that_goes_ends_its_session(weir):
    w = weir(locations=location())
    sid = opened(w)
    hold(w, sid).close()
    wait_for(lambda: poll(w, sid).status == 400, what="the end of the session")


def test_too_many_sessions(weir):
    w = weir(locations=location(), top="channel = { max_sessions = 2; };")
    sid = opened(w)
    with websocket(w) as ws:
        a = ask(w, "GET", "polling")
        assert a.status == 503 and a.header("retry-after") == "1"
        b = ask(w, "GET", "websocket", *UPGRADE)
        assert b.status == 503 and b.header("retry-after") == "1"
        assert_echoes(w, sid)
        assert_ws_echoes(ws)
    assert metric(w, 'refused_total{reason="sessions"}') == "2"
    wait_for(lambda: ask(w, "GET", "polling").status == 200, what="a place")


def test_a_session_that_ends_keeps_its_place(weir):
    """Until its client has taken the end: who comes meanwhile is told to come
    later."""
    w = weir(locations=location(),
             top=CONTROL + "channel = { max_sessions = 1; };")
    opened(w)
    with Control(w) as c:
        assert c.ask("kick socket all") == ["kicked: 1"]
    for query, headers in (("polling", ()), ("websocket", UPGRADE)):
        a = ask(w, "GET", query, *headers)
        assert a.status == 503 and a.header("retry-after") == "1"
    assert metric(w, 'refused_total{reason="handshake"}') == "0"
    assert metric(w, 'refused_total{reason="sessions"}') == "2"


def test_paths_end_with_a_slash(weir):
    w = weir(locations=location())
    for path in ("/echo/engine.io", "/echo/socket.io", "/engine.io/",
                 "/echo/engine.io/x", "/echo/hello/engine.io/"):
        assert ask(w, "GET", "", path=f"{path}?EIO=4&transport=polling"
                   ).status == 404, path
    assert ask(w, "GET", "", path="/echo/hello").status == 200


def test_answers_are_not_stored_and_head_is_refused(weir):
    w = weir(locations=location())
    for query in ("polling", "polling&sid=x", "smoke"):
        assert ask(w, "GET", query).header("cache-control") == "no-store"
    assert ask(w, "HEAD", "polling").status == 400
    a = ask(w, "OPTIONS", "polling")
    assert (a.status, a.header("allow")) == (204, "GET, POST, OPTIONS")
    with Http(w.http) as c:
        c.send("GET", ENGINE + "polling", version="1.0")
        a = c.answer("GET")
        assert a.status == 200 and a.header("connection") == "close"


def test_the_cookie_is_set_once(weir):
    w = weir(locations=location(settings='cookie = "io";'))
    a = ask(w, "GET", "polling")
    sid = json.loads(a.body[1:])["sid"]
    assert a.header("set-cookie") == \
        f"io={sid}; Path=/; HttpOnly; SameSite=Lax"
    post(w, sid, "4x")
    assert poll(w, sid).header("set-cookie") is None


def test_pages_of_other_sites(weir):
    w = weir(locations=location())
    evil = "Origin: https://evil.example"
    a = ask(w, "GET", "polling", evil)
    assert (a.status, a.json()["code"]) == (403, 4)
    a = ask(w, "POST", "polling&sid=x", evil, "Content-Type: text/plain",
            body=b"4")
    assert (a.status, a.json()["code"]) == (403, 4)
    a = ask(w, "GET", "websocket", evil, *UPGRADE)
    assert (a.status, a.body, a.header("connection")) == \
        (403, b"Forbidden", "close")
    for own in ("http://test", "http://test:80"):
        assert ask(w, "GET", "polling", f"Origin: {own}").status == 200
    assert ask(w, "GET", "websocket", "Origin: http://test", *UPGRADE
               ).status == 101


def test_pages_of_an_origin_that_cors_allows(weir):
    origin = "https://page.example"
    w = weir(locations=location(
        more=f'cors = {{ allow_origins = [ "{origin}" ]; }};'))

    def allowed(a):
        return a.header("access-control-allow-origin") == origin

    for query in ("polling", "polling&sid=x", "smoke"):
        assert allowed(ask(w, "GET", query, f"Origin: {origin}")), query
        assert not allowed(ask(w, "GET", query, "Origin: https://b.example"))
    assert ask(w, "GET", "websocket", f"Origin: {origin}", *UPGRADE
               ).status == 101
    assert ask(w, "GET", "websocket", "Origin: https://b.example", *UPGRADE
               ).status == 403
    a = ask(w, "OPTIONS", "polling", f"Origin: {origin}",
            "Access-Control-Request-Method: POST")
    assert a.status == 204 and allowed(a)


def test_what_follows_a_refused_upgrade_is_no_request(weir):
    """Whoever refused it: the worker, the channel."""
    w = weir(locations=location())
    for query, why in (
            ("EIO=3&transport=websocket", b"Unsupported protocol version"),
            ("EIO=4&transport=websocket&sid=unknown", b"Session ID unknown")):
        with Http(w.http) as c:
            c.raw(f"GET /echo/engine.io/?{query} HTTP/1.1\r\nHost: test\r\n" +
                  "\r\n".join(UPGRADE) + "\r\n\r\n"
                  "GET /echo/hello HTTP/1.1\r\nHost: test\r\n\r\n")
            a = c.answer("GET")
            assert (a.status, a.body) == (400, why)
            assert c.ended()


def test_frames_that_come_with_the_upgrade(weir):
    """In one segment with the request, before it was answered."""
    w = weir(locations=location())
    with Http(w.http) as c:
        c.raw((f"GET {ENGINE}websocket HTTP/1.1\r\nHost: test\r\n" +
               "\r\n".join(UPGRADE) + "\r\n\r\n").encode() +
              b"\x81\x83\x00\x00\x00\x004hi")
        assert c.head().status == 101
        c._until(b"\x81\x034hi")


def test_the_access_log_hides_the_id(weir):
    w = weir(locations=location())
    sid = opened(w)
    post(w, sid, "4x")
    with websocket(w):
        pass
    assert ask(w, "GET", f"websocket&sid={'u' * 24}", *UPGRADE).status == 400
    w.wait_access_log(r'transport=websocket&sid=\*\*\* HTTP/1.1" 400 ')
    log = w.access_log()
    assert re.search(r'transport=websocket HTTP/1.1" 101 ', log)
    assert 'transport=polling&sid=*** HTTP/1.1" 200 2 ' in log
    assert sid not in log and sid not in w.log()


def test_two_layers_may_not_disagree(weir, tmp_path):
    w = weir(locations=location())
    w.set_config(locations=location() + location("/b", settings="max_payload = 5000;"))
    done = run("-t", "-c", "weir.conf", "-p", str(w.prefix))
    assert done.returncode == 1
    assert 'share the endpoint "echo" of Socket.IO' in done.stderr


# ---- commands ----

def test_sockets_are_shown_and_kicked(weir):
    w = weir(locations=location(), top=CONTROL)
    sid = opened(w)
    with websocket(w) as one, websocket(w) as other:
        rows = wait_for(lambda: len(sockets(w)) == 3 and sockets(w))
        assert [r["transport"] for r in rows] == \
            ["polling", "websocket", "websocket"]
        assert all(r["endpoint"] == "echo:echo" and r["client"].startswith(
            "127.0.0.1:") and r["namespaces"] == "(engine.io)" for r in rows)
        assert sid not in json.dumps(rows)
        with Control(w) as c:
            assert c.ask(f"kick socket {rows[1]['id']}") == ["kicked: 1"]
            one.wait_closed()
            assert_ws_echoes(other)
            assert c.ask("kick socket all") == ["kicked: 2"]
            assert c.ask("kick socket all") == \
                ["ERR missing there is no such socket"]
            assert c.ask("kick socket 0")[0].startswith("ERR usage")
        other.wait_closed()
        assert poll(w, sid).body == b"1"
        assert poll(w, sid).status == 400
    assert sockets(w) == []


def test_many_sockets_are_shown(weir):
    """They are several messages of the channel."""
    w = weir(locations=location(), top=CONTROL)
    with Http(w.http) as c:
        for _ in range(500):
            c.send("GET", f"{ENGINE}polling")
            assert c.answer("GET").status == 200
    numbers = [r["id"] for r in sockets(w)]
    assert numbers == list(range(1, 501))


def test_users_are_shown(weir, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("a-token-of-enough-letters\n")
    tokens.chmod(0o640)
    bearer = "Authorization: Bearer a-token-of-enough-letters"
    w = weir(top=CONTROL, locations=location(
        more=f'auth = {{ type = "bearer"; tokens_file = "{tokens}"; }};'))
    assert ask(w, "GET", "polling").status == 401
    assert ask(w, "GET", "websocket", *UPGRADE).status == 401
    assert ask(w, "GET", "polling", bearer).status == 200
    with websocket(w, bearer):
        assert [r["user"] for r in sockets(w)] == ["bearer", "bearer"]
