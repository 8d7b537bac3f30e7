"""Connections of engines, at several versions of Landlock: below 4 the
supervisor makes them.  Programs notice nothing, and none gets past the proxy.

A script of each test is the engine."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re

import pytest

import weir as weir_py
from downloads_help import downloads, media, parts  # noqa: F401: fixtures
from media_server_help import content
from test_downloads_programs import ENGINE, URL, engine, result  # noqa: F401
from test_downloads_proxy import TlsServer
from test_rights import landlock
from weir import configuration, place, run, stat_of, wait_for

SIZE = 3_000_000

pytestmark = pytest.mark.usefixtures("landlock_told")


# ---- what works ----

@pytest.mark.parametrize("which", ["yt-dlp", "direct"])
def test_a_download(downloads, media, landlock_told, which):  # noqa: F811
    d = downloads(f'engine = "{which}";')
    assert landlock(d.weir) <= (landlock_told or landlock(d.weir))
    url = media.file("/film.mp4", SIZE)
    d.added(url)
    assert d.file(d.wait_done(url, 30)).body == content(SIZE)
    assert "egress does not hold" not in d.weir.log()


CLIENTS = r"""
import asyncio, base64, http.client, select, socket, ssl, subprocess
import threading, time, urllib.request
from urllib.parse import urlsplit
plain, secure, hls = %r, %r, %r
way = urlsplit(os.environ["http_proxy"])
proxy = (way.hostname, way.port)
word = base64.b64encode(f"{way.username}:{way.password}".encode()).decode()
HEAD = f"Proxy-Authorization: Basic {word}\r\n"
GET = f"GET {plain} HTTP/1.1\r\nHost: {urlsplit(plain).netloc}\r\n{HEAD}\r\n"
out = open("media.txt", "w")

def said(text):
    return "good" if b" 200 " in text.split(b"\r\n")[0] else text[:80]

def get(s):
    s.sendall(GET.encode())
    return said(s.recv(4096))

def blocking():
    with socket.create_connection(proxy) as s:
        return get(s)

def timeout():
    with socket.create_connection(proxy, timeout=%d) as s:
        return get(s)

def non_blocking():
    s = socket.socket()
    s.setblocking(False)
    if s.connect_ex(proxy) not in (0, 115):
        return "not connected"
    ready = select.select([], [s], [], %d)[1]
    error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if not ready or error or s.getpeername() != proxy:
        return f"{ready} {error}"
    try:
        s.recv(1)
    except BlockingIOError:
        s.setblocking(True)
        return get(s)
    return "it waits"

def epoll():
    s = socket.socket()
    s.setblocking(False)
    with select.epoll() as e:
        s.connect_ex(proxy)
        e.register(s, select.EPOLLOUT)
        e.poll()
        s.send(GET.encode())
        e.modify(s, select.EPOLLIN)
        e.poll()
        return said(s.recv(4096))

async def talk():
    reader, writer = await asyncio.open_connection(*proxy)
    writer.write(GET.encode())
    text = await reader.read(4096)
    writer.close()
    return said(text)

def by_asyncio():
    return asyncio.run(talk())

def urllib_():
    with urllib.request.urlopen(plain) as a:
        return "good" if a.status == 200 and a.read() else a.status

def tls():
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(secure, context=context) as a:
        return "good" if a.status == 200 and a.read() else a.status

def ffmpeg():
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", hls, "-c", "copy",
         "media.ts"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    size = done.returncode == 0 and os.stat("media.ts").st_size
    return "good" if size > 10000 else done.stderr

def beside():
    came = []
    threads = [threading.Thread(target=lambda: came.append(blocking()))
               for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return "good" if came == ["good"] * 8 else came

def many():
    all = [socket.create_connection(proxy) for _ in range(100)]
    with all[-1] as s:
        return get(s)

for name, f in list(globals().items()):
    if callable(f) and f.__module__ == "__main__" and name not in (
            "said", "get", "talk"):
        try:
            came = f()
        except Exception as e:
            came = repr(e)
        print(name + ":", came, file=out, flush=True)
out.close()
print("F|media.txt")
"""
KINDS = {"blocking", "timeout", "non_blocking", "epoll", "by_asyncio",
         "urllib_", "tls", "ffmpeg", "beside", "many"}


def test_programs_notice_nothing(engine, media, tool, tmp_path):  # noqa: F811
    """Whatever they do with a socket before it is connected."""
    secure = tool(TlsServer(tmp_path))
    d = engine("")
    (tmp_path / "engine").write_text(ENGINE % (
        "/usr/bin/python3", CLIENTS % (
            media.file("/a", 1000), secure.file("/b", 1000), media.hls("/c"),
            600, 600)))
    came = dict(re.findall("^([a-z_]+): (.*)$", result(d), re.M))
    assert came == dict.fromkeys(KINDS, "good")


# ---- what does not ----

STORM = r"""
import socket, threading, time
there = ("127.0.0.1", %d)
proxy = int(os.environ["http_proxy"].rsplit(":", 1)[1])

def rage():
    while True:
        with socket.socket() as s:
            for port in (there[1], proxy):
                s.connect_ex((there[0], port))

for _ in range(8):
    threading.Thread(target=rage, daemon=True).start()
if url.endswith("/quiet"):
    print("B|", flush=True)
time.sleep(100000)
"""


def test_a_storm_of_connections(engine, media):  # noqa: F811
    """The supervisor does the rest of its work: it hands a cancel on, and
    nothing is left."""
    d = engine(STORM % media.port)
    with d.listen() as ears:
        d.added(URL)
        d.wait_status(URL, "downloading", "preparing")
        pids = wait_for(lambda: cpu_of(p := d.processes("engine")) > 50 and p,
                        30, "half a second of it")
        assert len(pids) == 2
        d.delete(URL)
        ears.wait_for("canceled", URL)
        assert not any(map(stat_of, pids))
    assert media.asked("/") == []


def cpu_of(pids):
    """Hundredths of a second that they have used together."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:  # a fork that came to its end
            continue
        total += int(fields[11]) + int(fields[12])
    return total


# ---- where it does not hold ----

# No descriptor is given: as before Linux 5.9.
OLDER = r"""#!/usr/bin/python3
import ctypes, errno, os, struct, sys

GIVE, IOCTL = 0x40182103, %d
libc = ctypes.CDLL(None, use_errno=True)
allow, deny = 0x7fff0000, 0x00050000 | errno.EINVAL
code = ctypes.create_string_buffer(b"".join(
    struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 3, IOCTL), (0x20, 0, 0, 24),
        (0x15, 0, 1, GIVE), (0x06, 0, 0, deny), (0x06, 0, 0, allow))))
program = struct.pack("HxxxxxxP", 6, ctypes.addressof(code))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
os.execv("%s", ["%s", *sys.argv[1:]])
"""
LACK = "egress does not hold for engines on this kernel"


@pytest.fixture
def older(tmp_path, monkeypatch):
    script = tmp_path / "older"
    call = 16 if os.uname().machine == "x86_64" else 29
    script.write_text(OLDER % (call, weir_py.BINARY, weir_py.BINARY))
    script.chmod(0o755)
    monkeypatch.setattr(weir_py, "BINARY", str(script))


def test_a_kernel_that_cannot(older, downloads, media,  # noqa: F811
                              landlock_told):
    """It is told, and downloads work."""
    d = downloads()
    lacks = landlock_told is not None and landlock_told < 4
    url = media.file("/film.mp4", SIZE)
    d.added(url)
    assert d.file(d.wait_done(url, 30)).body == content(SIZE)
    assert len(re.findall(rf"\[notice\].* {LACK}", d.weir.log())) == lacks


@pytest.mark.parametrize("wanted", [True, False])
def test_it_is_told_by_a_look_at_the_file(older, tmp_path, landlock_told,
                                          wanted):
    place(str(tmp_path), configuration(**(parts() if wanted else {})))
    done = run("-t", "-c", "weir.conf", prefix=str(tmp_path))
    assert done.returncode == 0, done.stderr
    lacks = wanted and landlock_told is not None and landlock_told < 4
    assert (done.stdout + done.stderr).count(LACK) == lacks
