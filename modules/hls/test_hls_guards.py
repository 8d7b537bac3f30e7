"""Who may ask for what: every kind of address of a stream, and of a ladder,
without and with the right."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

from enhanced_publisher import Clips, Track
from hls_check import Viewer
from hls_play import Playlist, decoded
from http_client import Http, get
from test_hls_text import Teller, line
from weir import wait_for

TOKEN = "a-token-of-enough-letters"
RIGHT = f"Authorization: Bearer {TOKEN}"
LADDER = 'ladder = ( "_high", "_low" );'
LAYERS = ' layers = ( { module = "hls"; }, { module = "flv"; } ); },'
PLACES = "".join(f'{{ path = "{path}"; {filters}{LAYERS}' for path, filters in (
    ("/open", ""),
    ("/auth", f'auth = {{ type = "bearer"; tokens = "{TOKEN}"; }};'),
    ("/query", f'auth = {{ type = "bearer"; tokens = "{TOKEN}";'
               ' query = "access_token"; };'),
    ("/deny", 'access = [ "deny all" ];')))
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==")


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


def publish(w, clips, *names, **more):
    """Some seconds of each, side by side, with lines of text; they stay."""
    members = [
        Teller(w.rtmp, [(500 * i, line(f"line {i}")) for i in range(20)],
               name=name, tracks=[
                   Track(clips.make("h264", seconds=2, size="160x90")),
                   Track(clips.make("aac", seconds=2))], **more)
        for name in names]
    for _ in range(18):
        for p in members:
            p.send(0.5)
    return members


def body(w, target, *headers):
    a = wait_for(lambda: (lambda b: b.status != 503 and b)(
        get(w.http, target, *headers)), 20, "playlist")
    assert a.status == 200, (target, a.status)
    return a.body.decode()


def objects(text):
    """One of each kind, whose address stands in a media playlist."""
    got = Playlist(text)
    return [u for u in (got.segments[-1], got.parts[-1], got.map) if u]


def addresses(w, app, name, members):
    """(address below the location, whether it is a WebSocket) of each kind."""
    base = f"/open/{app}/"
    found = [f"{name}.m3u8"]

    def whole():
        got = body(w, base + name + ".m3u8")
        uris = [u for u in got.splitlines() if u[0] != "#"]
        return len(uris) == len(members) and (got, uris)
    multivariant, media = wait_for(whole, 20, "all members")
    text, = re.findall(r'SUBTITLES.*URI="(.*?)"', multivariant)
    for uri in (*media, text):
        found += [uri, *objects(body(w, base + uri))]
    for member in members:
        found += [f"{member}.m3u8", f"{member}.mp4", f"{member}.still.mp4",
                  f"{member}.flv"]
    return [(f"/{app}/{u}", False) for u in found] + \
        [(f"/{app}/{m}.flv", True) for m in members]


def status(w, target, websocket, *headers):
    with Http(w.http) as h:
        h.send("GET", target, *headers, *(WEBSOCKET if websocket else ()))
        return h.head().status


@pytest.mark.parametrize("name, members", [
    ("film_high", ["film_high"]), ("film", ["film_high", "film_low"])])
def test_every_address_is_guarded(weir, clips, name, members):
    noplay = ', { name = "noplay"; publish = "open"; play_access = ' \
        '[ "deny all" ]; ' + LADDER + ' }'
    w = weir(locations=PLACES, app=LADDER, apps=noplay, workers=2)
    publishers = publish(w, clips, *members) + \
        publish(w, clips, *members, app="noplay")
    found = addresses(w, "live", name, members)
    assert len(found) >= 13
    for target, websocket in found:
        good = 101 if websocket else 200

        def ask(place, *headers, target=target, websocket=websocket, query=""):
            mark = ("&" if "?" in target else "?") if query else ""
            return status(w, place + target + mark + query, websocket,
                          *headers)
        rows = [
            ("/open", good), ("/deny", 403), ("/deny", 403, RIGHT),
            ("/auth", 401), ("/auth", 401, RIGHT + "x"),
            ("/auth", good, RIGHT),
            ("/query", 401), ("/query", good, RIGHT)]
        for place, wanted, *headers in rows:
            assert ask(place, *headers) == wanted, (place, target, headers)
        token = f"access_token={TOKEN}"
        assert ask("/query", query=token) == good, target
        assert ask("/query", query=token + "x") == 401, target
        assert ask("/query", query=token + "&" + token) == 401, target
        assert ask("/auth", query=token) == 401, target
        hidden = target.replace("/live/", "/noplay/")
        assert status(w, "/open" + hidden, websocket) == 403, hidden
    for p in publishers:
        p.stop()


def test_a_token_in_the_playlists_address(weir, clips):
    """Players that send no headers: it goes on in the addresses of playlists;
    objects have a signature, the same for all."""
    w = weir(locations=PLACES, workers=2)
    other = "another-token-of-enough-letters"
    p, = publish(w, clips, "room")
    bodies = set()
    for proof in (f"access_token={TOKEN}", RIGHT):
        query = "?" + proof if "=" in proof else ""
        headers = () if query else (proof,)
        multivariant = body(w, "/query/live/room.m3u8" + query, *headers)
        assert multivariant.count(proof) == (2 if query else 0)
        assert other not in multivariant
        uri = multivariant.splitlines()[-1]
        a = get(w.http, "/query/live/" + uri, *headers)
        assert "private" in a.header("cache-control").split(", ")
        bodies.add(a.body.decode())
    text, = bodies
    assert TOKEN not in text
    for target in objects(text):
        a = get(w.http, "/query/live/" + target)
        assert a.status == 200, target
        assert "public" in a.header("cache-control")
        bare, signed = target.split("?signed=")
        hour, signature = signed.split("-")
        for wrong in ("", "?signed=", f"?signed={int(hour) + 1}-{signature}",
                      f"?signed={hour}-{int(signature, 16) ^ 1:016x}",
                      f"?signed={signed}&signed={signed}"):
            assert get(w.http, "/query/live/" + bare + wrong).status == 401
        for elsewhere in ("/auth/live/" + target,
                          f"/query/live/room.m3u8?signed={signed}",
                          f"/query/live/other/{bare[5:]}?signed={signed}"):
            assert get(w.http, elsewhere).status == 401, elsewhere
        for place in ("/query/live/", "/auth/live/"):
            a = get(w.http, place + bare, RIGHT)
            assert a.status == 200
            assert "private" in a.header("cache-control").split(", ")
    assert "signed" not in body(w, "/auth/live/" + uri.split("&")[0], RIGHT)
    p.run()
    target = f"/query/live/room.m3u8?access_token={TOKEN}"
    for rendition in ("rendition=all", "rendition=t"):
        with Viewer(w.http, target, rendition=rendition) as v:
            v.follow(parts=12)
            v.check_reports()
            assert not v.faults, v.faults.text()
    assert decoded(w.http_url(target), 2)[0] > 40
    assert TOKEN not in w.log()
    p.stop()


def test_members_whose_names_are_keys(weir, clips):
    """A ladder has no member whose name is a key, unless it is published; the
    name of a stream is no secret."""
    w = weir(locations=PLACES + '{ path = "/control"; module = "relay"; },',
             apps=', { name = "keyed"; publish = "key"; idle_timeout = "1h";'
                  ' hold = "1s"; ladder = ( "a", "b" ); }')
    name = "x" * 47
    key = get(w.http, f"/control/get?room={name}b").body.decode()
    p, = publish(w, clips, key, app="keyed")
    found = addresses(w, "keyed", name, [name + "b"])
    for target, websocket in found:
        good = 101 if websocket else 200
        assert status(w, "/open" + target, websocket) == good, target
        secret = target.replace(name + "b", name + "a")
        if secret != target:
            assert status(w, "/open" + secret, websocket) == 404, secret
            a = get(w.http, "/open" + secret)
            assert a.status == 404 and b"key" in a.body, (secret, a.body)
    p.stop()
    wait_for(lambda: get(w.http, f"/open/keyed/{name}b.m3u8").status == 404,
             20, "end")
    for target, websocket in found:
        assert status(w, "/open" + target, websocket) == 404, target
