/*
 * Calls of a program that are not on its list, and its signals; and the
 * messages of the process that becomes the program, one of which has their
 * listener.
 *
 * The kernel itself answers calls as the starter does once nobody listens.  So
 * a run that makes too many of them costs the starter nothing any more.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter_impl.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define CALLS_MAX 1000   /* of a run */
#define SIGNALS_MAX 1000 /* of a run in a while; others wait for the next */
#define SIGNALS_MS 500

size_t
starter_descriptors(struct msghdr *m, int *fds)
{
    size_t count = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
         c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(fds, CMSG_DATA(c), count * sizeof(int));
        }
    }
    return count;
}

/* ---- the listener ---- */

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

int
starter_calls_send(int report, int listener)
{
    union control control = { .room = "" };
    char byte = 0;
    struct iovec part = { &byte, sizeof(byte) };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };

    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
    return sendmsg(report, &m, MSG_NOSIGNAL) == -1 ? -1 : 0;
}

ssize_t
starter_calls_report(int report, struct starter_calls *calls, char *text,
                     size_t size)
{
    union control control;
    struct iovec part = { text, size };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
    ssize_t n = recvmsg(report, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n > 0 && starter_descriptors(&m, &calls->listener) > 0) {
        return starter_calls_report(report, calls, text, size);
    }
    return n;
}

/* ---- calls ---- */

void
starter_calls_close(struct starter_calls *calls)
{
    if (calls->listener != -1) {
        close(calls->listener);
        calls->listener = -1;
    }
}

int
starter_calls_wait(const struct starter_calls *calls)
{
    return calls->signals < SIGNALS_MAX || clock_ms() >= calls->next_ms
               ? calls->listener
               : -1;
}

/* A run lives long, and may send any number of them. */
static void
count_signal(struct starter_calls *calls)
{
    int64_t now = clock_ms();

    if (now >= calls->next_ms) {
        calls->signals = 0;
        calls->next_ms = now + SIGNALS_MS;
    }
    calls->signals++;
}

void
starter_calls_hear(struct starter_calls *calls, pid_t run, short ready)
{
    struct sandbox_call call;

    if ((ready & POLLIN) == 0) { /* nobody is left to make one */
        starter_calls_close(calls);
        return;
    }
    if (sandbox_hear(calls->listener, &call)) {
        if (sandbox_signal(calls->listener, &call, run, run)) {
            count_signal(calls);
            return;
        }
        sandbox_answer(calls->listener, &call, ENOSYS, 0);
        sandbox_tells(&calls->told, call.number);
    }
    if (++calls->count == CALLS_MAX) {
        starter_calls_close(calls);
    }
}
