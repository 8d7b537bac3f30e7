"""Engine.IO, revision 4, over both transports: the cases of the protocol's own
suite, and more of the reference server's behaviour.  Those that hold for any
protocol on top run at both addresses.

socket_help.py tells how they run against the reference server.
"""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re

import pytest

from http_client import Http
from socket_help import (ENDPOINTS, QUICK, REFERENCE, Closed, payload,
                         upgraded, weir_only)
from weir import wait_for

KEYS = ["sid", "upgrades", "pingInterval", "pingTimeout", "maxPayload"]
ERRORS = ["Transport unknown", "Session ID unknown", "Bad handshake method",
          "Bad request", "Forbidden", "Unsupported protocol version"]


@pytest.fixture(params=ENDPOINTS)
def endpoint(request):
    return request.param


def is_error(answer, code):
    assert answer.status == 400
    assert answer.header("content-type").startswith("application/json")
    assert answer.json() == {"code": code, "message": ERRORS[code]}


# ---- handshake: polling ----

def test_polling_handshake(echo, endpoint):
    server = echo(ping_interval=300, ping_timeout=200, max_payload=1000000)
    a = server.request(endpoint)
    assert a.status == 200
    assert a.header("content-type").lower() == "text/plain; charset=utf-8"
    assert a.header("cache-control") == "no-store"
    assert a.body[:1] == b"0"
    told = json.loads(a.body[1:])
    assert list(told) == KEYS
    assert re.fullmatch(r"[A-Za-z0-9_-]{20,28}", told["sid"])
    assert told["upgrades"] == ["websocket"]
    assert [told[k] for k in KEYS[2:]] == [300, 200, 1000000]


def test_ids_differ(echo):
    server = echo()
    ids = {server.polling().sid for _ in range(20)}
    assert len(ids) == 20


@pytest.mark.parametrize("version", [None, "abc", "3", "5", ""])
def test_polling_version(echo, endpoint, version):
    is_error(echo().request(endpoint, EIO=version), 5)


@pytest.mark.parametrize("transport", [None, "abc", "webtransport", ""])
def test_polling_transport(echo, endpoint, transport):
    is_error(echo().request(endpoint, transport=transport), 0)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_polling_method(echo, endpoint, method):
    a = echo().request(endpoint, method)
    is_error(a, 2)


def test_unknown_session(echo, endpoint):
    server = echo()
    for sid in ("abc", "A" * 20, "x" * 5000, "%00", "..%2F.."):
        is_error(server.request(endpoint, sid=sid), 1)
        is_error(server.request(endpoint, "POST", sid=sid, body=b"4x"), 1)


def test_order_of_checks(echo, endpoint):
    """Whatever else is wrong, the first of these is told."""
    server = echo()
    is_error(server.request(endpoint, "POST", transport="x", sid="y",
                            EIO="3"), 0)
    is_error(server.request(endpoint, "POST", sid="y", EIO="3"), 1)
    is_error(server.request(endpoint, "POST", EIO="3"), 2)
    is_error(server.request(endpoint, transport="websocket", EIO="3"), 3)
    is_error(server.request(endpoint, EIO="3"), 5)


def test_path_needs_its_slash(echo, endpoint):
    server = echo()
    with Http(server.port) as c:
        c.send("GET", f"/echo/{endpoint}?EIO=4&transport=polling")
        assert c.answer().status == 404


def test_other_words_of_a_query(echo, endpoint):
    """Browsers send t against caches; others mean nothing."""
    session = echo().polling(endpoint, t="Pabc.1", token="x")
    assert session.open["upgrades"] == ["websocket"]


# ---- handshake: WebSocket ----

def test_websocket_handshake(echo, endpoint):
    server = echo(ping_interval=300, max_payload=1000000)
    with server.websocket(endpoint) as ws:
        assert ws.handshake.header("sec-websocket-accept") == \
            "BACScCJPNqyz+UBoqMH89VmURoA="
        told = ws.opened()
        assert list(told) == KEYS
        assert told["upgrades"] == []
        assert (told["pingInterval"], told["maxPayload"]) == (300, 1000000)


@pytest.mark.parametrize("version", [None, "abc", "3"])
def test_websocket_version(echo, endpoint, version):
    server = echo()
    if REFERENCE:  # it opens the WebSocket, then closes it
        server.websocket(endpoint, EIO=version).wait_closed()
        return
    a = server.refusal(endpoint, EIO=version)
    assert a.status == 400
    assert ERRORS[5].encode() in a.body


@pytest.mark.parametrize("transport", [None, "abc"])
def test_websocket_transport(echo, endpoint, transport):
    a = echo().refusal(endpoint, transport=transport)
    assert a.status == 400
    assert ERRORS[0].encode() in a.body


def test_websocket_unknown_session(echo, endpoint):
    a = echo().refusal(endpoint, sid="abc")
    assert a.status == 400
    assert ERRORS[1].encode() in a.body


@weir_only
def test_upgrade_for_polling(echo, endpoint):
    a = echo().refusal(endpoint, transport="polling")
    assert a.status == 400
    assert ERRORS[3].encode() in a.body


@pytest.mark.parametrize("allowed, refused", [
    ("polling", "websocket"), ("websocket", "polling")])
def test_transports_setting(echo, endpoint, allowed, refused):
    server = echo(transports=[allowed])
    if allowed == "polling":
        assert server.polling(endpoint).open["upgrades"] == []
        assert server.refusal(endpoint).status == 400
    else:
        with server.websocket(endpoint) as ws:
            assert ws.opened()["upgrades"] == []
        is_error(server.request(endpoint), 0)


# ---- heartbeat ----

def test_polling_heartbeat(echo, endpoint):
    session = echo(ping_interval=300).polling(endpoint)
    for _ in range(3):
        assert session.receive() == "2"
        session.send("3")


def test_polling_ping_timeout(echo, endpoint):
    """Polls alone keep no session alive."""
    echo(**QUICK).polling(endpoint).wait_gone()


def test_websocket_heartbeat(echo, endpoint):
    with echo(ping_interval=300).websocket(endpoint) as ws:
        ws.opened()
        for _ in range(3):
            assert ws.receive() == "2"
            ws.send("3")


def test_websocket_ping_timeout(echo, endpoint):
    with echo(**QUICK).websocket(endpoint) as ws:
        ws.opened()
        assert ws.receive() == "2"
        ws.wait_closed()


def test_pong_that_nobody_asked_for(echo):
    with echo().websocket("engine.io") as ws:
        ws.opened()
        ws.send("3", "4still here")
        assert ws.receive() == "4still here"


@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_client_does_not_ping(echo, transport):
    """That was revision 3."""
    server = echo()
    if transport == "polling":
        session = server.polling("engine.io")
        session.post(b"2")
        session.wait_gone()
    else:
        with server.websocket("engine.io") as ws:
            ws.opened()
            ws.send("2")
            ws.wait_closed()


# ---- close ----

def test_polling_close(echo, endpoint):
    session = echo().polling(endpoint)
    with session.hold() as held:
        wait_held(session, held)
        session.send("1")
        a = held.answer()
        assert (a.status, a.body) == (200, b"6")
    session.wait_gone()


def wait_held(session, held):
    """The server has the poll: it has read a request that came later."""
    # A packet that says nothing is answered after the poll was read.
    session.send("3")
    assert held.buffer == b""


def test_poll_and_close_at_once(echo, endpoint):
    """Over two connections, and so over two workers."""
    server = echo()
    for _ in range(30):
        session = server.polling(endpoint)
        with server.connect() as poll, server.connect() as close:
            target = server.target(endpoint, {"sid": session.sid})
            poll.send("GET", target)
            close.send("POST", target, "Content-Type: text/plain", body=b"1")
            a = poll.answer()
            assert (a.status, a.body) == (200, b"6")
            assert close.answer().body == b"ok"
        assert session.get().status == 400


def test_close_and_leave_at_once(echo, endpoint):
    server = echo()
    session = server.polling(endpoint)
    with server.connect() as c:
        c.send("POST", server.target(endpoint, {"sid": session.sid}),
               "Content-Type: text/plain", body=b"1")
    wait_for(lambda: session.post(b"3").status == 400, 5, "its end")


def test_websocket_close(echo, endpoint):
    """The reference leaves it to the next heartbeat."""
    settings = QUICK if REFERENCE else {}
    with echo(**settings).websocket(endpoint) as ws:
        ws.opened()
        ws.send("1")
        ws.wait_closed()


def test_websocket_close_frame(echo, endpoint):
    with echo().websocket(endpoint) as ws:
        ws.opened()
        ws.frame(8, (1000).to_bytes(2, "big"))
        assert ws.wait_closed() == 1000


# ---- upgrade ----

def test_upgrade(echo, endpoint):
    server = echo()
    session, ws = upgraded(server, endpoint)
    with ws:
        if endpoint == "engine.io":
            ws.send("4hello")
            assert ws.receive() == "4hello"
        else:
            ws.send("40")
            assert ws.receive_data().startswith("40{")
        is_error(session.get(), 3)


def test_upgrade_lets_a_held_poll_go(echo):
    server = echo()
    session = server.polling("engine.io")
    with session.hold() as held:
        wait_held(session, held)
        with server.websocket("engine.io", sid=session.sid) as ws:
            ws.send("2probe")
            assert ws.receive() == "3probe"
            a = held.answer()
            assert (a.status, a.body) == (200, b"6")
            ws.send("5", "4hello")
            assert ws.receive() == "4hello"


def test_messages_during_an_upgrade(echo):
    """Nothing is lost, nothing comes twice, and the order is kept."""
    server = echo()
    session = server.polling("engine.io")
    session.send("4a")
    with server.websocket("engine.io", sid=session.sid) as ws:
        ws.send("2probe")
        assert ws.receive() == "3probe"
        session.send("4b")
        got = [p for p in payload(session.get().body) if p != "6"]
        while len(got) < 2:
            got += [p for p in payload(session.get().body) if p != "6"]
        session.send("4c")
        ws.send("5", "4d")
        got += [ws.receive(), ws.receive()]
    assert got == ["4a", "4b", "4c", "4d"]


def test_polling_after_an_upgrade(echo, endpoint):
    server = echo()
    session, ws = upgraded(server, endpoint)
    with ws:
        ws.send("4hello" if endpoint == "engine.io" else "40")
        ws.receive_data()  # the upgrade is over
        is_error(session.get(), 3)
        is_error(session.post(b"4x"), 3)
        ws.send("4hello" if endpoint == "engine.io" else "41")


def test_websocket_after_an_upgrade(echo, endpoint):
    """The second is closed, the first goes on."""
    server = echo()
    session, ws = upgraded(server, endpoint)
    with ws:
        ws.send("4hello" if endpoint == "engine.io" else "40")
        ws.receive_data()
        with server.websocket(endpoint, sid=session.sid) as second:
            second.send("2probe")
            second.wait_closed()
        ws.send("4more" if endpoint == "engine.io" else "40/custom")
        assert ws.receive_data()


@pytest.mark.parametrize("word", ["2", "2prob", "3probe", "4x", "5", "x"])
def test_upgrade_without_probe(echo, word):
    """The WebSocket goes, the session stays."""
    if REFERENCE and word == "5":
        pytest.skip("the reference needs no probe")
    server = echo()
    session = server.polling("engine.io")
    with server.websocket("engine.io", sid=session.sid) as ws:
        ws.send(word)
        ws.wait_closed()
    session.send("4hello")
    assert session.receive_message() == "4hello"


def test_upgrade_timeout(echo):
    """A client that does not end what it began: the session stays."""
    server = echo(upgrade_timeout=200)
    session = server.polling("engine.io")
    with server.websocket("engine.io", sid=session.sid) as ws:
        ws.send("2probe")
        assert ws.receive() == "3probe"
        ws.wait_closed()
    session.send("4hello")
    assert session.receive_message() == "4hello"


def test_upgrade_that_breaks_off(echo):
    server = echo()
    session = server.polling("engine.io")
    ws = server.websocket("engine.io", sid=session.sid)
    ws.send("2probe")
    assert ws.receive() == "3probe"
    ws.close()
    session.send("4hello")
    assert session.receive_message() == "4hello"


# ---- messages: polling ----

def test_polling_message(echo):
    session = echo().polling("engine.io")
    session.send("4hello")
    a = session.get()
    assert a.status == 200
    assert a.header("content-type").lower() == "text/plain; charset=utf-8"
    assert a.header("cache-control") == "no-store"
    assert a.body == b"4hello"


def test_polling_messages(echo):
    session = echo().polling("engine.io")
    session.send("4test1", "4test2", "4test3")
    assert [session.receive() for _ in range(3)] == \
        ["4test1", "4test2", "4test3"]


def test_polling_answer_to_a_post(echo):
    a = echo().polling("engine.io").post(b"4x")
    assert (a.status, a.body) == (200, b"ok")
    assert a.header("content-type") == "text/html"


def test_polling_binary(echo):
    session = echo().polling("engine.io")
    session.post(b"bAQIDBA==")
    a = session.get()
    assert a.status == 200
    assert a.body == b"bAQIDBA=="


def test_polling_text_and_binary(echo):
    session = echo().polling("engine.io")
    whole = b"4hello\x1ebAQIDBA==\x1e4world"
    session.post(whole)
    assert [session.receive() for _ in range(3)] == \
        ["4hello", b"\x01\x02\x03\x04", "4world"]


def test_polling_unicode(echo):
    session = echo().polling("engine.io")
    text = "4\u20ac \U0001f600 \u0001 \u001f \x7f"
    session.send(text)
    assert session.receive() == text


def test_polling_wakes_a_held_poll(echo):
    session = echo().polling("engine.io")
    with session.hold() as held:
        wait_held(session, held)
        session.send("4now")
        assert held.answer().body == b"4now"


@pytest.mark.parametrize("body", [b"abc", b"7", b"", b"4a\x1e", b"\x1e4a",
                                  b"4a\x1e\x1e4b", b"x4"])
def test_polling_malformed(echo, body):
    server = echo()
    session = server.polling("engine.io")
    if REFERENCE and body == b"":
        pytest.skip("the reference overlooks it")
    assert session.post(body).status == 400 or REFERENCE
    session.wait_gone()


@pytest.mark.parametrize("body", [b"b", b"b*", b"bAQI", b"bA=B="])
@weir_only
def test_polling_bad_base64(echo, body):
    session = echo().polling("engine.io")
    if body == b"b":  # nothing, in base64
        session.post(body)
        assert session.receive() == b""
        return
    assert session.post(body).status == 400
    session.wait_gone()


@weir_only
def test_polling_bad_utf8(echo):
    session = echo().polling("engine.io")
    assert session.post(b"4\xff\xfe").status == 400
    session.wait_gone()


def test_polling_octets(echo):
    """Binary bodies were revision 3."""
    session = echo().polling("engine.io")
    a = session.post(b"4x", "Content-Type: application/octet-stream")
    assert a.status == 400
    session.wait_gone()


def test_polling_cancelled(echo):
    """A client that ends its poll has gone."""
    session = echo().polling("engine.io")
    held = session.hold()
    wait_held(session, held)
    held.close()
    session.wait_gone(lambda: session.post(b"3"))


def test_polling_twice(echo):
    session = echo().polling("engine.io")
    with session.hold() as held:
        wait_held(session, held)
        assert session.get().status == 400
        a = held.answer()
        assert (a.status, a.body) == (200, b"1")
    session.wait_gone()


def test_posting_twice(echo):
    """The second body comes while the first has not all come."""
    server = echo()
    session = server.polling("engine.io")
    target = server.target("engine.io", {"sid": session.sid})
    with Http(server.port) as first:
        first.raw(f"POST {target} HTTP/1.1\r\nHost: test\r\n"
                  "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\n4a")
        if REFERENCE:
            wait_for(lambda: session.post(b"4b").status == 400)
            session.wait_gone()
        else:  # a worker forwards whole bodies
            session.send("4b")
            first.raw("c")
            assert first.answer().status == 200
            assert session.receive() == "4b"
            assert session.receive() == "4ac"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_polling_other_methods(echo, method):
    session = echo().polling("engine.io")
    a = session.server.request("engine.io", method, sid=session.sid,
                               body=b"4x")
    assert a.status == (500 if REFERENCE else 400)
    if not REFERENCE:
        session.send("4hello")
        assert session.receive() == "4hello"


def test_polling_payload_bound(echo):
    server = echo(max_payload=1024)
    session = server.polling("engine.io")
    session.send("4" + "x" * 1023)
    assert session.receive() == "4" + "x" * 1023
    assert session.post(b"4" + b"x" * 1024).status == 413


def test_polling_many_packets(echo):
    session = echo().polling("engine.io")
    sent = [f"4{n}" for n in range(1000)]
    session.send(*sent)
    assert [session.receive() for _ in sent] == sent


# ---- messages: WebSocket ----

@pytest.fixture
def opened(echo):
    with echo().websocket("engine.io") as ws:
        ws.opened()
        yield ws


def test_websocket_message(opened):
    opened.send("4hello")
    assert opened.receive() == "4hello"


def test_websocket_binary(opened):
    opened.send(b"\x01\x02\x03\x04")
    assert opened.receive() == b"\x01\x02\x03\x04"


def test_websocket_empty(opened):
    opened.send("4", b"", "4x")
    assert [opened.receive() for _ in range(3)] == ["4", b"", "4x"]


@pytest.mark.parametrize("size", [125, 126, 127, 65535, 65536, 999999])
def test_websocket_sizes(opened, size):
    """A frame's length is written in three ways."""
    opened.send("4" + "x" * (size - 1), bytes(range(256)) * (size // 256))
    assert opened.receive() == "4" + "x" * (size - 1)
    assert opened.receive() == bytes(range(256)) * (size // 256)


def test_websocket_fragments(opened):
    opened.frame(1, b"4he", first=0)
    opened.frame(9, b"between")
    opened.frame(0, b"ll", first=0)
    opened.frame(0, b"o")
    assert sorted([opened.read_frame(), opened.read_frame()]) == \
        [(0x80, 1, b"4hello"), (0x80, 10, b"between")]


@pytest.mark.parametrize("word", ["abc", "7", "", "x"])
def test_websocket_malformed(opened, word):
    opened.send(word)
    opened.wait_closed()


def test_websocket_base64(echo):
    """b64 asks for binary as text."""
    if REFERENCE:
        pytest.skip("the reference does so in revision 3 alone")
    with echo().websocket("engine.io", b64="1") as ws:
        ws.opened()
        ws.send(b"\x01\x02\x03\x04")
        assert ws.receive() == "bAQIDBA=="


def test_websocket_payload_bound(echo):
    with echo(max_payload=1024).websocket("engine.io") as ws:
        ws.opened()
        ws.send("4" + "x" * 1023)
        assert ws.receive() == "4" + "x" * 1023
        ws.send("4" + "x" * 1024)
        assert ws.wait_closed() == 1009


# ---- what HTTP adds ----

def test_cookie(echo):
    server = echo(cookie="io")
    session = server.polling("engine.io")
    words = session.handshake.header("set-cookie").split("; ")
    assert words[0] == f"io={session.sid}"
    assert {w.lower() for w in words[1:]} == {"path=/", "httponly",
                                             "samesite=lax"}
    assert session.post(b"4x").header("set-cookie") is None
    assert session.get().header("set-cookie") is None


def test_no_cookie(echo):
    session = echo().polling("engine.io")
    assert session.handshake.header("set-cookie") is None


def test_cors(echo, endpoint):
    server = echo(cors="https://page.test")
    origin = "Origin: https://page.test"
    for a in (server.request(endpoint, "GET", origin),
              server.request(endpoint, "GET", origin, transport="x")):
        assert a.header("access-control-allow-origin") == \
            "https://page.test"
    a = server.request(endpoint, "OPTIONS", origin,
                       "Access-Control-Request-Method: POST",
                       "Access-Control-Request-Headers: content-type")
    assert a.status == 204
    assert "POST" in a.header("access-control-allow-methods")


def test_no_cors(echo, endpoint):
    a = echo().request(endpoint)
    assert a.header("access-control-allow-origin") is None


# ---- pages of other sites ----

@weir_only
def test_websocket_of_another_site(echo):
    """CORS does not hold for WebSockets: browsers send cookies with any."""
    server = echo(cors="https://page.test")
    assert server.refusal("socket.io", "Origin: https://evil.test").status \
        == 403
    for origin in ("https://page.test", "http://test"):
        with server.websocket("socket.io", f"Origin: {origin}") as ws:
            ws.opened()


@weir_only
def test_polling_of_another_site(echo):
    """A page may not send what its own site did not serve."""
    server = echo()
    session = server.polling("engine.io")
    assert session.post(b"4x", "Origin: https://evil.test").status == 403
    session.send("4hello")
    assert session.receive() == "4hello"
