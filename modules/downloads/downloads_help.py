"""A weir with a downloads instance, its requests and its events.

    def test_one_file(downloads, media):
        d = downloads()
        url = media.file("/a.mp4", 100_000)
        with d.listen() as ears:
            assert d.add(url).json() == {"status": "ok", ...}
            done = d.wait_done(url)
            assert ears.names(url) == ["added", "updated", ..., "completed"]

A test file imports the fixtures that it uses: downloads, media.
"""
# SPDX-License-Identifier: BSD-2-Clause

import glob
import json
import os
import threading
from urllib.parse import quote

import pytest

from http_client import get, request
from media_server_help import MediaServer
from patience import busy
from socket_help import Closed, Place, Refused, WebSocket
from weir import descendants, title, wait_for

TOP = """egress = [ {egress} ];
downloads = ( {{ name = "main"; directory = "{directory}"; {settings} }}
              {more} );
"""
LOCATIONS = """{{ path = "/downloads"; layers = ( {{ module = "downloads";
  instance = "main"; {layer} }} ); }}, {locations}"""
EGRESS = '"allow loopback", "deny all"'
LISTS = ("queue", "pending", "done")
STATUSES = ("pending", "preparing", "downloading", "postprocessing",
            "finished", "error")
FIELDS = {"id", "title", "url", "quality", "format", "folder",
          "custom_name_prefix", "playlist_item_limit", "msg", "percent",
          "speed", "eta", "status", "size", "timestamp", "error", "filename",
          "added_at", "started_at", "finished_at", "asked", "list"}
FIRST_EVENTS = ("all", "configuration", "custom_dirs",
                "engine_options_changed")


@pytest.fixture
def media(tool):
    return tool(MediaServer())


@pytest.fixture
def downloads(weir):
    """Starts a weir: downloads("max_concurrent = 1;", layer=..., ...)."""
    return lambda settings="", **more: Downloads(weir, settings, **more)


def parts(settings="", layer="", egress=EGRESS, more="", locations="",
          directory="run/downloads"):
    """Of weir.conf, for weir()."""
    return {"top": TOP.format(settings=settings, egress=egress, more=more,
                              directory=directory),
            "locations": LOCATIONS.format(layer=layer, locations=locations)}


class Downloads:
    def __init__(self, weir, settings="", **given):
        mine = {k: given.pop(k) for k in ("layer", "egress", "more",
                                          "locations", "directory")
                if k in given}
        directory = mine.get("directory", "run/downloads")
        if "min_free" not in settings:
            settings += ' min_free = "0";'
        given["top"] = given.get("top", "")
        made = parts(settings, **mine)
        made["top"] += given.pop("top")
        self.weir = weir(**made, **given)
        self.path = "/downloads"
        self.directory = os.path.join(self.weir.prefix, directory)
        wait_for(lambda: self.get("history").status == 200, 10, "the queue")

    @property
    def port(self):
        return self.weir.http

    # ---- requests ----

    def post(self, name, body):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return request(self.port, "POST", f"{self.path}/{name}", body=body,
                       timeout=busy(90))

    def get(self, name, *headers):
        return get(self.port, f"{self.path}/{name}", *headers)

    def add(self, url, **fields):
        return self.post("add", {"url": url, "quality": "best", **fields})

    def added(self, url, **fields):
        """It must be; the answer's JSON."""
        a = self.add(url, **fields)
        assert a.status == 200 and a.json()["status"] == "ok", a.body
        return a.json()

    def refused(self, url, status=200, **fields):
        """It must be; why."""
        a = self.add(url, **fields)
        assert a.status == status, (a.status, a.body)
        assert a.json()["status"] == "error", a.body
        return a.json()["msg"]

    def delete(self, *urls, where="queue"):
        return self.post("delete", {"ids": urls, "where": where})

    def start(self, *urls):
        return self.post("start", {"ids": urls})

    def history(self):
        a = self.get("history")
        assert a.status == 200, (a.status, a.body)
        return a.json()

    def file(self, entry):
        """GET of a finished entry's file."""
        name = os.path.join(entry["folder"] or "", entry["filename"])
        return self.get("download/" + quote(name, safe=""))

    # ---- looking ----

    def find(self, url, *lists):
        """The entry of that address; None: there is none."""
        now = self.history()
        return next((e for name in lists or LISTS for e in now[name]
                     if e["url"] == url), None)

    def urls(self, name):
        return [e["url"] for e in self.history()[name]]

    def wait_in(self, name, url, timeout=15):
        return wait_for(lambda: self.find(url, name), timeout,
                        f"{url} in {name}")

    def wait_done(self, url, timeout=15, status="finished"):
        e = self.wait_in("done", url, timeout)
        assert e["status"] == status, e
        return e

    def wait_gone(self, url, timeout=20):
        wait_for(lambda: not self.find(url), timeout, f"the end of {url}")

    def wait_status(self, url, *statuses, timeout=15):
        return wait_for(lambda: (e := self.find(url)) and
                        e["status"] in statuses and e, timeout,
                        f"{url} is {statuses}")

    def files(self):
        """Names below the directory; what runs write is left out."""
        found = glob.glob("**", root_dir=self.directory, recursive=True)
        return sorted(f for f in found
                      if not os.path.isdir(f"{self.directory}/{f}"))

    def run_folders(self):
        try:
            return sorted(os.listdir(f"{self.directory}/.weir"))
        except FileNotFoundError:
            return []

    def processes(self, name):
        """Pids, by the first word of what ps shows: "weir: fetcher",
        "weir-supervisor", or by any argument: "yt-dlp"."""
        return [p for p in descendants(self.weir.pid)
                if (said := title(p)).startswith(name) or
                any(os.path.basename(w) == name for w in said.split())]

    # ---- listening ----

    def listen(self, path=None, first="custom_dirs"):
        """A client of Socket.IO that has heard the snapshots up to that."""
        return Ears(self.port, f"{path or self.path}/socket.io/", first)


def plain(argument):
    """Of an event, whichever form its location has."""
    if isinstance(argument, str):
        try:
            return json.loads(argument)
        except ValueError:
            return argument
    return argument


def url_of(event):
    """The address that an event is about; "" for those of a client's beginning."""
    name, argument = event
    if name in ("canceled", "cleared"):
        return argument
    return argument.get("url", "") if isinstance(argument, dict) else ""


def opened(port, path):
    """A WebSocket; None: the channel is not ready yet, and clients come again."""
    try:
        return WebSocket(Place(port).connect(),
                         f"{path}?EIO=4&transport=websocket")
    except Refused as e:
        if e.answer.status != 503:
            raise
        return None


class Ears:
    """Events, in the order in which they come."""

    def __init__(self, port, path, first):
        self.ws = wait_for(lambda: opened(port, path), 10, "a channel")
        self.ws.opened()
        self.ws.send("40")
        self.events = []  # (name, argument)
        self.raw = []     # (name, argument as it was sent)
        self.lock = threading.Condition()
        self.ended = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.wait(lambda names: first in names)

    def _run(self):
        try:
            while True:
                packet = self.ws.receive_data()
                if packet[:2] == "42":
                    self._take(*json.loads(packet[2:]))
        except (Closed, OSError, EOFError, ValueError):
            pass
        with self.lock:
            self.ended = True
            self.lock.notify_all()

    def _take(self, name, argument=None):
        with self.lock:
            self.raw.append((name, argument))
            self.events.append((name, plain(argument)))
            self.lock.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        try:
            self.ws.http.sock.shutdown(2)
        except OSError:
            pass
        self.thread.join()
        self.ws.close()

    def wait(self, condition, timeout=15):
        """Until condition(names of events) is true."""
        def told():
            return condition([n for n, _ in self.events])

        with self.lock:
            self.lock.wait_for(lambda: told() or self.ended, busy(timeout))
            assert told(), (self.ended, self.events[-20:])

    def wait_for(self, name, url, count=1, timeout=15):
        """The count-th such event's argument."""
        self.wait(lambda _: len(self.all(name, url)) >= count, timeout)
        return self.all(name, url)[count - 1]

    def all(self, name, url=None):
        return [e[1] for e in list(self.events)
                if e[0] == name and (url is None or url_of(e) == url)]

    def names(self, url):
        """Of events about that address; equal ones that follow each other
        once."""
        found = [e[0] for e in list(self.events) if url_of(e) == url]
        return [n for i, n in enumerate(found) if i == 0 or n != found[i - 1]]

    def statuses(self, url):
        """Of "added", "updated" and "completed", each once in a row."""
        found = [e[1]["status"] for e in list(self.events)
                 if e[0] not in ("canceled", "cleared") and url_of(e) == url]
        return [s for i, s in enumerate(found) if i == 0 or s != found[i - 1]]


def check_object(entry):
    """A download object has each field, of its type."""
    assert FIELDS <= set(entry), FIELDS - set(entry)
    assert entry["status"] in STATUSES and entry["list"] in LISTS, entry
    for name in ("url", "asked", "id", "title", "quality", "format"):
        assert isinstance(entry[name], str) and entry[name] != "", entry
    for name in ("size", "eta", "added_at", "started_at", "finished_at"):
        assert entry[name] is None or isinstance(entry[name], int), entry
    for name in ("percent", "speed"):
        assert entry[name] is None or isinstance(entry[name], (int, float))
    assert isinstance(entry["timestamp"], int)
