"""modules/static: conditions, ranges, gzip, files that change meanwhile."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import os
import re
import socket
import subprocess
import time

import pytest

from http_client import Http, get, request
from patience import busy
from weir import descriptors, resident, wait_for

GZIP = 'gzip = true; gzip_min_length = "100";'
TEXT = b"".join(b"line %d of a text\n" % n for n in range(3000))


def write(w, name, data):
    path = f"{w.prefix}/html/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def old(path, seconds=100):
    """As if it had been written so long ago."""
    at = time.time() - seconds
    os.utime(path, (at, at))


def site(settings="", path="/s"):
    return f'{{ path = "{path}"; module = "static"; root = "html"; ' \
           f'{settings} }},'


def curl(*arguments, **more):
    return subprocess.run(["curl", "-sS", "--max-time", "20", *arguments],
                          capture_output=True, check=False, **more)


# ---- ranges (RFC 9110, 14) ----

@pytest.mark.parametrize("size", [1000, 300_000])  # in memory, and not
def test_one_range(weir, size):
    w = weir()
    data = os.urandom(size)
    write(w, "a.mp4", data)
    with Http(w.http) as c:
        for spec, part in (("0-0", data[:1]), ("10-19", data[10:20]),
                           ("900-", data[900:]), ("-7", data[-7:]),
                           (f"5-{size * 2}", data[5:]),
                           (f"-{size * 2}", data), ("0-0,9999999-", data[:1])):
            c.send("GET", "/a.mp4", f"Range: bytes={spec}")
            a = c.answer()
            assert a.status == 206, spec
            assert a.body == part, spec
            first = data.index(part) if len(part) > 4 else None
            match = re.fullmatch(rf"bytes (\d+)-(\d+)/{size}",
                                 a.header("content-range"))
            assert int(match[2]) - int(match[1]) + 1 == len(part)
            assert first is None or int(match[1]) == first
            assert a.header("content-type") == "video/mp4"
            assert a.header("accept-ranges") == "bytes"
            assert a.header("etag") and a.header("last-modified")
        for ignored in ("lines=0-1", "bytes=5-1", "bytes=x"):
            c.send("GET", "/a.mp4", f"Range: {ignored}")
            a = c.answer()
            assert a.status == 200 and a.body == data
            assert a.header("content-range") is None
        c.send("GET", "/a.mp4", f"Range: bytes={size}-")
        a = c.answer()
        assert a.status == 416
        assert a.header("content-range") == f"bytes */{size}"
        c.send("HEAD", "/a.mp4", "Range: bytes=0-9")  # 14.2: GET only
        a = c.answer("HEAD")
        assert a.status == 200 and a.header("content-length") == str(size)


def parts_of(a):
    """[(content-range, body)] of a multipart/byteranges answer."""
    boundary = re.fullmatch(r"multipart/byteranges; boundary=(\S+)",
                            a.header("content-type"))[1].encode()
    first, *parts, last = (b"\r\n" + a.body).split(b"\r\n--" + boundary)
    assert first == b"" and last == b"--\r\n"
    found = []
    for part in parts:
        assert part.startswith(b"\r\n")
        head, _, body = part[2:].partition(b"\r\n\r\n")
        fields = dict(line.split(": ") for line in head.decode().split("\r\n"))
        assert fields["Content-Type"] == "video/mp4"
        found.append((fields["Content-Range"], body))
    return found


@pytest.mark.parametrize("size", [1000, 300_000])
def test_several_ranges(weir, size):
    w = weir()
    data = os.urandom(size)
    write(w, "a.mp4", data)
    with Http(w.http) as c:
        c.send("GET", "/a.mp4", "Range: bytes=0-9, 500-599,-5")
        a = c.answer()
        assert a.status == 206
        assert a.header("content-range") is None
        assert parts_of(a) == [
            (f"bytes 0-9/{size}", data[:10]),
            (f"bytes 500-599/{size}", data[500:600]),
            (f"bytes {size - 5}-{size - 1}/{size}", data[-5:])]
        # What asks for more than there is gets what there is, once.
        for spec in ("0-,0-,0-,0-", ",".join(f"{n}-{n}" for n in range(200))):
            c.send("GET", "/a.mp4", f"Range: bytes={spec}")
            a = c.answer()
            assert a.status == 200 and a.body == data


def test_if_range(weir):
    w = weir()
    data = os.urandom(5000)
    old(write(w, "a.bin", data))
    a = get(w.http, "/a.bin")
    tag, date = a.header("etag"), a.header("last-modified")
    assert tag.startswith('"')

    def with_range(value):
        return get(w.http, "/a.bin", "Range: bytes=0-9",
                   f"If-Range: {value}").status
    assert with_range(tag) == 206
    assert with_range(date) == 206
    assert with_range('"other"') == 200
    assert with_range("W/" + tag) == 200
    assert with_range("Sun, 06 Nov 1994 08:49:37 GMT") == 200


def test_huge_file(weir):
    """More than fits into 31 bits, and no memory for it."""
    w = weir()
    size = 3 << 30
    path = write(w, "huge.ts", "")
    with open(path, "r+b") as f:
        f.truncate(size)
        f.seek(size - 4)
        f.write(b"last")
    a = request(w.http, "HEAD", "/huge.ts")
    assert a.header("content-length") == str(size)
    assert a.header("content-type") == "video/mp2t"
    before = resident(w.workers()[0])
    a = get(w.http, "/huge.ts", "Range: bytes=-4")
    assert a.body == b"last"
    a = get(w.http, "/huge.ts", f"Range: bytes={size - 5}-")
    assert a.body == b"\0last"
    assert a.header("content-range") == f"bytes {size - 5}-{size - 1}/{size}"
    a = get(w.http, "/huge.ts", f"Range: bytes={(1 << 31) - 1}-{1 << 31}")
    assert a.body == b"\0\0"
    with Http(w.http) as c:  # a player that seeks: gone in the middle
        c.send("GET", "/huge.ts")
        assert c.head().status == 200
        assert c.sock.recv(100_000)
    assert resident(w.workers()[0]) - before < 8 << 20


# ---- conditions (RFC 9110, 13) ----

def test_conditions_in_their_order(weir):
    w = weir()
    old(write(w, "a.txt", "text"))
    a = get(w.http, "/a.txt")
    tag, date = a.header("etag"), a.header("last-modified")
    past = "Sun, 06 Nov 1994 08:49:37 GMT"
    future = "Sun, 06 Nov 2094 08:49:37 GMT"

    def status(*headers):
        a = get(w.http, "/a.txt", *headers)
        assert (a.body == b"") == (a.status == 304)
        return a.status
    assert status(f"If-None-Match: {tag}") == 304
    assert status(f'If-None-Match: "x", W/{tag}') == 304
    assert status("If-None-Match: *") == 304
    assert status('If-None-Match: "x"') == 200
    assert status(f"If-Modified-Since: {date}") == 304
    assert status(f"If-Modified-Since: {future}") == 304
    assert status(f"If-Modified-Since: {past}") == 200
    assert status('If-None-Match: "x"', f"If-Modified-Since: {date}") == 200
    assert status(f"If-Match: {tag}") == 200
    assert status("If-Match: *") == 200
    assert status('If-Match: "x"') == 412
    assert status(f"If-Unmodified-Since: {past}") == 412
    assert status(f"If-Unmodified-Since: {date}") == 200
    assert status('If-Match: "x"', f"If-None-Match: {tag}") == 412
    assert status("Range: bytes=0-1", f"If-None-Match: {tag}") == 304
    a = get(w.http, "/a.txt", f"If-None-Match: {tag}")
    assert a.header("etag") == tag and a.header("content-length") is None


# ---- gzip ----

@pytest.mark.parametrize("size", [20_000, 40 * 54_000])
def test_gzip_of_files(weir, size):
    w = weir(http=GZIP)
    text = (TEXT * (size // len(TEXT) + 1))[:size]
    write(w, "a.js", text)
    plain = get(w.http, "/a.js")
    assert plain.body == text
    assert plain.header("content-encoding") is None
    assert plain.header("vary") == "Accept-Encoding"
    assert not plain.header("etag").startswith("W/")
    for _ in range(2):
        a = get(w.http, "/a.js", "Accept-Encoding: gzip, br")
        assert a.header("content-encoding") == "gzip"
        assert gzip.decompress(a.body) == text
        assert len(a.body) < size / 2
        assert a.header("etag") == "W/" + plain.header("etag")
        assert a.header("vary") == "Accept-Encoding"
        assert a.header("content-type").startswith("text/javascript")
    b = get(w.http, "/a.js", "Accept-Encoding: gzip",
            f"If-None-Match: {a.header('etag')}")
    assert b.status == 304 and b.header("vary") == "Accept-Encoding"
    with Http(w.http) as c:
        c.send("HEAD", "/a.js", "Accept-Encoding: gzip")
        assert c.answer("HEAD").header("content-encoding") == "gzip"
        for refusal in ("gzip;q=0", "identity", "br", "*;q=0"):
            c.send("GET", "/a.js", f"Accept-Encoding: {refusal}")
            a = c.answer()
            assert a.body == text and not a.header("content-encoding")
        # Ranges are of the file itself.
        c.send("GET", "/a.js", "Accept-Encoding: gzip", "Range: bytes=5-9")
        a = c.answer()
        assert a.status == 206 and a.body == text[5:10]
        assert not a.header("content-encoding")
        c.send("GET", "/a.js", "Accept-Encoding: gzip", version="1.0")
        assert c.answer().body == text


def test_gzip_leaves_alone(weir):
    """Short ones, compressed formats, what nobody listed; and everything,
    when it is off."""
    w = weir(http=GZIP)
    for name, size in (("a.txt", 99), ("a.png", 5000), ("a.mp4", 5000),
                       ("a.gz", 5000), ("a.zip", 5000), ("a.bin", 5000)):
        write(w, name, b"x" * size)
        a = get(w.http, f"/{name}", "Accept-Encoding: gzip")
        assert a.body == b"x" * size and not a.header("content-encoding")
        assert a.header("vary") is None
    write(w, "random.txt", os.urandom(5000))  # it would only get longer
    a = get(w.http, "/random.txt", "Accept-Encoding: gzip")
    assert len(a.body) == 5000 and not a.header("content-encoding")
    w = weir()
    write(w, "a.txt", TEXT)
    a = get(w.http, "/a.txt", "Accept-Encoding: gzip")
    assert a.body == TEXT and a.header("vary") is None


def test_gzip_of_what_modules_answer(weir):
    echo = '{ path = "/e"; module = "echo"; routes = [ "GET /*" ]; },'
    w = weir(http=GZIP + 'gzip_types = [ "application/json" ];',
             locations=echo)
    long = "x" * 3000
    a = get(w.http, f"/e/{long}", "Accept-Encoding: gzip")
    assert a.header("content-encoding") == "gzip"
    assert int(a.header("content-length")) == len(a.body) < 1000
    assert long.encode() in gzip.decompress(a.body)
    assert long.encode() in get(w.http, f"/e/{long}").body
    write(w, "a.txt", TEXT)  # not among the types any more
    assert get(w.http, "/a.txt", "Accept-Encoding: gzip").body == TEXT


def test_gzip_static(weir):
    w = weir(locations=site("gzip_static = true;"))
    old(write(w, "a.css", TEXT), 100)
    packed = gzip.compress(TEXT, 9)
    old(write(w, "a.css.gz", packed), 100)
    with Http(w.http) as c:
        c.send("GET", "/s/a.css")
        plain = c.answer()
        assert plain.body == TEXT
        assert plain.header("vary") == "Accept-Encoding"
        c.send("GET", "/s/a.css", "Accept-Encoding: gzip")
        a = c.answer()
        assert a.body == packed
        assert a.header("content-encoding") == "gzip"
        assert a.header("content-type").startswith("text/css")
        assert a.header("etag") != plain.header("etag")
        assert a.header("content-length") == str(len(packed))
        # It is a file: its bytes are the same every time.
        c.send("GET", "/s/a.css", "Accept-Encoding: gzip",
               "Range: bytes=0-9", f"If-Range: {a.header('etag')}")
        b = c.answer()
        assert b.status == 206 and b.body == packed[:10]
        c.send("GET", "/s/a.css.gz")
        b = c.answer()
        assert b.header("content-type") == "application/gzip"
        assert b.header("content-encoding") is None
    old(write(w, "b.css", "new"), 10)
    old(write(w, "b.css.gz", gzip.compress(b"old")), 100)
    assert get(w.http, "/s/b.css", "Accept-Encoding: gzip").body == b"new"
    write(w, "c.css", "alone")
    assert get(w.http, "/s/c.css", "Accept-Encoding: gzip").body == b"alone"


# ---- curl, as people use it ----

def test_curl(weir, tmp_path):
    w = weir(http=GZIP)
    data = os.urandom(200_000)
    path = write(w, "a.bin", data)
    old(path)
    write(w, "a.html", TEXT)
    url = w.http_url("/a.bin")
    assert curl("-r", "100-199", url).stdout == data[100:200]
    assert curl("-r", "-50", url).stdout == data[-50:]
    assert curl("--compressed", w.http_url("/a.html")).stdout == TEXT
    part = tmp_path / "part"
    part.write_bytes(data[:70_000])
    assert curl("-C", "-", "-o", str(part), url).returncode == 0
    assert part.read_bytes() == data
    out = tmp_path / "out"
    a = curl("-z", path, "-o", str(out), "-w", "%{http_code}", url)
    assert a.stdout == b"304" and not out.exists()
    a = curl("-z", "Sun, 06 Nov 1994 08:49:37 GMT", url)
    assert a.stdout == data
    assert curl("-I", url).stdout.count(b"Content-Length: 200000\r\n") == 1
    assert curl("-0", url).stdout == data
    etags = tmp_path / "etag"
    assert curl("--etag-save", str(etags), url).stdout == data
    assert curl("--etag-compare", str(etags), url).stdout == b""


def test_ffmpeg_seeks(weir, tmp_path, sample):
    """An MP4 with its index at the end is only playable over ranges."""
    w = weir()
    with open(sample, "rb") as f:
        write(w, "a.flv", f.read())
    out = f"{w.prefix}/html/a.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(sample), "-c", "copy",
                    out], check=True, timeout=busy(60))
    a = subprocess.run(["ffmpeg", "-v", "error", "-ss", "3", "-i",
                        w.http_url("/a.mp4"), "-frames:v", "5", "-f", "null",
                        "-"], capture_output=True, timeout=busy(60), check=True)
    assert a.stderr == b""
    wait_for(lambda: " 206 " in w.access_log(), what="a range")


# ---- files that change ----

def test_small_file_is_replaced(weir):
    """Within the time that is allowed, and at once where none is."""
    w = weir(locations=site('cache_valid = "0";') +
             site('cache_valid = "300ms";', "/t"))
    path = write(w, "a.txt", "one")
    old(path)
    for target in ("/s/a.txt", "/t/a.txt"):
        assert get(w.http, target).body == b"one"
    write(w, "next", "two")
    os.rename(f"{w.prefix}/html/next", path)
    assert get(w.http, "/s/a.txt").body == b"two"
    wait_for(lambda: get(w.http, "/t/a.txt").body == b"two", 3)
    for n in range(30):  # same size, same inode, written in the same tick
        with open(path, "wb") as f:
            f.write(b"%03d" % n)
        assert get(w.http, "/s/a.txt").body == b"%03d" % n
    os.remove(path)
    assert get(w.http, "/s/a.txt").status == 404
    wait_for(lambda: get(w.http, "/t/a.txt").status == 404, 3)


def test_large_file_is_replaced_while_it_is_sent(weir):
    w = weir()
    data = os.urandom(16 << 20)
    path = write(w, "a.bin", data)
    with Http(w.http) as c:
        c.send("GET", "/a.bin")
        c._until(b"\r\n\r\n")
        write(w, "next", b"other" * 1000)
        os.rename(f"{w.prefix}/html/next", path)
        assert c._exactly(len(data)) == data
        c.send("GET", "/a.bin")
        assert c.answer().body == b"other" * 1000


def test_file_is_truncated_while_it_is_sent(weir):
    """A length was promised: the client must see that the rest is missing,
    and nobody else sees anything."""
    w = weir()
    path = write(w, "a.bin", os.urandom(16 << 20))
    with Http(w.http) as c, Http(w.http) as other:
        c.send("GET", "/a.bin")
        c._until(b"\r\n\r\n")
        os.truncate(path, 1 << 20)
        with pytest.raises((EOFError, ConnectionResetError)):
            c._exactly(16 << 20)
        other.send("GET", "/a.bin")
        assert len(other.answer().body) == 1 << 20
    w.wait_log("the file became shorter")


def test_removed_large_file_frees_its_disk(weir):
    """It stays open for cache_valid, whoever asks meanwhile."""
    w = weir(workers=1)
    data = os.urandom(300_000)
    path = write(w, "a.bin", data)
    worker, = w.workers()

    def is_open():
        return any("/a.bin" in what for what in descriptors(worker).values())

    assert get(w.http, "/a.bin").body == data
    os.remove(path)
    assert get(w.http, "/a.bin").status == 404
    assert not is_open()
    write(w, "a.bin", data)
    assert get(w.http, "/a.bin").body == data
    wait_for(lambda: not is_open(), what="its end")


def test_large_files_are_forbidden_at_once(weir):
    w = weir(workers=1)
    path = write(w, "a.bin", os.urandom(300_000))
    assert get(w.http, "/a.bin").status == 200
    os.chmod(path, 0)
    assert get(w.http, "/a.bin").status == 403


def unread(port, peer):
    """Bytes that the system holds of weir's for that client."""
    ends = f":{port:04X} ", f":{peer:04X} "
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f:
            local, remote, _, queues = line.split()[1:5] \
                if ends[0] in line and ends[1] in line else ("", "", "", "")
            if local.endswith(ends[0].strip()) and \
                    remote.endswith(ends[1].strip()):
                return int(queues.split(":")[0], 16)
    return 0


def test_only_files_fill_the_system(weir):
    """A large file may lie with the system as a whole: its pages are there
    already.  Other answers may not, on the same connection either."""
    w = weir(workers=1)
    large, small = os.urandom(1 << 20), os.urandom(60_000)
    write(w, "large.bin", large)
    write(w, "small.bin", small)
    count = 40
    with Http(w.http) as c:
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        peer = c.sock.getsockname()[1]
        c.send("GET", "/large.bin")
        assert c.answer().body == large
        for _ in range(count):
            c.send("GET", "/small.bin")
        wait_for(lambda: unread(w.http, peer) > len(small), what="answers")
        for _ in range(30):  # turns of the worker
            get(w.http, "/small.bin")
        assert unread(w.http, peer) < 700_000
        for _ in range(count):
            assert c.answer().body == small


# ---- what is no file ----

def test_what_is_no_file(weir):
    w = weir()
    folder = f"{w.prefix}/html"
    os.mkfifo(f"{folder}/fifo")
    os.makedirs(f"{folder}/empty")
    os.symlink("loop", f"{folder}/loop")
    os.symlink("/etc/hostname", f"{folder}/absolute")
    os.symlink("..", f"{folder}/up")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"{folder}/sock")
        try:
            os.mknod(f"{folder}/zero", 0o20666, os.makedev(1, 5))
        except PermissionError:
            pass
        for name in ("fifo", "sock", "zero", "empty/", "loop", "absolute",
                     "up/weir.conf", "up", "empty/../../weir.conf",
                     ".hidden", "a/.git/config", "x" * 300):
            a = get(w.http, f"/{name}")
            assert a.status in (400, 404), name
    write(w, ".well-known/acme/token", "token")
    assert get(w.http, "/.well-known/acme/token").body == b"token"
    write(w, ".well-known/.secret", "no")
    assert get(w.http, "/.well-known/.secret").status == 404
    os.symlink("file", f"{folder}/link")
    write(w, "file", "below the root")
    assert get(w.http, "/link").body == b"below the root"


def test_no_redirect_leads_away(weir):
    w = weir()
    os.makedirs(f"{w.prefix}/html/example.com")
    for target in ("//example.com", "///example.com", "/%2fexample.com",
                   "/\\example.com", "/%5cexample.com"):
        a = get(w.http, target)
        assert a.status in (301, 400, 404), target
        if a.status == 301:  # below this host
            assert a.header("location") == "./example.com/"
    a = get(w.http, "/example.com")
    assert a.status == 301 and a.header("location") == "./example.com/"


# ---- settings ----

def test_expires_and_cache_control(weir):
    w = weir(locations=site('expires = "1h";') +
             site('expires = "1h"; cache_control = "public, immutable";',
                  "/t"))
    write(w, "a.txt", "text")
    a = get(w.http, "/s/a.txt")
    assert a.header("cache-control") == "max-age=3600"
    assert a.header("expires") > ""
    b = get(w.http, "/s/a.txt", f"If-None-Match: {a.header('etag')}")
    assert b.status == 304 and b.header("cache-control") == "max-age=3600"
    for error in ("Range: bytes=9-", 'If-Match: "x"'):
        a = get(w.http, "/s/a.txt", error)
        assert a.status in (412, 416)
        assert a.header("cache-control") is None is a.header("expires")
    a = get(w.http, "/t/a.txt")
    assert a.header("cache-control") == "public, immutable"
    assert get(w.http, "/a.txt").header("cache-control") is None


def test_fallback(weir):
    w = weir(locations=site('fallback = "app.html";'))
    write(w, "app.html", "the application")
    write(w, "a.txt", "a file")
    assert get(w.http, "/s/a.txt").body == b"a file"
    for target in ("/s/some/route", "/s/", "/s/nothing.txt"):
        a = get(w.http, target)
        assert a.status == 200 and a.body == b"the application"
        assert a.header("content-type").startswith("text/html")
    assert get(w.http, "/s/.git/config").status == 404


def test_autoindex(weir):
    w = weir(locations=site("autoindex = true;"))
    for name in ("b.txt", "a b&<c>.txt", "sub/x.txt", ".hidden", "it's:.txt"):
        write(w, f"d/{name}", "text")
    os.mkfifo(f"{w.prefix}/html/d/fifo")
    a = get(w.http, "/s/d/")
    assert a.status == 200
    page = a.body.decode()
    links = re.findall(r'href="([^"]*)"', page)
    assert links[:2] == ["../", "./sub/"]
    assert "hidden" not in page and "fifo" not in page
    assert "<c>" not in page
    for link in links[2:]:
        target = "/s/d/" + link[2:].replace("&#38;", "&").replace("&#39;", "'")
        assert get(w.http, target).body == b"text", link
    assert len(links) == 5
    for target in ("/s/d", "/s"):
        a = get(w.http, target + "?x=1")
        assert a.status == 301
        assert a.header("location") == f".{target[target.rindex('/'):]}/?x=1"
    assert get(w.http, "/d/").status == 404       # not asked for there
    assert get(w.http, "/s/none/").status == 404
    write(w, "d/index.html", "index")
    assert get(w.http, "/s/d/").body == b"index"


def test_index_that_comes_while_a_listing_is_made(weir):
    """One of the two is answered, and nothing of the other is left."""
    w = weir(locations=site("autoindex = true; cache_files = 0;"))
    for n in range(3000):
        write(w, f"d/{n}.txt", "")
    index = f"{w.prefix}/html/d/index.html"
    write(w, "new", "index")
    worker, = w.workers()
    before = len(descriptors(worker))
    for n in range(20):
        with Http(w.http) as c:
            c.send("GET", "/s/d/")
            time.sleep(n / 4000)  # somewhere within the work
            os.link(f"{w.prefix}/html/new", index)
            a = c.answer()
            assert a.body == b"index" or b"2999.txt" in a.body
        os.unlink(index)
    wait_for(lambda: len(descriptors(worker)) <= before, what="no leak")


def test_settings_that_are_wrong(weir):
    from weir import configuration, place, run
    w = weir()
    for setting, words in (('gzip_types = [ "image/png" ];', "compressed"),
                           ('gzip_types = [ "html" ];', "media type"),
                           ("gzip_level = 10;", "from 1 to 9")):
        place(w.prefix, configuration(http=setting))
        a = run("-t", "-c", "weir.conf", "-p", ".", prefix=w.prefix)
        assert a.returncode != 0 and words in a.stdout + a.stderr
    for setting in ('fallback = "/x";', 'cache_control = "a\\nb";'):
        place(w.prefix, configuration(locations=site(setting)))
        a = run("-t", "-c", "weir.conf", "-p", ".", prefix=w.prefix)
        assert a.returncode != 0 and "weir.conf:" in a.stdout + a.stderr


# ---- many ----

def test_a_thousand_at_once(weir):
    w = weir(workers=2)
    small, large = TEXT[:700], os.urandom(300_000)
    write(w, "small.txt", small)
    write(w, "large.bin", large)
    clients = [Http(w.http, timeout=busy(60)) for _ in range(1000)]
    for n, c in enumerate(clients):
        c.send("GET", "/large.bin" if n % 10 == 0 else "/small.txt")
    for n, c in enumerate(clients):
        assert c.answer().body == (large if n % 10 == 0 else small)
        c.send("GET", "/small.txt", "Connection: close")
    for c in clients:
        assert c.answer().body == small
        assert c.ended()
        c.close()


def test_more_files_than_are_kept(weir):
    w = weir(locations=site('cache_files = 5; cache_memory = "40k";'))
    for n in range(40):
        write(w, f"{n}.txt", b"%d" % n * 1000)
    for n in (*range(40), *range(40), 1, 1, 2, 1):
        assert get(w.http, f"/s/{n}.txt").body == b"%d" % n * 1000
