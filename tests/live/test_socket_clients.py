"""Clients of Socket.IO as people have them: socket.io-client in Node and in
Chromium, the one before it, and python-socketio's two."""
# SPDX-License-Identifier: BSD-2-Clause

import asyncio
import json
import os
import queue
import shutil
import signal
import socket
import threading

import pytest
import socketio

from browser import Browser
from patience import busy
from socket_help import (PACKAGES, Lines, PythonSocketIO, node,
                         weir_only)
from weir import descendants, title, wait_for

TRANSPORTS = [["polling"], ["websocket"], ["polling", "websocket"]]
IDS = ["polling", "websocket", "default"]
QUICKLY = {"reconnectionDelay": 50, "reconnectionDelayMax": 200}
ARGUMENTS = [1, "2 \u20ac", {"3": [True, None]}]
BINARY = [{"hex": "01020304"}, {"deep": [{"hex": ""}]}]


def node_client(tool, port, namespace="", library="socket.io-client",
                **options):
    options = {"path": "/echo/socket.io/", **QUICKLY, **options}
    url = f"http://127.0.0.1:{port}{namespace}"
    return tool(Lines(node("client.js", library, url, json.dumps(options))))


def echoes(client):
    """Events and acks, text and binary, of any client that says Lines'
    words."""
    for arguments in (ARGUMENTS, BINARY, []):
        client.say(emit=["message", *arguments])
        client.until(event="message-back", args=arguments)
        client.say(ack=["message-with-ack", *arguments])
        client.until(ack=arguments)


# ---- socket.io-client in Node ----

@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
@pytest.mark.parametrize("namespace", ["", "/custom"])
def test_node(echo, tool, namespace, transports):
    c = node_client(tool, echo().port, namespace, transports=transports,
                    auth={"token": "abc"})
    told = [c.next() for _ in range(1 + len(transports))]
    assert {"event": "auth", "args": [{"token": "abc"}]} in told
    assert len(transports) == 1 or \
        {"told": "upgrade", "transport": "websocket"} in told
    echoes(c)
    c.say(disconnect=True)
    c.until(told="disconnect", reason="io client disconnect")


def test_node_large(echo, tool):
    """What needs many reads and writes, on its way while the transport
    changes."""
    c = node_client(tool, echo().port)
    c.until(event="auth")
    for n in range(5):
        large = [n, "x" * 200_000, {"hex": "ab" * 100_000}]
        c.say(emit=["message", *large])
        c.until(event="message-back", args=large)


def test_node_heartbeat(echo, tool):
    """It answers pings in time, over both transports."""
    server = echo(ping_interval=200)
    for transports in TRANSPORTS:
        c = node_client(tool, server.port, transports=transports)
        c.until(event="auth")
        for n in range(20):
            c.say(ack=["message-with-ack", n])
            c.until(ack=[n])


def test_node_unknown_namespace(echo, tool):
    c = node_client(tool, echo().port, "/nowhere")
    c.until(told="connect_error", message="Invalid namespace")


def test_node_many_at_once(echo, tool):
    c = node_client(tool, echo().port, transports=["websocket"])
    c.until(event="auth")
    for n in range(500):
        c.say(emit=["message", n])
    for n in range(500):
        c.expect(event="message-back", args=[n])


# ---- the client before it ----

@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_old_client_is_refused(echo, tool, transports):
    """It speaks revision 3: it is told, and ends its attempts by itself."""
    server = echo()
    a = server.request("socket.io", EIO="3")
    assert (a.status, a.json()["code"]) == (400, 5)
    c = node_client(tool, server.port, library="socket.io-client-2",
                    transports=transports, reconnectionAttempts=2)
    for _ in range(3):
        c.expect(told="connect_error")
    c.expect(told="reconnect_failed")


# ---- processes that die ----

def channel(w):
    """Its pid."""
    found = [p for p in descendants(w.pid) if title(p) == "weir: channel"]
    return found[0] if found else None


@weir_only
@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_node_after_kill_of_the_channel(echo, tool, transports):
    server = echo()
    w = server.weir
    w.children_may_crash = True
    w.allowed.append("channel")
    c = node_client(tool, server.port, transports=transports)
    first = c.until(told="connect")
    echoes(c)
    os.kill(channel(w), signal.SIGKILL)
    c.until(told="disconnect")
    assert c.until(told="connect")["id"] != first["id"]
    echoes(c)


@weir_only
@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_node_stays_at_a_reload(echo, tool, transports):
    server = echo()
    c = node_client(tool, server.port, transports=transports)
    c.until(event="auth")
    echoes(c)
    server.weir.reload()
    c.say(ack=["message-with-ack", "after"])
    told = c.next()
    while told != {"ack": ["after"]}:
        assert told == {"told": "upgrade", "transport": "websocket"}
        told = c.next()
    echoes(c)


@weir_only
@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_node_when_weir_stops_and_starts(weir, echo, tool, transports):
    """It is told, not left: it comes back by itself."""
    server = echo()
    w = server.weir
    c = node_client(tool, server.port, transports=transports)
    c.until(event="auth")
    echoes(c)
    w.set_config(w.config.replace('"127.0.0.1:0"; access_log', "") and
                 w.config.replace('listen = ( "127.0.0.1:0" ); access_log',
                                  f'listen = ( "127.0.0.1:{server.port}" );'
                                  ' access_log'))
    w.stop()
    # "io server disconnect" would be a packet that tells it to stay away.
    assert c.until(told="disconnect")["reason"].startswith("transport")
    w.start()
    w.status = None
    c.until(told="connect")
    echoes(c)


# ---- recovery ----

class Relay:
    """A server in front of another.  What the other says can be kept back."""

    def __init__(self, port):
        self.port_behind = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.muted = False
        self.kept = b""
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                one = self.listener.accept()[0]
            except OSError:
                return
            other = socket.create_connection(("127.0.0.1", self.port_behind))
            self.sockets += [one, other]
            for ends in ((one, other, False), (other, one, True)):
                threading.Thread(target=self._pass, args=ends,
                                 daemon=True).start()

    def _pass(self, source, to, backwards):
        try:
            while data := source.recv(65536):
                if backwards and self.muted:
                    self.kept += data
                else:
                    to.sendall(data)
        except OSError:
            pass
        for s in (source, to):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """All connections; new ones are passed on."""
        gone, self.sockets = self.sockets, []
        self.muted, self.kept = False, b""
        for s in gone:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def kill(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()


def lose(c, relay, count):
    """The client's connection, and the answers to its last messages."""
    relay.muted = True
    for n in range(count):
        c.say(emit=["message", n])
    wait_for(lambda: relay.kept.count(b"message-back") == count)
    relay.cut()
    c.until(told="disconnect")


def test_recovery(echo, tool):
    server = echo(recovery=60000)
    relay = tool(Relay(server.port))
    c = node_client(tool, relay.port, transports=["websocket"])
    first = c.expect(told="connect", recovered=False)
    c.until(event="auth")
    c.say(emit=["message", "before"])
    assert c.until(event="message-back")["args"][0] == "before"
    lose(c, relay, 3)
    again = None
    for n in range(3):
        told = c.next()
        while told.get("event") != "message-back":
            if told.get("told") == "connect":
                again = told
            told = c.next()
        # The offset comes behind the arguments.
        assert told["args"][0] == n
    again = again or c.until(told="connect")
    assert again["recovered"] and again["id"] == first["id"]
    c.say(emit=["message", "after"])
    assert c.until(event="message-back")["args"][0] == "after"


def test_no_recovery(echo, tool):
    server = echo()
    relay = tool(Relay(server.port))
    c = node_client(tool, relay.port, transports=["websocket"])
    first = c.expect(told="connect", recovered=False)
    c.until(event="auth")
    lose(c, relay, 3)
    again = c.expect(told="connect", recovered=False)
    assert again["id"] != first["id"]
    c.expect(event="auth", args=[{}])
    echoes(c)


# ---- socket.io-client in Chromium ----

PAGE = """<!doctype html><meta charset="utf-8"><title>echo</title>
<link rel="icon" href="data:,">
<script src="/socket.io.min.js"></script>
<script>
const seen = [];
const hex = (v) => v instanceof ArrayBuffer ?
    [...new Uint8Array(v)].map((b) => b.toString(16).padStart(2, "0")).join("")
    : v;
function connect(options) {
    const socket = io({ path: "/echo/socket.io/", reconnectionDelay: 50,
                        reconnectionDelayMax: 200, ...options });
    socket.on("connect", () => seen.push(["connect", socket.id]));
    socket.on("disconnect", (why) => seen.push(["disconnect", why]));
    socket.on("connect_error", (e) => seen.push(["error", e.message]));
    socket.onAny((name, ...args) => seen.push([name, ...args.map(hex)]));
    window.socket = socket;
}
</script>"""


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


def page(server, browser):
    """With the client of socket.io-client's package, from weir."""
    html = f"{server.weir.prefix}/html"
    shutil.copy(f"{PACKAGES}/socket.io-client/dist/socket.io.min.js", html)
    with open(f"{html}/echo.html", "w", encoding="utf-8") as f:
        f.write(PAGE)
    browser.open(f"http://127.0.0.1:{server.port}/echo.html")


def seen(browser, event):
    return [s[1:] for s in browser.script("return seen") if s[0] == event]


def talks(browser):
    browser.script("""seen.length = 0;
        socket.emit("message", 1, {"a": ["b"]});
        socket.emit("message", new Uint8Array([1, 2, 254]));
        socket.emit("message-with-ack", "x", (...args) =>
            seen.push(["ack", ...args]));""")
    wait_for(lambda: seen(browser, "ack"))
    assert seen(browser, "message-back") == [[1, {"a": ["b"]}], ["0102fe"]]
    assert seen(browser, "ack") == [["x"]]


@weir_only
@pytest.mark.once
@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_chromium(echo, browser, transports):
    server = echo()
    page(server, browser)
    browser.script("connect(arguments[0])",
                   {"transports": transports, "auth": {"token": "abc"}})
    wait_for(lambda: seen(browser, "auth"))
    assert seen(browser, "auth") == [[{"token": "abc"}]]
    wait_for(lambda: browser.script(
        "return socket.io.engine.transport.name") == transports[-1])
    talks(browser)
    assert not browser.complaints()


@weir_only
@pytest.mark.once
def test_chromium_after_kill_of_the_channel(echo, browser):
    server = echo()
    w = server.weir
    w.children_may_crash = True
    w.allowed.append("channel")
    page(server, browser)
    browser.script("connect({})")
    wait_for(lambda: seen(browser, "auth"))
    os.kill(channel(w), signal.SIGKILL)
    wait_for(lambda: len(seen(browser, "auth")) > 1, 20,
             "the client's return")
    talks(browser)


# ---- python-socketio ----

# If it leaves while its own POST is under way, it says nothing of that, and
# waits for the answer to its poll: the next ping is that.
PINGS = {"ping_interval": 1000}


def leave(c):
    """It would keep connections for its next requests."""
    c.disconnect()
    c.eio.wait()
    if c.eio.http:
        c.eio.http.close()


def python_url(server):
    return f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
@pytest.mark.parametrize("namespace", ["/", "/custom"])
def test_python(echo, namespace, transports):
    server = echo(**PINGS)
    c = PythonSocketIO(reconnection=False)
    told = queue.Queue()
    for event in ("auth", "message-back"):
        c.on(event, lambda *args, e=event: told.put([e, *args]),
             namespace=namespace)
    c.connect(python_url(server), socketio_path="/echo/socket.io/",
              transports=transports, namespaces=[namespace],
              auth={"token": "abc"})
    try:
        assert told.get(timeout=busy(5)) == ["auth", {"token": "abc"}]
        c.emit("message", (1, "2", {"3": [True]}), namespace=namespace)
        assert told.get(timeout=busy(5)) == \
            ["message-back", 1, "2", {"3": [True]}]
        c.emit("message", b"\x01\x02", namespace=namespace)
        assert told.get(timeout=busy(5)) == ["message-back", b"\x01\x02"]
        assert c.call("message-with-ack", ("x", b"y"), namespace=namespace,
                      timeout=busy(5)) == ("x", b"y")
        assert c.transport() == transports[-1]
    finally:
        leave(c)


@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_python_async(echo, transports):
    server = echo(**PINGS)

    async def talk():
        c = socketio.AsyncClient(reconnection=False)
        told = asyncio.Queue()
        for event in ("auth", "message-back"):
            async def on_event(*args, e=event):
                await told.put([e, *args])
            c.on(event, on_event)
        await c.connect(python_url(server), transports=transports,
                        socketio_path="/echo/socket.io/")
        first = await asyncio.wait_for(told.get(), busy(5))
        await c.emit("message", (1, b"\x01\x02"))
        second = await asyncio.wait_for(told.get(), busy(5))
        ack = await c.call("message-with-ack", ("x", 2), timeout=busy(5))
        name = c.transport()
        await c.disconnect()
        await c.eio.wait()
        if c.eio.http:
            await c.eio.http.close()
        return first, second, ack, name

    assert asyncio.run(talk()) == (
        ["auth", {}], ["message-back", 1, b"\x01\x02"], ("x", 2),
        transports[-1])


@weir_only
def test_python_after_kill_of_the_channel(echo):
    server = echo(**PINGS)
    w = server.weir
    w.children_may_crash = True
    w.allowed.append("channel")
    c = PythonSocketIO(reconnection_delay=0.05, reconnection_delay_max=0.2)
    told = queue.Queue()
    c.on("auth", told.put)
    c.connect(python_url(server), socketio_path="/echo/socket.io/")
    try:
        told.get(timeout=busy(5))
        os.kill(channel(w), signal.SIGKILL)
        told.get(timeout=busy(20))
        assert c.call("message-with-ack", "x", timeout=busy(5)) == "x"
    finally:
        leave(c)


def test_python_with_recovery(echo):
    """Its handlers get the offset, so they take any arguments."""
    server = echo(recovery=60000, **PINGS)
    c = PythonSocketIO(reconnection=False)
    told = queue.Queue()
    c.on("auth", lambda *args: told.put(args))
    c.connect(python_url(server), socketio_path="/echo/socket.io/")
    try:
        auth, offset = told.get(timeout=busy(5))
        assert auth == {} and isinstance(offset, str)
    finally:
        leave(c)
