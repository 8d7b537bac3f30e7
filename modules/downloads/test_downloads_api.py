"""Requests of HTTP clients, row by row: what is taken, and each refusal; what
weirctl and weir.conf say of it."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import signal

import pytest

from control_client import ctl, ctl_json
from downloads_help import (downloads, media)  # pylint: disable=W0611
from http_client import Http, get, request
from patience import busy
from weir import wait_for

__all__ = ["downloads", "media"]  # fixtures
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_engine_help.py")
NOWHERE = "http://127.0.0.1:1/none"
GOOD = {"url": NOWHERE, "quality": "best"}
OLD = '{ path = "/old"; module = "downloads"; event_payload = "string"; },'


def told(a, status):
    """The reason of a refusal."""
    assert a.status == status, (a.status, a.body)
    assert a.header("content-type") == "application/json"
    body = a.json()
    assert set(body) == {"status", "msg"} and body["status"] == "error"
    return body["msg"]


def metric(w, name, **labels):
    text = get(w.http, "/metrics").body.decode()
    found = "" if not labels else "\\{" + ",".join(
        f'{k}="{v}"' for k, v in labels.items()) + "\\}"
    return int(re.search(f"^{name}{found} (\\d+)$", text, re.M)[1])


def refusals(w, reason):
    return metric(w, "weir_downloads_refused_total", reason=reason)


# ---- add ----

# What replaces or joins the fields of GOOD, and what the refusal says.
BAD_FIELDS = [
    ({"url": None}, "url is missing"),
    ({"url": ""}, "url is empty"),
    ({"url": 7}, "url must be a string, not 7"),
    ({"url": ["http://a"]}, "url must be a string, not an array"),
    ({"url": "ftp://a/b"}, "url must be an http:// or https:// address"),
    ({"url": "file:///etc/passwd"}, "url must be an http://"),
    ({"url": "a/b"}, "url must be an http://"),
    ({"url": "--exec=id"}, "url must be an http://"),
    ({"url": "ytsearch3:cats"}, "url must be an http://"),
    ({"url": "rtmp://a/b"}, "url must be an http://"),
    ({"url": "http:///x"}, "url must be an http://"),
    ({"url": "http://a/\u0000"}, "url must have no control characters"),
    ({"url": "http://a/b\nc"}, "url must have no control characters"),
    ({"url": "http://a/" + "x" * 8192}, "url must have at most 8192 bytes"),
    ({"url": NOWHERE + "#__youtubedl_smuggle=%7B%7D"}, "__youtubedl_smuggle"),
    ({"quality": None}, "quality is missing"),
    ({"quality": ""}, "quality is empty"),
    ({"quality": 1080}, "quality must be a string, not 1080"),
    ({"quality": "bset"}, "best_ios"),
    ({"quality": "-1"}, "worst"),
    ({"quality": "1080p"}, "audio"),
    ({"format": "xyz"}, "thumbnail"),
    ({"format": 1}, "format must be a string, not 1"),
    ({"format": "custom:"}, "custom:"),
    ({"format": "a\tb"}, "format must have no control characters"),
    ({"folder": 1}, "folder must be a string, not 1"),
    ({"folder": "../out"}, "folder must be a path below the directory"),
    ({"folder": "a/../../out"}, "folder must be a path below the directory"),
    ({"folder": "/etc"}, "folder must be a path below the directory"),
    ({"folder": "a//b"}, "folder must be a path below the directory"),
    ({"folder": ".weir"}, "folder must be a path below the directory"),
    ({"folder": "a\u0000b"}, "folder must have no control characters"),
    ({"folder": "x" * 1025}, "folder must have at most 1024 bytes"),
    ({"custom_name_prefix": 1}, "custom_name_prefix must be a string"),
    ({"custom_name_prefix": "/x"}, "custom_name_prefix must be text that"),
    ({"custom_name_prefix": "../x"}, 'without a part ".."'),
    ({"custom_name_prefix": "a/../x"}, 'without a part ".."'),
    ({"custom_name_prefix": "a\u0000"}, "no control characters"),
    ({"custom_name_prefix": "x" * 513}, "at most 512 bytes"),
    ({"playlist_strict_mode": 1}, "must be true or false, not 1"),
    ({"playlist_strict_mode": "yes"}, 'must be true or false, not "yes"'),
    ({"playlist_item_limit": -1}, "a whole number from 0 to 1000000, not -1"),
    ({"playlist_item_limit": 1.5}, "a whole number"),
    ({"playlist_item_limit": "abc"}, "a whole number"),
    ({"playlist_item_limit": "5"}, "a whole number"),
    ({"playlist_item_limit": True}, "a whole number"),
    ({"playlist_item_limit": 1e300}, "a whole number"),
    ({"playlist_item_limit": [1]}, "a whole number"),
    ({"auto_start": "false"}, 'auto_start must be true or false, not "false"'),
    ({"auto_start": 0}, "auto_start must be true or false, not 0"),
    ({"auto_start": {}}, "auto_start must be true or false, not an object"),
]


def test_fields_that_are_refused(downloads):
    d = downloads()
    for changed, reason in BAD_FIELDS:
        a = d.post("add", {**GOOD, **changed})
        assert reason in told(a, 400), (changed, a.body)
    assert refusals(d.weir, "request") == len(BAD_FIELDS)
    assert d.history() == {"done": [], "queue": [], "pending": []}


BAD_BODIES = [
    (b"", "the body is empty"),
    (b"{", "not valid JSON: it ends too early (line 1, column 2)"),
    (b"url=http://a&quality=best", "not valid JSON"),
    (b'{"url": "\xff"}', "not valid JSON"),
    (b'{"url": "http://a", "url": "http://b"}', "a name stands twice"),
    (b"[]", "the body must be a JSON object, not an array"),
    (b'"x"', 'the body must be a JSON object, not "x"'),
    (b"null", "the body must be a JSON object, not null"),
    (b"{}", "is missing"),
]


def test_bodies_that_are_refused(downloads):
    d = downloads()
    for body, reason in BAD_BODIES:
        for name in ("add", "delete", "start"):
            assert reason in told(d.post(name, body), 400), (name, body)


def test_a_long_body_is_refused(downloads):
    d = downloads()
    body = json.dumps({**GOOD, "x": "y" * (1 << 20)}).encode()
    told(d.post("add", body), 413)
    d = downloads(layer="", locations='{ path = "/big"; module = "downloads"; '
                                      'client_max_body_size = "8M"; },')
    d.path = "/big"
    assert "at most 1048576 are taken" in told(d.post("add", body), 413)


def test_null_is_absent_and_unknown_fields_are_ignored(downloads, media):
    d = downloads()
    url = media.file("/a.mp4", 1000)
    d.added(url, format=None, folder=None, custom_name_prefix=None,
            playlist_strict_mode=None, playlist_item_limit=None,
            auto_start=None, split_by_chapters=True, x={"y": [1]})
    e = d.wait_done(url)
    assert (e["format"], e["playlist_item_limit"]) == ("any", 0)


def test_any_content_type_will_do(downloads):
    d = downloads(f'engine_path = "{FAKE}";')
    urls = [f"http://fake.test/{n}" for n in range(4)]
    for url, kind in zip(urls, ("application/json", "text/plain",
                                "application/x-www-form-urlencoded", None)):
        headers = [f"Content-Type: {kind}"] if kind else []
        a = request(d.port, "POST", "/downloads/add", *headers,
                    timeout=busy(60),
                    body=json.dumps({"url": url, "quality": "best"}).encode())
        assert a.status == 200 and a.json()["status"] == "ok", a.body
        assert a.header("content-type") == "application/json"
        assert a.header("cache-control") == "no-store"
    for url in urls:
        d.wait_done(url)


def test_what_the_engine_cannot_find_is_200(downloads, media):
    d = downloads()
    assert "404" in d.refused(media.error("/none", 404))
    assert d.history() == {"done": [], "queue": [], "pending": []}
    assert refusals(d.weir, "extraction") == 1


def test_a_queue_without_folders(downloads, media):
    d = downloads("custom_dirs = false;")
    url = media.file("/a.mp4", 1000)
    assert "custom_dirs is false" in d.refused(url, 400, folder="sub")
    d.added(url, folder="")
    d.wait_done(url)


def test_who_goes_cancels_what_it_has_asked(downloads, media):
    d = downloads()
    url = media.file("/a.mp4", 1000, quiet=True)
    with Http(d.port) as c:
        c.send("POST", "/downloads/add",
               body=json.dumps({"url": url, "quality": "best"}).encode())
        wait_for(lambda: media.asked("/a.mp4"), 20, "the engine's request")
    wait_for(lambda: not d.processes("yt-dlp"), 25, "the engine's end")
    assert d.history() == {"done": [], "queue": [], "pending": []}


# ---- delete, start ----

BAD_IDS = [
    ({}, "ids is missing"),
    ({"ids": None}, "ids is missing"),
    ({"ids": []}, "ids must have 1 to 10000 items, not 0"),
    ({"ids": NOWHERE}, f'ids must be an array of strings, not "{NOWHERE}"'),
    ({"ids": {"0": "a"}}, "ids must be an array of strings, not an object"),
    ({"ids": 7}, "ids must be an array of strings, not 7"),
    ({"ids": ["a", 7]}, "ids[1] must be a string, not 7"),
    ({"ids": [None]}, "ids[0] must be a string, not null"),
    ({"ids": ["x" * 8193]}, "ids[0] must have at most 8192 bytes"),
    ({"ids": ["a"] * 10001}, "ids must have 1 to 10000 items, not 10001"),
]
BAD_WHERE = [
    ({"ids": ["a"]}, 'where is missing: it must be "queue" or "done"'),
    ({"ids": ["a"], "where": None}, "where is missing"),
    ({"ids": ["a"], "where": "pending"},
     'where must be "queue" or "done", not "pending"'),
    ({"ids": ["a"], "where": "Queue"}, "where must be"),
    ({"ids": ["a"], "where": 1}, "where must be"),
]


def test_ids_that_are_refused(downloads):
    d = downloads()
    for body, reason in BAD_IDS:
        assert reason in told(d.post("start", body), 400), body
        assert reason in told(d.post("delete", {"where": "done", **body}),
                              400), body
    for body, reason in BAD_WHERE:
        assert reason in told(d.post("delete", body), 400), body


def test_what_is_not_there_is_listed(downloads):
    d = downloads()
    ids = [NOWHERE, "", "a\nb", "\u00e4"]
    for a in (d.post("start", {"ids": ids}),
              d.post("delete", {"ids": ids, "where": "queue"}),
              d.post("delete", {"ids": ids, "where": "done"})):
        assert a.status == 200
        assert a.json() == {"status": "ok", "not_found": ids}
    many = [f"http://a/{n}" for n in range(10000)]
    a = d.post("delete", {"ids": many, "where": "done"})
    assert a.json()["not_found"] == many


# ---- other requests ----

def test_methods(downloads):
    d = downloads()
    for name, method, allowed in (
            ("add", "GET", "POST, OPTIONS"),
            ("add", "HEAD", "POST, OPTIONS"),
            ("delete", "DELETE", "POST, OPTIONS"),
            ("start", "PUT", "POST, OPTIONS"),
            ("history", "POST", "GET, HEAD, OPTIONS"),
            ("version", "PATCH", "GET, HEAD, OPTIONS")):
        a = request(d.port, method, f"/downloads/{name}")
        assert (a.status, a.header("allow")) == (405, allowed), (name, method)
        if method != "HEAD":
            told(a, 405)
    a = request(d.port, "OPTIONS", "/downloads/add")
    assert (a.status, a.header("allow")) == (204, "POST, OPTIONS")
    assert "nothing is here" in told(d.get("nothing"), 404)
    told(d.get("download/none"), 404)


def test_head(downloads):
    d = downloads()
    for name in ("history", "version", "robots.txt", ""):
        a = request(d.port, "HEAD", f"/downloads/{name}")
        assert a.status == 200 and a.body == b"", name
        assert int(a.header("content-length")) == len(d.get(name).body)


def test_the_page_and_robots(downloads):
    d = downloads()
    a = get(d.port, "/downloads")
    assert (a.status, a.header("location")) == (302, "./downloads/")
    a = get(d.port, "/downloads/")
    assert a.status == 200
    assert a.header("content-type").startswith("text/html")
    a = get(d.port, "/downloads/robots.txt")
    assert a.header("content-type").startswith("text/plain")
    assert a.body == (b"User-agent: *\nDisallow: /download/\n"
                      b"Disallow: /audio_download/\n")


def test_versions(downloads):
    d = downloads(locations=OLD)
    new = wait_for(lambda: (v := d.get("version").json())["engine"] and v, 20,
                   "the engine's version")
    assert set(new) == {"engine", "version"}
    assert re.fullmatch(r"20\d\d\.\d\d\.\d\d.*", new["engine"])
    assert get(d.port, "/old/version").json() == {**new,
                                                  "yt-dlp": new["engine"]}


def test_a_limit_in_a_text_for_old_clients(downloads, media):
    d = downloads(layer='event_payload = "string";')
    url = media.file("/a.mp4", 1000)
    d.added(url, playlist_item_limit="5")
    assert d.wait_done(url)["playlist_item_limit"] == 5
    a = d.add(url, playlist_item_limit="five")
    assert a.status == 400 and "playlist_item_limit" in a.json()


def test_a_refusal_in_a_text_for_old_clients(downloads):
    """Their page shows the body of what is no success as it is; an object
    would be "[object Object]"."""
    d = downloads("custom_dirs = false;",
                  layer='event_payload = "string";')
    for body, status, word in (
            ({}, 400, "url"), ([], 400, "object"), (b"{", 400, "JSON"),
            ({"url": "ftp://a/b", "quality": "best"}, 400, "http"),
            ({**GOOD, "folder": "x"}, 400, "folder")):
        a = d.post("add", body)
        assert a.status == status, (body, a.status, a.body)
        assert isinstance(a.json(), str) and word in a.json(), a.body
        assert a.header("content-type") == "application/json"
    for a in (d.post("start", {}), d.post("delete", {})):
        told(a, 400)
    assert "deny" in d.refused("http://192.168.0.1/a.mp4")  # with 200


def test_without_an_engine(downloads, media):
    d = downloads('engine = "yt-dlp"; '
                  'engine_path = "/usr/bin/no-such-engine";')
    v = d.get("version").json()
    assert v["engine"] == "" and "no-such-engine" in v["engine_error"]
    a = d.add(media.file("/a.mp4", 1000))
    assert "no-such-engine" in a.json()["msg"]
    assert a.json()["status"] == "error"
    assert refusals(d.weir, "engine") == 1


def test_a_page_of_another_site_adds_nothing(downloads):
    d = downloads()
    a = request(d.port, "POST", "/downloads/add", "Origin: http://evil.example",
                "Sec-Fetch-Site: cross-site", body=json.dumps(GOOD).encode())
    told(a, 403)


def test_filters_answer_in_the_same_form(downloads):
    d = downloads(locations='{ path = "/closed"; module = "downloads"; '
                            'access = [ "deny all" ]; },')
    told(get(d.port, "/closed/history"), 403)


# ---- the fetcher away ----

def test_the_fetcher_is_held(downloads):
    d = downloads('timeout = "1s"; extract_timeout = "1s";',
                  top='watchdog = "1h"; ', locations=OLD)
    pid = d.processes("weir: fetcher")[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        for a in (d.get("history"), d.add(NOWHERE), d.start(NOWHERE)):
            assert int(a.header("retry-after")) >= 1
            told(a, 503)
        a = request(d.port, "POST", "/old/add", timeout=busy(20),
                    body=json.dumps(GOOD).encode())
        assert a.status == 503 and isinstance(a.json(), str), a.body
        assert int(a.header("retry-after")) >= 1
    finally:
        os.kill(pid, signal.SIGCONT)
    assert refusals(d.weir, "timeout") + refusals(d.weir, "fetcher") >= 3
    wait_for(lambda: d.get("history").status == 200, 20, "the queue")


def test_the_fetcher_dies(downloads, media):
    d = downloads()
    url = media.file("/a.mp4", 1000, quiet=True)
    with Http(d.port, timeout=60) as c:
        c.send("POST", "/downloads/add",
               body=json.dumps({"url": url, "quality": "best"}).encode())
        wait_for(lambda: media.asked("/a.mp4"), 20, "the engine's request")
        os.kill(d.processes("weir: fetcher")[0], signal.SIGKILL)
        a = c.answer("POST")
    assert int(a.header("retry-after")) >= 1
    told(a, 503)
    wait_for(lambda: d.get("history").status == 200, 20, "another fetcher")
    assert d.history() == {"done": [], "queue": [], "pending": []}


# ---- weirctl ----

def test_weirctl(downloads, media):
    d = downloads()
    w = d.weir
    url = media.file("/a.mp4", 10_000)
    assert ctl(w, "downloads", "add", url, "auto_start=false",
               "quality=720").returncode == 0
    row, = ctl_json(w, "show", "downloads")
    assert (row["instance"], row["engine"], row["pending"]) == \
        ("main", "yt-dlp", 1)
    row, = ctl_json(w, "show", "downloads", "pending")
    assert (row["url"], row["list"], row["status"]) == \
        (url, "pending", "pending")
    assert ctl_json(w, "show", "downloads", "main", "queue") == []
    assert d.find(url)["quality"] == "720"
    assert ctl(w, "downloads", "start", url).returncode == 0
    d.wait_done(url)
    row, = ctl_json(w, "show", "downloads", "main")
    assert (row["list"], row["filename"], row["size"], row["percent"]) == \
        ("done", "a.mp4", 10_000, 100)
    assert ctl(w, "downloads", "cancel", url).returncode != 0
    assert ctl(w, "downloads", "clear", url, "instance=main").returncode == 0
    assert ctl_json(w, "show", "downloads", "done") == []


@pytest.mark.parametrize("words, reason", [
    (("show", "downloads", "nobody"), 'there is no downloads "nobody"'),
    (("show", "downloads", "main", "x"), "use: "),
    (("downloads", "add"), "use: "),
    (("downloads", "add", "ftp://a/b"), "an http:// or https:// address"),
    (("downloads", "add", NOWHERE, "qualtiy=best"), "use: "),
    (("downloads", "add", NOWHERE, "auto_start=no"), "use: "),
    (("downloads", "add", NOWHERE, "playlist_item_limit=-1"), "use: "),
    (("downloads", "add", NOWHERE, "instance=other"),
     "must name one of main"),
    (("downloads", "cancel"), "use: "),
    (("downloads", "clear", NOWHERE), "there is no"),
])
def test_words_that_are_refused(downloads, words, reason):
    r = ctl(downloads().weir, *words)
    assert r.returncode != 0 and reason in r.stderr, r.stderr


def test_many_are_shown_in_pages(downloads):
    """More than an answer of the fetcher has room for."""
    d = downloads(f'engine_path = "{FAKE}";')
    long = "x" * 3000
    d.added(f"http://fake.test/list/25/1/{long}", auto_start=False)
    urls = [f"http://fake.test/{n}/25/{long}" for n in range(25)]
    assert [r["url"] for r in ctl_json(d.weir, "show", "downloads",
                                       "pending")] == urls


# ---- weir.conf ----

ITEM = '{{ name = "{}"; directory = "{}"; {} }}'


def config(*items, location='path = "/d"; module = "downloads";'):
    return {"top": "downloads = ( " + ", ".join(ITEM.format(*i)
                                                for i in items) + " );",
            "locations": f"{{ {location} }},"}


@pytest.mark.parametrize("parts, reason", [
    (config(("a b", "run/d", "")), "name must be letters"),
    (config(("done", "run/d", "")), "name of a list"),
    (config(("a", "", "")), "directory must be"),
    (config(("a", "run/d", 'engine = "wget";')), 'engine must be'),
    (config(("a", "run/d", 'engine_path = "yt-dlp";')), "an absolute path"),
    (config(("a", "run/d", "max_concurrent = 0;")), "max_concurrent must be"),
    (config(("a", "run/d", 'clear_completed_after = "1ms";')),
     "clear_completed_after must be"),
    (config(("a", "run/d", 'template = "../%(title)s";')), "template must be"),
    (config(("a", "run/d", 'template = "/x";')), "must not begin with"),
    (config(("a", "run/d", 'template = "%(tilte)s";')),
     'there is no field "tilte"'),
    (config(("a", "run/d", 'playlist_template = "%title";')), "after '%'"),
    (config(("a", "run/d", ""), ("b", "run/d/", "")), "of the one in line"),
    (config(("a", "run/d", ""), ("b", "run/e", "")), "must be one of"),
    (config(("a", "run/d", ""),
            location='module = "downloads"; url_prefix = "x";'),
     "url_prefix must be a path"),
    (config(("a", "run/d", ""),
            location='module = "downloads"; url_prefix = "/stat";'),
     "there is a location"),
], ids=lambda v: v if isinstance(v, str) else None)
def test_wrong_settings_are_told(weir, parts, reason):
    if "/stat" in parts["locations"]:
        parts["locations"] += '{ path = "/stat"; module = "status"; },'
    with pytest.raises(AssertionError, match=r"weir\.conf:\d+: .*" + reason):
        weir(**parts)


ONE = ("main", "run/downloads", "")


@pytest.mark.parametrize("location, variable, path", [
    ('module = "downloads"; url_prefix = "/metube/";', None, "/metube"),
    ('module = "downloads"; url_prefix = "/metube";', "/x", "/metube"),
    ('layers = ( { module = "downloads"; url_prefix = "/metube/"; } );', None,
     "/metube"),
    ('path = "/d"; module = "downloads"; url_prefix = "/y/";', "/x/", "/d"),
    ('module = "downloads";', "/x/", "/x"),
    ('module = "downloads";', "/x/y", "/x/y"),
])
def test_the_prefix(weir, monkeypatch, location, variable, path):
    if variable is not None:
        monkeypatch.setenv("URL_PREFIX", variable)
    w = weir(**config(ONE, location=location))
    wait_for(lambda: get(w.http, f"{path}/history").status == 200, 10,
             "the queue")
    a = get(w.http, path)
    last = path.rsplit("/", 1)[1]
    assert (a.status, a.header("location")) == (302, f"./{last}/")
    for other in {"/x", "/y", "/d", "/metube"} - {path}:
        assert get(w.http, f"{other}/history").status == 404


@pytest.mark.parametrize("variable", ["/stat", "no path", "/a/../b", "/%41",
                                      "/a?b", "", "/" + "x" * 2000])
def test_a_variable_is_no_mistake(weir, monkeypatch, variable):
    monkeypatch.setenv("URL_PREFIX", variable)
    w = weir(text="""
        control = { socket = "run/control.sock"; };
        store = { path = "run/weir.db"; };
        downloads = ( { name = "main"; directory = "run/downloads"; } );
        http = { servers = ( { listen = "127.0.0.1:0"; hosts = [ "test" ];
          locations = (
          { path = "/stat"; module = "status"; },
          { module = "downloads"; } ); } ); };""")
    wait_for(lambda: get(w.http, "/history").status == 200, 10, "the queue")


def options_of(w):
    text = re.search(r"engine_options_file = (.*)",
                     "\n".join(ctl_json(w, "show", "config")["lines"]))
    return text[1]


@pytest.mark.parametrize("setting, expected", [
    ("", '"/var/empty/options"; # from ${env:ENGINE_OPTIONS_FILE}'),
    ('engine_options_file = "";', '"";'),
    ('engine_options_file = "run/o.json";', '"run/o.json";'),
])
def test_the_variable_of_options(weir, monkeypatch, setting, expected):
    monkeypatch.setenv("ENGINE_OPTIONS_FILE", "/var/empty/options")
    w = weir(**config(("main", "run/downloads", setting)))
    wait_for(lambda: get(w.http, "/d/history").status == 200, 10, "the queue")
    assert options_of(w) == expected
