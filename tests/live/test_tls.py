"""HTTPS: versions, certificates, tickets, slow and wrong handshakes, bytes."""
# SPDX-License-Identifier: BSD-2-Clause

import concurrent.futures
import hashlib
import os
import re
import socket
import ssl
import subprocess
import time

import pytest

import media
from control_client import wait_players
from http_client import get
from patience import busy
from tls_files import connect, context, listen, openssl, tls_get
from weir import SANITIZED, configuration, place, resident, run, wait_for

MB = 1 << 20


@pytest.fixture
def https(weir, certificates):
    """A weir with HTTPS (first) and HTTP; more goes into the tls group."""
    def start(more="", tls=None, **parts):
        group = tls or certificates.group("localhost", more)
        return weir(http_listen=listen(group, "127.0.0.1:0"), **parts)
    return start


def tls_port(w):
    return w.port("https")


def curl(w, root, *arguments, path="/healthz", host="localhost", check=True):
    """Its standard output."""
    done = subprocess.run(
        ["curl", "-sS", "--cacert", root, *arguments, "--resolve",
         f"{host}:{tls_port(w)}:127.0.0.1",
         f"https://{host}:{tls_port(w)}{path}"],
        capture_output=True, timeout=busy(60), check=False)
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done.stdout if check else done.returncode


def s_client(w, *arguments, data=""):
    return openssl("s_client", "-connect", f"127.0.0.1:{tls_port(w)}",
                   *arguments, data=data)


# ---- versions and ciphers ----

@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_curl_with_either_version(https, certificates, version):
    w = https()
    out = curl(w, certificates.root, "--tls-max", version, f"--tlsv{version}",
               "-w", "%{http_version} %{ssl_verify_result}")
    assert out == b"ok\n1.1 0"


def test_a_wrong_name_is_noticed_by_the_client(https, certificates):
    w = https()
    assert curl(w, certificates.root, host="other.example", check=False) == 60
    assert curl(w, "/etc/ssl/certs/ca-certificates.crt", check=False) in (60, 77)


def test_versions_below_are_refused(https):
    w = https()
    for old in ("-tls1", "-tls1_1"):
        out = s_client(w, old, "-cipher", "ALL:@SECLEVEL=0")
        assert "alert protocol version" in out, out
    w.wait_log("handshake failed: unsupported protocol", count=2)


def test_the_lowest_and_the_highest_version_are_settings(https, certificates):
    w = https('min_version = "1.3";')
    assert "alert protocol version" in s_client(w, "-tls1_2")
    assert b"200 OK" in tls_get(tls_port(w), certificates.root)
    w = https('max_version = "1.2";')
    assert "New, TLSv1.2" in s_client(w)


def test_only_the_listed_ciphers(https):
    w = https()
    for cipher in ("AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256",
                   "DHE-RSA-AES128-GCM-SHA256"):
        out = s_client(w, "-tls1_2", "-cipher", cipher)
        assert "handshake failure" in out, out
    w.wait_log("handshake failed: no shared cipher", count=3)
    for cipher in ("ECDHE-ECDSA-AES128-GCM-SHA256",
                   "ECDHE-ECDSA-CHACHA20-POLY1305"):
        assert f"Cipher is {cipher}" in s_client(w, "-tls1_2", "-cipher",
                                                 cipher)
    assert "Secure Renegotiation IS supported" in s_client(w, "-tls1_2")
    out = s_client(w, "-tls1_3", "-groups", "P-521")
    assert "handshake failure" in out, out


def test_http_is_agreed_on_and_nothing_else(https):
    w = https()
    out = s_client(w, "-alpn", "h2,http/1.1")
    assert "ALPN protocol: http/1.1" in out
    assert "no application protocol" in s_client(w, "-alpn", "h2")
    assert "No ALPN negotiated" in s_client(w)


# ---- certificates ----

def subject(w, *arguments):
    """Of the certificate that is shown: the part behind "weir test"."""
    out = s_client(w, *arguments)
    return re.search(r"^subject=.*weir test (\w+)", out, re.M)[1]


def test_the_name_picks_the_certificate(https, certificates):
    for name, *hosts in (("first", "first.example"),
                         ("stars", "*.example.org", "x.example"),
                         ("exact", "www.example.org")):
        certificates.make(name, *hosts, key="rsa" if name == "stars" else "ec")
    w = https(tls=certificates.several("first", "stars", "exact"))
    for host, name in (("first.example", "first"), ("x.example", "stars"),
                       ("ftp.example.org", "stars"),
                       ("www.example.org", "exact"),
                       ("WWW.EXAMPLE.ORG", "exact"),
                       ("a.b.example.org", "first"), ("nobody", "first")):
        for version in ("-tls1_2", "-tls1_3"):
            assert subject(w, version, "-servername", host) == name, host
    assert subject(w, "-noservername") == "first"
    out = curl(w, certificates.root, host="ftp.example.org")
    assert out == b"ok\n"


def test_the_chain_is_sent_whole(https, certificates):
    w = https()
    out = s_client(w, "-CAfile", certificates.root, "-showcerts",
                   "-verify_hostname", "localhost")
    assert "Verify return code: 0 (ok)" in out
    assert out.count("BEGIN CERTIFICATE") == 2


def test_clients_with_a_certificate_alone(https, certificates):
    certificates.make("friend", "friend.example")
    certificates.make("stranger", "stranger.example")
    w = https(f'client_ca = "{certificates.root}";')
    port = tls_port(w)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        tls_get(port, certificates.root)
    w.wait_log("handshake failed: peer did not return a certificate")
    ours = context(certificates.root)
    ours.load_cert_chain(certificates.path("friend.pem"),
                         certificates.path("friend.key"))
    with socket.create_connection(("127.0.0.1", port), busy(10)) as raw, \
            ours.wrap_socket(raw, server_hostname="localhost") as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user")
def test_the_key_is_read_before_privileges_go(https, certificates, tmp_path):
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        os.chmod(folder, 0o755)
    w = https(top='user = "nobody";', log="run/error.log")
    assert b"200 OK" in tls_get(tls_port(w), certificates.root)
    for pid in w.workers():
        assert os.stat(f"/proc/{pid}").st_uid != 0


# ---- tickets ----

def visit(w, root, session, **more):
    """(session for the next one, reused, the worker)"""
    c = context(root, **more)
    raw = socket.create_connection(("127.0.0.1", tls_port(w)), busy(10))
    with c.wrap_socket(raw, server_hostname="localhost") as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(1000).startswith(b"HTTP/1.1 200")
        return c, s.session, s.session_reused, w.worker_of(s)


def reuse(w, c, session):
    """As visit(), with a ticket and by the context that got it."""
    raw = socket.create_connection(("127.0.0.1", tls_port(w)), busy(10))
    with c.wrap_socket(raw, server_hostname="localhost",
                       session=session) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(1000).startswith(b"HTTP/1.1 200")
        return s.session, s.session_reused, w.worker_of(s)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_every_worker_takes_every_ticket(https, certificates, version):
    w = https(workers=4)
    c, session, reused, first = visit(w, certificates.root, None,
                                      minimum_version=version,
                                      maximum_version=version)
    assert not reused
    workers = {first}
    for _ in range(40):
        _, reused, worker = reuse(w, c, session)
        assert reused, f"worker {worker} does not know a ticket of {first}"
        workers.add(worker)
    assert len(workers) > 2, "too few workers were met: the test is weak"


def test_a_ticket_is_shown_once(https, certificates):
    """RFC 8446, C.4: whoever shows one is given the next."""
    w = https()
    c, session, _, _ = visit(w, certificates.root, None,
                             minimum_version=ssl.TLSVersion.TLSv1_3)
    shown = {session.id}
    for _ in range(5):
        session, reused, _ = reuse(w, c, session)
        assert reused and session.id not in shown
        shown.add(session.id)


def test_without_tickets_nobody_goes_on(https, certificates):
    w = https("session_tickets = false;")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        c, session, _, _ = visit(w, certificates.root, None,
                                 minimum_version=version,
                                 maximum_version=version)
        assert session is None or not session.has_ticket
        if session is not None:
            assert not reuse(w, c, session)[1]


def test_s_client_reconnects(https):
    w = https(workers=4)
    out = s_client(w, "-tls1_2", "-reconnect")
    assert out.count("Reused, TLSv1.2") == 5, out


# ---- handshakes that go wrong ----

def test_byte_by_byte(https, certificates):
    w = https()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context(certificates.root).wrap_bio(incoming, outgoing,
                                              server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def step(action):
            while True:
                try:
                    result = action()
                except ssl.SSLWantReadError:
                    result = None
                for byte in outgoing.read():
                    s.sendall(bytes([byte]))
                if result is not None:
                    return result
                incoming.write(s.recv(65536))

        step(lambda: tls.do_handshake() or True)
        tls.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert step(lambda: tls.read(1000)).startswith(b"HTTP/1.1 200")


def test_a_handshake_has_its_time(https):
    w = https('handshake_timeout = "300ms";')
    with socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)) as silent, \
            socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)) as half:
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert silent.recv(1) == b""
        assert half.recv(1) == b""
    w.wait_log("handshake failed: it takes too long", count=2)
    assert get(w.http, "/healthz").status == 200


def test_garbage_and_peers_that_leave(https, certificates):
    w = https()
    for bytes_ in (b"\x16\x03\x01\x00\x05hello", b"\x16" + os.urandom(600),
                   b"\x16\x03\x01\xff\xff" + b"x" * 70000):
        with socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)) as s:
            try:
                s.sendall(bytes_)
                while s.recv(1000):
                    pass
            except ConnectionError:
                pass
    w.wait_log("handshake failed: ", count=3)
    with socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)) as s:
        s.sendall(b"\x16\x03\x01")
    w.wait_log("handshake failed: the peer closed the connection")
    socket.create_connection(("127.0.0.1", tls_port(w)), busy(10)).close()
    assert b"200 OK" in tls_get(tls_port(w), certificates.root)


def test_plain_http_to_the_https_port(https):
    w = https()
    answer = get(tls_port(w), "/healthz")
    assert answer.status == 400
    assert "HTTPS port" in answer.json()["message"]
    assert answer.header("connection") == "close"
    wait_for(lambda: '"GET /healthz HTTP/1.1" 400' in w.access_log())


def test_https_to_the_plain_port(https, certificates):
    w = https()
    with pytest.raises(ssl.SSLError):
        connect(w.http, certificates.root)
    with socket.create_connection(("127.0.0.1", w.http), busy(10)) as s:
        s.sendall(b"\x16\x03\x01\x00\x05hello")
        assert b"TLS handshake sent to a plain HTTP port" in s.recv(1000)


def test_many_handshakes_at_once(https, certificates):
    w = https('handshake_timeout = "1h";', workers=2)
    count = 100 if SANITIZED else 500
    c = context(certificates.root)
    socks = [socket.create_connection(("127.0.0.1", tls_port(w)), busy(60))
             for _ in range(count)]

    def one(raw):
        with c.wrap_socket(raw, server_hostname="localhost") as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                      b"Connection: close\r\n\r\n")
            return s.recv(15)

    with concurrent.futures.ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(one, socks))
    assert answers == [b"HTTP/1.1 200 OK"] * count


# ---- bytes ----

def test_a_large_file_is_the_same(https, certificates, tmp_path):
    w = https()
    data = os.urandom(20 * MB)
    with open(f"{w.prefix}/html/big.bin", "wb") as f:
        f.write(data)
    for version in ("1.2", "1.3"):
        out = curl(w, certificates.root, "--tls-max", version, path="/big.bin")
        assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()
    out = curl(w, certificates.root, "--limit-rate", "20M", path="/big.bin")
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()


def test_large_bodies_go_up_and_down(https, certificates, tmp_path):
    w = https(http='client_max_body_size = "2M";', locations="""
        { path = "/echo"; module = "echo"; routes = "POST /:x"; },""")
    up = tmp_path / "up.bin"
    up.write_bytes(os.urandom(MB))
    out = curl(w, certificates.root, "-H", "Expect:", "--data-binary",
               f"@{up}", path="/echo/here")
    assert b'"x":"here"' in out.replace(b" ", b"")
    out = curl(w, certificates.root, "--data-binary", f"@{up}", "-H",
               "Transfer-Encoding: chunked", path="/echo/there")
    assert b'"x":"there"' in out.replace(b" ", b"")


def test_a_slow_client_gets_the_last_record(weir, certificates):
    """The answer is given, its end waits in weir for the socket."""
    group = certificates.group("localhost")
    w = weir(http_listen=f'{{ address = "127.0.0.1:0"; sndbuf = "32k"; '
                         f'{group} }}', http='lingering_timeout = "20ms";')
    data = os.urandom(MB // 2)
    with open(f"{w.prefix}/html/big.bin", "wb") as f:
        f.write(data)
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    raw.settimeout(busy(10))
    raw.connect(("127.0.0.1", tls_port(w)))
    with context(certificates.root).wrap_socket(
            raw, server_hostname="localhost") as s:
        s.sendall(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n"
                  b"Connection: close\r\n\r\n")
        got = b""
        while part := s.recv(4096):
            got += part
            time.sleep(0.01)      # it is slow, not stuck
    assert got.partition(b"\r\n\r\n")[2] == data


def test_flv_over_https(https, certificates, tool, sample, tmp_path):
    w = https(workers=2, hold="300ms")
    out = tmp_path / "out.flv"
    player = tool(media.Tool(
        "curl", "-sS", "--fail", "--cacert", certificates.root, "-o", str(out),
        f"https://localhost:{tls_port(w)}/live/room.flv"))
    wait_players(w)
    tool(media.ffmpeg_publish(sample, w.rtmp_url("room"))).wait()
    player.wait()
    assert media.by_stream(media.packets(out)) == \
        media.by_stream(media.packets(sample))


def test_an_end_without_close_notify(https, certificates):
    """A request that was cut off is not served; others go on."""
    w = https()
    s = connect(tls_port(w), certificates.root)
    s.sendall(b"POST /x HTTP/1.1\r\nHost: localhost\r\n"
              b"Content-Length: 9\r\n\r\n")
    os.close(s.detach())
    wait_for(w.settled, 10, "the connection's end")
    assert b"200 OK" in tls_get(tls_port(w), certificates.root)


def test_strict_transport_security_over_https_only(https, certificates):
    w = https(http='hsts = "max-age=63072000; includeSubDomains";')
    assert get(w.http, "/healthz").header("strict-transport-security") is None
    secure = tls_get(tls_port(w), certificates.root)
    assert b"\r\nStrict-Transport-Security: max-age=63072000; " \
        b"includeSubDomains\r\n" in secure
    assert secure.count(b"Strict-Transport") == 1


@pytest.mark.skipif(SANITIZED, reason="measures memory")
def test_what_an_idle_connection_costs(https, certificates):
    w = https()
    count = 400
    # One first, for what is made once.
    held = [connect(tls_port(w), certificates.root)]
    for s in held:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(1000)
    before = resident(w.workers()[0])
    c = context(certificates.root)
    for _ in range(count):
        raw = socket.create_connection(("127.0.0.1", tls_port(w)), busy(10))
        s = c.wrap_socket(raw, server_hostname="localhost")
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(1000)
        held.append(s)
    each = (resident(w.workers()[0]) - before) / count
    print(f"an idle TLS connection: {each / 1024:.1f} KB")
    assert each < 24 * 1024
    for s in held:
        s.close()


# ---- settings ----

def mistakes(tmp_path, text):
    place(tmp_path, text)
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    return done.returncode, done.stderr


def line_of(text, part):
    return text[:text.index(part)].count("\n") + 1


@pytest.mark.parametrize("group, words", [
    ("tls = { };", "needs a certificate"),
    ('tls = { certificate = "x.pem"; };', "go together"),
    ('tls = { certificate = "none.pem"; certificate_key = "none.key"; };',
     "cannot read certificate none.pem: No such file"),
    ('tls = { PAIR min_version = "1.1"; };', "min_version"),
    ('tls = { PAIR min_version = "1.3"; max_version = "1.2"; };',
     "must not be above"),
    ('tls = { PAIR ciphers = "NONE-SUCH"; };', 'ciphers "NONE-SUCH"'),
    ('tls = { PAIR groups = "P-1"; };', 'groups "P-1"'),
    ('tls = { PAIR client_ca = "none.pem"; };', "client_ca none.pem"),
    ('tls = { PAIR certificat = "x"; };', '"certificate"'),
    ('tls = { PAIR session_timeout = "13h"; };', "session_timeout"),
    ("tls = { PAIR }; KEYMODE", "is open to others (mode 0644): chmod 600"),
    ("tls = { MIXED };", "is not the key of"),
    ("tls = { SWAPPED };", "own.key holds a private key, not a certificate"),
    ("tls = { TWICE };", "own.pem holds a certificate, not a private key"),
    ("tls = { PAIR AUTHORITY };", "own.key holds a private key, not a certificate"),
    ("tls = { LOCKED };", "has a passphrase"),
])
def test_mistakes_are_told_with_their_line(certificates, tmp_path, group,
                                           words):
    certificates.make("own", "own.example")
    certificates.make("else", "else.example")
    own, key = certificates.path("own.pem"), certificates.path("own.key")
    if "KEYMODE" in group:
        os.chmod(key, 0o644)
    if "LOCKED" in group:
        openssl("pkey", "-in", key, "-aes128", "-passout", "pass:secret",
                "-out", certificates.path("locked.key"))
        os.chmod(certificates.path("locked.key"), 0o600)
    group = group.replace("KEYMODE", "") \
        .replace("PAIR", certificates.pair("own")) \
        .replace("MIXED", f'certificate = "{own}"; certificate_key = '
                          f'"{certificates.path("else.key")}";') \
        .replace("SWAPPED", f'certificate = "{key}"; certificate_key = '
                            f'"{own}";') \
        .replace("TWICE", f'certificate = "{own}"; certificate_key = '
                          f'"{own}";') \
        .replace("AUTHORITY", f'client_ca = "{key}";') \
        .replace("LOCKED", f'certificate = "{own}"; certificate_key = '
                           f'"{certificates.path("locked.key")}";')
    text = configuration(http_listen='\n{ address = "127.0.0.1:0";\n' + group +
                         "\n}\n")
    status, said = mistakes(tmp_path, text)
    assert status == 1
    assert f"weir.conf:{line_of(text, 'tls =')}: " in said
    assert words in said
    assert "secret" not in said


def test_dates_are_looked_at(certificates, tmp_path):
    soon = certificates.make("soon", "soon.example", days=5)
    status, said = mistakes(tmp_path, configuration(http_listen=listen(soon)))
    assert status == 0
    assert re.search(r"\[warn\].*soon\.pem: it expires in [45] days", said)
    fine = certificates.make("fine", "fine.example", days=30)
    assert mistakes(tmp_path, configuration(http_listen=listen(fine))) == \
        (0, "")


def test_the_log_says_what_is_there(https, certificates):
    w = https()
    assert len(w.listening("https")) == 1 and len(w.listening("http")) == 1
    w.wait_log(r"\[info\].* kernel TLS is (there|not there: )")
    certificates.make("late", "late.example", days=3)
    w = https(tls=certificates.group("late"))
    w.wait_log(r"\[warn\].*late\.pem: it expires in [23] days")
