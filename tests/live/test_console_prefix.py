"""The console below a path that proxies take away, in Chromium."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import shutil

import pytest

from balancer import Nginx
from browser import Browser
from http_client import get
from media import QUIET, Tool
from weir import HOSTS, TRACED, open_way, wait_for

pytestmark = pytest.mark.once

STAT = '{ path = "/stat"; module = "stat"; },'
ROW = ".streams tbody tr"

UPGRADES = """
map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
"""
PASSED = """
proxy_http_version 1.1;
proxy_set_header Host $host;
proxy_set_header Upgrade $http_upgrade;
proxy_set_header Connection $connection_upgrade;
"""


def nginx(folder, location, upstream, path="/", more=PASSED):
    """Its location goes to the upstream's path; all else is another's page."""
    return Nginx(folder, f"""http {{ access_log off; {UPGRADES}
      server {{ listen 127.0.0.1:{{port}};
        location {location} {{ proxy_pass http://127.0.0.1:{upstream}{path};
          {more} }}
        location / {{ return 404 "<h1>another's</h1>"; }} }} }}""")


def weirs_own(weir, location, upstream):
    """Another weir's proxy module."""
    w = weir(locations=f"""
      {{ path = "{location}"; module = "proxy"; uri = "/";
         upstream = "http://127.0.0.1:{upstream}"; }},""",
             top='egress = [ "allow loopback" ];')
    w.may_grow = True  # it keeps connections to the other one
    return w.http


# How it is reached: (the proxy's port, path of the page).
FRONTS = {
    "nginx": lambda n: (n.nginx("/weir/"), "/weir/"),
    "nginx, page without slash": lambda n: (n.nginx("/weir/"), "/weir"),
    "nginx, location without slash": lambda n: (n.nginx("/weir"), "/weir"),
    "nginx, deeper": lambda n: (n.nginx("/a/b/c/"), "/a/b/c/"),
    "nginx, X-Forwarded-Prefix": lambda n: (n.nginx(
        "/weir/", more=PASSED + "proxy_set_header X-Forwarded-Prefix /weir;"),
        "/weir/"),
    "as Apache's ProxyPass": lambda n: (n.nginx("/weir/", more="""
        proxy_http_version 1.1; proxy_set_header X-Forwarded-Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;"""), "/weir/"),
    "weir": lambda n: (weirs_own(n.weir, "/weir", n.w.http), "/weir/"),
    "weir, page without slash":
        lambda n: (weirs_own(n.weir, "/weir", n.w.http), "/weir"),
    "nothing": lambda n: (n.w.http, "/"),
    "its own location": lambda n: (n.w.http, "/console/"),
    "its own location behind nginx":
        lambda n: (n.nginx("/weir/"), "/weir/console/"),
}


CONFIG = f"""
stop_grace = "0"; {TRACED} worker_processes = 1;
tts = ( {{ name = "main"; }} );
downloads = ( {{ name = "main"; directory = "run/downloads"; }} );
rtmp = {{ servers = ( {{ listen = "127.0.0.1:0";
  applications = ( {{ name = "live"; publish = "open"; }} ); }} ); }};
http = {{ servers = ( {{ listen = "127.0.0.1:0"; {HOSTS}
  locations = ( %s ); }} ); }};
"""


class Node:
    """A weir with the console at / and at /console."""

    def __init__(self, weir, tool, folder):
        self.weir, self.tool, self.folder = weir, tool, folder
        shutil.copytree("html", f"{folder}/html")
        page = f'module = "static"; root = "{folder}/html";'
        self.w = weir(CONFIG % f"""
            {STAT}
            {{ path = "/control"; module = "relay"; }},
            {{ path = "/speech"; module = "tts"; }},
            {{ path = "/console"; {page} }},
            {{ path = "= /none"; module = "status"; }},
            {{ path = "/"; layers = ( {{ module = "hls"; }},
               {{ module = "flv"; }}, {{ {page} }} ); }}""")

    def nginx(self, location, path="/", more=PASSED):
        return self.tool(nginx(self.folder, location, self.w.http, path,
                               more)).port


@pytest.fixture
def node(weir, tool, tmp_path):
    open_way(tmp_path)
    return Node(weir, tool, tmp_path)


@pytest.fixture
def browser():
    b = Browser()
    yield b
    b.quit()


def publish(url):
    return Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi",
                "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264",
                "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25",
                "-pix_fmt", "yuv420p", "-f", "flv", url)


PATHS = """
return performance.getEntriesByType('resource').map(({ name }) =>
  new URL(name)).filter((u) => u.protocol.startsWith('http'))
  .map((u) => u.pathname);
"""


@pytest.mark.parametrize("front", FRONTS)
def test_all_of_it_works(node, browser, tool, front):
    port, path = FRONTS[front](node)
    base = path if path.endswith("/") else path + "/"
    root = base.removesuffix("console/")
    b = browser
    b.open(f"http://127.0.0.1:{port}{path}")
    b.wait_text("#link", "^live$", 20)
    assert b.script("return location.pathname") == base
    b.wait_text(".empty", "No stream is live")
    assert f"http://127.0.0.1:{port}{root}control/get?room=test" in \
        b.text(".empty .lines") or "Make its stream key" not in \
        b.text(".empty")
    tool(publish(node.w.rtmp_url("test")))
    b.wait_text(ROW, r"live/test\s+live\b")
    b.click(f"{ROW} a")
    b.wait_player("320 wide, playing", 20)
    assert b.picture(b.picture()["at"] + 1)
    b.wait_text(".use", re.escape(
        f"ffplay http://127.0.0.1:{port}{root}live/test.flv"))
    b.click("nav a[href='#/wall']")
    wait_for(lambda: b.script(
        "return document.querySelector('.tiles video')?.videoWidth"), 20,
        "a picture on the wall")
    b.click("nav a[href='#/server']")
    b.wait_text("#view", "Configuration generation")
    b.click("#speech")
    b.wait_text("#state", r"\d+ voices")
    assert b.script("return location.pathname") == f"{root}speech/"
    b.click(".console a")
    b.wait_text("#link", "^live$", 20)
    assert b.script("return location.pathname") == root
    assert not [p for p in b.script(PATHS) if not p.startswith(root)]


def test_what_the_proxy_keeps_is_not_blamed_on_weir(node, browser):
    """It passes the page and its files alone."""
    port = node.nginx("~ ^/weir/(|index.html|(console|vendor)/.*)$", "/$1")
    b = browser
    b.open(f"http://127.0.0.1:{port}/weir/")
    b.wait_text("#notice", "no statistics at /weir/stat")
    b.wait_text("#notice", "It is not weir that says so")
    assert "weir.conf" not in b.text("#notice")


def test_files_that_a_proxy_keeps_are_told(node, browser):
    port = node.nginx("= /weir/", "/")
    b = browser
    b.open(f"http://127.0.0.1:{port}/weir/")
    b.wait_text("#incomplete", "has to pass what is below this path")


def links(w, path):
    a = get(w.http, path, "Accept: text/html")
    return re.findall(r'<p class="console"><a href="([^"]*)"',
                      a.body.decode())


@pytest.mark.parametrize("path, way", [
    ("/speech/", "./../"), ("/none/x/y", "./../../"), ("/none", "./"),
    ("/" + "a/" * 16, "./" + "../" * 16), ("/" + "a/" * 17, None)])
def test_the_way_back(node, path, way):
    assert links(node.w, path) == ([way.replace("./../", "../", 1)]
                                   if way else [])


DENIED = ' access = [ "deny all" ];'


@pytest.mark.parametrize("site, link", [
    ('{ path = "/"; module = "status"; }', []),  # no files
    ('{ path = "/x"; module = "static"; root = "EMPTY"; }', []),
    ('{ path = "/x"; module = "static"; root = "HTML"; }', ["../x/"]),
    ('{ path = "/x"; module = "static"; root = "HTML"; },'
     '{ path = "/"; module = "static"; root = "HTML"; }', ["../"]),
    ('{ path = "/x"; module = "static"; root = "HTML";' + DENIED + ' }', []),
    ('{ path = "= /x"; module = "static"; root = "HTML";'
     ' alias = "index.html"; }', []),
    ('{ path = "/x"; module = "static"; root = "HTML";'
     ' alias = "index.html"; }', []),
])
def test_where_no_console_is_there_is_no_link(weir, tmp_path, site, link):
    open_way(tmp_path)
    shutil.copytree("html", tmp_path / "html")
    (tmp_path / "empty").mkdir()
    w = weir(CONFIG % ('{ path = "/downloads"; module = "downloads"; }, ' + site
                       .replace("HTML", f"{tmp_path}/html")
                       .replace("EMPTY", f"{tmp_path}/empty")))
    assert links(w, "/downloads/") == link
