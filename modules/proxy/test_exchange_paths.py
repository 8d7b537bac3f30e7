"""Paths on their way to a server, and addresses on their way back: what nginx
passes without a URI, and what a choice of versions leaves out."""
# SPDX-License-Identifier: BSD-2-Clause

import shutil
import subprocess

import pytest

from exchange_help import (EGRESS, at_root, layer, location, ok,
                           server)  # noqa: F401
from http_client import Http, get
from patience import busy
from weir import free_port, wait_for

# Targets as clients write them; where weir refuses one, its status.
WRITTEN = [
    "/p/a%2Fb", "/p/a%2fb", "//p/x", "/p//x", "/p///x//", "/p/x/", "/p/./x",
    "/p/a/../b", "/p/%2e%2e/p/x", "/p/a%20b", "/p/a+b", "/p/%41", "/p/a;v=1",
    "/p/a%3Fb?c=%2F", "/p/a%25b", "/p/%E2%82%AC", "/p/a:b@c", "/p/a~b!$&'()*,=",
    "/p/x?", "/p/x?a=b&&c", "/p/x?a=/../b", "/p/[x]", "/p/{x}|y", "/p/a\\b",
    "/p/a%5Cb", "/p/@scope%2fname", "/p/group%2Fproject/raw/a%2Eb",
    "/p/%252e%252e/x", "/p",
]
NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr; %s
events {}
http { access_log off; client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server { listen 127.0.0.1:%d; location /p { proxy_pass %s; } } }
"""


@pytest.fixture
def nginx(tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is not here")
    processes = []

    def start(url):
        port = free_port()
        (tmp_path / "nginx.conf").write_text(NGINX % ("", port, url))
        processes.append(subprocess.Popen(
            ["nginx", "-p", tmp_path, "-c", "nginx.conf"]))

        def ready():
            try:
                return get(port, "/none").status == 404
            except OSError:
                return False

        wait_for(ready, what="nginx")
        return port

    yield start
    for p in processes:
        p.terminate()
        p.wait(busy(10))


def heard(s, port, target):
    """What the server was asked for, or the status without asking it."""
    before = len(s.requests)
    with Http(port) as c:
        c.raw(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode("latin-1"))
        status = c.answer().status
    return s.last.target if len(s.requests) > before else status


def test_what_nginx_passes(weir, server, nginx):
    s = server()
    theirs = nginx(s.url)
    w = weir(top=EGRESS, locations=location(s))
    for target in WRITTEN:
        assert heard(s, w.http, target) == heard(s, theirs, target), target


def test_an_absolute_target(weir, server):
    s = server()
    w = weir(top=EGRESS, locations=location(s))
    for target, path in (("http://a/p/a%2Fb?c", "/p/a%2Fb?c"),
                         ("http://a//p/x", "//p/x")):
        assert heard(s, w.http, target) == path


def test_routing_goes_by_the_normal_form(weir, server):
    """What is guarded by its path stays so however that is written."""
    s, guarded = server(), server()
    w = weir(top=EGRESS, locations=location(s, "/p") + location(
        guarded, "/p/admin"))
    for target in ("/p/admin/x", "/p/%61dmin/x", "/p//admin/x", "/p%2Fadmin/x",
                   "/p/a/../admin/x", "/p/./admin/x"):
        assert heard(guarded, w.http, target) == target
    assert not s.requests


def test_as_it_was_matched(weir, server):
    s = server()
    w = weir(top=EGRESS, locations=location(s, "/p", "raw_path = false;")
             + location(s, "/u", 'uri = "/";')
             + '{ path = "/old"; rewrite = ( { pattern = "^/old/(.*)$"; '
             'to = "/p/$1"; } ); return = { text = "none"; }; },'
             + location(s, "~ ^/k[0-9]/")  # a pattern, whole
             + location(s, "= /exact"))
    for target, path in (("/p//a%2Fb", "/p/a/b"), ("/u//a%2fb/../c", "/a/c"),
                         ("/old/a%2Fb", "/p/a/b"), ("/k1//a%2Fb", "/k1//a%2Fb"),
                         ("//exact", "//exact")):
        assert heard(s, w.http, target) == path


# ---- below a choice of versions ----

def versions(s, path, strategy, more="", unit="", how="", filters=""):
    return f"""{{ path = "{path}"; {filters} layers = ( {{ module = "version";
      strategy = "{strategy}"; {how} units = ( {{ versions = [ "v1", "v2" ];
      {unit} layers = ( {layer(s.url, more)} ); }} ); }} ); }},"""


VENDOR = 'vendor = "acme";'
PREFIX = 'prefix = "pre";'
ACCEPT = "Accept: application/vnd.acme-v1+json"

# A location's path, strategy, settings of the layer and of the unit, what the
# client asks for, the server's path and the prefix that it is told.
PLACES = [
    ("/l", "path", "", "", "/l/v1/a", "/l/a", "/l/v1"),
    ("/l", "path", "", PREFIX, "/l/pre/v1/a", "/l/a", "/l/pre/v1"),
    ("/l", "path", 'uri = "/";', "", "/l/v1/a", "/a", "/l/v1"),
    ("/l", "path", 'uri = "/u";', PREFIX, "/l/pre/v1/a", "/u/a", "/l/pre/v1"),
    ("/l", "path", 'uri = "/u";', "", "/l/v1", "/u", "/l/v1"),
    ("/l", "path", "strip = false;", "", "/l/v1/a", "/l/v1/a", None),
    ("/l", "path", 'strip = false; uri = "/u";', "", "/l/v1/a", "/u/v1/a",
     "/l"),
    ("/l", "path", "", "", "/l/v1", "/l", "/l/v1"),
    ("/l", "path", "", "", "/l/v1/", "/l/", "/l/v1"),
    ("/l", "path", "", "", "/l/v1/a%2Fb//c/", "/l/a%2Fb//c/", "/l/v1"),
    ("/l", "path", "", "", "/l/v1/../v1/a", "/l/a", "/l/v1"),
    ("/l", "path", "", "", "/l/v1/../../l/v1/a", "/l/a", "/l/v1"),
    ("/l", "path", "", "", "//l/v1/a%2Fb", "/l/a/b", "/l/v1"),
    ("/l", "header", "", "", "/l/a", "/l/a", None),
    ("/l", "header", "", PREFIX, "/l/pre/a", "/l/pre/a", None),
    ("/l", "header", 'uri = "/u";', PREFIX, "/l/pre/a", "/u/pre/a", "/l"),
    ("/l", "header", "", PREFIX, "/l/pre/a%2Fb", "/l/pre/a%2Fb", None),
    ("/l", "param", "", PREFIX, "/l/pre/a?apiver=v1&b=1", "/l/pre/a?b=1", None),
    ("/l", "param", 'uri = "/";', "", "/l/a?apiver=v1", "/a", "/l"),
]


@pytest.mark.parametrize("row", PLACES, ids=lambda r: " ".join(
    str(r[i]) for i in (1, 2, 3, 4)))
def test_paths_and_prefixes(weir, server, row):
    path, strategy, more, unit, target, path_there, prefix = row
    s = server()
    w = weir(top=EGRESS, http='trusted_proxies = [ "127.0.0.1" ];',
             locations=versions(s, path, strategy, more, unit,
                                VENDOR if strategy == "header" else ""))
    front = "X-Forwarded-Prefix: /front/"
    for headers, before in (((), ""), ((front,), "/front"),
                            ((front, "X-Forwarded-Prefix: /mid"), "/front/mid")):
        with Http(w.http) as c:
            c.send("GET", target, ACCEPT, *headers)
            assert c.answer().status == 200
        assert s.last.target == path_there
        assert (s.last.header("x-forwarded-prefix") or "") == \
            before + (prefix or "")


def test_versions_at_the_root(weir, server):
    s = server(lambda r, p: ok("", "Location: /b", status="302 Found"))
    text = at_root(s)
    of_versions = versions(s, "/", "path", "", PREFIX)
    w = weir(text=text.replace(layer(s.url), of_versions[
        of_versions.index("{ module"):of_versions.rindex(" ); },")]))
    assert get(w.http, "/pre/v1/a//b").header("location") == "/pre/v1/b"
    assert s.last.target == "/a//b"
    assert s.last.header("x-forwarded-prefix") == "/pre/v1"


def test_a_prefix_of_strangers_is_dropped(weir, server):
    s = server()
    w = weir(top=EGRESS, locations=location(s, "/p", 'uri = "/";')
             + location(s, "/q"))
    for path, prefix in (("/p/a", "/p"), ("/q/a", None)):
        get(w.http, path, "X-Forwarded-Prefix: /evil")
        assert s.last.header("x-forwarded-prefix") == prefix


OWN = "http://127.0.0.1:%(port)d"
# A layer's settings and its strategy as above, and an address of the server as
# the client gets it.
BACK = [
    ("path", "", "/l/v1/a", OWN + "/l/items/9", "/l/v1/items/9"),
    ("path", "", "/l/v1/a", "/l/items/9", "/l/v1/items/9"),
    ("path", "", "/l/v1/a", "http://web.test/l/items/9",
     "http://web.test/l/v1/items/9"),
    ("path", "", "/l/v1/a", "/l/v1/items/9", "/l/v1/items/9"),
    ("path", "", "/l/v1/a", "items/9", "items/9"),
    ("path", "", "/l/v1/a", "/login", "/login"),
    ("path", "", "/l/v1/a", "/l2/x", "/l2/x"),
    ("path", "", "/l/v1/a", "http://other.test/l/x", "http://other.test/l/x"),
    ("path", "", "/l/v1/a", "//other.test/l/x", "//other.test/l/x"),
    ("path", 'uri = "/";', "/l/v1/a", OWN + "/items/9", "/l/v1/items/9"),
    ("path", 'uri = "/";', "/l/v1/a", "/items/9?a#b", "/l/v1/items/9?a#b"),
    ("path", 'uri = "/u";', "/l/v1/a", "/u/items/9", "/l/v1/items/9"),
    ("path", 'uri = "/u";', "/l/v1/a", "/elsewhere", "/elsewhere"),
    ("path", "strip = false;", "/l/v1/a", "/l/v1/x", "/l/v1/x"),
    ("header", "", "/l/a", OWN + "/l/x", "/l/x"),
    ("header", "", "/l/a", "/l/x", "/l/x"),
    ("param", "", "/l/a?apiver=v1", OWN + "/l/x#y", "/l/x?apiver=v1#y"),
    ("param", "", "/l/a?apiver=v1", "/l/x?b=1", "/l/x?b=1&apiver=v1"),
    ("param", "", "/l/a?apiver=v1", "/l/x?apiver=v2", "/l/x?apiver=v2"),
    ("param", "", "/l/a?apiver=v1", "?page=2", "?page=2&apiver=v1"),
    ("param", "", "/l/a?apiver=v1", "https://other.test/", "https://other.test/"),
]


@pytest.mark.parametrize("strategy, more, target, says, is_now", BACK)
def test_addresses_keep_the_version(weir, server, strategy, more, target, says,
                                    is_now):
    def answer(r, p):
        where = says % {"port": s.port} if "%" in says else says
        return ok("", f"Location: {where}", f"Content-Location: {where}",
                  f"Refresh: 5; url={where}", status="302 Found")

    s = server(answer)
    w = weir(top=EGRESS, locations=versions(
        s, "/l", strategy, more, "", VENDOR if strategy == "header" else ""))
    a = get(w.http, target, ACCEPT, host="web.test")
    assert (a.header("location"), a.header("content-location"),
            a.header("refresh")) == (is_now, is_now, f"5; url={is_now}")


def test_an_exact_location_is_where_its_uri_leads(weir, server):
    s = server(lambda r, p: ok("", f"Location: {s.url}/there",
                               status="302 Found"))
    w = weir(top=EGRESS, locations=location(s, "= /here", 'uri = "/there";'))
    assert get(w.http, "/here").header("location") == "/here"
    assert s.last.header("x-forwarded-prefix") == "/here"
