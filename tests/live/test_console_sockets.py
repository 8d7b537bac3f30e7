"""The console's feed over Socket.IO, and without it."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import socket
import threading
from types import SimpleNamespace

import pytest

from browser import Browser
from feed import Feed
from http_client import get
from patience import busy
from socket_help import Place
from test_console import (DENIED, ROW, STAT, WATCH_LINK, console,
                          publish_picture)
from weir import descendants, title, wait_for

pytestmark = pytest.mark.once

# Notes the addresses that the page asks for.
NOTE_ASKED = """
window.asked = [];
const bare = window.fetch;
window.fetch = (url, ...more) => {
  asked.push(new URL(url, location.href).pathname);
  return bare(url, ...more);
};
"""
# Those of server-sent events.
ASKED = "return asked.filter((path) => path === '/stat/events').length;"


def look(b, url):
    """Opens it in the tab of now."""
    b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                             {"source": NOTE_ASKED})
    b.open(url)


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


def channel(w):
    return next(pid for pid in descendants(w.pid)
                if "channel" in title(pid))


def live_by_socket(b):
    b.wait_text("#link", "^live$", 20)
    assert b.script(ASKED) == 0


def test_ten_tabs_are_live_at_once(weir, browser):
    """A browser has six connections to a host, and no answer takes one."""
    w = console(weir)
    f = Feed(w.rtmp, name="room").head()
    b = browser
    for n in range(10):
        if n > 0:
            b.open_tab()
        look(b, w.http_url("/"))
        live_by_socket(b)
    for tab in b.windows():
        b.driver.switch_to.window(tab)
        b.wait_text(ROW, r"live/room\s+live\b")
        live_by_socket(b)
        assert not b.complaints()
    f.c.close()


def test_views_need_no_other_connection(weir, browser):
    """Each view asks for what it shows; what came before is not mixed in."""
    w = console(weir)
    feeds = [Feed(w.rtmp, name=name).head() for name in ("one", "two")]
    b = browser
    look(b, w.http_url("/"))
    b.wait_text(ROW, "live/one")
    for _ in range(3):
        b.click("nav a[href='#/sessions']")
        b.wait_text(".sessions tbody", "(?s)publisher.*publisher")
        b.click("nav a[href='#/streams']")
        b.click(f"{ROW} a[href*='live%2Ftwo']")
        b.wait_text(".stream .sessions", r"publisher\s+rtmp")
        assert "live/one" not in b.text(".stream .sessions")
        b.click("nav a[href='#/streams']")
        b.wait_text(ROW, "live/one")
    live_by_socket(b)
    assert not b.complaints()
    for f in feeds:
        f.c.close()


def test_it_comes_back_by_itself(weir, browser):
    """After a reload, and when the channel is killed."""
    w = console(weir)
    b = browser
    look(b, w.http_url("/"))
    live_by_socket(b)
    b.script(WATCH_LINK)

    def went_and_came(n, *states):
        got = wait_for(lambda: b.script(
            "return states.length > 2 * arguments[0] && states", n), 20,
            "live again")
        assert [name for name, _ in got[-2:]] == [*states]
        return (got[-1][1] - got[-2][1]) / 1000
    w.reload()
    assert went_and_came(1, "connecting", "live") < busy(1)
    os.kill(channel(w), signal.SIGKILL)
    b.wait_text("#link", "^lost|^connecting|^live")
    got = wait_for(lambda: b.script(
        "return states.length > 4 && states.at(-1)[0] === 'live' && states"),
        20, "live again")
    names = [name for name, _ in got[3:]]
    assert names[0] == "lost" and names[-1] == "live"
    assert got[-1][1] - got[3][1] < busy(2) * 1000
    live_by_socket(b)


class Proxy:
    """Passes bytes on, but for requests for an upgrade: what happens to these
    is `how`.  A link that is silent passes nothing down, and is not closed."""

    def __init__(self, port, how=None):
        self.target, self.how = port, how
        self.held, self.links = [], []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.upgrades = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,),
                             daemon=True).start()

    def serve(self, client):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(65536)
                if not part:
                    return
                head += part
            if b"upgrade: websocket" in head.lower():
                self.upgrades += 1
                if self.how == "refuses":
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n"
                                   b"Connection: close\r\n"
                                   b"Content-Length: 0\r\n\r\n")
                    return
                if self.how == "swallows":
                    self.held.append(client)
                    return
                if self.how:
                    head = b"\r\n".join(
                        line for line in head.split(b"\r\n") if not
                        line.lower().startswith((b"upgrade:", b"connection:")))
            server = socket.create_connection(("127.0.0.1", self.target))
            server.sendall(head)
            link = SimpleNamespace(asked=head, silent=False)
            self.links.append(link)
            threading.Thread(target=self.copy, args=(server, client),
                             kwargs={"down": link}, daemon=True).start()
            self.copy(client, server, up=link)
        except OSError:
            pass
        finally:
            if client not in self.held:
                client.close()

    def asking(self, path):
        """Connections that asked for it last."""
        return [link for link in self.links
                if link.asked.split(b" ")[1:2] == [path]]

    @staticmethod
    def copy(one, other, up=None, down=None):
        try:
            while part := one.recv(65536):
                if up:
                    up.asked = part
                if not (down and down.silent):
                    other.sendall(part)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()
        for s in self.held:
            s.close()


@pytest.mark.parametrize("how", ["refuses", "swallows", "strips"])
def test_a_proxy_without_upgrades(weir, browser, how):
    """Server-sent events come in the place of a WebSocket, and later views do
    not try again."""
    w = console(weir)
    f = Feed(w.rtmp, name="room").head()
    p = Proxy(w.http, how)
    b = browser
    look(b, f"http://127.0.0.1:{p.port}/")
    b.wait_text("#link", "^live$", 20)
    b.wait_text(ROW, r"live/room\s+live\b")
    assert b.script(ASKED) == 1
    b.click("nav a[href='#/sessions']")
    b.wait_text(".sessions tbody", "publisher")
    assert b.script(ASKED) == 2
    assert p.upgrades == 1
    p.close()
    f.c.close()


def test_a_picture_whose_connection_died_is_asked_for_anew(weir, browser,
                                                           tool):
    """Nobody has closed it: the picture just stands still."""
    w = console(weir)
    p = Proxy(w.http)
    b = browser
    tool(publish_picture(w.rtmp_url("test")))
    b.open(f"http://127.0.0.1:{p.port}/#/streams/live%2Ftest")
    b.picture(2)
    one, = p.asking(b"/live/test.flv")
    one.silent = True
    wait_for(lambda: len(p.asking(b"/live/test.flv")) == 2, 30, "a request anew")
    b.picture(b.picture()["at"] + 3)
    assert not b.complaints()
    p.close()


def test_who_may_not_see_them_sees_nothing(weir, browser):
    """A location that refuses its statistics refuses their socket."""
    w = console(weir, DENIED)
    b = browser
    look(b, w.http_url("/"))
    b.wait_text("#link", "^no statistics$")
    assert b.script("""
        const done = arguments[0];
        const ws = new WebSocket(`ws://${location.host}` +
          '/stat/socket.io/?EIO=4&transport=websocket');
        return new Promise((over) => {
          ws.onopen = () => over('open');
          ws.onclose = () => over('closed');
        });""") == "closed"
    answer = get(w.http, "/stat/socket.io/?EIO=4&transport=polling")
    assert answer.status == 403


def test_a_reload_that_takes_them_away(weir, browser):
    """It ends the sockets that there are."""
    w = console(weir)
    b = browser
    look(b, w.http_url("/"))
    live_by_socket(b)
    w.set_config(locations=DENIED)
    w.reload()
    b.wait_text("#link", "^no statistics$", 20)


class Stat(Place):
    """The module's own endpoint."""

    def target(self, endpoint, query):
        return "/stat" + super().target(endpoint, query)[len("/echo"):]


def test_who_came_before_a_reload_is_sent_back(weir):
    """One that joins late came through filters that are no more."""
    w = console(weir)
    before = Stat(w.http).polling()
    w.reload()
    before.send("40")
    assert before.receive_data()[:2] == "40"
    assert before.receive() == "41"
    after = Stat(w.http).polling()
    after.send("40")
    assert after.receive_data()[:2] == "40"
