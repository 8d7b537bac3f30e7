/*
 * Commands, given and followed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child_commands.h"

#include <string.h>

#include "net/access.h"
#include "net/exceptions.h"
#include "proc/bus.h"

#define EXCEPTIONS_SIZE (EXCEPTIONS * sizeof(struct exception))

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
child_commands_read_kick(const struct kick_order *order, struct pool *pool,
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
    if (child_commands_read_kick(&order, pool, &kick) == 0) {
        log_info("%u sessions were " LIVE_KICKED, live_kick(&kick));
    }
    pool_free(&pool);
}

static void
on_exceptions(void *arg, struct bus_message *m)
{
    (void)arg;
    if (m->len == EXCEPTIONS_SIZE) {
        exceptions_take(m->data);
        log_debug("exceptions of the operator have changed");
    }
}

void
child_commands_follow(void)
{
    bus_register(BUS_LOG_LEVEL, BUS_MASTER, sizeof(int), on_log_level, NULL);
    bus_register(BUS_KICK, BUS_MASTER, sizeof(struct kick_order), on_kick,
                 NULL);
    bus_register(BUS_EXCEPTIONS, BUS_MASTER, EXCEPTIONS_SIZE, on_exceptions,
                 NULL);
}

/* ---- the master ---- */

static bool
is_child(uint32_t slot)
{
    int kind = atomic_load(&slot_card(slot)->kind);

    return kind == SLOT_WORKER || kind == SLOT_ROLE;
}

static void
tell_all(uint32_t type, const void *data, size_t len, const char *what)
{
    for (uint32_t i = 1; i < slots_count(); i++) {
        if (is_child(i) && bus_send(i, type, data, len, -1) == -1) {
            log_warn("%s cannot be told the %s", slot_card(i)->name, what);
        }
    }
}

void
child_commands_log_level(enum log_level level)
{
    int word = (int)level;

    log_set_level(level);
    tell_all(BUS_LOG_LEVEL, &word, sizeof(word), "log level");
}

void
child_commands_exceptions(void)
{
    tell_all(BUS_EXCEPTIONS, exception_row(0), EXCEPTIONS_SIZE, "exceptions");
}

int
child_commands_kick(uint32_t slot, const struct kick_order *order)
{
    return bus_send(slot, BUS_KICK, order, sizeof(*order), -1);
}
