"""A weir with keys, and what one asks of it."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import threading
import urllib.parse

import amf0
from http_client import get
from rtmp_client import COMMAND, Rtmp
from weir import descendants, title

KEY = re.compile(rb"[0-9a-zA-Z]{48}")
QUICK = 'rate = ( { rate = "10000/s"; burst = 10000; } );'
LOCATION = '{ path = "/control"; module = "relay"; ' + QUICK + '%s },'
KEYED = ', { name = "keyed"; publish = "key"; %s }'


def start_keyed(weir, relay="", app="", **parts):
    """A weir with /control and an application "keyed" that wants keys."""
    parts.setdefault("workers", 2)
    if "idle_timeout" not in app:  # a busy machine makes publishers slow
        app = 'idle_timeout = "1h"; ' + app
    parts["apps"] = KEYED % app + parts.pop("apps", "")
    parts["locations"] = parts.pop("locations", "") + LOCATION % relay
    return weir(**parts)


def room_url(verb, room):
    return f"/control/{verb}?room=" + urllib.parse.quote(room, safe="")


def ask(w, verb, room, **more):
    return get(w.http, room_url(verb, room), **more)


def key_of(w, room, verb="get"):
    a = ask(w, verb, room)
    assert a.status == 200, a.body
    assert a.header("content-type") == "text/plain"
    assert a.header("cache-control") == "no-store"
    assert KEY.fullmatch(a.body), a.body
    return a.body.decode()


def error(a, status):
    """The words of an error answer, whose form is checked."""
    assert a.status == status, (a.status, a.body)
    assert a.header("content-type") == "application/json"
    assert a.header("cache-control") == "no-store"
    body = json.loads(a.body)
    assert list(body) == ["status", "data"] and body["status"] == status
    assert isinstance(body["data"], str) and body["data"]
    return body["data"]


def deleted(w, room):
    a = ask(w, "delete", room)
    assert a.status == 200
    assert a.header("content-type") == "application/json"
    assert a.header("cache-control") == "no-store"
    assert json.loads(a.body) == {"status": 200, "data": "Ok"}


def refused(w, name, app="keyed", **more):
    """Publishing is refused before anything begins: the reason."""
    with Rtmp(w.rtmp) as c:
        c.connect(app, **more)
        msid = c.create_stream()
        c.command("publish", None, name, "live", msid=msid)
        first = amf0.decode(c.read(COMMAND).payload)
        assert first[0] == "onStatus" and first[3]["level"] == "error"
        assert first[3]["code"] == "NetStream.Publish.BadName"
        c.wait_closed()
        return first[3]["description"]


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
