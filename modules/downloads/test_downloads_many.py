"""Ten thousand entries: the start, their memory, what clears them."""
# SPDX-License-Identifier: BSD-2-Clause

import hashlib
import re
import sqlite3
import time

from downloads_help import (downloads, media)  # pylint: disable=W0611
from patience import busy
from weir import SANITIZED, read_text, wait_for

__all__ = ["downloads", "media"]  # fixtures
DONE = 2


def insert(d, count, **values):
    """Records of a weir that does not run."""
    base = {"instance": "main", "list": DONE, "canceled": 0, "fetch_url": "",
            "id": "i", "quality": "best", "format": "any", "folder": "",
            "prefix": "", "name": "n", "item_limit": 0, "started": 1,
            "finished": int(time.time() * 1000), "status": 4, "size": 1000,
            "msg": "", "note": "", "runner": "", "item": 0, **values}
    rows = []
    for n in range(count):
        url = f"http://127.0.0.1:1/a/file/of/usual/length/{n}.mp4"
        rows.append({**base, "url": url, "asked": url, "title": f"Title {n}",
                     "filename": f"Title {n}.mp4", "added_ns": n + 1,
                     "url_hash": hashlib.sha256(url.encode()).hexdigest()})
    with sqlite3.connect(f"{d.weir.prefix}/run/weir.db") as db:
        db.executemany(
            f"insert into downloads_entries ({', '.join(rows[0])}) values "
            f"({', '.join(':' + name for name in rows[0])})", rows)
    db.close()


def start_again(d):
    d.weir.start()
    d.weir.status = None
    wait_for(lambda: d.get("history").status == 200, 20, "the queue")


def memory(d):
    """Of the fetcher alone, bytes."""
    pid, = d.processes("weir: fetcher")
    found = re.search(r"^Private_Dirty: +(\d+) kB",
                      read_text(f"/proc/{pid}/smaps_rollup"), re.M)
    return int(found[1]) * 1024


def stamp(line):
    h, m, s = re.search(r"T(\d+):(\d+):([\d.]+)Z", line).groups()
    return int(h) * 3600 + int(m) * 60 + float(s)


def test_ten_thousand(downloads):
    d = downloads("max_done = 0; max_entries = 20000;")
    before = memory(d)
    d.weir.stop()
    insert(d, 10_000)
    start_again(d)
    log = [line for line in d.weir.log().splitlines()
           if "downloads main:" in line or "ready:" in line or
           "the keeper is ready" in line]
    took = stamp(log[-1]) - stamp(
        [line for line in log if "the keeper is ready" in line][-1])
    assert "10000 done" in [x for x in log if "downloads main" in x][-1]
    assert took < busy(1), log
    each = (memory(d) - before) / 10_000
    # A sanitizer surrounds each piece of memory, and keeps those of before.
    assert each < (16384 if SANITIZED else 4096), each
    assert len(d.history()["done"]) == 10_000
    print(f"start {took:.3f} s, {each:.0f} bytes each")


def test_max_done_holds_at_the_start(downloads, media):
    d = downloads("max_done = 3;")
    d.weir.stop()
    insert(d, 10)
    start_again(d)
    wait_for(lambda: len(d.history()["done"]) == 3, 15, "three")
    url = media.file("/new.mp4", 1000)
    with d.listen() as ears:
        d.added(url)
        ears.wait_for("completed", url)
        ears.wait(lambda names: "cleared" in names)
    assert len(d.history()["done"]) == 3
    assert d.find(url, "done") and d.files() == ["new.mp4"]


def test_old_ones_are_cleared(downloads, media):
    d = downloads('clear_completed_after = "1s";')
    d.weir.stop()
    insert(d, 5, finished=1000)
    start_again(d)
    wait_for(lambda: not d.history()["done"], 15, "none")
    url = media.file("/new.mp4", 1000)
    with d.listen() as ears:
        d.added(url)
        ears.wait_for("completed", url)
        ears.wait_for("cleared", url)
    assert d.files() == ["new.mp4"]


def test_all_of_them_are_cleared_by_one_request(downloads):
    d = downloads("max_done = 0;")
    d.weir.stop()
    insert(d, 2000)
    start_again(d)
    urls = d.urls("done")
    assert d.delete(*urls, "x", where="done").json() == \
        {"status": "ok", "not_found": ["x"]}
    assert d.urls("done") == []


def test_nothing_starts_without_room(downloads, media):
    """And weirctl says so."""
    d = downloads('min_free = "1000000g";')
    url = media.file("/small.mp4", 1000)
    d.added(url)
    wait_for(lambda: "nothing starts: the disk has less than min_free" in
             d.weir.log(), 15, "the log's word")
    assert d.find(url, "queue")["status"] == "pending"
    assert not d.processes("weir-supervisor")


def test_an_instance_that_is_gone(downloads, media):
    """Its rows stay, and come back with it."""
    d = downloads()
    url = media.file("/held.mp4", 4 << 20, hold=2 << 20)
    d.added(url)
    wait_for(lambda: (d.find(url)["percent"] or 0) > 20, 15, "a half")
    conf = f"{d.weir.prefix}/weir.conf"
    text = read_text(conf)
    with open(conf, "w", encoding="utf-8") as f:
        f.write(text.replace('name = "main"', 'name = "other"')
                .replace('instance = "main"', 'instance = "other"'))
    d.weir.reload()
    wait_for(lambda: not d.processes("weir-supervisor"), 20, "its end")
    wait_for(lambda: d.get("history").status == 200, 10, "the other one")
    assert d.urls("queue") == []
    with open(conf, "w", encoding="utf-8") as f:
        f.write(text)
    d.weir.reload()
    wait_for(lambda: d.get("history").status == 200 and
             d.urls("queue") == [url], 20, "it")
    media.release("/held.mp4")
    d.wait_done(url, 30)
