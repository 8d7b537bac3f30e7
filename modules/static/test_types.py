"""modules/static: media types of weir.conf, of a file, and weir's own."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import os
import signal

import pytest

from http_client import get
from test_content import site, write
from weir import TRACED, place, run, wait_for

NGINX = "types {\n  text/html html;\n  application/x-foo foo\n  bar; }\n"


def types_of(w, *names):
    return [get(w.http, f"/s/{name}").header("content-type")
            for name in names]


def test_types(weir, tmp_path):
    path = tmp_path / "mime.types"
    path.write_text(NGINX)
    os.chmod(path, 0o644)
    w = weir(locations=site(
        f'types_file = "{path}"; types = [ "text/x-bar BAR", "a/tgz tar.gz" ]; '
        'default_type = "text/odd"; charset = "koi8-r"; gzip_static = true;'))
    for name in ("a.foo", "a.Bar", "a.html", "a.png", "a.odd", "x.tar.gz"):
        write(w, name, "x")
    assert types_of(w, "a.foo", "a.Bar", "a.html", "a.png", "a.odd",
                    "x.tar.gz") == [
        "application/x-foo", "text/x-bar; charset=koi8-r",
        "text/html; charset=koi8-r", "image/png",
        "text/odd; charset=koi8-r", "a/tgz"]
    path.write_text("application/x-new foo # as Apache has it\n")
    w.process.send_signal(signal.SIGHUP)
    wait_for(lambda: types_of(w, "a.foo") == ["application/x-new"], 10,
             "a type of the changed file")


def test_another_worker_reads_the_file_again(weir, tmp_path):
    path = tmp_path / "mime.types"
    path.write_text("application/x-old foo\n")
    w = weir(workers=1, locations=site(f'types_file = "{path}";'))
    w.allowed.append(r"was ended by signal 9")
    write(w, "a.foo", "x")
    assert types_of(w, "a.foo") == ["application/x-old"]
    path.write_text("application/x-new foo\n")
    first = w.workers()[0]
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: w.workers() not in ([], [first]), 10, "another worker")

    def answered():
        with contextlib.suppress(OSError, EOFError):
            return types_of(w, "a.foo") == ["application/x-new"]
    wait_for(answered, 10, "a type of the file as it is now")


def test_without_a_charset(weir):
    w = weir(locations=site('charset = "off";'))
    write(w, "a.html", "x")
    assert types_of(w, "a.html") == ["text/html"]


@pytest.mark.parametrize("more, wanted", [
    ('types = [ "foo" ];', 'types: "foo" is no media type'),
    ('types = [ "a/b" ];', "types: no ending of names stands behind"),
    ('types_file = "none";', "types_file none: No such file"),
    ('types_file = "weir.conf";', "weir.conf:1: "),
    ('default_type = "text";', "default_type must be a media type"),
    ('charset = "a b";', "charset must be a name, like utf-8"),
])
def test_mistakes(tmp_path, more, wanted):
    os.makedirs(tmp_path / "html")
    place(tmp_path, f"""{TRACED} http = {{ servers = ( {{ listen = "127.0.0.1:0";
locations = ( {site(more).rstrip(",")} ); }} ); }};""")
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    assert done.returncode != 0 and wanted in done.stderr, done.stderr
