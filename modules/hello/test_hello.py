"""modules/hello as a client sees it."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from http_client import Http, get, request


def location(settings=""):
    return f'{{ path = "/h"; module = "hello"; {settings} }},'


def test_answers(weir):
    w = weir(locations=location())
    a = get(w.http, "/h/hello")
    assert a.status == 200
    assert a.header("content-type").startswith("text/plain")
    assert b"hello" in a.body


def test_settings(weir):
    w = weir(locations=location('greeting = "good day"; repeat = 3;'))
    assert get(w.http, "/h/hello").body.count(b"good day") == 3


def test_layers_have_settings_of_their_own(weir):
    w = weir(locations=location('greeting = "one";') +
             '{ path = "/i"; module = "hello"; greeting = "two"; },')
    assert b"one" in get(w.http, "/h/hello").body
    assert b"two" in get(w.http, "/i/hello").body


def test_methods(weir):
    w = weir(locations=location())
    a = request(w.http, "HEAD", "/h/hello")
    assert a.status == 200 and a.body == b""
    assert request(w.http, "POST", "/h/hello").status == 405
    a = request(w.http, "OPTIONS", "/h/hello")
    assert a.status == 204 and "GET" in a.header("allow")


def test_what_is_not_its_own_is_passed_on(weir):
    w = weir(locations=location())
    assert get(w.http, "/h/other").status == 404
    with Http(w.http) as c:
        for target in ("/h/hello", "/h/hello/", "/h", "/h/hello"):
            c.send("GET", target)
            c.answer()


@pytest.mark.parametrize("settings", ['repeat = 0;', 'repeat = 10;',
                                      'greeting = 5;', 'greting = "x";'])
def test_wrong_settings_are_told(weir, settings):
    with pytest.raises(AssertionError, match=r"weir\.conf:\d+: "):
        weir(locations=location(settings))
