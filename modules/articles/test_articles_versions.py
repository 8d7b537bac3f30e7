"""Articles, and other modules, as versions of an API."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from articles_help import JSON, body, error, made, start
from http_client import get, request

pytestmark = pytest.mark.usefixtures("store_backend")

UNITS = """{ path = "/api"; layers = ( { module = "version"; %s
  units = ( { versions = "v2"; layers = ( { module = "articles";
                                            envelope = true; } ); },
            { versions = "v1"; layers = ( { module = "articles"; } ); } );
  } ); },"""
XML = "application/xml; charset=UTF-8"
V1 = "Accept: application/vnd.weir-v1+json"
V2 = "Accept: application/vnd.weir-v2+json"


def test_two_shapes_by_header(weir):
    w = start(weir, before=UNITS %
              'strategy = "header"; vendor = "weir"; strict = true;')
    a = request(w.http, "POST", "/api/articles", JSON, V2, body=body("one"))
    assert a.status == 201 and a.header("api-version") == "v2"
    number = a.json()["data"]["id"]
    assert a.header("location") == f"http://test/api/articles/{number}"
    assert a.json()["links"] == {"self": f"/api/articles/{number}"}
    request(w.http, "POST", "/api/articles", JSON, V1, body=body("two"))

    plain = get(w.http, "/api/articles", V1)
    assert [x["title"] for x in plain.json()] == ["one", "two"]
    page = get(w.http, "/api/articles?num=1", V2)
    assert list(page.json()) == ["data", "links"]
    assert page.json()["data"] == plain.json()[:1]
    links = page.json()["links"]
    assert links["self"] == "/api/articles?num=1"
    assert page.header("link") == f'<{links["next"]}>; rel="next"'
    last = get(w.http, links["next"], V2)
    assert last.json()["data"] == plain.json()[1:]
    assert last.json()["links"] == {"self": links["next"], "next": None}
    assert last.header("x-cursor") is None

    one = get(w.http, f"/api/articles/{number}", V2)
    assert one.json()["data"] == plain.json()[0]
    assert one.header("etag") != \
        get(w.http, f"/api/articles/{number}", V1).header("etag")
    assert "Accept" in one.header("vary")
    error(get(w.http, "/api/articles/99", V2), 404)
    assert get(w.http, "/api/articles").status == 406
    authors = get(w.http, "/api/authors", V2).json()
    assert list(authors) == ["data", "links"]


def test_links_keep_the_version(weir):
    for how, first in (('strategy = "path";', "/api/v2/articles?num=1"),
                       ('strategy = "param";', "/api/articles?apiver=v2&num=1"),
                       ('strategy = "param";',
                        "/api/articles?num=1&cursor=&apiver=v2")):
        w = start(weir, before=UNITS % how)
        for t in ("one", "two"):
            request(w.http, "POST", "/articles", JSON, body=body(t))
        a = get(w.http, first)
        assert a.json()["data"][0]["title"] == "one"
        a = get(w.http, a.json()["links"]["next"])
        assert a.json()["data"][0]["title"] == "two"


def test_other_modules_are_units(weir):
    w = start(weir, before="""{ path = "/v"; layers = ( {
      module = "version"; strategy = "path"; units = (
        { versions = "v2"; layers = ( { module = "relay"; },
                                      { module = "stat"; } ); },
        { versions = "v1"; layers = ( { module = "stat"; } ); } ); } ); },""")
    assert get(w.http, "/v/v2/get?room=r").status == 200
    for version in ("v1", "v2"):
        a = get(w.http, f"/v/{version}/livestat")
        assert a.status == 200 and a.header("api-version") == version
        a.json()
    refused = get(w.http, "/v/v2/get")
    assert refused.status == 400 and refused.json()["data"]
    assert get(w.http, "/v/v1/get?room=r").status == 404


def test_no_to_one_form_leaves_the_others(weir):
    w = start(weir, before=UNITS % 'strategy = "header"; vendor = "weir";')
    made(w, "one")
    for accept in ("application/json;q=0, */*",
                   "application/json;q=0, application/*",
                   "application/vnd.weir+json;q=0, */*",
                   "application/vnd.weir-v2+json;q=0, */*"):
        a = get(w.http, "/api/articles/1", f"Accept: {accept}")
        assert (a.status, a.header("content-type")) == (200, XML), accept
        assert a.header("api-version") == "v2"
    a = get(w.http, "/api/articles/1", "Accept: application/json;q=0")
    assert a.status == 406


def test_version_and_format_are_one_choice(weir):
    w = start(weir, before=UNITS % 'strategy = "header"; vendor = "weir";')
    v1, v2 = "application/vnd.weir-v1", "application/vnd.weir-v2"
    for accept in (f"{v2}+yaml, {v1}+json", f"{v2}+yaml, {v1}+json;q=0.5",
                   f"{v2}+yaml;q=0.9, {v2}+json;q=0.2, {v1}+json;q=0.8"):
        a = request(w.http, "POST", "/api/articles", JSON,
                    f"Accept: {accept}", body=body(accept))
        assert a.status == 201 and a.header("api-version") == "v1"
        assert a.json()["title"] == accept  # v1 has no envelope
        a = get(w.http, f"/api/articles/{a.json()['id']}", f"Accept: {accept}")
        assert (a.status, a.header("api-version")) == (200, "v1")
    refused = f"Accept: {v2}+yaml"
    error(get(w.http, "/api/articles/1", refused), 406)
    error(request(w.http, "POST", "/api/articles", JSON, refused,
                  body=body("refused")), 406)
    assert len(get(w.http, "/api/articles", V1).json()) == 3
    # It has one form only, and whose formats are asked does not matter.
    assert get(w.http, "/api/openapi.json", refused).status == 200
    assert request(w.http, "DELETE", "/api/articles/1", refused).status == 204


def test_location_keeps_the_version(weir):
    w = start(weir, before=UNITS % 'strategy = "param"; parameter = "ver s";')
    form = '"ver s":"v1"'
    for query, text in (("?ver+s=v1", body("one")),
                        ("", body("two").replace(b"{", f"{{{form},".encode(),
                                                 1))):
        a = request(w.http, "POST", "/api/articles" + query, JSON, body=text)
        assert a.status == 201 and a.header("api-version") == "v1"
        number = a.json()["id"]
        there = f"/api/articles/{number}?ver%20s=v1"
        assert a.header("location") == f"http://test{there}"
        got = get(w.http, there)
        assert got.header("api-version") == "v1"
        assert got.json()["id"] == number
    a = request(w.http, "POST", "/api/articles?ver+s=v2", JSON,
                body=body("three"))
    there = f"/api/articles/{a.json()['data']['id']}?ver%20s=v2"
    assert a.json()["links"] == {"self": there}
    assert a.header("location") == f"http://test{there}"
    # Who names none gets a link that names none.
    a = request(w.http, "POST", "/api/articles", JSON, body=body("four"))
    assert "?" not in a.header("location")


STRATEGIES = {"header": ["/api/articles", "Accept: application/vnd.weir-v9"],
              "accept_version_header": ["/api/articles", "Accept-Version: v9"],
              "path": ["/api/v9/articles"],
              "param": ["/api/articles?apiver=v9"]}


@pytest.mark.parametrize("cors", [False, True])
def test_refusals_have_the_shape_of_articles(weir, cors):
    units = UNITS
    if cors:
        units = UNITS.replace("layers", 'cors = { allow_origins = '
                              '"http://a.example"; }; layers', 1)
    before = "".join(units.replace("/api", f"/{n}") %
                     f'strategy = "{n}"; vendor = "weir"; strict = true;'
                     for n in STRATEGIES)
    w = start(weir, before=before)
    for name, (path, *headers) in STRATEGIES.items():
        path = path.replace("/api", f"/{name}")
        for accept in ([], ["Accept: text/html, */*;q=0.1"]):
            if accept and name == "header":
                headers = []  # it names no version at all
            a = get(w.http, path, "Origin: http://a.example", *headers,
                    *accept)
            message = error(a, 406 if "header" in name else 404)
            assert message.endswith("versions: v2, v1")
            assert a.header("access-control-allow-origin") == \
                ("http://a.example" if cors else "*")
            assert a.header("api-supported-versions") == "v2, v1"
    a = get(w.http, "/accept_version_header/articles", "Accept-Version: v9",
            "Accept: application/problem+json")
    assert a.header("content-type") == "application/problem+json"
    assert a.json()["message"]
    a = get(w.http, "/accept_version_header/none", "Accept-Version: v2")
    assert error(a, 404) == "nothing is here in that version"
