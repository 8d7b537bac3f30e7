"""Certificates of both sides: several for one name, those of clients, and
weir's own before servers behind it."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from control_client import ctl
from http_client import get
from patience import busy
from tls_files import Certificates, context, listen, openssl
from weir import configuration, place, run, wait_for

EGRESS = 'egress = [ "allow loopback", "allow all" ];'
NAMES = ("s_dn i_dn serial fingerprint verify v_start v_end v_remain "
         "escaped_cert").split()
SENT = ", ".join([f'"X-{n}: $ssl_client_{n}"' for n in NAMES]
                 + ['"X-protocol: $ssl_protocol"', '"X-sni: $ssl_server_name"',
                    '"X-cipher: $ssl_cipher"', '"X-reused: $ssl_session_reused"'])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    m = Certificates(tmp_path_factory.mktemp("tls") / "files")
    m.make("ec", "both.example", "a.example")
    m.make("rsa", "both.example", key="rsa")
    m.make("other", "other.example")
    m.make("again", "both.example")
    m.make("localhost", "localhost")
    m.make("friend", "friend.example")
    m.make("gone", "gone.example")
    stranger = Certificates(m.path("elsewhere"))
    stranger.make("stranger", "stranger.example")
    for end in ("pem", "key"):
        shutil.copy(stranger.path(f"stranger.{end}"), m.path(f"stranger.{end}"))
    return m


# ---- several for one name ----

def shown(w, *arguments):
    out = openssl("s_client", "-connect", f"127.0.0.1:{w.port('https')}",
                  *arguments)
    found = re.search(r"^subject=.*weir test (\w+)", out, re.M)
    return found[1] if found else None


@pytest.mark.parametrize("order", [("ec", "rsa", "other"),
                                   ("other", "rsa", "ec")])
def test_the_client_decides_which_kind_of_key(weir, made, order):
    w = weir(http_listen=listen(made.several(*order), "127.0.0.1:0"))
    name = ("-servername", "both.example")
    for version in ("-tls1_2", "-tls1_3"):
        assert shown(w, version, *name, "-sigalgs",
                     "ECDSA+SHA256:RSA+SHA256") == "ec"
        assert shown(w, version, *name, "-sigalgs", "ECDSA+SHA256") == "ec"
        assert shown(w, version, *name, "-sigalgs",
                     "rsa_pss_rsae_sha256") == "rsa"
        # For a name that one of them has, there is one.
        assert shown(w, version, "-servername", "a.example", "-sigalgs",
                     "rsa_pss_rsae_sha256") is None
        assert shown(w, version, "-servername", "other.example") == "other"
    assert shown(w, "-tls1_2", *name, "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"
                 ) == "rsa"
    out = openssl("s_client", "-connect", f"127.0.0.1:{w.port('https')}", *name,
                  "-CAfile", made.root, "-sigalgs", "rsa_pss_rsae_sha256",
                  "-verify_hostname", "both.example")
    assert "Verify return code: 0 (ok)" in out, out


def test_without_a_name_the_first_and_those_beside_it(weir, made):
    w = weir(http_listen=listen(made.several("ec", "rsa"), "127.0.0.1:0"))
    for name in (("-noservername",), ("-servername", "nobody.example")):
        assert shown(w, *name, "-sigalgs", "ECDSA+SHA256") == "ec"
        assert shown(w, *name, "-sigalgs", "rsa_pss_rsae_sha256") == "rsa"


@pytest.mark.parametrize("order, never", [
    (("ec", "rsa"), []), (("ec", "again"), ["again"]),
    (("again", "ec"), []), (("other", "ec", "rsa", "again"), ["again"])])
def test_one_that_is_never_shown_is_told(tmp_path, made, order, never):
    place(str(tmp_path), configuration(http_listen=listen(made.several(*order))))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode == 0, r.stderr
    told = re.findall(r"certificate \S+/(\w+)\.pem is never shown", r.stderr)
    assert told == never


# ---- certificates of clients ----

class Behind:
    """A server behind weir; what it was sent last."""

    def __init__(self, tls=None):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.tls, self.headers, self.client = tls, {}, None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            try:
                self.answer(self.tls.wrap_socket(s, server_side=True)
                            if self.tls else s)
            except OSError:
                s.close()

    def answer(self, s):
        s.settimeout(busy(10))
        with s, s.makefile("rb") as f:
            lines = []
            while (line := f.readline()) not in (b"\r\n", b""):
                lines.append(line.decode("latin-1").strip())
            if not lines:
                return
            self.headers = dict(x.split(": ", 1) for x in lines[1:])
            self.client = s.getpeercert() if self.tls else None
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                      b"Connection: close\r\n\r\n")

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def behind():
    b = Behind()
    yield b
    b.end()


def ask(w, made, name=None, **more):
    """The status, or None: the handshake failed."""
    c = context(made.root, **more)
    if name:
        c.load_cert_chain(made.path(f"{name}.pem"), made.path(f"{name}.key"))
    try:
        with socket.create_connection(("127.0.0.1", w.port("https")),
                                      busy(10)) as raw, \
                c.wrap_socket(raw, server_hostname="localhost") as s:
            s.sendall(b"GET /p HTTP/1.1\r\nHost: localhost\r\n"
                      b"X-s_dn: CN=forged\r\nConnection: close\r\n\r\n")
            return int(s.recv(100).split(b" ")[1])
    except (OSError, IndexError):
        return None


def through(weir, made, behind, rules):
    return weir(
        top=EGRESS, http_listen=listen(made.group("localhost", rules),
                                       "127.0.0.1:0"),
        locations=f"""{{ path = "/p"; layers = ( {{ module = "proxy";
          upstream = "http://127.0.0.1:{behind.port}";
          set_headers = [ {SENT} ]; }} ); }},""")


def revoked(made, name):
    """A list of middle.pem that has that certificate, with one of the root."""
    folder = made.path("crl")
    subprocess.run(["mkdir", "-p", folder], check=True)
    lists = ""
    for ca, gone in (("middle", name), ("root", None)):
        index, conf = f"{folder}/{ca}.index", f"{folder}/{ca}.cnf"
        with open(index, "w", encoding="ascii"):
            pass
        with open(conf, "w", encoding="ascii") as f:
            f.write(f"[ca]\ndefault_ca=x\n[x]\ndatabase={index}\n"
                    "default_md=sha256\ndefault_crl_days=30\n")
        with_ca = ("-config", conf, "-keyfile", made.path(f"{ca}.key"), "-cert",
                   made.path(f"{ca}.pem"))
        if gone:
            openssl("ca", *with_ca, "-revoke", made.path(f"{gone}.pem"))
        lists += openssl("ca", *with_ca, "-gencrl")
    with open(f"{folder}/all.pem", "w", encoding="ascii") as f:
        f.write("".join(re.findall(
            "-----BEGIN X509 CRL-----.*?-----END X509 CRL-----\n", lists,
            re.S)))
    return f"{folder}/all.pem"


# Rules, and for each client its status and what $ssl_client_verify says.
CA = 'client_ca = "{root}";'
CLIENTS = [
    (CA, {None: None, "friend": "SUCCESS", "stranger": None}),
    (CA + 'client_verify = "optional";',
     {None: "NONE", "friend": "SUCCESS", "stranger": None}),
    (CA + 'client_verify = "optional_no_ca";',
     {None: "NONE", "friend": "SUCCESS", "stranger": "FAILED:"}),
    ('client_verify = "optional_no_ca";',
     {None: "NONE", "friend": "FAILED:", "stranger": "FAILED:"}),
    (CA + "client_depth = 0;", {"friend": None}),
    (CA + "client_depth = 1;", {"friend": "SUCCESS"}),
    (CA + 'client_crl = "{crl}";', {"friend": "SUCCESS", "gone": None}),
    (CA + 'client_crl = "{crl}"; client_verify = "optional_no_ca";',
     {None: "NONE", "friend": "SUCCESS", "gone": None}),
    ("", {None: "NONE", "friend": "NONE"}),
]


@pytest.mark.parametrize("rules, clients", CLIENTS)
def test_whose_certificates_are_taken(weir, made, behind, rules, clients):
    w = through(weir, made, behind, rules.replace("{root}", made.root).replace(
        "{crl}", revoked(made, "gone")))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for name, says in clients.items():
            behind.headers = {}
            assert ask(w, made, name, minimum_version=version,
                       maximum_version=version) == (200 if says else None), name
            assert behind.headers.get("X-verify", "").startswith(says or ""), \
                (name, behind.headers)


def test_what_is_told_of_a_certificate(weir, made, behind):
    w = through(weir, made, behind, f'client_ca = "{made.root}";')
    assert ask(w, made, "friend") == 200
    told, pem = behind.headers, made.path("friend.pem")
    assert told["X-s_dn"] == "CN=weir test friend"
    assert told["X-i_dn"] == "CN=weir test middle"
    for name, option, form in (("serial", "-serial", r"serial=(\w+)"),
                               ("fingerprint", "-fingerprint", r"=([\w:]+)")):
        out = openssl("x509", "-in", pem, "-noout", option)
        assert told[f"X-{name}"].lower() == \
            re.search(form, out)[1].replace(":", "").lower()
    dates = openssl("x509", "-in", pem, "-noout", "-dates")
    assert f"notBefore={told['X-v_start']}\n" in dates
    assert f"notAfter={told['X-v_end']}\n" in dates
    assert 28 <= int(told["X-v_remain"]) <= 30
    with open(pem, encoding="ascii") as f:
        first = f.read().split("-----END")[0]
    assert urllib.parse.unquote(told["X-escaped_cert"]).startswith(first)
    assert told["X-protocol"] == "TLSv1.3" and told["X-sni"] == "localhost"
    assert told["X-cipher"].startswith("TLS_") and told["X-reused"] == "."


def test_a_client_without_a_certificate_forges_none(weir, made, behind):
    w = through(weir, made, behind, f'client_ca = "{made.root}"; '
                'client_verify = "optional";')
    assert ask(w, made) == 200
    assert "X-s_dn" not in behind.headers
    get(w.http, "/p", "X-verify: SUCCESS", "X-s_dn: CN=friend")
    assert "X-s_dn" not in behind.headers and "X-verify" not in behind.headers


def test_the_log_has_it_too(weir, made, behind):
    w = weir(http='access_log_format = "json: dn=$ssl_client_s_dn '
             'is=$ssl_client_verify";',
             http_listen=listen(made.group("localhost",
                                           f'client_ca = "{made.root}";')))
    ask(w, made, "friend")
    line = w.wait_access_log(r"\{.*\}")[0]
    assert json.loads(line) == {"dn": "CN=weir test friend", "is": "SUCCESS"}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_a_ticket_opens_no_other_rules(weir, made, version):
    """One of an address where a certificate is optional, where it is not."""
    rules = f'client_ca = "{made.root}";'
    w = weir(http_listen=", ".join(
        f'{{ address = "127.0.0.1:0"; {made.group("localhost", rules + more)} }}'
        for more in ('client_verify = "optional";', "",
                     'client_verify = "optional"; client_depth = 9;')))
    easy, strict, deep = re.findall(r"listening on https 127.0.0.1:(\d+)",
                                    w.log())
    c = context(made.root, minimum_version=version, maximum_version=version)

    def visit(port, session=None):
        with socket.create_connection(("127.0.0.1", int(port)), busy(10)) as raw, \
                c.wrap_socket(raw, server_hostname="localhost",
                              session=session) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert s.recv(1000).startswith(b"HTTP/1.1 200")
            return s.session, s.session_reused

    assert visit(easy, visit(easy)[0])[1]
    assert not visit(deep, visit(easy)[0])[1]
    with pytest.raises((OSError, AssertionError)):
        visit(strict, visit(easy)[0])


@pytest.mark.parametrize("rules, words", [
    ('client_verify = "optional";', "client_verify needs client_ca"),
    ('client_crl = "{root}";', "client_crl needs client_ca"),
    (CA + 'client_crl = "{root}";', "client_crl"),
    (CA + 'client_crl = "/none";', "cannot read client_crl /none")])
def test_rules_that_cannot_be(tmp_path, made, rules, words):
    place(str(tmp_path), configuration(http_listen=listen(made.group(
        "localhost", rules.replace("{root}", made.root)))))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and words in r.stderr, r.stderr


# ---- weir's own ----

def upstreams(port, made, own):
    """insecure so that a reload may find it the same role."""
    return f"""{EGRESS} upstreams = ( {{ name = "api";
      servers = ( "127.0.0.1:{port}" ); tls = {{ ca = "{made.root}";
      server_name = "localhost"; {own} }};
      health = {{ path = "/"; interval = "200ms"; }}; }} );"""


@pytest.mark.parametrize("name, status", [("friend", 200), ("stranger", 502),
                                          (None, 502)])
def test_a_server_that_asks_for_a_certificate(weir, made, name, status):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made.path("localhost.pem"), made.path("localhost.key"))
    tls.load_verify_locations(made.root)
    tls.verify_mode = ssl.CERT_REQUIRED
    b = Behind(tls)
    w = weir(top=upstreams(b.port, made, made.pair(name) if name else ""),
             locations='{ path = "/p"; module = "proxy"; upstream = "api"; },')
    assert get(w.http, "/p").status == status
    if name == "friend":
        assert dict(x[0] for x in b.client["subject"]) == \
            {"commonName": "weir test friend"}
        wait_for(lambda: "good" in ctl(w, "show", "upstreams").stdout)
        w.reload()
        assert get(w.http, "/p").status == 200
        wait_for(lambda: "good" in ctl(w, "show", "upstreams").stdout)
    b.end()


@pytest.mark.parametrize("own, words", [
    ('certificate = "{d}/friend.pem";', "go together"),
    ('certificate = "{d}/friend.pem"; certificate_key = "{d}/gone.key";',
     "is not the key of"),
    ('certificate = "{d}/friend.key"; certificate_key = "{d}/friend.pem";',
     "friend.key holds a private key, not a certificate"),
    ('certificate = "{d}/friend.pem"; certificate_key = "{d}/friend.pem";',
     "friend.pem holds a certificate, not a private key"),
    ('certificate = "/none"; certificate_key = "{d}/friend.key";',
     "cannot read certificate /none")])
def test_certificates_that_cannot_be(tmp_path, made, own, words):
    place(str(tmp_path), configuration(
        top=upstreams(1, made, own.replace("{d}", made.folder)),
        locations='{ path = "/p"; module = "proxy"; upstream = "api"; },'))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and words in r.stderr, r.stderr
