"""weir-speaker by itself: its children come and go, the ways of an answer, and
what a speaker, a reader or a killer can do to it."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import fcntl
import os
import random
import select
import signal
import struct

import pytest

from patience import busy
from zygote_help import (MILLION, SEAL_WRITE, Zygote, children_of,
                         descriptors_of, packed_request, settled, state_of)

LONG = "This sentence is said many times over and over again. " * 400
DAY = 86400000  # ms


@pytest.fixture
def zygote():
    started = []

    def start(*args, **more):
        started.append(Zygote(*args, **more))
        return started[-1].ready()
    yield start
    for z in started:
        z.close()


def idle(z, count):
    """So many children, all of which sleep: the numbers."""
    def look():
        pids = z.children()
        return len(pids) == count and \
            all(state_of(p) == "S" for p in pids) and pids
    return settled(look)


# ---- answers ----

def test_an_answer_comes_in_the_file_and_can_be_sealed(zygote):
    z = zygote()
    ask = z.ask()
    done = ask.until("DONE")
    fcntl.fcntl(ask.memory, fcntl.F_ADD_SEALS, SEAL_WRITE)
    assert [r.kind for r in ask.records] == ["TAKEN", "DONE"]
    data = os.pread(ask.memory, 1 << 20, 0)
    assert len(data) == done.bytes == os.fstat(ask.memory).st_size
    assert data[:4] == b"RIFF" and data[8:16] == b"WAVEfmt "
    assert struct.unpack_from("<I", data, 4)[0] == len(data) - 8
    assert struct.unpack_from("<I", data, 40)[0] == len(data) - 44
    assert done.samples == (len(data) - 44) // 2
    assert ask.records[0].sample_rate == z.rate
    assert 0 < done.first_us < 10 * MILLION
    assert ask.record() is None


def test_equal_requests_have_equal_bytes(zygote):
    z = zygote()
    assert len({z.ask("Equal bytes.").whole() for _ in range(6)}) == 1


def read_all(ask):
    """All of the pipe, with a slot for who asks; the last record."""
    parts, last = [], None
    while True:
        ready = select.select([ask.status, ask.pipe], [], [], busy(5))[0]
        assert ready, ask.records
        parts.append(ask.read_pipe())
        if ask.status not in ready:
            continue
        r = ask.record()
        if r is None:
            return b"".join(parts + [ask.read_pipe()]), last
        last = r
        if r.kind == "WANTS":
            ask.status.send(b"g")


def test_a_long_answer_goes_through_the_pipe(zygote):
    z = zygote()
    whole = z.ask(LONG, buffer=64 << 20, max_audio=DAY).whole()
    ask = z.ask(LONG, buffer=65536, max_audio=DAY)
    data, last = read_all(ask)
    assert last.kind == "DONE" and last.bytes == len(data) == len(whole)
    assert data[44:] == whole[44:]
    assert struct.unpack_from("<I", data, 40)[0] == 0xffffffff
    assert [r.kind for r in ask.records[:2]] == ["TAKEN", "LONG"]


def test_a_stream_goes_through_the_pipe_at_once(zygote):
    z = zygote()
    whole = z.ask("A stream.").whole()
    ask = z.ask("A stream.", stream=1, max_audio=DAY)
    data, last = read_all(ask)
    assert last.kind == "DONE" and data[44:] == whole[44:]
    assert [r.kind for r in ask.records] == ["TAKEN", "LONG", "DONE"]
    assert os.fstat(ask.memory).st_size == 0


def test_a_full_pipe_pauses_the_child_until_it_is_granted_a_slot(zygote):
    z = zygote()
    ask = z.ask(LONG, stream=1, max_audio=DAY)
    ask.until("PAUSED")
    taken = ask.records[0].pid
    size = fcntl.fcntl(ask.pipe, 1032)  # F_GETPIPE_SZ
    data = ask.read_pipe(size - 40000)
    ask.until("WANTS")
    # It computes nothing while it waits for the slot.
    settled(lambda: state_of(taken) == "S")
    data += ask.read_pipe()
    assert len(data) <= size
    ask.status.send(b"g")
    rest, last = read_all(ask)
    assert last.kind == "DONE" and last.bytes == len(data) + len(rest)


def test_the_reader_of_a_paused_child_goes_away(zygote):
    z = zygote()
    for what in ("status", "pipe"):
        ask = z.ask(LONG, stream=1, max_audio=DAY)
        ask.until("PAUSED")
        pid = ask.records[0].pid
        if what == "status":
            ask.status.close()
        else:
            os.close(ask.pipe)
            ask.pipe = None
        settled(lambda: state_of(pid) == "")


def test_nobody_wants_an_answer_that_is_computed(zygote):
    z = zygote()
    ask = z.ask(LONG * 40, buffer=64 << 20, max_audio=DAY)
    pid = ask.until("TAKEN").pid
    ask.status.close()
    settled(lambda: state_of(pid) == "")
    # The library did not go on: the whole would be more than that.
    assert os.fstat(ask.memory).st_size < 60 << 20


# ---- children ----

def test_children_are_refilled_and_none_is_left(zygote):
    z = zygote(pool=3)
    first = idle(z, 3)
    assert z.ask().whole()
    second = idle(z, 3)
    assert len(set(second) - set(first)) == 1
    assert z.close() == 0
    assert [p for p in first + second if state_of(p) != ""] == []


def test_a_child_has_few_descriptors(zygote):
    z = zygote()
    child = idle(z, 2)[0]
    fds = descriptors_of(child)
    # 0 to 2, the socket of requests, the pipe to the zygote, a data directory.
    assert len(fds) == 6, fds
    assert "3" not in fds


def test_kill_is_for_children_of_the_zygote(zygote):
    z, other = zygote(), zygote()
    ask = z.ask(LONG, stream=1, max_audio=DAY)
    pid = ask.until("PAUSED", "TAKEN").pid or ask.records[0].pid
    for order in (f"kill {os.getpid()}", f"kill {idle(other, 2)[0]}",
                  "kill -1", "kill 0", "kill 1", "kill", "kill x", "what",
                  "voice ../../../etc/passwd", "voice " + "a" * 900,
                  f"kill {pid}"):
        z.control.send(order.encode())
    settled(lambda: state_of(pid) == "")
    assert ask.until(None) is None
    assert len(other.children()) == 2
    assert z.ask().whole() and other.ask().whole()


def test_idle_and_busy_children_are_killed(zygote):
    z = zygote(pool=2)
    for _ in range(50):
        with contextlib.suppress(ProcessLookupError):  # killed just before
            os.kill(random.choice(z.children()), signal.SIGKILL)
    idle(z, 2)
    paused = [z.ask(LONG, stream=1, max_audio=DAY) for _ in range(5)]
    for ask in paused:
        os.kill(ask.until("PAUSED") and ask.records[0].pid, signal.SIGKILL)
        assert ask.until(None) is None
    assert z.ask().whole()
    idle(z, 2)


def test_no_child_outlives_a_killed_zygote(zygote):
    z = zygote(pool=4)
    ask = z.ask(LONG, stream=1, max_audio=DAY)
    ask.until("PAUSED")
    pids = settled(lambda: len(z.children()) == 5 and z.children())
    os.kill(z.pid, signal.SIGKILL)
    for pid in pids:
        settled(lambda: state_of(pid) == "")


def test_it_drains_when_the_control_socket_is_closed(zygote):
    z = zygote()
    ask = z.ask(LONG, stream=1, max_audio=DAY)
    ask.until("PAUSED")
    z.control.close()
    settled(lambda: len(z.children()) == 1)
    data, last = read_all(ask)
    assert last.kind == "DONE" and len(data) == last.bytes
    assert z.wait(5) == 0


def test_it_drains_when_all_requests_are_taken(zygote):
    """More of them than children: they were sent before the end."""
    z = zygote(pool=1)
    held = idle(z, 1)[0]
    os.kill(held, signal.SIGSTOP)
    asks = [z.ask(f"{n}.") for n in range(4)]
    z.control.close()
    os.kill(held, signal.SIGCONT)
    assert all(ask.until("DONE") for ask in asks)
    assert z.wait(5) == 0


# ---- limits, and packets that are none ----

def test_a_child_has_a_limit_of_processor_time(zygote):
    z = zygote(cpu=1)
    ask = z.ask("a" * 900000, buffer=64 << 20, max_audio=DAY)
    failed = ask.until("FAILED", "DONE")
    assert failed.kind == "FAILED" and failed.status == 500
    assert "processor time" in failed.message
    assert z.ask().whole()


def test_packets_that_are_none_kill_nothing(zygote):
    z = zygote()
    r = random.Random(7)
    good = packed_request("Hello.")
    null = os.open("/dev/null", os.O_RDWR)
    for i in range(200):
        data = bytearray(good)
        if i % 3 == 0:
            data = r.randbytes(r.randrange(1, 5000))
        elif i % 3 == 1:
            data[r.randrange(len(data))] ^= 1 << r.randrange(8)
        else:
            del data[r.randrange(1, len(data)):]
        fds = None if i % 4 else [null] * r.randrange(5)
        ask = z.send(bytes(data), fds)
        while ask.record() is not None:
            if ask.read_pipe():
                break
        z.forget(ask)
    os.close(null)
    assert not z.ended()
    assert z.ask().whole()


def test_many_requests_leave_nothing(zygote):
    z = zygote(pool=4)
    before = descriptors_of(z.pid)
    for _ in range(300):
        ask = z.ask("a")
        assert ask.whole()
        z.forget(ask)
    children = idle(z, 4)
    assert children_of(z.pid) == children
    assert descriptors_of(z.pid) == before
