""""weirctl test URL" tells what requests find: held against the answers of the
same weir."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from control_client import ctl, ctl_json
from http_client import Http
from test_http_locations import LOCATIONS, PATHS, config, quoted
from test_http_names import HOSTS, by_name
from test_http_names import ask as served_by
from tls_files import listen
from weir import free_port


def told(w, url):
    return ctl_json(w, "test", url)


def steps(w, url):
    return [row["step"] for row in told(w, url)]


def row_of(rows, step):
    return next(row for row in rows if row["step"] == step)


def line_of(w, row):
    name, line = row["where"].split(":")
    assert name == "weir.conf"
    with open(f"{w.prefix}/weir.conf", encoding="utf-8") as f:
        return f.read().split("\n")[int(line) - 1]


def ask(w, path, host="h.test"):
    with Http(w.http) as c:
        c.send("GET", path, "Connection: close", host=host)
        return c.answer()


def url(w, path="/", host="h.test"):
    return f"http://{host}:{w.http}{path}"


def test_the_location_that_answers(weir):
    w = weir(config(",\n".join(
        f'{{ path = {quoted(path)}; return = {{ text = "{i}"; }}; }}'
        for i, path in enumerate(LOCATIONS))))
    for path in PATHS:
        rows = told(w, url(w, path))
        location, end = row_of(rows, "location"), rows[-1]
        number = ask(w, path).body.decode()
        assert location["what"] == LOCATIONS[int(number)], path
        assert f'text = "{number}"' in line_of(w, location)
        assert (end["step"], end["what"]) == ("answer", "200")
        assert end["where"] == location["where"]
    why = {path: row_of(told(w, url(w, path)), "location")["why"]
           for path in ("/exact", "/long/x", "/x/13")}
    assert why == {"/exact": "this very path",
                   "/long/x": "the longest beginning that fits",
                   "/x/13": "a pattern that fits; $1 = 13"}


def test_the_server_that_answers(weir, tmp_path):
    port = free_port()
    w = weir(by_name(tmp_path, port))
    reasons = set()
    for host in HOSTS:
        rows = told(w, f"http://{host.split(':')[0].rstrip('.')}:{port}/") \
            if "[" not in host else told(w, f"http://[::1]:{port}/")
        letter = served_by(port, host)
        layers = row_of(rows, "layers")
        assert layers["what"] == "static"
        if letter != 421:  # the default's, which knows a few hosts only
            assert f'"{tmp_path}/{letter}"' in line_of(w, layers), host
        reasons.add(row_of(rows, "server")["why"])
    assert {"its name example.org is the host",
            "its name *.a.example.org fits the host",
            "its name www.example.co.* fits the host",
            "its name ~^x is the first pattern that fits the host",
            "the default of this address: no name fits"} <= reasons


RULES = r"""
  { path = "/new"; module = "echo"; access = [ "deny 10.0.0.0/8" ]; },
  { path = "/old"; rewrite = (
      { pattern = "^/old/gone/(.*)$"; to = "/new/$1"; then = "permanent"; },
      { pattern = "^/old/(?<id>[0-9]+)$"; to = "/new/$id"; },
      { pattern = "^/old/turn$"; to = "/old/turn"; } ); module = "hello"; },
  { path = "/slash"; trailing_slash = "redirect"; module = "hello"; },
  { path = "~ ^/slow/(a+)+$"; module = "hello"; }
"""


def test_rewrites_redirects_and_ends(weir):
    w = weir(config(
        RULES, 'rewrite = ( { pattern = "^/top/(.*)$"; to = "/old/$1?a=b"; } );'))
    rows = told(w, url(w, "/top/12?c=d"))
    assert [(r["step"], r["what"]) for r in rows[2:]] == [
        ("rewrite", "/old/12?a=b&c=d"), ("rewrite", "/new/12?a=b&c=d"),
        ("location", "/new"), ("filters", "access"), ("layers", "echo"),
        ("answer", "404")]
    assert rows[2]["why"] == "rules of the server"
    assert rows[3]["why"] == "rules of location /old"
    assert rows[6]["why"] == "asked in this order for /12"
    for path in ("/old/gone/x", "/slash/?a=1"):
        a, end = ask(w, path), told(w, url(w, path))[-1]
        assert end["what"] == str(a.status)
        assert end["why"].endswith(": sent to " + a.header("location"))
    for path in ("/old/turn", "/nothing", "/slow/" + "a" * 60 + "b"):
        end = told(w, url(w, path))[-1]
        assert end["what"] == str(ask(w, path).status), path
    assert "circle" in told(w, url(w, "/old/turn"))[-1]["why"]
    assert told(w, url(w, "/nothing"))[-1]["why"] == "no location fits"
    # Nobody asked: neither counted nor logged more than once by the requests.
    assert w.log().count("circle") <= 1
    # The next location has its turn when layers have no answer.
    assert steps(w, url(w, "/slash")) == [
        "address", "server", "location", "layers", "answer"]


def test_addresses(weir, certificates):
    w = weir(config('{ path = "/"; module = "hello"; }').replace(
        'listen = "127.0.0.1:0"',
        f'listen = ( {listen(certificates.group("localhost"), "127.0.0.1:0")},'
        ' { address = "127.0.0.1:0"; } )'))
    plain, secure = w.http, w.port("https")
    rows = told(w, f"https://h.test:{secure}/")
    assert rows[0]["what"] == f"127.0.0.1:{secure}"
    # A load balancer may have the port that a URL does not say.
    assert {f"127.0.0.1:{secure}", f"127.0.0.1:{plain}"} <= {
        r["what"] for r in told(w, "http://h.test/") if r["step"] == "address"}
    r = ctl(w, "test", f"https://h.test:{plain}/")
    assert r.returncode == 1 and "takes https at port" in r.stderr
    text = ctl(w, "test", f"http://h.test:{plain}/a").stdout
    assert text.split("\n")[0].split() == ["step", "what", "where", "why"]
    assert "location /" in text


@pytest.mark.parametrize("given,wanted", [
    ("http://h.test/%zz", '"%" must stand before'),
    ("http://h.test/../..", None),
    ("rtmp://h.test/live", "a URL of http or https, not of rtmp"),
    ("gopher://h.test/", "a URL must begin with"),
    ("http://", "there is no host"),
])
def test_what_is_no_url(weir, given, wanted):
    w = weir()
    r = ctl(w, "test", given)
    if wanted is None:
        assert r.returncode == 0 and "malformed path" in r.stdout
    else:
        assert r.returncode == 1 and wanted in r.stderr
