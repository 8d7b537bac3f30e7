"""What one address may hold of a worker's HTTP."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import time

from http_client import get
from patience import busy
from share_help import HOG, Hog, NOBODY_EXEMPT, refusals, row
from test_http_filters import crypt, location, write
from weir import wait_for

CHECKS = "http.password_checks"


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
