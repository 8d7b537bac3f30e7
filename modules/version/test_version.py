"""modules/version as a client and an operator see it; the rows of cases.json
are in test_cases.py."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import subprocess
import threading

import pytest

import version_cases as cases
from http_client import Http, get, request
from weir import configuration, place, run
from version_cases import echo, layer

HEADER = {"vendor": "acme"}
ACME = "Accept: application/vnd.acme"


def unit(versions, *layers, **options):
    layers = layers or (echo("".join(versions), ["GET /x"]),)
    return (f"{{ versions = {cases.text(versions)}; "
            f"{cases.settings(options)} layers = ( {', '.join(layers)} ); }}")


def at(path, *layers, more=""):
    return f"{{ path = \"{path}\"; {more} layers = ( {', '.join(layers)} ); }},"


def names(answer, header):
    return [v for n, v in answer.headers if n == header.lower()]


# ---- rules of which cases.json has no row ----

BOTH = [unit(["v2"], echo("v2", ["GET /x", "GET /new"])),
        unit(["v1"], echo("v1", ["GET /x", "GET /old", "POST /x"]))]
MORE = "\n".join([
    at("/header", layer("header", HEADER, BOTH)),
    at("/status", layer("header", {**HEADER, "unmatched_status": 406}, BOTH)),
    at("/default", layer("header", {**HEADER, "default_version": "v1"}, BOTH)),
    at("/path", layer("path", {"default_version": "v1"}, BOTH)),
    at("/param", layer("param", {"strict": True}, BOTH)),
    at("/v", layer("accept_version_header", {}, BOTH),
       echo("NEXT", ["GET /x", "GET /next", "DELETE /x"])),
    at("/here", layer("accept_version_header", {"cascade": False}, BOTH),
       echo("NEXT", ["* /*"])),
    at("/onehere", layer("accept_version_header", {},
                         [BOTH[0], unit(["v1"], cascade=False)]),
       echo("NEXT", ["* /*"])),
])
# location, path, headers, status, unit, version
RULES = [
    # several versions of one unit, quality across units, exclusion
    ("/header", "/x", [ACME + "-v1;q=0.3, */*;q=0.2"], 200, "v1", "v1"),
    ("/header", "/x", [ACME + "-v1;q=0.2, */*;q=0.3"], 200, "v2", "v2"),
    ("/header", "/x", [ACME + "-v2;q=0, */*"], 200, "v1", "v1"),
    ("/header", "/old", [ACME + "-v2, */*;q=0.1"], 200, "v1", "v1"),
    ("/header", "/old", [ACME + "-v2"], 404, None, None),
    ("/header", "/x", ["Accept: */*;q=0"], 406, None, None),
    # two headers are one list
    ("/header", "/x", [ACME + "-v2;q=0.1", ACME + "-v1"], 200, "v1", "v1"),
    ("/header", "/x", ["Accept-Version: v1"], 200, "v2", "v2"),
    ("/status", "/x", [ACME + "-v9"], 406, None, None),
    ("/status", "/none", [ACME + "-v1"], 404, None, None),
    ("/default", "/x", [], 200, "v1", "v1"),
    ("/default", "/x", ["Accept: application/json"], 200, "v1", "v1"),
    ("/default", "/new", [], 404, None, None),
    ("/default", "/new", [ACME + "-v2"], 200, "v2", "v2"),
    ("/path", "/x", [], 200, "v1", "v1"),
    ("/path", "/v2/x", [], 200, "v2", "v2"),
    ("/path", "/v11/x", [], 404, None, None),
    ("/param", "/x", [], 404, None, None),
    ("/param", "/x?apiver=v1", [], 200, "v1", "v1"),
    ("/param", "/x?apiver=v1&apiver=v2", [], 200, "v2", "v2"),
    ("/param", "/x?apiver=%zz", [], 400, None, None),
    ("/param", "/x?apiver=%zz&apiver=v1", [], 400, None, None),
    ("/param", "/x?apiver[]=v1", [], 404, None, None),
    ("/v", "/x", ["Accept-Version: v1", "Accept-Version: v2"], 200, "NEXT",
     None),
    ("/v", "/next", ["Accept-Version: v1"], 200, "NEXT", None),
    ("/here", "/x", ["Accept-Version: v9"], 406, None, None),
    ("/here", "/none", ["Accept-Version: v1"], 404, None, None),
    ("/onehere", "/x", ["Accept-Version: v9"], 406, None, None),
    ("/onehere", "/none", ["Accept-Version: v2"], 200, "NEXT", None),
]


def test_rules(weir):
    w = weir(locations=MORE)
    for where, path, headers, status, name, version in RULES:
        a = get(w.http, where + path, *headers)
        assert a.status == status, (where, path, headers, a.body)
        if status == 200:
            served = a.json()
            assert (served["unit"], served["version"]) == (name, version), \
                (where, path, headers)


def test_methods_are_those_of_the_version(weir):
    w = weir(locations=MORE)
    a = request(w.http, "POST", "/v/x", "Accept-Version: v2")
    assert a.status == 405  # and not the DELETE of the next layer
    assert cases.words(a.header("allow")) == {"GET", "HEAD", "OPTIONS"}
    assert names(a, "api-supported-versions") == ["v2, v1"]
    a = request(w.http, "POST", "/v/x", "Accept-Version: v1")
    assert a.status == 201
    # No version named: whichever unit takes the method.
    assert request(w.http, "POST", "/v/x").json()["version"] == "v1"
    # The last word of a version layer comes before "/" knowing every path.
    a = request(w.http, "POST", "/header/x", ACME + "-v9")
    assert a.status == 404


# ---- what answers say ----

def test_headers(weir):
    units = [
        unit(["v3"]),
        unit(["v1", "v2"], deprecated="2026-01-02",
             sunset="2027-01-02T03:04:05Z",
             link=["https://a.example/v3",
                   "<https://a.example/why>; rel=\"deprecation\""])]
    w = weir(locations=at("/h", layer("header", HEADER, units)) +
             at("/v", layer("accept_version_header", {}, units)) +
             at("/p", layer("path", {}, units)))
    a = get(w.http, "/h/x", ACME + "-v3+json")
    assert names(a, "api-version") == ["v3"]
    assert names(a, "api-supported-versions") == ["v3, v1, v2"]
    assert names(a, "vary") == ["Accept"]
    assert not names(a, "deprecation") and not names(a, "sunset")
    assert a.json()["format"] == "json"
    assert a.header("content-type") == "application/json"
    for method in ("GET", "HEAD"):
        a = request(w.http, method, "/h/x", ACME + "-v1")
        assert names(a, "api-version") == ["v1"]
        assert names(a, "deprecation") == ["@1767312000"]
        assert names(a, "sunset") == ["Sat, 02 Jan 2027 03:04:05 GMT"]
        assert names(a, "link") == [
            '<https://a.example/v3>; rel="successor-version"',
            '<https://a.example/why>; rel="deprecation"']
    a = get(w.http, "/v/x", "Accept-Version: v2")
    assert names(a, "vary") == ["Accept-Version"]
    a = get(w.http, "/p/v2/x")
    assert names(a, "api-version") == ["v2"] and not names(a, "vary")


def test_errors_of_a_version_say_which(weir):
    units = [unit(["v2"], echo("v2", ["GET /x"])),
             unit(["v1"], echo("v1", ["GET /x"]), deprecated="2026-01-02",
                  sunset="2027-01-02", link=["https://a.example/v2"])]
    w = weir(locations=at("/h", layer("header", HEADER, units)) +
             at("/v", layer("accept_version_header", {}, units)) +
             at("/p", layer("path", {}, units)) +
             at("/q", layer("param", {"cascade": False}, units)))
    for base, query, *headers in (("/h", "", ACME + "-v1"),
                                  ("/v", "", "Accept-Version: v1"),
                                  ("/p/v1", ""), ("/q", "?apiver=v1")):
        for method, path, status in (("POST", "/x", 405), ("GET", "/no", 404),
                                     ("OPTIONS", "/x", 204)):
            a = request(w.http, method, base + path + query, *headers)
            assert a.status == status, base
            assert names(a, "api-version") == ["v1"], (base, path)
            assert names(a, "api-supported-versions") == ["v2, v1"]
            assert names(a, "deprecation") == ["@1767312000"]
            assert names(a, "sunset") == ["Sat, 02 Jan 2027 00:00:00 GMT"]
            assert names(a, "link") == [
                '<https://a.example/v2>; rel="successor-version"']
    # None is named, or two are: it is nobody's error.
    for accept in ([], ["Accept: */*"], [ACME + "-v1, application/vnd.acme-v2"]):
        for method, path, status in (("POST", "/x", 405), ("GET", "/no", 404)):
            a = request(w.http, method, "/h" + path, *accept)
            assert a.status == status and not names(a, "api-version"), accept
            assert names(a, "api-supported-versions") == ["v2, v1"]
            assert not names(a, "deprecation")


def test_errors(weir):
    w = weir(locations=at("/h", layer("header", {**HEADER, "strict": True},
                                      BOTH)) +
             at("/v", layer("accept_version_header", {"strict": True}, BOTH)))
    a = get(w.http, "/h/x")
    assert a.status == 406
    assert a.header("content-type") == "application/json"
    assert a.json()["status"] == 406
    assert "v2, v1" in a.json()["message"]
    assert names(a, "vary") == ["Accept"]
    assert names(a, "api-supported-versions") == ["v2, v1"]
    assert not names(a, "api-version")
    a = get(w.http, "/h/x", "Accept: application/problem+json")
    assert a.status == 406
    assert a.header("content-type") == "application/problem+json"
    said = a.json()
    assert list(said) == ["message", "type", "title", "status", "detail"]
    assert said["message"] == said["detail"]
    # An API's errors are no pages, not for browsers either.
    a = get(w.http, "/h/x", "Accept: text/html,*/*;q=0.8")
    assert a.header("content-type") == "application/json"
    a = get(w.http, "/v/x", "Accept-Version: v9")
    assert a.status == 406 and names(a, "vary") == ["Accept-Version"]
    w.wait_access_log(r"GET /v/x .* 406 ")
    metrics = Metrics(w)
    assert metrics["missing"] == 3 and metrics["unknown"] == 1


def test_refusals_of_filters_vary(weir):
    filters = {"access": ('access = "deny all";', 403),
               "rate": ('rate = ( { rate = "1/m"; } );', 429),
               "auth": ('auth = ( { type = "bearer"; tokens = '
                        '"0123456789abcdef0123"; } );', 401),
               "size": ('client_max_body_size = "4";', 413)}
    kinds = {"header": "Accept", "accept_version_header": "Accept-Version"}
    w = weir(locations="".join(
        at(f"/{f}-{k}", layer(k, HEADER, [unit(["v2"], echo("v2", ["* /x"])),
                                          unit(["v1"])]), more=more)
        for f, (more, _) in filters.items() for k in kinds))
    for name, (_, status) in filters.items():
        for kind, field in kinds.items():
            for _ in range(2):  # the second comes too fast
                a = request(w.http, "POST", f"/{name}-{kind}/x", body=b"12345")
            assert a.status == status, name
            assert names(a, "vary") == [field], name
            assert names(a, "api-supported-versions") == ["v2, v1"], name


class Metrics(dict):
    """weir_version_unmatched_total by reason."""

    def __init__(self, w):
        text = run("-M").stdout
        assert "weir_version_unmatched_total" in text
        with Http(w.http) as c:
            c.send("GET", "/metrics")
            text = c.answer().body.decode()
        for reason, value in re.findall(
                r'^weir_version_unmatched_total\{reason="(\w+)"\} (\d+)',
                text, re.M):
            self[reason] = int(value)


# ---- formats ----

FORMATS = [
    ([ACME + "-v1+json"], 200, "json"),
    ([ACME + "-v1+xml"], 200, "xml"),
    ([ACME + "-v1+xml;q=0.3, application/vnd.acme-v1+json;q=0.2"], 200, "xml"),
    ([ACME + "-v1+xml;q=0.2, application/vnd.acme-v1+json;q=0.3"], 200,
     "json"),
    ([ACME + "-v1+yaml"], 406, None),
    ([ACME + "-v1+yaml, application/xml;q=0.1"], 200, "xml"),
    ([ACME + "-v1"], 200, "json"),
    (["Accept: application/xml"], 200, "xml"),
    (["Accept: application/xml;q=0.8, application/json;q=0.9"], 200, "json"),
    (["Accept: text/html, application/xhtml+xml, */*;q=0.8"], 200, "json"),
    (["Accept: image/png"], 406, None),
    ([], 200, "json"),
]


def test_formats(weir):
    w = weir(locations=at("/h", layer("header", HEADER, [
        unit(["v1"], echo("v1", ["GET /x"], formats=["json", "xml"]))])))
    for headers, status, name in FORMATS:
        a = get(w.http, "/h/x", *headers)
        assert a.status == status, headers
        assert names(a, "vary") == ["Accept"], headers
        assert names(a, "api-version") == ["v1"], headers
        if status == 200:
            assert a.json()["format"] == name, headers


V1, V2 = "application/vnd.acme-v1", "application/vnd.acme-v2"
# Accept, status, version, format; units v2 (json, xml), v1 (json, xml, csv)
TOGETHER = [
    (f"{V2}+yaml, {V1}+json", 200, "v1", "json"),
    (f"{V2}+yaml, {V1}+json;q=0.5", 200, "v1", "json"),
    (f"{V2}+yaml;q=0.9, {V2}+json;q=0.2, {V1}+json;q=0.8", 200, "v1", "json"),
    (f"{V2}+yaml;q=0.9, {V2}+json;q=0.8, {V1}+json;q=0.2", 200, "v2", "json"),
    (f"{V2}+yaml;q=0.9, {V2}+json;q=0.5, {V1}+json;q=0.5", 200, "v2", "json"),
    (f"{V2}+yaml, {V1}+toml", 406, "v2", None),
    (f"{V1}+toml, {V2}+yaml;q=0.5", 406, "v1", None),
    (f"{V2}+yaml, */*;q=0.1", 200, "v2", "json"),
    (f"{V2}+yaml, {V1};q=0.1", 200, "v1", "json"),
    (f"{V2}+yaml;q=0.5, */*;q=0.5, {V1}+xml;q=0.5", 200, "v1", "json"),
    # an explicit version comes before what fits any
    (f"{V1}, application/json", 200, "v1", "json"),
    (f"{V1}+yaml, {V1};q=0.5, application/json;q=0.5", 200, "v1", "json"),
    # no version named: whoever has the format, in their order
    ("application/csv", 200, "v1", "csv"),
    ("application/csv, */*;q=0.1", 200, "v2", "json"),
    ("image/png", 406, "v2", None),
    ("application/vnd.acme+csv", 200, "v1", "csv"),
    ("application/vnd.acme+csv, application/vnd.acme+json;q=0.9", 200, "v1",
     "csv"),
    ("application/json;q=0, */*", 200, "v2", "xml"),
    (f"{V2}+json;q=0, {V2}+xml;q=0, */*", 200, "v1", "json"),
]


def test_version_and_format_are_one_choice(weir):
    units = [unit(["v2"], echo("v2", ["GET /x", "GET /only-v2"],
                               formats=["json", "xml"])),
             unit(["v1"], echo("v1", ["GET /x", "POST /only-v2"],
                               formats=["json", "xml", "csv"]))]
    both = [unit(["v1", "v2"], echo("both", ["GET /x"],
                                    formats=["json", "xml"]))]
    w = weir(locations=at("/h", layer("header", HEADER, units),
                          echo("NEXT", ["* /*"])) +
             at("/p", layer("path", {}, units)) +
             at("/b", layer("header", HEADER, both)))
    for accept, status, version, name in TOGETHER:
        a = get(w.http, "/h/x", "Accept: " + accept)
        assert a.status == status, accept
        assert names(a, "api-version") == [version], accept
        assert names(a, "vary") == ["Accept"], accept
        if status == 200:
            assert (a.json()["version"], a.json()["format"]) == \
                (version, name), accept
    # Nobody else has the resource, or has it for another method: 406 of the
    # one that has it, not 404 or 405, and not the next layer.
    a = get(w.http, "/h/only-v2", f"Accept: {V2}+yaml, {V1}+json")
    assert a.status == 406 and names(a, "api-version") == ["v2"]
    # The path says which version: another is no answer.
    a = get(w.http, "/p/v2/x", "Accept: application/csv")
    assert a.status == 406 and names(a, "api-version") == ["v2"]
    a = get(w.http, "/b/x", f"Accept: {V2}+yaml, {V1}+json")
    assert (a.status, a.json()["version"]) == (200, "v1")
    with Http(w.http) as c:  # one answer each, and the connection goes on
        for _ in range(2):
            c.send("GET", "/h/x", f"Accept: {V2}+yaml")
            assert c.answer().status == 406
            c.send("GET", "/h/x", f"Accept: {V2}+yaml, {V1}+json")
            assert c.answer().json()["version"] == "v1"


# ---- any module is a unit's layer ----

def test_other_modules(weir):
    w = weir(locations=at("/api", layer("accept_version_header", {}, [
        unit(["v2"], '{ module = "static"; root = "html"; }',
             '{ module = "hello"; greeting = "two"; }'),
        unit(["v1"], '{ module = "hello"; greeting = "one"; }'),
        unit(["v0"], '{ module = "status"; }', '{ module = "flv"; }')])))
    with open(f"{w.prefix}/html/file.txt", "w", encoding="utf-8") as f:
        f.write("a file")
    a = get(w.http, "/api/file.txt", "Accept-Version: v2")
    assert (a.status, a.body) == (200, b"a file")  # Landlock lets it through
    assert names(a, "api-version") == ["v2"]
    a = get(w.http, "/api/file.txt", "Accept-Version: v2",
            "If-None-Match: " + a.header("etag"))
    assert a.status == 304 and names(a, "api-version") == ["v2"]
    assert get(w.http, "/api/hello", "Accept-Version: v2").body == b"two\n"
    assert get(w.http, "/api/hello", "Accept-Version: v1").body == b"one\n"
    a = get(w.http, "/api/file.txt", "Accept-Version: v1")
    assert a.status == 404 and a.header("api-supported-versions")
    assert get(w.http, "/api/healthz", "Accept-Version: v0").status == 200
    w.wait_access_log(r"GET /api/hello")


def test_versions_in_bodies(weir):
    w = weir(locations=at("/api", layer("param", {}, [
        unit(["v2"], echo("v2", ["POST /x", "POST /y"])),
        unit(["v1"], echo("v1", ["POST /x"]))]),
        more='client_max_body_size = "64";'))
    form = "Content-Type: application/x-www-form-urlencoded"
    with Http(w.http) as c:  # the connection goes on
        for version in ("v1", "v2", "v1"):
            c.send("POST", "/api/x", form, body=f"a=b&apiver={version}"
                   .encode())
            assert c.answer().json()["version"] == version
        c.send("POST", "/api/x", form, "Transfer-Encoding: chunked")
        c.raw(b"5\r\napive\r\n")
        c.raw(b"4\r\nr=v1\r\n0\r\n\r\n")
        assert c.answer().json()["version"] == "v1"
        c.send("POST", "/api/y", form, body=b"apiver=v1")
        a = c.answer()
        assert a.status == 404
        c.send("POST", "/api/x", form, body=b"apiver=v9")
        assert c.answer().status == 404
        c.send("PUT", "/api/x", form, body=b"apiver=v1")
        a = c.answer()
        assert a.status == 405
        assert cases.words(a.header("allow")) == {"POST", "OPTIONS"}
    a = request(w.http, "POST", "/api/x", form, body=b"x" * 65)
    assert a.status == 413
    a = request(w.http, "POST", "/api/x", "Content-Type: text/plain",
                body=b"apiver=v1")
    assert a.json()["version"] == "v2"


def test_versions_in_a_form_with_files(weir, tmp_path):
    """Behind a short file, or in front of a long one."""
    w = weir(locations=at("/api", layer("param", {}, [
        unit(["v2"], echo("v2", ["POST /x"])),
        unit(["v1"], echo("v1", ["POST /x"]))]),
        more='client_max_body_size = "256K";'))
    upload = tmp_path / "upload"
    field, file = ["-F", "apiver=v1"], ["-F", f"file=@{upload}"]
    for times, form in ((1000, file + field), (4000, field + file)):
        upload.write_bytes(
            b"\r\n--x\r\nname=\"apiver\"\r\n\r\nv2\r\n" * times)
        done = subprocess.run(
            ["curl", "-sS", *form, f"http://127.0.0.1:{w.http}/api/x"],
            capture_output=True, check=True, timeout=60)
        assert json.loads(done.stdout)["version"] == "v1"


def test_layers_that_wait(weir):
    """flv waits for a publisher that does not come."""
    w = weir(locations=at("/api", layer("path", {}, [
        unit(["v2"], '{ module = "flv"; flv_wait = "300ms"; }',
             echo("behind", ["GET /*"])), unit(["v1"])])))
    a = get(w.http, "/api/v2/live/none.flv")
    assert a.status == 404 and names(a, "api-version") == ["v2"]
    a = get(w.http, "/api/v2/other")
    assert a.json()["unit"] == "behind"


def test_versions_within_versions(weir):
    inner = layer("accept_version_header", {}, [unit(["b"]), unit(["a"])])
    w = weir(locations=at("/api", layer("path", {}, [
        unit(["v2"], inner), unit(["v1"])])))
    a = get(w.http, "/api/v2/x", "Accept-Version: a")
    assert a.json()["version"] == "a" and a.json()["path"] == "/x"
    assert names(a, "api-version") == ["a"]
    a = get(w.http, "/api/v1/x", "Accept-Version: a")
    assert a.json()["version"] == "v1"
    a = get(w.http, "/api/v2/x", "Accept-Version: c")
    assert a.status == 404 and names(a, "vary") == ["Accept-Version"]


# ---- sizes ----

def test_versions_within_versions_say_one_version(weir):
    """The one that answered; what the outer one alone says stays."""
    inner = layer("accept_version_header", {}, [
        unit(["2.1"], link="/inner"), unit(["2.0"])])
    w = weir(locations=at("/api", layer("path", {}, [
        unit(["v2"], inner, deprecated="2026-01-02", link="/outer"),
        unit(["v1"])])))
    for target, more, status, version in (
            ("/api/v2/x", [], 200, "2.1"),
            ("/api/v2/x", ["Accept-Version: 2.0"], 200, "2.0"),
            ("/api/v2/none", ["Accept-Version: 2.0"], 404, "2.0"),
            ("/api/v1/x", [], 200, "v1")):
        a = get(w.http, target, *more)
        assert a.status == status
        for header in "API-Version", "API-Supported-Versions", "Deprecation":
            assert len(names(a, header)) <= 1, (target, a.headers)
        assert names(a, "API-Version") == [version]
        if status == 200:
            assert bool(names(a, "Deprecation")) == ("v2" in target)
            assert ("/outer" in str(names(a, "Link"))) == ("v2" in target)
    a = request(w.http, "DELETE", "/api/v2/x", "Accept-Version: 2.0")
    assert (a.status, names(a, "API-Version")) == (405, ["2.0"])


def test_a_plus_in_a_version(weir):
    """It means something in media types alone."""
    units = [unit(["v2"]), unit(["v1+beta"])]
    w = weir(locations=at("/path", layer("path", {}, units)) +
             at("/v", layer("accept_version_header", {}, units)) +
             at("/param", layer("param", {}, units)))
    for target, more in (("/path/v1+beta/x", []), ("/path/v1%2Bbeta/x", []),
                         ("/v/x", ["Accept-Version: v1+beta"]),
                         ("/param/x?apiver=v1%2Bbeta", [])):
        a = get(w.http, target, *more)
        assert (a.status, a.json()["version"]) == (200, "v1+beta")
        assert a.header("api-version") == "v1+beta"


def test_very_many_versions(weir):
    """As many units and versions as the manual says, each found."""
    units = [unit([f"v{i}"], echo(f"u{i}", ["GET /x"])) for i in range(256)]
    one = unit([f"w{i}" for i in range(256)], echo("one", ["GET /x"]))
    w = weir(locations=at("/units", layer("header", HEADER, units)) +
             at("/one", layer("header", HEADER, [one])))
    with Http(w.http) as c:
        for base, letter in (("/units", "v"), ("/one", "w")):
            for i in (0, 1, 63, 64, 127, 128, 254, 255):
                c.send("GET", base + "/x", f"{ACME}-{letter}{i}+json")
                a = c.answer()
                assert a.json()["version"] == f"{letter}{i}"
        # All are asked before nobody has it.
        c.send("GET", "/units/none")
        assert c.answer().status == 404


def test_refusals_say_how_to_name_a_version(weir):
    ways = {"path": ({}, "the path: /VERSION/..."),
            "header": (HEADER, "Accept: application/vnd.acme-VERSION+json"),
            "accept_version_header": ({}, "Accept-Version: VERSION"),
            "param": ({"parameter": "ver"}, "the parameter ver=VERSION")}
    two = [unit(["v2"]), unit(["v1"], strategy="accept_version_header")]
    w = weir(locations="".join(
        at("/" + s, layer(s, {"strict": True, **o}, BOTH))
        for s, (o, _) in ways.items()) + at("/two", layer("param", {}, two)))
    for strategy, (_, way) in ways.items():
        a = get(w.http, f"/{strategy}/x", "Accept: application/json")
        assert a.status in (404, 406)
        said = a.body.decode()
        assert f"; name one by {way}; versions: v2, v1" in said
    assert "the parameter apiver=VERSION, or by Accept-Version: VERSION;" in \
        get(w.http, "/two/x?apiver=v9", "Accept-Version: v9").body.decode()


def test_long_accept(weir):
    w = weir(locations=at("/h", layer("header", HEADER, BOTH)))
    members = ["text/x%d;q=0.5" % i for i in range(499)]
    accept = "Accept: " + ",".join(members) + ",application/vnd.acme-v1"
    assert len(accept) < 8192
    assert get(w.http, "/h/x", accept).json()["version"] == "v1"
    quoted = 'Accept: text/plain;x="' + "a," * 4000 + '"'
    assert get(w.http, "/h/x", quoted).json()["version"] == "v2"


# ---- reload and configuration ----

def test_reload(weir):
    def text(*units):
        return at("/api", layer("path", {}, list(units)))

    w = weir(workers=2, locations=text(unit(["v1"])))
    stop, bad = threading.Event(), []

    def ask():
        while not stop.is_set():
            a = get(w.http, "/api/v1/x")
            if a.status != 200 or a.json()["version"] != "v1":
                bad.append(a.status)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert get(w.http, "/api/v2/x").status == 404
        w.set_config(workers=2, locations=text(unit(["v2"]), unit(["v1"])))
        w.reload()
        assert get(w.http, "/api/v2/x").json()["version"] == "v2"
        w.set_config(workers=2, locations=text(unit(["v2", "v2"])))
        w.reload(good=False)
        assert get(w.http, "/api/v2/x").status == 200
    finally:
        stop.set()
        asking.join()
    assert not bad


MISTAKES = [
    ('units = (\n{ versions = [ "v1", "v1" ]; LAYERS } );', 2, '"v1"'),
    ('strategy = "query";\nunits = ( { LAYERS } );', 1, '"path"'),
    ('strategy = "header";\nunits = ( { LAYERS } );', 1, "vendor"),
    ('strategy = "path";\nunits = ( );', 2, "units"),
    ('units = (\n{ LAYERS\nsunst = "x"; } );', 3, '"sunset"'),
    ('\nunist = 1; units = ( { LAYERS } );', 2, '"units"'),
    ('units = ( { layers = (\n{ module = "ecko"; } ); } );', 2, '"echo"'),
    ('units = ( { layers = (\n{ module = "version"; units = (\n'
     '{ versions = [ "a", "a" ]; LAYERS } ); } ); } );', 3, '"a"'),
]


@pytest.mark.parametrize("text, line, words", MISTAKES)
def test_mistakes(tmp_path, text, line, words):
    text = text.replace("LAYERS", "layers = ( { module = \"hello\"; } );")
    whole = configuration(locations="\n{ path = \"/api\"; layers = ( "
                          "{ module = \"version\"; " + text + " } ); },")
    start = whole[:whole.index('path = "/api"')].count("\n")
    place(tmp_path, whole)
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    assert done.returncode == 1
    told = [m for m in done.stderr.splitlines() if re.search(r":\d+: ", m)]
    assert len(told) == 1, done.stderr
    assert f"weir.conf:{start + line}: " in told[0], done.stderr
    assert words in told[0], done.stderr


def test_print_reads_back(tmp_path):
    text = configuration(locations=MORE)
    place(tmp_path, text)
    first = run("-T", "-c", "weir.conf", "-p", str(tmp_path),
                prefix=tmp_path).stdout
    place(tmp_path, first)
    again = run("-T", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first
    assert first.count('module = "version"') == MORE.count('"version"')
