"""An SQLite database is one weir's: a second one is refused."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import weir as weir_py
from http_client import get
from weir import place, run

LOCATION = ('{ path = "/control"; module = "relay"; '
            'rate = { rate = "100000/s"; }; },')


def parts(path, **more):
    return {"locations": LOCATION,
            "store": f'path = "{path}";', **more}


def start_second(tmp_path, path):
    """A weir of its own folder on the database of another one, to its end."""
    prefix = str(tmp_path / "second")
    place(prefix, weir_py.configuration(**parts(path)))
    return run("-c", f"{prefix}/weir.conf", "-p", prefix)


def refused(tmp_path, w, path):
    second = start_second(tmp_path, path)
    assert second.returncode == 2
    return (f"{path} is used by another weir, " in second.stderr and
            f"{w.prefix}/run/weir.pid (process {w.pid})" in second.stderr)


def test_the_second_weir_is_refused(weir, tmp_path):
    w = weir(**parts("run/weir.db"))
    assert refused(tmp_path, w, f"{w.prefix}/run/weir.db")
    assert get(w.http, "/control/relays").status == 200


def test_by_whatever_name_it_comes(weir, tmp_path):
    w = weir(**parts("run/weir.db"))
    os.symlink(f"{w.prefix}/run/weir.db", tmp_path / "alias.db")
    assert refused(tmp_path, w, f"{tmp_path}/alias.db")


def test_it_is_held_through_reloads_and_from_one_on(weir, tmp_path):
    w = weir(store='path = "run/weir.db";')
    w.set_config(**parts("run/weir.db"))
    w.reload()
    assert refused(tmp_path, w, f"{w.prefix}/run/weir.db")
    w.reload()
    assert refused(tmp_path, w, f"{w.prefix}/run/weir.db")


def test_it_is_free_when_the_first_is_gone(weir):
    w = weir(**parts("run/weir.db"))
    for number in (signal.SIGTERM, signal.SIGKILL):
        w.stop(number)
        w.end_all()
        w.start()
        w.status = None
        assert get(w.http, "/control/relays").status == 200
