/*
 * io_uring by its system calls. A send that must not wait is complete when
 * the call that submits it returns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "submission.h"

#include "common.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct submission {
    int fd;
    unsigned count;
    struct io_uring_sqe *entries;
    const struct io_uring_cqe *results;
    _Atomic unsigned *tail; /* of what is asked */
    _Atomic unsigned *results_head, *results_tail;
    unsigned mask, results_mask;
};

static char *
map(int fd, off_t what, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, fd, what);

    if (p == MAP_FAILED) {
        fatal("io_uring: mmap: %s", strerror(errno));
    }
    return p;
}

static _Atomic unsigned *
word_at(char *area, unsigned offset)
{
    return (_Atomic unsigned *)(void *)(area + offset);
}

struct submission *
submission_new(void)
{
    struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER |
                                          IORING_SETUP_DEFER_TASKRUN };
    struct submission *s = mem_new(1, sizeof(*s));

    s->fd = (int)syscall(SYS_io_uring_setup, SUBMISSION_ROOM, &p);
    if (s->fd == -1) {
        fatal("io_uring: %s", strerror(errno));
    }
    char *asked = map(s->fd, IORING_OFF_SQ_RING,
                      p.sq_off.array + p.sq_entries * sizeof(unsigned));
    char *done = map(s->fd, IORING_OFF_CQ_RING,
                     p.cq_off.cqes + p.cq_entries * sizeof(*s->results));

    s->entries =
        (void *)map(s->fd, IORING_OFF_SQES, p.sq_entries * sizeof(*s->entries));
    s->results = (void *)(done + p.cq_off.cqes);
    s->tail = word_at(asked, p.sq_off.tail);
    s->results_head = word_at(done, p.cq_off.head);
    s->results_tail = word_at(done, p.cq_off.tail);
    s->mask = p.sq_entries - 1;
    s->results_mask = p.cq_entries - 1;
    for (unsigned i = 0; i < p.sq_entries; i++) {
        atomic_store(word_at(asked, p.sq_off.array) + i, i);
    }
    return s;
}

/* Its mappings go with the program. */
void
submission_free(struct submission **s)
{
    if (*s != NULL) {
        close((*s)->fd);
        mem_drop(s);
    }
}

bool
submission_add(struct submission *s, int fd, const uint8_t *bytes, size_t n,
               void *of)
{
    unsigned place = (atomic_load(s->tail) + s->count++) & s->mask;

    s->entries[place] = (struct io_uring_sqe){
        .opcode = IORING_OP_SEND,
        .fd = fd,
        .addr = (uintptr_t)bytes,
        .len = (unsigned)n,
        .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
        .user_data = (uintptr_t)of,
    };
    return s->count < SUBMISSION_ROOM;
}

void
submission_flush(struct submission *s,
                 void (*on_sent)(void *arg, void *of, int sent), void *arg)
{
    if (s->count == 0) {
        return;
    }
    atomic_fetch_add(s->tail, s->count);
    if (syscall(SYS_io_uring_enter, s->fd, s->count, s->count,
                IORING_ENTER_GETEVENTS, NULL, 0) != (long)s->count) {
        fatal("io_uring: not all was submitted: %s", strerror(errno));
    }
    unsigned at = atomic_load(s->results_head);

    for (; s->count > 0; s->count--, at++) {
        if (at == atomic_load(s->results_tail)) {
            fatal("io_uring: a send did not complete at once");
        }
        const struct io_uring_cqe *e = &s->results[at & s->results_mask];

        on_sent(arg, (void *)(uintptr_t)e->user_data, e->res);
    }
    atomic_store(s->results_head, at);
}
