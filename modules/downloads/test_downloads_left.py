"""An engine that leaves something: memory, queues and keys of the kernel are
there until somebody removes them.  And a program that lies in no folder."""
# SPDX-License-Identifier: BSD-2-Clause

import ctypes
import os
import random
import re
import subprocess

import pytest

import weir as weir_py
from downloads_help import downloads  # noqa: F401: a fixture
from test_downloads_programs import engine, result  # noqa: F401
from test_rights import landlock
from weir import SANITIZED, read_text

libc = ctypes.CDLL(None, use_errno=True)

TRIES = r"""
import ctypes, errno, os, platform, subprocess
libc = ctypes.CDLL(None, use_errno=True)
KEY, SIZE, NAME = %d, 64 << 20, b"/%s"
CREATE = 0o1000 | 0o666
out = open("media.txt", "w")

def attempt(what, f):
    try:
        came = f() or "done"
    except OSError as e:
        came = errno.errorcode.get(e.errno, str(e))
    print(what + ":", came, file=out, flush=True)

def call(f, *a):
    rc = f(*a)
    if rc == -1:
        raise OSError(ctypes.get_errno(), "")
    return rc

def memory():
    number = call(libc.shmget, KEY, ctypes.c_size_t(SIZE), CREATE)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(number, None, 0)
    ctypes.memset(at, 1, SIZE)

def messages():
    number = call(libc.msgget, KEY, CREATE)
    call(libc.msgsnd, number, b"\1" * 64, 32, 0)

def semaphores():
    call(libc.semget, KEY, 100, CREATE)

def posix_queue():
    call(libc.mq_open, NAME, os.O_CREAT | os.O_RDWR, 0o666, None)

def posix_memory():
    call(libc.shm_open, NAME, os.O_CREAT | os.O_RDWR, 0o666)

def posix_semaphore():
    libc.sem_open.restype = ctypes.c_void_p
    if libc.sem_open(NAME, os.O_CREAT, 0o666, 1) is None:
        raise OSError(ctypes.get_errno(), "")

def key():
    number = {"x86_64": 248, "aarch64": 217}[platform.machine()]
    call(libc.syscall, number, b"user", NAME, b"x", 1, -4)

def program():
    fd = os.memfd_create("program", 0)
    with open("/bin/sh", "rb") as f:
        os.write(fd, f.read())
    return subprocess.run(
        ["sh", "-c", "echo runs"], executable=f"/proc/self/fd/{fd}",
        pass_fds=[fd], stdout=subprocess.PIPE, check=True).stdout.decode().strip()

for name, f in list(globals().items()):
    if callable(f) and f not in (attempt, call) and not isinstance(f, type):
        attempt(name, f)
out.close()
print("F|media.txt")
"""
UNKNOWN = {"memory", "messages", "semaphores", "posix_queue", "key"}
REFUSED = {"posix_memory", "posix_semaphore", "program"}
SYSV = {"shm": "-M", "msg": "-Q", "sem": "-S"}


def left_of(key):
    """What of System V has that key, as the kernel lists it."""
    return [kind for kind in SYSV
            if re.search(rf"^ *{key} ", read_text(f"/proc/sysvipc/{kind}"), re.M)]


def has_queue(name):
    queue = libc.mq_open(f"/{name}".encode(), os.O_RDONLY)
    if queue != -1:
        os.close(queue)
    return queue != -1


@pytest.fixture
def marks():
    """A key and a name that nobody else has; nothing of them stays."""
    key = random.randrange(1 << 20, 1 << 30)
    name = f"weir-left-{key}"
    yield key, name
    for kind in left_of(key):
        subprocess.run(["ipcrm", SYSV[kind], hex(key)], check=True)
    libc.mq_unlink(f"/{name}".encode())
    for path in (f"/dev/shm/{name}", f"/dev/shm/sem.{name}"):
        if os.path.exists(path):
            os.unlink(path)


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
@pytest.mark.parametrize("seccomp", ["enforce", "off"])
@pytest.mark.usefixtures("landlock_told")
def test_nothing_is_left(engine, marks, monkeypatch, seccomp):  # noqa: F811
    """The supervisor's own filter is enough; of files, Landlock."""
    monkeypatch.setattr(weir_py, "TRACED", "")  # it is in top
    key, name = marks
    d = engine(TRIES % (key, name), top=f'sandbox = {{ seccomp = "{seccomp}"; '
               'core_dumps = true; };')
    if landlock(d.weir) < 1:
        pytest.skip("needs Landlock")
    came = dict(re.findall(r"^(\w+): (.*)$", result(d), re.M))
    assert left_of(key) == []
    assert not has_queue(name)
    for what in UNKNOWN:
        assert came.pop(what) == "ENOSYS", what
    assert set(came) == REFUSED
    assert set(came.values()) <= {"EPERM", "EACCES"}, came
    assert not os.path.exists(f"/dev/shm/{name}")
    assert not os.path.exists(f"/dev/shm/sem.{name}")
