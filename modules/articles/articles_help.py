"""A weir with articles, and what one asks of it."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import threading

import weir as weir_py
from http_client import Http, get, request
from weir import descendants, title, wait_for

LAYER = '{ module = "articles"; %s }'
DEFAULT = {"content": "c", "author": {"id": 1}}
JSON = "Content-Type: application/json"


def start(weir, layer="", before="", size="3M", **parts):
    """A weir whose location "/" begins with a layer of articles; its store is
    where the fixture store_backend or postgres says."""
    return weir(location_text(layer, before, size, **parts))


def location_text(layer="", before="", size="3M", **parts):
    limit = f'client_max_body_size = "{size}";' if size else ""
    location = (f'{{ path = "/"; {limit} layers = ( ' + LAYER % layer +
                ', { module = "status"; }, { module = "flv"; },'
                ' { module = "static"; root = "html"; } ); }')
    return configuration(location, before, **parts)


def configuration(location, before="", store="", workers=2, http=""):
    traced = "" if os.geteuid() == 0 else "sandbox = { core_dumps = true; };"
    hosts = "" if "hosts =" in http else weir_py.HOSTS
    return f"""{traced}
worker_processes = {workers};
stop_grace = "0";
pid = "run/weir.pid";
error_log = {{ file = "stderr"; level = "info"; }};
store = {{ {weir_py.DEFAULTS["backend"]} {store} }};
rtmp = {{ servers = ( {{ listen = ( "127.0.0.1:0" );
  applications = ( {{ name = "live"; publish = "open"; }} ); }} ); }};
http = {{ servers = (
  {{ listen = ( "127.0.0.1:0" ); access_log = "run/access.log"; {hosts} {http}
    locations = ( {before} {location} ); }} ); }};
"""


def body(title_text, **more):
    return json.dumps({"title": title_text, **DEFAULT, **more}).encode()


def post(w, title_text, *headers, **more):
    return request(w.http, "POST", "/articles", JSON, *headers,
                   body=body(title_text, **more))


def made(w, title_text, **more):
    """The article that was created."""
    a = post(w, title_text, **more)
    assert a.status == 201, a.body
    return a.json()


def make_many(w, count, prefix="n", **more):
    """Their ids; over one connection, each when the last is answered."""
    ids = []
    with Http(w.http) as c:
        for i in range(count):
            c.send("POST", "/articles", JSON,
                   body=body(f"{prefix} {i}", **more))
            a = c.answer()
            assert a.status == 201, a.body
            ids.append(a.json()["id"])
    return ids


def walk(w, num=10, path="/articles", between=None, query=""):
    """The pages, each a list of articles, to the last."""
    pages, cursor = [], None
    while True:
        target = f"{path}?num={num}{query}"
        a = get(w.http, target + (f"&cursor={cursor}" if cursor else ""))
        assert a.status == 200, a.body
        pages.append(a.json())
        cursor = a.header("x-cursor")
        if cursor is None:
            return pages
        assert cursor
        if between:
            between(pages[-1])


def ids_of(pages):
    return [a["id"] for page in pages for a in page]


def error(a, status):
    """The message of an error, whose form is checked."""
    assert a.status == status, (a.status, a.body)
    assert a.header("content-type") == "application/json; charset=UTF-8"
    said = a.json()
    assert list(said) == ["message", "type", "title", "status", "detail"]
    assert said["type"] == "about:blank" and said["status"] == status
    assert said["message"] and said["detail"]
    return said["message"]


def keeper(w):
    return [pid for pid in descendants(w.pid)
            if title(pid).startswith("weir: keeper")][0]


def at_once(calls):
    """Their results, in their order; all begin together."""
    results = [None] * len(calls)
    gate = threading.Barrier(len(calls))

    def work(i):
        gate.wait()
        results[i] = calls[i]()
    threads = [threading.Thread(target=work, args=(i,))
               for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results
