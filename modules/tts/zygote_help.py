"""Plays the speaker for a weir-speaker that runs by itself: the two sockets,
packets, records (modules/tts/request.h)."""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import os
import select
import signal
import socket
import struct
import time

from patience import busy

PROGRAM = os.path.join(os.path.dirname(os.environ.get("WEIR", "build/weir")),
                       "weir-speaker")
DATA = "/usr/lib/x86_64-linux-gnu/espeak-ng-data"
KINDS = ["TAKEN", "LONG", "PAUSED", "WANTS", "DONE", "FAILED"]
FORMATS = ["wav", "pcm", "mulaw", "flac", "opus", "mp3", "timings"]
MILLION = 1000000
SEAL_WRITE = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | \
    fcntl.F_SEAL_WRITE


# ---- bytes ----

def packed_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("=I", len(data)) + data + b"\0"


def packed_request(text="", voice="gmw/en-US", speaker="", **more):
    """As speech_pack_request() does it."""
    ask = {"speaker_id": -1, "length_scale": MILLION, "noise_scale": -1,
           "noise_w_scale": 0, "pitch": -1, "range": -1, "volume": -1,
           "sentence_silence": 0, "ssml": 0, "stream": 0,
           "format": "wav", "sample_rate": 0, "buffer": 1 << 20,
           "max_audio": 600000}
    assert set(more) <= set(ask), more
    ask.update(more)
    ask["format"] = FORMATS.index(ask["format"]) \
        if isinstance(ask["format"], str) else ask["format"]
    small = ("ssml", "stream", "format")
    return b"".join(map(packed_text, ("main", text, voice, speaker))) + \
        b"".join(struct.pack("=B" if name in small else "=q", value)
                 for name, value in ask.items())


class Record:
    """As speech_unpack_record() reads it."""

    def __init__(self, data):
        kind, self.pid, self.sample_rate, self.bytes, self.samples, \
            self.first_us, self.status = struct.unpack_from("=Bqqqqqq", data)
        self.kind = KINDS[kind]
        at = struct.calcsize("=Bqqqqqq")
        texts = []
        for _ in range(2):
            n, = struct.unpack_from("=I", data, at)
            texts.append(data[at + 4:at + 4 + n].decode(
                errors="backslashreplace"))
            at += 4 + n + 1
        assert at == len(data), data
        self.field, self.message = texts

    def __repr__(self):
        return f"<{self.kind} {self.status} {self.message!r}>"


# ---- processes ----

def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except FileNotFoundError:
        return []


def state_of(pid):
    """"S", "R", "Z", ...; "": there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descriptors_of(pid):
    return {fd: os.readlink(f"/proc/{pid}/fd/{fd}")
            for fd in sorted(os.listdir(f"/proc/{pid}/fd"), key=int)}


def readable(what, seconds):
    return bool(select.select([what], [], [], busy(seconds))[0])


class Ask:
    """One request, as the speaker has it."""

    def __init__(self):
        self.status, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.memory = os.memfd_create("answer", os.MFD_ALLOW_SEALING
                                      | os.MFD_CLOEXEC)
        self.pipe, pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.theirs = [theirs.detach(), os.dup(self.memory), pipe]
        self.records = []

    def sent(self):
        for fd in self.theirs:
            os.close(fd)
        self.theirs = []

    def record(self, seconds=5):
        """The next one; None: the child has ended."""
        assert readable(self.status, seconds), \
            f"no record after {self.records}"
        try:
            data = self.status.recv(4096)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        self.records.append(Record(data))
        return self.records[-1]

    def until(self, *kinds):
        while True:
            r = self.record()
            if (r.kind if r else None) in kinds:
                return r
            assert r is not None, self.records

    def whole(self):
        """The answer, which has to come in the file."""
        r = self.until("DONE", "FAILED")
        assert r.kind == "DONE", r
        data = os.pread(self.memory, r.bytes + 1, 0)
        assert len(data) == r.bytes
        return data

    def read_pipe(self, most=1 << 30):
        """What is there now, `most` bytes of it."""
        parts = []
        while most > 0:
            try:
                parts.append(os.read(self.pipe, min(most, 65536)))
            except BlockingIOError:
                break
            if not parts[-1]:
                break
            most -= len(parts[-1])
        return b"".join(parts)

    def close(self):
        self.status.close()
        for name in ("memory", "pipe"):
            if getattr(self, name) is not None:
                os.close(getattr(self, name))
                setattr(self, name, None)
        self.sent()


def spawn(arguments, *sockets):
    """The sockets become 3 and 4."""
    lifted = [fcntl.fcntl(s, fcntl.F_DUPFD_CLOEXEC, 20) for s in sockets]
    try:
        return os.posix_spawnp(
            arguments[0], arguments, os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, 3 + i)
                          for i, fd in enumerate(lifted)])
    finally:
        for fd in lifted:
            os.close(fd)


class Zygote:
    def __init__(self, *directories, pool=2, memory=0, cpu=0, wrap=()):
        self.control, control = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.work, work = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.asks = []
        self.pid = spawn([*wrap, PROGRAM, f"--memory={memory}",
                          f"--cpu={cpu}", f"--pool={pool}",
                          *(directories or [DATA])], control, work)
        self.status = None
        control.close()
        work.close()

    def said(self):
        assert readable(self.control, 10)
        return self.control.recv(2048).decode()

    def ready(self):
        word, rate = self.said().split(" ", 1)
        assert word == "ready", rate
        self.rate = int(rate)
        return self

    def send(self, packet, fds=None, ask=None):
        """`packet` with the descriptors of an Ask, or with those given."""
        ask = ask or Ask()
        self.asks.append(ask)
        socket.send_fds(self.work, [packet],
                        ask.theirs if fds is None else fds)
        ask.sent()
        return ask

    def ask(self, text="Hello there.", **more):
        if len(text) <= 100000:
            return self.send(packed_request(text, **more))
        ask = Ask()
        os.write(ask.memory, text.encode())
        return self.send(packed_request("", **more), ask=ask)

    def forget(self, ask):
        ask.close()
        self.asks.remove(ask)

    def children(self):
        return children_of(self.pid)

    def close(self):
        """Ends it as the speaker does."""
        self.control.close()
        self.work.close()
        for ask in self.asks:
            ask.close()
        try:
            return self.wait(5)
        finally:
            if self.status is None:
                os.kill(self.pid, signal.SIGKILL)
                self.wait(5)

    def wait(self, seconds):
        """Its exit status."""
        settled(self.ended, seconds)
        return self.status

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None


def settled(look, seconds=5):
    """Waits until look() is true; returns what it gave."""
    end = time.monotonic() + busy(seconds)
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.005)
