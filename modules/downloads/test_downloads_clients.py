"""Downloads as clients of Socket.IO see them: socket.io-client in Node, three
ways, and python-socketio at once, and a client that does as the original's own
page."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import queue

import pytest

from downloads_help import (FIRST_EVENTS,  # pylint: disable=W0611
                            STATUSES, check_object, downloads, media, url_of)
from patience import busy
from socket_help import Lines, PythonSocketIO, node

__all__ = ["downloads", "media"]  # fixtures
TRANSPORTS = [["polling"], ["websocket"], ["polling", "websocket"]]
IDS = ["polling", "websocket", "default"]
EVENTS = ("all", "configuration", "custom_dirs", "engine_options_changed",
          "added", "updated", "completed", "canceled", "cleared")
STRING = '''{ path = "/original"; layers = ( { module = "downloads";
  instance = "main"; event_payload = "string"; } ); },'''


class NodeClient:
    def __init__(self, tool, d, transports):
        self.lines = tool(Lines(node(
            "client.js", "socket.io-client", f"http://127.0.0.1:{d.port}",
            json.dumps({"path": f"{d.path}/socket.io/",
                        "transports": transports}))))

    def next(self):
        """Name and argument of the next event."""
        while "event" not in (told := self.lines.next()):
            assert told["told"] in ("connect", "upgrade"), told
        assert len(told["args"]) == 1
        return told["event"], told["args"][0]

    def leave(self):
        self.lines.say(disconnect=True)
        self.lines.until(told="disconnect")


class PythonClient:
    def __init__(self, d, transports):
        self.told = queue.Queue()
        self.client = PythonSocketIO(reconnection=False)
        for name in EVENTS:
            self.client.on(name, lambda a, n=name: self.told.put((n, a)))
        self.client.connect(f"http://127.0.0.1:{d.port}",
                            socketio_path=f"{d.path}/socket.io/",
                            transports=transports)

    def next(self):
        return self.told.get(timeout=busy(20))

    def leave(self):
        self.client.disconnect()
        self.client.eio.wait()
        if self.client.eio.http:
            self.client.eio.http.close()


def hear(client, name, url):
    """Events until that one; its argument comes last."""
    heard = []
    while not heard or heard[-1][0] != name or url_of(heard[-1]) != url:
        heard.append(client.next())
    return heard


def names(heard, url):
    found = [e[0] for e in heard if url_of(e) == url]
    return [n for i, n in enumerate(found) if i == 0 or n != found[i - 1]]


def see_all(client, d, media):
    """One is done and cleared, one cancelled midway, one starts later."""
    assert [client.next()[0] for _ in range(3)] == \
        ["all", "configuration", "custom_dirs"]
    small = media.file("/small.mp4", 100_000, rate=200_000)
    d.added(small)
    heard = hear(client, "completed", small)
    assert names(heard, small) == ["added", "updated", "completed"]
    for _, entry in heard:
        check_object(entry)
    statuses = [e["status"] for _, e in heard]
    assert statuses[0] == "pending" and statuses[1] == "preparing"
    assert "downloading" in statuses and statuses[-1] == "finished"
    d.delete(small, where="done")
    assert client.next() == ("cleared", small)
    large = media.zeros("/large.mp4", rate=20 << 20)
    d.added(large, auto_start=False)
    heard = hear(client, "added", large)
    assert len(heard) == 1 and heard[0][1]["list"] == "pending"
    d.start(large)
    while not ((e := client.next())[0] == "updated" and e[1]["percent"]):
        assert e[0] == "updated" and e[1]["list"] == "queue"
    d.delete(large)
    heard = hear(client, "canceled", large)
    assert {n for n, _ in heard[:-1]} <= {"updated"}


# ---- four at once: they see the same in the same order ----

def exact(argument):
    """Without nanoseconds, which no number of JavaScript holds."""
    if not isinstance(argument, dict):
        return argument
    return {k: v for k, v in argument.items() if k != "timestamp"}


class Heard:
    """What one of them has heard."""

    def __init__(self, client):
        self.client = client
        self.events = [client.next() for _ in range(3)]
        assert [n for n, _ in self.events] == \
            ["all", "configuration", "custom_dirs"]

    def until(self, condition):
        """Up to the first event, not heard before, of that kind."""
        self.events.append(self.client.next())
        while not condition(*self.events[-1]):
            self.events.append(self.client.next())
        return self.events[-1][1]

    def order(self):
        """Of all but "updated", of which some may be left out."""
        return [(n, url_of((n, a))) for n, a in self.events[3:]
                if n != "updated"]

    def said(self):
        return [(n, exact(a)) for n, a in self.events[3:] if n != "updated"]

    def check_way(self, url, end):
        """Of the object: list, status, progress; nothing comes behind."""
        mine = [(n, a) for n, a in self.events if url_of((n, a)) == url]
        assert [n for n, _ in mine][-1] == end
        assert {n for n, _ in mine[1:-1]} == {"updated"}
        for n, entry in mine:
            if n not in ("canceled", "cleared"):
                check_object(entry)
                assert (entry["list"] == "done") == (n == "completed"), entry
        progress = [a for n, a in mine if n == "updated"]
        ranks = [STATUSES.index(a["status"]) for a in progress]
        assert ranks == sorted(ranks), ranks
        percents = [a["percent"] for a in progress if a["percent"] is not None]
        assert percents == sorted(percents), percents


class Four:
    """A client of each kind."""

    def __init__(self, tool, d):
        self.d = d
        self.python = PythonClient(d, TRANSPORTS[2])
        self.clients = [Heard(c) for c in (
            self.python, *(NodeClient(tool, d, t) for t in TRANSPORTS))]
        self.order = []

    def all_hear(self, name, url):
        """The argument, which is the same for each."""
        said = [c.until(lambda n, a: n == name and url_of((n, a)) == url)
                for c in self.clients]
        assert all(exact(s) == exact(said[0]) for s in said), said
        return said[0]

    def complete(self, asked, *urls):
        """They are added, then done one after the other; the last one."""
        self.d.added(asked)
        self.order += [("added", u) for u in urls]
        self.order += [("completed", u) for u in urls]
        e = self.all_hear("completed", urls[-1])
        assert e["asked"] == asked
        return e

    def check(self):
        """Each has heard that, and nothing else but progress."""
        for c in self.clients:
            assert c.order() == self.order
            assert c.said() == self.clients[0].said()
            for name, url in self.order:
                if name in ("completed", "canceled"):
                    c.check_way(url, name)


@pytest.fixture
def four(tool):
    """four(d): its clients."""
    made = []

    def make(d):
        made.append(Four(tool, d))
        return made[-1]
    yield make
    for one in made:
        one.python.leave()


def test_four_see_files_and_a_feed(downloads, media, four):
    d = downloads("max_concurrent = 1;")
    f = four(d)
    small = media.file("/small.mp4", 100_000, rate=200_000)
    target = media.file("/target.mp4", 1000)
    episodes = [media.file(f"/ep{n}.mp3", 5000, kind="audio/mpeg")
                for n in range(3)]
    feed = media.feed("/feed.xml", episodes)
    assert f.complete(small, small)["status"] == "finished"
    assert f.complete(media.redirect("/r", target), target)["size"] == 1000
    assert f.complete(feed, *episodes)["filename"].endswith("Episode 3.mp3")
    assert d.files() == [f"My Feed/Episode {n}.mp3" for n in (1, 2, 3)] + \
        ["small.mp4", "target.mp4"]
    f.check()
    d.delete(small, where="done")
    f.all_hear("cleared", small)


def test_four_see_a_stream_and_errors(downloads, media, four):
    d = downloads("max_concurrent = 1;")
    f = four(d)
    gone = media.url("/gone.mp3")
    assert "404" in d.refused(gone)  # nothing is told of it
    failed = f.complete(media.feed("/feed.xml", [gone]), gone)
    assert failed["status"] == "error" and "404" in failed["msg"]
    hls = media.hls("/hls")
    assert f.complete(hls, hls)["filename"] == "index.mp4"
    assert d.files() == ["index.mp4"]
    f.check()


def test_four_see_a_cancel_and_a_stall(downloads, media, four):
    d = downloads('engine_options_file = "run/options.json";')
    path = f"{d.weir.prefix}/run/options.json"
    f = four(d)
    for c in f.clients:  # there is no file yet
        assert not c.until(lambda n, _: n == FIRST_EVENTS[-1])["success"]
    large = media.zeros("/large.mp4", rate=20 << 20)
    d.added(large, auto_start=False)
    assert f.all_hear("added", large)["list"] == "pending"
    d.start(large)
    for c in f.clients:
        c.until(lambda n, a: n == "updated" and (a["percent"] or 0) >= 1)
    assert d.run_folders()
    d.delete(large)
    f.all_hear("canceled", large)
    assert d.files() == [] and d.run_folders() == []  # before that was told

    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write('{"socket_timeout": 2, "retries": 0}')
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)
    for c in f.clients:
        assert c.until(lambda n, _: n == FIRST_EVENTS[-1])["success"]
    stalled = media.file("/stalled.mp4", 1_000_000, hold=600_000)
    f.order = [(FIRST_EVENTS[-1], ""), ("added", large), ("canceled", large),
               (FIRST_EVENTS[-1], "")]
    failed = f.complete(stalled, stalled)
    assert failed["status"] == "error" and "timed out" in failed["msg"], failed
    assert d.files() == []
    f.check()


@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_python(downloads, media, transports):
    d = downloads()
    client = PythonClient(d, transports)
    try:
        see_all(client, d, media)
    finally:
        client.leave()


# ---- the original's own page ----

class Original(Lines):
    """It asks for everything over HTTP itself, as a page does."""

    def __init__(self, d, path="/original"):
        super().__init__(node("../../../modules/downloads/original.js",
                              f"http://127.0.0.1:{d.port}{path}/"))

    def order(self, path, **body):
        self.say(post=path, body=body)
        return self.until(answer=path)["said"]

    def state(self):
        """The lists as it would show them."""
        self.say(look=True)
        return self.until(told="state")


def see(client, condition, timeout=300):
    for _ in range(timeout):
        if condition(state := client.state()):
            return state
        client.next()  # something has to happen
    raise AssertionError(state)


def test_a_page_of_the_original(downloads, media, tool):
    """It parses strings, has the original's names, and needs each of them."""
    d = downloads(locations=STRING)
    small = media.file("/small.mp4", 100_000, rate=200_000)
    waits = media.file("/waits.mp4", 10_000)
    client = tool(Original(d))
    client.until(told="all")
    client.until(told="configuration")
    client.until(told="custom_dirs")
    version = client.until(told="version")["said"]
    assert version["yt-dlp"] and version["version"]
    assert version["yt-dlp"] == version["engine"]
    form = {"quality": "best", "format": "any", "folder": "",
            "custom_name_prefix": "", "playlist_strict_mode": False,
            "playlist_item_limit": 0, "auto_start": True}
    refused = client.order("add", url="ftp://a/b", **form)
    assert isinstance(refused, str) and "http" in refused  # it shows that
    assert client.order("add", url=small, **form)["status"] == "ok"
    state = see(client, lambda s: small in s["done"])
    assert state["done"][small]["status"] == "finished"
    assert client.order("add", url=waits, **{**form, "auto_start": False}) \
        ["status"] == "ok"
    state = see(client, lambda s: waits in s["queue"])
    assert state["queue"][waits]["status"] == "pending"
    client.order("start", ids=[waits])
    see(client, lambda s: waits in s["done"])
    client.say(get="download/" + "small.mp4")
    assert client.until(answer="download/small.mp4")["size"] == 100_000
    client.order("delete", where="done", ids=[small, waits])
    state = see(client, lambda s: not s["done"])
    assert state == {"told": "state", "queue": {}, "done": {},
                     "updated": state["updated"]}
    assert state["updated"] > 0
    held = media.file("/held.mp4", 4 << 20, hold=2 << 20)
    client.order("add", url=held, **form)
    see(client, lambda s: s["queue"].get(held, {}).get("percent"))
    client.order("delete", where="queue", ids=[held])
    see(client, lambda s: not s["queue"])


def test_both_forms_of_one_queue(downloads, media):
    d = downloads(locations=STRING)
    url = media.file("/small.mp4", 10_000)
    with d.listen() as mine, d.listen("/original") as theirs:
        d.added(url)
        d.delete(mine.wait_for("completed", url)["url"], where="done")
        mine.wait_for("cleared", url)
        theirs.wait_for("cleared", url)
    for name in ("added", "completed", "cleared"):
        raw, = [a for n, a in theirs.raw if n == name]
        assert isinstance(raw, str)
        ours, = [a for n, a in mine.raw if n == name]
        theirs_parsed = json.loads(raw)
        assert theirs_parsed == ours or {
            k: theirs_parsed[k] for k in ours if k in theirs_parsed} == {
            k: v for k, v in ours.items() if k in theirs_parsed}
    assert theirs.raw[0] == ("all", "[[], []]") or \
        json.loads(theirs.raw[0][1]) == [[], []]


def test_who_comes_later_sees_the_same(downloads, media):
    d = downloads(locations=STRING)
    done = media.file("/done.mp4", 1000)
    d.added(done)
    d.wait_done(done)
    pending = media.file("/pending.mp4", 1000)
    d.added(pending, auto_start=False)
    held = media.file("/held.mp4", 4 << 20, hold=2 << 20)
    d.added(held)
    d.wait_status(held, "downloading")
    with d.listen() as mine, d.listen("/original") as theirs:
        now = mine.all("all")[0]
        assert {k: [e["url"] for e in v] for k, v in now.items()} == {
            "queue": [held], "pending": [pending], "done": [done]}
        active, over = theirs.all("all")[0]
        assert [url for url, _ in active] == [held, pending]
        assert [(url, e["url"]) for url, e in over] == [(done, done)]


def test_options_are_told(downloads, media):
    """The file changes: the next run has it, clients hear of it."""
    d = downloads('engine_options_file = "run/options.json";',
                  locations=STRING)
    path = f"{d.weir.prefix}/run/options.json"
    with d.listen() as mine, d.listen("/original") as theirs:
        for text, good in (('{"ratelimit": 100000}', True), ("{", False),
                           ('{"exec": "id"}', False), ("{}", True)):
            count = len(mine.all("engine_options_changed"))
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path + ".new", 0o644)
            os.rename(path + ".new", path)
            mine.wait(lambda names, c=count:
                      names.count("engine_options_changed") > c)
            told = mine.all("engine_options_changed")[-1]
            assert told["success"] == good, told
            assert bool(told["msg"]) != good
            assert isinstance(told["update_time"], float)
            if "exec" in text:
                assert "exec" in told["msg"]
        # The first told of no file.
        theirs.wait(lambda names: names.count("ytdl_options_changed") > 4)
        assert theirs.all("ytdl_options_changed")[-1]["success"]
