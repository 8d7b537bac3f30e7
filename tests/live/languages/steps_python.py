"""Python's requests or httpx, as the argument says: does the steps that it
reads, a line each, on one session, and tells how each ended
(test_languages.py)."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import sys

if sys.argv[1] == "httpx":
    import httpx
    session, BODY = httpx.Client(follow_redirects=True), "content"
else:
    import requests
    session, BODY = requests.Session(), "data"
for line in sys.stdin:
    method, url, kind, name = line.rstrip("\n").split("\t")
    body, more = None, {}
    if name != "-":
        with open(name, "rb") as f:
            body = f.read()
    if method == "UPLOAD":
        method = "POST"
        more["files"] = {"file": ("a.bin", body)}
    else:
        more[BODY] = body
        if kind != "-":
            more["headers"] = {"Content-Type": kind}
    a = session.request(method, url, timeout=60, **more)
    print(a.status_code, len(a.content),
          base64.b64encode(a.content[:600]).decode())
