"""modules/static: the file that an alias names, in place of the path."""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess

import pytest

from http_client import get
from patience import busy
from weir import TRACED, place, run

LOCATIONS = r"""
{ path = "= /favicon.ico"; module = "static"; root = "FILES";
  alias = "icons/weir.ico"; },
{ path = "~ ^/users/([^/]+)/photos/(.*)$"; layers = (
    { module = "static"; root = "FILES"; alias = "users/$1/pictures/$2";
      autoindex = true; },
    { module = "echo"; name = "next"; routes = "GET /*"; } ); },
{ path = "~ ^/agents$"; module = "static"; root = "FILES";
  alias = "users/$http_x_name"; },
{ path = "~ ^/bytes/(?<name>.*)$"; module = "static"; root = "FILES";
  alias = "users/a/$name"; },
"""


@pytest.fixture
def site(weir, tmp_path):
    """A weir with these files, which no other location has."""
    def make(**files):
        folder = tmp_path / "files"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return weir(locations=LOCATIONS.replace("FILES", str(folder)))
    return make


def body(w, path, *headers):
    a = get(w.http, path, *headers)
    return a.body if a.status == 200 else a.status


def test_an_alias(site):
    w = site(**{
        "icons/weir.ico": "icon", "users/ann/pictures/one.png": "one",
        "users/ann/pictures/two é.png": "two", "users/ann/secret.txt": "no",
        "users/ann/pictures/index.html": "page", "users/bob/pictures/x/y": "y"})
    assert body(w, "/favicon.ico") == b"icon"
    assert get(w.http, "/favicon.ico").header("content-type") == \
        "image/x-icon"
    assert body(w, "/favicon.ico/x") == 404
    assert body(w, "/users/ann/photos/one.png") == b"one"
    assert body(w, "/users/ann/photos/two%20%C3%A9.png") == b"two"
    assert body(w, "/users/ann/photos/") == b"page"
    assert b'href="./y"' in body(w, "/users/bob/photos/x/")
    a = get(w.http, "/users/bob/photos/x")
    assert a.status == 301 and a.header("location") == "./x/"


def test_nothing_else_is_reached(site):
    w = site(**{"secret.txt": "hush", "users/ann/secret.txt": "hush",
                "users/ann/.secret": "hush", "users/.hidden/pictures/z": "hush",
                "users/a/b": "b"})
    for path in ("/users/ann/photos/../secret.txt",
                 "/users/ann/photos/%2e%2e/secret.txt",
                 "/users/ann/photos/..%2fsecret.txt",
                 "/users/..%2f..%2fann/photos/secret.txt",
                 "/users/ann/photos/.secret", "/users/.hidden/photos/z"):
        assert b"hush" not in get(w.http, path).body, path
    for name in ("../secret.txt", "ann/../../secret.txt", "ann/.secret", "..",
                 "../../../../../etc/passwd", ".hidden/pictures/z"):
        assert body(w, "/agents", f"X-Name: {name}") == 404, name
    assert body(w, "/agents", "X-Name: a/b") == b"b"
    assert body(w, "/bytes/b") == b"b"
    assert body(w, "/bytes/b%00.png") in (400, 404)


def test_the_next_layer_has_its_own_path(site):
    w = site(icon="x")
    said = subprocess.run(
        ["curl", "-sS", w.http_url("/users/ann/photos/none.png")],
        capture_output=True, text=True, timeout=busy(10), check=True).stdout
    assert '"path":"/users/ann/photos/none.png"' in said


@pytest.mark.parametrize("path, alias, wrong", [
    ("~ ^/u/([a-z]+)$", "$1/x", ""), ("~ ^/u/(?<who>.*)$", "$who", ""),
    ("~ ^/u/([a-z]+)$", "$2/x", 'alias: "$2" is neither a variable nor'),
    ("= /x", "$who", 'alias: there is no variable "$who"'),
    ("/", "$1", 'alias: there is no variable "$1"')])
def test_groups_that_are_not_there(tmp_path, path, alias, wrong):
    (tmp_path / "html").mkdir()
    place(tmp_path, f"""{TRACED} http = {{ servers = ( {{ listen = "127.0.0.1:0";
locations = ( {{ path = "{path}"; module = "static"; root = "html";
  alias = "{alias}"; }} ); }} ); }};""")
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    assert (done.returncode == 0) == (wrong == ""), done.stderr
    assert wrong in done.stderr
