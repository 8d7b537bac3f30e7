"""What a server is told of the client, whichever headers a trusted balancer has
sent, and headers with variables."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import proxy_header
from exchange_help import EGRESS, layer, location, server  # noqa: F401
from http_client import Http, get
from weir import configuration, place, run

TRUST = 'trusted_proxies = [ "127.0.0.1", "10.0.0.0/8" ];'
ME = "127.0.0.1"

# What came, and what goes on: for, Forwarded, proto, host, port.
SENT = [
    ((), ME, "for=127.0.0.1", "http", "a", "80"),
    (("X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https"),
     f"192.0.2.7, {ME}", "for=192.0.2.7, for=127.0.0.1", "https", "a", "443"),
    (("Forwarded: for=192.0.2.7;proto=https;host=b.test",),
     f"192.0.2.7, {ME}",
     "for=192.0.2.7;proto=https;host=b.test, for=127.0.0.1", "https", "b.test",
     "443"),
    (('Forwarded: for="[2001:db8::7]:81", for=10.1.1.1;host="b.test:8443"',),
     f"2001:db8::7, 10.1.1.1, {ME}",
     'for="[2001:db8::7]:81", for=10.1.1.1;host="b.test:8443", for=127.0.0.1',
     "http", "a", "80"),
    (("X-Forwarded-For: 2001:db8::7, 10.1.1.1:99",),
     f"2001:db8::7, 10.1.1.1:99, {ME}",
     'for="[2001:db8::7]", for=10.1.1.1, for=127.0.0.1', "http", "a", "80"),
    (("X-Forwarded-For: junk, 192.0.2.7",), f"junk, 192.0.2.7, {ME}",
     "for=unknown, for=192.0.2.7, for=127.0.0.1", "http", "a", "80"),
    (("Forwarded: for=_hidden, for=192.0.2.7",), f"unknown, 192.0.2.7, {ME}",
     "for=_hidden, for=192.0.2.7, for=127.0.0.1", "http", "a", "80"),
    # The first one counts, and both say the same.
    (("X-Forwarded-For: 192.0.2.7", "Forwarded: for=192.0.2.9;proto=https"),
     f"192.0.2.7, {ME}", "for=192.0.2.7, for=127.0.0.1", "http", "a", "80"),
    (("X-Forwarded-Host: c.test:81",), ME, "for=127.0.0.1", "http", "c.test:81",
     "81"),
    (("X-Forwarded-For: 192.0.2.7", "X-Forwarded-Port: 8443",
      "X-Forwarded-Proto: https"), f"192.0.2.7, {ME}",
     "for=192.0.2.7, for=127.0.0.1", "https", "a:8443", "8443"),
]


@pytest.mark.parametrize("sent, way, forwarded, proto, host, port", SENT)
def test_all_of_them_say_the_same(weir, server, sent, way, forwarded, proto,
                                  host, port):
    s = server()
    w = weir(top=EGRESS, http=TRUST, locations=location(s))
    get(w.http, "/p", *sent, host="a")
    assert s.last.header("x-forwarded-for") == way
    assert s.last.header("forwarded") == \
        f'{forwarded};host="{host}";proto={proto}'
    assert s.last.header("x-forwarded-proto") == proto
    assert s.last.header("x-forwarded-host") == host
    assert s.last.header("x-forwarded-port") == port


def test_the_way_has_a_bound(weir, server):
    s = server()
    w = weir(top=EGRESS, http=TRUST, locations=location(s))
    get(w.http, "/p", "X-Forwarded-For: " + ", ".join(["192.0.2.7"] * 200))
    assert s.last.header("x-forwarded-for").count("192.0.2.7") == 200
    assert s.last.header("forwarded").count("for=192.0.2.7") == 20


def test_off_is_off(weir, server):
    s = server()
    w = weir(top=EGRESS, locations=location(s),
             http=TRUST + 'forwarded_header = "off";')
    get(w.http, "/p", "X-Forwarded-For: 192.0.2.7", "Forwarded: for=192.0.2.7",
        "X-Forwarded-Proto: https")
    assert s.last.header("x-forwarded-for") == ME
    assert s.last.header("forwarded").startswith("for=127.0.0.1;")
    assert s.last.header("x-forwarded-proto") == "http"


@pytest.mark.parametrize("sent, by, proto", [
    ("X-Forwarded-Proto: https", "auto", "https"),
    ("X-Forwarded-Proto: http, https", "auto", "https"),
    ("Forwarded: for=192.0.2.7;proto=https", "auto", "https"),
    ("Forwarded: for=192.0.2.7;proto=https", "x-forwarded", "http"),
    ("X-Forwarded-Proto: https", "forwarded", "http"),
    ("X-Forwarded-Proto: https", "off", "http"),
    ("X-Forwarded-Proto: ftp", "auto", "http")])
def test_inside_the_proxy_protocol(weir, server, sent, by, proto):
    """The balancer says the scheme; the client is the one that it names."""
    s = server()
    w = weir(top=EGRESS, locations=location(s),
             http=TRUST + f'forwarded_header = "{by}";',
             http_listen='{ address = "127.0.0.1:0"; proxy_protocol = true; }')
    with Http(w.http) as c:
        c.raw(proxy_header.v1("192.0.2.7"))
        c.send("GET", "/p", sent, "X-Forwarded-For: 6.6.6.6")
        assert c.answer().status == 200
    assert s.last.header("x-forwarded-proto") == proto
    assert s.last.header("x-forwarded-for") == "192.0.2.7"
    assert s.last.header("x-real-ip") == "192.0.2.7"


# ---- variables ----

def test_headers_with_variables(weir, server):
    s = server()
    w = weir(top=EGRESS, http='mask_args = [ "key" ];', locations=location(
        s, "~ ^/p/(?<who>[^/]*)", 'set_headers = [ "X-Addr: $remote_addr", '
        '"X-Uri: $request_uri", "X-Both: <$scheme>-${request_method}", '
        '"X-Who: $who $1", "X-None: $http_absent", "X-Cookie: $http_cookie", '
        '"X-Price: 5$$", "X-Agent: $http_user_agent", "X-User: $remote_user", '
        '"X-Ssl: $ssl_client_verify" ];'))
    get(w.http, "/p/me/x?key=1&b", "Cookie: a=1", "User-Agent: \u00fcber",
        "X-None: theirs", "Authorization: Basic YQ0KWC1FdmlsOiAxOmI=")
    r = s.last
    assert r.header("x-addr") == ME
    assert r.header("x-uri") == "/p/me/x?key=1&b"
    assert r.header("x-both") == "<http>-GET"
    assert r.header("x-who") == "me me" and r.header("x-cookie") == "a=1"
    assert r.header("x-price") == "5$" and \
        r.header("x-agent") == "\u00fcber".encode().decode("latin-1")
    assert r.header("x-none") is None and r.header("x-ssl") is None
    assert r.header("x-user") == "a%0D%0AX-Evil"
    assert r.header("x-evil") is None


@pytest.mark.parametrize("value, words", [
    ("$remote_adr", ['there is no variable "$remote_adr"',
                     'did you mean "$remote_addr"', "$ssl_client_s_dn",
                     "$http_NAME", "$upstream_addr", "$worker"]),
    ("$proxy_nonsense", ['there is no variable "$proxy_nonsense"', "$uri"]),
    ("a$", ["\"$\" needs the name"]), ("$1", ['"$1"'])])
def test_unknown_variables_are_told(tmp_path, value, words):
    place(str(tmp_path), configuration(top=EGRESS, locations=(
        '{ path = "/x"; layers = ( '
        + layer("http://127.0.0.1:1", f'set_headers = "X: {value}";')
        + " ); },")))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and "set_headers" in r.stderr
    for word in words:
        assert word in r.stderr, r.stderr
