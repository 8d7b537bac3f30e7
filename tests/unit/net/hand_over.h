/*
 * For tests whose children hand descriptors and bytes to each other: over a
 * stream socket, waiting for room.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_HAND_OVER_H
#define UNIT_NET_HAND_OVER_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int wire; /* from the one who gives to the one who takes */

/* In a child, where cmocka's own would jump away. */
static inline void
must(bool ok)
{
    if (!ok) {
        _exit(1);
    }
}

static inline void
write_all(const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t sent = send(wire, (const char *)data + done, n - done, 0);

        must(sent > 0);
        done += (size_t)sent;
    }
}

static inline void
read_all(void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = recv(wire, (char *)data + done, n - done, 0);

        must(got > 0);
        done += (size_t)got;
    }
}

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static inline void
send_fd(int fd)
{
    union control control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)),
                                        .cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS } };
    char byte = 0;
    struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };

    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    must(sendmsg(wire, &m, 0) == 1);
}

static inline int
receive_fd(void)
{
    union control control;
    char byte;
    struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
    int fd;

    must(recvmsg(wire, &m, 0) == 1 && CMSG_FIRSTHDR(&m) != NULL);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    return fd;
}

#endif
