"""modules/static as a client sees it."""
# SPDX-License-Identifier: BSD-2-Clause

import os

from http_client import Http, get, request


def write(w, name, data):
    path = f"{w.prefix}/html/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def test_static_file(weir):
    w = weir()
    write(w, "a.html", "<p>hello")
    write(w, "index.html", "index")
    write(w, "dir/index.html", "index of dir")
    write(w, "empty.txt", "")
    a = get(w.http, "/a.html")
    assert a.status == 200 and a.body == b"<p>hello"
    assert a.header("content-type").startswith("text/html")
    assert get(w.http, "/").body == b"index"
    assert get(w.http, "/empty.txt").body == b""
    a = request(w.http, "HEAD", "/a.html")
    assert a.header("content-length") == "8" and a.body == b""
    assert request(w.http, "POST", "/a.html").status == 405
    assert get(w.http, "/none.html").status == 404
    a = get(w.http, "/dir")
    assert a.status in (301, 308) and a.header("location").endswith("/dir/")
    assert get(w.http, "/dir/").body == b"index of dir"


def test_static_large_file_and_many_readers(weir):
    w = weir(workers=2)
    data = os.urandom(8 << 20)
    write(w, "large.bin", data)
    clients = [Http(w.http) for _ in range(6)]
    for c in clients:
        c.send("GET", "/large.bin")
    for c in clients:
        assert c.answer().body == data
        c.send("GET", "/large.bin")
    for c in clients:  # gone in the middle
        c.close()


def test_static_never_leaves_its_root(weir):
    w = weir()
    write(w, "a.txt", "inside")
    with open(f"{w.prefix}/secret", "w", encoding="utf-8") as f:
        f.write("secret")
    os.symlink("../secret", f"{w.prefix}/html/link")
    os.mkfifo(f"{w.prefix}/html/fifo")
    for target in ("/../secret", "/%2e%2e/secret", "/..%2fsecret",
                   "/a.txt/../../secret", "/.%2e/secret", "//../secret",
                   "/%2e%2e%2fsecret", "/..%5csecret", "/a.txt%00.html",
                   "/a.txt/", "/dir/../../secret"):
        a = get(w.http, target)
        assert a.status in (400, 403, 404), target
        assert b"secret" not in a.body or b"message" in a.body, target
    assert get(w.http, "/fifo").status in (403, 404)
    assert get(w.http, "/x/../a.txt").body == b"inside"


def test_static_conditional(weir):
    w = weir()
    write(w, "a.txt", "text")
    a = get(w.http, "/a.txt")
    stamp = a.header("last-modified")
    if stamp:
        b = get(w.http, "/a.txt", f"If-Modified-Since: {stamp}")
        assert b.status == 304 and b.body == b""
    tag = a.header("etag")
    if tag:
        b = get(w.http, "/a.txt", f"If-None-Match: {tag}")
        assert b.status == 304


def test_options(weir):
    w = weir()
    write(w, "a.txt", "a")
    a = request(w.http, "OPTIONS", "/a.txt")
    assert (a.status, a.header("allow")) == (204, "GET, HEAD, OPTIONS")
    a = request(w.http, "OPTIONS", "/live/x.flv")
    assert (a.status, a.header("allow")) == (204, "GET, HEAD, OPTIONS")
    for path in ("/nothing", "/live/x.txt", "/other/x.flv", "/.hidden"):
        assert request(w.http, "OPTIONS", path).status == 404, path
