"""Certificates made by the openssl command, and configurations with them."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import socket
import ssl
import subprocess

from patience import busy
from weir import open_way


def openssl(*arguments, data=None, timeout=30):
    """Its standard output and standard error together."""
    done = subprocess.run(["openssl", *arguments], input=data, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=busy(timeout), check=False,
                          errors="replace")
    return done.stdout


class Certificates:
    """A root, an intermediate of it, and what that signs."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        open_way(self.folder)  # workers read the root
        self._sign("root", None, "basicConstraints=critical,CA:TRUE")
        self._sign("middle", "root", "basicConstraints=critical,CA:TRUE")
        self.root = self.path("root.pem")

    def path(self, name):
        return f"{self.folder}/{name}"

    def _sign(self, name, issuer, extension, days=90, key="ec"):
        kind = ["-newkey", "rsa:2048"] if key == "rsa" else \
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        by = ["-CA", self.path(f"{issuer}.pem"),
              "-CAkey", self.path(f"{issuer}.key")] if issuer else []
        out = openssl("req", "-x509", *kind, "-nodes", "-days", str(days),
                      "-keyout", self.path(f"{name}.key"),
                      "-out", self.path(f"{name}.pem"),
                      "-subj", f"/CN=weir test {name}", "-addext", extension,
                      *by)
        if not os.path.exists(self.path(f"{name}.pem")):
            self._old_way(name, issuer, extension, days, kind, out)
        os.chmod(self.path(f"{name}.key"), 0o600)

    def _old_way(self, name, issuer, extension, days, kind, why):
        """OpenSSL 3.0: a request first."""
        request = self.path(f"{name}.csr")
        out = openssl("req", *kind, "-nodes", "-keyout",
                      self.path(f"{name}.key"), "-out", request,
                      "-subj", f"/CN=weir test {name}")
        with open(self.path(f"{name}.ext"), "w", encoding="ascii") as f:
            f.write(extension + "\n")
        out += openssl("x509", "-req", "-in", request, "-days", str(days),
                       "-CA", self.path(f"{issuer}.pem"),
                       "-CAkey", self.path(f"{issuer}.key"),
                       "-CAcreateserial", "-extfile",
                       self.path(f"{name}.ext"),
                       "-out", self.path(f"{name}.pem"))
        assert os.path.exists(self.path(f"{name}.pem")), why + out

    def make(self, name, *hosts, days=30, key="ec"):
        """name.pem (the whole chain) and name.key; the tls group of them."""
        names = ",".join(("IP:" if re.fullmatch(r"[\d.]+", h) else "DNS:") + h
                         for h in hosts)
        self._sign(name, "middle", f"subjectAltName={names}", days, key)
        with open(self.path("middle.pem"), encoding="ascii") as f:
            chain = f.read()
        with open(self.path(f"{name}.pem"), "a", encoding="ascii") as f:
            f.write(chain)
        return self.group(name)

    def pair(self, name):
        return (f'certificate = "{self.path(name + ".pem")}"; '
                f'certificate_key = "{self.path(name + ".key")}";')

    def group(self, name, more=""):
        return f"tls = {{ {self.pair(name)} {more} }};"

    def several(self, *names, more=""):
        pairs = ", ".join(f"{{ {self.pair(n)} }}" for n in names)
        return f"tls = {{ certificates = ( {pairs} ); {more} }};"


def listen(tls, *others):
    """A listen setting: an address behind TLS, then plain ones."""
    return ", ".join([f'{{ address = "127.0.0.1:0"; {tls} }}',
                      *(f'"{o}"' for o in others)])


def context(root, **more):
    c = ssl.create_default_context(cafile=root)
    for name, value in more.items():
        setattr(c, name, value)
    return c


def connect(port, root, host="localhost", timeout=busy(10), **more):
    """A socket behind its handshake, the certificate verified."""
    raw = socket.create_connection(("127.0.0.1", port), timeout)
    return context(root, **more).wrap_socket(raw, server_hostname=host)


def tls_get(port, root, path="/healthz", host="localhost", **more):
    """The whole answer to a GET, as bytes."""
    with connect(port, root, host, **more) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n"
                  "Connection: close\r\n\r\n".encode())
        got = b""
        while True:
            part = s.recv(65536)
            if not part:
                return got
            got += part
