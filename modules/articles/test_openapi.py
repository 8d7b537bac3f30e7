"""/openapi.json: it is an OpenAPI document, and the server does as it
says."""
# SPDX-License-Identifier: BSD-2-Clause

import json

import jsonschema
import pytest

from articles_help import DEFAULT, JSON, made, start
from http_client import get, request
from openapi_help import Document

pytestmark = pytest.mark.usefixtures("store_backend")

XML = "Content-Type: application/xml"
DENIED = 'write_access = [ "deny all" ];'


def fetch(w, path="/openapi.json", *headers):
    a = get(w.http, path, *headers)
    assert a.status == 200, a.body
    assert a.header("content-type") == "application/json"
    d = Document(a.json())
    d.check()
    return d


def as_json(title, **more):
    return json.dumps({"title": title, **DEFAULT, **more}).encode()


def as_xml(title, inner=""):
    return (f"<article><title>{title}</title><content>c</content><author>"
            f"<id>1</id></author>{inner}</article>").encode()


def requests(a):
    """Requests that bring about each status, but 403: operation, status,
    target, headers, body.  a is an article."""
    item, author = f"/articles/{a['id']}", f"/authors/{a['author']['id']}"
    other = "Accept: image/png"
    fits, misfits = "If-None-Match: *", 'If-Match: "no"'
    rows = []
    for operation, target in (("listArticles", "/articles"),
                              ("getArticle", item),
                              ("listAuthors", "/authors"),
                              ("getAuthor", author)):
        rows += [(operation, 200, target, [], b""),
                 (operation, 304, target, [fits], b""),
                 (operation, 412, target, [misfits], b""),
                 (operation, 406, target, [other], b"")]
    rows += [("getDescription", 200, "/openapi.json", [], b""),
             ("getDescription", 304, "/openapi.json", [fits], b""),
             ("getDescription", 412, "/openapi.json", [misfits], b""),
             ("listArticles", 200, "/articles?num=1", [], b""),
             ("listArticles", 400, "/articles?num=-1", [], b""),
             ("listAuthors", 200, "/authors?num=1", [], b""),
             ("listArticles", 304, "/articles?num=1", [fits], b""),
             ("listAuthors", 400, "/authors?cursor=x", [], b""),
             ("getArticle", 404, "/articles/999999", [], b""),
             ("getAuthor", 404, "/authors/999999", [], b"")]
    for operation, target, done in (("createArticle", "/articles", 201),
                                    ("replaceArticle", item, 200),
                                    ("changeArticle", item, 200)):
        rows += [(operation, done, target, [JSON], as_json(operation)),
                 (operation, done, target, [XML], as_xml(operation + " x")),
                 (operation, 400, target, [JSON], as_json("")),
                 (operation, 400, target, [XML], as_xml("")),
                 (operation, 406, target, [JSON, other], as_json("6")),
                 (operation, 409, target, [JSON], as_json("taken")),
                 (operation, 413, target,
                  [JSON, "Content-Length: 99999999"], b""),
                 (operation, 415, target, ["Content-Type: a/b"], b"x"),
                 (operation, 422, target, [JSON], b"{"),
                 (operation, 422, target, [XML], b"<article>")]
        if operation == "changeArticle":
            rows += [(operation, 200, target, [JSON],
                      b'{"author": {"name": "N"}}'),
                     (operation, 200, target, [XML], b"<article><author>"
                      b"<name>N</name></author></article>")]
        if operation != "createArticle":
            rows += [(operation, 404, "/articles/999999", [JSON],
                      as_json("nowhere")),
                     (operation, 412, target, [JSON, misfits],
                      as_json("other"))]
    rows += [("deleteArticle", 412, item, [misfits], b""),
             ("deleteArticle", 404, "/articles/999999", [], b""),
             ("deleteArticle", 204, item, [], b"")]
    return rows


def try_all(w, d, base="", accept=()):
    """Each documented status of each operation; returns those that were
    not met."""
    by_id = {o["operationId"]: (p, m) for p, m, o in d.operations()}
    missing = {(o["operationId"], status) for _, _, o in d.operations()
               for status in o["responses"] if status != "default"}
    request(w.http, "POST", base + "/articles", JSON, body=as_json("taken"))
    a = request(w.http, "POST", base + "/articles", JSON,
                body=as_json("subject")).json()
    for operation, status, target, headers, body in requests(a.get("data", a)):
        if operation not in by_id:
            continue
        path, method = by_id[operation]
        if not any(h.startswith("Accept:") for h in headers):
            headers = [*headers, *accept]
        answer = request(w.http, method.upper(), base + target, *headers,
                         body=body)
        assert answer.status == status, (operation, status, target,
                                         answer.status, answer.body)
        assert d.check_answer(path, method, answer) == str(status)
        missing.discard((operation, str(status)))
    return missing


@pytest.mark.parametrize("layer, accept", [
    ("edit = true;", ""),
    ("edit = true;", "application/xml"),
    ("edit = true;", "text/xml, application/problem+xml"),
    ("edit = true;", "application/problem+json, */*"),
    ("envelope = true;", ""),
    ("envelope = true;", "application/xml"),
])
def test_each_status(weir, layer, accept):
    w = start(weir, layer)
    d = fetch(w)
    left = try_all(w, d, accept=[f"Accept: {accept}"] if accept else [])
    assert {operation for operation, status in left} <= {
        "createArticle", "replaceArticle", "changeArticle", "deleteArticle"}
    assert {status for operation, status in left} == {"403"}
    schemas = d.document["components"]["schemas"]
    assert {n for n, s in schemas.items() if "properties" in s and
            "required" not in s} == \
        ({"ArticlePatch", "AuthorPatch"} if "edit" in layer else set())
    assert ("changeArticle" in json.dumps(d.document)) == ("edit" in layer)


def test_what_is_not_told_is_noticed(weir):
    w = start(weir)
    made(w, "x")
    whole = get(w.http, "/openapi.json").json()
    schemas = whole["components"]["schemas"]
    del schemas["Article"]["properties"]["updated_at"]
    del schemas["Problem"]["properties"]["detail"]
    d = Document(whole)
    for accept in "application/json", "application/xml":
        for target, path in (("/articles", "/articles"),
                             ("/articles/9", "/articles/{id}")):
            a = get(w.http, target, f"Accept: {accept}")
            with pytest.raises((jsonschema.ValidationError, AssertionError)):
                d.check_answer(path, "get", a)
    del whole["components"]["headers"]["ETag"]
    with pytest.raises(KeyError):
        Document(whole).check()


def test_where_writing_is_not_allowed(weir):
    w = start(weir, DENIED + " edit = true;")
    d = fetch(w)
    for path, method, o in d.operations():
        if "403" in o["responses"]:
            a = request(w.http, method.upper(), path.replace("{id}", "1"),
                        JSON, body=as_json("x"))
            assert d.check_answer(path, method, a) == "403"
    w = start(weir, 'write_access = [ "allow all" ];')
    assert '"403"' not in json.dumps(fetch(w).document)


def test_other_errors_are_told_as_well(weir):
    w = start(weir, before='{ path = "/shut"; access = [ "deny all" ]; '
                           'layers = ( { module = "articles"; } ); },')
    d = fetch(w)
    for accept in "*/*", "text/xml", "application/problem+json":
        a = get(w.http, "/shut/articles", f"Accept: {accept}")
        assert a.status == 403
        assert d.check_answer("/articles", "get", a) == "default"


def test_bounds_are_those_of_the_settings(weir):
    w = start(weir, "max_title = 10; max_content = 20;")
    s = fetch(w).document["components"]["schemas"]["NewArticle"]["properties"]
    assert s["title"]["maxLength"] == 10 and s["content"]["maxLength"] == 20
    assert request(w.http, "POST", "/articles", JSON,
                   body=as_json("x" * 10)).status == 201
    assert request(w.http, "POST", "/articles", JSON,
                   body=as_json("x" * 11)).status == 400


def test_entity_tag_and_head(weir):
    w = start(weir)
    a = get(w.http, "/openapi.json")
    tag = a.header("etag")
    assert get(w.http, "/openapi.json",
               f"If-None-Match: {tag}").status == 304
    head = request(w.http, "HEAD", "/openapi.json")
    assert head.status == 200 and head.header("etag") == tag
    assert int(head.header("content-length")) == len(a.body)
    assert request(w.http, "OPTIONS", "/openapi.json").status == 204
    assert request(w.http, "DELETE", "/openapi.json").status == 405


def versioned(strategy):
    return ('{ path = "/api"; client_max_body_size = "3M"; layers = ( '
            f'{{ module = "version"; strategy = {strategy}; units = ( '
            '{ versions = [ "v2" ]; layers = ( { module = "articles"; '
            'envelope = true; } ); }, { versions = [ "v1" ]; layers = ( '
            '{ module = "articles"; } ); } ); } ); },')


def test_versions_by_path(weir):
    w = start(weir, before=versioned('"path"'))
    one = fetch(w, "/api/v1/openapi.json")
    two = fetch(w, "/api/v2/openapi.json")
    assert [s["url"] for s in one.document["servers"]] == ["/api/v1"]
    assert [s["url"] for s in two.document["servers"]] == ["/api/v2"]
    assert one.document["info"]["version"] == "v1"
    assert two.document["info"]["version"] == "v2"
    assert "ArticleResponse" in two.document["components"]["schemas"]
    assert "ArticleResponse" not in one.document["components"]["schemas"]
    left = try_all(w, two, base=two.document["servers"][0]["url"])
    assert {status for _, status in left} == {"403"}
    assert [s["url"] for s in fetch(w).document["servers"]] == ["/"]


def test_versions_by_header(weir):
    w = start(weir, before=versioned('"header"; vendor = "weir"; '
                                     'strict = true'))
    tags = set()
    for v in "v1", "v2":
        accept = f"Accept: application/vnd.weir-{v}+json"
        d = fetch(w, "/api/openapi.json", accept)
        assert [s["url"] for s in d.document["servers"]] == ["/api"]
        assert d.document["info"]["version"] == v
        assert f"application/vnd.weir-{v}" in \
            d.document["info"]["description"]
        for form in "json", "xml":
            kind = f"application/vnd.weir-{v}+{form}"
            a = get(w.http, "/api/articles", f"Accept: {kind}")
            assert a.header("content-type") == kind + "; charset=UTF-8"
            d.check_answer("/articles", "get", a)
            assert kind in d.resolve(
                d.document["components"]["parameters"]["Accept"]
            )["schema"]["enum"]
        tags.add(get(w.http, "/api/openapi.json", accept).header("etag"))
    assert len(tags) == 2


def test_answers_have_the_vendors_type_for_who_names_it(weir):
    w = start(weir, before=versioned('"header"; vendor = "weir"'),
              http="gzip = true;")
    made(w, "x", content="x" * 2000)
    own = "application/vnd.weir-v2+json"
    for accept, kind in ((own, own), (own.upper(), own),
                         ("*/*", "application/json"),
                         ("application/json", "application/json"),
                         ("application/vnd.weir-v2", "application/json"),
                         ("application/vnd.weir+json", "application/json"),
                         (f"{own};q=0, application/xml", "application/xml")):
        for _ in range(2):  # made, then kept
            a = get(w.http, "/api/articles", f"Accept: {accept}")
            assert (a.status, a.header("content-type")) == \
                (200, kind + "; charset=UTF-8"), accept
    # It is compressed as what it is made of.
    a = get(w.http, "/api/articles", f"Accept: {own}",
            "Accept-Encoding: gzip")
    assert a.header("content-encoding") == "gzip"


def test_what_names_the_version_is_required(weir):
    """Of layers of versions in one another, all of it."""
    inner = ('{ module = "version"; strategy = "accept_version_header"; '
             'units = ( { versions = [ "2.1" ]; sunset = "2099-01-01"; '
             'layers = ( { module = "articles"; } ); } ); }')
    w = start(weir, before='{ path = "/api"; layers = ( { module = "version"; '
              'strategy = "param"; parameter = "api version"; units = ( '
              '{ versions = [ "v2" ]; deprecated = "2099-01-01"; '
              f'layers = ( {inner} ); }} ); }} ); }},')
    d = fetch(w, "/api/openapi.json?api%20version=v2",
              "Accept-Version: 2.1").document
    found = {p["name"]: (p["in"], p["required"], p["schema"]["enum"])
             for p in d["components"]["parameters"].values()
             if "enum" in p["schema"]}
    assert found == {"Accept-Version": ("header", True, ["2.1"]),
                     "api version": ("query", True, ["v2"])}
    for item in d["paths"].values():
        for o in item.values():
            assert {"$ref": "#/components/parameters/Version"} in \
                o["parameters"]
            assert "deprecated" not in o  # not yet
    assert "Sunset" in d["components"]["headers"]
    # Who names no version has none to name.
    d = fetch(w).document
    assert "Version" not in json.dumps(d)


def test_login_is_told(weir, tmp_path):
    before = ('{ path = "/closed"; auth = ( { type = "bearer"; '
              'tokens = [ "a-token-of-some-length" ]; } ); layers = ( '
              '{ module = "articles"; } ); },')
    w = start(weir, before=before)
    d = fetch(w, "/closed/openapi.json",
              "Authorization: Bearer a-token-of-some-length")
    assert d.document["security"] == [{"bearer": []}]
    assert set(d.document["components"]["securitySchemes"]) == {"bearer"}
    a = get(w.http, "/closed/articles")
    assert a.status == 401
    assert d.check_answer("/articles", "get", a) == "401"
    said = d.resolve(d.document["paths"]["/articles"]["get"]["responses"]
                     ["401"])
    assert a.header("www-authenticate") and \
        "WWW-Authenticate" in said["headers"]
    d = fetch(w).document
    assert "security" not in d and "securitySchemes" not in d["components"]
    assert "401" not in d["paths"]["/articles"]["get"]["responses"]


def test_it_is_no_secret_to_pages(weir):
    w = start(weir)
    made(w, "x")
    a = get(w.http, "/openapi.json", "Origin: http://elsewhere")
    assert a.header("access-control-allow-origin") == "*"
