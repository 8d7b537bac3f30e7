/*
 * The role's side of a call.
 *
 * A request lives from its message until the role has answered it, be its
 * caller gone or not: whatever the role waits for meanwhile may point to it. So
 * what a caller costs is bounded by the requests that it may have here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/bus_wire.h"
#include "proc/rpc_impl.h"

#define SERVED_MAX 8192   /* requests of a method */
#define REFUSALS_MAX 1024 /* that wait for room, of a method */

struct served {
    struct rpc_request request;
    struct list link, bucket;
    struct rpc_state *of;
    uint64_t number;
    unsigned granted; /* parts that may be sent */
    bool blocked;     /* a part was refused, on_room is due */
    bool owed;        /* a part, or `last`, waits for room in the mailbox */
    bool answered;    /* by the role: `last` is set */
    struct timer timer;
    struct rpc_head head; /* of the last answer */
    char *last;           /* owned */
    size_t last_len;
    int last_fd; /* owned, or -1 */
    uint8_t data[];
};

/* A request that was not taken, whose caller's mailbox was full just then. */
struct refusal {
    struct list link;
    slot_owner to;
    uint64_t number;
    int64_t due;     /* clock_ms() */
    const char *why; /* static */
};

static struct served *
served_of(struct rpc_request *r)
{
    return LIST_ITEM(r, struct served, request);
}

void
rpc_role_init(struct rpc_state *s)
{
    list_init(&s->requests);
    list_init(&s->refusals);
    for (size_t i = 0; i < RPC_BUCKETS; i++) {
        list_init(&s->buckets[i]);
    }
}

void
rpc_serve(const struct rpc_method *m, rpc_handler *handler, void *arg)
{
    struct rpc_state *s = m->state;

    assert(s != NULL);
    s->handler = handler;
    s->arg = arg;
    bus_register(s->request_type, m->caller,
                 sizeof(struct rpc_head) + m->request_max, rpc_on_request, s);
}

/* ---- requests ---- */

static struct list *
bucket_of(struct rpc_state *s, slot_owner from, uint64_t number)
{
    return &s->buckets[(number ^ number >> 16 ^ from) % RPC_BUCKETS];
}

static struct served *
find(struct rpc_state *s, slot_owner from, uint64_t number)
{
    LIST_EACH (node, bucket_of(s, from, number)) {
        struct served *q = LIST_ITEM(node, struct served, bucket);

        if (q->number == number && q->request.from == from) {
            return q;
        }
    }
    return NULL;
}

static void
set_owed(struct served *q, bool owed)
{
    if (owed != q->owed) {
        q->owed = owed;
        rpc_owe(slot_owner_number(q->request.from), owed ? 1 : -1);
    }
}

static void
free_request(struct served *q, struct loop *l)
{
    struct rpc_state *s = q->of;

    set_owed(q, false);
    s->count--;
    s->bytes -= q->request.len + q->last_len;
    s->open_of[slot_owner_number(q->request.from)]--;
    list_remove(&q->link);
    list_remove(&q->bucket);
    timer_stop(l, &q->timer);
    if (q->request.fd != -1) {
        bus_wire_close_fd(q->request.fd);
    }
    if (q->last_fd != -1) {
        bus_wire_close_fd(q->last_fd);
    }
    mem_free(&q->last);
    mem_free(&q);
}

/* Nobody waits for it any more. */
static void
lose(struct served *q)
{
    if (q->answered) {
        free_request(q, rpc_loop());
        return;
    }
    timer_stop(rpc_loop(), &q->timer);
    set_owed(q, false);
    if (q->request.gone) {
        return;
    }
    q->request.gone = true;
    if (q->request.on_gone != NULL) {
        q->request.on_gone(q->request.arg);
    }
}

static void
on_due(struct timer *t)
{
    lose(LIST_ITEM(t, struct served, timer));
}

/* ---- answering ---- */

static int
send_answer(const struct served *q, enum rpc_kind kind, struct str data, int fd)
{
    struct rpc_head h = { .number = q->number, .kind = kind };

    return rpc_wire_send(slot_owner_number(q->request.from), q->of->answer_type,
                         &h, data, fd);
}

int
rpc_part(struct rpc_request *r, const void *data, size_t len, int fd)
{
    struct served *q = served_of(r);

    assert(len <= q->of->method->answer_max);
    if (r->gone || q->granted == 0) {
        q->blocked = true;
        return -1;
    }
    if (send_answer(q, RPC_PART, str_of(data, len), fd) == -1) {
        q->blocked = true;
        set_owed(q, true);
        return -1;
    }
    set_owed(q, false);
    q->granted--;
    return 0;
}

/* Without memory for it the caller waits until its deadline; beyond the bound
 * for all it is told so instead. */
static void
keep_last(struct served *q, enum rpc_kind kind, struct str data, int fd)
{
    if (q->of->count > 1 && data.len > RPC_TEXT_MAX &&
        q->of->bytes + data.len > RPC_BYTES_MAX) {
        data = STR("too many answers wait for room");
        kind = RPC_ERROR;
        fd = -1;
    }
    q->last = try_alloc(data.len + 1);
    if (q->last == NULL ||
        (fd != -1 && (q->last_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)) {
        log_limited(LOG_ERROR, "an answer to %s was lost: no memory",
                    q->of->method->name);
        free_request(q, rpc_loop());
        return;
    }
    if (data.len > 0) {
        memcpy(q->last, data.ptr, data.len);
    }
    q->last_len = data.len;
    q->of->bytes += data.len;
    q->head.kind = kind;
    q->answered = true;
    set_owed(q, true);
}

static void
answer(struct rpc_request **r, enum rpc_kind kind, struct str data, int fd)
{
    struct served *q = served_of(*r);

    *r = NULL;
    if (q->request.gone || !slot_owner_alive(q->request.from) ||
        send_answer(q, kind, data, fd) == 0) {
        free_request(q, rpc_loop());
    } else {
        keep_last(q, kind, data, fd);
    }
}

void
rpc_reply(struct rpc_request **r, const void *data, size_t len, int fd)
{
    assert(len <= served_of(*r)->of->method->answer_max);
    answer(r, RPC_LAST, str_of(data, len), fd);
}

void
rpc_refuse(struct rpc_request **r, const char *text)
{
    answer(r, RPC_ERROR, str_first(str_from(text), RPC_TEXT_MAX), -1);
}

/* ---- taking requests ---- */

static void
set_deadline(struct served *q, int64_t due)
{
    int64_t ms = due - clock_ms();

    timer_set(rpc_loop(), &q->timer, ms < RPC_WAIT_MAX ? ms : RPC_WAIT_MAX);
}

/* Why a request is not taken; NULL: it is. */
static const char *
objection(const struct rpc_state *s, slot_owner from, size_t len)
{
    if (!rpc_serves()) {
        return "the role stops";
    }
    if (s->open_of[slot_owner_number(from)] >= s->method->open_max) {
        return "this process asks too much at once";
    }
    if (s->count >= SERVED_MAX ||
        (s->count > 0 && s->bytes + len > RPC_BYTES_MAX)) {
        return "there are too many requests at once";
    }
    return NULL;
}

static int
send_refusal(const struct rpc_state *s, const struct refusal *f)
{
    struct rpc_head h = { .number = f->number, .kind = RPC_ERROR };

    return rpc_wire_send(slot_owner_number(f->to), s->answer_type, &h,
                         str_from(f->why), -1);
}

static void
drop_refusal(struct rpc_state *s, struct refusal *f)
{
    list_remove(&f->link);
    mem_free(&f);
    s->refusal_count--;
}

/* Those of which nobody hears any more, and those for which there is room. */
static void
send_refusals(struct rpc_state *s)
{
    LIST_EACH (node, &s->refusals) {
        struct refusal *f = LIST_ITEM(node, struct refusal, link);

        if (f->due <= clock_ms() || !slot_owner_alive(f->to) ||
            send_refusal(s, f) == 0) {
            drop_refusal(s, f);
        }
    }
}

/* Beyond the bound a caller waits for its deadline. */
static void
refuse(struct rpc_state *s, slot_owner to, const struct rpc_head *h,
       const char *why)
{
    struct refusal *f,
        now = { .to = to, .number = h->number, .due = h->due, .why = why };

    if (send_refusal(s, &now) == 0 || s->refusal_count >= REFUSALS_MAX) {
        return;
    }
    f = try_alloc(sizeof(*f));
    if (f != NULL) {
        *f = now;
        list_append(&s->refusals, &f->link);
        s->refusal_count++;
        rpc_watch();
    }
}

static struct served *
new_request(struct rpc_state *s, const struct bus_message *m,
            const struct rpc_head *h, struct str data)
{
    struct served *q = try_alloc(sizeof(*q) + data.len);

    if (q == NULL) {
        return NULL;
    }
    *q = (struct served){
        .of = s, .number = h->number, .granted = h->count, .last_fd = -1
    };
    if (data.len > 0) {
        memcpy(q->data, data.ptr, data.len);
    }
    q->request = (struct rpc_request){
        .data = q->data, .len = data.len, .fd = m->fd, .from = m->from
    };
    s->count++;
    s->bytes += data.len;
    s->open_of[slot_owner_number(m->from)]++;
    list_append(&s->requests, &q->link);
    list_append(bucket_of(s, m->from, h->number), &q->bucket);
    timer_init(&q->timer, on_due);
    return q;
}

static void
take(struct rpc_state *s, struct bus_message *m, const struct rpc_head *h,
     struct str data)
{
    const char *why = objection(s, m->from, data.len);
    struct served *q;

    if (h->due <= clock_ms()) {
        return; /* its caller does not wait any more */
    }
    q = why == NULL ? new_request(s, m, h, data) : NULL;
    if (q == NULL) {
        refuse(s, m->from, h, why != NULL ? why : "no memory");
        return;
    }
    m->fd = -1;
    set_deadline(q, h->due);
    rpc_watch();
    s->handler(s->arg, &q->request);
}

/* ---- room ---- */

static void
unblock(struct served *q)
{
    if (q->answered) {
        if (send_answer(q, (enum rpc_kind)q->head.kind,
                        str_of(q->last, q->last_len), q->last_fd) == 0) {
            free_request(q, rpc_loop());
        }
        return;
    }
    if (q->blocked && q->granted > 0 && !q->request.gone) {
        q->blocked = false;
        set_owed(q, false); /* the next part that waits sets it again */
        if (q->request.on_room != NULL) {
            q->request.on_room(q->request.arg);
        }
    }
}

static void
grant(struct served *q, const struct rpc_head *h)
{
    unsigned n = q->granted + h->count;

    q->granted = n < RPC_WINDOW_MAX ? n : RPC_WINDOW_MAX;
    if (!q->request.gone && h->due > clock_ms()) {
        set_deadline(q, h->due);
    }
    unblock(q);
}

void
rpc_on_request(void *arg, struct bus_message *m)
{
    struct rpc_state *s = arg;
    struct str data = str_of(m->data, m->len);
    struct served *q;
    struct rpc_head h;

    if (rpc_loop() == NULL) {
        return;
    }
    if (!rpc_wire_get_request(&data, &h)) {
        log_limited(LOG_ERROR, "a damaged request of %s came from slot %u",
                    s->method->name, slot_owner_number(m->from));
        return;
    }
    if (h.kind == RPC_REQUEST) {
        take(s, m, &h, data);
        return;
    }
    q = find(s, m->from, h.number);
    if (q != NULL && !q->answered) {
        h.kind == RPC_GRANT ? grant(q, &h) : lose(q);
    }
}

/* ---- processes that come and go ---- */

/* Calls act() for those that are asked for; it may end any request. */
static void
each_of(struct rpc_state *s, bool (*asked)(const struct served *q, uint32_t n),
        uint32_t n, void (*act)(struct served *q))
{
    struct list some;

    list_init(&some);
    LIST_EACH (node, &s->requests) {
        struct served *q = LIST_ITEM(node, struct served, link);

        if (asked(q, n)) {
            list_remove(&q->link);
            list_append(&some, &q->link);
        }
    }
    while (!list_empty(&some)) {
        struct served *q = LIST_ITEM(some.next, struct served, link);

        list_remove(&q->link);
        list_append(&s->requests, &q->link);
        act(q);
    }
}

static bool
is_dead(const struct served *q, uint32_t n)
{
    (void)n;
    return !slot_owner_alive(q->request.from);
}

static bool
is_from(const struct served *q, uint32_t slot)
{
    return slot_owner_number(q->request.from) == slot;
}

void
rpc_role_look(struct rpc_state *s)
{
    each_of(s, is_dead, 0, lose);
    send_refusals(s);
}

void
rpc_role_room(struct rpc_state *s, uint32_t slot)
{
    each_of(s, is_from, slot, unblock);
    send_refusals(s);
}

void
rpc_role_end(struct rpc_state *s, struct loop *l)
{
    LIST_EACH (node, &s->requests) {
        free_request(LIST_ITEM(node, struct served, link), l);
    }
    LIST_EACH (node, &s->refusals) {
        drop_refusal(s, LIST_ITEM(node, struct refusal, link));
    }
}
