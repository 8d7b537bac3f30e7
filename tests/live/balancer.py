"""HAProxy and nginx in front of weir.

They connect from 127.0.0.9, clients from 127.0.0.1: whose address is seen
tells who was believed.
"""
# SPDX-License-Identifier: BSD-2-Clause

import os
import socket
import subprocess

from weir import free_port, wait_for

SOURCE = "127.0.0.9"
TRUST = f'trusted_proxies = "{SOURCE}";'

HAPROXY = """
global
    stats socket {folder}/admin.sock level admin
    maxconn 2000
    nbthread 1
defaults
    mode {mode}
    timeout connect 60s
    timeout check 60s
    timeout client 60s
    timeout server 60s
    {defaults}
listen front
    bind 127.0.0.1:{port}
    {body}
"""

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; master_process off; error_log stderr info; pid {folder}/nginx.pid;
events {{ worker_connections 500; }}
{body}
"""


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Front:
    """A program that listens on self.port."""

    def __init__(self, folder, port, command):
        self.folder, self.port = str(folder), port
        self.path = f"{folder}/front.log"
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=folder)
        try:
            wait_for(lambda: self._ready() or not self.running(), 10,
                     "the balancer")
            assert self.process.poll() is None, self.log()
        except BaseException:
            self.kill()
            raise

    def _ready(self):
        return listens(self.port)

    def log(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()


def write(folder, name, text):
    with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
        f.write(text)


class Haproxy(Front):
    def __init__(self, folder, body, mode="http", defaults=""):
        port = free_port()
        write(folder, "haproxy.cfg", HAPROXY.format(
            folder=folder, mode=mode, defaults=defaults, port=port,
            body=body))
        super().__init__(folder, port,
                         ["haproxy", "-f", "haproxy.cfg", "-db"])

    def _ready(self):
        try:
            return self.ask("show info") and listens(self.port)
        except OSError:  # it is there, but does not listen yet
            return False

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{self.folder}/admin.sock")
            s.sendall(command.encode() + b"\n")
            with s.makefile() as f:
                return f.read()

    def status(self, server):
        """"UP", "DOWN", ..."""
        rows = self.ask("show stat").splitlines()
        names = rows[0].lstrip("# ").split(",")
        for row in rows[1:]:
            values = dict(zip(names, row.split(",")))
            if values.get("svname") == server:
                return values["status"]
        raise AssertionError(f"no server {server}")


class Nginx(Front):
    """{port} in body is where it listens."""

    def __init__(self, folder, body):
        port = free_port()
        write(folder, "nginx.conf", NGINX.format(
            folder=folder, body=body.replace("{port}", str(port))))
        os.makedirs(f"{folder}/logs", exist_ok=True)
        super().__init__(folder, port, [
            "nginx", "-p", str(folder), "-c", f"{folder}/nginx.conf"])
