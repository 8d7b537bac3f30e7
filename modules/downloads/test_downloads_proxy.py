"""The checking proxy with the programs that engines are made of: curl, yt-dlp
and ffmpeg, which have its address from the environment of a run."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import re
import ssl
import subprocess
import threading
from urllib.parse import urlsplit

import pytest

from downloads_help import (EGRESS, downloads,  # pylint: disable=W0611
                            media)
from media_server_help import MediaServer, Resource
from patience import busy
from tls_files import openssl
from weir import descendants, read_text, title, wait_for

__all__ = ["downloads", "media"]  # fixtures
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_engine_help.py")
ENDLESS = "http://fake.test/tick"  # a run that goes on for ever
SHIPPED = '"deny private", "deny linklocal", "allow all"'
NAMES = ("http_proxy", "https_proxy", "all_proxy")


def environment(d):
    """Of the engine that runs."""
    for pid in d.processes(os.path.basename(FAKE)):
        with contextlib.suppress(OSError):
            pairs = [p.split("=", 1) for p in
                     read_text(f"/proc/{pid}/environ").split("\0") if "=" in p]
            if any(name == "http_proxy" for name, _ in pairs):
                return dict(pairs)
    return None


class Passage:
    """The environment of a run that goes on, for programs of the test."""

    def __init__(self, downloads, **given):
        self.d = downloads(f'engine_path = "{FAKE}";', **given)
        self.d.added(ENDLESS)
        self.env = wait_for(lambda: environment(self.d), 15, "the engine")
        self.url = self.env["http_proxy"]

    def curl(self, *arguments, env=None):
        """Its status of HTTP, and what it wrote."""
        done = subprocess.run(
            ["curl", "-sS", "-w", "\n%{http_code} %{http_connect}",
             *arguments], env=env or self.env, capture_output=True,
            timeout=busy(60), check=False)
        body, _, last = done.stdout.rpartition(b"\n")
        return last.decode(), body, done.stderr.decode()

    def program(self, *arguments, cwd):
        return subprocess.run(arguments, env=self.env, cwd=cwd, text=True,
                              capture_output=True, timeout=busy(60),
                              check=False)

    def resident(self):
        """KB of the fetcher."""
        pid = next(p for p in descendants(self.d.weir.pid)
                   if title(p).startswith("weir: fetcher"))
        return int(re.search(r"VmRSS:\s+(\d+)",
                             read_text(f"/proc/{pid}/status")).group(1))


@pytest.fixture
def passage(downloads):
    return lambda **given: Passage(downloads, **given)


def test_an_engine_has_nothing_else(passage):
    env = passage().env
    for name in NAMES:
        assert env[name] == env[name.upper()] == env["http_proxy"]
    assert re.fullmatch(r"http://run:[\w-]{43}@127\.0\.0\.1:\d+",
                        env["http_proxy"])
    assert env.get("no_proxy", "") == ""


def test_curl(passage, media):
    p = passage()
    url = media.file("/a b.mp4", 3_000_000)
    status, body, _ = p.curl(url)
    assert status == "200 000" and len(body) == 3_000_000
    status, body, _ = p.curl("-r", "100-199", url)
    assert status == "206 000" and len(body) == 100
    asked = media.asked("/a b.mp4")[-1]
    assert asked.host == urlsplit(url).netloc
    assert p.curl(media.error("/no", 404))[0] == "404 000"
    # One after the other, of which each wants the connection of the last.
    status, body, _ = p.curl(url, url, "-o", "/dev/null", "-o", "/dev/null")
    assert status == "200 000"


def test_without_the_password(passage, media):
    p = passage()
    url = media.file("/a.mp4")
    port = urlsplit(p.url).port
    for who in ("", "run:wrong@", f"run:{'x' * 43}@"):
        env = {"http_proxy": f"http://{who}127.0.0.1:{port}"}
        status, body, _ = p.curl(url, env=env)
        assert status.startswith("407") and b"engines" in body, who
    assert not media.seen


def test_the_password_ends_with_the_run(passage, media):
    p = passage()
    url = media.file("/a.mp4")
    held = media.file("/held.mp4", 1_000_000, hold=500_000)
    results = []
    t = threading.Thread(target=lambda: results.append(p.curl(held)))
    t.start()
    wait_for(lambda: media.asked("/held.mp4"), 15, "a connection")
    p.d.delete(ENDLESS)
    t.join(busy(30))
    assert results[0][2].startswith("curl: (")  # cut, not ended
    assert p.curl(url)[0] == "407 000"


def test_a_redirect_leads_nowhere_else(passage, media, tool):
    other = tool(MediaServer("127.0.0.2"))
    p = passage(egress='"allow 127.0.0.1", "deny all"')
    there = other.file("/a.mp4")
    status, body, _ = p.curl("-L", media.redirect("/r", there))
    assert status == "403 000"
    assert b'127.0.0.2 is refused by "deny all"' in body
    assert b'in weir.conf: egress = [ "allow loopback", "allow 127.0.0.1", ' \
        b'"deny all" ];' in body
    assert not other.seen


def test_rules_judge_the_address_of_a_name(passage, media):
    port = urlsplit(media.file("/a.mp4")).port
    p = passage(egress=SHIPPED)
    for host in ("localhost", "127.0.0.1", "127.1", "2130706433", "0.0.0.0",
                 "[::1]", "[::ffff:127.0.0.1]", "0x7f000001"):
        status, body, _ = p.curl("-g", f"http://{host}:{port}/a.mp4")
        assert status in ("403 000", "502 000", "400 000"), (host, body)
    assert not media.seen
    assert p.curl(f"http://localhost:{port}/a.mp4")[0] == "403 000"


def test_new_rules_hold_at_once(passage, media):
    p = passage()
    url = media.file("/a.mp4")
    assert p.curl(url)[0] == "200 000"
    p.d.weir.set_config(p.d.weir.config.replace(EGRESS, SHIPPED))
    p.d.weir.reload()
    wait_for(lambda: p.curl(url)[0] == "403 000", 15, "new rules")


def test_a_slow_reader_costs_no_memory(passage, media):
    p = passage()
    url = media.zeros("/large", 200 << 20)
    p.curl(media.file("/a.mp4"))
    before = p.resident()
    running = [subprocess.Popen(
        ["curl", "-sS", "--limit-rate", "10K", "-o", "/dev/null", url],
        env=p.env) for _ in range(20)]
    try:
        wait_for(lambda: len(media.asked("/large")) == 20, 15, "connections")
        assert p.curl(url, "-o", "/dev/null")[0] == "200 000"
        assert p.resident() - before < 20 * 128 + 4096
    finally:
        for curl in running:
            curl.kill()
            curl.wait()


class TlsServer(MediaServer):
    """The same behind TLS, with a certificate of its own."""

    def __init__(self, folder):
        super().__init__()
        out = openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      "/CN=localhost", "-keyout", f"{folder}/key",
                      "-out", f"{folder}/pem")
        assert os.path.exists(f"{folder}/pem"), out
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/pem", f"{folder}/key")
        self.server.socket = context.wrap_socket(self.server.socket,
                                                 server_side=True)

    def url(self, path):
        return super().url(path).replace("http:", "https:")


def test_https(passage, tool, tmp_path):
    server = tool(TlsServer(tmp_path))
    url = server.file("/a.mp4", 500_000)
    p = passage(egress='"allow 127.0.0.1", "deny all"')
    status, body, why = p.curl("-k", url)
    assert status == "200 200" and len(body) == 500_000, why
    refused = url.replace("127.0.0.1", "127.0.0.2")
    assert p.curl("-k", refused)[0] == "000 403"
    # A tunnel for something else.
    plain = url.replace("https:", "http:")
    assert p.curl("--proxytunnel", plain)[0] == "000 200"


def test_yt_dlp(passage, media, tmp_path):
    p = passage(egress='"allow 127.0.0.1", "deny all"')
    url = media.file("/small.mp4", 200_000)
    done = p.program("yt-dlp", "--ignore-config", "-o", "a.mp4", url,
                     cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.path.getsize(tmp_path / "a.mp4") == 200_000
    done = p.program("yt-dlp", "--ignore-config", "http://127.0.0.2:1/a.mp4",
                     cwd=tmp_path)
    assert done.returncode == 1 and "403" in done.stderr


def test_ffmpeg_and_a_manifest_that_leads_elsewhere(passage, media, tool,
                                                    tmp_path):
    other = tool(MediaServer("127.0.0.2"))
    p = passage(egress='"allow 127.0.0.1", "deny all"')
    ffmpeg = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i"]
    made = p.program(*ffmpeg, media.hls("/here"), "-c", "copy", "a.ts",
                     cwd=tmp_path)
    assert made.returncode == 0 and not made.stderr, made.stderr
    assert os.path.getsize(tmp_path / "a.ts") > 10_000
    text = media.resources["/here/index.m3u8"].body.decode()
    hurt = re.sub(r"^(.*\.ts)$", lambda m: other.url(f"/there/{m[1]}"), text,
                  flags=re.M)
    other.hls("/there")
    url = media.put("/hurt.m3u8", Resource(
        body=hurt.encode(), kind="application/vnd.apple.mpegurl"))
    made = p.program(*ffmpeg, url, "-c", "copy", "b.ts", cwd=tmp_path)
    assert made.returncode != 0 and "127.0.0.2" in made.stderr
    assert media.asked("/hurt.m3u8") and not other.seen
