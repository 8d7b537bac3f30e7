"""What -t and "weirctl test" try: what a start or a reload would open."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import socket

import pytest

from control_client import ctl
from http_client import get
from weir import free_port, run


def check(w):
    return run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)


def files(folder):
    return sorted(os.path.join(where, name)
                  for where, _, names in os.walk(folder) for name in names)


def line_with(w, words):
    with open(f"{w.prefix}/weir.conf", encoding="utf-8") as f:
        lines = f.read().splitlines()
    return next(n for n, line in enumerate(lines, 1) if words in line)


def is_refused(w, near, words):
    """By -t, by weirctl and by a reload; -t names the line."""
    before = files(w.prefix)
    done = check(w)
    assert done.returncode == 1, done.stdout
    line = int(re.search(r"weir\.conf:(\d+): ", done.stderr)[1])
    assert line == line_with(w, near), done.stderr
    assert re.search(words, done.stderr), done.stderr
    asked = ctl(w, "test")
    assert asked.returncode != 0
    assert f"weir.conf:{line}: " in asked.stderr + asked.stdout
    assert files(w.prefix) == before
    w.reload(good=False)


WRONG = {
    "error log": ({"log": "nowhere/error.log"}, "",
                  "cannot open log file nowhere/error.log: No such file"),
    "access log": ({"rtmp": 'access_log = "nowhere/a.log";'}, "access_log",
                   "cannot open log file nowhere/a.log"),
    "foreign address": ({"http_listen": '"192.0.2.1:8080"'}, "192.0.2.1",
                        "Cannot assign requested address"),
    "unix socket": ({"http_listen": '"unix:nowhere/weir.sock"'}, "nowhere",
                    "cannot listen on unix:nowhere/weir.sock: No such file"),
    "no socket": ({"http_listen": '"unix:weir.conf"'}, "unix:weir.conf",
                  "cannot listen on unix:weir.conf: File exists"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_opened(weir, name):
    parts, near, words = WRONG[name]
    w = weir()
    w.set_config(**parts)
    is_refused(w, near, words)


def test_a_port_of_somebody_else(weir):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        w = weir()
        w.set_config(http_listen=f'"127.0.0.1:{port}"')
        is_refused(w, str(port), f"{port} is in use by another program")
        assert f"pid {os.getpid()})" in check(w).stderr
        # Another weir is somebody else too.
        other = weir()
        w.set_config(http_listen=f'"127.0.0.1:{other.http}"')
        is_refused(w, str(other.http), f"pid {other.pid}\\)")


def test_ports_of_this_weir(weir, tmp_path):
    """Those that it has are no obstacle, nor are wider ones."""
    port, path = free_port(), f"{tmp_path}/a.sock"
    both = f'"127.0.0.1:{port}", "unix:{path}"'
    w = weir(workers=2, http_listen=both)
    for listen in (both, f'"127.0.0.2:{port}"', f'"{port}"', f'"*:{port}"'):
        w.set_config(workers=2, http_listen=listen)
        done = check(w)
        assert done.returncode == 0, done.stderr
        assert ctl(w, "test").returncode == 0
        w.reload()
        assert get(port, "/healthz", address=(
            "127.0.0.2" if "127.0.0.2" in listen else "127.0.0.1")).status \
            == 200


def test_a_try_leaves_nothing(weir, tmp_path):
    w = weir()
    w.set_config(http_listen=f'"127.0.0.1:{free_port()}", "unix:new.sock"',
                 rtmp='access_log = "run/new.log";', log="run/other.log")
    before = files(w.prefix)
    assert check(w).returncode == 0
    assert ctl(w, "test").returncode == 0
    assert files(w.prefix) == before
