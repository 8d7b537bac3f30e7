"""Clients of other languages, by their own libraries: each does the same steps,
straight and through module proxy, and keeps to its connection.

Programs read a step a line: method (UPLOAD: a form with the file), URL, media
type, file; "-" is none.  They answer with status, length and the first bytes."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import json
import os
import shutil
import subprocess

import pytest

from http_client import get
from patience import busy
from socket_help import PACKAGES
from weir import wait_for

pytestmark = pytest.mark.once
HERE = os.path.dirname(os.path.abspath(__file__))
MB = os.urandom(1 << 20)
EGRESS = 'egress = [ "allow loopback", "allow all" ];'
TOP = EGRESS + """
    tts = ( { name = "main"; } );
    downloads = ( { name = "main"; directory = "run/downloads";
                    min_free = "0"; } );"""
LOG = 'access_log_format = "json: c=$connection uri=$request_uri";'
SERVICES = """
    { path = "/echo"; module = "echo"; name = "one"; routes = [ "* /*" ]; },
    { path = "/back"; module = "echo"; stream = true; routes = [ "* /*" ];
      client_max_body_size = "10M"; },
    { path = "/moved"; return = { status = 302; to = "/echo/landed"; }; },
    { path = "/kept"; return = { status = 307; to = "/back/landed"; }; },
    { path = "/api"; module = "articles"; edit = true; },
    { path = "/speech"; module = "tts"; },
    { path = "/downloads"; module = "downloads"; },"""
PATHS = "echo back moved kept api speech downloads".split()


def json_of(a):
    return json.loads(a[2])


class Client:
    """A program; each step waits for its answer."""

    def __init__(self, command, folder, port):
        self.folder, self.url = str(folder), f"http://127.0.0.1:{port}"
        self.files = 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, method, path, kind="-", body=None):
        """(status, length, first bytes)"""
        name = "-"
        if body is not None:
            self.files += 1
            name = f"{self.folder}/body{self.files}"
            with open(name, "wb") as f:
                f.write(body)
        self.process.stdin.write(
            "\t".join([method, self.url + path, kind, name]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        assert line, "the program ended"
        front = base64.b64decode(line[2]) if len(line) > 2 else b""
        return int(line[0]), int(line[1]), front

    def json(self, method, path, body=None):
        return self.step(method, path, "application/json",
                         None if body is None else json.dumps(body).encode())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(busy(20)) == 0


# ---- the steps ----

def get_and_query(c):
    status, _, body = c.step("GET", "/echo/a%20b?c=1")
    assert status == 200 and json.loads(body)["unit"] == "one"
    assert c.step("GET", "/echo/x")[0] == 200
    assert c.step("DELETE", "/echo/x")[0] == 200


def bodies(c):
    for method in ("POST", "PUT"):
        for body in (b"hello", b"", MB):
            status, length, front = c.step(
                method, "/back/x", "application/octet-stream", body)
            assert (status, length, front) == (200, len(body), body[:600])


def upload(c):
    status, length, front = c.step("UPLOAD", "/back/x", "-", MB)
    assert status == 200 and len(MB) < length < len(MB) + 2000
    assert b'filename="a.bin"' in front and MB[:200] in front


def redirects(c):
    status, _, body = c.step("GET", "/moved")
    assert status == 200 and json.loads(body)["path"] == "/landed"
    assert c.step("POST", "/kept", "text/plain", b"hello") == (200, 5, b"hello")


def articles(c):
    status, _, body = c.json("POST", "/api/articles", {
        "title": f"of {c.url}", "content": "c", "author": {"id": 1}})
    assert status == 201
    path = f"/api/articles/{json.loads(body)['id']}"
    assert json_of(c.step("GET", path))["content"] == "c"
    status, _, body = c.json("PUT", path, {
        "title": f"of {c.url}", "content": "d", "author": {"id": 1}})
    assert status == 200 and json.loads(body)["content"] == "d"
    assert c.step("GET", "/api/articles?num=1")[0] == 200
    assert c.json("POST", "/api/articles", {})[0] == 400
    assert c.step("DELETE", path)[0] == 204
    assert c.step("GET", path)[0] == 404


def speech(c):
    status, length, body = c.json("POST", "/speech", {"text": "a"})
    assert status == 200 and length > 4000 and body.startswith(b"RIFF")
    assert c.step("GET", "/speech/voices")[0] == 200


def downloads(c, source):
    status, _, body = c.json("POST", "/downloads/add",
                             {"url": source, "quality": "best"})
    assert status == 200 and json.loads(body)["status"] == "ok"
    name = os.path.basename(source)
    wait_for(lambda: c.step("GET", f"/downloads/download/{name}")[0] == 200, 20,
             "the download")
    status, length, front = c.step("GET", f"/downloads/download/{name}")
    assert (status, length, front) == (200, len(MB), MB[:600])
    assert c.step("GET", "/downloads/history")[0] == 200


# ---- the programs ----

def java(folder):
    subprocess.run(["javac", "-d", folder, f"{HERE}/Steps.java"], check=True,
                   timeout=busy(60))
    return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp",
            str(folder), "Steps"]


def go(folder):
    env = {**os.environ, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off",
           "GOFLAGS": "-p=2", "CGO_ENABLED": "0", "HOME": str(folder)}
    subprocess.run(["go", "build", "-o", f"{folder}/steps", f"{HERE}/steps.go"],
                   check=True, env=env, timeout=busy(120))
    return [f"{folder}/steps"]


def axios(_):
    packages = os.environ.get("CLIENT_PACKAGES", PACKAGES)
    if not os.path.isdir(f"{packages}/axios"):
        pytest.skip("axios is not here")
    return ["node", f"{HERE}/steps_axios.cjs", os.path.dirname(packages)]


PROGRAMS = {
    "java": ("javac", java),
    "go": ("go", go),
    "requests": ("python3", lambda _: ["/usr/bin/python3",
                                       f"{HERE}/steps_python.py", "requests"]),
    "httpx": ("python3", lambda _: ["/usr/bin/python3",
                                    f"{HERE}/steps_python.py", "httpx"]),
    "fetch": ("node", lambda _: ["node", f"{HERE}/steps_fetch.mjs"]),
    "axios": ("node", axios),
}


# A client may end its connection at a redirect, as axios does.
CONNECTIONS = 3


def connections(w, paths):
    """How many the client had, by the log of the server that it speaks to."""
    lines = [json.loads(x) for x in w.access_log().splitlines()]
    mine = [x for x in lines if x["uri"].split("/")[1].split("?")[0] in paths]
    return len({x["c"] for x in mine}), len(mine)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_steps(weir, tmp_path, name):
    program, make = PROGRAMS[name]
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    command = make(tmp_path)
    behind = weir(top=TOP, http=LOG, locations=SERVICES)
    front = weir(top=EGRESS, http=LOG, locations="".join(
        f'{{ path = "/{p}"; client_max_body_size = "10M"; module = "proxy"; '
        f'upstream = "http://127.0.0.1:{behind.http}"; }},' for p in PATHS))
    front.may_grow = True  # connections to the other one are kept
    for w in (behind, front):
        wait_for(lambda w=w: get(w.http, "/speech/voices").status == 200, 20,
                 "the voices")
        before = connections(w, PATHS)
        source = f"http://127.0.0.1:{behind.http}/{name}{w.http}.mp4"
        with open(f"{behind.prefix}/html/{os.path.basename(source)}",
                  "wb") as f:
            f.write(MB)
        c = Client(command, tmp_path, w.http)
        for steps in (get_and_query, bodies, upload, redirects, articles,
                      speech):
            steps(c)
        downloads(c, source)
        c.end()
        if w is behind:
            used, asked = connections(w, PATHS)
            assert asked - before[1] > 25
            assert used - before[0] <= CONNECTIONS
    used, asked = connections(front, PATHS)
    assert asked > 25 and used - before[0] <= CONNECTIONS
