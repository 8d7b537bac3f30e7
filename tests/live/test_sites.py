"""What pages of other sites can make a browser ask, with and without letting
their names point here (DNS rebinding)."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re

import pytest

from browser import Browser
from http_client import Http

LOCATIONS = """
  { path = "/control"; module = "relay"; },
  { path = "/api"; module = "articles"; %s },
  { path = "/near"; module = "static"; root = "html";
    access = [ "allow loopback", "deny all" ]; },
"""
ARTICLE = b'{"title": "one", "content": "x", "author": {"id": 1}}'
JSON = "Content-Type: application/json"
ROOM = "/control/get?room=film"
PUSH = ("/control/push?oper=start&app=live&name=a&"
        "url=rtmp%3A%2F%2F203.0.113.1%2Fa%2Fb")
EVERYTHING = [("GET", ROOM), ("GET", "/control/reset?room=film"),
              ("GET", "/control/delete?room=film"), ("GET", PUSH),
              ("GET", "/control/relays"), ("GET", "/metrics"),
              ("GET", "/api/articles"), ("POST", "/api/articles"),
              ("DELETE", "/api/articles/1"), ("GET", "/near/a")]


def start(weir, hosts="", articles="", **parts):
    w = weir(locations=LOCATIONS % articles, http=f"hosts = [ {hosts} ];",
             **parts)
    with open(f"{w.prefix}/html/a", "w", encoding="ascii") as f:
        f.write("a")
    return w


def ask(w, method, target, *headers, host="localhost"):
    body = ARTICLE if method == "POST" else b""
    kind = (JSON,) if body else ()
    with Http(w.http) as c:
        c.send(method, target, *kind, *headers, body=body, host=host)
        return c.answer(method)


def key(w):
    a = ask(w, "GET", ROOM)
    assert a.status == 200, a.body
    return a.body.decode()


def rebound(w):
    """Headers of a browser whose page at evil.example is now here."""
    host = f"evil.example:{w.http}"
    return host, (f"Origin: http://{host}", "Sec-Fetch-Site: same-origin",
                  f"Referer: http://{host}/")


# ---- names ----

def test_a_name_that_points_here_opens_nothing(weir):
    w = start(weir)
    before = key(w)
    assert ask(w, "POST", "/api/articles").status == 201
    host, headers = rebound(w)
    for method, target in EVERYTHING:
        for more in (headers, ()):
            a = ask(w, method, target, *more, host=host)
            assert a.status == 421, target
            assert b'hosts = [ \\"evil.example\\" ]' in a.body, a.body
            assert before.encode() not in a.body
    assert key(w) == before
    assert ask(w, "GET", "/api/articles/1").status == 200
    assert ask(w, "GET", "/control/relays").json()["data"] == []
    text = ask(w, "GET", "/metrics").body.decode()
    assert re.search(r'weir_http_refusals_total\{reason="misdirected"\} '
                     rf"{2 * len(EVERYTHING)}\n", text)


@pytest.mark.parametrize("host", [
    "localhost", "localhost.", "a.localhost:8090", "127.0.0.1", "[::1]:8090",
    "192.0.2.1", os.uname().nodename, "media.example.org",
    "x.y.example.net:1234"])
def test_names_that_are_ours(weir, host):
    w = start(weir, hosts='"media.example.org", "*.example.net"')
    assert ask(w, "GET", ROOM, host=host).status == 200
    assert ask(w, "GET", ROOM, f"Origin: http://{host}",
               host=host).status == 200


def test_what_everybody_may_have_goes_by_any_name(weir):
    """On a port of all addresses, where nothing restricts it."""
    w = start(weir, http_listen='"0"',
              articles='write_access = [ "allow loopback", "deny all" ];')
    host, headers = rebound(w)
    for target in ("/a", "/healthz", "/api/articles"):
        assert ask(w, "GET", target, *headers, host=host).status == 200
    # From this machine: the key is anybody's there, for no access is set.
    for method, target in (("GET", "/near/a"), ("GET", "/metrics"),
                           ("POST", "/api/articles"),
                           ("DELETE", "/api/articles/1")):
        assert ask(w, method, target, *headers, host=host).status == 421
    assert ask(w, "POST", "/api/articles").status == 201


def test_proxies_that_are_trusted_say_the_names(weir):
    w = weir(locations=LOCATIONS % "",
             http='trusted_proxies = "loopback"; hosts = [];')
    a = ask(w, "GET", "/control/relays", host="media.example.org")
    assert a.status == 200
    a = ask(w, "GET", "/control/relays", "X-Forwarded-Host: a.example",
            "X-Forwarded-For: 203.0.113.7", "Origin: http://a.example",
            host="backend")
    assert a.status == 200


def test_who_is_no_browser(weir):
    """HTTP/1.0 without Host, and who comes through a unix socket."""
    w = start(weir, http_listen='"127.0.0.1:0", "unix:run/http.sock"')
    with Http(w.http) as c:
        c.send("GET", ROOM, version="1.0", host=None)
        assert c.answer().status == 200
    with Http(path=f"{w.prefix}/run/http.sock") as c:
        c.send("GET", ROOM, host="evil.example")
        assert c.answer().status == 200
    with Http(w.http) as c:
        c.send("GET", f"http://evil.example{ROOM}", host="evil.example")
        assert c.answer().status == 421
    assert ask(w, "GET", ROOM, "X-Forwarded-Host: localhost",
               host="evil.example").status == 421


# ---- pages ----

CHANGES = [("GET", ROOM), ("GET", "/control/delete?room=film"), ("GET", PUSH),
           ("POST", "/api/articles"), ("DELETE", "/api/articles/1")]
OTHERS = [("Origin: http://evil.example", "Sec-Fetch-Site: cross-site"),
          ("Sec-Fetch-Site: same-site",), ("Origin: null",),
          ("Origin: http://localhost:1",)]


def test_pages_of_other_sites_change_nothing(weir):
    w = start(weir, articles='write_access = [ "allow loopback" ];')
    before = key(w)
    assert ask(w, "POST", "/api/articles").status == 201
    for method, target in CHANGES:
        for headers in OTHERS:
            a = ask(w, method, target, *headers)
            assert a.status == 403 and b"other sites" in a.body, target
    assert key(w) == before
    assert ask(w, "GET", "/api/articles/1").status == 200
    # Reading goes on: the browser keeps the answer from the page.
    assert ask(w, "GET", "/api/articles/1", *OTHERS[0]).status == 200
    own = ("Origin: http://localhost", "Sec-Fetch-Site: same-origin")
    assert ask(w, "DELETE", "/api/articles/1", *own).status == 204


# ---- a real browser ----

FETCH = """
const [url, options, done] = arguments;
fetch(url, options).then(async (r) => done([r.status, await r.text()]),
                         (e) => done([0, String(e)]));
"""


@pytest.fixture
def evil():
    """For which evil.example is this machine."""
    b = Browser("--host-resolver-rules=MAP evil.example 127.0.0.1")
    yield b
    b.quit()


@pytest.mark.once
def test_a_page_that_was_bound_to_this_machine(weir, evil):
    w = start(weir)
    before = key(w)
    assert ask(w, "POST", "/api/articles").status == 201
    evil.open(f"http://evil.example:{w.http}/control/get?room=film")
    assert before not in evil.script("return document.body.innerText")
    assert evil.script("return location.host") == f"evil.example:{w.http}"
    for method, target in EVERYTHING:
        options = {"method": method}
        if method == "POST":
            options.update(body=ARTICLE.decode(),
                           headers={"Content-Type": "application/json"})
        status, text = evil.driver.execute_async_script(FETCH, target, options)
        assert status == 421, (target, text)
        assert before not in text
    assert key(w) == before
    assert ask(w, "GET", "/api/articles/1").status == 200


@pytest.mark.once
def test_a_page_that_asks_this_machine_across(weir, evil):
    """Without a name of its own for it: the answer is kept from the page by
    the browser, what it would change by weir."""
    w = start(weir)
    before = key(w)
    evil.open(f"http://evil.example:{w.http}/")
    for target in ("/control/delete?room=film", "/control/reset?room=film"):
        evil.driver.execute_async_script(
            FETCH, f"http://127.0.0.1:{w.http}{target}", {"mode": "no-cors"})
        evil.driver.execute_async_script("""
            const [url, done] = arguments;
            const image = new Image();
            image.onload = image.onerror = () => done();
            image.src = url;
            """, f"http://127.0.0.1:{w.http}{target}")
    assert key(w) == before
