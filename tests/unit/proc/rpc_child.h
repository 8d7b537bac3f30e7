/*
 * A master with a role "server" for tests of calls.
 *
 * This process is the master; children are the role's processes.  What they do
 * they write down in memory that both share.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_RPC_CHILD_H
#define TESTS_RPC_CHILD_H

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/rpc.h"

#define CALLS 64       /* of a method, at once */
#define LONG_MS 600000 /* a deadline that no test comes to */
#define ANSWER_MAX 32000
#define REQUEST_MAX (1 << 20) /* of HOLD */

enum { ECHO, COUNT, HOLD, REFUSE, METHODS };

static struct rpc_method methods[] = {
    [ECHO] = { .name = "test.echo",
               .role = "server",
               .caller = BUS_ANYBODY,
               .request_max = ANSWER_MAX,
               .answer_max = ANSWER_MAX,
               .open_max = CALLS },
    [COUNT] = { .name = "test.count", /* so many parts */
                .role = "server",
                .caller = BUS_ANYBODY,
                .request_max = sizeof(uint32_t),
                .answer_max = sizeof(uint32_t),
                .open_max = CALLS },
    [HOLD] = { .name = "test.hold", /* is never answered */
               .role = "server",
               .caller = BUS_ANYBODY,
               .request_max = REQUEST_MAX,
               .answer_max = 0,
               .open_max = CALLS },
    [REFUSE] = { .name = "test.refuse",
                 .role = "server",
                 .caller = BUS_MASTER,
                 .request_max = 0,
                 .answer_max = 0,
                 .open_max = 1 },
    { .name = NULL },
};

/* What the role's processes did. */
static struct deeds {
    _Atomic unsigned taken, gone; /* requests of HOLD */
    _Atomic unsigned echoed[CALLS];
} * deeds;

static struct loop *l;
static bool ready;

/* ---- the role ---- */

static inline void
echo(void *arg, struct rpc_request *r)
{
    uint32_t n = CALLS;

    (void)arg;
    if (r->len >= sizeof(n)) {
        memcpy(&n, r->data, sizeof(n));
    }
    if (n < CALLS) {
        atomic_fetch_add(&deeds->echoed[n], 1);
    }
    rpc_reply(&r, r->data, r->len, r->fd);
}

static rpc_handler *echo_handler = echo; /* of the next server */

struct counting {
    struct rpc_request *r;
    uint32_t next, end;
};

static inline void
go_on_counting(void *arg)
{
    struct counting *c = arg;

    while (c->next < c->end &&
           rpc_part(c->r, &c->next, sizeof(c->next), -1) == 0) {
        c->next++;
    }
    if (c->next == c->end || c->r->gone) {
        rpc_reply(&c->r, &c->next, sizeof(c->next), -1);
        mem_free(&c);
    }
}

static inline void
count(void *arg, struct rpc_request *r)
{
    struct counting *c = mem_zero(sizeof(*c));

    (void)arg;
    c->r = r;
    memcpy(&c->end, r->data, sizeof(c->end));
    r->on_room = r->on_gone = go_on_counting;
    r->arg = c;
    go_on_counting(c);
}

static inline void
lost(void *arg)
{
    struct rpc_request *r = arg;

    atomic_fetch_add(&deeds->gone, 1);
    rpc_reply(&r, NULL, 0, -1);
}

static inline void
hold(void *arg, struct rpc_request *r)
{
    (void)arg;
    atomic_fetch_add(&deeds->taken, 1);
    r->on_gone = lost;
    r->arg = r;
}

static inline void
refuse(void *arg, struct rpc_request *r)
{
    (void)arg;
    rpc_stop_serving();
    rpc_refuse(&r, "not today");
}

static inline void
run_server(uint32_t slot)
{
    struct loop *mine;
    struct errmsg err;

    slot_set_self(slot);
    mine = loop_new(&err);
    if (bus_open(mine, &err) == -1) {
        _exit(1);
    }
    rpc_open(mine);
    rpc_serve(&methods[ECHO], echo_handler, NULL);
    rpc_serve(&methods[COUNT], count, NULL);
    rpc_serve(&methods[HOLD], hold, NULL);
    rpc_serve(&methods[REFUSE], refuse, NULL);
    slot_say(SLOT_READY);
    bus_send(0, BUS_READY, NULL, 0, -1);
    loop_run(mine);
    _exit(0);
}

/* ---- the master ---- */

struct server {
    uint32_t slot;
    pid_t pid;
};

static inline void
on_ready(void *arg, struct bus_message *m)
{
    (void)arg;
    (void)m;
    ready = true;
}

static inline struct server
start_server(void)
{
    struct server s = { .slot =
                            (uint32_t)slot_take(SLOT_ROLE, "server", 0, 1) };

    ready = false;
    s.pid = fork();
    assert_int_not_equal(s.pid, -1);
    if (s.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
        run_server(s.slot);
    }
    slot_set_pid(s.slot, s.pid);
    while (!ready) {
        loop_turn(l, -1);
    }
    rpc_peers_changed();
    return s;
}

/* As the master does when it reaped a child. */
static inline void
bury(const struct server *s)
{
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    slot_bury(s->slot);
    bus_sweep(s->slot);
    slot_release(s->slot);
    rpc_peers_changed();
}

static inline void
kill_server(const struct server *s)
{
    kill(s->pid, SIGKILL);
    bury(s);
}

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    deeds = mmap(NULL, sizeof(*deeds), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    l = loop_new(&err);
    if (deeds == MAP_FAILED || l == NULL || slots_create(4, &err) == -1 ||
        bus_create(&err) == -1 || rpc_register(methods, &err) == -1 ||
        bus_open(l, &err) == -1) {
        return -1;
    }
    rpc_open(l);
    bus_register(BUS_READY, BUS_ANYBODY, 0, on_ready, NULL);
    return 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    log_set_sink(NULL, NULL);
    rpc_destroy();
    bus_destroy();
    slots_destroy();
    loop_free(&l);
    munmap(deeds, sizeof(*deeds));
    return 0;
}

/* ---- a caller ---- */

struct caller {
    struct rpc_call *call;
    unsigned parts, ends;
    bool in_order;
    enum rpc_status status; /* of the end */
    char data[ANSWER_MAX];
    size_t len;
    int fd;
};

static inline void
on_answer(void *arg, struct rpc_answer *a)
{
    struct caller *c = arg;
    uint32_t n;

    if (a->status == RPC_MORE) {
        memcpy(&n, a->data, sizeof(n));
        c->in_order = c->in_order && n == c->parts;
        c->parts++;
        return;
    }
    c->call = NULL;
    c->ends++;
    c->status = a->status;
    c->len = a->len;
    assert_true(a->len <= sizeof(c->data));
    memcpy(c->data, a->data, a->len);
    c->fd = a->fd;
    a->fd = -1;
}

static inline struct rpc_options
options_of(struct caller *c, int64_t timeout_ms, bool resend)
{
    return (struct rpc_options){ .timeout_ms = timeout_ms,
                                 .resend = resend,
                                 .on_answer = on_answer,
                                 .arg = c };
}

static inline void
call(struct caller *c, int method, const void *data, size_t len)
{
    struct rpc_options o = options_of(c, LONG_MS, false);
    struct errmsg err = { "" };

    *c = (struct caller){ .in_order = true, .fd = -1 };
    c->call = rpc_call(&methods[method], &o, data, len, -1, &err);
    assert_string_equal(err.text, "");
    assert_non_null(c->call);
}

static inline void
wait_end(const struct caller *c)
{
    while (c->ends == 0) {
        loop_turn(l, -1);
    }
    assert_int_equal(c->ends, 1);
}

/* What was sent before it has been seen by the role, and its answers by us. */
static inline void
round_trip(void)
{
    struct caller *c = mem_zero(sizeof(*c));

    call(c, ECHO, "", 0);
    wait_end(c);
    mem_free(&c);
}

#endif
