"""Articles as XML: the same service as in JSON."""
# SPDX-License-Identifier: BSD-2-Clause

import gzip
import json
import xml.etree.ElementTree as et
from xml.sax.saxutils import escape

import pytest

import articles_cases as cases
from articles_help import JSON, made, make_many, start
from http_client import get, request

pytestmark = pytest.mark.usefixtures("store_backend")

XML = "Content-Type: application/xml"
AS_XML = "Accept: application/xml"
XSI = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
PROBLEM = "{urn:ietf:rfc:7807}"
NEW = ("<article><title>{}</title><content>{}</content>"
       "<author><id>1</id></author></article>")


def element(name, value, more=""):
    if value is None:
        return f'<{name}{more} xsi:nil="true"/>'
    if isinstance(value, dict):
        inner = "".join(element(k, v) for k, v in value.items())
    elif isinstance(value, list):
        inner = "".join(element("item", v) for v in value)
    else:
        inner = escape(str(value), {"\r": "&#13;"})
    return f"<{name}{more}>{inner}</{name}>"


def post(w, body, *headers, kind=XML):
    return request(w.http, "POST", "/articles", kind, *headers,
                   body=body.encode() if isinstance(body, str) else body)


def refused(a, status):
    """The message of an error in XML, whose form is checked."""
    assert a.status == status, (a.status, a.body)
    assert a.header("content-type") == "application/xml; charset=UTF-8"
    root = et.fromstring(a.body)
    assert root.tag == PROBLEM + "problem"
    said = {c.tag[len(PROBLEM):]: c.text for c in root}
    assert list(said) == ["message", "type", "title", "status", "detail"]
    assert said["status"] == str(status) and said["type"] == "about:blank"
    return said["message"] + " " + said["detail"]


def read(a):
    """An article that was answered as XML, as a dict."""
    assert a.header("content-type") == "application/xml; charset=UTF-8"
    return plain(et.fromstring(a.body))


def plain(e):
    return {c.tag: plain(c) for c in e} if len(e) else e.text or ""


def strings(value):
    """What JSON says, as XML would."""
    if isinstance(value, dict):
        return {k: strings(v) for k, v in value.items()}
    return str(value)


# ---- the rows of JSON ----

# In XML a number is a text like any other, and two of one name are no map.
NOT_IN_XML = {"post-title-number", "post-content-number", "post-dup-keys",
              "post-ct-missing"}


def rows_in_xml():
    for row in cases.rows():
        q = row["request"]
        if row["group"] not in ("create", "create-invalid", "author") or \
                row["id"] in NOT_IN_XML or q.get("method") != "POST":
            continue
        said = json.loads(cases.body_of(q))
        headers = {k: v.replace("json", "xml")
                   for k, v in q["headers"].items()}
        yield {**row, "request": {
            "method": "POST", "path": q["path"], "headers": headers,
            "body": element("article", said, XSI)}}


def test_rows_of_creation(weir):
    board = cases.Board(start(weir))
    rows = list(rows_in_xml())
    assert len(rows) >= 30
    bad = []
    for row in rows:
        board.prepare(row["seed"])
        why = cases.wrong(board, row)
        if why:
            bad.append(f"{row['id']}: {why}")
    assert not bad, f"{len(bad)} of {len(rows)} rows\n" + "\n".join(bad)


# ---- both forms say the same ----

def test_same_article_in_both(weir):
    w = start(weir)
    text = "<p>a & b</p> \"'\\ \t\r\n\n é 日本 😀 \u2028 ]]> "
    a = made(w, text[:40], content=text, author={"id": 7, "name": "Ä & B"})
    for path in f"/articles/{a['id']}", "/authors/7":
        j = get(w.http, path)
        x = get(w.http, path, AS_XML)
        assert read(x) == strings(j.json())
        assert j.header("etag") != x.header("etag")
        assert get(w.http, path, AS_XML,
                   f"If-None-Match: {x.header('etag')}").status == 304
        assert get(w.http, path,
                   f"If-None-Match: {x.header('etag')}").status == 200
        assert x.body.startswith(b'<?xml version="1.0" encoding="UTF-8"?>')
    assert read(get(w.http, f"/articles/{a['id']}", AS_XML))["content"] == text


def test_what_xml_cannot_hold_is_replaced(weir):
    w = start(weir)
    a = made(w, "bell \x07", content="\x01 \ufffe \x7f \x0c")
    x = read(get(w.http, f"/articles/{a['id']}", AS_XML))
    assert x["title"] == "bell \ufffd"
    assert x["content"] == "\ufffd \ufffd \x7f \ufffd"


def test_round_trip(weir):
    w = start(weir)
    a = made(w, "first", content=" <b>&amp;</b>\r\n\t", author={"id": 3,
                                                               "name": "N"},
             created_at="2001-02-03T04:05:06Z",
             updated_at="2002-02-03T04:05:06Z")
    text = get(w.http, f"/articles/{a['id']}", AS_XML).body.decode()
    again = post(w, text.replace("<title>first", "<title>second"), AS_XML)
    assert again.status == 201
    b = read(again)
    assert b["id"] != str(a["id"]) and b["title"] == "second"
    for name in "content", "created_at", "updated_at", "author":
        assert b[name] == strings(a)[name]
    assert get(w.http, f"/articles/{b['id']}").json()["content"] == \
        a["content"]
    assert post(w, text).status == 409


def test_pages(weir):
    w = start(weir)
    ids = make_many(w, 5)
    seen, target = [], "/articles?num=2"
    while target:
        a = get(w.http, target, AS_XML)
        root = et.fromstring(a.body)
        assert root.tag == "articles"
        assert [e.tag for e in root] == ["article"] * len(root)
        seen += [int(e.find("id").text) for e in root]
        link = a.header("link")
        target = link[1:link.index(">")] if link else None
    assert seen == ids
    assert et.fromstring(get(w.http, "/authors", AS_XML).body).tag == "authors"
    empty = et.fromstring(get(w.http, "/articles?author=99", AS_XML).body)
    assert empty.tag == "articles" and len(empty) == 0


def test_envelope(weir):
    w = start(weir, "envelope = true;")
    made_ids = [request(w.http, "POST", "/articles", XML,
                        body=NEW.format(i, "c").encode()).json()["data"]["id"]
                for i in range(2)]
    one = et.fromstring(get(w.http, f"/articles/{made_ids[0]}", AS_XML).body)
    assert one.tag == "response"
    assert [e.tag for e in one] == ["article", "links"]
    assert one.find("links/self").text == f"/articles/{made_ids[0]}"
    page = et.fromstring(get(w.http, "/articles?num=1", AS_XML).body)
    assert [e.tag for e in page] == ["articles", "links"]
    assert page.find("articles/article/id").text == str(made_ids[0])
    after = page.find("links/next").text
    assert after.startswith("/articles?num=1&cursor=")
    last = et.fromstring(get(w.http, after, AS_XML).body)
    assert last.find("articles/article/id").text == str(made_ids[1])
    assert last.find("links/next") is None


def test_edits(weir):
    w = start(weir, "edit = true;")
    a = made(w, "a")
    path = f"/articles/{a['id']}"
    p = request(w.http, "PATCH", path, XML, AS_XML,
                body=b"<article><content>new</content></article>")
    assert p.status == 200 and read(p)["content"] == "new"
    assert read(p)["title"] == "a"
    p = request(w.http, "PUT", path, XML, AS_XML,
                body=NEW.format("b", "c").encode())
    assert p.status == 200 and read(p)["title"] == "b"
    assert "title" in refused(
        request(w.http, "PUT", path, XML, AS_XML, body=b"<article/>"), 400)


def test_idempotency(weir):
    w = start(weir)
    key = "Idempotency-Key: k"
    one = post(w, NEW.format("a", "b"), key, AS_XML)
    two = post(w, NEW.format("a", "b"), key, AS_XML)
    assert one.status == two.status == 201 and one.body == two.body
    assert two.header("idempotent-replayed") == "true"
    refused(post(w, NEW.format("a", "c"), key, AS_XML), 422)


# ---- which form ----

CHOICES = [
    ("*/*", "application/json"),
    ("application/xml", "application/xml"),
    ("text/xml", "text/xml"),
    ("text/*", "text/xml"),
    ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
     "application/json"),
    ("application/json;q=0.5, text/xml", "text/xml"),
    ("application/xml;q=0.5, application/json", "application/json"),
    ("application/xml, application/json", "application/json"),
    ("application/*, application/json;q=0", "application/xml"),
]


def test_choice(weir):
    w = start(weir)
    path = f"/articles/{made(w, 'a')['id']}"
    for accept, kind in CHOICES:
        for target in path, "/articles", path, "/articles", "/authors/1":
            # What another client was answered does not stick.
            assert get(w.http, target).json()
            assert b"<?xml" in get(w.http, target, "Accept: text/xml").body
            a = get(w.http, target, f"Accept: {accept}")
            assert a.status == 200, accept
            assert a.header("content-type") == f"{kind}; charset=UTF-8"
            assert a.body.startswith(b"<?xml") == kind.endswith("xml")
            assert "accept" in (a.header("vary") or "").lower()


def test_errors(weir):
    w = start(weir)
    refused(get(w.http, "/articles/9", AS_XML), 404)
    refused(get(w.http, "/articles?num=-1", AS_XML), 400)
    refused(post(w, "<article/>", AS_XML), 400)
    refused(request(w.http, "PUT", "/articles", AS_XML), 405)
    for accept, status in (("application/problem+xml", 406),
                           ("application/problem+xml, text/xml", 404)):
        a = get(w.http, "/articles/9", f"Accept: {accept}")
        assert a.status == status
        assert a.header("content-type") == "application/problem+xml"
        assert et.fromstring(a.body).tag == PROBLEM + "problem"


def test_types_are_told(weir):
    w = start(weir, "edit = true;")
    a = made(w, "a")
    types = {"application/json", "application/xml", "text/xml"}
    o = request(w.http, "OPTIONS", "/articles")
    assert set(o.header("accept-post").split(", ")) == types
    o = request(w.http, "OPTIONS", f"/articles/{a['id']}")
    assert set(o.header("accept-patch").split(", ")) == \
        types | {"application/merge-patch+json"}
    a = post(w, NEW.format("b", "c"), kind="Content-Type: text/html")
    assert a.status == 415
    assert set(a.header("accept-post").split(", ")) == types
    assert "application/xml" in get(w.http, "/articles", "Accept: image/png"
                                    ).json()["detail"]
    for kind in "text/xml", "application/vnd.any+xml", \
            "Application/XML; charset=utf-8":
        assert post(w, NEW.format(kind, "c"),
                    kind=f"Content-Type: {kind}").status == 201
    assert post(w, NEW.format("json", "c"), kind=JSON).status == 422


def test_gzip(weir):
    w = start(weir, http="gzip = true;")
    a = made(w, "a", content="x" * 5000)
    x = get(w.http, f"/articles/{a['id']}", AS_XML, "Accept-Encoding: gzip")
    assert x.header("content-encoding") == "gzip"
    assert plain(et.fromstring(gzip.decompress(x.body)))["title"] == "a"


# ---- bodies that are none, or mean harm ----

LAUGHS = ("<!DOCTYPE l [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {b} '{('&' + a + ';') * 10}'>"
    for a, b in zip("abcdefghi", "bcdefghij")) +
    "]><article><title>&j;</title></article>")


UNPARSABLE = [
    ("<article>", "line 1: "),
    ("   ", "not valid XML"),
    ("{}", "not valid XML"),
    ("<article/><article/>", "line 1: "),
    ("<article>\n<title>a</b></article>", "line 2: "),
    ("<article><title>a</title><title>b</title></article>", "twice"),
    ("<article><title>a & b</title></article>", "line 1: "),
    ("<article><title>&nbsp;</title></article>", "nbsp"),
    ("<article><title>\x01</title></article>", "U+0001"),
    ("<article><title>\x00</title></article>", "U+0000"),
    (b"<article><title>\xff</title></article>", "UTF-8"),
    ("<article/>".encode("utf-16"), "UTF-16"),
    ('<?xml version="1.0" encoding="ISO-8859-1"?><article/>', "ISO-8859-1"),
    ("<a>" * 100000, "one another"),
    ("<article " + "".join(f"a{i}='' " for i in range(100000)) + "/>",
     "attributes"),
    ("<article>" + "<a/>" * 100000 + "</article>", "too many"),
    (LAUGHS, "document types"),
    ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
     "<article><title>&x;</title></article>", "document types"),
    ('<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><article/>',
     "document types"),
]


def test_unparsable(weir):
    w = start(weir, workers=1)
    for body, why in UNPARSABLE:
        assert why in refused(post(w, body, AS_XML), 422), body[:80]
    assert get(w.http, "/articles").json() == []


INVALID = [
    ("<articles/>", "root element"),
    ('<article xmlns="urn:x"/>', "root element"),
    ("<article/>", "title"),
    ("<article><title>a</title><content><p>x</p></content>"
     "<author><id>1</id></author></article>", "content"),
    ("<article><title>a</title><content>c</content>"
     "<author>1</author></article>", "author"),
    ("<article><title>a</title><content>c</content>"
     "<author><id>one</id></author></article>", "author.id"),
]


def test_invalid(weir):
    w = start(weir, workers=1)
    for body, why in INVALID:
        assert why in refused(post(w, body, AS_XML), 400), body[:80]
    assert get(w.http, "/articles").json() == []


def test_markup_in_content(weir):
    w = start(weir)
    a = post(w, NEW.format("a", "<![CDATA[<p>x &amp; y</p>]]>"))
    assert a.status == 201 and a.json()["content"] == "<p>x &amp; y</p>"
    a = post(w, NEW.format("b", "&lt;p&gt;<!-- no -->&#x1F600;</p>"))
    assert a.status == 422
    a = post(w, NEW.format("b", "&lt;p&gt;<!-- no -->&#x1F600;"))
    assert a.json()["content"] == "<p>\U0001F600"
