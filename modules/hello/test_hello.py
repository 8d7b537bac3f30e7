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


TWO = """hello = ( { name = "main"; signature = "the main one"; },
          { name = "other"; } );"""


def test_a_layer_names_an_instance(weir):
    w = weir(top=TWO, locations=location('instance = "main";') +
             '{ path = "/i"; module = "hello"; instance = "other"; },')
    assert get(w.http, "/h/hello").body == b"hello\nthe main one\n"
    assert get(w.http, "/i/hello").body == b"hello\n"


def test_the_only_instance_is_the_default(weir):
    w = weir(top='hello = { name = "me"; signature = "me"; };',
             locations=location())
    assert get(w.http, "/h/hello").body == b"hello\nme\n"


@pytest.mark.parametrize("top, settings, told", [
    (TWO, "", r'instance must be one of "main", "other"'),
    (TWO, 'instance = "othr";', r'did you mean "other"'),
    ("", 'instance = "main";', 'there is no hello "main"'),
    ('hello = ( { signature = "x"; } );', "", r"hello\.name is missing"),
    (TWO.replace("other", "main"), "", 'is the name of the one in line'),
    ('hellos = { name = "me"; };', "", 'did you mean "hello"'),
    (TWO.replace("signature", "sig"), "", "hello.sig is unknown"),
])
def test_wrong_instances_are_told(weir, top, settings, told):
    with pytest.raises(AssertionError, match=r"weir\.conf:\d+: .*" + told):
        weir(top=top, locations=location(settings))


@pytest.mark.parametrize("settings", ['repeat = 0;', 'repeat = 10;',
                                      'greeting = 5;', 'greting = "x";'])
def test_wrong_settings_are_told(weir, settings):
    with pytest.raises(AssertionError, match=r"weir\.conf:\d+: "):
        weir(locations=location(settings))
