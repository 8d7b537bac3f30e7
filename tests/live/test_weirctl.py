"""weirctl: exit statuses, which socket, prompt, who may what."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from control_client import WEIRCTL, ctl, ctl_json
from feed import Feed
from patience import busy
from weir import Weir, configuration, run, wait_for

NOBODY = 65534
root = pytest.mark.skipif(os.getuid() != 0, reason="only root becomes others")


def test_command(weir):
    w = weir()
    r = ctl(w, "ping")
    assert (r.returncode, r.stdout, r.stderr) == (0, "PONG\n", "")
    assert ctl_json(w, "show", "info")["pid"] == w.master()
    r = ctl(w, "ping; version")
    assert r.stdout.startswith("PONG\n\nversion: ")
    r = ctl(w, "hello", "a; b", ";", "ping")
    assert r.stdout == "OK hello, a; b\n\nPONG\n"
    r = ctl(w, "--json", "ping", ";", "version")
    assert [line[:2] for line in r.stdout.split("\n\n")] == ['{"', '{"']


def test_which_socket(weir, tmp_path):
    w = weir(top='control = { socket = "run/other.sock"; };')
    assert ctl(w, "ping").returncode == 2
    assert ctl(w, "-s", "run/other.sock", "ping").returncode == 0
    assert ctl(w, "-c", "weir.conf", "ping").returncode == 0
    r = subprocess.run([WEIRCTL, "-p", w.prefix, "-c", "weir.conf", "ping"],
                       cwd=tmp_path, capture_output=True, check=False)
    assert r.returncode == 0
    assert ctl(w, "-s", "a", "-c", "b", "ping").returncode == 2


def test_a_file_that_weir_would_refuse_still_names_the_socket(weir):
    w = weir()
    with open(f"{w.prefix}/other.conf", "w", encoding="utf-8") as f:
        f.write('gop_cache = "on";\n')
    assert ctl(w, "-c", "other.conf", "ping").stdout == "PONG\n"
    with open(f"{w.prefix}/other.conf", "w", encoding="utf-8") as f:
        f.write('control = { socket = "" };\n')
    r = ctl(w, "-c", "other.conf", "ping")
    assert r.returncode == 2 and "names no control socket" in r.stderr


def test_it_is_linked_with_what_it_uses():
    out = subprocess.run(["readelf", "-d", WEIRCTL], capture_output=True,
                         text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", out))
    assert needed <= {"libconfig", "libedit", "libc", "libasan", "libubsan",
                      "libm", "libgcc_s", "libyajl"}


def test_failures(weir):
    w = weir()
    r = ctl(w, "png")
    assert r.returncode == 1 and '"ping"' in r.stderr and r.stdout == ""
    assert ctl(w, "kick", "sess", "1:5").returncode == 1
    assert ctl(w, "kick", "stream", "live/nobody").returncode == 1
    assert ctl(w, "wait", "50ms", "stream", "live/x", "up").returncode == 4
    r = ctl(w, "-t", "1", "wait", "1h")
    assert r.returncode == 4 and "in time" in r.stderr
    assert ctl(w, "-x").returncode == 2
    assert ctl(w, "-t", "soon", "ping").returncode == 2
    r = ctl(w, "-s", "run/nothing.sock", "ping")
    assert r.returncode == 2 and "run/nothing.sock" in r.stderr


def test_failures_in_json(weir):
    """On standard output, with their code, as answers are."""
    w = weir()

    def failure(*words):
        r = ctl(w, "--json", *words)
        assert r.returncode != 0 and r.stderr == ""
        found = json.loads(r.stdout)
        assert found["ok"] is False and set(found) == {"ok", "code", "text"}
        return found["code"], found["text"]

    assert failure("kick", "sess", "1:5") == (
        "missing", "there is no such session")
    assert failure("png")[0] == "unknown"
    assert failure("kick", "sess")[0] == "usage"
    assert failure("wait", "50ms", "stream", "live/x", "up")[0] == "timeout"
    assert failure("-s", "run/nothing.sock", "ping")[0] == "connect"
    with open(f"{w.prefix}/two.conf", "w", encoding="utf-8") as f:
        f.write('prot = 1;\npib = "x";\n')
    code, text = failure("test", "two.conf")
    assert code == "failed" and len(text.splitlines()) >= 2
    r = ctl(w, "--json", "png; ping; kick sess 1:5")
    assert [json.loads(d).get("ok", True) for d in r.stdout.split("\n\n")] == [
        False, True, False]


def test_first_failure_counts(weir):
    w = weir()
    r = ctl(w, "ping; wait 0s stream live/x up; png; ping")
    assert r.returncode == 4
    assert r.stdout == "PONG\n\nPONG\n"


def test_lines_of_standard_input(weir):
    w = weir()
    r = ctl(w, stdin="ping\n\nkick sess 1:5\nversion\nexit\nping\n")
    assert r.returncode == 1
    assert r.stdout.startswith("PONG\nversion: ")
    assert r.stdout.count("PONG") == 1


def test_help_without_a_server(tmp_path):
    r = subprocess.run([WEIRCTL, "help", "show"], cwd=tmp_path,
                       capture_output=True, text=True, check=False)
    assert r.returncode == 0 and "show sess" in r.stdout
    assert "reload" not in r.stdout
    r = subprocess.run([WEIRCTL, "-h"], capture_output=True, text=True,
                       check=False)
    assert r.returncode == 0 and "usage" in r.stdout


def test_a_master_that_hangs(weir):
    w = weir()
    os.kill(w.master(), signal.SIGSTOP)
    try:
        r = ctl(w, "-t", "1", "ping")
    finally:
        os.kill(w.master(), signal.SIGCONT)
    assert r.returncode == 4


def test_the_master_dies_meanwhile(weir):
    w = weir()
    results = []
    t = threading.Thread(
        target=lambda: results.append(ctl(w, "wait", "1h")))
    t.start()
    wait_for(lambda: ctl_json(w, "show", "info")["control_clients"] == 2)
    w.kill(signal.SIGKILL)
    t.join()
    assert results[0].returncode == 2 and "cut off" in results[0].stderr
    w.process.wait()
    wait_for(lambda: not w.workers())
    w.start()


def test_reload_says_what_is_wrong(weir):
    w = weir()
    with open(f"{w.prefix}/weir.conf", "a", encoding="utf-8") as f:
        f.write("\nnonsense = 1;\n")
    r = ctl(w, "reload")
    assert r.returncode == 1 and r.stderr.startswith("weirctl: ")
    assert ctl(w, "ping").returncode == 0


def test_test(weir):
    w = weir()
    assert ctl(w, "test").returncode == 0
    with open(f"{w.prefix}/weir.conf", "a", encoding="utf-8") as f:
        f.write("\nnonsense = 1;\nworker_connections = 0;\n")
    r = ctl(w, "test")
    assert r.returncode == 1
    assert r.stderr.count("weir.conf:") == 2 and "nonsense" in r.stderr
    with open(f"{w.prefix}/good.conf", "w", encoding="utf-8") as f:
        f.write(configuration())
    r = subprocess.run([WEIRCTL, "-p", "..", "test", "good.conf"],
                       cwd=f"{w.prefix}", check=False, capture_output=True)
    assert r.returncode == 2  # there is no socket in ..
    assert ctl(w, "test", "good.conf").returncode == 0
    assert ctl(w, "test", "missing.conf").returncode == 1
    assert ctl(w, "test", "/dev/zero").returncode == 1
    assert run("-t", "-c", f"{w.prefix}/weir.conf").returncode == 1


def test_stop(weir):
    w = weir(workers=2)
    f = Feed(w.rtmp).head().frames(1)
    r = ctl(w, "stop")
    assert r.returncode == 0 and r.stdout.endswith("OK stopped\n")
    assert w.wait_exit() == 0
    f.stop()


def test_quit_from_a_script(weir):
    w = weir()
    assert ctl_json(w, "quit")["text"] == "stopped"
    assert w.wait_exit() == 0


def read_terminal(fd, until, timeout=10):
    text = b""
    end = time.monotonic() + busy(timeout)
    while until not in text:
        ready, _, _ = select.select([fd], [], [], end - time.monotonic())
        assert ready, text
        text += os.read(fd, 4096)
    return text.decode(errors="replace")


def test_prompt(weir):
    """History, completion, and the end with Ctrl-D."""
    w = weir()
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(w.prefix)
        os.environ["TERM"] = "dumb"
        # libedit does not free the names of functions that are added to it.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
        os.execv(WEIRCTL, [WEIRCTL])
    read_terminal(fd, b"weir> ")
    os.write(fd, b"pi\t\r")
    assert "PONG" in read_terminal(fd, b"PONG\r\nweir> ")
    os.write(fd, b"\x10\r")  # the line before, again
    read_terminal(fd, b"PONG\r\nweir> ")
    os.write(fd, b"show s\t\t")
    text = read_terminal(fd, b"show sess")
    assert "show streams" in text and "show info" not in text
    os.write(fd, b"\x15")
    os.write(fd, b"\x04")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 0


# ---- levels ----

@pytest.fixture
def open_weir(request):
    """A weir that other users get to: weir(control="...") ."""
    prefix = tempfile.mkdtemp(prefix="weir-levels-", dir="/tmp")
    os.chmod(prefix, 0o755)
    started = []

    def start(control):
        top = f'control = {{ mode = "0666"; {control} }};'
        started.append(Weir(prefix, top=top))
        return started[-1]

    yield start
    for w in started:
        w.finish(check=not getattr(request.node, "test_failed", False))
    shutil.rmtree(prefix)


def as_user(w, *words, uid=NOBODY, gid=NOBODY, groups=None):
    """weirctl as somebody else, who may not be allowed where it lies."""
    copy = f"{w.prefix}/weirctl"
    if not os.path.exists(copy):
        shutil.copy(WEIRCTL, copy)
        os.chmod(copy, 0o755)
    more = f"--groups={groups}" if groups else "--clear-groups"
    return subprocess.run(
        ["setpriv", f"--reuid={uid}", f"--regid={gid}", more, copy, *words],
        cwd=w.prefix, capture_output=True, text=True, timeout=busy(30), check=False)


@root
def test_others_may_look(open_weir):
    w = open_weir("")
    assert as_user(w, "ping").returncode == 0
    assert as_user(w, "show", "info").returncode == 0
    for words in (["show", "sess"], ["kick", "sess", "1:1"], ["stop"],
                  ["set", "state", "drain"], ["show", "config"]):
        r = as_user(w, *words)
        assert r.returncode == 3 and "needs level" in r.stderr
    w.wait_log(rf"uid {NOBODY} \(weirctl\) level user: stop: denied ")
    assert ctl_json(w, "show", "info")["state"] == "ready"


@root
def test_users_and_groups(open_weir):
    w = open_weir(f'''default = "none"; users = (
        {{ uid = "{NOBODY}"; level = "user"; }},
        {{ gid = "4242"; level = "operator"; }},
        {{ uid = "4243"; level = "admin"; }} );''')
    assert as_user(w, "ping").returncode == 0
    assert as_user(w, "show", "sess").returncode == 3
    assert as_user(w, "show", "sess", gid=4242).returncode == 0
    assert as_user(w, "show", "sess", groups="7,4242").returncode == 0
    assert as_user(w, "stop", gid=4242).returncode == 3
    assert as_user(w, "test", "/etc/shadow", gid=4242).returncode == 3
    r = as_user(w, "ping", uid=4244, gid=4244)
    assert r.returncode == 3
    w.wait_log(r"uid 4244 \(weirctl\) is refused")
    assert as_user(w, "stop", uid=4243, gid=1).returncode == 0
    assert w.wait_exit() == 0


@root
def test_mode_keeps_others_out(open_weir):
    w = open_weir("")
    os.chmod(f"{w.prefix}/run/control.sock", 0o600)
    assert as_user(w, "ping").returncode == 3


@root
def test_group_of_the_socket(open_weir):
    w = open_weir('group = "4242"; mode = "0660"; default = "operator"; '
                  .replace('mode = "0660"; ', ""))
    assert os.stat(f"{w.prefix}/run/control.sock").st_gid == 4242
