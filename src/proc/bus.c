/*
 * Mailboxes, what waits for a full one, and the handlers of what comes.
 *
 * All processes inherit the sending end of every mailbox; the master also
 * keeps the reading ends, for processes it forks later.  A message names the
 * incarnation it is meant for, so that who takes over a slot never gets its
 * predecessor's post.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/bus.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/bus_queue.h"
#include "proc/descriptors.h"
#include "proc/metrics.h"

#define DATA_MAX 67108864           /* bytes of one message */
#define MAILBOX_BYTES (1024 * 1024) /* asked of the kernel, may give less */
#define BATCH 64                    /* messages read in a turn, about */
#define HELD_US 1000                /* into a turn; later ones go at once */
#define SWEPT_MOST 100000           /* of a dead process; more is a flood */

struct mailbox {
    int in, out;        /* owned; in is -1 where it was closed */
    struct io writable; /* of out, started while it is full */
    struct bus_queue queue;
    struct list held; /* in bus.held: the queue goes out after this turn */
    int64_t sent_us;  /* loop_now_us() when bus_send_soon() sent something */
    bool refused;     /* something that did not fit since the queue was empty */
};

static struct {
    struct mailbox *boxes; /* owned; NULL while there is no bus */
    uint32_t count;
    struct loop *loop; /* borrowed; NULL while not open */
    pid_t pid;         /* whose queues and io these are */
    struct io io;      /* of our mailbox */
    uint8_t *buffer;   /* owned; what was received */
    struct list held;  /* mailboxes */
    struct later later;
    struct reader {
        bus_handler *handler;
        void *arg;
        const char *from; /* NULL: anybody */
        size_t most;      /* bytes */
    } handlers[BUS_TYPES];
    const char *names[BUS_TYPES - BUS_MODULE]; /* by bus_types_new() */
    uint32_t name_count;
    void (*on_room)(uint32_t slot); /* NULL: nobody wants to know */
} bus;

/* ---- mailboxes ---- */

static int
make_mailbox(struct mailbox *b, uint32_t slot)
{
    int pair[2], bytes = MAILBOX_BYTES, on = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) == -1) {
        return -1;
    }
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == -1) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    *b = (struct mailbox){ .in = pair[0], .out = pair[1] };
    descriptors_keep_for(slot, b->in);
    descriptors_keep(b->out);
    bus_queue_init(&b->queue);
    list_init(&b->held);
    io_init(&b->writable);
    return 0;
}

/* ---- waiting messages ---- */

static void
drop_queue(struct mailbox *b)
{
    bus_queue_drop(&b->queue);
    list_remove(&b->held);
}

static void
on_writable(struct io *io, unsigned ready)
{
    struct mailbox *b = LIST_ITEM(io, struct mailbox, writable);

    (void)ready;
    if (bus_queue_send(&b->queue, b->out) == -1) {
        return;
    }
    io_stop(bus.loop, &b->writable);
    if (b->refused && bus.on_room != NULL) {
        b->refused = false;
        bus.on_room((uint32_t)(b - bus.boxes));
    }
}

/* on_writable() goes on. */
static int
wait_until_writable(struct mailbox *b)
{
    return b->writable.fd != -1 ? 0
                                : io_start(bus.loop, &b->writable, b->out,
                                           IO_WRITE, on_writable);
}

/* Sends what is held, unless the mailbox is full. */
static void
flush(struct mailbox *b)
{
    list_remove(&b->held);
    if (b->writable.fd != -1 || bus_queue_send(&b->queue, b->out) == 0) {
        return;
    }
    if (wait_until_writable(b) == -1) {
        log_limited(LOG_ERROR, "%u messages to slot %u were lost: %s",
                    b->queue.count, (uint32_t)(b - bus.boxes), strerror(errno));
        metric_add(&proc_metrics[PROC_BUS_LOST], 0, b->queue.count);
        drop_queue(b);
    }
}

static void
flush_held(void)
{
    LIST_EACH (node, &bus.held) {
        flush(LIST_ITEM(node, struct mailbox, held));
    }
}

static void
after_turn(struct later *later)
{
    (void)later;
    if (bus.pid == getpid()) { /* else a child frees its parent's loop */
        flush_held();
    }
}

static void
hold(struct mailbox *b)
{
    if (list_empty(&b->held)) {
        list_append(&bus.held, &b->held);
    }
    loop_later(bus.loop, &bus.later);
}

/* ---- sending ---- */

/* Behind what waits: for room, or, with soon, for the end of this turn. */
static int
enqueue(struct mailbox *b, const struct bus_wire *w, bool soon)
{
    if (bus.loop == NULL || (!soon && wait_until_writable(b) == -1) ||
        bus_queue_add(&b->queue, w, soon) == -1) {
        b->refused = true;
        return -1;
    }
    if (b->writable.fd != -1) {
        return 0;
    }
    if (bus_queue_is_packed(&b->queue) ||
        clock_us() - loop_now_us(bus.loop) > HELD_US) {
        flush(b);
    } else {
        hold(b);
    }
    return 0;
}

static int
send_now(struct mailbox *b, const struct bus_wire *w)
{
    if (b->queue.count > 0) {
        flush(b);
    }
    if (b->queue.count > 0) {
        return enqueue(b, w, false);
    }
    if (bus_wire_send(b->out, w) == 0) {
        return 0;
    }
    return errno == EAGAIN ? enqueue(b, w, false) : -1;
}

/* The first of a turn goes at once: another process may work on it while this
 * one thinks of more. */
static int
send_soon(struct mailbox *b, const struct bus_wire *w)
{
    int64_t turn = bus.loop != NULL ? loop_now_us(bus.loop) : -1;

    if (b->queue.count > 0 || (b->sent_us == turn && turn != -1)) {
        return enqueue(b, w, true);
    }
    b->sent_us = turn;
    return send_now(b, w);
}

static int
put(struct mailbox *b, struct bus_wire *w, int fd, bool soon)
{
    int big = -1, rc;

    if (w->head.len > BUS_INLINE) {
        big = bus_wire_store(w->data, (size_t)w->head.len);
        if (big == -1) {
            return -1;
        }
        w->head.flags |= BUS_BIG;
        w->fds[w->fd_count++] = big;
    }
    if (fd != -1) {
        w->head.flags |= BUS_WITH_FD;
        w->fds[w->fd_count++] = fd;
    }
    rc = soon ? send_soon(b, w) : send_now(b, w);
    if (big != -1) {
        close(big);
    }
    return rc;
}

static int
post(uint32_t slot, uint32_t type, struct str data, int fd, bool soon)
{
    slot_owner to = slot_owner_of(slot);
    struct bus_wire w = { .head = { .type = type,
                                    .from = slot_self_owner(),
                                    .to = to,
                                    .len = data.len },
                          .data = data.ptr };

    assert(type < BUS_TYPES);
    if (slot >= bus.count || !slot_owner_alive(to) || data.len > DATA_MAX ||
        put(&bus.boxes[slot], &w, fd, soon) == -1) {
        metric_add(&proc_metrics[PROC_BUS_LOST], 0, 1);
        return -1;
    }
    return 0;
}

int
bus_send(uint32_t slot, uint32_t type, const void *data, size_t len, int fd)
{
    return post(slot, type, str_of(data, len), fd, false);
}

int
bus_send_soon(uint32_t slot, uint32_t type, const void *data, size_t len,
              int fd)
{
    return post(slot, type, str_of(data, len), fd, true);
}

/* ---- receiving ---- */

static void
call_handler(struct bus_wire *w, const void *data)
{
    struct bus_message m = { .type = w->head.type,
                             .from = w->head.from,
                             .data = data,
                             .len = (size_t)w->head.len,
                             .fd = -1 };

    if (w->head.flags & BUS_WITH_FD) {
        m.fd = w->fds[--w->fd_count];
    }
    bus.handlers[m.type].handler(bus.handlers[m.type].arg, &m);
    if (m.fd != -1) {
        bus_wire_close_fd(m.fd);
    }
}

/* The one that alone may send it. */
static bool
is_from(slot_owner sender, const char *name)
{
    uint32_t slot = slot_owner_number(sender);

    return strcmp(name, BUS_MASTER) == 0 ? slot == 0 : slot_is_role(slot, name);
}

/* Why a message is not taken; NULL: it is. */
static const char *
objection(const struct bus_wire *w)
{
    const struct bus_head *h = &w->head;
    const struct reader *r =
        h->type < BUS_TYPES ? &bus.handlers[h->type] : NULL;

    if (!slot_owner_is(h->from, w->pid)) {
        return "it is not from whom it says";
    }
    if (r == NULL || r->handler == NULL) {
        return "its type is unknown";
    }
    if (r->from != NULL && !is_from(h->from, r->from)) {
        return "this process may not send it";
    }
    if (h->len > r->most || (slot_self() == 0 && h->len > BUS_INLINE)) {
        return "it is too long";
    }
    return NULL;
}

static void
refuse(const struct bus_wire *w, const char *why)
{
    log_limited(LOG_ERROR,
                "a message of type %u, %llu bytes, from process %d, slot %u, "
                "was refused: %s",
                w->head.type, (unsigned long long)w->head.len, (int)w->pid,
                slot_owner_number(w->head.from), why);
    metric_add(&proc_metrics[PROC_BUS_LOST], 3, 1);
}

static void
dispatch(struct bus_wire *w)
{
    const struct bus_head *h = &w->head;
    const char *why;
    void *big = NULL;

    if (h->to != slot_self_owner()) {
        return; /* meant for one that had this slot before */
    }
    why = objection(w);
    if (why != NULL) {
        refuse(w, why);
        return;
    }
    if (h->flags & BUS_BIG) {
        big = bus_wire_load(w->fds[0], (size_t)h->len);
        if (big == NULL) {
            log_limited(LOG_ERROR,
                        "a message of %llu bytes from slot %u was "
                        "lost",
                        (unsigned long long)h->len, slot_owner_number(h->from));
            metric_add(&proc_metrics[PROC_BUS_LOST], 1, 1);
            return;
        }
    }
    call_handler(w, big != NULL ? big : w->data);
    mem_free(&big);
}

/* Somebody shut a mailbox down for all who hold it: the next process of the
 * slot gets another one. */
static int
mend(uint32_t slot)
{
    struct mailbox *b = &bus.boxes[slot], next;

    log_limited(LOG_ERROR, "a mailbox of the bus was shut down by a process");
    drop_queue(b);
    if (bus.loop != NULL) {
        io_stop(bus.loop, &b->writable);
    }
    if (make_mailbox(&next, slot) == -1) {
        return -1;
    }
    descriptors_close(b->in);
    descriptors_close(b->out);
    b->in = next.in;
    b->out = next.out;
    return 0;
}

static void on_readable(struct io *io, unsigned ready);

/* Our own mailbox was shut down.  The master makes another one, for processes
 * to come; a child is of no use without and ends, to be started again. */
static void
on_ended(void)
{
    struct mailbox *b = &bus.boxes[slot_self()];

    io_stop(bus.loop, &bus.io);
    if (slot_self() != 0) {
        log_limited(LOG_ERROR, "the mailbox of this process was shut down");
        kill(getpid(), SIGTERM);
    } else if (mend(0) == -1 ||
               io_start(bus.loop, &bus.io, b->in, IO_READ, on_readable) == -1) {
        log_error("the master hears its processes no more: %s",
                  strerror(errno));
    }
}

/* All messages of a packet, unless a handler closes the bus; returns how many
 * they were. */
static int
dispatch_packet(struct bus_wire *w)
{
    int count = 0;

    do {
        dispatch(w);
        bus_wire_close(w);
        count++;
    } while (bus.io.fd != -1 && bus_wire_next(w));
    return count;
}

static void
on_readable(struct io *io, unsigned ready)
{
    enum bus_came came = BUS_MESSAGE;
    struct bus_wire w;
    int count = 0;

    (void)ready;
    while (count < BATCH && io->fd != -1 &&
           (came == BUS_MESSAGE || came == BUS_DAMAGED)) {
        came = bus_wire_recv(io->fd, bus.buffer, &w);
        count += came == BUS_MESSAGE ? dispatch_packet(&w) : 1;
    }
    if (came == BUS_ENDED) {
        on_ended();
    }
}

int
bus_types_new(const char *name, uint32_t count, struct errmsg *err)
{
    int first = (int)(BUS_MODULE + bus.name_count);

    for (uint32_t i = 0; i < bus.name_count; i++) {
        if (strcmp(bus.names[i], name) == 0) {
            return errmsg_set(err, "two kinds of messages are called \"%s\"",
                              name);
        }
    }
    if (bus.name_count + count > BUS_TYPES - BUS_MODULE) {
        return errmsg_set(err, "there are more than %d kinds of messages",
                          BUS_TYPES - BUS_MODULE);
    }
    for (uint32_t i = 0; i < count; i++) {
        bus.names[bus.name_count++] = name;
    }
    return first;
}

void
bus_register(uint32_t type, const char *from, size_t most, bus_handler *handler,
             void *arg)
{
    assert(type < BUS_TYPES && most <= DATA_MAX);
    bus.handlers[type] = (struct reader){
        .handler = handler, .arg = arg, .from = from, .most = most
    };
}

void
bus_on_room(void (*on_room)(uint32_t slot))
{
    bus.on_room = on_room;
}

/* ---- life ---- */

int
bus_create(struct errmsg *err)
{
    uint32_t count = slots_count();

    assert(bus.boxes == NULL && count > 0);
    io_init(&bus.io);
    list_init(&bus.held);
    later_init(&bus.later, after_turn);
    bus.boxes = mem_zero(count * sizeof(bus.boxes[0]));
    bus.buffer = mem_alloc(BUS_BUFFER);
    bus.pid = getpid();
    for (bus.count = 0; bus.count < count; bus.count++) {
        if (make_mailbox(&bus.boxes[bus.count], bus.count) == -1) {
            errmsg_sys(err, "cannot make %u mailboxes", count);
            bus_destroy();
            return -1;
        }
    }
    return 0;
}

void
bus_destroy(void)
{
    if (bus.boxes == NULL) {
        return;
    }
    bus_close();
    for (uint32_t i = 0; i < bus.count; i++) {
        drop_queue(&bus.boxes[i]);
        if (bus.boxes[i].in != -1) {
            descriptors_close(bus.boxes[i].in);
        }
        descriptors_close(bus.boxes[i].out);
    }
    mem_free(&bus.boxes);
    mem_free(&bus.buffer);
    bus.count = 0;
    memset(bus.handlers, 0, sizeof(bus.handlers));
    bus.name_count = 0;
    bus.on_room = NULL;
}

/* In a child: what waited is the parent's to send, on the parent's loop. */
static void
forget_parent(void)
{
    if (bus.pid == getpid()) {
        return;
    }
    bus.pid = getpid();
    bus.loop = NULL;
    io_init(&bus.io);
    later_cancel(&bus.later);
    for (uint32_t i = 0; i < bus.count; i++) {
        io_init(&bus.boxes[i].writable);
        bus.boxes[i].refused = false;
        drop_queue(&bus.boxes[i]);
        if (i != slot_self()) {
            bus.boxes[i].in = -1; /* closed by the fork */
        }
    }
}

int
bus_open(struct loop *l, struct errmsg *err)
{
    assert(bus.boxes != NULL);
    forget_parent();
    assert(bus.loop == NULL);
    if (io_start(l, &bus.io, bus.boxes[slot_self()].in, IO_READ, on_readable) ==
        -1) {
        return errmsg_sys(err, "cannot read the mailbox of slot %u",
                          slot_self());
    }
    bus.loop = l;
    return 0;
}

void
bus_close(void)
{
    if (bus.loop == NULL || bus.pid != getpid()) {
        return;
    }
    io_stop(bus.loop, &bus.io);
    flush_held();
    later_cancel(&bus.later);
    for (uint32_t i = 0; i < bus.count; i++) {
        io_stop(bus.loop, &bus.boxes[i].writable);
        drop_queue(&bus.boxes[i]);
    }
    bus.loop = NULL;
}

void
bus_sweep(uint32_t slot)
{
    struct mailbox *b = &bus.boxes[slot];
    uint8_t *buffer = mem_alloc(BUS_BUFFER); /* bus.buffer may be in use */
    enum bus_came came;
    struct bus_wire w;
    int swept = 0;

    assert(slot < bus.count && slot != slot_self() && b->in != -1);
    drop_queue(b);
    if (bus.loop != NULL) {
        io_stop(bus.loop, &b->writable);
    }
    do {
        came = bus_wire_recv(b->in, buffer, &w);
        bus_wire_close(&w);
    } while ((came == BUS_MESSAGE || came == BUS_DAMAGED) &&
             ++swept < SWEPT_MOST);
    mem_free(&buffer);
    if (came != BUS_NOTHING && mend(slot) == -1) {
        log_error("a mailbox cannot be made again: %s", strerror(errno));
    }
}
