"""Locations by pattern, returns, rewrites, added headers, trailing slashes.
nginx is given the same locations and must choose the same ones."""
# SPDX-License-Identifier: BSD-2-Clause

from urllib.parse import urljoin

import pytest

from balancer import Nginx
from http_client import Http
from weir import TRACED, free_port, place, run

# How nginx writes them; what each answers is its number.
LOCATIONS = [
    "= /", "/", "= /exact", "~ ^/exact", "/exact/below", "/long",
    "/long/longer", r"~* \.(?:png|jpg)$", r"~ ^/x/([0-9]+)$", r"~ ^/x/",
    "/x/12", "= /x/12",
]

PATHS = [
    "/", "/a", "/exact", "/exact/", "/exact/below", "/exact/below/a", "/long",
    "/long/a", "/long/longer", "/long/longer/a", "/a.png", "/a.PNG",
    "/long/a.jpg", "/x/12", "/x/13", "/x/13a", "/X/13", "/x/12.png",
    "/x%2f12", "/y/../x/14", "//x//15", "/a?b=/x/1", "/ex%61ct",
]


def config(locations, more="", port=0):
    return TRACED + f"""
worker_processes = 1; pid = "run/weir.pid"; stop_grace = "0";
control = {{ socket = "run/control.sock"; }};
http = {{ servers = ( {{ listen = "127.0.0.1:{port}"; {more}
  server_name = "h.test";
  access_log = "run/access.log"; access_log_format = "$location $status $note";
  locations = ( {locations} ); }} ); }};
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def ask(port, path, *headers, method="GET"):
    with Http(port) as c:
        c.send(method, path, "Connection: close", *headers, host="h.test")
        return c.answer(to=method)


def test_the_same_locations_as_nginx(weir, tmp_path):
    w = weir(config(", ".join(
        f'{{ path = {quoted(path)}; return = {{ text = "{i}"; }}; }}'
        for i, path in enumerate(LOCATIONS))))
    there = "".join(f"location {path} {{ return 200 {i}; }}"
                    for i, path in enumerate(LOCATIONS))
    n = Nginx(tmp_path, "http { access_log off; default_type text/plain; "
              f"server {{ listen 127.0.0.1:{{port}}; {there} }} }}")
    try:
        theirs = {p: ask(n.port, p).body for p in PATHS}
    finally:
        n.kill()
    ours = {p: ask(w.http, p).body for p in PATHS}
    assert ours == theirs
    assert len(set(ours.values())) > 8


def test_a_name_that_redirects_to_https(weir):
    w = weir(config('{ path = "/"; return = { status = 301; '
                    'to = "https://$host$request_uri"; }; }'))
    a = ask(w.http, "/a/b%20c?d=e&f=%2F")
    assert a.status == 301 and a.body == b""
    assert a.header("location") == "https://h.test/a/b%20c?d=e&f=%2F"
    assert ask(w.http, "//evil.test/").header("location") == \
        "https://h.test/evil.test/"
    assert ask(w.http, "/", method="POST").status == 301
    assert ask(w.http, "/", "Sec-Fetch-Site: cross-site",
               method="POST").status == 301


def test_groups_stay_in_their_place(weir):
    """A client's words are encoded as their place demands."""
    w = weir(config(r"""
      { path = "~ ^/go/(?<what>.*)$"; return = "/there/$what?q=$1"; },
      { path = "~ ^/html/(.*)$"; return = { text = "<b>$1</b>";
                                            type = "text/html"; }; },
      { path = "~ ^/json/(.*)$"; return = { text = "{\"a\":\"$1\"}";
                                            type = "application/json"; }; },
      { path = "~ ^/head/(.*)$"; return = { text = "x"; };
        add_headers = ( { name = "X-What"; value = "is $1"; },
                        { name = "X-Agent"; value = "$http_user_agent"; },
                        { name = "X-None"; value = "$http_nothing"; } ); }"""))
    a = ask(w.http, "/go/a%20b%3Fc&d%C3%A9")
    assert a.status == 302
    assert a.header("location") == \
        "/there/a%20b%3Fc&d%C3%A9?q=a%20b%3Fc%26d%C3%A9"
    assert ask(w.http, "/html/%3Cscript%3E").body == \
        b"<b>&#60;script&#62;</b>"
    assert ask(w.http, "/json/%22,%5C").json() == {"a": '",\\'}
    a = ask(w.http, "/head/%C3%A9x", "User-Agent: me")
    assert a.header("x-what") == "is %C3%A9x" and a.header("x-agent") == "me"
    assert a.header("x-none") is None
    assert ask(w.http, "/head/a%0d%0aX-Evil:1").status == 400


def test_rewrites(weir):
    w = weir(config(r"""
      { path = "/new"; return = { text = "$uri $args $request_uri"; }; },
      { path = "/old"; rewrite = (
          { pattern = "^/old/gone/(.*)$"; to = "/new/$1"; then = "permanent"; },
          { pattern = "^/old/for-now$"; to = "/new?x=1"; then = "redirect"; },
          { pattern = "^/old/(?<id>[0-9]+)$"; to = "/new/$id"; },
          { pattern = "^/old/q/(.*)$"; to = "/new?q=$1"; },
          { pattern = "^/old/bare$"; to = "/new?"; },
          { pattern = "^/old/up/(.*)$"; to = "/new/../new/$1"; } ); },
      { path = "/ring"; rewrite = { pattern = "^/ring(.*)$";
                                    to = "/ring/x$1"; }; },
      { path = "~ ^/slow/(a+)+$"; return = "/"; },
      { path = "/"; return = { status = 404; text = "none"; }; }""", more=r"""
      rewrite = { pattern = "^/first/(.*)$"; to = "/old/$1"; };"""))

    def body(path):
        return ask(w.http, path).body.decode()
    assert body("/old/12?a=b") == "/new/12 a=b /old/12?a=b"
    assert body("/first/12") == "/new/12  /first/12"
    assert body("/old/q/a%26b?c=d") == "/new q=a%26b&c=d /old/q/a%26b?c=d"
    assert body("/old/bare?c=d") == "/new  /old/bare?c=d"
    assert body("/old/up/z") == "/new/z  /old/up/z"
    assert body("/old/else") == "none"
    a = ask(w.http, "/old/gone/x%20y?z=1")
    assert (a.status, a.header("location")) == (301, "/new/x%20y?z=1")
    a = ask(w.http, "/old/for-now?z=1")
    assert (a.status, a.header("location")) == (302, "/new?x=1&z=1")
    assert ask(w.http, "/ring").status == 500
    assert ask(w.http, "/slow/" + "a" * 40 + "b").status == 500
    w.wait_access_log("500 rewrite rules turn in a circle")
    w.wait_access_log("500 a pattern takes too many steps")


def test_a_client_names_no_other_host(weir):
    w = weir(config(r"""
      { path = "/p"; rewrite = { pattern = "^/p/(?:([a-z][a-z])/)?(.*)$";
                                 to = "/$1/$2"; then = "redirect"; }; },
      { path = "~ ^/args/(.*)$"; return = "/$args"; },
      { path = "~ ^/back/(.*)$"; return = "/$1"; },
      { path = "~ ^/own/(.*)$"; return = "//cdn.test/$1"; }"""))
    for path, to in (("/p/de/a", "/de/a"), ("/p/evil.test", "/evil.test"),
                     ("/args/?/evil.test", "/evil.test"),
                     ("/back/%5Cevil.test", "/%5Cevil.test"),
                     ("/own/a", "//cdn.test/a")):
        assert ask(w.http, path).header("location") == to, path


def test_texts_that_get_too_long(weir):
    """None of it is written, rather than a part."""
    many = "$1" * 40
    w = weir(config(f"""
      {{ path = "~ ^/text/(.*)$"; return = {{ text = "{many}"; }}; }},
      {{ path = "~ ^/json/(.*)$"; return = {{ text = "{many}";
                                  type = "application/json"; }}; }},
      {{ path = "~ ^/to/(.*)$"; return = "/{many}"; }},
      {{ path = "/old"; rewrite = {{ pattern = "^/old/(.*)$";
                                     to = "/{many}"; }}; }},
      {{ path = "~ ^/head/(.*)$"; return = {{ text = "x"; }};
         add_headers = ( {{ name = "X-Long"; value = "{many}"; }},
                         {{ name = "X-Short"; value = "$1"; }} ); }}"""))
    assert ask(w.http, "/text/ab").body == b"ab" * 40
    for path in ("/text/", "/json/", "/to/", "/old/"):
        assert ask(w.http, path + "a" * 2000).status == 500, path
    a = ask(w.http, "/head/" + "a" * 2000)
    assert a.status == 200 and a.header("x-long") is None
    assert a.header("x-short") == "a" * 2000
    w.wait_access_log("500 a text with variables got too long")


def test_added_headers(weir):
    w = weir(config("""
      { path = "/a"; return = { text = "x"; };
        add_headers = ( { name = "X-Of"; value = "location"; },
                        { name = "X-Only"; value = "here"; } ); },
      { path = "/gone"; return = { status = 404; text = "x"; }; },
      { path = "/echo"; module = "echo"; routes = "GET /*"; }""", more="""
      add_headers = ( { name = "X-Of"; value = "server"; },
                      { name = "X-Always"; value = "$server_name";
                        always = true; } );"""))
    a = ask(w.http, "/a")
    assert a.header("x-of") == "location" and a.header("x-only") == "here"
    assert a.header("x-always") == "h.test"
    a = ask(w.http, "/echo/x")
    assert a.header("x-of") == "server" and a.header("x-only") is None
    for path in ("/gone", "/nowhere", "/%zz"):
        a = ask(w.http, path)
        assert a.status >= 400
        assert a.header("x-of") is None and a.header("x-always") == "h.test"


def test_trailing_slashes(weir):
    def one(name, how):
        return f'{{ path = "/{name}"; module = "echo"; routes = ' \
               f'[ "GET /", "GET /x" ]; {how} }}'
    w = weir(config(", ".join((
        one("off", ""), one("accept", 'trailing_slash = "accept";'),
        one("redirect", 'trailing_slash = "redirect";')))))
    for path, status in (("/off", 200), ("/off/", 200), ("/off/x", 200),
                         ("/off/x/", 404), ("/accept/", 200),
                         ("/accept/x/", 200), ("/accept/y/", 404),
                         ("/redirect", 200), ("/redirect/x", 200)):
        assert ask(w.http, path).status == status, path
    # Relative where that leads there, for a proxy may have a prefix.
    for path, to in (("/redirect/", "../redirect"),
                     ("/redirect/a%20b/?c=d", "../a%20b?c=d"),
                     ("/redirect/a/", "../a"),
                     ("/redirect//a/", "../a"),
                     ("/redirect/%61/", "../a"),
                     ("/redirect/a//", "/redirect/a"),
                     ("/redirect/a%2F", "/redirect/a"),
                     ("/redirect/a%2Fb/", "/redirect/a/b"),
                     ("/redirect/a/.", "/redirect/a"),
                     ("/redirect/a/b/..", "/redirect/a")):
        a = ask(w.http, path)
        assert (a.status, a.header("location")) == (308, to), path


def test_slashes_below_a_prefix(weir, tmp_path):
    """A proxy that takes it away leaves a path in Location alone."""
    w = weir(config('{ path = "/x"; module = "echo"; routes = "GET /y"; '
                    'trailing_slash = "redirect"; }'))
    n = Nginx(tmp_path, f"""http {{ access_log off; server {{
      listen 127.0.0.1:{{port}};
      location /pre/ {{ proxy_pass http://127.0.0.1:{w.http}/; }} }} }}""")
    try:
        at = f"http://127.0.0.1:{n.port}/pre/x/y/?a=b"
        to = urljoin(at, ask(n.port, "/pre/x/y/?a=b").header("location"))
        assert to == at.replace("y/?", "y?")
        assert ask(n.port, to.partition(str(n.port))[2]).status == 200
    finally:
        n.kill()


@pytest.mark.parametrize("location,wanted", [
    ('path = "~ ^/(a"; return = "/";', 'pattern "^/(a"'),
    ('path = "= a"; return = "/";', "must start with '/'"),
    ('path = "/a"; return = "/$b";', 'there is no variable "$b"'),
    ('path = "~ ^/(?<b>a)"; return = "/$c";',
     '"$c" is neither a variable nor a group'),
    ('path = "/a"; return = { status = 301; };', "needs to"),
    ('path = "/a"; return = { status = 200; to = "/"; };', "must be 301"),
    ('path = "/a"; return = { to = "/"; text = "x"; };', "not both"),
    ('path = "/a"; return = { status = 204; text = "x"; };', "has no text"),
    ('path = "/a"; return = "/"; module = "hello";', "beside a return"),
    ('path = "/a";', "needs a module or layers"),
    ('path = "/a"; return = "/"; add_headers = { name = "Content-Length"; '
     'value = "1"; };', "weir itself sets"),
    ('path = "/a"; return = "/"; add_headers = { name = '
     '"strict-transport-security"; value = "1"; };', "hsts says that"),
    ('path = "/a"; rewrite = { pattern = "("; to = "/"; };', 'pattern "("'),
    ('path = "/a"; rewrite = { pattern = "a"; to = "/$2"; };',
     '"$2" is neither'),
    ('path = "/a"; trailing_slash = "redirect"; module = "static"; '
     'root = "/tmp";', 'write "off"'),
    ('path = "= /a"; return = "/"; }, { path = "=/a"; return = "/";',
     'there is a location "=/a"'),
    ('path = "~x"; return = "/"; }, { path = "~ x"; return = "/";',
     'there is a location "~ x"'),
    ('path = "~*x"; return = "/"; }, { path = "~* x"; return = "/";',
     'there is a location "~* x"'),
])
def test_mistakes(tmp_path, location, wanted):
    place(tmp_path, config(f"{{ {location} }}", port=free_port()))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and wanted in r.stderr, r.stderr


@pytest.mark.parametrize("guard,pattern,warned", [
    ('access = "deny 10.0.0.0/8";', r"~ \\.png$", True),
    ('access = "deny 10.0.0.0/8";', r"~* ^/ADM(in)?", True),
    ('access = "deny 10.0.0.0/8";', r"~ ^/admins?/", True),
    ('access = "deny 10.0.0.0/8";', r"~ ^/a|/b", True),
    ('access = "deny 10.0.0.0/8";', r"~ ^/adminx/", False),
    ('access = "deny 10.0.0.0/8";', r"~ ^/other/.*\\.png$", False),
    ('access = "deny 10.0.0.0/8";', r"= /admin/login", False),
    ("", r"~ \\.png$", False),
])
def test_a_pattern_before_a_guard(tmp_path, guard, pattern, warned):
    place(tmp_path, config(
        f'{{ path = "/admin"; {guard} module = "hello"; }},'
        f'{{ path = "{pattern}"; module = "echo"; }}'))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode == 0
    assert ("lacks its access" in r.stderr) == warned, r.stderr
