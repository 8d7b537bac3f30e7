/*
 * Signals as events.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "event/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"

struct signals {
    struct io io;
    struct later destroy;
    struct loop *loop; /* borrowed */
    int fd;            /* owned; -1 once freed */
    void (*on_signal)(void *arg, int number);
    void *arg;
};

static void
on_ready(struct io *io, unsigned ready)
{
    struct signals *s = LIST_ITEM(io, struct signals, io);
    struct signalfd_siginfo info;

    (void)ready;
    while (s->fd != -1 && read(s->fd, &info, sizeof(info)) == sizeof(info)) {
        s->on_signal(s->arg, (int)info.ssi_signo);
    }
}

static void
destroy(struct later *later)
{
    struct signals *s = LIST_ITEM(later, struct signals, destroy);

    mem_free(&s);
}

struct signals *
signals_new(struct loop *l, const sigset_t *set,
            void (*on_signal)(void *arg, int number), void *arg,
            struct errmsg *err)
{
    int fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd == -1) {
        errmsg_sys(err, "cannot watch signals");
        return NULL;
    }
    struct signals *s = mem_zero(sizeof(*s));

    io_init(&s->io);
    later_init(&s->destroy, destroy);
    s->loop = l;
    s->fd = fd;
    s->on_signal = on_signal;
    s->arg = arg;
    if (io_start(l, &s->io, fd, IO_READ, on_ready) == -1) {
        errmsg_sys(err, "cannot watch signals");
        close(fd);
        mem_free(&s);
        return NULL;
    }
    sigprocmask(SIG_BLOCK, set, NULL);
    return s;
}

void
signals_free(struct signals **s)
{
    if (*s == NULL) {
        return;
    }
    io_stop((*s)->loop, &(*s)->io);
    close((*s)->fd);
    (*s)->fd = -1;
    loop_later((*s)->loop, &(*s)->destroy);
    *s = NULL;
}
