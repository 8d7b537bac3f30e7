"""Articles as a client sees them."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import json
import random

import pytest

import articles_help as a_
from articles_help import JSON, body, error, made, post, start, walk
from http_client import Http, get, request

pytestmark = pytest.mark.usefixtures("store_backend")


def put(w, number, *headers, method="PUT", kind=JSON, **members):
    return request(w.http, method, f"/articles/{number}", kind, *headers,
                   body=json.dumps(members).encode())


# ---- reading ----

def test_an_article_and_its_author(weir):
    w = start(weir)
    a = post(w, "one", created_at="2026-01-01T07:00:00.5+07:00",
             author={"id": 7, "name": "Ada"})
    assert a.status == 201
    assert list(a.json()) == ["id", "title", "content", "author",
                              "updated_at", "created_at"]
    assert a.json()["created_at"] == "2026-01-01T00:00:00Z"
    assert a.header("location") == f"http://test/articles/{a.json()['id']}"
    again = get(w.http, f"/articles/{a.json()['id']}")
    assert again.body == a.body and again.header("etag") == a.header("etag")
    # The name given last is his, everywhere; who gives none leaves it.
    assert made(w, "bob", author={"id": 7, "name": "Bob"})["author"]["name"] \
        == "Bob"
    assert get(w.http, "/authors/7").json()["name"] == "Bob"
    assert {a["author"]["name"] for a in get(w.http, "/articles").json()} == \
        {"Bob"}
    made(w, "ada", author={"id": 7, "name": "Ada"})
    assert made(w, "two", author={"id": 7, "name": ""})["author"]["name"] \
        == "Ada"
    assert made(w, "three", author={"id": 8})["author"]["name"] == ""
    assert made(w, "four", author={"id": 8, "name": "Eve"})["author"]["name"] \
        == "Eve"
    assert get(w.http, "/authors/8").json()["name"] == "Eve"
    assert [x["id"] for x in get(w.http, "/authors").json()] == [7, 8]
    assert [len(p) for p in walk(w, 1, "/authors")] == [1, 1]
    error(get(w.http, "/authors/9"), 404)
    by = get(w.http, "/articles?author=8").json()
    assert [x["title"] for x in by] == ["three", "four"]
    assert get(w.http, "/articles?author=99").json() == []
    error(get(w.http, "/articles?author=x"), 400)


def test_order_is_by_time_then_id(weir):
    w = start(weir)
    for i, at in enumerate(("2026-03-01", "2026-01-01", "2026-02-01",
                            "2026-01-01")):
        made(w, f"n{i}", created_at=at + "T00:00:00Z")
    titles = [a["title"] for p in walk(w, 1) for a in p]
    assert titles == ["n1", "n3", "n2", "n0"]


def test_cursors_are_bound_to_what_was_asked(weir):
    w = start(weir, workers=4)
    a_.make_many(w, 3)
    cursor = get(w.http, "/articles?num=1").header("x-cursor")
    for path in (f"/articles?author=1&cursor={cursor}",
                 f"/authors?cursor={cursor}", f"/articles?cursor={cursor}=",
                 f"/articles?cursor={cursor[:-1]}", "/articles?cursor=x",
                 f"/articles?cursor={cursor}A"):
        assert error(get(w.http, path), 400) == "given Param is not valid"
    for _ in range(12):  # any worker takes it
        a = get(w.http, f"/articles?num=1&cursor={cursor}")
        assert [x["title"] for x in a.json()] == ["n 1"]
    link = get(w.http, "/articles?x=%3E&num=1&&cursor=").header("link")
    assert link == f'</articles?x=%3E&num=1&cursor={cursor}>; rel="next"'
    w.stop()
    w.start()  # and after a restart
    a = get(w.http, f"/articles?num=1&cursor={cursor}")
    assert [x["title"] for x in a.json()] == ["n 1"]


def test_pages_that_do_not_fit_are_shorter(weir):
    w = start(weir, "max_num = 3;", http='client_max_body_size = "3M";')
    ids = []
    for i in range(7):
        size = 900000 if i % 2 == 0 else 10
        ids.append(made(w, f"n{i}", content="\n" * size)["id"])
    for num in (1, 2, 3, 100):
        pages = walk(w, num)
        assert a_.ids_of(pages) == ids
        assert max(len(p) for p in pages) <= min(num, 3)
    assert a_.ids_of(walk(w, 100, query="&author=1")) == ids


def test_head_and_options(weir):
    w = start(weir, "edit = true;")
    number = made(w, "one")["id"]
    for path in ("/articles", f"/articles/{number}", "/authors", "/authors/1"):
        whole, head = get(w.http, path), request(w.http, "HEAD", path)
        assert head.status == 200 and head.body == b""
        for name in ("content-length", "etag", "content-type"):
            assert head.header(name) == whole.header(name) is not None
        options = request(w.http, "OPTIONS", path)
        assert options.status == 204
        allow = options.header("allow")
        refused = request(w.http, "LOCK", path)
        assert refused.status == 405 or refused.status == 501
        if refused.status == 405:
            assert set(refused.header("allow").split(", ")) == \
                set(allow.split(", "))
    a = request(w.http, "OPTIONS", f"/articles/{number}")
    assert "PATCH" in a.header("allow")
    assert "application/merge-patch+json" in a.header("accept-patch")


def test_gzip(weir):
    w = start(weir, http="gzip = true; gzip_min_length = 100;")
    number = made(w, "one", content="x" * 1000)["id"]
    plain = get(w.http, f"/articles/{number}")
    packed = get(w.http, f"/articles/{number}", "Accept-Encoding: gzip")
    assert packed.header("content-encoding") == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.header("etag") == "W/" + plain.header("etag")
    # Its tag does for both: what is meant is the article.
    tag = packed.header("etag")
    assert get(w.http, f"/articles/{number}", f"If-None-Match: {tag}",
               "Accept-Encoding: gzip").status == 304
    assert request(w.http, "DELETE", f"/articles/{number}",
                   f"If-Match: {tag}").status == 204


# ---- conditions ----

def test_conditions(weir):
    w = start(weir, "edit = true;")
    a = post(w, "one")
    path, tag = f"/articles/{a.json()['id']}", a.header("etag")
    same = get(w.http, path, f'If-None-Match: "x", {tag}')
    assert same.status == 304 and same.body == b""
    assert same.header("etag") == tag
    assert get(w.http, path, "If-None-Match: *").status == 304
    assert get(w.http, path, 'If-None-Match: "x"').status == 200
    assert get(w.http, path, f"If-Match: {tag}").status == 200
    error(get(w.http, path, 'If-Match: "x"'), 412)
    changed = put(w, a.json()["id"], f"If-Match: {tag}", title="one",
                  content="new", author={"id": 1})
    assert changed.status == 200 and changed.header("etag") != tag
    assert changed.json()["content"] == "new"
    error(put(w, a.json()["id"], f"If-Match: {tag}", title="one",
              content="lost", author={"id": 1}), 412)
    error(request(w.http, "DELETE", path, f"If-Match: {tag}"), 412)
    error(request(w.http, "DELETE", path, "If-None-Match: *"), 412)
    assert get(w.http, path).body == changed.body
    assert request(w.http, "DELETE", path, "If-Match: *").status == 204
    error(request(w.http, "DELETE", path, "If-Match: *"), 404)


def test_conditions_of_all_that_is_read(weir):
    w = start(weir, "edit = true;")
    a_.make_many(w, 3)
    number = get(w.http, "/articles").json()[0]["id"]
    for path in (f"/articles/{number}", "/articles", "/articles?num=2",
                 "/authors", "/authors/1", "/openapi.json"):
        for _ in range(2):  # made, and perhaps kept
            tag = get(w.http, path).header("etag")
            for expected in ("*", tag, f'"x", {tag}',
                             tag[2:] if tag.startswith("W/") else "W/" + tag):
                a = get(w.http, path, f"If-Match: {expected}")
                assert (a.status, a.header("etag")) == (200, tag), path
                a = get(w.http, path, f"If-Match: {expected}",
                        f"If-None-Match: {tag}")
                assert a.status == 304 and a.header("etag") == tag
            for other in ('"zz"', "zz", '"x", "y"', ""):
                a = get(w.http, path, f"If-Match: {other}")
                error(a, 412)
                assert a.header("x-cursor") is a.header("link") is None
            # What is not expected is not looked for (RFC 9110, 13.2.2).
            error(get(w.http, path, 'If-Match: "zz"', "If-None-Match: *"), 412)
            assert get(w.http, path, "If-None-Match: *").status == 304
            head = request(w.http, "HEAD", path, 'If-Match: "zz"')
            assert head.status == 412 and head.body == b""
    error(get(w.http, "/authors/99", "If-Match: *"), 404)
    # Changed: the tag from before is not there any more.
    tag = get(w.http, "/articles").header("etag")
    assert put(w, number, method="PATCH", content="new").status == 200
    error(get(w.http, "/articles", f"If-Match: {tag}"), 412)


def test_a_page_changes_its_tag_with_what_it_shows(weir):
    w = start(weir, "edit = true;")
    number = made(w, "one")["id"]
    seen = set()

    def look():
        a = get(w.http, "/articles?num=2")
        tag = a.header("etag")
        assert tag.startswith('W/"') and tag not in seen
        seen.add(tag)
        assert get(w.http, "/articles?num=2",
                   f"If-None-Match: {tag}").status == 304
        return a.json()
    look()
    assert put(w, number, method="PATCH", content="new").status == 200
    assert look()[0]["content"] == "new"
    made(w, "two", author={"id": 1, "name": "Late"})
    assert look()[0]["author"]["name"] == "Late"
    made(w, "three")
    assert len(look()) == 2  # there is a next page now


# ---- editing ----

def test_put_and_patch(weir):
    w = start(weir, "edit = true;")
    first = made(w, "one", created_at="2026-01-01T00:00:00Z",
                 updated_at="2026-01-01T00:00:00Z")
    made(w, "two")
    number = first["id"]
    a = put(w, number, method="PATCH", content="other",
            kind="Content-Type: application/merge-patch+json")
    assert a.status == 200
    assert a.json()["title"] == "one" and a.json()["content"] == "other"
    assert a.json()["created_at"] == "2026-01-01T00:00:00Z"
    assert a.json()["updated_at"] > "2026-01-01T00:00:00Z"
    assert get(w.http, f"/articles/{number}").body == a.body
    a = put(w, number, title="uno", content="c", author={"id": 5},
            updated_at="2026-02-02T00:00:00Z")
    assert a.json()["author"]["id"] == 5
    assert a.json()["updated_at"] == "2026-02-02T00:00:00Z"
    assert "exist" in error(put(w, number, method="PATCH", title="two"), 409)
    assert "title" in error(put(w, number, method="PATCH", title=None), 400)
    assert "content" in error(put(w, number, title="x", author={"id": 1}),
                              400)
    error(put(w, 999, title="x", content="c", author={"id": 1}), 404)
    for kind in "text/plain", "application/json-patch+json":
        refused = put(w, number, method="PATCH", kind=f"Content-Type: {kind}")
        error(refused, 415)
        assert "merge-patch" in refused.header("accept-patch")
    assert get(w.http, f"/articles/{number}").json()["title"] == "uno"


def test_a_patch_changes_what_it_names(weir):
    """RFC 7396: in the author too, where null and what is required meet."""
    w = start(weir, "edit = true;")
    whole = made(w, "one", author={"id": 7})
    number = whole["id"]

    def patch(**members):
        return put(w, number, method="PATCH", **members)

    for nothing in ({}, {"author": {}}, {"other": {"a": None}},
                    {"author": {"name": None}}, {"author": {"other": 1}},
                    {"created_at": None}):
        a = patch(**nothing, updated_at=whole["updated_at"])
        assert (a.status, a.json()) == (200, whole), nothing
    a = patch(author={"name": "Ada"})
    assert a.status == 200
    assert (a.json()["author"]["id"], a.json()["author"]["name"]) == \
        (7, "Ada")
    assert get(w.http, "/authors/7").json()["name"] == "Ada"
    assert get(w.http, f"/articles/{number}").body == a.body
    assert a.json()["author"]["updated_at"] >= whole["updated_at"]
    a = patch(author={"name": "Bob"})
    assert a.json()["author"]["name"] == "Bob"
    assert get(w.http, f"/articles/{number}").body == a.body
    a = patch(author={"id": 8})
    assert (a.json()["author"]["id"], a.json()["author"]["name"]) == (8, "")
    assert a.json()["title"] == "one" and a.json()["content"] == "c"
    for members, word in (({"author": None}, "author "),
                          ({"author": {"id": None}}, "author.id "),
                          ({"author": {"id": 0}}, "author.id "),
                          ({"author": {"name": 5}}, "author.name "),
                          ({"author": []}, "author "),
                          ({"content": None}, "content "),
                          ({"title": None, "content": "x"}, "title ")):
        assert error(patch(**members), 400).startswith(word)
    for body_ in (b"[]", b"null", b'"x"'):
        error(request(w.http, "PATCH", f"/articles/{number}", JSON,
                      body=body_), 400)
    assert get(w.http, f"/articles/{number}").json()["author"]["id"] == 8
    # PUT takes no part of an author.
    error(put(w, number, title="t", content="c", author={"name": "N"}), 400)


@pytest.mark.parametrize("cache", ["4M", "0"])
def test_not_modified_says_what_its_200_says(weir, cache):
    """Vary and ETag, by which caches know what they have; compressed, too
    short for that, and for who takes no gzip."""
    w = start(weir, f'cache = "{cache}";', http="gzip = true;")
    long, short = (made(w, t, content="c" * n)["id"]
                   for t, n in (("long", 5000), ("short", 1)))
    for path in (f"/articles/{long}", f"/articles/{short}", "/articles?num=1",
                 "/authors", "/authors/1", "/openapi.json"):
        for more in ([], ["Accept-Encoding: gzip"],
                     ["Accept-Encoding: gzip", "Accept: application/xml"]):
            a = get(w.http, path, *more)
            assert a.status == 200
            tag = a.header("etag")
            assert (a.header("content-encoding") == "gzip") == \
                bool(more and len(a.body) > 0 and tag.startswith("W/") and
                     a.header("content-encoding"))
            for _ in range(2):
                b = get(w.http, path, f"If-None-Match: {tag}", *more)
                assert b.status == 304 and b.body == b""
                for name in ("etag", "vary", "cache-control", "x-cursor",
                             "link", "access-control-allow-origin"):
                    assert b.header(name) == a.header(name), (path, more, name)


def test_what_is_kept_goes_by_the_rewritten_path(weir):
    w = start(weir, http='rewrite = { pattern = "^/mine$"; '
                         'to = "/articles/$http_x_id?"; };')
    ids = [made(w, title)["id"] for title in ("one", "two")]
    for _ in range(2):
        told = [get(w.http, "/mine", f"X-Id: {i}").json()["title"]
                for i in ids]
        assert told == ["one", "two"]


def test_a_slash_behind_the_path(weir):
    w = start(weir, "edit = true; envelope = true;")
    a = request(w.http, "POST", "/articles/", JSON, body=body("one"))
    assert a.status == 201
    number = a.json()["data"]["id"]
    assert a.header("location") == f"http://test/articles/{number}"
    post(w, "two")
    for path in ("/articles", f"/articles/{number}", "/authors",
                 "/authors/1", "/articles?num=1"):
        slashed = path.replace("?", "/?") if "?" in path else path + "/"
        for method in "GET", "HEAD", "OPTIONS":
            one, two = (request(w.http, method, p) for p in (path, slashed))
            assert (one.status, one.body, one.header("etag"),
                    one.header("allow"), one.header("x-cursor")) == \
                (two.status, two.body, two.header("etag"),
                 two.header("allow"), two.header("x-cursor"))
            assert two.status in (200, 204)
    assert put(w, f"{number}/", method="PATCH", title="uno").status == 200
    assert request(w.http, "DELETE", f"/articles/{number}/").status == 204
    assert get(w.http, "/articles//").status in (200, 404)
    error(get(w.http, f"/articles/{number}/x"), 404)


def test_browsers_get_json(weir):
    """Their Accept likes pages best, which there are none of, then XML, which
    nobody who looks at an address in a browser has asked for."""
    w = start(weir)
    made(w, "one")
    chrome = ("text/html,application/xhtml+xml,application/xml;q=0.9,"
              "image/avif,image/webp,*/*;q=0.8")
    json_, xml = "application/json", "application/xml"
    for accept, kind in ((chrome, json_), ("text/html, */*;q=0.1", json_),
                         ("text/html, application/xml;q=0.9", xml),
                         ("text/html;q=0.5, application/xml, */*;q=0.1", xml),
                         ("application/xml;q=0.9, */*;q=0.8", xml),
                         ("text/html;q=0, application/xml, */*;q=0.8", xml),
                         (chrome + ",application/json;q=0", xml)):
        for path, status in (("/articles", 200), ("/articles/99", 404)):
            a = get(w.http, path, f"Accept: {accept}")
            assert (a.status, a.header("content-type")) == \
                (status, kind + "; charset=UTF-8"), accept


def test_edits_that_change_nothing_leave_the_tag(weir):
    w = start(weir, "edit = true;")
    long_ago = "2026-01-01T00:00:00Z"
    whole = made(w, "one", author={"id": 7, "name": "Ada"},
                 updated_at=long_ago)
    number = whole["id"]
    path = f"/articles/{number}"
    tag = get(w.http, path).header("etag")
    for method, members in (("PATCH", {}), ("PATCH", {"title": "one"}),
                            ("PATCH", {"author": {"name": "Ada"}}),
                            ("PATCH", {"author": {"id": 7}}),
                            ("PATCH", {"updated_at": long_ago}),
                            ("PUT", {"title": "one", "content": "c",
                                     "author": {"id": 7}}), ("PUT", whole)):
        a = put(w, number, method=method, **members)
        assert (a.status, a.json(), a.header("etag")) == (200, whole, tag), \
            members
    for members in ({"content": "d"}, {"author": {"name": "Bob"}},
                    {"updated_at": long_ago}, {"author": {"id": 8}}):
        a = put(w, number, method="PATCH", **members)
        assert a.header("etag") != tag, members
        tag = get(w.http, path).header("etag")
        assert tag == a.header("etag")


def test_edits_at_the_same_time_are_not_lost(weir):
    w = start(weir, "edit = true;", workers=4)
    number = made(w, "one")["id"]
    seconds = [f"2026-01-01T00:00:{i:02}Z" for i in range(20)]
    names = [f"title {i}" for i in range(20)]
    told = a_.at_once([lambda m=m: put(w, number, method="PATCH", **m).status
                       for m in ([{"title": n} for n in names] +
                                 [{"created_at": s} for s in seconds])])
    assert set(told) == {200}
    last = get(w.http, f"/articles/{number}").json()
    # Nobody's is undone by who changed something else.
    assert last["title"] in names and last["created_at"] in seconds


def test_editing_is_off_unless_set(weir):
    w = start(weir)
    number = made(w, "one")["id"]
    for method in ("PUT", "PATCH"):
        a = put(w, number, method=method, title="x")
        error(a, 405)
        assert set(a.header("allow").split(", ")) == \
            {"GET", "HEAD", "DELETE", "OPTIONS"}


# ---- bodies ----

def test_a_body_that_is_too_long(weir):
    w = start(weir, http='client_max_body_size = "1k";', size="")
    error(post(w, "one", content="x" * 2000), 413)


def test_titles_are_compared_exactly(weir):
    w = start(weir)
    for t in ("A", "a", "\u00e9", "e\u0301", "a ", "\U0001f600" * 255):
        assert post(w, t).status == 201
        assert error(post(w, t), 409) == "your Item already exist"
    assert len(get(w.http, "/articles").json()) == 6


def test_the_longest_title_fits_every_index(weir):
    """600 characters of four bytes, which no database can make shorter."""
    w = start(weir, "max_title = 600;")
    r = random.Random(1)
    title = "".join(chr(r.randrange(0x10000, 0x110000)) for _ in range(600))
    assert made(w, title)["title"] == title
    assert error(post(w, title), 409)
    assert get(w.http, "/articles").json()[0]["title"] == title
    assert error(post(w, title + "x"), 400).startswith("title ")


def test_ids_are_not_used_again(weir):
    w = start(weir)
    ids = a_.make_many(w, 3)
    assert request(w.http, "DELETE", f"/articles/{ids[-1]}").status == 204
    assert made(w, "next")["id"] > ids[-1]


# ---- Idempotency-Key ----

def test_idempotency(weir):
    w = start(weir, workers=4)
    first = post(w, "one", "Idempotency-Key: k1")
    assert first.status == 201
    assert first.header("idempotent-replayed") is None
    for _ in range(4):
        again = post(w, "one", "Idempotency-Key: k1")
        assert again.status == 201 and again.body == first.body
        assert again.header("etag") == first.header("etag")
        assert again.header("location") == first.header("location")
        assert again.header("idempotent-replayed") == "true"
    error(post(w, "two", "Idempotency-Key: k1"), 422)
    error(post(w, "one", "Idempotency-Key: k2"), 409)
    error(post(w, "one"), 409)
    error(post(w, "x", "Idempotency-Key: " + "k" * 256), 400)
    # Who was refused may try again with the same key.
    assert request(w.http, "DELETE",
                   f"/articles/{first.json()['id']}").status == 204
    assert post(w, "one", "Idempotency-Key: k2").status == 201
    # The answer is the same although the article is gone.
    assert post(w, "one", "Idempotency-Key: k1").body == first.body


def test_one_key_at_the_same_time(weir):
    w = start(weir, workers=4)
    answers = a_.at_once([lambda: post(w, "one", "Idempotency-Key: k")
                          for _ in range(16)])
    assert {a.status for a in answers} == {201}
    assert len({a.body for a in answers}) == 1
    assert sum(a.header("idempotent-replayed") is None for a in answers) == 1
    assert len(get(w.http, "/articles").json()) == 1


def test_keys_are_forgotten(weir):
    w = start(weir, 'idempotency_time = "1s";')
    a = post(w, "one", "Idempotency-Key: k")
    request(w.http, "DELETE", f"/articles/{a.json()['id']}")

    def forgotten():
        return post(w, "one", "Idempotency-Key: k").json()["id"] != \
            a.json()["id"]
    a_.wait_for(forgotten, 10, "a new article")


# ---- who may ----

FAR = "X-Forwarded-For: 192.0.2.1"


def test_write_access(weir):
    w = start(weir, "edit = true;", http='trusted_proxies = "127.0.0.1";')
    number = made(w, "one")["id"]
    for a in (post(w, "two", FAR), put(w, number, FAR, title="x"),
              put(w, number, FAR, method="PATCH", title="x"),
              request(w.http, "DELETE", f"/articles/{number}", FAR)):
        error(a, 403)
    assert get(w.http, "/articles", FAR).json()[0]["title"] == "one"
    w.wait_log(r"articles: 192\.0\.2\.1\S* may not write")
    counted = get(w.http, "/metrics").body.decode()
    assert 'weir_articles_refused_total{reason="write_access"} 4' in counted


EXPOSED = {"X-Cursor", "Link", "ETag", "Location", "Retry-After",
           "Idempotent-Replayed", "API-Version", "API-Supported-Versions",
           "Deprecation", "Sunset"}


def exposed(a):
    """By all fields of that name."""
    return {name.strip() for field, value in a.headers
            if field == "access-control-expose-headers"
            for name in value.split(",")}


def test_pages_of_other_sites(weir):
    w = start(weir)
    a = get(w.http, "/articles", "Origin: https://other.example")
    assert a.header("access-control-allow-origin") == "*"
    assert EXPOSED <= exposed(a)
    error(post(w, "one", "Origin: https://other.example"), 403)
    assert post(w, "one", "Origin: http://test").status == 201
    open_ = start(weir, 'write_access = "allow all";')
    assert post(open_, "two", "Origin: https://other.example").status == 201
    assert error(get(open_.http, "/articles/99"), 404)


def test_behind_access_and_cors(weir):
    location = ('{ path = "/in"; module = "articles"; %s },')
    w = start(weir, before=location % 'access = [ "deny all" ];' +
              location.replace("/in", "/x") %
              'cors = { allow_origins = "https://a.example"; '
              'allow_methods = ["GET", "POST"]; '
              'expose_headers = "X-Mine"; };')
    refused = get(w.http, "/in/articles")
    error(refused, 403)
    assert refused.header("access-control-allow-origin") is None
    a = request(w.http, "POST", "/x/articles", JSON,
                "Origin: https://a.example", body=body("one"))
    assert a.status == 201
    assert a.header("access-control-allow-origin") == "https://a.example"
    assert a.header("location").endswith("/x/articles/1")
    assert exposed(a) == EXPOSED | {"X-Mine", "X-Request-ID", "Accept-Post",
                                    "Accept-Patch"}
    for path in ("/x/articles", "/x/articles/1", "/x/articles/99",
                 "/x/authors", "/x/openapi.json"):
        for _ in range(2):  # made, and kept
            for method in ("GET", "HEAD"):
                a = request(w.http, method, path, "Origin: https://a.example")
                assert EXPOSED | {"X-Mine"} <= exposed(a), path
            a = get(w.http, path, "Origin: https://b.example")
            assert not exposed(a) and not exposed(get(w.http, path))
    a = get(w.http, "/x/articles", "Origin: https://a.example",
            "If-None-Match: *")
    assert a.status == 304 and EXPOSED <= exposed(a)
    a = request(w.http, "POST", "/x/articles", JSON,
                "Origin: https://b.example", body=body("two"))
    error(a, 403)


# ---- what other modules of the location answer ----

def test_errors_of_other_paths_are_not_ours(weir):
    w = start(weir)
    a = get(w.http, "/nothing.html", "Accept: text/html")
    assert a.status == 404
    assert a.header("content-type").startswith("text/html")
    error(get(w.http, "/articles/1/x"), 404)


def test_many_requests_on_a_connection(weir):
    w = start(weir)
    with Http(w.http) as c:
        for i in range(30):
            c.send("POST", "/articles", JSON, body=body(f"n{i}"))
            c.send("GET", f"/articles?num={i + 1}")
            assert c.answer().status == 201
            assert len(c.answer().json()) == i + 1
