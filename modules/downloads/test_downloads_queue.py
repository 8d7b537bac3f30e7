"""The three lists: adding again, starting, deleting in each state, and what is
left of all that after a death."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import signal
from urllib.parse import quote

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from http_client import Http
from media_server_help import content
from weir import descendants, stat_of, wait_for

__all__ = ["downloads", "media"]  # fixtures
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_engine_help.py")
OK = {"status": "ok", "not_found": []}


def held(d, media, path="/held.mp4"):
    """A download that has half of its file, and waits."""
    url = media.file(path, 4 << 20, hold=2 << 20)
    d.added(url)
    wait_for(lambda: (d.find(url)["percent"] or 0) > 20, 15, "a half")
    return url


# ---- starting ----

def test_it_waits_for_a_start(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 10_000)
    with d.listen() as ears:
        d.added(url, auto_start=False)
        added = ears.wait_for("added", url)
        assert (added["list"], added["status"]) == ("pending", "pending")
        assert d.urls("pending") == [url] and d.urls("queue") == []
        assert d.start(url, "http://127.0.0.1/other").json() == \
            {"status": "ok", "not_found": ["http://127.0.0.1/other"]}
        ears.wait_for("completed", url)
        assert ears.names(url) == ["added", "updated", "completed"]
        assert ears.all("updated", url)[0]["list"] == "queue"
    assert d.urls("pending") == [] and d.urls("done") == [url]
    assert d.start(url).json()["not_found"] == [url]


@pytest.mark.parametrize("value", [True, None])
def test_it_starts_at_once(downloads, media, value):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url, auto_start=value)
    d.wait_done(url)


def test_what_was_asked_for_can_be_started(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    asked = media.redirect("/r", url)
    d.added(asked, auto_start=False)
    assert d.start(asked).json() == OK
    d.wait_done(url)


# ---- adding again ----

def test_again_while_it_runs(downloads, media):
    d = downloads()
    url = held(d, media)
    with d.listen() as ears:
        before = d.find(url)
        assert d.added(url)["msg"]
        after = d.find(url)
        assert after["timestamp"] == before["timestamp"]
        media.release("/held.mp4")
        ears.wait_for("completed", url)
        assert not ears.all("added")
    assert len(d.history()["done"]) == 1
    assert d.files() == ["held.mp4"]


def test_again_while_it_waits(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url, auto_start=False)
    before = d.find(url)
    assert d.added(url, auto_start=False, quality="720")["msg"]
    assert d.find(url) == before
    d.added(url)
    d.wait_done(url)
    assert d.urls("pending") == []


def test_again_when_it_is_done(downloads, media):
    """The record of before stands until the next takes its place."""
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url)
    first = d.wait_done(url)
    media.file("/small.mp4", 4 << 20, hold=2 << 20)
    with d.listen() as ears:
        d.added(url)
        ears.wait(lambda _: "downloading" in ears.statuses(url))
        assert d.find(url, "done") == first
        assert d.find(url, "queue")["timestamp"] > first["timestamp"]
        media.release("/small.mp4")
        ears.wait_for("completed", url)
        assert ears.names(url) == ["added", "updated", "completed"]
    done = d.history()["done"]
    assert [e["size"] for e in done] == [4 << 20]
    assert d.files() == ["small (2).mp4", "small.mp4"]


def test_two_of_one_title(downloads, media):
    d = downloads()
    urls = [media.file(f"/{n}/same.mp4", 20_000 + n, rate=40_000)
            for n in range(3)]
    for url in urls:
        d.added(url)
    sizes = {d.wait_done(url)["filename"]: d.find(url)["size"]
             for url in urls}
    assert sorted(sizes) == ["same (2).mp4", "same (3).mp4", "same.mp4"]
    for name, size in sizes.items():
        with open(f"{d.directory}/{name}", "rb") as f:
            assert f.read() == content(size)


# ---- deleting ----

def test_deleted_while_it_waits_for_a_start(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    with d.listen() as ears:
        d.added(url, auto_start=False)
        assert d.delete(url).json() == OK
        ears.wait_for("canceled", url)
        assert ears.names(url) == ["added", "canceled"]
        assert d.delete(url).json()["not_found"] == [url]
    assert d.find(url) is None


def test_deleted_while_it_waits_for_its_turn(downloads, media):
    """It is not run when its turn comes."""
    d = downloads("max_concurrent = 1;")
    first = held(d, media)
    url, last = (media.file(p, 1000) for p in ("/next.mp4", "/last.mp4"))
    with d.listen() as ears:
        d.added(url)
        d.added(last)
        assert d.delete(url).json() == OK
        ears.wait_for("canceled", url)
        before = len(media.asked("/next.mp4"))
        media.release("/held.mp4")
        ears.wait_for("completed", first)
        ears.wait_for("completed", last)
        assert ears.names(url) == ["added", "canceled"]
    assert len(media.asked("/next.mp4")) == before
    assert d.files() == ["held.mp4", "last.mp4"]


def test_deleted_while_it_runs_another_starts(downloads, media):
    d = downloads("max_concurrent = 1;")
    first = held(d, media)
    url = media.file("/next.mp4", 1000)
    d.added(url)
    with d.listen() as ears:
        assert d.delete(first).json() == OK
        ears.wait_for("canceled", first, timeout=25)
        ears.wait_for("completed", url)
        assert not ears.all("completed", first)
    assert d.files() == ["next.mp4"]


def test_cancelled_and_added_again(downloads, media):
    d = downloads()
    url = held(d, media)
    assert d.delete(url).json() == OK
    media.file("/held.mp4", 1000)
    wait_for(lambda: d.add(url).json()["status"] == "ok" and
             d.find(url, "queue", "done"), 20, "another run")
    assert d.wait_done(url)["size"] == 1000


def test_done_ones_are_cleared(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 1000)
    d.added(url)
    d.wait_done(url)
    assert d.delete(url).json()["not_found"] == [url]  # not in the queue
    with d.listen() as ears:
        assert d.delete(url, "x", where="done").json() == \
            {"status": "ok", "not_found": ["x"]}
        ears.wait_for("cleared", url)
    assert d.urls("done") == [] and d.files() == ["small.mp4"]


def test_done_ones_are_cleared_with_their_files(downloads, media):
    d = downloads("delete_files = true;")
    url = media.file("/small.mp4", 1000)
    d.added(url, folder="sub/x")
    d.wait_done(url)
    assert d.files() == ["sub/x/small.mp4"]
    assert d.delete(url, where="done").json() == OK
    wait_for(lambda: d.files() == [], 10, "no file")


def test_a_client_that_leaves_cancels_its_extraction(downloads, media):
    d = downloads()
    url = media.file("/quiet.mp4", 1000, quiet=True)
    with Http(d.port) as c:
        c.send("POST", f"{d.path}/add",
               body=f'{{"url": "{url}", "quality": "best"}}'.encode())
        wait_for(lambda: media.asked("/quiet.mp4"), 15, "the engine")
    wait_for(lambda: not d.processes("weir-supervisor"), 20, "its end")
    media.release("/quiet.mp4")
    other = media.file("/other.mp4", 1000)
    d.added(other)
    d.wait_done(other)
    assert d.find(url) is None


# ---- names that hurt ----

FOLDERS = ["..", "../out", "a/../../out", "/etc", "/", "//", "//a", "a//b",
           "./../x", ".weir", ".hidden", "a/.weir/1", "a\x00b", "a\nb",
           "x" * 2000, "link", "link/sub", "sub/../link"]


def test_folders_that_hurt(downloads, media):
    d = downloads()
    outside = f"{d.weir.prefix}/outside"
    os.mkdir(outside, 0o777)
    os.chmod(outside, 0o777)
    os.symlink(outside, f"{d.directory}/link")
    for n, folder in enumerate(FOLDERS):
        url = media.file(f"/small{n}.mp4", 1000)
        a = d.add(url, folder=folder)
        assert a.status == 400 or a.status == 200 and folder[0] != "/", folder
        if a.json()["status"] == "ok":
            done = d.wait_in("done", url)
            assert done["status"] == "error" and done["msg"], done
        else:
            assert a.json()["msg"], folder
        assert os.listdir(outside) == [], folder
        assert d.files() in ([], ["link"]), folder
        found = [f for _, _, files in os.walk(d.weir.prefix) for f in files]
        assert not any("small" in f for f in found), folder


PREFIXES = [("pre", "pre.small0.mp4"), ("%(id)s", None),
            ("%(title)s %%", None), ("../../x", None), ("/etc/x", None),
            ("a/b", None), ("..", None), ("a\nb", None),
            ("\u20ac" * 100, None), ("-o", None), ("con.", None)]


def test_prefixes_that_hurt(downloads, media):
    """A refusal, or one file that lies in the directory and has no other
    title in its name."""
    d = downloads()
    taken = []
    for n, (prefix, name) in enumerate(PREFIXES):
        url = media.file(f"/small{n}.mp4", 1000)
        a = d.add(url, custom_name_prefix=prefix)
        if a.json()["status"] == "ok":
            taken.append((url, name))
        else:
            assert a.json()["msg"] and name is None, prefix
    names = []
    for url, name in taken:
        done = d.wait_done(url)
        names.append(done["filename"])
        assert name in (None, done["filename"])
        assert "/" not in done["filename"]
        assert not done["filename"].startswith((".", "small"))
        assert len(done["filename"].encode()) <= 255
    assert d.files() == sorted(names) and len(set(names)) == len(taken)


TITLES = ["../../../etc", "..", ".", "/etc/x", "a/../../b", "a\nb", ".hidden",
          "n" * 300, "\u20ac" * 150, "-o x", "--exec=id", "%(title)s", "%s%n",
          "a\u202eb", "con", "a\\b", " ", "$(id)", "`id`", "'\"", "<b>",
          "a.part", ".weir", "e\u0301", "\u00e9"]


def test_titles_that_hurt(downloads):
    """Each gets a name of its own, which is one part of a path."""
    d = downloads(f'max_concurrent = 2; engine_path = "{FAKE}";')
    before = set(os.listdir(d.weir.prefix))
    titles = quote(json.dumps(TITLES), safe="")
    assert d.added(f"http://fake.test/titles/{titles}")["added"] == len(TITLES)
    wait_for(lambda: len(d.history()["done"]) == len(TITLES), 60,
             "their ends")
    files = d.files()
    assert len(files) == len(TITLES)
    for e in d.history()["done"]:
        assert e["status"] == "finished", e
        assert e["filename"] in files
        folder, name = e["filename"].split("/")
        assert not folder.startswith(".") and not name.startswith(".")
        assert not re.search(r"[\x00-\x1f\x7f]", e["filename"])
        assert len(name.encode()) <= 255
        got = d.file(e)
        assert got.status == 200 and got.body == e["url"].encode()
    assert set(os.listdir(d.weir.prefix)) == before


def test_titles_of_a_feed_that_hurt(downloads, media):
    """They come through the engine."""
    d = downloads()
    before = set(os.listdir(d.weir.prefix))
    items = [(title, media.file(f"/f{n}.mp4", 1000 + n))
             for n, title in enumerate(TITLES)]
    d.added(media.feed("/feed.xml", items, title="../../list"),
            auto_start=False)
    assert d.urls("pending") == [url for _, url in items]
    first = items[0][1]
    assert d.start(first).json() == OK
    done = d.wait_done(first)
    assert d.files() == [done["filename"]]
    folder, name = done["filename"].split("/")
    assert not folder.startswith(".") and not name.startswith(".")
    assert d.file(done).body == content(1000)
    assert set(os.listdir(d.weir.prefix)) == before


PATHS = ["/..%2f..%2fetc.mp4", "/a\nb.mp4", "/-o x.mp4", "/.mp4",
         "/%(id)s.mp4", "/--exec=id"]


def test_addresses_that_hurt(downloads, media):
    d = downloads()
    for n, path in enumerate(PATHS):
        d.added(media.file(path, 1000 + n))
    ends = wait_for(lambda: len(now := d.history()["done"]) == len(PATHS) and
                    now, 40, "their ends")
    for done in ends:
        assert done["status"] == "finished", done
        assert "/" not in done["filename"]
        assert d.file(done).body == content(done["size"])
    assert {e["size"] for e in ends} == {1000 + n for n in range(len(PATHS))}
    assert d.files() == sorted(e["filename"] for e in ends)


# ---- deaths ----

def restart(d):
    d.weir.stop()
    d.weir.start()
    d.weir.status = None
    wait_for(lambda: d.get("history").status == 200, 10, "the queue")


def kill_fetcher(d):
    d.weir.children_may_crash = True
    d.weir.allowed.append("fetcher")
    old, = d.processes("weir: fetcher")
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: d.processes("weir: fetcher") not in ([], [old]), 10,
             "another fetcher")
    wait_for(lambda: d.get("history").status == 200, 10, "the queue")


def kill_starter(d):
    """The fetcher ends with it, as it does when the master is killed."""
    d.weir.children_may_crash = True
    d.weir.allowed += ["fetcher", "the starter of this role's programs"]
    old, = d.processes("weir: fetcher")
    os.kill(d.processes("weir starter: fetcher")[0], signal.SIGKILL)
    wait_for(lambda: d.processes("weir: fetcher") not in ([], [old]), 10,
             "another fetcher")
    wait_for(lambda: d.get("history").status == 200, 10, "the queue")


def kill_master(d):
    family = descendants(d.weir.pid)
    assert d.processes("weir-supervisor") and d.processes("yt-dlp")
    d.weir.kill(signal.SIGKILL)
    d.weir.process.wait()
    wait_for(lambda: not any(stat_of(pid) for pid in family), 10,
             "the end of all its processes")
    d.weir.start()
    wait_for(lambda: d.get("history").status == 200, 10, "the queue")


@pytest.mark.parametrize("death", [restart, kill_fetcher, kill_starter,
                                   kill_master], ids=lambda f: f.__name__)
def test_nothing_is_lost(downloads, media, death):
    """Those that ran go on where they were, the others stay."""
    d = downloads("max_concurrent = 1;")
    done = [media.file(f"/done{n}.mp4", 1000 + n) for n in range(2)]
    for url in done:
        d.added(url)
        d.wait_done(url)
    pending = [media.file(f"/pending{n}.mp4", 1000) for n in range(2)]
    for url in pending:
        d.added(url, auto_start=False)
    url = held(d, media)
    waits = media.file("/waits.mp4", 1000)
    d.added(waits)
    before = d.history()
    had = d.find(url)["percent"] / 100 * (4 << 20)
    count = len(media.asked("/held.mp4"))
    death(d)
    after = d.history()
    assert after["done"] == before["done"]
    assert after["pending"] == before["pending"]
    assert [e["url"] for e in after["queue"]] == [url, waits]
    wait_for(lambda: len(media.asked("/held.mp4")) > count, 20, "a new run")
    media.release("/held.mp4")
    assert d.wait_done(url)["size"] == 4 << 20
    d.wait_done(waits)
    ranges = [a.range for a in media.asked("/held.mp4")[count:]]
    assert any(r and int(re.match(r"bytes=(\d+)-", r)[1]) > had - (64 << 10)
               for r in ranges), (had, ranges)
    with open(f"{d.directory}/held.mp4", "rb") as f:
        assert f.read() == content(4 << 20)
    assert d.urls("done") == [*done, url, waits]
    assert d.files() == ["done0.mp4", "done1.mp4", "held.mp4", "waits.mp4"]


def test_a_reload_does_not_touch_it(downloads, media):
    d = downloads()
    url = held(d, media)
    with d.listen() as ears:
        asked = len(media.asked("/held.mp4"))
        d.weir.reload()
        media.release("/held.mp4")
        ears.wait_for("completed", url)
        assert ears.names(url) in (["completed"], ["updated", "completed"])
    assert len(media.asked("/held.mp4")) == asked


def test_a_reload_in_another_order_does_not_touch_it(downloads, media):
    """The rights of the fetcher are the same."""
    items = [f'{{ name = "{n}"; directory = "run/{f}"; min_free = "0"; }}'
             for n, f in (("main", "downloads"), ("other", "other"))]
    d = downloads(more=f", {items[1]}")
    url = held(d, media)
    fetcher = d.processes("weir: fetcher")
    with d.listen() as ears:
        asked = len(media.asked("/held.mp4"))
        d.weir.set_config(re.sub(
            r"^downloads = .*?^ *\);$|^downloads = .*?\);\n",
            f"downloads = ( {items[1]}, {items[0]} );\n",
            d.weir.config, count=1, flags=re.S | re.M))
        d.weir.reload()
        media.release("/held.mp4")
        ears.wait_for("completed", url)
        assert ears.names(url) in (["completed"], ["updated", "completed"])
    assert len(media.asked("/held.mp4")) == asked
    assert d.processes("weir: fetcher") == fetcher


def test_what_was_cancelled_stays_so(downloads, media):
    """The fetcher dies between the answer and the end of the run."""
    d = downloads()
    url = held(d, media)
    assert d.delete(url).json() == OK
    kill_fetcher(d)
    d.wait_gone(url)
    wait_for(lambda: not d.run_folders(), 20, "no folder")
    wait_for(lambda: not d.processes("yt-dlp"), 20, "no engine")
    assert d.files() == []
