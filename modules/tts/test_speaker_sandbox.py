"""The sandbox of weir-speaker: another program stands in its place and tries
what a library that was taken over would."""
# SPDX-License-Identifier: BSD-2-Clause

import errno
import os
import platform
import re
import shutil
import socket
import subprocess

import pytest

import weir as weir_py
from test_rights import landlock
from test_store import metric
from weir import SANITIZED, open_way, wait_for
from zygote_help import DATA

# Calls that no program makes; it makes each several times.
UNKNOWN = {"listen": 50, "mount": 165, "trace": 101, "shared": 29} \
    if platform.machine() == "x86_64" else \
    {"listen": 201, "mount": 40, "trace": 117, "shared": 194}

PROBE = r"""
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int tried(int rc) { return rc == -1 ? errno : 0; }

static int try_open(const char *path, int flags)
{
    return tried(open(path, flags, 0600));
}

static int try_exec(const char *path)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        execl(path, path, "-c", "exit 0", (char *)NULL);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static int try_connect(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd == -1 ? errno : tried(connect(fd, (void *)&to, sizeof(to)));
}

static int try_local(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(to.sun_path, path);
    return fd == -1 ? errno : tried(connect(fd, (void *)&to, sizeof(to)));
}

static int try_memory(void)
{
    int fd = memfd_create("program", 0);

    /* the kernel may have no files of memory that nobody executes */
    return fd == -1 ? errno
           : memfd_create("x", 8) == -1 && errno == EINVAL ? EPERM : 0;
}

static int try_listen(void)
{
    int ends[2];

    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    return tried(listen(ends[0], 1));
}

int main(void)
{
    char text[900];
    int n;

    for (int i = 0; i < 3; i++) {
        n = tried(shmget(IPC_PRIVATE, 4096, 0600));
    }
    n = snprintf(text, sizeof(text),
        "failed data=%d passwd=%d outside=%d write=%d shell=%d port=%d "
        "local=%d memory=%d mode=%d priority=%d listen=%d mount=%d trace=%d "
        "shared=%d end",
        try_open("DATA/phontab", O_RDONLY), try_open("/etc/passwd", O_RDONLY),
        try_open("OUTSIDE", O_RDONLY), try_open("DATA/new", O_RDWR | O_CREAT),
        try_exec("/bin/sh"), try_connect(PORT), try_local("LOCAL"),
        try_memory(), tried(chmod("DATA/phontab", 0644)),
        tried(setpriority(PRIO_PROCESS, getppid(), 19)), try_listen(),
        tried(syscall(SYS_mount, 0, 0, 0, 0, 0)),
        tried(ptrace(PTRACE_ATTACH, getppid(), 0, 0)),
        tried(shmget(IPC_PRIVATE, 4096, 0600)));

    send(3, text, n, 0);
    return 1;
}
"""


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
def test_what_a_program_in_its_place_cannot_do(weir, monkeypatch, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    open_way(str(folder))
    outside = tmp_path / "outside"
    outside.write_text("x")
    os.chmod(outside, 0o644)
    with socket.create_server(("127.0.0.1", 0)) as server, \
            socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "l"))
        local.listen()
        os.chmod(tmp_path / "l", 0o777)
        source = tmp_path / "probe.c"
        source.write_text(
            PROBE.replace("DATA", DATA).replace("OUTSIDE", str(outside))
            .replace("PORT", str(server.getsockname()[1]))
            .replace("LOCAL", str(tmp_path / "l")))
        subprocess.run(["cc", "-o", folder / "weir-speaker", source],
                       check=True)
        shutil.copy(weir_py.BINARY, folder / "weir")
        monkeypatch.setattr(weir_py, "BINARY", str(folder / "weir"))
        w = weir(top='tts = ( { name = "main"; } );',
                 locations='{ path = "/speech"; module = "tts"; },')
        said = w.wait_log(r"data=\d+ .* end", 10).group()
        for number in UNKNOWN.values():
            w.wait_log(rf"\[warn\] \d+ weir-speaker has made system call "
                       rf"{number}, which no program of weir makes")
        wait_for(lambda: metric(w, "weir_sandbox_unknown_calls_total") >=
                 len(UNKNOWN), 5, "the count of them")
        runs = len(re.findall(r"data=\d+ .* end", w.log()))
        told = len(re.findall(r"made system call", w.log()))
        assert told <= (runs + 1) * len(UNKNOWN)
    tries = {name: int(rc) for name, rc in re.findall(r"(\w+)=(\d+)", said)}
    for name in UNKNOWN:
        assert tries.pop(name) == errno.ENOSYS, name
    for name in ("mode", "priority", "memory"):
        assert tries.pop(name) == errno.EPERM, name
    assert tries.pop("data") == 0
    if landlock(w) == 0:
        tries = {name: tries[name] for name in ("port", "local")}
    assert all(tries.values()), tries
