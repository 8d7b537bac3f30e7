"""The sandbox of weir-speaker: another program stands in its place and tries
what a library that was taken over would."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil
import socket
import subprocess

import pytest

import weir as weir_py
from test_rights import landlock
from weir import SANITIZED, open_way
from zygote_help import DATA

PROBE = r"""
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

int main(void)
{
    char text[900];
    int n = snprintf(text, sizeof(text),
        "failed data=%d passwd=%d outside=%d write=%d shell=%d port=%d "
        "local=%d end",
        try_open("DATA/phontab", O_RDONLY), try_open("/etc/passwd", O_RDONLY),
        try_open("OUTSIDE", O_RDONLY), try_open("DATA/new", O_RDWR | O_CREAT),
        try_exec("/bin/sh"), try_connect(PORT), try_local("LOCAL"));

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
    tries = {name: int(rc) for name, rc in re.findall(r"(\w+)=(\d+)", said)}
    assert tries.pop("data") == 0
    if landlock(w) == 0:
        tries = {name: tries[name] for name in ("port", "local")}
    assert all(tries.values()), tries
