"""The line server of modules/echo, which stands for every module that has
listeners of its own: they are opened, tried, kept, counted and left as those
of rtmp and http."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import socket

import pytest

import proxy_header
import tls_files
from control_client import Control
from http_client import get
from patience import busy
from weir import configuration, free_port, place, run, wait_for

ANY = '"127.0.0.1:0"'


def block(listen=ANY, more="", name="main"):
    return f'{{ name = "{name}"; listen = ( {listen} ); {more} }}'


def servers(*blocks):
    return "echo = ( " + ", ".join(blocks or [block()]) + " );"


def connect(port, address="127.0.0.1"):
    s = socket.socket()
    s.settimeout(busy(10))
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    return s


def unix_socket(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(busy(10))
    s.connect(path)
    return s


def read(s, count):
    got = b""
    while len(got) < count:
        data = s.recv(65536)
        assert data, f"ended after {got!r}"
        got += data
    return got


def echoes(s, line=b"a line\n"):
    s.sendall(line)
    return read(s, len(line)) == line


def is_closed(s):
    try:
        return s.recv(100) == b""
    except ConnectionError:
        return True


def is_read(s):
    """Nothing of what s sent waits in the kernel: the worker has read it."""
    port, peer = s.getpeername()[1], s.getsockname()[1]
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.read().splitlines()[1:]:
            fields = line.split()
            ends = [int(end.split(":")[1], 16) for end in fields[1:3]]
            if ends == [port, peer]:
                return int(fields[4].split(":")[1], 16) == 0
    return False


def metric(w, name):
    text = get(w.http, "/metrics").body.decode()
    return sum(float(v) for v in re.findall(
        rf"^{re.escape(name)}(?:{{.*}})? (\S+)$", text, re.M))


def of_listener(w, name):
    """The metric, of the module's listeners."""
    text = get(w.http, "/metrics").body.decode()
    found = re.findall(rf'^{name}{{.*proto="echo"}} (\S+)$', text, re.M)
    return sum(float(v) for v in found)


# ---- the protocol ----

def test_lines(weir):
    w = weir(top=servers())
    with connect(w.port("echo")) as s:
        assert echoes(s, b"one\n")
        assert echoes(s, b"two\n\nthree\r\n")
        s.sendall(b"ha")
        s.sendall(b"lf\nrest without end")
        s.shutdown(socket.SHUT_WR)
        assert read(s, 5) == b"half\n" and is_closed(s)
    assert metric(w, "weir_echo_lines_total") == 5


def test_a_line_that_is_too_long(weir):
    w = weir(top=servers(block(more="max_line = 10;")))
    with connect(w.port("echo")) as s:
        assert echoes(s, b"123456789\n" * 3)
        s.sendall(b"1234567890\n")
        assert is_closed(s)
    w.wait_log("left: the line is too long")


def test_one_that_is_idle(weir):
    w = weir(top=servers(block(more='idle_timeout = "200ms";')))
    with connect(w.port("echo")) as s:
        assert is_closed(s)
    w.wait_log("echo main: 127.0.0.1:.* left: it was idle")


def test_who_reads_nothing_is_not_read(weir):
    """What is on the way is what the system keeps, and a line; then all of it
    comes."""
    listen = '{ address = "127.0.0.1:0"; rcvbuf = "8k"; sndbuf = "8k"; }'
    w = weir(top=servers(block(listen, 'idle_timeout = "1h";')))
    line = b"x" * 999 + b"\n"
    with connect(w.port("echo")) as s:
        sent = send_until_full(s, line)
        assert sent < MOST
        rest = -sent % len(line)
        got = read(s, sent - sent % len(line))
        if rest:
            s.sendall(line[-rest:])
            got += read(s, len(line))
        assert got == line * (len(got) // len(line))
        assert echoes(s)


MOST = 1 << 26  # bytes: far more than two sockets keep


def send_until_full(s, line):
    """How much of line after line the other side takes, when we take none."""
    s.settimeout(1)
    sent = 0
    try:
        while sent < MOST:
            sent += s.send(line[sent % len(line):])
    except socket.timeout:
        pass
    s.settimeout(busy(10))
    return sent


# ---- listeners ----

def test_tls(weir, certificates):
    w = weir(top=servers(block(tls_files.listen(
        certificates.group("localhost")))))
    with tls_files.connect(w.port("echos"), certificates.root) as s:
        assert echoes(s, b"x" * 3000 + b"\n")
        assert s.selected_alpn_protocol() is None
        s.sendall(b"last\n")
        assert read(s, 5) == b"last\n"
    with connect(w.port("echos")) as s:
        s.sendall(b"plain\n")
        assert is_closed(s)


def test_proxy_protocol(weir):
    w = weir(top=servers(block(
        f'{{ address = {ANY}; proxy_protocol = true; }}',
        'trusted_proxies = "loopback"; access = [ "deny 192.0.2.7", "allow all" ];')))
    with connect(w.port("echo")) as s:
        s.sendall(proxy_header.v1("192.0.2.1") + b"a\n")
        assert read(s, 2) == b"a\n"
    w.wait_log("echo main: 192.0.2.1:40000 left: ")
    with connect(w.port("echo")) as s:
        s.sendall(proxy_header.v2("192.0.2.7") + b"a\n")
        assert is_closed(s)
    w.wait_log("echo: 192.0.2.7:40000 refused: address not allowed")
    with connect(w.port("echo")) as s:
        s.sendall(b"no header\n")
        assert is_closed(s)


def test_unix_socket(weir, tmp_path):
    path = f"{tmp_path}/e.sock"
    w = weir(top=servers(block(f'"unix:{path}"')))
    for _ in range(2):
        with unix_socket(path) as s:
            assert echoes(s)
        w.reload()
    w.stop()
    assert not os.path.exists(path)


def test_access(weir):
    w = weir(top=servers(block(
        more='access = [ "deny 127.0.0.2", "allow all" ];')))
    before = metric(w, "weir_http_refusals_total")
    with connect(w.port("echo"), "127.0.0.2") as s:
        assert is_closed(s)
    with connect(w.port("echo")) as s:
        assert echoes(s)
    w.wait_log("echo: 127.0.0.2:.* refused: address not allowed")
    assert metric(w, "weir_http_refusals_total") == before + 1
    with Control(w) as c:
        last = c.json("show errors")[-1]
    assert last["proto"] == "echo"
    assert last["peer"].startswith("127.0.0.2:")
    assert last["reason"] == "address not allowed"


def test_every_instance_has_its_own(weir):
    w = weir(top=servers(block(), block(more="max_line = 5;", name="second")))
    first, second = (w.port("echo", i) for i in (0, 1))
    with connect(first) as s:
        assert echoes(s, b"123456\n")
    with connect(second) as s:
        s.sendall(b"123456\n")
        assert is_closed(s)
    w.wait_log("echo second: .* left: the line is too long")


def test_every_worker_gets_some(weir):
    w = weir(workers=2, top=servers())
    open_now, seen = [], set()

    def both():
        open_now.append(connect(w.port("echo")))
        assert echoes(open_now[-1])
        seen.add(w.worker_of(open_now[-1]))
        return len(seen) == 2

    wait_for(both, 10, "both workers")
    assert seen == set(w.workers())
    assert of_listener(w, "weir_connections") == len(open_now)
    assert of_listener(w, "weir_connections_accepted_total") == len(open_now)
    for s in open_now:
        s.close()
    wait_for(lambda: of_listener(w, "weir_connections") == 0, 10, "none")


def test_the_operator_sees_them(weir):
    w = weir(top=servers())
    with Control(w) as c:
        row = [r for r in c.json("show listeners") if r["proto"] == "echo"][0]
        assert row["address"] == f'127.0.0.1:{w.port("echo")}'
        assert row["state"] == "ready"
        assert c.ask(f'disable listener {row["address"]}')[0].startswith("OK")
        assert "disabled" in [r["state"] for r in c.json("show listeners")
                              if r["proto"] == "echo"]
        assert c.ask(f'enable listener {row["address"]}')[0].startswith("OK")
    with connect(w.port("echo")) as s:
        assert echoes(s)


# ---- limits ----

def test_limits_of_an_address(weir):
    w = weir(top=servers() +
             'limits = { exempt = "deny all"; connections_per_address = 3; };')
    many = [connect(w.port("echo")) for _ in range(3)]
    assert all(echoes(s) for s in many)
    with connect(w.port("echo")) as s:
        assert is_closed(s)
    w.wait_log("echo: .* refused: too many connections of this address")
    many.pop().close()
    with connect(w.port("echo"), "127.0.0.3") as s:
        assert echoes(s)
    for s in many:
        s.close()


def test_who_has_sent_no_line_is_incomplete(weir):
    w = weir(top=servers() +
             'limits = { exempt = "deny all"; incomplete_per_address = 2; };')
    port = w.port("echo")
    kept = []
    for _ in range(4):
        kept.append(connect(port))
        assert echoes(kept[-1])
    silent = [connect(port) for _ in range(2)]
    with connect(port) as s:
        assert is_closed(s)
    w.wait_log("echo: .* refused: ")
    for s in kept + silent:
        s.close()


def test_a_limit_of_the_operator(weir):
    w = weir(top=servers())
    with Control(w) as c:
        assert c.ask("limit client 127.0.0.5 connections 0")[0].startswith(
            "OK")
        assert c.ask("debug client 127.0.0.9")[0].startswith("OK")
        assert c.ask("set log level warn")[0].startswith("OK")

        def refused():
            with connect(w.port("echo"), "127.0.0.5") as s:
                try:
                    s.sendall(b"x\n")
                except ConnectionError:
                    pass
                return is_closed(s)
        wait_for(refused, 10, "refused")

        def told():
            with connect(w.port("echo"), "127.0.0.9") as s:
                assert echoes(s)
            return re.search(r"echo 127\.0\.0\.9:\d+: connection accepted at",
                             w.log())
        wait_for(told, 10, "told")


# ---- reloads and the end ----

def test_a_reload_keeps_the_port(weir):
    patient = 'idle_timeout = "1h";'
    parts = {"workers": 2, "top": servers(
        block(more=patient), block(more=patient, name="second"))}
    w = weir(**parts)
    ports = [w.port("echo", i) for i in (0, 1)]
    with connect(ports[0]) as s, connect(ports[1]) as idle:
        assert echoes(s) and echoes(idle)
        s.sendall(b"half of ")
        old = w.worker_of(s)
        wait_for(lambda: is_read(s), 10, "half a line is read")
        w.reload()
        s.sendall(b"a line\n")
        assert read(s, 15) == b"half of a line\n"
        assert is_closed(s) and is_closed(idle)
        assert old not in w.workers()
    assert len(w.listening("echo")) == 2
    for port in ports:
        with connect(port) as s:
            assert echoes(s)
    wait_for(lambda: not w.old_workers(), 10, "old workers are gone")


def test_a_reload_changes_them(weir):
    port = free_port()
    w = weir(top="")
    w.set_config(top=servers(block(f'"127.0.0.1:{port}"')))
    w.reload()
    with connect(port) as s:
        assert echoes(s)
    w.set_config(top=servers(block(f'"127.0.0.1:{port}"', "max_line = 4;")))
    w.reload()
    with connect(port) as s:
        s.sendall(b"1234\n")
        assert is_closed(s)
    w.set_config(top="")
    w.reload()

    def closed():
        try:
            connect(port).close()
        except ConnectionRefusedError:
            return True
        return False
    wait_for(closed, 10, "the port is closed")


def test_the_last_server_may_be_a_module(weir):
    """A weir without rtmp and http serves, too."""
    w = weir(servers() + 'stop_grace = "0"; pid = "run/weir.pid"; '
             'worker_processes = 1; store = { path = "run/weir.db"; };')
    with connect(w.port("echo")) as s:
        assert echoes(s)


def test_an_old_worker_waits_for_half_a_line(weir):
    """A connection of a module holds a worker that drains, as any does."""
    w = weir(top=servers(block(more='idle_timeout = "1h";')))
    with connect(w.port("echo")) as s:
        assert echoes(s, b"x\n")
        old = w.worker_of(s)
        s.sendall(b"half")
        wait_for(lambda: is_read(s), 10, "half a line")
        w.reload()
        wait_for(lambda: w.old_workers() == [old], 10, "the worker drains")
        assert w.wait_log("drains: 1 connections are open")
        s.sendall(b"\n")
        assert read(s, 5) == b"half\n" and is_closed(s)
    wait_for(lambda: not w.old_workers(), 10, "it ends")


def test_an_old_worker_waits_for_a_slow_reader(weir, tmp_path):
    """Whole lines that the reader has no room for are not silence: one that is
    silent is ended, the reader is not.  What is read at once (max_line) ends
    with a line."""
    path = f"{tmp_path}/e.sock"
    w = weir(workers=1,
             top=servers(block(f'"unix:{path}"', 'idle_timeout = "1h";')))
    line = b"x" * 1023 + b"\n"
    with unix_socket(path) as slow, unix_socket(path) as silent:
        sent = send_until_full(slow, line)
        assert echoes(silent)
        w.reload()
        assert w.wait_log("drains: 2 connections are open")
        assert is_closed(silent)
        assert read(slow, sent // 1024 * 1024) == line * (sent // 1024)


def test_a_stop_ends_them(weir):
    w = weir(top=servers())
    with connect(w.port("echo")) as s:
        assert echoes(s)
        assert w.stop() == 0
        assert is_closed(s)


# ---- what is tried and refused ----

def check(prefix):
    return run("-t", "-c", f"{prefix}/weir.conf", "-p", str(prefix))


def check_of(folder, **parts):
    place(str(folder), configuration(**parts))
    return check(folder)


def test_a_port_that_is_taken(weir):
    w = weir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        w.set_config(top=servers(block(f'"127.0.0.1:{port}"')))
        done = check(w.prefix)
        assert done.returncode == 1
        assert re.search(rf"weir\.conf:\d+: listen: 127.0.0.1:{port} is in use",
                         done.stderr)
        w.reload(good=False)
    w.set_config(top=servers())
    assert check(w.prefix).returncode == 0
    w.reload()


@pytest.mark.parametrize("blocks, told", [
    ([block('"127.0.0.1:7", "127.0.0.1:7"')],
     r'echo: listen "127\.0\.0\.1:7" stands twice'),
    ([block('"127.0.0.1:7"'), block('"127.0.0.1:7"', name="b")],
     r'echo: listen "127\.0\.0\.1:7" is taken by the server in line \d+'),
    ([block(f"{{ address = {ANY}; proxy_protocol = true; }}")],
     "echo: proxy_protocol of listen .* needs trusted_proxies"),
    ([block(), block()], "is the name of the one in line"),
    ([block('"nonsense"')], "echo.listen"),
    ([block(more='access = "allow nobody";')], "echo.access"),
])
def test_wrong_settings_are_told(tmp_path, blocks, told):
    done = check_of(tmp_path, top=servers(*blocks))
    assert done.returncode == 1
    assert re.search(rf"weir\.conf:\d+: .*{told}", done.stderr), done.stderr


def test_an_address_of_http_is_taken(tmp_path):
    done = check_of(tmp_path, top=servers(block('"127.0.0.1:7"')),
                    http_listen='"127.0.0.1:7"')
    assert re.search(r'echo: listen "127\.0\.0\.1:7" is taken by the server '
                     r'in line \d+', done.stderr), done.stderr
