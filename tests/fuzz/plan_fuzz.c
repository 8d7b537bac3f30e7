/*
 * Fuzz target: what the relayer is told of weir.conf, and orders to children.
 *
 * The first byte says which of them the rest is.  A plan has none of its bytes
 * in it and knows its own applications and tasks; an order means a kick with
 * bounded names, or nothing.
 *
 * covers: modules/relay/role_config.c:plan_read,get_str,more
 * covers: modules/relay/role_config.c:get_apps,get_cuts,get_ladder,get_tasks
 * covers: modules/relay/role_config.c:plan_app,plan_has
 * covers: src/app/child_commands.c:child_commands_read_kick
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/relay/role_config.h"
#include "app/child_commands.h"
#include "net/access.h"

static void
try_plan(struct pool *pool, struct str bytes)
{
    char *copy = malloc(bytes.len + (bytes.len == 0));
    struct plan p;
    int result;

    require(copy != NULL);
    memcpy(copy, bytes.ptr, bytes.len);
    result = plan_read(str_of(copy, bytes.len), pool, &p);
    free(copy);
    if (result == -1) {
        return;
    }
    for (size_t i = 0; i < p.app_count; i++) {
        const struct plan_app *a = plan_app(&p, p.apps[i].name);

        require(a != NULL && str_eq(a->name, p.apps[i].name));
    }
    for (size_t i = 0; i < p.task_count; i++) {
        require(plan_has(&p, &p.tasks[i]));
    }
    require(p.egress != NULL);
}

static void
try_order(struct pool *pool, struct str bytes)
{
    static const struct addr from = { .family = AF_INET,
                                      .ip = { 127, 0, 0, 1 } };
    struct kick_order order;
    struct live_kick kick;

    memset(&order, 0, sizeof(order));
    order.slot = take_byte(&bytes);
    order.serial = take_byte(&bytes);
    order.publishers = (order.slot & 1) != 0;
    order.players = (order.slot & 2) != 0;
    take_bytes(&bytes, order.from, sizeof(order.from));
    take_bytes(&bytes, order.name, sizeof(order.name));
    if (child_commands_read_kick(&order, pool, &kick) == 0) {
        require(kick.name.len <= sizeof(order.name));
        require((kick.from == NULL) == (order.from[0] == '\0'));
        access_allows(kick.from, &from);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct pool *pool = pool_new(1024);

    if (take_byte(&input) % 2 == 0) {
        try_plan(pool, input);
    } else {
        try_order(pool, input);
    }
    pool_free(&pool);
    return 0;
}
