"""Requests that ask for another protocol besides: clients that would like
HTTP/2 say so with any request, its body behind it."""
# SPDX-License-Identifier: BSD-2-Clause

import shutil
import socket
import subprocess
import threading

import pytest

from http_client import Http
from patience import busy

EGRESS = 'egress = [ "allow loopback", "allow all" ];'
PROXY = """
    { path = "/back"; layers = ( { module = "proxy";
      upstream = "http://127.0.0.1:%d"; } ); },"""
BACK = """
    { path = "/back"; module = "echo"; stream = true; routes = [ "* /*" ]; },"""
JAVA = ("POST /back/x HTTP/1.1\r\n"  # java.net.http of JDK 17, byte by byte
        "Connection: Upgrade, HTTP2-Settings\r\n"
        "Content-Length: {length}\r\n"
        "Host: 127.0.0.1:8080\r\n"
        "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n"
        "Upgrade: h2c\r\n"
        "User-Agent: Java-http-client/17.0.15\r\n\r\n")
POST_JAVA = """
import java.net.URI;
import java.net.http.*;
public class Post {
    public static void main(String[] a) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0; i < 2; i++) {
            HttpRequest r = HttpRequest.newBuilder(URI.create(a[0]))
                .POST(HttpRequest.BodyPublishers.ofString("hello")).build();
            System.out.println(client.send(r,
                HttpResponse.BodyHandlers.ofString()).body());
        }
    }
}
"""


@pytest.fixture(params=["itself", "proxied"])
def back(request, weir):
    """What sends bodies back."""
    if request.param == "itself":
        return weir(locations=BACK)
    behind = weir(locations=BACK, http="keepalive_requests = 1;")
    return weir(locations=PROXY % behind.http, top=EGRESS)


def test_a_java_client(back):
    with Http(back.http) as c:
        for body in ("hello", "h" * 100_000):
            c.raw(JAVA.format(length=len(body)) + body)
            a = c.answer()
            assert (a.status, a.body) == (200, body.encode())
            assert a.header("upgrade") is None
        c.send("GET", "/healthz")  # nothing of it was left
        assert c.answer().status == 200


def test_chunks(back):
    head = JAVA.replace("Content-Length: {length}\r\n",
                        "Transfer-Encoding: chunked\r\n")
    with Http(back.http) as c:
        c.raw(head + "5\r\nhello\r\n0\r\n\r\n")
        assert c.answer().body == b"hello"
        c.send("GET", "/healthz")
        assert c.answer().status == 200


def test_others_that_we_do_not_speak(back):
    for name in ("TLS/1.0", "echo", "h2c, HTTP/2.0", "websockets"):
        with Http(back.http) as c:
            c.send("POST", "/back/x", "Connection: Upgrade",
                   f"Upgrade: {name}", body=b"hello")
            assert c.answer().body == b"hello"


def test_a_websocket_has_no_body(back):
    for name in ("websocket", "h2c, WebSocket", "websocket/13"):
        with Http(back.http) as c:
            c.send("POST", "/back/x", "Connection: Upgrade",
                   f"Upgrade: {name}", body=b"hello")
            assert c.answer().status == 400
            assert c.ended()


def test_curl(back):
    """It asks once on a connection, and goes on there in HTTP/1.1."""
    url = back.http_url("/back/x")
    done = subprocess.run(
        ["curl", "-sS", "--http2", "-d", "hello", url, "--next", "-sS",
         "--http2", "-d", "again", url],
        capture_output=True, text=True, timeout=busy(20), check=False)
    assert (done.stdout, done.stderr) == ("helloagain", "")


@pytest.mark.skipif(shutil.which("java") is None,
                    reason="there is no java; test_a_java_client has its bytes")
def test_java_itself(back, tmp_path):
    (tmp_path / "Post.java").write_text(POST_JAVA)
    done = subprocess.run(
        ["java", str(tmp_path / "Post.java"), back.http_url("/back/x")],
        capture_output=True, text=True, timeout=busy(60), check=False)
    assert done.stdout == "hello\nhello\n", done.stderr


def test_it_goes_no_further(weir):
    """What a server behind weir is told of it: nothing."""
    heard = []

    def serve(listener):
        peer, _ = listener.accept()
        with peer, peer.makefile("rb") as f:
            while (line := f.readline()) not in (b"\r\n", b""):
                heard.append(line.lower())
            heard.append(f.read(5))
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    for name in ("h2c", "echo"):
        heard.clear()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            w = weir(locations=PROXY % listener.getsockname()[1], top=EGRESS)
            with Http(w.http) as c:
                c.raw(JAVA.format(length=5).replace("h2c", name) + "hello")
                assert c.answer().status == 200
            thread.join(busy(10))
        assert heard[-1] == b"hello"
        assert not [line for line in heard if line.startswith(
            (b"upgrade:", b"connection:", b"http2-settings:"))]
