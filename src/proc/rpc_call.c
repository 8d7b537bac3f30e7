/*
 * The caller's side of a call.
 *
 * A call has a place in its method's table as long as it is open; the number
 * that goes over the bus is a serial number with the place in its low bits, so
 * that an answer finds its call at once and an old one finds none.
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

#define PLACE_BITS 16
#define KEPT_MAX ((size_t)8 << 20) /* bytes of a method's requests */

_Static_assert(RPC_OPEN_MAX <= 1 << PLACE_BITS, "a number holds a place");

struct rpc_call {
    struct list link; /* of its method */
    struct rpc_state *of;
    struct rpc_options options;
    uint64_t number;
    slot_owner to;    /* who was asked; 0: nobody yet */
    unsigned granted; /* parts that may come */
    unsigned owed;    /* of them, not told yet */
    bool answered;    /* a part came */
    bool prolonged;   /* the role was not told yet */
    bool waits;       /* for a process, or for room in its mailbox */
    int64_t due;      /* clock_ms() */
    struct timer timer;
    int fd;     /* owned, or -1; with resend alone */
    char *data; /* owned, or NULL: the same */
    size_t len;
};

void
rpc_caller_init(struct rpc_state *s)
{
    list_init(&s->calls);
    bus_register(s->answer_type, s->method->role,
                 sizeof(struct rpc_head) + (s->method->answer_max > RPC_TEXT_MAX
                                                ? s->method->answer_max
                                                : RPC_TEXT_MAX),
                 rpc_on_message, s);
}

/* ---- the table ---- */

static void
make_table(struct rpc_state *s)
{
    unsigned most = s->method->open_max;

    if (s->table != NULL) {
        return;
    }
    s->table = mem_zero(most * sizeof(struct rpc_call *));
    s->vacant = mem_alloc(most * sizeof(s->vacant[0]));
    for (unsigned i = 0; i < most; i++) {
        s->vacant[i] = most - 1 - i;
    }
}

static void
enter(struct rpc_call *c)
{
    struct rpc_state *s = c->of;
    uint32_t place = s->vacant[s->method->open_max - ++s->open];

    c->number = ++s->serial << PLACE_BITS | place;
    s->table[place] = c;
    list_append(&s->calls, &c->link);
}

static struct rpc_call *
find(const struct rpc_state *s, uint64_t number)
{
    uint64_t place = number & ((1 << PLACE_BITS) - 1);
    struct rpc_call *c = s->table != NULL && place < s->method->open_max
                             ? s->table[place]
                             : NULL;

    return c != NULL && c->number == number ? c : NULL;
}

static void
drop_data(struct rpc_call *c)
{
    c->of->kept -= c->data != NULL ? c->len : 0;
    mem_free(&c->data);
    if (c->fd != -1) {
        bus_wire_close_fd(c->fd);
        c->fd = -1;
    }
}

/* Takes it out of everything and frees it. */
static void
forget(struct rpc_call *c, struct loop *l)
{
    struct rpc_state *s = c->of;
    uint32_t place = (uint32_t)c->number & ((1 << PLACE_BITS) - 1);

    s->table[place] = NULL;
    s->vacant[s->method->open_max - s->open--] = place;
    s->waiting -= c->waits;
    list_remove(&c->link);
    timer_stop(l, &c->timer);
    drop_data(c);
    mem_free(&c);
}

/* ---- sending ---- */

/* The process that is asked; 0: there is none. */
static slot_owner
role_of(struct rpc_state *s, uint32_t index)
{
    if (s->role == 0 || s->role_index != index || !slot_owner_alive(s->role) ||
        slot_state(slot_owner_number(s->role)) != SLOT_READY) {
        s->role = slot_find_role(s->method->role, index);
        s->role_index = index;
    }
    return s->role;
}

static int
send_head(const struct rpc_call *c, uint32_t kind, uint32_t count,
          struct str data, int fd)
{
    struct rpc_head h = {
        .number = c->number, .due = c->due, .kind = kind, .count = count
    };

    return rpc_wire_send(slot_owner_number(c->to), c->of->request_type, &h,
                         data, fd);
}

/* Also what was granted so far. */
static int
send_request(struct rpc_call *c, slot_owner to, struct str data, int fd)
{
    if (rpc_owes(slot_owner_number(to))) {
        return -1; /* as if its mailbox were full, which it was */
    }
    c->to = to;
    if (send_head(c, RPC_REQUEST, c->granted, data, fd) == -1) {
        c->to = 0;
        return -1;
    }
    c->owed = 0;
    c->prolonged = false;
    return 0;
}

static void
set_waits(struct rpc_call *c, bool waits)
{
    c->of->waiting += waits;
    c->of->waiting -= c->waits;
    c->waits = waits;
}

/* In the order of the calls. */
static void
send_waiting(struct rpc_state *s)
{
    LIST_EACH (node, &s->calls) {
        struct rpc_call *c = LIST_ITEM(node, struct rpc_call, link);
        slot_owner to = c->waits ? role_of(s, c->options.index) : 0;

        if (s->waiting == 0) {
            return;
        }
        if (to != 0) {
            if (send_request(c, to, str_of(c->data, c->len), c->fd) == -1) {
                return;
            }
            set_waits(c, false);
        }
    }
}

static void
send_grant(struct rpc_call *c)
{
    if (c->to != 0 && (c->owed > 0 || c->prolonged) &&
        send_head(c, RPC_GRANT, c->owed, STR_NONE, -1) == 0) {
        c->owed = 0;
        c->prolonged = false;
    }
}

/* ---- the end of a call ---- */

static void
end(struct rpc_call *c, struct rpc_answer *a, struct loop *l)
{
    rpc_on_answer *on_answer = c->options.on_answer;
    void *arg = c->options.arg;

    forget(c, l);
    on_answer(arg, a);
}

static void
fail(struct rpc_call *c, enum rpc_status status, struct loop *l)
{
    struct rpc_answer a = { .status = status, .fd = -1 };
    const char *what = status == RPC_DIED   ? "ended before it answered"
                       : status == RPC_LATE ? "did not answer in time"
                                            : "sent more than it was granted";
    struct errmsg text;

    errmsg_set(&text, "the %s %s", c->of->method->role, what);
    a.data = text.text;
    a.len = strlen(text.text);
    end(c, &a, l);
}

static void
on_due(struct timer *t)
{
    struct rpc_call *c = LIST_ITEM(t, struct rpc_call, timer);

    if (c->to != 0) {
        send_head(c, RPC_CANCEL, 0, STR_NONE, -1);
    }
    fail(c, RPC_LATE, rpc_loop());
}

void
rpc_cancel(struct rpc_call **c)
{
    if (*c == NULL) {
        return;
    }
    if ((*c)->to != 0) {
        send_head(*c, RPC_CANCEL, 0, STR_NONE, -1);
    }
    forget(*c, rpc_loop());
    *c = NULL;
}

/* ---- asking ---- */

/* A copy of the request, for sending it again. */
static int
keep(struct rpc_call *c, const void *data, size_t len, int fd,
     struct errmsg *err)
{
    struct rpc_state *s = c->of;

    if (s->kept + len > KEPT_MAX && s->kept > 0) {
        return errmsg_set(err, "%zu bytes of %s wait already", s->kept,
                          s->method->name);
    }
    c->data = try_alloc(len + 1);
    if (c->data == NULL) {
        return errmsg_set(err, "there is no memory for %s", s->method->name);
    }
    if (len > 0) {
        memcpy(c->data, data, len);
    }
    c->len = len;
    s->kept += len;
    if (fd != -1 && (c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1) {
        return errmsg_sys(err, "cannot keep a descriptor for %s",
                          s->method->name);
    }
    return 0;
}

/* Sends it to the role, or, if it may wait for it, puts it behind those that
 * wait. */
static int
start(struct rpc_call *c, const void *data, size_t len, int fd,
      struct errmsg *err)
{
    struct rpc_state *s = c->of;
    slot_owner to = role_of(s, c->options.index);

    if (c->options.resend) {
        if (keep(c, data, len, fd, err) == -1) {
            return -1;
        }
        set_waits(c, s->waiting > 0 || to == 0 ||
                         send_request(c, to, str_of(data, len), fd) == -1);
        return 0;
    }
    if (to == 0) {
        return errmsg_set(err, "there is no %s that is ready", s->method->role);
    }
    if (send_request(c, to, str_of(data, len), fd) == -1) {
        return errmsg_set(err, "the %s takes no more now", s->method->role);
    }
    return 0;
}

struct rpc_call *
rpc_call(const struct rpc_method *m, const struct rpc_options *o,
         const void *data, size_t len, int fd, struct errmsg *err)
{
    struct rpc_state *s = m->state;
    struct loop *l = rpc_loop();
    struct rpc_call *c;

    assert(s != NULL && len <= m->request_max && o->window <= RPC_WINDOW_MAX);
    assert(o->timeout_ms > 0 && o->timeout_ms <= RPC_WAIT_MAX);
    if (l == NULL || s->open == m->open_max) {
        errmsg_set(err, "%u calls of %s are open already", s->open, m->name);
        return NULL;
    }
    make_table(s);
    c = mem_zero(sizeof(*c));
    c->of = s;
    c->options = *o;
    c->granted = o->window;
    c->due = clock_ms() + o->timeout_ms;
    c->fd = -1;
    timer_init(&c->timer, on_due);
    enter(c);
    if (start(c, data, len, fd, err) == -1) {
        forget(c, l);
        return NULL;
    }
    timer_set(l, &c->timer, o->timeout_ms);
    rpc_watch();
    return c;
}

void
rpc_grant(struct rpc_call *c, unsigned n)
{
    assert(n <= RPC_WINDOW_MAX - c->granted);
    c->granted += n;
    c->owed += n;
    send_grant(c);
}

void
rpc_prolong(struct rpc_call *c)
{
    c->due = clock_ms() + c->options.timeout_ms;
    c->prolonged = true;
    timer_set(rpc_loop(), &c->timer, c->options.timeout_ms);
    send_grant(c);
}

/* ---- answers ---- */

static void
take_part(struct rpc_call *c, struct rpc_answer *a)
{
    if (c->granted == 0) {
        log_limited(LOG_ERROR, "%s: the %s sent more than it was granted",
                    c->of->method->name, c->of->method->role);
        send_head(c, RPC_CANCEL, 0, STR_NONE, -1);
        fail(c, RPC_BROKEN, rpc_loop());
        return;
    }
    c->granted--;
    c->answered = true;
    drop_data(c);
    a->status = RPC_MORE;
    c->options.on_answer(c->options.arg, a);
}

/* Answers to calls that are over are no mistake, nor are those of a process
 * whose call went to its successor meanwhile. */
void
rpc_on_message(void *arg, struct bus_message *m)
{
    struct rpc_state *s = arg;
    struct str data = str_of(m->data, m->len);
    struct rpc_answer a = { .fd = m->fd };
    struct rpc_call *c;
    struct rpc_head h;

    if (rpc_loop() == NULL) {
        return;
    }
    if (!rpc_wire_get_answer(&data, &h)) {
        log_limited(LOG_ERROR, "a damaged answer to %s came from slot %u",
                    s->method->name, slot_owner_number(m->from));
        return;
    }
    c = find(s, h.number);
    if (c == NULL || c->to != m->from) {
        return;
    }
    a.data = data.ptr;
    a.len = data.len;
    if (h.kind == RPC_PART) {
        take_part(c, &a);
    } else {
        a.status = h.kind == RPC_LAST ? RPC_OK : RPC_REFUSED;
        end(c, &a, rpc_loop());
    }
    m->fd = a.fd;
}

/* ---- processes that come and go ---- */

/* The call waits for the role's next process, and is then sent again. */
static void
wait_for_successor(struct rpc_call *c)
{
    c->to = 0;
    c->owed = 0;
    set_waits(c, true);
}

void
rpc_caller_look(struct rpc_state *s)
{
    struct list dead;

    list_init(&dead);
    LIST_EACH (node, &s->calls) {
        struct rpc_call *c = LIST_ITEM(node, struct rpc_call, link);

        if (c->to == 0 || slot_owner_alive(c->to)) {
            continue;
        }
        if (c->options.resend && !c->answered) {
            wait_for_successor(c);
        } else {
            list_remove(&c->link);
            list_append(&dead, &c->link);
        }
    }
    while (!list_empty(&dead)) { /* any of them may be cancelled by another */
        fail(LIST_ITEM(dead.next, struct rpc_call, link), RPC_DIED, rpc_loop());
    }
    send_waiting(s);
}

void
rpc_caller_room(struct rpc_state *s, uint32_t slot)
{
    LIST_EACH (node, &s->calls) {
        struct rpc_call *c = LIST_ITEM(node, struct rpc_call, link);

        if (slot_owner_number(c->to) == slot) {
            send_grant(c);
        }
    }
    send_waiting(s);
}

void
rpc_caller_end(struct rpc_state *s, struct loop *l)
{
    while (!list_empty(&s->calls)) {
        fail(LIST_ITEM(s->calls.next, struct rpc_call, link), RPC_DIED, l);
    }
}

/* Timers and descriptors are the parent's. */
void
rpc_caller_forget(struct rpc_state *s)
{
    LIST_EACH (node, &s->calls) {
        struct rpc_call *c = LIST_ITEM(node, struct rpc_call, link);

        list_remove(&c->link);
        mem_free(&c->data);
        mem_free(&c);
    }
    mem_free(&s->table);
    mem_free(&s->vacant);
    s->open = s->waiting = 0;
    s->kept = 0;
    s->role = 0;
}
