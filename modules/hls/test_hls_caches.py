"""The samples of conf/samples in front of weir, as they stand."""
# SPDX-License-Identifier: BSD-2-Clause

import collections
import concurrent.futures
import os
import re
import subprocess

import pytest

from balancer import Haproxy, Nginx
from feed import Feed
from media import QUIET, Tool
from patience import busy
from tls_files import Certificates
from weir import configuration, free_port, wait_for

MANY = 24
TRUSTED = 'trusted_proxies = [ "127.0.0.1" ];'


def behind(weir):
    return weir(configuration(http=TRUSTED).replace(
        '{ module = "flv";', '{ module = "hls"; }, { module = "flv";'))


def sample(name, **parts):
    """The file, with other words for those that it tells to change."""
    with open(f"conf/samples/{name}", encoding="utf-8") as f:
        text = f.read()
    for old, new in parts.values():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, new)
    return text


@pytest.fixture
def certificates(tmp_path):
    made = Certificates(tmp_path / "tls")
    made.make("media", "localhost", "127.0.0.1")
    with open(made.path("both.pem"), "w", encoding="ascii") as both:
        for part in ("media.pem", "media.key"):
            with open(made.path(part), encoding="ascii") as f:
                both.write(f.read())
    return made


def nginx(folder, w, certificates):
    os.makedirs(folder)
    text = sample(
        "nginx-hls.conf", port=("listen 443 ssl", "listen {port} ssl"),
        weir=("127.0.0.1:8080", f"127.0.0.1:{w.http}"),
        cache=("/var/cache/nginx/weir", f"{folder}/cache"),
        certificate=("/etc/ssl/media.example.pem",
                     certificates.path("media.pem")),
        key=("/etc/ssl/media.example.key", certificates.path("media.key")))
    return Nginx(folder, f"http {{ access_log {folder}/access.log;\n"
                 f"{text}\n}}")


class Sample(Haproxy):
    """HAProxy with a whole file."""

    def __init__(self, folder, w, certificates):
        os.makedirs(folder)
        port = free_port()
        text = sample(
            "haproxy-hls.cfg", port=("bind :443", f"bind 127.0.0.1:{port}"),
            weir=("127.0.0.1:8080", f"127.0.0.1:{w.http}"),
            certificate=("/etc/ssl/media.example.pem",
                         certificates.path("both.pem")))
        with open(f"{folder}/haproxy.cfg", "w", encoding="utf-8") as f:
            f.write(f"global\n    stats socket {folder}/admin.sock "
                    f"level admin\n{text}")
        # pylint: disable=non-parent-init-called,super-init-not-called
        super(Haproxy, self).__init__(folder, port, [
            "haproxy", "-f", "haproxy.cfg", "-db"])


def curl(front, path, certificates, *arguments):
    """(version, status, body)"""
    done = subprocess.run(
        ["curl", "-sS", "--cacert", certificates.root, "--http2", "-o", "-",
         "-w", "%{stderr}%{http_version} %{http_code}",
         *arguments, f"https://localhost:{front.port}{path}"],
        capture_output=True, timeout=busy(60), check=False)
    said = re.search(r"(\S+) (\d+)$", done.stderr.decode())
    assert said, done
    return said[1], int(said[2]), done.stdout


def body_of(front, path, certificates, *arguments):
    version, status, body = curl(front, path, certificates, *arguments)
    assert (version, status) == ("2", 200), (path, body)
    return body


def together(front, path, certificates, count=MANY):
    """Asks for it that often at once; the one answer that all get."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        got = set(pool.map(lambda _: body_of(front, path, certificates),
                           range(count)))
    assert len(got) == 1, path
    return got.pop()


def asked(w):
    """How often weir was asked for each target."""
    return collections.Counter(re.findall(r'"GET (\S+) HTTP', w.access_log()))


def publish(url):
    return Tool("ffmpeg", *QUIET, "-re", "-f", "lavfi", "-i",
                "testsrc2=size=160x90:rate=25", "-f", "lavfi", "-i",
                "sine", "-c:v", "libx264", "-preset", "ultrafast", "-tune",
                "zerolatency", "-g", "25", "-pix_fmt", "yuv420p", "-c:a",
                "aac", "-f", "flv", url)


def media_playlist(front, certificates):
    """The path of the stream's media playlist, and its text."""
    wait_for(lambda: curl(front, "/live/test.m3u8", certificates)[1] == 200,
             30, "a playlist")
    text = body_of(front, "/live/test.m3u8", certificates).decode()
    path = "/live/" + next(line for line in text.splitlines()
                           if line and not line.startswith("#"))
    return path, body_of(front, path, certificates).decode()


def test_nginx_asks_once_for_each_object(weir, tool, tmp_path, certificates):
    w = behind(weir)
    front = tool(nginx(str(tmp_path / "nginx"), w, certificates))
    tool(publish(w.rtmp_url("test")))
    path, text = media_playlist(front, certificates)
    # The next playlist, which is not there yet.
    last = int(re.search(r"MEDIA-SEQUENCE:(\d+)", text)[1]) + \
        text.count("#EXTINF")
    after = f"{path}&_HLS_msn={last + 1}"
    text = together(front, after, certificates).decode()
    # Of another viewer, the same playlist.
    other = re.sub(r"viewer=[^&]*", "viewer=" + "0" * 32, after)
    assert body_of(front, other, certificates).decode() == text
    # The newest, since some clients take seconds; what goes first comes first.
    objects = re.findall(r'#EXT-X-PART:.*URI="([^"]+)', text)[-2:] + \
        re.findall(r"^\S+\.m4s$", text, re.M)[-1:] + \
        re.findall(r'#EXT-X-MAP:URI="([^"]+)', text)
    assert len(objects) >= 4
    for name in objects:
        assert len(together(front, f"/live/{name}", certificates)) > 100
    found = asked(w)
    for one in [after] + [f"/live/{name}" for name in objects]:
        assert found[one] == 1, (one, found)
    assert other == after or found[other] == 0


@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_what_never_ends_goes_through(weir, tool, tmp_path, certificates,
                                      kind):
    w = behind(weir)
    start = nginx if kind == "nginx" else Sample
    front = tool(start(str(tmp_path / kind), w, certificates))
    f = Feed(w.rtmp, name="test").head().run()
    assert curl(front, "/healthz", certificates)[:2] == ("2", 200)
    first = subprocess.run(
        ["sh", "-c", f"curl -sS --cacert {certificates.root} "
         f"https://localhost:{front.port}/live/test.flv | head -c 2000"],
        capture_output=True, timeout=busy(30), check=True).stdout
    assert first.startswith(b"FLV\1") and len(first) == 2000
    f.stop()
    # The client's own address counts.
    w.wait_access_log(r"127\.0\.0\.1 .*GET /live/test\.flv")


def test_haproxy_has_http2_for_phones(weir, tool, tmp_path, certificates):
    w = behind(weir)
    front = tool(Sample(str(tmp_path / "haproxy"), w, certificates))
    tool(publish(w.rtmp_url("test")))
    path, text = media_playlist(front, certificates)
    assert "CAN-BLOCK-RELOAD=YES" in text
    for name in re.findall(r"^\S+\.m4s$", text, re.M)[-2:]:
        assert len(body_of(front, f"/live/{name}", certificates)) > 100
    assert path.startswith("/live/test.m3u8?")
