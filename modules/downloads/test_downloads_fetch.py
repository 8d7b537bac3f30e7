"""weir-fetch, the engine "direct", without a weir around it."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import hashlib
import json
import os
import subprocess

import pytest

import weir as weir_py
from media_server_help import MediaServer, Resource, closed_port, content
from patience import busy

SIZE = 300_000


@pytest.fixture
def media(tool):
    return tool(MediaServer())


@pytest.fixture
def fetch(tmp_path):
    """Runs it in a folder; fetch("--extract", url)."""
    program = os.path.join(os.path.dirname(weir_py.BINARY), "weir-fetch")

    def run(*arguments, environment=None, **more):
        done = subprocess.run(
            [program, *arguments[:-1], "--", arguments[-1]], cwd=tmp_path,
            env=environment or {}, capture_output=True, text=True,
            timeout=busy(60), check=False, **more)
        return Said(done)
    return run


class Said:
    def __init__(self, done):
        self.status = done.returncode
        self.errors = done.stderr
        self.lines = done.stdout.splitlines()

    @property
    def file(self):
        assert self.status == 0, self.errors
        return next(line[2:] for line in self.lines if line[:2] == "F|")

    @property
    def progress(self):
        return [json.loads(line[2:]) for line in self.lines
                if line[:2] == "P|"]

    @property
    def why(self):
        assert self.status == 1 and self.errors.startswith("ERROR: ")
        return self.errors[7:].strip()


def digest(body, name):
    return base64.b64encode(hashlib.new(name, body).digest()).decode()


def test_a_file(media, fetch, tmp_path):
    said = fetch(media.file("/a%20b.mp4", SIZE))
    assert said.file == "media.mp4"
    assert (tmp_path / "media.mp4").read_bytes() == content(SIZE)
    assert os.listdir(tmp_path) == ["media.mp4"]
    first, last = said.progress[0], said.progress[-1]
    assert first["status"] == "downloading" and first["total_bytes"] == SIZE
    assert last == {"status": "finished", "downloaded_bytes": SIZE,
                    "total_bytes": SIZE, "speed": last["speed"],
                    "eta": last["eta"], "filename": "media.mp4"}


def test_progress_is_told_while_it_goes_on(media, fetch):
    said = fetch(media.file("/a.mp4", SIZE, rate=SIZE))
    told = [p for p in said.progress if p["status"] == "downloading"]
    assert len(told) >= 3
    counts = [p["downloaded_bytes"] for p in told]
    assert counts == sorted(counts)
    assert any(p["speed"] and p["eta"] is not None for p in told)


def test_no_length(media, fetch, tmp_path):
    said = fetch(media.file("/a.mp4", SIZE, length=False))
    assert said.progress[0]["total_bytes"] is None
    assert (tmp_path / said.file).stat().st_size == SIZE


def test_an_empty_file(media, fetch, tmp_path):
    assert (tmp_path / fetch(media.file("/a.mp4", 0)).file).read_bytes() == b""


# ---- extraction ----

def test_extraction(media, fetch, tmp_path):
    url = media.file("/x/My film.mp4", SIZE)
    said = fetch("--extract", media.redirect("/there", url))
    found = json.loads("\n".join(said.lines))
    assert found["id"] == found["title"] == "My film"
    assert found["ext"] == "mp4" and found["filesize"] == SIZE
    assert found["url"] == found["webpage_url"] == url
    assert found["original_url"] == media.url("/there")
    assert os.listdir(tmp_path) == []


def test_extraction_takes_the_name_that_the_server_gives(media, fetch):
    url = media.file("/get.php", SIZE, headers=[
        ("Content-Disposition", 'attachment; filename="../n\u00e4.webm"; '
         "filename*=UTF-8''%C3%A4.webm".replace("\u00e4", ""))])
    found = json.loads("".join(fetch("--extract", url).lines))
    assert (found["title"], found["ext"]) == ("\u00e4", "webm")


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8",
                                  "application/rss+xml",
                                  "application/vnd.apple.mpegurl"])
def test_pages_are_no_files(media, fetch, kind):
    url = media.text("/page", "<html>", kind)
    assert "not a file" in fetch("--extract", url).why


# ---- where it goes ----

def test_redirects(media, fetch):
    url = media.file("/a.mp4", SIZE)
    for i in range(9):
        url = media.redirect(f"/r{i}", url, (301, 302, 303, 307, 308)[i % 5])
    assert fetch(url).file == "media.mp4"


def test_a_redirect_that_says_too_much(media, fetch):
    url = media.redirect("/r", media.file("/a.mp4", SIZE), body="x" * (2 << 20))
    assert fetch(url).why == "the redirect says more than 1048576 bytes"
    assert media.asked("/a.mp4") == []


def test_a_loop_of_redirects_ends(media, fetch):
    url = media.redirect("/r", media.url("/r"))
    assert fetch(url).why == "more than 10 redirects"
    assert len(media.asked("/r")) == 11


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/a",
                                "gopher://127.0.0.1:1/x"])
def test_other_schemes(media, fetch, to, tmp_path):
    assert "scheme" in fetch(media.redirect("/r", to)).why
    assert "scheme" in fetch(to).why
    assert sorted(os.listdir(tmp_path)) == ["media.part"]


@pytest.mark.parametrize("status, text", [(404, "Not Found"),
                                          (403, "Forbidden")])
def test_errors_of_servers(media, fetch, status, text):
    url = media.error("/a.mp4", status)
    assert fetch(url).why == f"HTTP Error {status}: {text}"
    assert len(media.asked("/a.mp4")) == 1


def test_a_busy_server_is_asked_again(media, fetch):
    url = media.error("/a.mp4", 503)
    assert "HTTP Error 503" in fetch("--retries", "1", url).why
    assert len(media.asked("/a.mp4")) == 2


def test_nobody_there(fetch):
    why = fetch("--retries", "0", f"http://127.0.0.1:{closed_port()}/a").why
    assert "connect" in why


def test_a_stalled_server(media, fetch):
    url = media.file("/a.mp4", SIZE, hold=1000)
    assert "nothing came for 1 s" in fetch("--stall", "1", "--retries", "0",
                                           url).why


def test_the_proxy_is_asked(media, fetch):
    """Its answer is that of a server that knows no whole addresses."""
    proxy = {"http_proxy": f"http://u:p@127.0.0.1:{media.port}"}
    media.file("/a.mp4", SIZE)
    assert fetch("http://nowhere.invalid/a.mp4", environment=proxy).file
    assert media.asked("/a.mp4")[0].host == "nowhere.invalid"


@pytest.mark.parametrize("status, times", [(403, 1), (407, 1), (502, 2)])
def test_a_tunnel_that_the_proxy_refuses(media, fetch, status, times):
    proxy = {"https_proxy": f"http://u:p@127.0.0.1:{media.port}"}
    media.tunnel = status
    assert str(status) in fetch("--retries", "1", "https://nowhere.invalid/a",
                                environment=proxy).why
    assert len(media.asked("nowhere.invalid:443")) == times


# ---- going on ----

def test_it_goes_on_with_its_part(media, fetch, tmp_path):
    validator = ("ETag", '"one"')
    url = media.file("/a.mp4", SIZE, cut=100_000, headers=[validator])
    assert fetch("--retries", "0", url).status == 1
    assert (tmp_path / "media.part").stat().st_size == 100_000
    url = media.file("/a.mp4", SIZE, headers=[validator])
    said = fetch(url)
    assert (tmp_path / said.file).read_bytes() == content(SIZE)
    assert [a.range for a in media.asked("/a.mp4")] == [None, "bytes=100000-"]
    assert said.progress[0]["downloaded_bytes"] == 100_000
    assert said.progress[0]["total_bytes"] == SIZE


def test_one_run_goes_on_by_itself(media, fetch, tmp_path):
    class Cut(Resource):  # each answer is cut anew
        @property
        def cut(self):
            return min(len(media.asked("/a.mp4")) * 80_000, self.size)

        @cut.setter
        def cut(self, value):
            pass
    url = media.put("/a.mp4", Cut(SIZE, headers=[("ETag", '"one"')]))
    said = fetch(url)
    assert (tmp_path / said.file).read_bytes() == content(SIZE)
    assert len(media.asked("/a.mp4")) == 4


@pytest.mark.parametrize("headers", [[], [("ETag", 'W/"weak"')]])
def test_a_part_of_nobody_knows_what_is_begun_again(media, fetch, tmp_path,
                                                    headers):
    url = media.file("/a.mp4", SIZE, cut=100_000, headers=headers)
    assert fetch("--retries", "0", url).status == 1
    said = fetch(media.file("/a.mp4", SIZE, headers=headers))
    assert (tmp_path / said.file).read_bytes() == content(SIZE)
    assert [a.range for a in media.asked("/a.mp4")] == [None, None]


def test_another_file_is_begun_again(media, fetch, tmp_path):
    """A server that keeps to If-Range sends all of it."""
    url = media.file("/a.mp4", SIZE, cut=100_000, headers=[("ETag", '"one"')])
    assert fetch("--retries", "0", url).status == 1
    said = fetch(media.text("/a.mp4", "another", "video/mp4", ranges=False))
    assert (tmp_path / said.file).read_bytes() == b"another"


def test_a_part_that_is_whole(media, fetch, tmp_path):
    (tmp_path / "media.part").write_bytes(content(SIZE))
    (tmp_path / "media.state").write_text('ETag: "one"\n')
    said = fetch(media.file("/a.mp4", SIZE, headers=[("ETag", '"one"')]))
    assert (tmp_path / said.file).read_bytes() == content(SIZE)
    assert media.asked("/a.mp4")[0].range == f"bytes={SIZE}-"


def test_a_part_that_is_too_long_is_begun_again(media, fetch, tmp_path):
    (tmp_path / "media.part").write_bytes(bytes(SIZE + 1))
    (tmp_path / "media.state").write_text('ETag: "one"\n')
    said = fetch(media.file("/a.mp4", SIZE, headers=[("ETag", '"one"')]))
    assert (tmp_path / said.file).read_bytes() == content(SIZE)


# ---- what comes ----

@pytest.mark.parametrize("name, form", [
    ("Repr-Digest", "sha-256=:{sha256}:"), ("Digest", "SHA-256={sha256}"),
    ("Digest", "md5={md5}"), ("Content-MD5", "{md5}")])
@pytest.mark.parametrize("right", [True, False])
def test_digests(media, fetch, tmp_path, name, form, right):
    body = content(SIZE)
    told = body if right else body[:-1] + b"?"
    value = form.format(sha256=digest(told, "sha256"), md5=digest(told, "md5"))
    said = fetch(media.file("/a.mp4", SIZE, headers=[(name, value)]))
    if right:
        assert said.file == "media.mp4"
    else:
        assert "the file is damaged" in said.why
        assert os.listdir(tmp_path) == []


def test_a_digest_is_of_both_parts(media, fetch, tmp_path):
    headers = [("ETag", '"one"'),
               ("Repr-Digest", f"sha-256=:{digest(content(SIZE), 'sha256')}:")]
    url = media.file("/a.mp4", SIZE, cut=100_000, headers=headers)
    assert fetch("--retries", "0", url).status == 1
    assert fetch(media.file("/a.mp4", SIZE, headers=headers)).file


@pytest.mark.parametrize("length", [True, False])
def test_too_large(media, fetch, tmp_path, length):
    url = media.file("/a.mp4", SIZE, length=length)
    said = fetch("--max-size", "200000", url)
    assert "larger than the 200000 bytes" in said.why
    assert (tmp_path / "media.part").stat().st_size <= 200_000


def test_the_limit_of_the_system_is_told(media, fetch):
    import resource

    said = fetch(media.file("/a.mp4", SIZE), preexec_fn=lambda:
                 resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert said.why == "cannot write media.part: File too large"


@pytest.mark.parametrize("arguments", [
    ["--output", "../x", "http://a"], ["--output", ".x", "http://a"],
    ["--stall", "0", "http://a"], ["--retries", "21", "http://a"],
    ["--max-size", "-1", "http://a"], ["--what", "http://a"]])
def test_bad_options(fetch, arguments):
    said = fetch(*arguments)
    assert said.status == 2 and "usage" in said.errors
