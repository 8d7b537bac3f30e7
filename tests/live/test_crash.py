"""What a process that crashes, or is stuck, leaves in the log; and what a
worker that was taken over cannot do.

The module modules/crash of this folder goes wrong when asked to."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import subprocess

import pytest

import weir as weir_py
from http_client import Http, get
from weir import SANITIZED, wait_for

WORDS = r"\[crit\] \d+ worker 0 \(pid \d+\) "


@pytest.fixture(scope="module")
def crash_binary(binary_with):
    return binary_with("crash")


@pytest.fixture
def crashing(crash_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", crash_binary)

    def start(**parts):
        w = weir(locations='{ path = "/crash"; module = "crash"; },', **parts)
        w.allowed.append(r"was ended by signal \d+")
        w.may_grow = True
        return w
    return start


def ask(w, how):
    """Asks a worker to go wrong; nobody answers."""
    c = Http(w.http)
    c.send("GET", f"/crash/{how}")
    return c


def frames(w):
    """Functions of the trace, the innermost first."""
    return re.findall(WORDS + r"#\d+ \S+(?: \((\w+)\+0x)?", w.log())


def restarts(w, reason):
    text = get(w.http, "/metrics").body.decode()
    found = re.search(r'weir_worker_restarts_total\{kind="worker",'
                      rf'reason="{reason}"\}} (\d+)', text)
    return int(found[1])


@pytest.mark.parametrize("how, number, function", [
    ("write", signal.SIGSEGV, "write_to_nowhere"),
    ("jump", signal.SIGSEGV, "jump_to_nowhere"),
    ("abort", signal.SIGABRT, "abort"),
    ("overflow", signal.SIGSEGV, "go_deeper"),
    ("trap", signal.SIGILL, "trap"),
    ("thread", signal.SIGSEGV, "write_to_nowhere"),
])
def test_a_crash_says_where(crashing, how, number, function):
    if SANITIZED and how in ("write", "jump", "overflow", "trap", "thread"):
        pytest.skip("sanitizers see these first")
    w = crashing()
    pid = w.workers()[0]
    with ask(w, how):
        w.wait_log(r"\[alert\].*worker 0 \(pid \d+\) was ended by signal "
                   rf"{int(number)} ")
    wait_for(w.workers, 5)
    said = w.wait_log(WORDS + rf"crashed: signal {int(number)} \(.*in thread "
                              r"(\d+)")[1]
    assert (int(said) == pid) == (how != "thread")
    wait_for(lambda: function in frames(w), what=f"frames with {function}")
    if how in ("write", "abort"):
        wait_for(lambda: frames(w)[-1] == "_start", what="all frames")
        assert "loop_turn" in frames(w) and "worker_main" in frames(w)
    if how == "write":
        assert "address 0x0," in w.log()
    w.wait_log(WORDS + r"crashed: .* stack pointer 0x[0-9a-f]+")
    assert not re.search(WORDS + r".*(registers|\b(r\d+|[a-z]ax|x\d+)=0x)",
                         w.log())
    assert restarts(w, "crash") == 1
    assert get(w.http, "/healthz").status == 200


def test_addresses_lead_to_lines(crashing):
    if SANITIZED:
        pytest.skip("sanitizers see the crash first")
    w = crashing()
    with ask(w, "write"):
        line = w.wait_log(r"build id ([0-9a-f]{16,}); for files and lines: "
                          r"(addr2line -pfie \S+)((?: 0x[0-9a-f]+)+)")
    wait_for(w.workers, 5)
    told = subprocess.run([*line[2].split(), *line[3].split()], check=True,
                          capture_output=True, text=True).stdout
    assert re.match(r"write_to_nowhere at \S*crash\.c:\d+", told)
    assert re.search(r"worker_main at \S*worker_process\.c:\d+", told)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT,
                                    signal.SIGBUS, signal.SIGFPE])
def test_who_sent_the_signal(weir, number):
    w = weir()
    w.allowed.append(r"was ended by signal \d+")
    w.may_grow = True
    os.kill(w.workers()[0], number)
    w.wait_log(WORDS + rf"crashed: signal {int(number)} \(.*\), sent by "
                       rf"process {os.getpid()},")
    w.wait_log(rf"was ended by signal {int(number)} \([^)]*\)\n")
    wait_for(w.workers, 5)


def test_killed_has_no_words(weir):
    w = weir()
    w.may_grow = True
    os.kill(w.workers()[0], signal.SIGKILL)
    w.wait_log(r"\(pid \d+\) was ended by signal 9 \(Killed\): it had no last "
               "words")
    wait_for(w.workers, 5)
    assert "[crit]" not in w.log()


def test_words_of_the_dead_are_not_those_of_its_successor(weir):
    w = weir()
    w.allowed.append(r"was ended by signal 11")
    w.may_grow = True
    first = w.workers()[0]
    os.kill(first, signal.SIGSEGV)
    wait_for(lambda: w.workers() not in ([], [first]), 5)
    os.kill(w.workers()[0], signal.SIGKILL)
    w.wait_log("it had no last words")
    wait_for(w.workers, 5)
    assert len(re.findall("crashed: signal", w.log())) == 1


def test_stuck_says_where(crashing):
    w = crashing(top='watchdog = "500ms";')
    pid = w.workers()[0]
    with ask(w, "loop"):
        w.wait_log(rf"\(pid {pid}\) is stuck for \d+ ms and is killed")
        w.wait_log(r"was ended by signal 9 \(Killed\)\n")
    wait_for(w.workers, 5)
    w.wait_log(WORDS + "made no turn of its loop; it was in:")
    wait_for(lambda: "worker_main" in frames(w), what="all frames")
    assert frames(w)[0] == "go_round"
    assert restarts(w, "stuck") == 1


# ---- the sandbox, from within a real worker ----

@pytest.mark.parametrize("how, answer", [
    ("exec", "EPERM"), ("ptrace", "EPERM"), ("listen", "EPERM"),
    ("open", "EACCES"),
])
def test_a_worker_that_was_taken_over(crashing, how, answer):
    if SANITIZED and how in ("ptrace", "open"):
        pytest.skip("sanitizers need these")
    w = crashing()
    if answer == "EACCES" and "files restricted" not in w.log():
        pytest.skip("this kernel has no Landlock")
    assert get(w.http, f"/crash/{how}").body.decode() == answer
    if answer == "EPERM":
        w.wait_log(r"\[warn\] \d+ the sandbox refused 1 system calls; the "
                   r"last has number \d+")
        assert "weir_sandbox_refusals_total 1\n" in get(
            w.http, "/metrics").body.decode()


def test_listening_sockets_are_not_a_workers_to_end(crashing):
    """They are shared: a new worker would wait at them for ever."""
    w = crashing(workers=2)
    assert get(w.http, "/crash/shutdown").body == b"done"
    w.wait_log(r"\[error\].* of 2 sockets of 127.0.0.1:0 did not listen any "
               r"more: a worker shut them down; they listen again")
    for _ in range(20):
        wait_for(lambda: get(w.http, "/healthz").status == 200)


def test_without_a_sandbox_it_could(crashing):
    w = crashing(top='sandbox = { seccomp = "off"; landlock = false; };')
    assert get(w.http, "/crash/open").body == b"done"
    assert get(w.http, "/crash/listen").body == b"done"
    assert w.stop() == 0  # that socket is on nobody's list
