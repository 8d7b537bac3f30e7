"""A server of media on loopback, for engines to download from: files of any
size and speed, ranges, redirects, errors, stalls, feeds, HLS, pages.

    media = MediaServer()
    url = media.file("/a.mp4", 100_000)
    media.file("/slow.mp4", 1 << 20, rate=100_000)
    held = media.file("/held.mp4", 100_000, hold=30_000)  # then it waits
    media.release("/held.mp4")
    media.redirect("/r", url)
    media.asked("/a.mp4")  # [Asked(method, path, host, range, ...)]
    media.kill()

A file's bytes are those of content(size), unless it is zeros.
"""
# SPDX-License-Identifier: BSD-2-Clause

import atexit
import collections
import functools
import http.server
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from urllib.parse import quote, unquote, urlsplit
from xml.sax.saxutils import escape

from patience import busy

PIECE = 1 << 16
PATTERN = bytes((i * 7 + (i >> 8) * 13) & 255 for i in range(1 << 20))

Asked = collections.namedtuple("Asked", "method path host range agent cookie")


def content(size, begin=0):
    """Bytes begin..size of any file of that length."""
    if begin >= size:
        return b""
    first = begin % len(PATTERN)
    times = (first + size - begin) // len(PATTERN) + 1
    return (PATTERN * times)[first:first + size - begin]


class Resource:
    """It stands at an address."""

    def __init__(self, size=0, body=None, kind="video/mp4", **more):
        self.body = body
        self.size = len(body) if body is not None else size
        self.kind = kind
        self.status = more.pop("status", 200)
        self.headers = more.pop("headers", [])
        self.rate = more.pop("rate", None)       # bytes/s of a connection
        self.length = more.pop("length", True)   # whether its length is told
        self.ranges = more.pop("ranges", True)
        self.hold = more.pop("hold", None)       # bytes, then it waits
        self.cut = more.pop("cut", None)         # bytes, then it hangs up
        self.zeros = more.pop("zeros", False)
        self.quiet = more.pop("quiet", False)    # never begins to answer
        self.released = threading.Event()
        assert not more, more

    def bytes(self, begin, count):
        end = min(begin + count, self.size)
        if self.body is not None:
            return self.body[begin:end]
        return bytes(end - begin) if self.zeros else content(end, begin)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "media", ""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def do_CONNECT(self):
        """As a proxy, it leads nowhere."""
        self.server.media.seen.append(Asked(
            self.command, self.path, self.headers["Host"], None,
            self.headers["User-Agent"], None))
        self.send_response(self.server.media.tunnel)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, with_body):
        path = unquote(urlsplit(self.path).path)
        self.server.media.seen.append(Asked(
            self.command, path, self.headers["Host"], self.headers["Range"],
            self.headers["User-Agent"], self.headers["Cookie"]))
        resource = self.server.media.resources.get(path)
        if resource is None:
            resource = Resource(body=b"not here\n", kind="text/plain",
                                status=404)
        if resource.quiet:
            resource.released.wait()
        begin = self.head(resource)
        if with_body and begin is not None:
            self.body(resource, begin)

    def head(self, resource):
        """Where the body begins; None: there is none."""
        begin, end = 0, resource.size
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"] or "")
        partly = bool(asked) and resource.ranges and resource.status == 200
        if partly:
            begin = int(asked[1])
            end = min(end, int(asked[2]) + 1) if asked[2] else end
        if partly and begin >= resource.size:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{resource.size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        self.send_response(206 if partly else resource.status)
        self.send_header("Content-Type", resource.kind)
        for name, value in resource.headers:
            self.send_header(name, value)
        if partly:
            self.send_header("Content-Range",
                             f"bytes {begin}-{end - 1}/{resource.size}")
        if resource.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if resource.length:
            self.send_header("Content-Length", str(end - begin))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.end = end
        return begin

    def body(self, resource, at):
        start, began = at, time.monotonic()
        while at < self.end:
            most = min(self.end - at, PIECE)
            if resource.rate:
                most = min(most, max(resource.rate // 20, 1))
            for bound in (resource.hold, resource.cut):
                if bound is not None and at < bound:
                    most = min(most, bound - at)
            if resource.cut is not None and at >= resource.cut:
                self.close_connection = True
                return
            if resource.hold is not None and at >= resource.hold:
                resource.released.wait()
            self.wfile.write(resource.bytes(at, most))
            at += most
            if resource.rate:
                ahead = (at - start) / resource.rate - \
                    (time.monotonic() - began)
                time.sleep(max(ahead, 0))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, media):
        super().__init__(address, Handler)
        self.media = media

    def handle_error(self, *_):
        pass  # an engine that was cancelled has hung up


class MediaServer:
    """It listens at a port of its own; another host (127.0.0.2) is another
    server."""

    def __init__(self, host="127.0.0.1", port=0):
        self.resources, self.seen = {}, []
        self.tunnel = 403  # the answer to CONNECT
        self.host = host
        self.server = Server((host, port), self)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,),
                         daemon=True).start()

    def kill(self):
        for resource in self.resources.values():
            resource.released.set()
        self.server.shutdown()
        self.server.server_close()

    def url(self, path):
        return f"http://{self.host}:{self.port}{quote(path)}"

    def asked(self, path):
        """Requests for it so far."""
        return [a for a in list(self.seen) if a.path == path]

    # ---- what it serves: each returns its address ----

    def put(self, path, resource):
        self.resources[path] = resource
        return self.url(path)

    def file(self, path, size=100_000, **more):
        """Options: those of Resource."""
        return self.put(path, Resource(size, **more))

    def release(self, path):
        """A file that is held goes on."""
        self.resources[path].released.set()

    def zeros(self, path, size=2 << 30, **more):
        """A large file that takes no memory."""
        return self.put(path, Resource(size, zeros=True, **more))

    def text(self, path, text, kind="text/html; charset=utf-8", **more):
        return self.put(path, Resource(body=text.encode(), kind=kind, **more))

    def error(self, path, status):
        return self.text(path, "no\n", "text/plain", status=status)

    def redirect(self, path, to, status=302, body="<html>Moved</html>\n"):
        """Usual servers say so in a page."""
        return self.text(path, body, status=status, headers=[("Location", to)])

    def feed(self, path, files, title="My Feed", guids=False):
        """An RSS feed of files: addresses, or (title, address)."""
        items = ""
        for number, item in enumerate(files, 1):
            name, url = item if isinstance(item, tuple) else \
                (f"Episode {number}", item)
            guid = f"<guid>g{number}</guid>" if guids else ""
            items += (f"<item><title>{escape(name)}</title>{guid}<enclosure "
                      f'url="{escape(url)}" length="1" type="audio/mpeg"/>'
                      "</item>\n")
        return self.text(path, '<?xml version="1.0" encoding="UTF-8"?>\n'
                         '<rss version="2.0"><channel><title>'
                         f"{escape(title)}</title>\n{items}</channel></rss>\n",
                         "application/rss+xml")

    def page(self, path, sources, title="A page"):
        """With a <video> for each source."""
        videos = "".join(f'<p><video src="{escape(s)}"></video></p>\n'
                         for s in sources)
        return self.text(path, "<!DOCTYPE html><html><head><title>"
                         f"{escape(title)}</title></head><body>\n{videos}"
                         "</body></html>\n")

    def movie(self, path, **more):
        """Two seconds of picture and sound that are real."""
        with open(movie_file(), "rb") as f:
            return self.put(path, Resource(body=f.read(), **more))

    def hls(self, folder, **more):
        """A playlist of 4 segments; options are those of the segments."""
        made = hls_files()
        for name in os.listdir(made):
            with open(f"{made}/{name}", "rb") as f:
                body = f.read()
            if name.endswith(".ts"):
                self.put(f"{folder}/{name}",
                         Resource(body=body, kind="video/mp2t", **more))
            else:
                self.put(f"{folder}/{name}", Resource(
                    body=body, kind="application/vnd.apple.mpegurl"))
        return self.url(f"{folder}/index.m3u8")


# ---- media, made once by each process that wants it ----

@functools.cache
def made_folder():
    folder = tempfile.mkdtemp(prefix="media")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments],
                   check=True, timeout=busy(60))


@functools.cache
def movie_file():
    path = f"{made_folder()}/movie.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=160x90:rate=10:duration=2",
           "-f", "lavfi", "-i", "sine=frequency=440:duration=2",
           "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
           "-c:a", "aac", "-b:a", "64k", "-movflags", "+faststart", path)
    return path


@functools.cache
def hls_files():
    folder = f"{made_folder()}/hls"
    os.mkdir(folder)
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=160x90:rate=10:duration=4",
           "-f", "lavfi", "-i", "sine=frequency=440:duration=4",
           "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
           "-g", "10", "-c:a", "aac", "-f", "hls", "-hls_time", "1",
           "-hls_list_size", "0", f"{folder}/index.m3u8")
    assert len(os.listdir(folder)) == 5, os.listdir(folder)
    return folder


def closed_port():
    """Of loopback, where nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
