"""What one address may hold of a worker's HTTP."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import time

import pytest

from http_client import get
from patience import busy
from share_help import HOG, Hog, NOBODY_EXEMPT, refusals, row
from test_http_filters import crypt, location, write
from test_limits import connect, served
from weir import wait_for

CHECKS = "http.password_checks"
CONNECTIONS = "worker_connections"


def proof(password):
    return "Authorization: Basic " + \
        base64.b64encode(f"ann:{password}".encode()).decode()


def test_passwords_of_others_are_checked(weir, tmp_path):
    """Whoever tries passwords all the time has half of the checks."""
    users = write(tmp_path / "users", f"ann:{crypt('x', '$2y$', 9)}\n")
    w = weir(top=NOBODY_EXEMPT, locations=location(
        "/in", f'auth = {{ type = "basic"; users_file = "{users}"; }};'))
    with Hog(w, 32, "/in/x", proof("wrong")) as hog:
        wait_for(hog.refused, 20, "its share")
        for i in range(20):
            began = time.monotonic()
            assert get(w.http, "/in/x", proof(f"wrong, too: {i}")).status == 401
            assert time.monotonic() - began < busy(1)
        told = row(w, CHECKS)
        assert told["limit"] == 16 and told["largest"] == HOG
        assert told["holds"] <= 8
        a = hog.refused()[0]
        assert a.header("retry-after") == "1" and b"share" in a.body
        assert refusals(w, CHECKS) > 0 and refusals(w, CHECKS, "full") == 0
    wait_for(lambda: row(w, CHECKS)["used"] == 0, 20, "no check is left")
    w.wait_log(r"http\.password_checks: 127\.0\.0\.2 is refused, it has its "
               "share")


# ---- connections ----

@pytest.fixture(name="forty")
def fixture_forty(weir):
    """40 places; from the 37th on idle connections go."""
    return weir(top=f"worker_connections = 40; {NOBODY_EXEMPT}",
                locations='{ path = "/e"; module = "echo"; routes = "* /*"; },')


def many(w, count, address):
    found = [connect(w.http, address) for _ in range(count)]
    assert all(served(s) for s in found)
    return found


def is_open(s):
    s.setblocking(False)
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        s.settimeout(busy(10))


def test_others_connect(forty):
    """Twice as many connections as there are places, all at work."""
    w = forty
    hog = [connect(w.http, HOG) for _ in range(80)]
    for s in hog:
        try:
            s.sendall(b"POST /e/x HTTP/1.1\r\nHost: t\r\n"
                      b"Content-Length: 1\r\n\r\n")
        except OSError:
            pass  # it was refused
    wait_for(lambda: sum(is_open(s) for s in hog) == 20, 20, "its share")
    for _ in range(20):
        began = time.monotonic()
        assert get(w.http, "/healthz").status == 200
        assert time.monotonic() - began < busy(1)
    told = row(w, CONNECTIONS)
    assert told["limit"] == 40 and told["largest"] == HOG
    assert told["holds"] == 20
    assert refusals(w, CONNECTIONS) == 60
    w.wait_log(r"worker_connections: 127\.0\.0\.2 is refused, it has its share")
    for s in hog:
        s.close()
    wait_for(lambda: row(w, CONNECTIONS)["largest"] != HOG, 20, "they are gone")


def test_an_idle_one_gives_way_to_a_new_one_of_its_address(forty):
    w = forty
    old = many(w, 20, HOG)
    for n in range(5):
        new = connect(w.http, HOG)
        assert served(new)
        wait_for(lambda: not is_open(old[n]), 20, "the oldest gives way")
        old.append(new)
    assert sum(is_open(s) for s in old) == 20
    for s in old:
        s.close()


def test_idle_ones_of_the_largest_go_first(forty):
    """However old those of others are."""
    w = forty
    few = many(w, 10, "127.0.0.3")
    hog = many(w, 19, HOG)
    more = many(w, 11, "127.0.0.4")
    assert all(served(s) for s in few + more)
    wait_for(lambda: sum(is_open(s) for s in hog) <= 16, 20, "room")
    for s in few + hog + more:
        s.close()
