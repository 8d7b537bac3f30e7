/*
 * Fuzz target: calls over the bus, of which one side is a stranger.
 *
 * This process is caller and role at once.  The input is a row of steps: it
 * calls, grants, cancels, answers, lets the real messages through, and hands
 * either side messages that nobody sent.  A call ends at most once and gets no
 * more parts than were granted; at the end nothing is left over.
 *
 * covers: src/proc/rpc_wire.c
 * covers: src/proc/rpc_call.c:rpc_on_message,take_part,end,forget,find,enter
 * covers: src/proc/rpc_serve.c:rpc_on_request,take,new_request,find,grant
 * covers: src/proc/rpc_serve.c:objection,refuse,lose,free_request
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/rpc_impl.h"

#define CALLS 4
#define REQUESTS 64
#define DATA_MAX 2000
#define OTHER 2 /* slot of a process that never reads */

static struct rpc_method methods[] = {
    { .name = "fuzz",
      .role = "self",
      .caller = BUS_ANYBODY,
      .request_max = DATA_MAX,
      .answer_max = DATA_MAX,
      .open_max = CALLS },
    { .name = NULL },
};

static struct caller {
    struct rpc_call *call;
    unsigned granted;
} callers[CALLS];

static struct rpc_request *requests[REQUESTS];
static struct loop *loop;
static char data[DATA_MAX];

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
on_gone(void *arg)
{
    struct rpc_request **r = arg;

    require((*r)->gone);
}

static void
on_room(void *arg)
{
    struct rpc_request **r = arg;

    require(!(*r)->gone);
    rpc_part(*r, data, 1, -1);
}

static void
on_request(void *arg, struct rpc_request *r)
{
    (void)arg;
    require(r->len <= DATA_MAX && !r->gone);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (requests[i] == NULL) {
            requests[i] = r;
            r->on_gone = on_gone;
            r->on_room = on_room;
            r->arg = &requests[i];
            return;
        }
    }
    rpc_refuse(&r, "no room");
}

static void
on_answer(void *arg, struct rpc_answer *a)
{
    struct caller *c = arg;

    require(c->call != NULL && a->fd == -1);
    if (a->status == RPC_MORE) {
        require(c->granted-- > 0);
    } else {
        c->call = NULL;
    }
}

static void
set_up(void)
{
    struct errmsg err;

    log_set_sink(drop_line, NULL);
    loop = loop_new(&err);
    require(loop != NULL && slots_create(3, &err) == 0 &&
            bus_create(&err) == 0 && rpc_register(methods, &err) == 0);
    require(slot_take(SLOT_ROLE, "self", 0, 1) == 1 &&
            slot_take(SLOT_WORKER, "worker 0", 0, 1) == 2);
    slot_set_self(1);
    slot_say(SLOT_READY);
    require(bus_open(loop, &err) == 0);
    rpc_open(loop);
    rpc_serve(&methods[0], on_request, NULL);
}

/* ---- steps ---- */

static void
call(struct str *input)
{
    struct caller *c = &callers[take_byte(input) % CALLS];
    unsigned how = take_byte(input);
    struct rpc_options o = { .timeout_ms = 600000,
                             .window = how % 8,
                             .resend = how >= 128,
                             .on_answer = on_answer,
                             .arg = c };
    struct errmsg err;

    if (c->call == NULL) {
        c->granted = how % 8;
        c->call = rpc_call(&methods[0], &o, data, how, -1, &err);
    }
}

/* A head that is nearly right, or not at all, and some bytes. */
static size_t
make_message(struct str *input, uint8_t *dst)
{
    struct rpc_head h = { .due = INT64_MAX };
    size_t len = take_byte(input);

    h.number = (uint64_t)take_byte(input) << 16 | take_byte(input) % 8;
    h.kind = take_byte(input) % 8;
    h.count = take_byte(input) * 17;
    if (take_byte(input) % 8 == 0) {
        take_bytes(input, &h, sizeof(h));
    }
    memcpy(dst, &h, sizeof(h));
    memset(dst + sizeof(h), 'x', DATA_MAX);
    return take_byte(input) % 8 == 0 ? len : sizeof(h) + len * 5;
}

static void
hand_over(struct str *input, bus_handler *to)
{
    static uint8_t bytes[sizeof(struct rpc_head) + DATA_MAX];
    struct bus_message m = { .from = slot_owner_of(take_byte(input) % 2 + 1),
                             .fd = -1 };

    m.len = make_message(input, bytes);
    m.data = bytes;
    to(methods[0].state, &m);
}

static void
answer(struct str *input)
{
    struct rpc_request **r = &requests[take_byte(input) % REQUESTS];
    unsigned how = take_byte(input);

    if (*r == NULL) {
        return;
    }
    switch (how % 4) {
    case 0:
        rpc_reply(r, data, how * 7, -1);
        break;
    case 1:
        rpc_refuse(r, "no");
        break;
    default:
        rpc_part(*r, data, how, -1);
    }
}

static void
grant_or_cancel(struct str *input)
{
    struct caller *c = &callers[take_byte(input) % CALLS];
    unsigned n = take_byte(input) % 8;

    if (n == 0) {
        rpc_cancel(&c->call);
    } else if (c->call != NULL && c->granted < 1000) {
        c->granted += n;
        rpc_grant(c->call, n);
    }
}

static void
step(struct str *input)
{
    switch (take_byte(input) % 8) {
    case 0:
        call(input);
        break;
    case 1:
    case 2:
        hand_over(input, rpc_on_message);
        break;
    case 3:
    case 4:
        hand_over(input, rpc_on_request);
        break;
    case 5:
        answer(input);
        break;
    case 6:
        grant_or_cancel(input);
        break;
    default:
        loop_turn(loop, 0);
    }
}

/* All that is open ends; what the other process was sent it has read. */
static void
finish(const struct rpc_state *s)
{
    for (size_t i = 0; i < CALLS; i++) {
        rpc_cancel(&callers[i].call);
    }
    for (int i = 0; i < 20; i++) {
        loop_turn(loop, 0);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        if (requests[i] != NULL) {
            rpc_reply(&requests[i], NULL, 0, -1);
        }
    }
    bus_sweep(OTHER);
    rpc_role_room(methods[0].state, OTHER);
    loop_turn(loop, 0);
    require(s->open == 0 && s->kept == 0 && s->waiting == 0);
    require(s->count == 0 && s->bytes == 0);
}

/* A role that stops takes nothing, not from the other process either. */
static void
stop(const struct rpc_state *s)
{
    struct rpc_head h = { .number = 1,
                          .due = clock_ms() + 1000,
                          .kind = RPC_REQUEST };
    struct bus_message m = { .from = slot_owner_of(OTHER),
                             .data = (const uint8_t *)&h,
                             .len = sizeof(h),
                             .fd = -1 };

    rpc_stop_serving();
    rpc_on_request(methods[0].state, &m);
    require(s->count == 0);
    rpc_close();
    bus_sweep(OTHER);
    rpc_open(loop);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str input = str_of(bytes, size);

    if (loop == NULL) {
        set_up();
    }
    const struct rpc_state *s = methods[0].state;

    for (int i = 0; i < 200 && input.len > 0; i++) {
        step(&input);
        require(s->open <= CALLS && s->count <= 2 * CALLS);
    }
    finish(s);
    stop(s);
    return 0;
}
