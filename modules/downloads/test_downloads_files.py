"""Results: their names and places, and GET of download/NAME."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import shutil
from urllib.parse import quote

import pytest

from downloads_help import (downloads, media)  # pylint: disable=W0611
from http_client import Http, request
from weir import wait_for

__all__ = ["downloads", "media"]  # fixtures

DATA = bytes(range(256)) * 2000
ROOT = os.geteuid() == 0


def put(d, name, data=DATA):
    path = os.path.join(d.directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def fetch(d, name, *headers, method="GET"):
    return request(d.port, method, f"{d.path}/download/{name}", *headers)


# ---- GET ----

def test_a_file_and_parts_of_it(downloads):
    d = downloads()
    put(d, "a b/ü.mp4")
    name = quote("a b/ü.mp4")
    a = fetch(d, name)
    assert a.status == 200 and a.body == DATA
    assert a.header("Content-Type") == "video/mp4"
    assert a.header("Accept-Ranges") == "bytes"
    assert a.header("X-Content-Type-Options") == "nosniff"
    assert a.header("Content-Disposition") is None
    assert a.header("Content-Security-Policy") is None
    tag = a.header("ETag")
    assert fetch(d, name, f"If-None-Match: {tag}").status == 304
    assert fetch(d, quote("a b/ü.mp4", safe="")).body == DATA
    head = fetch(d, name, method="HEAD")
    assert head.status == 200 and head.body == b""
    assert head.header("Content-Length") == str(len(DATA))
    for spec, part in (("0-0", DATA[:1]), ("1000-", DATA[1000:]),
                       ("-5", DATA[-5:]), ("10-19", DATA[10:20])):
        a = fetch(d, name, f"Range: bytes={spec}", f"If-Range: {tag}")
        assert (a.status, a.body) == (206, part)
    assert fetch(d, name, "Range: bytes=999999999-").status == 416
    assert fetch(d, name, 'If-Range: "other"',
                 "Range: bytes=0-0").body == DATA


def test_a_file_that_is_to_be_kept(downloads):
    d = downloads()
    put(d, 'x/a "q" ü;.mp4')
    a = fetch(d, quote('x/a "q" ü;.mp4') + "?attachment")
    assert a.status == 200
    assert a.header("Content-Disposition") == \
        "attachment; filename*=UTF-8''a%20%22q%22%20%C3%BC%3B.mp4"


def test_nothing_runs_a_script_in_our_origin(downloads):
    d = downloads()
    for name, kind in (
            ("a.html", "text/html"), ("a.svg", "image/svg+xml"),
            ("a.xhtml", "application/xhtml+xml"), ("a.xml", "text/xml"),
            ("a.txt", "text/plain"), ("a", "application/octet-stream")):
        put(d, name)
        a = fetch(d, name)
        assert a.status == 200, name
        assert a.header("Content-Type").split(";")[0] in \
            (kind, kind.replace("text/xml", "application/xml"))
        assert a.header("Content-Security-Policy") == "sandbox", name
        assert a.header("X-Content-Type-Options") == "nosniff", name


def test_what_is_no_result_is_not_there(downloads, tmp_path):
    d = downloads()
    put(d, "sub/a.mp4")
    put(d, "sub/.hidden")
    secret = put(d, "../secret")
    os.symlink(secret, f"{d.directory}/link")
    os.symlink("/", f"{d.directory}/root")
    os.mkfifo(f"{d.directory}/fifo")
    assert os.path.isdir(f"{d.directory}/.weir")
    for name in ("", "sub", "sub/", "sub/.hidden", "none.mp4", "sub/a.mp4/x",
                 ".weir", ".weir/", ".weir/1/media.mp4", "%2eweir/1",
                 "sub/..%2f.weir/1", "link", "root/etc/passwd", "fifo",
                 "x" * 300):
        a = fetch(d, name)
        assert a.status == 404, name
        assert a.json()["status"] == "error"
    with Http(d.port) as c:
        for name in ("../../secret", "..%2f..%2fsecret", "%2e%2e/secret"):
            c.send("GET", f"{d.path}/download/{name}")
            assert c.answer().status in (400, 404), name
    assert fetch(d, "sub/a.mp4", method="POST").status == 405


def test_a_large_file_in_parts(downloads):
    d = downloads()
    with open(put(d, "large.mp4", b""), "r+b") as f:
        f.truncate(5 << 30)
        f.seek(5_000_000_000)
        f.write(b"here")
    a = fetch(d, "large.mp4", "Range: bytes=5000000000-5000000003")
    assert (a.status, a.body) == (206, b"here")


# ---- names of results ----

def result(d, url, **fields):
    d.added(url, **fields)
    e = d.wait_done(url, 60)
    assert d.file(e).status == 200
    return os.path.join(e["folder"] or "", e["filename"])


def test_a_name_is_never_used_twice(downloads, media):
    d = downloads()
    urls = [media.file(f"/{n}/same.mp4", 10_000 + n) for n in range(3)]
    for url in urls:
        d.added(url)
    names = [d.wait_done(url, 60)["filename"] for url in urls]
    assert sorted(names) == ["same (2).mp4", "same (3).mp4", "same.mp4"]
    for n, url in enumerate(urls):
        e = d.find(url, "done")
        assert len(d.file(e).body) == 10_000 + n
        assert e["size"] == 10_000 + n
    wait_for(lambda: d.run_folders() == [], 15, "the end of the runs")


def test_a_prefix_leads_nowhere(downloads, media):
    d = downloads()
    before = sorted(os.listdir(d.weir.prefix))
    taken, names = {}, []
    for n, prefix in enumerate(("../../up", "/etc/x", "%(id)s%(title)s",
                                "a/b", "..", "-", "%", "a\nb")):
        url = media.file(f"/a{n}.mp4", 1000)
        a = d.add(url, custom_name_prefix=prefix)
        if a.status == 200:
            taken[url] = (prefix, f".a{n}.mp4")
        else:
            assert a.status == 400 and a.json()["msg"], prefix
    for url, (prefix, end) in taken.items():
        name = d.wait_done(url, 60)["filename"]
        names.append(name)
        assert "/" not in name and name[0] not in ".-", prefix
        assert name.endswith(end), name
        if "%" in prefix:
            assert name.startswith(prefix)
    assert d.files() == sorted(names)
    assert sorted(os.listdir(d.weir.prefix)) == before


def test_a_long_title(downloads, media):
    d = downloads()
    url = media.page("/page.html", ["/v.mp4"], title="日本" * 150)
    media.file("/v.mp4", 1000)
    d.added(url)
    entry = d.wait_done(url, 60)
    assert len(entry["filename"].encode()) <= 200
    assert entry["filename"].startswith("日本日本")
    assert d.file(entry).status == 200


def test_folders(downloads, media):
    d = downloads()
    os.makedirs(f"{d.weir.prefix}/outside")
    os.symlink(f"{d.weir.prefix}/outside", f"{d.directory}/link")
    url = media.file("/a.mp4", 1000)
    assert result(d, url, folder="new/sub dir") == "new/sub dir/a.mp4"
    for folder in ("..", "a/../../b", "/etc", ".weir", "link", "a\x00b"):
        a = d.add(media.file("/b.mp4"), folder=folder)
        assert a.status in (200, 400) and a.json()["status"] == "error"
        assert d.weir.prefix not in a.json()["msg"]
    assert os.listdir(f"{d.weir.prefix}/outside") == []


def test_a_link_that_comes_during_the_run(downloads, media):
    d = downloads()
    os.makedirs(f"{d.weir.prefix}/outside", mode=0o777)
    os.chmod(f"{d.weir.prefix}/outside", 0o777)
    url = media.file("/slow.mp4", 100_000, hold=50_000)
    d.added(url, folder="sub")
    d.wait_status(url, "downloading", timeout=60)
    if os.path.isdir(f"{d.directory}/sub"):
        os.rmdir(f"{d.directory}/sub")
    os.symlink(f"{d.weir.prefix}/outside", f"{d.directory}/sub")
    media.release("/slow.mp4")
    entry = d.wait_done(url, 60, status="error")
    assert "symbolic link" in entry["msg"]
    assert os.listdir(f"{d.weir.prefix}/outside") == []
    wait_for(lambda: d.run_folders() == [], 15, "the end of the runs")


def test_no_folders_are_made_where_they_may_not(downloads, media):
    d = downloads("create_custom_dirs = false;")
    url = media.file("/a.mp4", 1000)
    assert "create_custom_dirs" in d.refused(url, status=400, folder="new")
    assert not os.path.exists(f"{d.directory}/new")
    os.mkdir(f"{d.directory}/new")
    if ROOT:
        at = os.stat(d.directory)
        os.chown(f"{d.directory}/new", at.st_uid, at.st_gid)
    assert result(d, url, folder="new") == "new/a.mp4"


def test_modes_and_owners(downloads, media):
    d = downloads()
    url = media.file("/a.mp4", 1000)
    path = os.path.join(d.directory, result(d, url, folder="sub"))
    assert os.stat(path).st_mode & 0o7777 == 0o644
    assert os.stat(f"{d.directory}/.weir").st_mode & 0o7777 == 0o700
    assert os.stat(f"{d.directory}/sub").st_mode & 0o777 == 0o755
    if ROOT:
        owner = os.stat(d.directory).st_uid
        assert owner != 0
        assert os.stat(f"{d.directory}/sub").st_uid == owner
        assert os.stat(path).st_uid not in (0, owner)


def test_a_file_that_cannot_be_removed_keeps_its_record(downloads, media):
    d = downloads("delete_files = true;")
    url = media.file("/a.mp4", 1000)
    path = f"{d.directory}/{result(d, url)}"
    os.remove(path)
    os.mkdir(path)
    d.weir.allowed.append("stays, and its record")
    a = d.delete(url, where="done")
    assert a.status == 500 and a.json()["status"] == "error", a.body
    assert url in a.json()["msg"], a.body
    assert d.urls("done") == [url]
    os.rmdir(path)
    assert d.delete(url, where="done").status == 200
    assert d.urls("done") == []


def test_new_folders_are_told(downloads):
    d = downloads()

    def told():
        with d.listen() as ears:
            return ears.all("custom_dirs")[0]["download_dir"]

    assert told() == [""]
    put(d, "a/b/x.mp4")
    put(d, "@a/x.mp4")
    put(d, ".a/x.mp4")
    wait_for(lambda: told() == ["", "a", "a/b"], 20, "the new folders")
    shutil.rmtree(f"{d.directory}/a")
    wait_for(lambda: told() == [""], 20, "their end")


# ---- removal ----

@pytest.mark.parametrize("removes", [False, True])
def test_files_go_with_their_records(downloads, media, removes):
    d = downloads(f"delete_files = {str(removes).lower()};")
    url = media.file("/a.mp4", 1000)
    name = result(d, url, folder="sub")
    put(d, "sub/other.mp4")
    with d.listen() as ears:
        assert d.delete(url, where="done").status == 200
        ears.wait_for("cleared", url)
    assert not d.find(url)
    assert d.files() == (["sub/other.mp4"] if removes
                         else [name, "sub/other.mp4"])
