"""modules/echo as a client sees it."""
# SPDX-License-Identifier: BSD-2-Clause

from http_client import get, request

ECHO = """
    { path = "/e"; module = "echo"; name = "one";
      routes = [ "GET /hello", "POST /x/:id" ]; },"""


def test_echo(weir):
    w = weir(locations=ECHO)
    a = get(w.http, "/e/hello")
    assert a.status == 200
    assert a.json() == {"unit": "one", "version": None, "format": None,
                        "params": {}, "path": "/hello"}
    a = request(w.http, "POST", "/e/x/5%20a?q=1")
    assert a.status == 201
    assert a.json()["params"] == {"id": "5 a"}
    a = request(w.http, "HEAD", "/e/hello")
    assert a.status == 200 and int(a.header("content-length")) > 0
    a = request(w.http, "OPTIONS", "/e/hello")
    assert a.status == 204 and "GET" in a.header("allow")
    a = request(w.http, "DELETE", "/e/hello")
    assert a.status == 405 and "GET" in a.header("allow")
    assert get(w.http, "/e/other").status == 404


def test_echo_takes_everything(weir):
    w = weir(locations='{ path = "/all"; module = "echo"; name = "all";'
                       ' routes = [ "* /*" ]; },')
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        a = request(w.http, method, "/all/some/where")
        assert a.status == (201 if method == "POST" else 200)
        assert a.json()["path"] == "/some/where"
