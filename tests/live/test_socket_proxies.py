"""Socket.IO at two nodes behind HAProxy and nginx, with the lines that
docs/socket-io.md shows."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re

import pytest

from balancer import Haproxy, Nginx
from http_client import get
from socket_help import Place, location, packed
from test_socket_clients import IDS, TRANSPORTS, echoes, node_client
from weir import TRACED, wait_for

CLIENTS = 11  # odd: by turns, each is at the other node next time


def block(word):
    """The lines of the page's block that begins with a word."""
    with open("docs/socket-io.md", encoding="utf-8") as f:
        found = re.search(rf"^    {word} .*\n(?:(?:    .*)?\n)*", f.read(), re.M)
    return re.sub("^    ", "", found[0], flags=re.M)


def placed(text, nodes):
    """With the nodes for those that the page names."""
    for number, w in enumerate(nodes, 1):
        address = f"192.0.2.{number}:8080"
        assert text.count(address) == 1
        text = text.replace(address, f"127.0.0.1:{w.http}")
    return text


def haproxy(folder, nodes, drop="nothing at all"):
    lines = placed(block("listen"), nodes).splitlines()
    assert [s.strip() for s in lines[:3]] == \
        ["listen sockets", "bind :80", "mode http"]
    return Haproxy(folder, "\n".join(
        line for line in lines[3:] if drop not in line))


def nginx(folder, nodes):
    text = placed(block("map"), nodes)
    assert text.count("listen 80;") == 1
    text = text.replace("listen 80;", "listen 127.0.0.1:{port};")
    return Nginx(folder, f"http {{ access_log off;\n{text}\n}}")


PROXIES = {"haproxy": haproxy, "nginx": nginx}


@pytest.fixture
def nodes(weir):
    return [weir(http='trusted_proxies = "127.0.0.1";',
                 locations=location(cookie="io"))
            for _ in range(2)]


@pytest.fixture(params=PROXIES)
def proxy(request, tool, tmp_path, nodes):
    return tool(PROXIES[request.param](tmp_path, nodes))


def sessions_of(w):
    """Handshakes in its access log."""
    return len(re.findall(r"transport=polling HTTP", w.access_log()))


def places(port):
    """Clients' addresses."""
    return [Place(port, f"127.0.0.{20 + n}") for n in range(CLIENTS)]


def test_another_nodes_session(nodes):
    one, other = (Place(w.http) for w in nodes)
    sid = one.polling().sid
    for endpoint in ("socket.io", "engine.io"):
        for a in (other.request(endpoint, sid=sid),
                  other.request(endpoint, "POST", sid=sid, body=b"40")):
            assert a.status == 400
            assert a.json() == {"code": 1, "message": "Session ID unknown"}
    a = other.refusal(sid=sid)
    assert a.status == 400 and b"Session ID unknown" in a.body


def test_sticky_sessions(nodes, proxy):
    """Clients of many addresses, which keep no cookies: each session stays at
    its node, from polling to WebSocket, and both nodes have some."""
    clients = [p.polling() for p in places(proxy.port)]
    for c in clients:
        c.send("40")
        assert json.loads(c.receive_data()[2:])["sid"]
    for n in range(5):
        for c in clients:
            c.send(f'42["message",{n}]')
    for c in clients:
        assert c.receive_data().startswith('42["auth"')
        assert [c.receive_data() for _ in range(5)] == \
            [f'42["message-back",{n}]' for n in range(5)]
    for c in clients:
        with c.server.websocket(sid=c.sid) as ws:
            ws.send("2probe")
            assert ws.receive() == "3probe"
            ws.send("5", '42["message","up"]')
            assert ws.receive_data() == '42["message-back","up"]'
    assert all(sessions_of(w) for w in nodes)


def test_without_the_sticky_lines(nodes, tool, tmp_path):
    """What those lines are for."""
    h = tool(haproxy(tmp_path, nodes, drop="stick"))
    clients = [p.polling() for p in places(h.port)]
    answers = [c.post(packed(["40"])).status for c in clients]
    assert 400 in answers


@pytest.mark.parametrize("transports", TRANSPORTS, ids=IDS)
def test_node_through(nodes, proxy, tool, transports):
    for _ in range(2):
        c = node_client(tool, proxy.port, transports=transports)
        c.until(event="auth")
        echoes(c)
        c.say(ack=["message-with-ack", "x" * 300_000])
        c.until(ack=["x" * 300_000])


def test_addresses_are_the_clients(nodes, proxy):
    with places(proxy.port)[3].websocket() as ws:
        ws.opened()
    wait_for(lambda: any(re.search(r"^127\.0\.0\.23 ", w.access_log(), re.M)
                         for w in nodes), 5, "its line")


def test_the_pages_example(weir):
    with open("docs/socket-io.md", encoding="utf-8") as f:
        page = f.read()
    text = re.search(r"<<'END'\n(.*?)^    END", page, re.M | re.S)[1]
    w = weir(text.replace("127.0.0.1:8080", "127.0.0.1:0") +
             f'stop_grace = "0"; {TRACED}')
    a = get(w.http, "/socket.io/?EIO=4&transport=polling", host="localhost")
    told = re.search(r'^    (0\{"sid":.*\})$', page, re.M)[1]
    assert re.sub('"sid":"[^"]*"', '"sid":"..."', a.body.decode()) == told
