"""The filters of a location as clients meet them: curl, tokens that openssl
signed, preflights as browsers send them, rates over several workers."""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import ctypes
import json
import os
import select
import signal
import subprocess
import time

from http_client import Http, get, request
from patience import busy
from weir import BINARY, configuration, place, run, wait_for

TOKEN = "a-token-of-enough-letters"


def crypt(password, prefix, cost):
    lib = ctypes.CDLL("libcrypt.so.1")
    lib.crypt.restype = lib.crypt_gensalt.restype = ctypes.c_char_p
    salt = lib.crypt_gensalt(prefix.encode(), ctypes.c_ulong(cost), None, 0)
    return lib.crypt(password.encode(), salt).decode()


def write(path, text, mode=0o640):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return str(path)


def location(path, filters):
    return f'{{ path = "{path}"; module = "echo"; routes = "* /*";' \
           f' {filters} }},'


def curl(w, path, *options):
    """(status, body)"""
    result = subprocess.run(
        ["curl", "-s", "-w", "\n%{http_code}", *options, w.http_url(path)],
        capture_output=True, text=True, timeout=busy(30), check=True)
    body, status = result.stdout.rsplit("\n", 1)
    return int(status), body


# ---- auth ----

def test_basic_and_bearer(weir, tmp_path):
    users = write(tmp_path / "users", "# who may\n" + "".join(
        f"{name}:{crypt('pass of ' + name, prefix, cost)}\n"
        for name, prefix, cost in (("bcrypt", "$2y$", 6), ("sha2", "$6$", 5000),
                                   ("yes", "$y$", 5), ("sha1", "$5$", 5000))))
    tokens = write(tmp_path / "tokens", f"# machines\n{TOKEN}\n")
    w = weir(locations=location(
        "/in", f'auth = ( {{ type = "bearer"; tokens_file = "{tokens}"; }},'
               f' {{ type = "basic"; users_file = "{users}";'
               ' realm = "at home"; } );'))
    for name in ("bcrypt", "sha2", "yes", "sha1"):
        assert curl(w, "/in/x", "-u", f"{name}:pass of {name}")[0] == 200
        assert curl(w, "/in/x", "-u", f"{name}:pass of Name")[0] == 401
    assert curl(w, "/in/x", "-u", "nobody:pass of nobody")[0] == 401
    assert curl(w, "/in/x", "--oauth2-bearer", TOKEN)[0] == 200
    assert curl(w, "/in/x", "--oauth2-bearer", TOKEN + "x")[0] == 401
    assert curl(w, "/in/x", "--anyauth", "-u", "sha2:pass of sha2")[0] == 200
    a = get(w.http, "/in/x")
    assert a.status == 401 and a.json()["status"] == 401
    assert [v for n, v in a.headers if n == "www-authenticate"] == [
        'Bearer realm="weir"', 'Basic realm="at home", charset="UTF-8"']
    assert get(w.http, "/healthz").status == 200
    for secret in (TOKEN, "pass of", "$6$", "$2y$"):
        assert secret not in w.log() + w.access_log()


def test_passwords_do_not_stop_the_worker(weir, tmp_path):
    """While one worker checks costly passwords, it serves others."""
    users = write(tmp_path / "users", "ann:" + crypt("x", "$2y$", 12) + "\n")
    w = weir(locations=location(
        "/in", f'auth = {{ type = "basic"; users_file = "{users}"; }};'))
    wrong = base64.b64encode(b"ann:y").decode()
    waiting = [Http(w.http, timeout=busy(60)) for _ in range(40)]
    for c in waiting:
        c.send("GET", "/in/x", f"Authorization: Basic {wrong}")
    assert get(w.http, "/healthz").status == 200
    # One check takes 0.2 s of a processor, forty take 8.
    told = select.select([c.sock for c in waiting], [], [], 0)[0]
    assert len(told) < 40
    for _ in range(20):
        assert get(w.http, "/healthz").status == 200
    for c in waiting[20:]:
        c.close()  # while it is checked
    statuses = [c.answer().status for c in waiting[:20]]
    assert set(statuses) <= {401, 503} and 401 in statuses, statuses


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *arguments], input=data, check=True,
                          capture_output=True).stdout


def der_to_raw(der):
    """ECDSA's r and s, 32 bytes each, out of their DER."""
    out, at = b"", 2
    for _ in range(2):
        n = der[at + 1]
        out += der[at + 2:at + 2 + n].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + n
    return out


class Signer:
    def __init__(self, folder):
        self.rsa, self.ec = f"{folder}/rsa.pem", f"{folder}/ec.pem"
        self.secret = "0123456789abcdef0123456789abcdef"
        openssl("genrsa", "-out", self.rsa, "2048")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                self.ec)
        for key in (self.rsa, self.ec):
            openssl("pkey", "-in", key, "-pubout", "-out", key + ".pub")

    def sign(self, alg, claims, key=None):
        text = b64(json.dumps({"alg": alg, "typ": "JWT"}).encode()) + "." + \
            b64(json.dumps(claims).encode())
        data = text.encode()
        if alg == "HS256":
            sig = openssl("dgst", "-sha256", "-binary", "-hmac",
                          key or self.secret, data=data)
        elif alg == "RS256":
            sig = openssl("dgst", "-sha256", "-sign", key or self.rsa,
                          data=data)
        elif alg == "ES256":
            sig = der_to_raw(openssl("dgst", "-sha256", "-sign",
                                     key or self.ec, data=data))
        else:
            sig = b""
        return text + "." + b64(sig)


def bearer(w, path, token):
    return get(w.http, path, f"Authorization: Bearer {token}")


def test_jwt(weir, tmp_path):
    s = Signer(tmp_path)
    w = weir(locations=location(
        "/rs", f'auth = {{ type = "jwt"; algorithms = "RS256";'
               f' public_key_files = "{s.rsa}.pub"; leeway = "0";'
               ' issuer = "me"; audience = ( "weir" );'
               ' required = ( "scope=write" ); };') + location(
        "/all", 'auth = { type = "jwt";'
                ' algorithms = [ "HS256", "RS256", "ES256" ];'
                f' secret = "{s.secret}"; public_key_files ='
                f' ( "{s.rsa}.pub", "{s.ec}.pub" ); }};'))
    now = int(time.time())
    good = {"exp": now + 60, "iss": "me", "aud": ["weir"],
            "scope": "read write", "sub": "ann"}
    for alg in ("HS256", "RS256", "ES256"):
        assert bearer(w, "/all/x", s.sign(alg, good)).status == 200
        old = {**good, "exp": now - 60}
        assert bearer(w, "/all/x", s.sign(alg, old)).status == 401
    assert bearer(w, "/all/x", s.sign("none", good)).status in (400, 401)
    assert bearer(w, "/rs/x", s.sign("RS256", good)).status == 200
    # RFC 8725: the public key is no secret to sign with.
    with open(s.rsa + ".pub", encoding="ascii") as f:
        confused = s.sign("HS256", good, f.read())
    assert bearer(w, "/rs/x", confused).status == 401
    assert bearer(w, "/all/x", confused).status == 401
    for change in ({"exp": now - 1}, {"exp": None}, {"nbf": now + 60},
                   {"iss": "you"}, {"aud": "other"}):
        token = s.sign("RS256", {**good, **change})
        a = bearer(w, "/rs/x", token)
        assert a.status == 401, change
        assert 'error="invalid_token"' in a.header("www-authenticate")
    a = bearer(w, "/rs/x", s.sign("RS256", {**good, "scope": "read"}))
    assert a.status == 403
    assert 'error="insufficient_scope"' in a.header("www-authenticate")


# ---- what weir -t says ----

def refused(prefix, filters):
    place(prefix, configuration(locations=location("/in", filters)))
    done = run("-t", "-c", f"{prefix}/weir.conf", "-p", str(prefix))
    assert done.returncode == 1, done.stdout
    assert f"{prefix}/weir.conf:" in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_mistakes_are_found(tmp_path):
    s = Signer(tmp_path)
    wide = write(tmp_path / "wide", TOKEN, 0o644)
    users = write(tmp_path / "users", "ann:md5\n")

    def bad(settings):
        return refused(tmp_path, "auth = { " + settings + " };")

    assert "chmod o=" in bad(f'type = "bearer"; tokens_file = "{wide}";')
    assert "cannot read" in bad('type = "bearer"; tokens_file = "nowhere";')
    assert "is not a file" in bad('type = "basic"; users_file = "/";')
    assert 'hash of "ann"' in bad(f'type = "basic"; users_file = "{users}";')
    assert "needs tokens" in bad('type = "bearer";')
    assert "does not go with" in bad('type = "basic"; users_file = "x";'
                                     ' issuer = "a";')
    assert "query does not go with" in bad(
        'type = "basic"; users_file = "x"; query = "token";')
    assert 'letters, digits and "_"' in bad(
        f'type = "bearer"; tokens = "{TOKEN}"; query = "a&b";')
    assert "16 letters" in bad('type = "bearer"; tokens = "short";')
    assert "needs algorithms" in bad('type = "jwt"; secret = "x";')
    assert "32 bytes" in bad('type = "jwt"; algorithms = "HS256";'
                             ' secret = "short";')
    assert 'no key for algorithm "ES256"' in bad(
        'type = "jwt"; algorithms = [ "RS256", "ES256" ];'
        f' public_key_files = "{s.rsa}.pub";')
    assert "not an EC key" in bad('type = "jwt"; algorithms = "ES256";'
                                  f' public_key_files = "{s.rsa}.pub";')
    assert "not a public key" in bad('type = "jwt"; algorithms = "RS256";'
                                     f' public_key_files = "{wide}";')
    assert "holds a private key, not a public key" in bad(
        'type = "jwt"; algorithms = "RS256";'
        f' public_key_files = "{s.rsa}";')
    assert "none" in bad('type = "jwt"; algorithms = "none";')
    assert "cannot go with origin" in refused(
        tmp_path, 'cors = { allow_origins = "*"; credentials = true; };')
    assert "https://HOST" in refused(
        tmp_path, 'cors = { allow_origins = "a.example"; };')
    assert "10/s" in refused(tmp_path, 'rate = { rate = "fast"; };')
    assert "in a day" in refused(tmp_path,
                                 'rate = { rate = "1/h"; burst = 100; };')
    assert "header:NAME" in refused(tmp_path,
                                    'rate = { rate = "1/h"; key = "ip"; };')


def test_secrets_are_not_shown(tmp_path):
    place(tmp_path, configuration(locations=location(
        "/in", f'auth = ( {{ type = "bearer"; tokens = "{TOKEN}"; }},'
               ' { type = "jwt"; algorithms = "HS256"; secret ='
               ' "0123456789abcdef0123456789abcdef"; } );')))
    done = run("-T", "-c", f"{tmp_path}/weir.conf", "-p", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout and "0123456789abcdef" not in done.stdout


# ---- cors ----

def test_cors_as_browsers_ask(weir):
    w = weir(locations=location(
        "/api", 'cors = { allow_origins = ( "https://app.example",'
                ' "https://*.dev.example" ); allow_methods = ( "GET", "PUT" );'
                ' allow_headers = ( "Content-Type", "Authorization" );'
                ' credentials = true; max_age = "1h"; };'
                f' auth = {{ type = "bearer"; tokens = "{TOKEN}"; }};'))
    a = request(w.http, "OPTIONS", "/api/x", "Origin: https://app.example",
                "Access-Control-Request-Method: PUT",
                "Access-Control-Request-Headers: authorization,content-type")
    assert a.status == 204
    assert a.header("access-control-allow-origin") == "https://app.example"
    assert a.header("access-control-allow-credentials") == "true"
    assert a.header("access-control-allow-methods") == "GET, PUT"
    assert a.header("access-control-allow-headers") == \
        "Content-Type, Authorization"
    assert a.header("access-control-max-age") == "3600"
    assert a.header("vary") == "Origin"
    for origin in ("https://evil.example", "null", "http://app.example",
                   "https://app.example.evil.example"):
        a = request(w.http, "OPTIONS", "/api/x", f"Origin: {origin}",
                    "Access-Control-Request-Method: GET")
        assert a.status == 403
        assert a.header("access-control-allow-origin") is None
        assert a.header("vary") == "Origin"
    a = get(w.http, "/api/x", "Origin: https://x.dev.example",
            f"Authorization: Bearer {TOKEN}")
    assert a.status == 200
    assert a.header("access-control-allow-origin") == "https://x.dev.example"


# ---- rate ----

def test_rate_over_four_workers(weir):
    """Connections spread over all workers; together they get the burst, not
    one more; and a worker that dies takes no count with it."""
    w = weir(workers=4, locations=location(
        "/slow", 'rate = { rate = "1/h"; burst = 20; };') + location(
        "/fast", 'rate = { rate = "100/s"; burst = 10; };'))
    connections = [Http(w.http) for _ in range(32)]
    served = {w.worker_of(c.sock) for c in connections}
    assert len(served) >= 3, served  # else the test says nothing
    statuses = []
    for c in connections:
        c.send("GET", "/slow/x")
    for c in connections:
        a = c.answer()
        statuses.append(a.status)
        assert a.header("ratelimit-limit") == "20"
        if a.status == 429:
            assert 3000 <= int(a.header("retry-after")) <= 3600
            assert a.header("ratelimit-remaining") == "0"
    assert sorted(statuses) == [200] * 20 + [429] * 12
    for c in connections:
        c.close()
    for pid in w.workers():
        os.kill(pid, signal.SIGKILL)
    before = set(served)
    wait_for(lambda: len(w.workers()) == 4 and not before & set(w.workers()),
             10, "new workers")

    def is_refused():
        try:
            return get(w.http, "/slow/x").status == 429
        except (OSError, EOFError):
            return False
    wait_for(is_refused, 5, "a refusal by a new worker")
    w.allowed.append("signal 9")
    w.may_grow = True
    # A rate lets through what it says, in the long run.
    began, good = time.monotonic(), 0
    while time.monotonic() < began + 2:
        status = get(w.http, "/fast/x").status
        assert status in (200, 429)
        good += status == 200
    assert good <= 10 + (time.monotonic() - began) * 1.05 * 100


def test_rate_by_header(weir):
    w = weir(locations=location(
        "/api", 'rate = ( { key = "header:X-Api-Key"; rate = "2/h";'
                ' burst = 2; }, { key = "location"; rate = "5/h";'
                ' burst = 5; } );'))

    def ask(key):
        return get(w.http, "/api/x", f"X-Api-Key: {key}").status
    assert [ask("a"), ask("a"), ask("a")] == [200, 200, 429]
    assert [ask("b"), ask("b"), ask("b")] == [200, 200, 429]
    assert [ask("c"), ask("c")] == [200, 429]  # all together: five
    assert get(w.http, "/healthz").status == 200


def test_rates_of_two_servers_are_two(weir):
    """Locations of the same path, each with a rate of its own."""
    slow, fast = (location("/api", f'rate = {{ rate = "1/h"; burst = {n}; }};')
                  for n in (2, 4))
    w = weir(http=f'locations = ( {slow.rstrip(",")} ); }},'
                  ' { listen = "127.0.0.1:0";', locations=fast)
    first, second = w.port("http"), w.port("http", 1)
    for port, burst in ((first, 2), (second, 4), (first, 0)):
        statuses = [get(port, "/api/x").status for _ in range(burst + 1)]
        assert statuses == [200] * burst + [429], port


def test_binary_has_the_filters():
    keys = subprocess.run([BINARY, "-K"], capture_output=True, text=True,
                          check=True).stdout
    for key in ("auth.type", "cors.allow_origins", "rate.rate",
                "limits.connections_per_address"):
        assert key in keys
