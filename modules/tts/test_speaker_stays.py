"""Another program in the place of weir-speaker: one whose children do not end,
one that does not start."""
# SPDX-License-Identifier: BSD-2-Clause

import shutil
import subprocess

import pytest

import weir as weir_py
from speech_help import engine, outcomes, say
from weir import open_way, wait_for

CHILD = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { TAKEN = 0, DONE = 4 };

static void record(int status, uint8_t kind, int64_t bytes)
{
    unsigned char packed[59] = { kind };
    int64_t numbers[] = { getpid(), 22050, bytes, bytes / 2, 1, 0 };

    memcpy(packed + 1, numbers, sizeof(numbers));
    send(status, packed, sizeof(packed), MSG_NOSIGNAL);
}

static void work(void)
{
    static char bytes[131072];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
    struct iovec part = { bytes, sizeof(bytes) };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    int fds[3];

    if (recvmsg(4, &m, 0) <= 0) {
        _exit(0);
    }
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
    record(fds[0], TAKEN, 0);
    write(fds[1], "done", 4);
    record(fds[0], DONE, 4);
    for (;;) {
        pause();
    }
}

int main(void)
{
    char order[1024];
    ssize_t n;
    int pid;

    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            work();
        }
    }
    send(3, "ready 22050", 11, 0);
    while ((n = recv(3, order, sizeof(order) - 1, 0)) > 0) {
        order[n] = '\0';
        if (sscanf(order, "kill %d", &pid) == 1) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
    return 0;
}
"""


@pytest.fixture
def started(weir, monkeypatch, tmp_path):
    """A weir whose weir-speaker is that C program."""
    def start(program):
        folder = tmp_path / "bin"
        folder.mkdir()
        open_way(str(folder))
        source = tmp_path / "speaker.c"
        source.write_text(program)
        subprocess.run(["cc", "-o", folder / "weir-speaker", source],
                       check=True)
        shutil.copy(weir_py.BINARY, folder / "weir")
        monkeypatch.setattr(weir_py, "BINARY", str(folder / "weir"))
        return weir(top='tts = ( { name = "main"; } );',
                    locations='{ path = "/speech"; module = "tts"; },')
    return start


def test_a_child_that_does_not_end_is_killed(started):
    w = started(CHILD)
    wait_for(lambda: len(engine(w)) == 5, 5, "its children")
    a = say(w)
    assert a.status == 200 and a.body == b"done"
    wait_for(lambda: len(engine(w)) == 4, 10, "its end")
    w.wait_log("of weir-speaker does not end and is killed")


def test_one_that_does_not_start_is_told_apart(started):
    """Requests wait for it a little; those that get 503 are no full queue."""
    w = started("int main(void) { return 1; }")
    a = wait_for(lambda: (got := say(w)).status == 503 and
                 "status 1" in got.json()["message"] and got, 10, "503")
    assert 1 <= int(a.header("retry-after")) <= 5
    assert outcomes(w, "starting") >= 1
    assert outcomes(w, "queue_full") == 0
