"""Workers give connections to a role, over the bus and in the sandbox.

The module modules/mover of this folder moves each that asks for /move to a
role, which echoes its lines."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import ssl

import pytest

import weir as weir_py
from control_client import Control
from http_client import get
from kept import sockets
from patience import busy
from proxy_header import v1
from tls_files import Certificates, context
from weir import descendants, descriptors, title, wait_for

MANY = 1000
PLAIN, TLS, PROXY, PROXY_TLS = KINDS = ("plain", "tls", "proxy", "proxy tls")
PORTS = {PLAIN: ("http", 0), TLS: ("https", 0), PROXY: ("http", 1),
         PROXY_TLS: ("https", 1)}


@pytest.fixture(scope="module")
def mover_binary(binary_with):
    return binary_with("mover")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    made = Certificates(tmp_path_factory.mktemp("tls"))
    made.make("a", "localhost")
    return made


class Mover:
    """A weir with the module, and its parts that tests look at."""

    def __init__(self, weir, files, **parts):
        tls = files.group("a")
        listen = ", ".join([
            '"127.0.0.1:0"', f'{{ address = "127.0.0.1:0"; {tls} }}',
            '{ address = "127.0.0.1:0"; proxy_protocol = true; }',
            '{ address = "127.0.0.1:0"; proxy_protocol = true; '
            f'{tls} }}'])
        self.parts = {
            "http_listen": listen,
            "http": 'trusted_proxies = "127.0.0.1"; hosts = [ "localhost" ];',
            "locations": '{ path = "/move"; module = "mover"; },',
            **parts}
        self.w = weir(**self.parts)
        self.context = context(files.root)

    def role(self):
        """The role's process, when it runs."""
        for pid in descendants(self.w.master()):
            if title(pid).startswith("weir: mover"):
                return pid
        return None

    def connect(self, kind, window=None):
        s = socket.socket()
        s.settimeout(busy(10))
        if window:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        s.connect(("127.0.0.1", self.w.port(*PORTS[kind])))
        if kind in (PROXY, PROXY_TLS):
            s.sendall(v1())
        if kind in (TLS, PROXY_TLS):
            s = self.context.wrap_socket(s, server_hostname="localhost")
        return s

    def moved(self, kind, behind=b"", query="", **more):
        """One that asked to be moved, with what it says right behind."""
        s = self.connect(kind, **more)
        s.sendall(b"GET /move%s HTTP/1.1\r\nHost: localhost\r\n\r\n%s" %
                  (query.encode(), behind))
        return Client(s)

    def metric(self, name):
        text = get(self.w.http, "/metrics", host="localhost").body.decode()
        return sum(int(n) for n in re.findall(
            rf"^{re.escape(name)} (\d+)$", text, re.M))

    def ready_role(self, other_than):
        """Another role's process, that takes connections."""
        def find():
            with Control(self.w) as c:
                return next((row["pid"] for row in c.json("show proc")
                             if row["name"] == "mover" and
                             row["state"] == "ready" and
                             row["pid"] not in (0, other_than)), None)
        return wait_for(find, 30, "another role")

    def shown(self, column, name):
        """Of the processes of that name, added up."""
        with Control(self.w) as c:
            return sum(row[column] for row in c.json("show proc")
                       if row["name"] == name)

    def holds(self, count):
        wait_for(lambda: self.shown("conns", "mover") == count, 30,
                 f"{count} connections of the role")


class Client:
    def __init__(self, sock):
        self.sock = sock
        self.got = b""

    def read_until(self, end):
        """All up to the end of it."""
        while end not in self.got:
            part = self.sock.recv(65536)
            assert part, f"the end came behind {self.got[-100:]!r}"
            self.got += part
        text, _, self.got = self.got.partition(end)
        return text + end

    def head(self):
        assert self.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
        return self

    def says(self, text):
        self.sock.sendall(text)
        return self

    def hears(self, text):
        while len(self.got) < len(text):
            part = self.sock.recv(65536)
            assert part, f"the end came behind {self.got[-100:]!r}"
            self.got += part
        assert self.got[:len(text)] == text
        self.got = self.got[len(text):]
        return self

    def echoes(self, text):
        return self.says(text).hears(text)

    def hears_end(self):
        """What comes before it; a reset is an end as well."""
        try:
            while part := self.sock.recv(65536):
                self.got += part
        except (ConnectionResetError, ssl.SSLEOFError):
            pass
        return self.got

    def close(self):
        self.sock.close()


@pytest.fixture
def mover(mover_binary, files, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", mover_binary)
    return lambda **parts: Mover(weir, files, **parts)


# ---- one ----

@pytest.mark.parametrize("kind", KINDS)
def test_what_was_said_in_one_piece_arrives_whole(mover, kind):
    """The worker has read two lines and a half behind the request."""
    m = mover()
    c = m.moved(kind, b"one\ntwo\nthr").head()
    c.hears(b"one\ntwo\n").says(b"ee\n").hears(b"three\n")
    m.holds(1)
    c.close()
    m.holds(0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_sent_arrives_behind_what_was(mover, kind):
    """The client reads when it is the role's, and the worker's words first."""
    m = mover()
    c = m.moved(kind, b"said\n", "?greet", window=4096)
    m.holds(1)
    lines = c.head().read_until(b"done\n").split(b"\n")[:-2]
    assert lines == [b"greeting %d" % n for n in range(len(lines))]
    assert len(lines) > 100
    c.hears(b"said\n").echoes(b"x" * 60000 + b"\n")
    c.close()


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_may_say_much(mover, kind):
    c = mover().moved(kind).head()
    text = b"".join(b"line %d\n" % n for n in range(3000))
    for _ in range(20):
        c.echoes(text)
    c.close()


@pytest.mark.parametrize("kind", [PLAIN, TLS])
def test_a_client_that_ends_its_side_hears_all(mover, kind):
    m = mover()
    c = m.moved(kind, b"last words\n").head()
    if kind == TLS:
        c.hears(b"last words\n").sock.unwrap().close()
    else:
        c.sock.shutdown(socket.SHUT_WR)
        assert c.hears_end() == b"last words\n"
        c.close()
    m.holds(0)


def test_requests_are_logged_when_they_have_gone(mover):
    m = mover()
    c = m.moved(PROXY).head()
    m.w.wait_access_log(r'192\.0\.2\.1 .*"GET /move HTTP/1.1" 200')
    c.echoes(b"it goes on\n").close()


# ---- what is checked ----

@pytest.mark.parametrize("kind", KINDS)
def test_another_descriptor_than_was_packed_is_refused(mover, kind):
    """A pair can only be told from a pump's by who speaks at its end."""
    m = mover()
    c = m.moved(kind, query="?lie").head()
    assert c.hears_end() == b""
    if kind in (PLAIN, PROXY):
        m.w.wait_log("mover: not taken: the descriptor is not the one that "
                     "was packed")
    m.holds(0)


def test_pumps_have_a_limit(mover):
    """Half of worker_connections; whoever is one too many hears so."""
    m = mover(top="worker_connections = 8;")
    clients = [Client(m.connect(TLS)) for _ in range(6)]
    for n, c in enumerate(clients):
        c.says(b"GET /move HTTP/1.1\r\nHost: localhost\r\n\r\nline\n").head()
        if n < 4:
            c.hears(b"line\n")
        else:
            assert c.hears_end() == b"nobody takes it\n"
            c.close()
    m.w.wait_log("mover: not given: 4 TLS connections of this process are "
                 "with others: no more may be", count=2)
    # Each has two sockets: no more connections are accepted.
    m.w.wait_log(r"worker_connections \(8\) are in use")
    wait_for(lambda: m.shown("pumps", "worker 0") == 4, 30)
    for c in clients[:4]:
        c.echoes(b"still\n").close()
    wait_for(lambda: m.shown("pumps", "worker 0") == 0, 30)
    m.moved(TLS).head().echoes(b"again\n").close()
    assert m.metric("weir_tls_pumps") <= 1


@pytest.mark.parametrize("kind", [PROXY, PROXY_TLS])
def test_a_client_is_counted_where_its_socket_is(mover, kind):
    """Once, by its own address, and no more when it has gone.  One on its way
    is not counted, so each is heard from its role first."""
    m = mover(top="limits = { connections_per_address = 5; };")

    def let_in():
        try:
            return m.moved(kind).head().echoes(b"in\n")
        except (AssertionError, OSError):
            return None
    clients = [m.moved(kind).head().echoes(b"line\n") for _ in range(5)]
    assert let_in() is None
    m.w.wait_log("192.0.2.1.*connections")
    clients.pop().close()
    clients.append(wait_for(let_in, 30, "a place for one more"))
    assert let_in() is None
    for c in clients:
        c.echoes(b"still\n").close()


# ---- an end ----

@pytest.mark.parametrize("kind", KINDS)
def test_the_role_is_killed(mover, kind):
    m = mover()
    clients = [m.moved(kind).head().echoes(b"line\n") for _ in range(20)]
    role = m.role()
    os.kill(role, signal.SIGKILL)
    for c in clients:
        assert c.hears_end() == b""
        c.close()
    m.ready_role(other_than=role)
    m.moved(kind).head().echoes(b"again\n").close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_worker_is_killed(mover, kind):
    """Its sockets are the role's, but a TLS end is its own."""
    m = mover()
    m.w.may_grow = True
    clients = [m.moved(kind).head().echoes(b"line\n") for _ in range(20)]
    worker = m.w.workers()[0]
    os.kill(worker, signal.SIGKILL)
    for c in clients:
        if kind in (PLAIN, PROXY):
            c.echoes(b"it goes on\n")
        else:
            assert c.hears_end() == b""
        c.close()
    m.holds(0)
    wait_for(lambda: m.w.workers() not in ([], [worker]), 30)
    m.moved(kind).head().echoes(b"again\n").close()


def test_nothing_is_left_behind(mover):
    """Descriptors of both processes are as many as before."""
    m = mover()

    def counts():
        return [len(descriptors(pid)) for pid in (m.role(), m.w.workers()[0])]
    before = counts()
    for kind in KINDS:
        for n in range(10):
            query = "?greet" if n % 3 == 1 else "?lie" if n % 3 == 2 else ""
            m.moved(kind, b"line\n", query).close()
    m.moved(PLAIN).head().echoes(b"line\n").close()
    wait_for(lambda: counts() == before, 30, "descriptors as before")


# ---- many, and the life of weir ----

@pytest.mark.parametrize("kind", [PLAIN, TLS])
def test_many_live_through_a_reload(mover, kind):
    m = mover(workers=2, top="worker_connections = 4096;")
    m.w.may_grow = True
    clients = [m.moved(kind, b"%d says" % n) for n in range(MANY)]
    m.holds(MANY)
    role = m.role()
    m.w.set_config(**m.parts)
    m.w.reload()
    for n, c in enumerate(clients):
        c.head().says(b" a line\n").hears(b"%d says a line\n" % n)
    assert m.role() == role
    if kind == TLS:
        assert m.metric("weir_tls_pumps") == MANY
        assert len(m.w.old_workers()) > 0
    assert m.metric('weir_connections_moved_total{direction="taken"}') == MANY
    for c in clients:
        c.close()
    m.holds(0)
    wait_for(lambda: not m.w.old_workers(), 30, "workers that have drained")


def worker_has_drained(m, kind):
    """It has ended, or would have if it had no pumps: it looks for its last
    connection when it closes its listeners."""
    left = [pid for pid in descendants(m.w.master())
            if title(pid).startswith("weir: worker")]
    has = [what for pid in left for what in descriptors(pid).values()]
    return not left if kind == PLAIN else \
        "tcp listens" not in sockets(has).values()


@pytest.mark.parametrize("kind", [PLAIN, TLS])
def test_weir_drains_when_the_last_has_ended(mover, kind):
    """The role asks its clients to end; workers wait for their pumps, weir for
    what the role has."""
    m = mover(top='stop_drain = "1h";')
    clients = [m.moved(kind).head().echoes(b"line\n") for _ in range(10)]
    m.w.kill(signal.SIGQUIT)
    for c in clients:
        c.hears(b"draining\n")
    wait_for(lambda: worker_has_drained(m, kind), 30, "a worker that drained")
    for c in clients:
        assert m.w.process.poll() is None
        assert c.says(b"goodbye\n").hears_end() == b"goodbye\n"
        c.close()
    assert m.w.wait_exit() == 0


@pytest.mark.parametrize("kind", [PLAIN, TLS])
def test_who_does_not_end_is_closed_at_last(mover, kind):
    m = mover(top='stop_drain = "100ms";')
    c = m.moved(kind).head().echoes(b"line\n")
    m.w.kill(signal.SIGQUIT)
    assert c.hears_end() == b"draining\n"
    c.close()
    assert m.w.wait_exit() == 0


@pytest.mark.parametrize("kind", [PLAIN, TLS])
def test_old_workers_leave_pumps_at_the_end_of_reload_drain(mover, kind):
    m = mover(top='reload_drain = "100ms";')
    m.w.may_grow = True
    c = m.moved(kind).head().echoes(b"line\n")
    m.w.reload()
    wait_for(lambda: not m.w.old_workers(), 30, "no old workers")
    if kind == TLS:
        assert c.hears_end() == b""
    else:
        c.echoes(b"it goes on\n")
    c.close()
