"""modules/status as a load balancer sees it."""
# SPDX-License-Identifier: BSD-2-Clause

from http_client import get, request


def test_status(weir):
    w = weir()
    for path in ("/healthz", "/readyz"):
        a = get(w.http, path)
        assert a.status == 200, path
        a = request(w.http, "HEAD", path)
        assert a.status == 200 and a.body == b""
