"""What "make install" puts where, and the systemd unit of it."""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import json
import os
import re
import socket
import subprocess

import pytest

from patience import busy
import weir as weir_py
from weir import configuration, open_way, place, wait_for

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
VARIANT = "sanitize" if weir_py.SANITIZED else "release"


def install(*variables):
    """One at a time: the programs are linked with the paths first."""
    with open(f"{ROOT}/Makefile", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "install", f"VARIANT={VARIANT}", *variables],
            cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installed for use."""
    path = str(tmp_path_factory.mktemp("prefix"))
    install(f"prefix={path}", "user=nobody")
    return path


@pytest.fixture(scope="module")
def unit(prefix):
    """Path of the unit; its programs are where it says they are."""
    return f"{prefix}/lib/systemd/system/weir.service"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Installed as who makes a package does."""
    path = str(tmp_path_factory.mktemp("package"))
    install(f"DESTDIR={path}", "prefix=/usr")
    return path


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


# ---- where things are ----


def test_a_package_rotates_its_logs(package):
    text = read(f"{package}/etc/logrotate.d/weir")
    assert "/var/log/weir/*.log {" in text and "@" not in text
    assert 'kill -USR1 "$(cat /run/weir/weir.pid)"' in text


def test_programs_that_nobody_calls_lie_apart(package):
    called = os.listdir(f"{package}/usr/bin") + os.listdir(
        f"{package}/usr/sbin")
    assert sorted(called) == ["weir", "weirctl"]
    assert "weir-supervisor" in os.listdir(f"{package}/usr/libexec/weir")


def test_a_package_has_the_paths_of_the_system(package):
    conf = read(f"{package}/etc/weir/weir.conf")
    for key, path in (("pid", "/run/weir/weir.pid"),
                      ("socket", "/run/weir/control.sock"),
                      ("path", "/var/lib/weir/weir.db"),
                      ("access_log", "/var/log/weir/access.log"),
                      ("root", "/usr/share/weir/html")):
        found = re.findall(rf'^[^#\n]*\b{key} = "(.*?)"', conf, re.M)
        assert path in found, (key, found)
    assert not re.search(r'"(run|html)\b', conf)
    for page in ("man8/weir.8", "man8/weirctl.8", "man5/weir.conf.5"):
        text = read(f"{package}/usr/share/man/{page}")
        assert "/run/weir/control.sock" in text
        assert not re.search(r"[ \"]run/", text)
    for folder in ("/var/lib/weir", "/var/log/weir"):
        assert os.path.isdir(package + folder)
    help_text = subprocess.run([f"{package}/usr/sbin/weir", "-h"],
                               capture_output=True, text=True, check=True)
    assert "(/etc/weir/weir.conf)" in help_text.stdout
    keys = subprocess.run([f"{package}/usr/sbin/weir", "-K"],
                          capture_output=True, text=True, check=True).stdout
    assert '"/run/weir/weir.pid"' in keys and '"run/' not in keys


def test_what_one_reads_is_installed(package):
    doc = f"{package}/usr/share/doc/weir"
    for name in ("README.md", "LICENSE", "CHANGES"):
        assert read(f"{doc}/{name}") == read(f"{ROOT}/{name}")
    for link in re.findall(r"\]\((docs/[^)]*)\)", read(f"{doc}/README.md")):
        assert os.path.exists(f"{doc}/{link}"), link
    assert sorted(os.listdir(f"{doc}/docs")) == \
        sorted(os.listdir(f"{ROOT}/docs"))


def test_uninstall_leaves_what_may_have_been_changed(tmp_path):
    install(f"prefix={tmp_path}", "user=nobody")
    subprocess.run(["make", "uninstall", f"prefix={tmp_path}"], cwd=ROOT,
                   capture_output=True, check=True)
    left = [os.path.join(folder, name)
            for folder, _, names in os.walk(tmp_path) for name in names]
    assert left == [f"{tmp_path}/etc/weir/weir.conf"]


def test_the_console_is_installed(prefix):
    """All of it, where the installed configuration looks for it."""
    roots = re.findall(r'root = "(.*?)"', read(f"{prefix}/etc/weir/weir.conf"))
    assert roots and set(roots) == {f"{prefix}/share/weir/html"}
    done = subprocess.run(["diff", "-r", f"{ROOT}/html", roots[0]],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


# ---- the programs ----


def from_root(prefix, program, *words):
    """As one types it, wherever one happens to be."""
    return subprocess.run([f"{prefix}/{program}", *words], cwd="/",
                          capture_output=True, text=True, check=False,
                          timeout=busy(60))


def workers_of(pid):
    return subprocess.run(["ps", "-o", "user:32=", "--ppid", str(pid)],
                          capture_output=True, text=True,
                          check=True).stdout.split()


def test_it_runs_from_anywhere_without_arguments(prefix):
    path = f"{prefix}/etc/weir/weir.conf"
    conf = re.sub(r'listen = "(127\.0\.0\.1:)?\d+"', 'listen = "127.0.0.1:0"',
                  read(path))
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r'stop_grace = "\w+"', 'stop_grace = "0s"', conf))
    open_way(prefix)
    done = from_root(prefix, "sbin/weir", "-t")
    assert (done.returncode, done.stdout) == (0, f"{path}: ok\n"), done
    with subprocess.Popen([f"{prefix}/sbin/weir"], cwd="/",
                          stderr=subprocess.DEVNULL) as p:
        try:
            wait_for(lambda: from_root(prefix, "bin/weirctl",
                                    "ping").stdout == "PONG\n")
            assert read(f"{prefix}/run/weir/weir.pid") == f"{p.pid}\n"
            if os.geteuid() == 0:
                # One that has just been forked is root for a moment.
                wait_for(lambda: set(workers_of(p.pid)) == {"nobody"})
            assert from_root(prefix, "sbin/weir", "-s",
                             "reload").returncode == 0
            wait_for(lambda: json.loads(from_root(
                prefix, "bin/weirctl", "--json", "show",
                "info").stdout)["reloads"] == 1)
            assert os.path.exists(f"{prefix}/var/lib/weir/weir.db")
            assert os.path.exists(f"{prefix}/var/log/weir/access.log")
            assert from_root(prefix, "sbin/weir", "-s", "stop").returncode == 0
            assert p.wait(busy(20)) == 0
        finally:
            p.kill()


def test_make_run_takes_a_file(tmp_path):
    """It is weir itself that says what is wrong with it."""
    done = subprocess.run(
        ["make", "-s", "run", f"CONF={tmp_path}/no.conf",
         f"VARIANT={VARIANT}"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"{tmp_path}/no.conf" in done.stderr
    assert "ffmpeg" not in done.stdout  # that is of the shipped file


# ---- the unit ----


def test_the_unit_is_right(unit):
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "weir.service" not in done.stderr, done.stderr


def test_paths_are_filled_in(unit, prefix):
    text = read(unit)
    assert not re.search(r"@[A-Z]+@", text)
    assert f"ExecStart={prefix}/sbin/weir -c {prefix}/etc/weir/weir.conf" \
        in text
    assert f"ExecReload={prefix}/bin/weirctl " in text
    assert f"ReadWritePaths=-{prefix}/run/weir -{prefix}/var/lib/weir " \
        f"-{prefix}/var/log/weir\n" in text


def test_the_user_is_named_and_can_be_made(package, tmp_path):
    for name in ("weir.conf", "weir.conf.sample"):
        assert re.findall(r'^user = "(.*?)";',
                          read(f"{package}/etc/weir/{name}"),
                          re.M) == ["weir"]
    os.makedirs(tmp_path / "etc")
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}",
                    f"{package}/usr/lib/sysusers.d/weir.conf"],
                   check=True, capture_output=True)
    for name in ("weir", "weir-program"):
        assert re.search(f"^{name}:", read(tmp_path / "etc/passwd"), re.M)


def test_the_unit_confines(unit):
    """Little is open to a service so set up (10 is all, 0 nothing)."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=40",
         unit], capture_output=True, text=True, check=False)
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
