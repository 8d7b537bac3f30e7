"""Lines of the access logs, of HTTP and of RTMP, in every format."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import subprocess

import pytest

from feed import Feed, read_until
from http_client import Http, get
from rtmp_client import Refused, Rtmp, player
from weir import BINARY, read_text, wait_for

HELLO = '{ path = "/h"; module = "hello"; },'
HOSTILE = b'a"b\\c\x80\xff\xc3\xa4\tz'


def lines(w, count, name="access.log"):
    """The log once it has that many lines."""
    def look():
        found = read_text(f"{w.prefix}/run/{name}").splitlines()
        return found if len(found) >= count else None
    found = wait_for(look, 5, f"{count} lines in {name}")
    assert len(found) == count
    return found


def hostile(w, target="/h/hello?a=1"):
    with Http(w.http) as c:
        c.raw(f"GET {target} HTTP/1.1\r\nHost: t\r\nUser-Agent: ".encode() +
              HOSTILE + b"\r\n\r\n")
        return c.answer()


def test_combined_is_as_nginx_writes_it(weir):
    w = weir(locations=HELLO)
    assert hostile(w).status == 200
    assert re.fullmatch(
        r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
        r'"GET /h/hello\?a=1 HTTP/1\.1" 200 6 "-" '
        r'"a\\x22b\\x5[cC]c\\x80\\x[fF][fF]ä\\x09z"', lines(w, 1)[0])


def test_a_refusal_says_why(weir):
    w = weir(locations=HELLO)
    with Http(w.http) as c:
        c.raw("GET / HTTP/1.1\r\n\r\n")
        assert c.answer().status == 400
    assert lines(w, 1)[0].endswith(' "-" "-" "no Host header"')


def test_json(weir):
    w = weir(locations=HELLO, http='access_log_format = "json";')
    hostile(w)
    with Http(w.http) as c:
        c.raw(b"\x16\x03\x01\x02\x00\r\n\r\n")
        c.answer()
    good, bad = (json.loads(line) for line in lines(w, 2))
    assert good["user_agent"] == 'a"b\\c\ufffd\ufffdä\tz'
    assert good["status"] == 200 and good["bytes"] == 6
    assert good["request"] == "GET /h/hello?a=1 HTTP/1.1"
    assert "referer" not in good and "note" not in good
    assert bad["status"] == 400 and bad["note"]


def test_own_formats(weir):
    w = weir(locations=HELLO, http='access_log_format = "$status|$request_uri|'
             '${module}!$location|$http_user_agent|$pid|$worker|'
             '$connection_requests|$server_port|$request_time|$$";')
    with Http(w.http) as c:
        for _ in range(2):
            c.send("GET", "/h/hello?q", "User-Agent: me")
            assert c.answer().status == 200
    first, second = lines(w, 2)
    pid = w.workers()[0]
    assert re.fullmatch(
        rf"200\|/h/hello\?q\|hello!/h\|me\|{pid}\|0\|1\|{w.http}\|"
        r"\d+\.\d{3}\|\$", first)
    assert "|2|" in second


def test_json_of_ones_own(weir):
    w = weir(locations=HELLO, http='access_log_format = '
             '"json: code=$status agent=$http_user_agent sent=$bytes_sent";')
    hostile(w)
    line = json.loads(lines(w, 1)[0])
    assert set(line) == {"code", "agent", "sent"}
    assert line["code"] == 200 and line["sent"] > 100


def test_secrets_are_masked(weir):
    w = weir(locations=HELLO, http='mask_args = [ "key", "pin" ]; '
             'access_log_format = "$request $args $http_referer '
             '$http_authorization $http_cookie";')
    get(w.http, "/h/hello?key=S3CRET&b=2&PIN=S3CRET",
        "Referer: http://x/?pin=S3CRET#z", "Authorization: Bearer S3CRET",
        "Cookie: id=S3CRET")
    line = lines(w, 1)[0]
    assert "S3CRET" not in line
    assert line == "GET /h/hello?key=***&b=2&PIN=*** HTTP/1.1 " \
        "key=***&b=2&PIN=*** http://x/?pin=***#z *** ***"


def test_a_long_line_stays_one_line(weir):
    w = weir(locations=HELLO)
    get(w.http, "/h/hello?" + "a" * 7000, "User-Agent: " + "\t\x01"[:1] * 3000)
    line = lines(w, 1)[0]
    assert len(line) < 16384 and line.count('"') == 6


def config_error(tmp_path, row, where="http"):
    path = tmp_path / "weir.conf"
    http = row if where == "http" else ""
    rtmp = row if where == "rtmp" else ""
    path.write_text(
        'rtmp = { servers = ( { listen = "127.0.0.1:0";\n' + rtmp +
        '\napplications = ( { name = "live"; } ); } ); };\n'
        'http = { servers = ( { listen = "127.0.0.1:0";\n' + http +
        '\nlocations = ( { path = "/"; module = "status"; } ); } ); };\n')
    done = subprocess.run([BINARY, "-t", "-c", str(path)], text=True,
                          capture_output=True)
    assert done.returncode == 1, done
    return done.stderr


@pytest.mark.parametrize("row, where, line, words", [
    ('access_log_format = "$remote_adr x";', "http", 5,
     'there is no variable "$remote_adr"; did you mean "$remote_addr"?'),
    ('access_log_format = "a $ b";', "http", 5, 'needs the name'),
    ('access_log_format = "json: a=b";', "http", 5, "member=$variable"),
    ('access_log_format = "$bytes_recieved";', "rtmp", 2,
     'did you mean "$bytes_received"?'),
    ('mask_args = [ "a=b" ];', "http", 5, "cannot be the name"),
])
def test_mistakes_are_found(tmp_path, row, where, line, words):
    said = config_error(tmp_path, row, where)
    assert f"weir.conf:{line}: " in said and words in said


# ---- RTMP ----

def test_rtmp_sessions_have_their_lines(weir):
    w = weir(rtmp='access_log = "run/rtmp.log";')
    feed = Feed(w.rtmp).head().frames(10)
    with player(w.rtmp, "live", "room") as c:
        read_until(c, "video 9")
    play = lines(w, 1, "rtmp.log")[0]
    feed.stop()
    publish = lines(w, 2, "rtmp.log")[1]
    form = r'127\.0\.0\.1 \[[^]]+ \+0000\] {} "live" "room" "-" - (\d+) ' \
           r'(\d+) "[^"]*" "[^"]*" \(\d+s\) "[^"]+"'
    played = re.fullmatch(form.format("PLAY"), play)
    published = re.fullmatch(form.format("PUBLISH"), publish)
    assert played and published
    assert int(played[2]) > 10 * 1000 > int(played[1])
    assert int(published[1]) > 10 * 1000 > int(published[2])


def test_rtmp_refusals_are_logged_without_secrets(weir):
    w = weir(rtmp='access_log = "run/rtmp.log"; access_log_format = "json";',
             apps=', { name = "keys"; publish = "key"; }')
    with Rtmp(w.rtmp) as c:
        with pytest.raises(Refused):
            c.connect('no"ne')
        c.wait_closed()
    with Rtmp(w.rtmp) as c:
        c.connect("keys")
        with pytest.raises(Refused):
            c.publish("S3CRET?token=S3CRET&x=1")
        c.wait_closed()
    connect, publish = (json.loads(line)
                        for line in lines(w, 2, "rtmp.log"))
    assert connect["command"] == "CONNECT"
    assert connect["app"] == 'no"ne'
    assert "no application" in connect["reason"]
    assert publish["command"] == "PUBLISH" and publish["app"] == "keys"
    assert publish["name"] == "***" and publish["args"] == "token=***&x=1"
    assert publish["reason"]
    assert "S3CRET" not in read_text(f"{w.prefix}/run/rtmp.log")
    assert "S3CRET" not in w.log()


def test_a_flood_of_lines_is_held_back(weir):
    """The error log says how many lines like this were not written."""
    w = weir()
    for _ in range(250):
        with Http(w.rtmp) as c:
            c.raw(b"\x09")
            assert c.ended()
    written = len(re.findall(r"rtmp \S+ closed after", w.log()))
    if written < 250:  # all of them came within a second or two
        found = w.wait_log(r"(\d+) more like this were not written, the last: "
                           r"rtmp")
        assert int(found[1]) > 0
    m = get(w.http, "/metrics").body.decode()
    assert 'closed_total{reason="handshake"} 250' in m
