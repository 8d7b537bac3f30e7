/*
 * The table of methods, and what happens to calls when processes come and go.
 *
 * The master tells everybody when a process ended or a role is READY; who that
 * is, each reads on the cards of the slots.  Should a mailbox have had no room
 * for that message, a tick finds out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/rpc.h"

#include <assert.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/rpc_impl.h"

#define TICK_MS 1000

static struct {
    struct list methods; /* struct rpc_state; owned */
    struct loop *loop;   /* borrowed; NULL while not open */
    pid_t pid;           /* whose calls these are */
    bool stopping;       /* takes no requests any more */
    struct timer tick;
    uint32_t owed[SLOT_MAX]; /* by slot: answers that wait for room */
} rpc = { .methods = { &rpc.methods, &rpc.methods } };

struct loop *
rpc_loop(void)
{
    return rpc.loop;
}

bool
rpc_serves(void)
{
    return !rpc.stopping;
}

void
rpc_stop_serving(void)
{
    rpc.stopping = true;
}

bool
rpc_owes(uint32_t slot)
{
    return rpc.owed[slot] > 0;
}

void
rpc_owe(uint32_t slot, int change)
{
    rpc.owed[slot] += (uint32_t)change;
}

/* ---- methods ---- */

static int
add(struct rpc_method *m, struct errmsg *err)
{
    int type = bus_types_new(m->name, 2, err);
    struct rpc_state *s;

    assert(m->open_max > 0 && m->open_max <= RPC_OPEN_MAX);
    if (type == -1) {
        return -1;
    }
    s = mem_zero(sizeof(*s));
    s->method = m;
    s->request_type = (uint32_t)type;
    s->answer_type = (uint32_t)type + 1;
    rpc_caller_init(s);
    rpc_role_init(s);
    list_append(&rpc.methods, &s->link);
    m->state = s;
    return 0;
}

int
rpc_register(struct rpc_method *table, struct errmsg *err)
{
    rpc.pid = getpid();
    for (; table != NULL && table->name != NULL; table++) {
        if (add(table, err) == -1) {
            return -1;
        }
    }
    return 0;
}

void
rpc_destroy(void)
{
    rpc_close();
    LIST_EACH (node, &rpc.methods) {
        struct rpc_state *s = LIST_ITEM(node, struct rpc_state, link);

        list_remove(&s->link);
        mem_free(&s->table);
        mem_free(&s->vacant);
        mem_free(&s);
    }
}

/* ---- processes that come and go ---- */

static void
look(void)
{
    LIST_EACH (node, &rpc.methods) {
        struct rpc_state *s = LIST_ITEM(node, struct rpc_state, link);

        rpc_caller_look(s);
        rpc_role_look(s);
    }
}

static void
on_peers(void *arg, struct bus_message *m)
{
    (void)arg;
    (void)m;
    look();
}

void
rpc_peers_changed(void)
{
    assert(slot_self() == 0);
    for (uint32_t i = 1; i < slots_end(); i++) {
        if (slot_owner_alive(slot_owner_of(i))) {
            bus_send(i, BUS_PEERS, NULL, 0, -1);
        }
    }
    look();
}

/* Answers that wait go before calls that were made later. */
static void
on_room(uint32_t slot)
{
    LIST_EACH (node, &rpc.methods) {
        rpc_role_room(LIST_ITEM(node, struct rpc_state, link), slot);
    }
    LIST_EACH (node, &rpc.methods) {
        rpc_caller_room(LIST_ITEM(node, struct rpc_state, link), slot);
    }
}

void
rpc_watch(void)
{
    if (!timer_is_set(&rpc.tick)) {
        timer_set(rpc.loop, &rpc.tick, TICK_MS);
    }
}

static void
on_tick(struct timer *t)
{
    (void)t;
    look();
    LIST_EACH (node, &rpc.methods) {
        const struct rpc_state *s = LIST_ITEM(node, struct rpc_state, link);

        if (s->open > 0 || s->count > 0 || s->refusal_count > 0) {
            rpc_watch();
        }
    }
}

/* ---- life ---- */

void
rpc_open(struct loop *l)
{
    if (rpc.pid != getpid()) {
        LIST_EACH (node, &rpc.methods) {
            struct rpc_state *s = LIST_ITEM(node, struct rpc_state, link);

            rpc_caller_forget(s);
        }
        rpc.pid = getpid();
        rpc.loop = NULL;
    }
    assert(rpc.loop == NULL);
    rpc.loop = l;
    rpc.stopping = false;
    timer_init(&rpc.tick, on_tick);
    bus_on_room(on_room);
    bus_register(BUS_PEERS, BUS_MASTER, 0, on_peers, NULL);
}

void
rpc_close(void)
{
    struct loop *l = rpc.loop;

    if (l == NULL || rpc.pid != getpid()) {
        return;
    }
    bus_on_room(NULL);
    timer_stop(l, &rpc.tick);
    rpc.loop = NULL; /* callbacks of ended calls must not ask again */
    LIST_EACH (node, &rpc.methods) {
        struct rpc_state *s = LIST_ITEM(node, struct rpc_state, link);

        rpc_caller_end(s, l);
        rpc_role_end(s, l);
    }
}
