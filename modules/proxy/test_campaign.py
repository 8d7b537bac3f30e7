"""Requests by the ten thousand while servers behind weir are killed, stopped,
end connections without an answer and come back, and weir is reloaded.

GET never fails: another server is asked.  POST fails only where its server
ended with it."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from patience import busy
from weir import TRACED, free_port, wait_for

SERVERS = 4
EGRESS = 'egress = [ "allow loopback", "allow all" ];'
LOG = '"$status $request_method $upstream_status"'
NGINX = """
user root; daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events {{ worker_connections 1000; }}
http {{
  access_log off; keepalive_requests 500; client_body_temp_path t;
  proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
  server {{ listen 127.0.0.1:{port} backlog=4096;
    location /x {{ return 200 "got"; }} location /p {{ return 200 "posted"; }} }}
}}
"""


class Nginx:
    def __init__(self, folder, number):
        self.folder, self.port = f"{folder}/nginx{number}", free_port()
        os.makedirs(self.folder)
        with open(f"{self.folder}/nginx.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(port=self.port))
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", "nginx.conf", "-e", "stderr"],
            stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop_awhile(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def be_mute(self, seconds):
        """In its place is one that ends each connection when it is asked."""
        self.kill()
        end = time.monotonic() + seconds
        with socket.create_server(("127.0.0.1", self.port)) as s:
            s.settimeout(0.05)
            while time.monotonic() < end:
                try:
                    c, _ = s.accept()
                    with c:
                        c.settimeout(0.05)
                        c.recv(4096)
                except OSError:
                    pass
        self.start()

    def be_killed(self, seconds):
        self.kill()
        time.sleep(seconds)
        self.start()


@pytest.fixture
def servers(tmp_path):
    if not shutil.which("nginx") or not shutil.which("wrk"):
        pytest.skip("nginx or wrk is not here")
    os.chmod(tmp_path, 0o755)
    made = [Nginx(tmp_path, n) for n in range(SERVERS)]
    yield made
    for s in made:
        s.kill()


def configuration(servers):
    items = ", ".join(f'{{ address = "127.0.0.1:{s.port}"; '
                      'fail_timeout = "300ms"; }' for s in servers)
    return f"""
pid = "run/weir.pid"; stop_grace = "0"; {EGRESS} {TRACED}
error_log = {{ file = "stderr"; level = "notice"; }};
upstreams = ( {{ name = "u"; servers = ( {items} ); }} );
http = {{ servers = ( {{ listen = "127.0.0.1:0";
  access_log = "run/access.log"; access_log_format = {LOG};
  keepalive_requests = 1000000;
  locations = ( {{ path = "/"; module = "proxy"; upstream = "u"; tries = 8;
                   retry_time = "{busy(20)}s"; }} ); }} ); }};
"""


class Trouble(threading.Thread):
    """Until it is stopped."""

    def __init__(self, w, servers):
        super().__init__()
        self.w, self.servers = w, servers
        self.over, self.reloads = False, 0

    def run(self):
        reloaded = time.monotonic()
        while not self.over:
            s = random.choice(self.servers)
            random.choice([s.be_killed, s.be_mute, s.stop_awhile])(
                random.uniform(0.05, 0.4))
            time.sleep(random.uniform(0.05, 0.2))
            if time.monotonic() - reloaded > 1:
                self.w.process.send_signal(signal.SIGHUP)
                self.reloads, reloaded = self.reloads + 1, time.monotonic()


def load(w, path, seconds, script=""):
    """How many requests were answered."""
    with open(f"{w.prefix}/load.lua", "w", encoding="ascii") as f:
        f.write(script)
    out = subprocess.run(
        ["wrk", "-t1", "-c32", f"-d{seconds}s", "--timeout", f"{busy(30)}s",
         "-s", f"{w.prefix}/load.lua", w.http_url(path)],
        capture_output=True, text=True, check=True).stdout
    assert "Socket errors" not in out, out
    return int(re.search(r"(\d+) requests in", out)[1])


def campaign(weir, servers, count):
    w = weir(configuration(servers))
    trouble = Trouble(w, servers)
    trouble.start()
    done = 0
    try:
        while done < count or trouble.reloads < 3:
            done += load(w, "/x", 3)
            done += load(w, "/p", 1, 'wrk.method = "POST"; wrk.body = "x"')
    finally:
        trouble.over = True
        trouble.join()
    wait_for(lambda: len(w.access_log().splitlines()) >= done, 10, "the log")
    failed = [line for line in w.access_log().splitlines()
              if not line.startswith(("200 ", "499 "))]  # it leaves at its end
    assert all(re.fullmatch("502 POST (-, )*-", line) for line in failed), \
        sorted(set(failed))
    assert len(failed) < done / 100


def test_servers_come_and_go(weir, servers):
    campaign(weir, servers, 10_000)


@pytest.mark.soak
def test_a_million_requests(weir, servers):
    campaign(weir, servers, 1_000_000)
