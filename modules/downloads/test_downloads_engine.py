"""Downloads by the real engine from a server of ours: states, events, files."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import subprocess

import pytest

from downloads_help import (check_object, downloads,  # pylint: disable=W0611
                            media)
from media_server_help import MediaServer, closed_port, content
from patience import busy
from weir import wait_for

pytestmark = pytest.mark.once

__all__ = ["downloads", "media"]  # fixtures
WAY = ["pending", "preparing", "downloading", "finished"]


def way(ears, url):
    """Its statuses; work behind the download is one of some kinds alone."""
    return [s for s in ears.statuses(url) if s != "postprocessing"]


def probe(path):
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-of", "json", "-show_streams",
         "-show_format", path], capture_output=True, check=True,
        timeout=busy(20))
    return json.loads(done.stdout)


def same_bytes(path, size):
    with open(path, "rb") as f:
        return f.read() == content(size)


def check_events(ears, url):
    """Each event of a finished download is whole and in its place."""
    assert ears.names(url) == ["added", "updated", "completed"]
    assert way(ears, url) == WAY
    for name in ("added", "updated", "completed"):
        for e in ears.all(name, url):
            check_object(e)
            assert e["list"] == ("done" if name == "completed" else "queue")
    percents = [e["percent"] for e in ears.all("updated", url)
                if e["percent"] is not None]
    assert percents == sorted(percents), percents
    last = ears.all("completed", url)[0]
    assert last["status"] == "finished" and last["msg"] is None, last
    assert last["speed"] is None and last["eta"] is None, last
    assert last["added_at"] <= last["started_at"] <= last["finished_at"]


def check_clean(d):
    """No process and no folder of a run is left."""
    wait_for(lambda: not d.run_folders(), 10, "the end of its folders")
    wait_for(lambda: not d.processes("weir-supervisor"), 10,
             "the end of its processes")


def test_a_file(downloads, media):
    d = downloads()
    url = media.file("/small.mp4", 300_000, rate=300_000)
    with d.listen() as ears:
        assert [n for n, _ in ears.events[:3]] == \
            ["all", "configuration", "custom_dirs"]
        assert ears.all("all") == [{"queue": [], "done": [], "pending": []}]
        d.added(url)
        done = ears.wait_for("completed", url)
        check_events(ears, url)
        assert ears.wait_for("updated", url)["status"] == "preparing"
        assert any(e["speed"] and e["eta"] is not None and
                   e["filename"] == "small.mp4"
                   for e in ears.all("updated", url))
    assert (done["id"], done["title"], done["url"], done["asked"]) == \
        ("small", "small", url, url)
    assert (done["filename"], done["size"]) == ("small.mp4", 300_000)
    assert d.history() == {"done": [done], "queue": [], "pending": []}
    assert d.files() == ["small.mp4"]
    assert same_bytes(f"{d.directory}/small.mp4", 300_000)
    got = d.file(done)
    assert got.status == 200 and got.body == content(300_000)
    check_clean(d)
    with d.listen() as late:
        assert late.all("all") == [{"queue": [], "done": [done],
                                    "pending": []}]


@pytest.mark.parametrize("guids", [False, True], ids=["plain", "guids"])
def test_a_feed_of_three(downloads, media, guids):
    d = downloads("max_concurrent = 1;")
    urls = [media.file(f"/ep{n}.mp3", 50_000 + n, kind="audio/mpeg")
            for n in range(1, 4)]
    feed = media.feed("/feed.xml", urls, guids=guids)
    with d.listen() as ears:
        d.added(feed)
        ears.wait(lambda names: names.count("completed") == 3, 30)
        for name in ("added", "completed"):
            assert [e["url"] for e in ears.all(name)] == urls
        for url in urls:
            check_events(ears, url)
            assert ears.all("added", url)[0]["asked"] == feed
        assert [n for n, _ in ears.events].index("completed") > \
            max(i for i, (n, _) in enumerate(ears.events) if n == "added")
    assert d.urls("done") == urls
    assert d.files() == [f"My Feed/Episode {n}.mp3" for n in range(1, 4)]
    for n in range(1, 4):
        assert same_bytes(f"{d.directory}/My Feed/Episode {n}.mp3", 50_000 + n)
    check_clean(d)


def test_no_more_items_than_asked_for(downloads, media):
    d = downloads()
    urls = [media.file(f"/ep{n}.mp3", 5_000, kind="audio/mpeg")
            for n in range(1, 4)]
    feed = media.feed("/feed.xml", urls)
    d.added(feed, playlist_item_limit=2)
    for url in urls[:2]:
        assert d.wait_done(url)["playlist_item_limit"] == 2
    assert d.urls("done") == urls[:2] and not d.urls("queue")
    d.added(feed, playlist_item_limit=0)
    d.wait_done(urls[2])


def test_an_item_that_is_not_there(downloads, media):
    """Its neighbours are not held up."""
    d = downloads("max_concurrent = 1;")
    gone, good = media.url("/gone.mp3"), media.file("/good.mp3", 5_000,
                                                    kind="audio/mpeg")
    with d.listen() as ears:
        d.added(media.feed("/feed.xml", [gone, good]))
        failed = ears.wait_for("completed", gone)
        assert failed["status"] == "error" and "404" in failed["msg"]
        assert way(ears, gone)[-1] == "error"
        assert ears.names(gone) == ["added", "updated", "completed"]
        assert failed["filename"] is None and failed["size"] is None
        ears.wait_for("completed", good)
    assert d.files() == ["My Feed/Episode 2.mp3"]
    check_clean(d)


def test_hls(downloads, media):
    d = downloads()
    url = media.hls("/hls", rate=400_000)
    with d.listen() as ears:
        d.added(url)
        done = ears.wait_for("completed", url, timeout=30)
        check_events(ears, url)
    assert done["filename"] == "index.mp4"
    found = probe(f"{d.directory}/index.mp4")
    assert {s["codec_type"] for s in found["streams"]} == {"audio", "video"}
    assert abs(float(found["format"]["duration"]) - 4) < 0.5
    assert done["size"] == os.stat(f"{d.directory}/index.mp4").st_size
    check_clean(d)


def test_sound_of_a_movie(downloads, media):
    d = downloads()
    url = media.movie("/movie.mp4")
    with d.listen() as ears:
        d.added(url, format="mp3", quality="128")
        done = ears.wait_for("completed", url, timeout=30)
        assert ears.statuses(url)[-1] == "finished"
    assert (done["filename"], done["format"], done["quality"]) == \
        ("movie.mp3", "mp3", "128")
    found = probe(f"{d.directory}/movie.mp3")
    assert [s["codec_name"] for s in found["streams"]] == ["mp3"]
    assert done["size"] == os.stat(f"{d.directory}/movie.mp3").st_size
    assert d.files() == ["movie.mp3"]
    check_clean(d)


@pytest.mark.parametrize("fields", [
    {"quality": "1080"}, {"quality": "720", "format": "mp4"},
    {"quality": "worst"}, {"quality": "audio"}, {"format": None},
    {"quality": "best_ios", "format": "mp4"}], ids=str)
def test_qualities_of_a_file_that_has_but_one(downloads, media, fields):
    d = downloads()
    url = media.file("/small.mp4", 10_000)
    d.added(url, **fields)
    done = d.wait_done(url)
    assert done["quality"] == fields.get("quality", "best")
    assert d.files() == ["small.mp4"]


@pytest.mark.parametrize("length", [True, False], ids=["length", "none"])
def test_a_redirect(downloads, media, length):
    """The address is that of the file, whoever was asked."""
    d = downloads()
    url = media.file("/small.mp4", 10_000, length=length)
    asked = media.redirect("/r", media.redirect("/r2", url))
    with d.listen() as ears:
        d.added(asked)
        done = ears.wait_for("completed", url)
        check_events(ears, url)
    assert (done["url"], done["asked"]) == (url, asked)
    assert done["size"] == 10_000
    assert d.delete(asked, where="done").json() == {"status": "ok",
                                                    "not_found": []}
    assert d.urls("done") == []


def test_a_redirect_elsewhere(downloads, media, tool):
    """The rules hold for what an address leads to."""
    other = tool(MediaServer("127.0.0.2"))
    d = downloads(egress='"allow 127.0.0.1", "deny all"')
    there = other.file("/small.mp4", 10_000)
    for url in (there, media.redirect("/r", there)):
        msg = d.refused(url)
        assert "127.0.0.2" in msg and "egress" in msg, msg
    feed = media.feed("/feed.xml", [there])
    with d.listen() as ears:
        d.added(feed)
        failed = ears.wait_for("completed", there)
    assert failed["status"] == "error" and "egress" in failed["msg"], failed
    assert not other.seen and d.files() == []


def test_as_shipped_this_machine_is_out_of_reach(downloads, media):
    d = downloads(egress='"deny private", "deny linklocal", "allow all"')
    msg = d.refused(media.file("/small.mp4"))
    assert "egress" in msg and "allow loopback" in msg, msg
    assert not media.seen


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_page_with_an_error(downloads, media, status):
    d = downloads()
    with d.listen() as ears:
        msg = d.refused(media.error("/no.mp4", status))
        assert str(status) in msg and d.weir.prefix not in msg
        url = media.file("/small.mp4", 1000)
        d.added(url)
        ears.wait_for("completed", url)
        assert {e["url"] for e in ears.all("added")} == {url}
    assert [len(v) for v in d.history().values()] == [1, 0, 0]


def test_nobody_listens(downloads):
    d = downloads()
    assert d.refused(f"http://127.0.0.1:{closed_port()}/a.mp4")
    assert d.history() == {"done": [], "queue": [], "pending": []}


def test_nothing_to_download(downloads, media):
    d = downloads()
    assert "nsupported URL" in d.refused(
        media.text("/words.html", "<html><body>Words.</body></html>"))


def test_one_video_of_a_page(downloads, media):
    d = downloads()
    media.file("/small.mp4", 10_000)
    page = media.page("/page.html", ["small.mp4"])
    d.added(page)
    assert d.wait_done(page)["size"] == 10_000


def test_two_videos_of_a_page(downloads, media):
    """Both have the page's address; one of them gets a number."""
    d = downloads()
    media.file("/one.mp4", 10_001)
    media.file("/two.mp4", 10_002)
    page = media.page("/page.html", ["one.mp4", "two.mp4"])
    d.added(page)
    done = wait_for(lambda: len(now := d.history()["done"]) == 2 and now, 20)
    assert len({e["url"] for e in done}) == 2
    assert all(e["url"].split("#")[0] == page for e in done)
    assert sorted(e["size"] for e in done) == [10_001, 10_002]
    assert len(d.files()) == 2


def test_a_server_that_stops_in_the_middle(downloads, media):
    """It is cancelled; others go on beside it."""
    d = downloads()
    stalled = media.file("/stalled.mp4", 1_000_000, hold=600_000)
    with d.listen() as ears:
        d.added(stalled)
        ears.wait(lambda _: any(
            e["percent"] for e in ears.all("updated", stalled)))
        url = media.file("/small.mp4", 10_000)
        d.added(url)
        ears.wait_for("completed", url)
        assert d.find(stalled)["status"] == "downloading"
        assert d.delete(stalled).json() == {"status": "ok", "not_found": []}
        ears.wait_for("canceled", stalled, timeout=25)
        assert ears.names(stalled) == ["added", "updated", "canceled"]
    assert d.find(stalled) is None
    assert d.files() == ["small.mp4"]
    check_clean(d)


def test_a_server_that_stalls(downloads, media):
    """The engine tries again, and then it is an error."""
    d = downloads('engine_options_file = "run/options.json";')
    url = media.file("/stalled.mp4", 1_000_000, hold=600_000)
    d.added(url, auto_start=False)
    path = f"{d.weir.prefix}/run/options.json"
    with d.listen() as ears:
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write('{"socket_timeout": 2, "retries": 1}')
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)
        ears.wait(lambda _: any(
            e["success"] for e in ears.all("engine_options_changed")))
        before = len(media.asked("/stalled.mp4"))
        d.start(url)
        failed = ears.wait_for("completed", url, timeout=40)
        assert ears.names(url) == ["updated", "completed"]
    assert failed["status"] == "error" and "timed out" in failed["msg"], failed
    asked = media.asked("/stalled.mp4")[before:]
    assert any(a.range for a in asked), asked  # it went on with its part
    assert d.files() == [] and d.urls("done") == [url]
    check_clean(d)


def test_a_server_that_never_answers(downloads, media):
    d = downloads('extract_timeout = "2s";')
    msg = d.refused(media.file("/quiet.mp4", quiet=True))
    assert "2 s" in msg or "time" in msg, msg
    assert d.history() == {"done": [], "queue": [], "pending": []}
    check_clean(d)


def test_two_gigabytes_cancelled_midway(downloads, media):
    d = downloads()
    url = media.zeros("/large.mp4", rate=30 << 20)
    with d.listen() as ears:
        d.added(url)
        ears.wait(lambda _: any(
            (e["percent"] or 0) >= 2 for e in ears.all("updated", url)), 30)
        last = ears.all("updated", url)[-1]
        assert last["status"] == "downloading" and last["speed"] > 0
        assert d.run_folders() and d.processes("weir-supervisor")
        assert d.delete(url).json()["status"] == "ok"
        ears.wait_for("canceled", url, timeout=25)
        check_clean(d)  # at once: it was told when that was done
        assert ears.names(url) == ["added", "updated", "canceled"]
    assert d.files() == [] and d.find(url) is None
    assert [len(v) for v in d.history().values()] == [0, 0, 0]


def test_one_after_the_other(downloads, media):
    d = downloads("max_concurrent = 1;")
    paths = [f"/f{n}.mp4" for n in range(3)]
    urls = [media.file(p, 200_000, hold=100_000) for p in paths]
    with d.listen() as ears:
        for url in urls:
            d.added(url)
        for n, url in enumerate(urls):
            ears.wait(lambda _, u=url: "downloading" in ears.statuses(u))
            waiting = [e["status"] for e in d.history()["queue"]]
            assert waiting == ["downloading"] + ["pending"] * (2 - n)
            media.release(paths[n])
            ears.wait_for("completed", url)
        assert [e["url"] for e in ears.all("completed")] == urls


def test_the_version_of_the_engine(downloads):
    said = downloads().get("version").json()  # it waits until that is known
    real = subprocess.run(["yt-dlp", "--version"], capture_output=True,
                          text=True, check=True, timeout=busy(10))
    assert said["engine"] == real.stdout.strip() and said["version"]


def test_no_engine(downloads, media):
    """It runs without, and says what is missing."""
    d = downloads('engine = "yt-dlp"; engine_path = "/nowhere/yt-dlp";')
    said = d.get("version").json()
    assert said["engine"] == "" and "/nowhere/yt-dlp" in said["engine_error"]
    a = d.add(media.file("/small.mp4"))
    assert a.json()["status"] == "error" and "yt-dlp" in a.json()["msg"]
    assert d.history() == {"done": [], "queue": [], "pending": []}
