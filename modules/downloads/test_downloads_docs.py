"""docs/downloads.md: its snippets, tables and pieces of weir.conf are right.  Its
commands are pasted by tests/live/test_pasted.py."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import subprocess

import pytest

from downloads_help import downloads, media  # pylint: disable=W0611
from http_client import get, request
from patience import busy
from socket_help import PACKAGES
from weir import HOSTS, TRACED, place, run, wait_for

__all__ = ["downloads", "media"]  # fixtures

pytestmark = pytest.mark.once

with open("docs/downloads.md", encoding="utf-8") as page:
    TEXT = page.read()


def blocks(text):
    """The pieces that are indented, by blank lines."""
    found = re.findall(r"(?<=\n\n)((?:    .*\n)+)", text)
    return [re.sub(r"^    ", "", b, flags=re.M).rstrip("\n") for b in found]


def paste(w, script):
    script = script.replace("127.0.0.1:8080", f"127.0.0.1:{w.http}")
    done = subprocess.run(
        ["sh", "-ec", script.replace("curl ", "curl -sS ")], cwd=w.prefix,
        capture_output=True, text=True, timeout=busy(40), check=False)
    assert done.returncode == 0 and not done.stderr, (script, done.stderr)
    return done.stdout


def all_done(w):
    """Nothing is active."""
    said = get(w.http, "/downloads/history", host="127.0.0.1")
    return said.status == 200 and not said.json()["queue"] and said.json()


def test_the_snippets_hear_it(downloads, media):
    d = downloads()
    url = media.file("/test.mp4", 1000)
    pieces = blocks(TEXT)
    address = f"127.0.0.1:{d.port}"
    node = next(b for b in pieces if "socket.io-client" in b)
    python = next(b for b in pieces if b.startswith("import socketio"))
    clients = [
        subprocess.Popen(["node", "-e", node.replace("127.0.0.1:8080",
                                                     address)],
                         env={"NODE_PATH": PACKAGES, "PATH": "/usr/bin:/bin"},
                         stdout=subprocess.PIPE, text=True),
        subprocess.Popen(["/usr/bin/python3", "-u", "-c", python.replace(
            "127.0.0.1:8080", address) + "\nprint('ready')\nclient.wait()"],
            stdout=subprocess.PIPE, text=True)]
    try:
        assert clients[0].stdout.readline() == "all 0 0 0\n"
        assert clients[1].stdout.readline() == "ready\n"
        d.added(url)
        while "finished test.mp4" not in (line := clients[0].stdout
                                          .readline()):
            assert line.startswith("test ")
        assert clients[1].stdout.readline() == "test finished\n"
    finally:
        for c in clients:
            c.kill()
            c.wait()
            c.stdout.close()


def test_fields_of_objects_are_those(downloads, media):
    """The table has each field, and no other."""
    d = downloads()
    url = media.file("/test.mp4", 1000)
    d.added(url)
    table = TEXT[TEXT.index("Objects have these fields"):]
    table = table[:table.index("## Clients of MeTube")]
    named = set(re.findall(r"`(\w+)`", " ".join(
        line.split("|")[1] for line in table.splitlines()
        if line.startswith("| `"))))
    assert set(d.wait_done(url)) == named


def test_names_of_the_configuration_are_those(downloads):
    begin = TEXT.index("`configuration` has MeTube's names")
    named = re.findall(r"`([A-Z_]+)`", TEXT[begin:TEXT.index("\n\n", begin)])
    with downloads().listen() as ears:
        told, = ears.all("configuration")
    assert set(told) == set(named)


def test_pieces_of_weir_conf_are_good(tmp_path):
    pieces = [b for b in blocks(TEXT) if b.startswith("downloads = ")]
    assert pieces
    for piece in pieces:
        (tmp_path / "metube").mkdir(exist_ok=True)
        place(tmp_path, re.sub(r'"\d+"', '"127.0.0.1:0"', piece))
        done = run("-t", "-c", "weir.conf", "-p", str(tmp_path),
                   prefix=tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_page_of_the_original_is_shown(weir, tmp_path):
    """Its files lie where the layers of the example look for them."""
    conf = next(b for b in blocks(TEXT) if "event_payload" in b)
    root = tmp_path / "page"
    root.mkdir()
    (root / "index.html").write_text("<p>the original's</p>")
    w = weir(conf.replace('listen = "8080";',
                          f'listen = "127.0.0.1:0"; {HOSTS}')
             .replace('"metube"', f'"{root}"') +
             f'\nstop_grace = "0"; {TRACED}\n')
    wait_for(lambda: all_done(w), 10)
    said = get(w.http, "/metube/", "Accept: text/html")
    assert (said.status, said.body) == (200, b"<p>the original's</p>")
    assert "yt-dlp" in get(w.http, "/metube/version").json()
    said = request(w.http, "POST", "/metube/start",
                   body=b'{"ids": ["http://a/b"]}')
    assert said.json() == {"status": "ok", "not_found": ["http://a/b"]}


def test_the_shipped_file_has_it(weir):
    with open("conf/weir.conf", encoding="utf-8") as f:
        conf = re.sub(r'^( *\{ listen = ")(127\.0\.0\.1:)?\d+"',
                      r'\g<1>127.0.0.1:0"', f.read(), flags=re.M)
    w = weir(conf)
    wait_for(lambda: all_done(w), 10)
    said = paste(w, "curl http://127.0.0.1:8080/downloads/version")
    assert json.loads(said)["engine"]
