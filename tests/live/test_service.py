"""The systemd unit as it is installed."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import socket
import subprocess

import pytest

from patience import busy
import weir as weir_py
from weir import configuration, place

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Path of the unit; its programs are where it says they are."""
    prefix = str(tmp_path_factory.mktemp("prefix"))
    variant = "sanitize" if weir_py.SANITIZED else "release"
    done = subprocess.run(
        ["make", "install", f"prefix={prefix}", f"VARIANT={variant}"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return f"{prefix}/lib/systemd/system/weir.service"


def test_the_unit_is_right(installed):
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", installed],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "weir.service" not in done.stderr, done.stderr


def test_paths_are_filled_in(installed):
    with open(installed, encoding="utf-8") as f:
        text = f.read()
    prefix = installed[:installed.index("/lib/systemd")]
    assert not re.search(r"@[A-Z]+@", text)
    assert f"ExecStart={prefix}/sbin/weir -c {prefix}/etc/weir/weir.conf" \
        in text
    assert f"ExecReload={prefix}/sbin/weirctl " in text


def test_the_user_is_named_and_can_be_made(installed, tmp_path):
    prefix = installed[:installed.index("/lib/systemd")]
    for name in ("weir.conf", "weir.conf.sample"):
        with open(f"{prefix}/etc/weir/{name}", encoding="utf-8") as f:
            assert re.findall(r'^user = "(.*?)";', f.read(), re.M) == ["weir"]
    os.makedirs(tmp_path / "etc")
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}",
                    f"{prefix}/lib/sysusers.d/weir.conf"],
                   check=True, capture_output=True)
    with open(tmp_path / "etc/passwd", encoding="utf-8") as f:
        assert re.search(r"^weir:", f.read(), re.M)


def test_the_console_is_installed(installed):
    """All of it, where the installed configuration looks for it."""
    prefix = installed[:installed.index("/lib/systemd")]
    with open(f"{prefix}/etc/weir/weir.conf", encoding="utf-8") as f:
        roots = re.findall(r'root = "(.*?)"', f.read())
    assert roots and set(roots) == {f"{prefix}/share/weir/html"}
    done = subprocess.run(["diff", "-r", f"{ROOT}/html", roots[0]],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_unit_confines(installed):
    """Little is open to a service so set up (10 is all, 0 nothing)."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=40",
         installed], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr


def test_the_watchdog_of_systemd_is_fed(tmp_path):
    path = str(tmp_path / "notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(busy(10))
    place(tmp_path, configuration(log="run/error.log"))
    p = subprocess.Popen(
        [weir_py.BINARY, "-c", "weir.conf", "-p", str(tmp_path)],
        env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"})
    try:
        told = [s.recv(1000) for _ in range(5)]
    finally:
        p.terminate()
        assert p.wait(busy(15)) == 0
    s.close()
    assert told.count(b"READY=1") == 1
    assert told.count(b"WATCHDOG=1") == 4
