"""Servers that weir relays from and to: nginx with its RTMP module."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import socket
import subprocess

from weir import free_port, wait_for

MODULE = "/usr/lib/nginx/modules/ngx_rtmp_module.so"

CONFIG = """
load_module {module};
{user}
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 4096; }}
rtmp {{
    access_log {folder}/access.log;
    server {{
        listen 127.0.0.1:{port};
        chunk_size 4096;
        application live {{ live on; {live} }}
        {more}
    }}
}}
"""


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Nginx:
    """kill() and start() again: the same port."""

    def __init__(self, folder, live="", more=""):
        os.makedirs(folder, exist_ok=True)
        self.folder = str(folder)
        self.port = free_port()
        with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as f:
            f.write(CONFIG.format(
                module=MODULE, folder=folder, port=self.port, live=live,
                more=more, user="user root;" if os.getuid() == 0 else ""))
        self.start()

    def url(self, name, app="live"):
        return f"rtmp://127.0.0.1:{self.port}/{app}/{name}"

    def start(self):
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", "nginx.conf", "-e",
             f"{self.folder}/error.log"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_for(lambda: self.process.poll() is None and answers(self.port),
                 10, "nginx")

    def pause(self, pause=True):
        self.process.send_signal(signal.SIGSTOP if pause else signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
