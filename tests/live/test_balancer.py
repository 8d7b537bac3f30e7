"""weir behind real load balancers: HAProxy and nginx."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import threading

import pytest

import media
from balancer import SOURCE, TRUST, Haproxy, Nginx, free_port
from control_client import Control
from http_client import Http, get
from weir import wait_for

ECHO = """{ path = "/echo"; module = "echo"; client = true;
            routes = [ "GET /*" ]; },"""
PROXY = '{ address = "127.0.0.1:%d"; proxy_protocol = true; }'
REQUESTS = 20000
CLIENTS = 8


def server(w, more="", name="a", port=None):
    return f"server {name} 127.0.0.1:{port or w.http} source {SOURCE} {more}"


def behind(weir, proxy=False, **more):
    where = PROXY % 0 if proxy else '"127.0.0.1:0"'
    return weir(http=TRUST + more.pop("http", ""), rtmp=TRUST,
                http_listen=where, rtmp_listen=where, locations=ECHO, **more)


def client_seen(port, **more):
    me = get(port, "/echo/x", "X-Forwarded-For: 6.6.6.6", **more).json()
    return me["client"]["address"], me["client"]


# ---- whose address is seen ----

@pytest.mark.parametrize("how", ["send-proxy", "send-proxy-v2",
                                 "send-proxy-v2 proxy-v2-options "
                                 "unique-id,crc32c"])
def test_haproxy_proxy_protocol(weir, tool, tmp_path, how):
    w = behind(weir, proxy=True)
    unique = "unique-id-format %{+X}o%ci:%cp" if "unique" in how else ""
    h = tool(Haproxy(tmp_path, server(w, how), defaults=unique))
    address, me = client_seen(h.port)
    assert (address, me["peer"]) == ("127.0.0.1", "127.0.0.1")
    w.wait_access_log(r"^127\.0\.0\.1 ")


def test_haproxy_forwarded_for(weir, tool, tmp_path):
    w = behind(weir)
    h = tool(Haproxy(tmp_path, f"""option forwardfor
    http-request set-header X-Forwarded-Proto https
    http-request set-header X-Request-ID from-haproxy-1
    {server(w)}"""))
    address, me = client_seen(h.port)
    assert (address, me["peer"]) == ("127.0.0.1", SOURCE)
    assert me["url"] == "https://test/echo/x"
    assert me["request_id"] == "from-haproxy-1"


def test_nginx_forwarded_for(weir, tool, tmp_path):
    w = behind(weir)
    n = tool(Nginx(tmp_path, f"""http {{ access_log off;
    upstream weir {{ server 127.0.0.1:{w.http}; keepalive 8; }}
    server {{ listen 127.0.0.1:{{port}}; location / {{
      proxy_pass http://weir; proxy_bind {SOURCE};
      proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Request-ID $request_id;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }} }}
    """))
    for _ in range(3):
        address, me = client_seen(n.port)
        assert (address, me["peer"]) == ("127.0.0.1", SOURCE)
        assert re.fullmatch("[0-9a-f]{32}", me["request_id"])


def test_nginx_stream(weir, tool, tmp_path, sample):
    """HTTP and RTMP through nginx's stream module and proxy_protocol."""
    w = behind(weir, proxy=True)
    rtmp = free_port()
    n = tool(Nginx(tmp_path, f"""stream {{
    server {{ listen 127.0.0.1:{{port}}; proxy_pass 127.0.0.1:{w.http};
              proxy_protocol on; proxy_bind {SOURCE}; }}
    server {{ listen 127.0.0.1:{rtmp}; proxy_pass 127.0.0.1:{w.rtmp};
              proxy_protocol on; proxy_bind {SOURCE}; }} }}"""))
    assert client_seen(n.port)[0] == "127.0.0.1"
    p = tool(media.ffmpeg_publish(sample, f"rtmp://127.0.0.1:{rtmp}/live/cam"))
    w.wait_log(r"live/cam.* 127\.0\.0\.1:\d+|127\.0\.0\.1:\d+.*live/cam")
    p.wait(60)
    assert SOURCE not in w.log()


def test_ffmpeg_through_haproxy(weir, tool, tmp_path, sample):
    """Publishing and playing in tcp mode: the log has ffmpeg's address, the
    picture arrives whole."""
    w = behind(weir, proxy=True)
    h = tool(Haproxy(tmp_path, server(w, "send-proxy-v2", port=w.rtmp),
                     mode="tcp"))
    url = f"rtmp://127.0.0.1:{h.port}/live/cam"
    out = tmp_path / "out.flv"
    p = tool(media.ffmpeg_publish(sample, url, for_ever=True))
    w.wait_log(r"stream live/cam: publish")
    tool(media.ffmpeg_record(url, out, "-t", "2")).wait(60)
    p.kill()
    w.wait_log(r"rtmp [0-9.]+:\d+: closed", count=2)
    assert len(media.packets(out)) > 50
    seen = re.findall(r"rtmp ([0-9.]+):\d+: closed", w.log())
    assert seen and set(seen) == {"127.0.0.1"}
    assert SOURCE not in w.log()


# ---- health ----

CHECK = """option httpchk
    http-check send meth GET uri /readyz
    default-server inter 200ms fall 1 rise 1
"""


@pytest.mark.parametrize("how", ["", "send-proxy-v2 check-send-proxy"])
def test_haproxy_sees_the_stop(weir, tool, tmp_path, how):
    w = behind(weir, proxy=bool(how), top='stop_grace = "1h";', grace="")
    h = tool(Haproxy(tmp_path, CHECK + server(w, how + " check")))
    wait_for(lambda: h.status("a") == "UP", 10, "UP")
    w.kill(signal.SIGQUIT)
    wait_for(lambda: h.status("a").startswith("DOWN"), 10, "DOWN")
    assert w.stop(signal.SIGQUIT) == 0
    assert "proxy protocol" not in w.log()


def test_haproxy_sees_the_state(weir, tool, tmp_path):
    """What is told by hand, and taken back."""
    w = behind(weir)
    h = tool(Haproxy(tmp_path, CHECK + server(w, " check")))
    wait_for(lambda: h.status("a") == "UP", 10, "UP")
    with Control(w) as c:
        for state, status in (("drain", "DOWN"), ("ready", "UP"),
                              ("maint", "DOWN")):
            c.ask(f"set state {state}")
            wait_for(lambda s=status: h.status("a").startswith(s), 10, state)


def test_old_checks(weir, tool, tmp_path):
    """HAProxy's own check (OPTIONS / HTTP/1.0) and TCP checks."""
    w = behind(weir)
    h = tool(Haproxy(tmp_path, "option httpchk\n    "
                     "default-server inter 100ms rise 3\n    " +
                     server(w, "check init-addr last") + "\n    " +
                     server(w, "check", name="rtmp", port=w.rtmp)))
    wait_for(lambda: h.status("a") == "UP", 10, "UP")
    t = tool(Haproxy(place(tmp_path, "t"), "default-server inter 100ms rise 3\n"
                     "    " + server(w, "check", port=w.rtmp), mode="tcp"))
    wait_for(lambda: t.status("a") == "UP", 10, "UP")


def place(folder, name):
    path = folder / name
    path.mkdir()
    return path


# ---- connections used again ----

REUSE = """http-reuse always
    balance roundrobin
    option redispatch
"""


class Crowd:
    """Clients that send requests on kept connections; what was not answered
    with 200 is in wrong."""

    def __init__(self, port, count=None):
        self.port, self.wrong, self.sent = port, [], [0] * CLIENTS
        self.each = count // CLIENTS if count else None
        self.over = False
        self.threads = [threading.Thread(target=self._client, args=(i,))
                        for i in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def _more(self, i):
        return not self.over and (not self.each or self.sent[i] < self.each)

    def _connection(self, i):
        with Http(self.port) as c:
            while self._more(i):
                self.sent[i] += 1
                c.send("GET", "/healthz")
                a = c.answer()
                if a.status != 200:
                    self.wrong.append(a.status)
                if a.header("Connection") == "close":
                    break

    def _client(self, i):
        while self._more(i) and len(self.wrong) < 100:
            try:
                self._connection(i)
            except (OSError, EOFError) as e:
                self.wrong.append(repr(e))

    def running(self):
        return any(t.is_alive() for t in self.threads)

    def join(self):
        for t in self.threads:
            t.join()
        assert self.wrong == []
        return sum(self.sent)

    def end(self):
        self.over = True
        return self.join()


def check_reuse(weir, tool, tmp_path, count):
    w = behind(weir, workers=2, http="keepalive_requests = 100;")
    h = tool(Haproxy(tmp_path, REUSE + server(w)))
    assert Crowd(h.port, count).join() == count
    wait_for(lambda: w.access_log().count("\n") == count, 30, "lines")


def test_reuse(weir, tool, tmp_path):
    check_reuse(weir, tool, tmp_path, REQUESTS)


@pytest.mark.soak
def test_reuse_long(weir, tool, tmp_path):
    check_reuse(weir, tool, tmp_path,
                int(os.environ.get("WEIR_REQUESTS", "1000000")))


def test_restarts_behind(weir, tool, tmp_path):
    """Two weirs, restarted in turn while requests come: nobody sees it."""
    listen = [f'"127.0.0.1:{free_port()}"' for _ in range(2)]
    both = [weir(http=TRUST, http_listen=x, grace="",
                 top='stop_grace = "4s"; stop_drain = "1h";')
            for x in listen]
    h = tool(Haproxy(tmp_path, REUSE + CHECK + "\n    ".join(
        server(w, "check", name=f"s{i}") for i, w in enumerate(both))))
    for i in range(2):
        wait_for(lambda i=i: h.status(f"s{i}") == "UP", 10, "UP")
    crowd = Crowd(h.port)
    for i, w in enumerate(both):
        assert w.stop(signal.SIGQUIT, 20) == 0
        w.start()
        w.status = None
        wait_for(lambda i=i: h.status(f"s{i}") == "UP", 10, "UP again")
    assert crowd.end() > 1000
