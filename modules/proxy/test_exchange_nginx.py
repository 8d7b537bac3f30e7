"""nginx as the server behind modules/proxy."""
# SPDX-License-Identifier: BSD-2-Clause

import hashlib
import os
import shutil
import subprocess
import types

import pytest

from exchange_help import at_root
from http_client import Http, get
from patience import busy
from weir import free_port, wait_for

SIZE = 20_000_000
CONF = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {{ }}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{
    listen 127.0.0.1:{port}; keepalive_requests 50; root {root};
    location /up {{ dav_methods PUT; client_max_body_size 100m; }}
    location /say {{ return 200 "$request_method $request_uri $http_host"; }}
  }} }}
"""


@pytest.fixture
def nginx(tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is not here")
    folder = tmp_path / "nginx"
    (folder / "root" / "up").mkdir(parents=True)
    os.chmod(tmp_path, 0o755)
    port = free_port()
    (folder / "nginx.conf").write_text("user root;\n" + CONF.format(
        port=port, root=folder / "root"))
    process = subprocess.Popen(["nginx", "-p", folder, "-c", "nginx.conf"])
    wait_for(lambda: get_ready(port), what="nginx")
    yield folder / "root", port
    process.terminate()
    process.wait(busy(10))


def get_ready(port):
    try:
        return get(port, "/say").status == 200
    except OSError:
        return False


def test_nginx_behind(weir, nginx):
    root, port = nginx
    w = weir(at_root(types.SimpleNamespace(url=f"http://127.0.0.1:{port}")))
    film = os.urandom(SIZE)
    (root / "film").write_bytes(film)
    with Http(w.http) as c:
        for i in range(200):  # more than a connection of nginx serves
            c.send("GET", f"/say?{i}", host="web.test")
            assert c.answer().body == f"GET /say?{i} web.test".encode()
        c.send("GET", "/film")
        assert hashlib.sha256(c.answer().body).digest() == \
            hashlib.sha256(film).digest()
        c.send("GET", "/film", "Range: bytes=5-9")
        a = c.answer()
        assert a.status == 206 and a.body == film[5:10]
        c.send("GET", "/none")
        assert c.answer().status == 404
    up = root.parent / "send"
    up.write_bytes(film)
    subprocess.run(["curl", "-sSf", "-T", up, "-m", str(busy(60)),
                    w.http_url("/up/film")], check=True)
    assert (root / "up" / "film").read_bytes() == film
