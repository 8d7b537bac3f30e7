"""What clients of downloads are told first, and what they are told when the
fetcher or the channel is in trouble."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import signal
import stat

import pytest

from downloads_help import (check_object, downloads,  # pylint: disable=W0611
                            media, plain)
from socket_help import Place, payload
from weir import descendants, read_text, title, wait_for

__all__ = ["downloads", "media"]  # fixtures
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_engine_help.py")
STRING = '''{ path = "/original"; layers = ( { module = "downloads";
  instance = "main"; event_payload = "string"; } ); },'''
OURS = ["all", "configuration", "custom_dirs", "engine_options_changed"]
THEIRS = OURS + ["ytdl_options_changed"]
FLAGS = {"CUSTOM_DIRS": True, "CREATE_CUSTOM_DIRS": True,
         "DELETE_FILE_ON_TRASHCAN": False,
         "DEFAULT_OPTION_PLAYLIST_STRICT_MODE": False}
NUMBERS = {"DEFAULT_OPTION_PLAYLIST_ITEM_LIMIT": 0,
           "MAX_CONCURRENT_DOWNLOADS": 3, "CLEAR_COMPLETED_AFTER": 0}
TEXTS = {"PUBLIC_HOST_URL": "download/", "PUBLIC_HOST_AUDIO_URL": "download/",
         "DEFAULT_FOLDER": "", "OUTPUT_TEMPLATE": "%(title)s.%(ext)s",
         "OUTPUT_TEMPLATE_PLAYLIST": "%(playlist_title)s/%(title)s.%(ext)s"}


@pytest.fixture
def many(downloads):
    """Its engine makes lists of any length."""
    def start(settings="", **more):
        return downloads(f'engine_path = "{FAKE}"; max_entries = 20000; '
                         f'max_done = 0; {settings}', **more)
    return start


def add_list(d, count, letters=10, **fields):
    url = f"http://fake.test/list/{count}/{letters}"
    assert d.added(url, auto_start=False, **fields)["added"] == count


def role(d, name):
    """Its pid."""
    return wait_for(lambda: next((p for p in descendants(d.weir.pid)
                                  if title(p) == f"weir: {name}"), None), 10,
                    f"the {name}")


def lists_of(all_event):
    """The addresses in "all", of either form."""
    said = plain(all_event)
    if isinstance(said, list):
        return [[url for url, _ in pairs] for pairs in said]
    return [[e["url"] for e in said["queue"] + said["pending"]],
            [e["url"] for e in said["done"]]]


# ---- what comes first ----

def test_first_events(downloads):
    """Names, order and shapes of both forms."""
    d = downloads('engine_options_file = "run/options.json";',
                  locations=STRING)
    path = f"{d.weir.prefix}/run/options.json"
    with open(path, "w", encoding="utf-8") as f:
        f.write("{}")
    os.chmod(path, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    with d.listen(first="engine_options_changed") as ears:
        mine = ears.raw[:]
    with d.listen("/original", first="ytdl_options_changed") as ears:
        theirs = ears.raw[:]
    assert [n for n, _ in mine] == OURS
    assert [n for n, _ in theirs] == THEIRS
    assert mine[0][1] == {"queue": [], "done": [], "pending": []}
    assert mine[1][1] == {**FLAGS, **NUMBERS, **TEXTS}
    assert mine[2][1] == {"download_dir": [""], "audio_download_dir": [""]}
    for _, argument in theirs:
        assert isinstance(argument, str)
    theirs = [(n, json.loads(a)) for n, a in theirs]
    assert theirs[0][1] == [[], []]
    assert theirs[1][1] == {
        **FLAGS, **{k: str(n) for k, n in NUMBERS.items()}, **TEXTS}
    assert theirs[2:4] == mine[2:4]
    assert theirs[4][1] == theirs[3][1]
    assert set(theirs[3][1]) == {"success", "msg", "update_time"}


def test_folders_that_are_new(downloads):
    """Those who come later are told of them."""
    d = downloads()
    with d.listen() as ears:
        assert ears.all("custom_dirs")[0]["download_dir"] == [""]
    os.makedirs(f"{d.directory}/sub/x")

    def told():
        with d.listen() as ears:
            return ears.all("custom_dirs")[0]["download_dir"]
    wait_for(lambda: told() == ["", "sub", "sub/x"], 20, "the new folders")


def test_settings_of_a_reload(downloads):
    d = downloads("max_concurrent = 2;")
    with d.listen() as ears:
        assert ears.all("configuration")[0]["MAX_CONCURRENT_DOWNLOADS"] == 2
    text = read_text(f"{d.weir.prefix}/weir.conf")
    d.weir.set_config(text.replace("max_concurrent = 2", "max_concurrent = 5"))
    d.weir.reload()

    def told():
        with d.listen() as ears:
            return ears.all("configuration")[0]["MAX_CONCURRENT_DOWNLOADS"]
    wait_for(lambda: told() == 5, 10, "the new settings")


# ---- many at once ----

def test_many_events_at_once(many):
    """More than the channel takes at once: none is lost, all are in order."""
    d = many(locations=STRING)
    with d.listen() as mine, d.listen("/original") as theirs:
        add_list(d, 3000)
        mine.wait(lambda names: names.count("added") == 3000, 60)
        urls = [e["url"] for e in mine.all("added")]
        assert urls == d.urls("pending") and len(set(urls)) == 3000
        check_object(mine.all("added")[0])
        assert d.delete(*urls).json() == {"status": "ok", "not_found": []}
        for ears in (mine, theirs):
            ears.wait(lambda names: names.count("canceled") == 3000, 60)
            assert ears.all("added") == mine.all("added")
            assert sorted(ears.all("canceled")) == sorted(urls)
            assert not ears.ended
    assert d.urls("pending") == []


def test_progress_is_told_twice_a_second(downloads, media):
    """Whatever the engine says."""
    d = downloads()
    url = media.file("/a.mp4", 3 << 20, rate=1 << 20)
    with d.listen() as ears:
        d.added(url)
        ears.wait_for("completed", url, timeout=30)
        told = ears.all("updated", url)
        entry = ears.all("completed", url)[0]
    took = (entry["finished_at"] - entry["started_at"]) / 1000
    assert 3 <= len(told) <= 2 * (took + 2), (took, told)


# ---- slow clients ----

class Below(Place):
    """Of a location's Socket.IO, spoken by hand."""

    def target(self, endpoint, query):
        return super().target(endpoint, query).replace("/echo/",
                                                       "/downloads/", 1)


def joined(session):
    """It has heard the snapshots."""
    session.send("40")
    while not session.receive_data().startswith('42["custom_dirs"'):
        pass
    return session


def test_progress_waits_once_for_who_does_not_read(many):
    """It is the newest."""
    d = many()
    slow = joined(Below(d.port).polling())
    with d.listen() as ears:
        d.added("http://fake.test/tick")
        ears.wait(lambda names: names.count("updated") >= 6, 30)
        told = ears.all("updated")
        heard = [json.loads(p[2:]) for p in payload(slow.get().body)
                 if p.startswith("42")]
    assert [name for name, _ in heard] == ["added", "updated"]
    assert heard[1][1]["speed"] >= told[-2]["speed"] > told[-3]["speed"]


# ---- trouble ----

def test_a_channel_that_is_held(many):
    """The master ends it after two seconds.  Clients come again to the next,
    and see what there is."""
    d = many()
    d.weir.children_may_crash = True
    d.weir.allowed.append("channel")
    ears = d.listen()
    held = role(d, "channel")
    os.kill(held, signal.SIGSTOP)
    for n in range(2):
        add_list(d, 3000 + n, letters=200)
    wait_for(lambda: ears.ended, 30, "the end of its session")
    ears.kill()
    assert role(d, "channel") != held
    with d.listen() as again:
        assert lists_of(again.all("all")[0]) == [d.urls("pending"), []]
        add_list(d, 2)
        again.wait(lambda names: names.count("added") == 2)


def test_a_channel_that_is_held_for_a_moment(many):
    """It takes what has waited, in order."""
    d = many()
    with d.listen() as ears:
        channel = role(d, "channel")
        os.kill(channel, signal.SIGSTOP)
        try:
            add_list(d, 500)
        finally:
            os.kill(channel, signal.SIGCONT)
        ears.wait(lambda names: names.count("added") == 500, 30)
        assert [e["url"] for e in ears.all("added")] == d.urls("pending")
        assert not ears.ended


def test_kill_of_the_fetcher(many):
    """Clients stay and are told all anew: they may have missed its last
    words."""
    d = many(locations=STRING)
    d.weir.children_may_crash = True
    d.weir.allowed.append("fetcher")
    add_list(d, 3)
    with d.listen() as mine, d.listen("/original") as theirs:
        os.kill(role(d, "fetcher"), signal.SIGKILL)
        for ears in (mine, theirs):
            ears.wait(lambda names: names.count("all") == 2, 30)
            assert not ears.ended
            urls = lists_of(ears.all("all")[1])
            assert len(urls[0]) == 3 and urls == lists_of(ears.all("all")[0])
        add_list(d, 2)
        for ears in (mine, theirs):
            ears.wait(lambda names: names.count("added") == 2)
