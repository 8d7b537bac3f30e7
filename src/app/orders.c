/*
 * Orders, given and followed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/orders.h"

#include <string.h>

#include "net/access.h"
#include "proc/bus.h"

/* ---- the child ---- */

static void
on_log_level(void *arg, struct bus_message *m)
{
    int level;

    (void)arg;
    if (m->len != sizeof(level)) {
        return;
    }
    memcpy(&level, m->data, sizeof(level));
    if (level >= LOG_ALERT && level <= LOG_DEBUG) {
        log_set_level((enum log_level)level);
    }
}

int
orders_read_kick(const struct kick_order *order, struct pool *pool,
                 struct live_kick *kick)
{
    struct str rule =
        str_of(order->from, strnlen(order->from, sizeof(order->from)));
    struct errmsg err;

    *kick = (struct live_kick){
        .slot = order->slot,
        .serial = order->serial,
        .name = str_of(order->name, strnlen(order->name, sizeof(order->name))),
        .publishers = order->publishers,
        .players = order->players,
    };
    if (rule.len == 0) {
        return 0;
    }
    if (access_check_rule(rule, &err) == -1) {
        return -1;
    }
    kick->from = access_parse(pool, &rule, 1);
    return 0;
}

static void
on_kick(void *arg, struct bus_message *m)
{
    struct kick_order order;
    struct live_kick kick;
    struct pool *pool;

    (void)arg;
    if (m->len != sizeof(order)) {
        return;
    }
    memcpy(&order, m->data, sizeof(order));
    pool = pool_new(256);
    if (orders_read_kick(&order, pool, &kick) == 0) {
        log_info("%u sessions were " LIVE_KICKED, live_kick(&kick));
    }
    pool_free(&pool);
}

void
orders_follow(void)
{
    bus_register(BUS_LOG_LEVEL, BUS_MASTER, sizeof(int), on_log_level, NULL);
    bus_register(BUS_KICK, BUS_MASTER, sizeof(struct kick_order), on_kick,
                 NULL);
}

/* ---- the master ---- */

static bool
is_child(uint32_t slot)
{
    int kind = atomic_load(&slot_card(slot)->kind);

    return kind == SLOT_WORKER || kind == SLOT_ROLE;
}

void
orders_log_level(enum log_level level)
{
    int word = (int)level;

    log_set_level(level);
    for (uint32_t i = 1; i < slots_count(); i++) {
        if (is_child(i) &&
            bus_send(i, BUS_LOG_LEVEL, &word, sizeof(word), -1) == -1) {
            log_warn("%s cannot be told the log level", slot_card(i)->name);
        }
    }
}

int
orders_kick(uint32_t slot, const struct kick_order *order)
{
    return bus_send(slot, BUS_KICK, order, sizeof(*order), -1);
}
