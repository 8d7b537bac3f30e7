"""The engine direct below weir: it is asked for, or yt-dlp is not there."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import hashlib
import os
import subprocess

import pytest

import weir as weir_py
from control_client import ctl_json
from downloads_help import downloads, media  # noqa: F401 (fixtures)
from media_server_help import content
from patience import busy
from remote import answers
from weir import free_port, wait_for

MISSING = 'engine_path = "/nowhere/yt-dlp";'
SIZE = 300_000


def version_of_direct():
    program = os.path.join(os.path.dirname(weir_py.BINARY), "weir-fetch")
    return subprocess.run([program, "--version"], capture_output=True,
                          text=True, check=True,
                          timeout=busy(10)).stdout.strip()


def test_it_takes_the_place_of_a_missing_one(downloads, media):
    d = downloads(MISSING)
    said = d.get("version").json()
    assert said["engine"] == version_of_direct()
    assert "/nowhere/yt-dlp" in said["engine_error"]
    assert "install" in said["engine_error"]
    assert "direct" in said["engine_error"]
    row, = ctl_json(d.weir, "show", "downloads")
    assert (row["engine"], row["error"]) == ("direct", said["engine_error"])
    url = media.file("/a.mp4", SIZE)
    d.added(url)
    assert d.file(d.wait_done(url)).body == content(SIZE)
    page = media.page("/page.html", ["a.mp4"])
    assert "yt-dlp may find" in d.refused(page)


def test_where_it_is_asked_for_nothing_is_missing(downloads, media):
    d = downloads('engine = "direct"; ' + MISSING)
    assert d.get("version").json().keys() == {"engine", "version"}
    url = media.file("/a.mp4", SIZE)
    d.added(url)
    assert d.file(d.wait_done(url)).body == content(SIZE)


def test_what_it_cannot(downloads, media):
    d = downloads('engine = "direct";')
    url = media.file("/a.mp4", SIZE)
    for wish in ({"format": "mp3"}, {"format": "thumbnail"},
                 {"format": "custom:worst"}, {"quality": "720"},
                 {"quality": "audio"}, {"quality": "worst"}):
        why = d.refused(url, 400, **wish)
        assert next(iter(wish)) in why and "yt-dlp" in why, why
    d.added(url, format="mp4", quality="Best")
    d.wait_done(url)


def test_what_was_added_for_another_engine(downloads, media):
    """It fails, and nothing else is taken for it."""
    d = downloads('engine = "yt-dlp";')
    song = media.file("/song.mp4", SIZE)
    media.file("/film.mp4", SIZE)
    page = media.page("/page.html", ["film.mp4"])
    d.added(song, auto_start=False, format="mp3")
    d.added(page, auto_start=False)
    d.weir.set_config(d.weir.config.replace('engine = "yt-dlp"',
                                            'engine = "direct"'))
    d.weir.reload()
    d.start(song, page)
    assert "converts nothing" in d.wait_done(song, status="error")["msg"]
    assert "not a file" in d.wait_done(page, status="error")["msg"]
    assert d.files() == []


# ---- a server that is not ours ----

NGINX = """
{user}
daemon off; master_process off; pid {folder}/nginx.pid;
events {{ }}
http {{
    log_format got '$status "$http_range" "$http_if_range" $body_bytes_sent';
    access_log {folder}/access.log got;
    client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder};
    scgi_temp_path {folder};
    types {{ video/mp4 mp4; }}
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        {more}
    }}
}}
"""
# Of each answer so much comes at once, and then nothing.
CUT = "limit_rate_after 100k; limit_rate 1;"


class Nginx:
    def __init__(self, folder):
        self.folder, self.port = str(folder), free_port()
        self.process = None

    def start(self, more):
        self.kill()
        with open(f"{self.folder}/nginx.conf", "w", encoding="utf-8") as f:
            f.write(NGINX.format(
                folder=self.folder, port=self.port, more=more,
                user="user root;" if os.getuid() == 0 else ""))
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", "nginx.conf", "-e",
             f"{self.folder}/error.log"], stdin=subprocess.DEVNULL)
        wait_for(lambda: self.process.poll() is not None or
                 answers(self.port), 10, "nginx")
        assert self.process.poll() is None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def put(self, body):
        with open(f"{self.folder}/a.mp4", "wb") as f:
            f.write(body)
        return f"http://127.0.0.1:{self.port}/a.mp4"

    def log(self):
        """Lines of answers that are over."""
        with open(f"{self.folder}/access.log", encoding="utf-8") as f:
            return f.read().splitlines()


@pytest.fixture
def nginx(tool, tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    return tool(Nginx(folder))


def tells_digest(body):
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return f'add_header Repr-Digest "sha-256=:{digest}:";'


def begun(d, url):
    """It has a part, and weir has ended."""
    d.added(url)
    wait_for(lambda: (e := d.find(url)) and e["percent"] and
             e["percent"] > 10, 15, "a part")
    d.weir.stop()


def gone_on(d, url, status="finished"):
    d.weir.start()
    d.weir.status = None
    return d.wait_done(url, status=status)


def test_it_goes_on_with_its_part(downloads, nginx):
    """All of it, of both runs, is what the digest says."""
    url = nginx.put(content(SIZE))
    nginx.start(CUT)
    d = downloads('engine = "direct";')
    begun(d, url)
    nginx.start(tells_digest(content(SIZE)))
    assert d.file(gone_on(d, url)).body == content(SIZE)
    status, asked, validator, _ = nginx.log()[-1].split()
    assert status == "206" and validator.count('"') > 0, nginx.log()
    assert int(asked.strip('"').removeprefix("bytes=").rstrip("-")) > 10_000


def test_another_file_is_begun_again(downloads, nginx):
    url = nginx.put(content(SIZE))
    nginx.start(CUT)
    d = downloads('engine = "direct";')
    begun(d, url)
    nginx.put(content(SIZE + 5)[5:])
    nginx.start("")
    assert d.file(gone_on(d, url)).body == content(SIZE + 5)[5:]
    status, asked, _, count = nginx.log()[-1].split()
    assert (status, int(count)) == ("200", SIZE), nginx.log()
    assert asked != '"-"'


def test_a_damaged_file(downloads, nginx):
    """Its end is what it was not when the digest was made."""
    url = nginx.put(content(SIZE)[:-1] + b"?")
    nginx.start(tells_digest(content(SIZE)))
    d = downloads('engine = "direct";')
    d.added(url)
    assert "damaged" in d.wait_done(url, status="error")["msg"]
    assert d.files() == []
