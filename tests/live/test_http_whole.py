"""HTTP as RFC 9110 and 9112 have it: HEAD, Expect, forms of the target,
HTTP/1.0, and ends of connections that lose nobody's last words."""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess
import threading
import time

from http_client import Http, get, request
from patience import busy

ECHO = """
    { path = "/e"; module = "echo"; name = "one";
      routes = [ "GET /hello", "POST /x/:id" ]; },
    { path = "/i"; module = "static"; root = "html"; autoindex = true; },"""
SMALL = 'client_max_body_size = "1k";'


def write(w, name, data):
    with open(f"{w.prefix}/html/{name}", "wb") as f:
        f.write(data)


def test_head_never_has_a_body(weir):
    """Whatever the answer, the next one begins right behind its head."""
    w = weir(locations=ECHO, http='gzip = true; gzip_min_length = "1";')
    write(w, "a.html", b"hello" * 100)
    write(w, "large.html", b"hello" * 100_000)
    tag = get(w.http, "/a.html").header("etag")
    with Http(w.http) as c:
        for target, headers, status in (
                ("/a.html", (), 200),
                ("/large.html", (), 200),
                ("/a.html", ("Accept-Encoding: gzip",), 200),
                ("/large.html", ("Accept-Encoding: gzip",), 200),
                ("/e/hello", ("Accept-Encoding: gzip",), 200),
                ("/a.html", (f"If-None-Match: {tag}",), 304),
                ("/a.html", ('If-Match: "x"',), 412),
                ("/a.html", ("Range: bytes=0-1",), 200),
                ("/none", (), 404),
                ("/e/x/1", (), 405),
                ("/i/", (), 200),
                ("/i", (), 301)):
            c.send("HEAD", target, *headers)
            a = c.answer("HEAD")
            if a.status == 301:
                assert target == "/i"
            else:
                assert a.status == status, target
        c.send("GET", "/e/hello")
        assert c.answer().status == 200


def test_head_says_what_get_would(weir):
    w = weir(locations=ECHO)
    write(w, "a.html", b"hello" * 100)
    for target in ("/a.html", "/e/hello", "/none"):
        one = request(w.http, "HEAD", target)
        two = get(w.http, target)
        assert one.status == two.status
        for name in ("content-length", "content-type", "etag",
                     "last-modified", "accept-ranges"):
            if target != "/e/hello" or name != "content-length":
                assert one.header(name) == two.header(name)


def test_length_is_told_when_it_is_known(weir):
    w = weir(locations=ECHO)
    write(w, "a.html", b"hello")
    for target in ("/a.html", "/e/hello", "/none", "/i/", "/healthz"):
        a = get(w.http, target)
        assert int(a.header("content-length")) == len(a.body)
        assert a.header("transfer-encoding") is None


def test_expect_is_refused_before_the_body(weir):
    """No 100 goes out when the answer is no: the body is never sent."""
    w = weir(http=SMALL, locations=ECHO)
    for target, status in (("/e/x/1", 413), ("/none", 405),
                           ("/e/hello", 405)):
        with Http(w.http) as c:
            c.send("POST", target, "Content-Length: 5000",
                   "Expect: 100-continue")
            a = c.answer()
            assert a.status == status
            assert a.header("connection") == "close"
            assert c.ended()
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 3", "Expect: 200-ok")
        assert c.answer().status == 417
    with Http(w.http) as c:  # the 1.0 client that says it gets no 100
        c.send("POST", "/e/x/1", "Content-Length: 3", "Expect: 100-continue",
               version="1.0")
        c.raw("abc")
        assert c.answer().status == 201


def test_expect_by_curl(weir, tmp_path):
    w = weir(http=SMALL, locations=ECHO)
    big = tmp_path / "big"
    big.write_bytes(b"x" * 3_000_000)
    a = subprocess.run(
        ["curl", "-sS", "--max-time", "20", "-o", str(tmp_path / "out"), "-w",
         "%{http_code} %{size_upload}", "-H", "Expect: 100-continue",
         "--data-binary", f"@{big}", w.http_url("/e/x/1")],
        capture_output=True, text=True, check=False)
    status, sent = a.stdout.split()
    assert status == "413" and int(sent) == 0


def test_refusal_reaches_a_client_that_goes_on_sending(weir):
    """The connection is not reset under its feet."""
    w = weir(http=SMALL, locations=ECHO)
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 800000")
        for _ in range(80):
            c.raw(b"x" * 10_000)
            time.sleep(0.002)
        assert c.answer().status == 413
        assert c.ended()


def test_nobody_is_listened_to_for_ever(weir):
    """A client that goes on sending after it was refused."""
    w = weir(http=SMALL, locations=ECHO)
    with Http(w.http) as c:
        c.send("POST", "/e/x/1", "Content-Length: 8000000000")
        sent = 0
        try:
            while sent < 100 << 20:
                sent += c.sock.send(b"x" * 65536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 100 << 20


def test_http_1_0_keep_alive(weir):
    w = weir()
    write(w, "a.html", b"hello")
    with Http(w.http) as c:
        for _ in range(3):
            c.send("GET", "/a.html", "Connection: keep-alive", version="1.0",
                   host=None)
            a = c.answer()
            assert a.body == b"hello"
            assert a.header("connection") == "keep-alive"
        c.send("GET", "/a.html", version="1.0", host=None)
        assert c.answer().header("connection") == "close"
        assert c.ended()


def test_forms_of_the_target(weir):
    w = weir(locations=ECHO)
    write(w, "a.html", b"hello")
    with Http(w.http) as c:
        c.send("GET", "http://other/a.html?x=1", host="other")
        assert c.answer().body == b"hello"
        c.send("GET", "HTTP://TEST/a.html")
        assert c.answer().body == b"hello"
        c.send("OPTIONS", "*")
        a = c.answer()
        assert a.status == 204 and "GET" in a.header("allow")
        c.send("OPTIONS", "/a.html")
        a = c.answer()
        assert a.status == 204
        assert set(a.header("allow").split(", ")) == {"GET", "HEAD",
                                                      "OPTIONS"}
        c.send("OPTIONS", "http://test/e/x/1")
        assert "POST" in c.answer().header("allow")
    assert request(w.http, "GET", "*").status == 400
    assert request(w.http, "GET", "http://other/a.html").status == 400


def test_slow_reader_of_a_large_answer(weir):
    """Others are served meanwhile, and it gets every byte."""
    w = weir()
    data = bytes(range(256)) * 40_000
    write(w, "large.bin", data)
    write(w, "a.html", b"hello")
    with Http(w.http, timeout=busy(30)) as slow:
        slow.send("GET", "/large.bin")
        done = threading.Event()

        def others():
            for _ in range(50):
                assert get(w.http, "/a.html").body == b"hello"
            done.set()
        threading.Thread(target=others).start()
        slow._until(b"\r\n\r\n")
        got = slow.buffer
        while len(got) < len(data):
            got += slow.sock.recv(200_000)
        assert got == data
        assert done.wait(20)
