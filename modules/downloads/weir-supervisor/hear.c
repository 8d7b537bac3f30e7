/*
 * Calls of the engine that its filter hands to the supervisor.
 *
 * The engine's process filters itself, and so it is the one that gets the
 * listener: it sends that to the supervisor before it executes the engine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervise.h"

/* A message with room for one descriptor. */
struct letter {
    char byte;
    struct iovec piece;
    struct msghdr head;
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr *
fill_letter(struct letter *l)
{
    memset(l, 0, sizeof(*l));
    l->piece = (struct iovec){ &l->byte, 1 };
    l->head.msg_iov = &l->piece;
    l->head.msg_iovlen = 1;
    l->head.msg_control = l->room;
    l->head.msg_controllen = sizeof(l->room);
    return &l->head;
}

static int
send_listener(int end, int listener)
{
    struct letter l;
    struct msghdr *head = fill_letter(&l);
    struct cmsghdr *c = CMSG_FIRSTHDR(head);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &listener, sizeof(int));
    return sendmsg(end, head, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int
supervise_filter(unsigned flags, pid_t supervisor, int end)
{
    int listener;

    if (sandbox_engine_filter(flags, supervisor, &listener) == -1) {
        return -1;
    }
    return listener == -1 ? 0 : send_listener(end, listener);
}

int
supervise_listener(int end)
{
    struct letter l;
    struct msghdr *head = fill_letter(&l);
    int listener = -1;
    ssize_t n;

    do {
        n = recvmsg(end, head, MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    if (n == 1 && CMSG_FIRSTHDR(head) != NULL) {
        memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(head)), sizeof(int));
    }
    close(end);
    return listener;
}

unsigned
supervise_asks(const struct supervise *s)
{
    int version = sandbox_landlock_version();

    if (sandbox_can_give()) {
        return version < SANDBOX_HOLDS_ABSTRACT
                   ? SANDBOX_ENGINE_ASKS | SANDBOX_ENGINE_SIGNALS
                   : SANDBOX_ENGINE_ASKS;
    }
    return s->port == 0 && version < SANDBOX_HOLDS_PORTS ? SANDBOX_ENGINE_ASKS
                                                         : 0;
}

void
supervise_hear(const struct supervise *s, int listener,
               struct sandbox_told *told)
{
    struct sandbox_call call;

    if (!sandbox_hear(listener, &call) ||
        supervise_connect(listener, &call, s->port) ||
        supervise_signal(listener, &call)) {
        return;
    }
    sandbox_answer(listener, &call, ENOSYS, 0);
    if (sandbox_tells(told, call.number)) {
        supervise_tell("call %d", call.number);
    }
}
