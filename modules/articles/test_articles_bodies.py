"""What is in a body that is refused, on both databases."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import json
import os
import uuid

import pytest

import articles_help as a_
import database
from articles_help import JSON, body, error
from http_client import get, request as ask
from weir import Weir
from weir_fixtures import session_folder, use


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared(request, tmp_path_factory):
    """One weir of each database for all rows of a table."""
    backend = database.Sqlite()
    if request.param == "postgres":
        server = database.common_server(session_folder(request.config))
        backend = database.Postgres(server, "bodies_" + uuid.uuid4().hex[:8])
    with pytest.MonkeyPatch.context() as m:
        use(m, backend)
        w = Weir(tmp_path_factory.mktemp("shared"),
                 a_.location_text('max_content = 100;'))
    # What is asked is what is meant: SQLite's file is there, or is not.
    assert os.path.exists(f"{w.prefix}/{database.FILE}") == \
        (backend.name == "sqlite")
    yield w
    w.finish()
    if request.param == "postgres":
        backend.drop()


@pytest.mark.parametrize("members, word", [
    ({"title": None}, "title"), ({"title": ""}, "title"),
    ({"title": " \t\n"}, "title"), ({"title": 5}, "title"),
    ({"title": "a\0b"}, "title"), ({"title": "x" * 256}, "title"),
    ({"title": "\u00e9" * 256}, "title"), ({"content": None}, "content"),
    ({"content": ["x"]}, "content"), ({"content": "\0"}, "content"),
    ({"content": "x" * 101}, "content"), ({"author": None}, "author"),
    ({"author": 1}, "author"), ({"author": {}}, "author.id"),
    ({"author": {"id": 0}}, "author.id"),
    ({"author": {"id": 1.5}}, "author.id"),
    ({"author": {"id": "1"}}, "author.id"),
    ({"author": {"id": 2 ** 63}}, "author.id"),
    ({"author": {"id": 1, "name": 5}}, "author.name"),
    ({"author": {"id": 1, "name": "x" * 201}}, "author.name"),
    ({"created_at": "yesterday"}, "created_at"),
    ({"updated_at": 5}, "updated_at"),
])
def test_what_is_wrong_is_named(shared, members, word):
    sent = json.dumps({"title": "t", **a_.DEFAULT, **members}).encode()
    a = ask(shared.http, "POST", "/articles", JSON, body=sent)
    assert error(a, 400).startswith(word + " ")


def test_bodies_that_are_no_json(shared):
    bad = [b"{", b"[1,2", b"{} x", b'{"title": "\xff"}', b"\xef\xbb\xbf{}",
           b'{"title": "\\ud800"}', b"[" * 500000, b'{"a":1,"a":2}',
           b'{"a":' * 50000, b"[" + b"0," * 200000 + b"0]", b"{'a':1}",
           b"1" * 500000, b'"' + b"\\u0000" * 100000]
    for sent in bad:
        error(ask(shared.http, "POST", "/articles", JSON, body=sent), 422)
    for text in (b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xe2\x82",
                 b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80",
                 b"\\ud800", b"\\udc00", b"\\udc00\\ud800", b"\\ud800\\ud800"):
        for name in ("title", "content", "unknown"):
            sent = json.dumps({"title": "t", "content": "c", "unknown": "u",
                               "author": {"id": 1}, name: "@"}).encode()
            a = ask(shared.http, "POST", "/articles", JSON,
                    body=sent.replace(b"@", b"a" + text))
            said = error(a, 422)
            assert ("surrogate" if b"u" in text else "UTF-8") in said
        xml = (b"<article><title>a" + text + b"</title><content>c</content>"
               b"<author><id>1</id></author></article>")
        if b"u" not in text:
            error(ask(shared.http, "POST", "/articles",
                      "Content-Type: application/xml", body=xml), 422)
    for sent in (b"[]", b"null", b'"x"', b"5", b""):
        a = ask(shared.http, "POST", "/articles", JSON,
                "Content-Length: 0" if not sent else "X: y", body=sent)
        error(a, 400)
    many = b"{" + b",".join(b'"%d":0' % i for i in range(90000)) + b"}"
    error(ask(shared.http, "POST", "/articles", JSON, body=many), 400)
    assert get(shared.http, "/articles").json() == []


@pytest.mark.parametrize("sent, words", [
    (b"[" * 16 + b"]" * 16, "16 arrays and objects"),
    (b"1" * 64, "63 bytes"),
    (b"[" + b"0," * 100000 + b"0]", "100000 values"),
    (b'{"a": 1, "a": 1}', "twice"),
], ids=["depth", "number", "values", "twice"])
def test_limits_are_told(shared, sent, words):
    """Of what is ignored, too."""
    whole = b'{"title": "t", "content": "c", "author": {"id": 1}, "x": %s}'
    a = ask(shared.http, "POST", "/articles", JSON, body=whole % sent)
    assert words in error(a, 422)


def test_types(shared):
    for kind in ("text/plain", "application/jsonx", "application/x-a+yaml",
                 "application/merge-patch+json",
                 "application/json-patch+json"):
        a = ask(shared.http, "POST", "/articles", f"Content-Type: {kind}",
                body=body("t"))
        error(a, 415)
        assert "application/json" in a.header("accept-post")
    a = get(shared.http, "/articles", "Accept: image/png")
    error(a, 406)
    assert "application/json" in a.json()["detail"]
    assert a.header("vary") == "Accept"


def test_bodies_that_are_compressed(shared):
    """Who sends one is told why it is not read: gzip is no UTF-8."""
    sent = gzip.compress(body("squeezed"))
    for coding in "gzip", "GZIP", "deflate, gzip", "br":
        a = ask(shared.http, "POST", "/articles", JSON,
                f"Content-Encoding: {coding}", body=sent)
        error(a, 415)
        assert a.header("accept-encoding") == "identity"
        assert coding in a.json()["detail"]
    assert ask(shared.http, "POST", "/articles", JSON,
               "Content-Encoding: identity",
               body=body("not squeezed")).status == 201


def test_json_that_is_wrong_has_a_place(shared):
    for sent, place in ((b'{"title": "a",\n  "content": }',
                         "(line 2, column 14)"),
                        (b'{"title": "\xc3\xa9\xff"}', "(line 1, column 13)"),
                        (b'{"title": "a"', "too early (line 1, column 14)")):
        a = ask(shared.http, "POST", "/articles", JSON, body=sent)
        assert error(a, 422).endswith(place), a.body


def test_problem_details(shared):
    for accept, kind in (("application/problem+json",
                          "application/problem+json"),
                         ("application/json, application/problem+json;q=0.1",
                          "application/problem+json"),
                         ("*/*", "application/json; charset=UTF-8"),
                         ("application/problem+json;q=0, */*",
                          "application/json; charset=UTF-8")):
        a = get(shared.http, "/articles/77", f"Accept: {accept}")
        wanted = 406 if accept == "application/problem+json" else 404
        assert (a.status, a.header("content-type")) == (wanted, kind)
        assert a.json()["status"] == wanted
