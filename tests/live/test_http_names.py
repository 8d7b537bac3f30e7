"""Several servers at one address: which of them a request is for, by Host and
by the name of a handshake.  nginx is given the same names and must choose the
same servers."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import socket
import ssl
import subprocess

import pytest

from balancer import Nginx
from control_client import ctl_json
from http_client import Http
from patience import busy
from weir import TRACED, free_port, place, run, wait_for

BASE = TRACED + 'worker_processes = 1; pid = "run/weir.pid"; stop_grace = "0"; ' \
       'control = {{ socket = "run/control.sock"; }}; ' \
       'http = {{ servers = ( {} ); }};'

# What the server of each letter is called; "b" is the default.
NAMES = {
    "a": ["example.org", "*.example.org"],
    "b": ["default.test"],
    "c": ["*.a.example.org", "www.example.*"],
    "d": [r"~^x[0-9]+\.test$"],
    "e": ["~^x", ".both.test"],
    "f": ["www.example.co.*"],
}

HOSTS = [
    "example.org", "EXAMPLE.org", "example.org:81", "example.org.",
    "b.example.org", "c.b.example.org", "a.example.org", "b.a.example.org",
    "www.example.org", "www.example.net", "www.example.co.uk", "x1.test",
    "x1.tes", "both.test", "in.both.test", "notboth.test", "default.test",
    "org", "example", "www.example", "other.test", "127.0.0.1", "[::1]:8",
    "xn--p1ai.example.org", "localhost",
]


def file_server(prefix, letter):
    os.makedirs(f"{prefix}/{letter}", exist_ok=True)
    with open(f"{prefix}/{letter}/index.html", "w", encoding="ascii") as f:
        f.write(letter)
    os.chmod(f"{prefix}/{letter}", 0o755)
    return f'locations = ( {{ path = "/"; module = "static"; ' \
           f'root = "{prefix}/{letter}"; }} );'


def quoted(names):
    return "[ " + ", ".join('"' + n.replace("\\", "\\\\") + '"'
                            for n in names) + " ]"


def server(prefix, letter, listen, names, more=""):
    hosts = 'hosts = "*.test";' if letter == "b" else ""
    named = f"server_name = {quoted(names)};" if names else ""
    return f"{{ listen = ( {listen} ); {named} {hosts} {more} " \
           f"{file_server(prefix, letter)} }}"


def by_name(prefix, port):
    """Servers of NAMES at one port."""
    address = f'address = "127.0.0.1:{port}";'
    return BASE.format(", ".join(
        server(prefix, letter,
               f'{{ {address} {"default = true;" if letter == "b" else ""} }}',
               names) for letter, names in NAMES.items()))


def ask(port, host, version="1.1"):
    with Http(port) as c:
        c.send("GET", "/", "Connection: close", host=host, version=version)
        a = c.answer()
        return a.body.decode() if a.status == 200 else a.status


def nginx_chooses(folder):
    servers = "".join(
        f'server {{ listen 127.0.0.1:{{port}}{" default_server" * (k == "b")};'
        f' server_name {" ".join(names)}; return 200 {k}; }}'
        for k, names in NAMES.items())
    n = Nginx(folder, f"http {{ access_log off; {servers} }}")
    try:
        return {h: ask(n.port, h) for h in HOSTS}
    finally:
        n.kill()


def test_the_same_servers_as_nginx(weir, tmp_path):
    port = free_port()
    w = weir(by_name(tmp_path, port))
    theirs = tmp_path / "nginx"
    theirs.mkdir()
    chosen = nginx_chooses(theirs)
    # Addresses and strangers come from near: the default knows hosts.
    ours = {h: ask(port, h) for h in HOSTS}
    strangers = {h for h in HOSTS if ours[h] == 421}
    assert strangers == {"org", "example", "x1.tes", "www.example"} - \
        {h for h in HOSTS if chosen[h] != "b"}
    assert {h: ours[h] for h in HOSTS if h not in strangers} == \
        {h: chosen[h] for h in HOSTS if h not in strangers}
    assert set(chosen.values()) == set(NAMES)
    assert ask(port, None, "1.0") == "b"
    with Http(port) as c:  # one connection, a server for each request
        for host, letter in (("example.org", "a"), ("x1.test", "d"),
                             ("default.test", "b"), ("example.org", "a")):
            c.send("GET", "/", host=host)
            assert c.answer().body.decode() == letter
    told = [row for row in ctl_json(w, "show", "listeners")
            if row["address"] == f"127.0.0.1:{port}"]
    assert len(told) == 1 and "*.a.example.org" in told[0]["names"], told


def test_a_name_for_texts_is_a_hosts(weir):
    port = free_port()
    said = 'locations = ( { path = "/"; return = { text = ' \
           '"$host $server_name"; }; } );'
    weir(BASE.format(
        f'{{ listen = "127.0.0.1:{port}"; server_name = [ "*.w.test", "~^x", '
        f'".b.test", "real.test", "other.test" ]; {said} }}'))

    def told(host, version="1.1"):
        with Http(port) as c:
            c.send("GET", "/", "Connection: close", host=host, version=version)
            return c.answer().body
    assert told(None, "1.0") == b"real.test real.test"
    assert told("a.w.test") == b"a.w.test real.test"


def test_logs_and_reload(weir, tmp_path):
    """Each server has its own log; names come and go with a reload."""
    port = free_port()
    listen = f'"127.0.0.1:{port}"'
    log = 'access_log = "run/{}.log"; access_log_format = "$server_name $host";'
    first = server(tmp_path, "a", listen, ["a.test"], log.format("a"))
    second = server(tmp_path, "c", listen, ["c.test", "*.c.test"],
                    log.format("c"))
    w = weir(BASE.format(f"{first}, {second}"))
    assert ask(port, "a.test") == "a" and ask(port, "x.c.test") == "c"

    def logged(name):
        with open(f"{w.prefix}/run/{name}.log", encoding="ascii") as f:
            return f.read()
    wait_for(lambda: logged("c") == "c.test x.c.test\n", what="its line")
    wait_for(lambda: logged("a") == "a.test a.test\n", what="the other's")
    third = server(tmp_path, "d", listen, ["x.c.test"])
    place(w.prefix, BASE.format(f"{first}, {second}, {third}"))
    w.reload()
    assert ask(port, "x.c.test") == "d" and ask(port, "y.c.test") == "c"
    place(w.prefix, BASE.format(first))
    w.reload()
    assert ask(port, "a.test") == "a" and ask(port, "c.test") == 421


def test_unix_and_proxy_protocol(weir, tmp_path):
    port = free_port()
    proxy = f'{{ address = "127.0.0.1:{port}"; proxy_protocol = true; }}, ' \
            '"unix:run/http.sock"'
    w = weir(BASE.format(", ".join((
        server(tmp_path, "a", f'"127.0.0.1:{port}", "unix:run/http.sock"',
               ["a.test"]),
        server(tmp_path, "c", proxy, ["c.test"],
               'trusted_proxies = "127.0.0.1";')))))
    with Http(port) as c:
        c.raw("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n")
        c.send("GET", "/", host="c.test")
        assert c.answer().body == b"c"
    with Http(path=f"{w.prefix}/run/http.sock") as c:
        for host, letter in (("c.test", "c"), ("x", "a"), ("a.test", "a")):
            c.send("GET", "/", host=host)
            assert c.answer().body.decode() == letter


# ---- TLS ----

def curl(certificates, port, name, *options, host=None):
    """(status, body) of https://name/, the certificate verified."""
    host = ["-H", f"Host: {host}"] if host else []
    done = subprocess.run(
        ["curl", "-s", "-S", "-w", "\n%{http_code}", "--cacert",
         certificates.root, "--resolve", f"{name}:{port}:127.0.0.1", *host,
         *options, f"https://{name}:{port}/"], capture_output=True, text=True,
        timeout=busy(30), check=False)
    if done.returncode != 0:
        return 0, done.stderr
    body, status = done.stdout.rsplit("\n", 1)
    return int(status), body


@pytest.fixture(name="secured")
def secured_fixture(weir, tmp_path, certificates):
    """One address: a and b with certificates of their own, c with that of a,
    d for clients with a certificate, e asks for a password."""
    port = free_port()
    for name in ("a", "b", "d"):
        certificates.make(name, f"{name}.test", f"*.{name}.test", *(
            ["c.test", "e.test"] if name == "a" else []))
    users = tmp_path / "users"
    users.write_text(
        "ann:$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA\n")
    users.chmod(0o640)
    tls = {"a": certificates.group("a"), "b": certificates.group("b"),
           "d": certificates.group(
               "d", f'client_ca = "{certificates.root}";'), "c": "", "e": ""}
    servers = []
    for k in "abcde":
        more = file_server(tmp_path, k)
        if k == "e":
            more = more.replace(
                'path = "/";', 'path = "/"; auth = { type = "basic"; '
                f'users_file = "{users}"; }};')
        servers.append(
            f'{{ listen = ( {{ address = "127.0.0.1:{port}"; {tls[k]} }} ); '
            f'server_name = [ "{k}.test", "*.{k}.test" ]; {more} }}')
    weir(BASE.format(", ".join(servers)))
    return port


def test_certificates_by_name(secured, certificates):
    for name in ("a.test", "x.a.test", "b.test", "c.test"):
        letter = name.split(".")[-2]
        assert curl(certificates, secured, name) == (200, letter), name
    assert curl(certificates, secured, "e.test")[0] == 401
    # The handshake itself fails without a certificate of the client.
    status, why = curl(certificates, secured, "d.test")
    assert status == 0 and ("certificate" in why or "alert" in why), why
    certificates.make("client", "client.test")
    mine = ("--cert", certificates.path("client.pem"),
            "--key", certificates.path("client.key"))
    assert curl(certificates, secured, "d.test", *mine) == (200, "d")
    # A name that nobody has: the default's certificate, which lacks it.
    status, why = curl(certificates, secured, "z.test")
    assert status == 0 and "subject" in why, why


def test_another_name_than_that_of_the_handshake(secured, certificates):
    """Handshake for the one, Host of the other."""
    certificates.make("client", "client.test")
    mine = ("--cert", certificates.path("client.pem"),
            "--key", certificates.path("client.key"))
    table = {
        ("a.test", "c.test"): (200, "c"),   # the same rules
        ("c.test", "a.test"): (200, "a"),
        ("a.test", "x.a.test"): (200, "a"),
        ("a.test", "b.test"): 421,          # a certificate of its own
        ("b.test", "a.test"): 421,
        ("a.test", "d.test"): 421,          # wants certificates of clients
        ("d.test", "d.test"): (200, "d"),
        ("d.test", "a.test"): 421,
        ("a.test", "e.test"): 421,          # asks for a password
        ("b.test", "e.test"): 421,
    }
    for (name, host), wanted in table.items():
        got = curl(certificates, secured, name, *mine, host=host)
        assert (got if got[0] == 200 else got[0]) == wanted, (name, host, got)
    # Without SNI the handshake was for the default, a.
    raw = subprocess.run(
        ["curl", "-s", "-k", "-o", "/dev/null", "-w", "%{http_code}", "-H",
         "Host: d.test", f"https://127.0.0.1:{secured}/"], timeout=busy(30),
        capture_output=True, text=True, check=False).stdout
    assert raw == "421"


def test_no_host_behind_a_handshake(secured, certificates):
    """HTTP/1.0 may leave Host out: the name of the handshake is the one."""
    context = ssl.create_default_context(cafile=certificates.root)
    for name in "ab":
        with socket.create_connection(("127.0.0.1", secured),
                                      timeout=busy(30)) as s, \
             context.wrap_socket(s, server_hostname=f"{name}.test") as c:
            c.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b"".join(iter(lambda c=c: c.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 200 ") and \
            answer.endswith(b"\r\n\r\n" + name.encode()), answer


# ---- mistakes ----

@pytest.mark.parametrize("first,second,wanted", [
    ("", "", "is taken by the server in line"),
    ('server_name = "a.test";', 'server_name = "A.test";',
     'server_name "A.test" is taken by the server in line'),
    ('server_name = ".a.test";', 'server_name = "*.a.test";',
     'server_name "*.a.test" is taken'),
    ("@{ backlog = 5; }", 'server_name = "b"; @{ backlog = 6; }',
     "has other settings than in line"),
    ("@{ default = true; }", 'server_name = "b"; @{ default = true; }',
     "is the default there already"),
    ("", 'server_name = "b"; @{ default = true; }', "is taken by"),
    ('server_name = "a b";', "", "must be a name without a port"),
    ('server_name = "~(";', "", 'pattern "("'),
])
def test_mistakes(tmp_path, first, second, wanted):
    def one(letter, text):
        text, _, more = text.partition("@")
        more = more.strip("{}")
        return f'{{ listen = ( {{ address = "127.0.0.1:7001"; {more} }} );' \
               f"\n{text} {file_server(tmp_path, letter)} }}"
    place(tmp_path, BASE.format(one("a", first) + ",\n" + one("c", second)))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode != 0 and wanted in r.stderr, r.stderr
    assert "weir.conf:" in r.stderr


def test_times_of_tls_are_an_addresses(tmp_path, certificates):
    """They count before a name is known."""
    def listens(more):
        return '{ address = "127.0.0.1:7001"; ' \
            f'{certificates.group("localhost", more)} }}'

    def tried(first, second):
        place(tmp_path, BASE.format(
            server(tmp_path, "a", listens(first), ["a.test"]) + ",\n" +
            server(tmp_path, "c", listens(second), ["c.test"])))
        return run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    for name in ("session_timeout", "handshake_timeout"):
        assert f"tls.{name} is another one than in line 1, and counts for " \
            "all servers" in \
            tried(f'{name} = "7s";', f'{name} = "8s";').stderr
        assert tried(f'{name} = "7s";', f'{name} = "7s";').returncode == 0


def test_settings_stand_once(tmp_path):
    one = server(tmp_path, "a", '"127.0.0.1:7001"', [])
    two = server(tmp_path, "c",
                 '{ address = "127.0.0.1:7001"; backlog = 9; }', ["c.test"])
    place(tmp_path, BASE.format(f"{one}, {two}"))
    r = run("-t", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert r.returncode == 0, r.stderr
