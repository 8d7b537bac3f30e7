"""Every row of cases.json with module proxy in place of echo: the same answers,
from a server behind weir for each unit.

OPTIONS without a version is for all units, and weir puts their methods together
where it has them itself.  A server behind it answers for itself: the first
unit's methods are what Allow has then."""
# SPDX-License-Identifier: BSD-2-Clause

import http.server
import json
import re
import threading

import pytest

import version_cases as cases

EGRESS = 'egress = [ "allow loopback", "allow all" ];'


class Units(http.server.BaseHTTPRequestHandler):
    """What echo does: /NUMBER/path is for the routes of that unit.  Paths that
    it does not know are for the next one (X-Cascade: pass)."""
    protocol_version = "HTTP/1.1"
    units = []  # (name, routes, prefix)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def methods(self, routes, path):
        found = []
        for route in routes:
            method, pattern = route.split(" ")
            pattern = re.escape(pattern).replace(r"\*", ".*")
            if re.fullmatch(re.sub(r":\w+", "[^/]+", pattern), path):
                found.append(method)
        return found

    def tell(self, status, body, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = self.path.partition("?")[0]
        number, _, path = target[1:].partition("/")
        name, routes, prefix = self.units[int(number)]
        path = "/" + path.rstrip("/")
        if prefix and path.startswith(prefix):  # the path held no version
            path = path[len(prefix):] or "/"
        known = self.methods(routes, path)
        asked = "GET" if self.command == "HEAD" else self.command
        allow = sorted(set(known) | {"OPTIONS"} |
                       ({"HEAD"} if "GET" in known else set()))
        if not known:
            self.tell(404, b"", ("X-Cascade", "pass"))
        elif asked in known or "*" in known:
            body = json.dumps({"unit": name,
                               "version": self.headers["X-API-Version"]})
            self.tell(201 if asked == "POST" else 200, body.encode(),
                      ("Content-Type", "application/json"))
        elif asked == "OPTIONS":
            self.tell(204, b"", ("Allow", ", ".join(allow)))
        else:
            self.tell(405, b"", ("Allow", ", ".join(allow)))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer
    do_OPTIONS = do_HEAD = answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@pytest.fixture
def behind():
    server = Server(("127.0.0.1", 0), Units)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def proxied(port):
    """Instead of version_cases.echo()."""
    def layer(name, routes, prefix="", **_):
        Units.units.append((name, routes, prefix))
        return (f'{{ module = "proxy"; upstream = "http://127.0.0.1:{port}"; '
                f'uri = "/{len(Units.units) - 1}"; }}')
    return layer


def is_first_of_all(row, answer):
    """Whether what is missing of Allow is what other units have."""
    return row["request"]["method"] == "OPTIONS" and len(row["units"]) > 1 and \
        cases.words(answer.header("allow")) < set(row["weir"].get("allow", ()))


@pytest.mark.parametrize("slash", [False, True])
def test_rows(weir, behind, monkeypatch, slash):
    rows = cases.rows(slash)
    monkeypatch.setattr(cases, "echo", proxied(behind))
    w = weir(top=EGRESS, locations="\n".join(cases.location(r) for r in rows))
    w.may_grow = True  # connections are kept
    bad, first = [], 0
    for row in rows:
        answer = cases.ask(w.http, row)
        why = cases.wrong(row, answer)
        if why and is_first_of_all(row, answer):
            first += 1
        elif why:
            bad.append(f"{row['id']}: {why}")
    assert first <= 5
    assert not bad, f"{len(bad)} of {len(rows)} rows\n" + "\n".join(bad)
