/*
 * The ring, by its system calls: submission entries that the kernel reads,
 * completion entries that it writes, both in memory shared with it.
 *
 * An entry's completion says in user_data at which place it was added; each
 * request is kept at that place on our side.  So results come in order whatever
 * the order of completions, and sends that the kernel did not take can be made
 * in the ordinary way.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/send_ring.h"

#include <assert.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define SEND_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL)

struct wish {
    int fd;
    const struct msghdr *message; /* borrowed until the flush is over */
    void *arg;
    ssize_t sent;
};

/* A mapping of the ring's descriptor. */
struct area {
    uint8_t *start; /* NULL: not mapped */
    size_t size;
};

struct send_ring {
    int fd;
    bool broken;   /* the kernel refused: not asked again */
    bool flushing; /* results are being told */
    unsigned count;
    struct wish wishes[SEND_RING_SIZE];
    struct area rings, entries;
    _Atomic uint32_t *sq_head, *sq_tail, *cq_head, *cq_tail; /* in rings */
    uint32_t sq_mask, cq_mask;
    struct io_uring_sqe *sqes;       /* in entries */
    const struct io_uring_cqe *cqes; /* in rings */
};

/* ---- opening ---- */

static int
map_area(struct area *a, int fd, off_t what, size_t size)
{
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_POPULATE, fd, what);

    if (start == MAP_FAILED) {
        return -1;
    }
    a->start = start;
    a->size = size;
    return 0;
}

static void
unmap_area(struct area *a)
{
    if (a->start != NULL) {
        munmap(a->start, a->size);
    }
}

static _Atomic uint32_t *
word_at(const struct send_ring *r, uint32_t offset)
{
    return (_Atomic uint32_t *)(void *)(r->rings.start + offset);
}

static int
map_ring(struct send_ring *r, const struct io_uring_params *p)
{
    size_t sq_size = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
    size_t cq_size = p->cq_off.cqes + p->cq_entries * sizeof(*r->cqes);
    size_t size = sq_size > cq_size ? sq_size : cq_size;

    if (map_area(&r->rings, r->fd, IORING_OFF_SQ_RING, size) == -1 ||
        map_area(&r->entries, r->fd, IORING_OFF_SQES,
                 p->sq_entries * sizeof(*r->sqes)) == -1) {
        return -1;
    }
    r->sq_head = word_at(r, p->sq_off.head);
    r->sq_tail = word_at(r, p->sq_off.tail);
    r->cq_head = word_at(r, p->cq_off.head);
    r->cq_tail = word_at(r, p->cq_off.tail);
    r->sq_mask = p->sq_entries - 1; /* both are powers of two */
    r->cq_mask = p->cq_entries - 1;
    r->sqes = (struct io_uring_sqe *)(void *)r->entries.start;
    r->cqes = (void *)(r->rings.start + p->cq_off.cqes);
    /* The n-th submission is always the n-th entry. */
    for (uint32_t i = 0; i < p->sq_entries; i++) {
        atomic_store_explicit(word_at(r, p->sq_off.array) + i, i,
                              memory_order_relaxed);
    }
    return 0;
}

/* Registering is refused, too, once the ring is enabled: no such operation is
 * among the allowed ones. */
static int
restrict_ring(int fd)
{
    struct io_uring_restriction allowed[] = {
        { .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_SEND },
        { .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_SENDMSG },
    };

    if (syscall(SYS_io_uring_register, fd, IORING_REGISTER_RESTRICTIONS,
                allowed, sizeof(allowed) / sizeof(allowed[0])) == -1) {
        return -1;
    }
    return (int)syscall(SYS_io_uring_register, fd, IORING_REGISTER_ENABLE_RINGS,
                        NULL, 0);
}

struct send_ring *
send_ring_open(struct errmsg *err)
{
    struct io_uring_params p = {
        .flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    };
    struct send_ring *r = mem_zero(sizeof(*r));

    r->fd = (int)syscall(SYS_io_uring_setup, SEND_RING_SIZE, &p);
    if (r->fd == -1 || map_ring(r, &p) == -1 || restrict_ring(r->fd) == -1) {
        errmsg_sys(err, "no io_uring");
        send_ring_close(&r);
    }
    return r;
}

void
send_ring_close(struct send_ring **r)
{
    if (*r == NULL) {
        return;
    }
    unmap_area(&(*r)->rings);
    unmap_area(&(*r)->entries);
    if ((*r)->fd != -1) {
        close((*r)->fd);
    }
    mem_free(r);
}

/* ---- adding ---- */

bool
send_ring_empty(const struct send_ring *r)
{
    return r->count == 0;
}

bool
send_ring_full(const struct send_ring *r)
{
    return r->count == SEND_RING_SIZE;
}

static void
fill_entry(struct io_uring_sqe *e, const struct wish *w, uint32_t number)
{
    memset(e, 0, sizeof(*e));
    e->fd = w->fd;
    e->msg_flags = SEND_FLAGS;
    e->user_data = number;
    if (w->message->msg_iovlen == 1) { /* cheaper without a msghdr */
        e->opcode = IORING_OP_SEND;
        e->addr = (uintptr_t)w->message->msg_iov->iov_base;
        e->len = (uint32_t)w->message->msg_iov->iov_len;
    } else {
        e->opcode = IORING_OP_SENDMSG;
        e->addr = (uintptr_t)w->message;
        e->len = 1;
    }
}

void
send_ring_add(struct send_ring *r, int fd, const struct msghdr *m, void *arg)
{
    struct wish *w = &r->wishes[r->count];
    uint32_t tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);

    assert(!send_ring_full(r) && !r->flushing);
    *w = (struct wish){ .fd = fd, .message = m, .arg = arg };
    if (!r->broken) {
        fill_entry(&r->sqes[(tail + r->count) & r->sq_mask], w, r->count);
    }
    r->count++;
}

/* ---- flushing ---- */

static int
enter(const struct send_ring *r, unsigned submit, unsigned wait_for)
{
    return (int)syscall(SYS_io_uring_enter, r->fd, submit, wait_for,
                        IORING_ENTER_GETEVENTS, NULL, 0);
}

/* The entries that the kernel did not take are not offered again. */
static void
take_back(struct send_ring *r, int why)
{
    atomic_store(r->sq_tail, atomic_load(r->sq_head));
    if (why != EAGAIN && why != EBUSY && why != ENOMEM) {
        r->broken = true;
        log_warn("io_uring takes no more sends (%s): they are made one by one "
                 "from now on",
                 strerror(why));
    }
}

/* Has the kernel take the entries; returns how many it took. */
static unsigned
submit(struct send_ring *r)
{
    uint32_t tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);
    unsigned taken = 0;

    atomic_store_explicit(r->sq_tail, tail + r->count, memory_order_release);
    while (taken < r->count) {
        unsigned left = r->count - taken;
        int n = enter(r, left, left);

        if (n == -1 && errno != EINTR) {
            break;
        }
        taken += n > 0 ? (unsigned)n : 0;
    }
    if (taken < r->count) {
        take_back(r, errno);
    }
    return taken;
}

/* Notes the results that are there; returns how many. */
static unsigned
reap(struct send_ring *r)
{
    uint32_t head = atomic_load_explicit(r->cq_head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(r->cq_tail, memory_order_acquire);

    for (uint32_t i = head; i != tail; i++) {
        const struct io_uring_cqe *e = &r->cqes[i & r->cq_mask];

        r->wishes[e->user_data].sent = e->res;
    }
    atomic_store_explicit(r->cq_head, tail, memory_order_release);
    return tail - head;
}

static void
send_plainly(struct wish *w)
{
    do {
        w->sent = sendmsg(w->fd, w->message, SEND_FLAGS);
    } while (w->sent == -1 && errno == EINTR);
    if (w->sent == -1) {
        w->sent = -errno;
    }
}

static void
send_all(struct send_ring *r)
{
    unsigned taken = r->broken ? 0 : submit(r);
    unsigned done = 0;

    while (done < taken) {
        done += reap(r);
        /* All are there at once; but if one were not, the kernel would still
         * read memory that is about to change. */
        if (done < taken && enter(r, 0, taken - done) == -1) {
            assert(errno == EINTR);
        }
    }
    for (unsigned i = taken; i < r->count; i++) {
        send_plainly(&r->wishes[i]);
    }
}

void
send_ring_flush(struct send_ring *r, send_ring_done *on_sent)
{
    unsigned count = r->count;

    if (count == 0 || r->flushing) {
        return;
    }
    send_all(r);
    r->flushing = true;
    for (unsigned i = 0; i < count; i++) {
        on_sent(r->wishes[i].arg, r->wishes[i].sent);
    }
    r->flushing = false;
    r->count = 0;
}
