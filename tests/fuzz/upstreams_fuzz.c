/*
 * Fuzz target: what the prober is told of weir.conf, and the table of servers
 * that any process can write to.
 *
 * The first byte says which of them the rest is.  A plan has none of its bytes
 * in it.  Over the table the bytes are written where a server's state lies;
 * then every reader keeps within its bounds, and a fail, a try and an answer
 * still do what they say.
 *
 * covers: modules/proxy/health_config.c:health_read_plan,get_text,get_texts
 * covers: modules/proxy/health_config.c:get_upstream
 * covers: modules/proxy/servers.c
 * covers: modules/proxy/servers_count.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <stdio.h>

#include "../../modules/proxy/health_config.h"
#include "../../modules/proxy/servers.h"
#include "proc/slot.h"

#define NOW 100000000
#define STATES 512 /* bytes that are written: those of two servers or so */

static uint8_t *table; /* the region that everybody writes */
static int place;

static uint8_t *
find_region(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long at = 0;
    char line[512];

    require(maps != NULL);
    while (at == 0 && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, name) != NULL) {
            at = strtoul(line, NULL, 16);
        }
    }
    fclose(maps);
    require(at != 0);
    return (uint8_t *)at;
}

static const struct server_limits limits = { .shut = 1000, .check = 1000 };

static void
set_up(void)
{
    struct errmsg err;

    require(slots_create(4, &err) == 0 && servers_create(&err) == 0);
    table = find_region("memfd:servers ");
    place = servers_learn(STR("api"), STR("a:1"), 1, &limits);
    for (int i = 1; i < SERVERS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof(name), "b:%d", i);
        require(servers_learn(STR("api"), str_from(name), 1, &limits) == i);
    }
}

static void
look(int64_t now)
{
    struct server_story story;
    int64_t back = servers_back(place, now);

    servers_story(place, now, &story);
    require(back >= 0 && back <= now);
    require(story.checked_ms >= 0 && story.checked_ms <= now);
    require(strnlen(story.why, sizeof(story.why)) < sizeof(story.why));
    require(servers_check(place, now) <= SERVER_CHECKED_DOWN);
    require(servers_opened(place) >= 0);
    require(servers_gauged(place, SERVER_WAITING) >= 0);
    servers_counted(place, SERVER_RETRIES);
    servers_gate(place, now);
    require(servers_gate(place, now + limits.shut) != SERVER_SHUT);
    require(servers_check(place, now + limits.check) == SERVER_UNCHECKED);
}

static void
use(int64_t now)
{
    const struct server_rules rules = { .max_fails = 1, .fail_timeout = 1000 };
    const struct server_rules never = { .max_fails = 0, .fail_timeout = 1000 };
    const struct server_verdict down = { SERVER_CHECKED_DOWN, 1000, STR("y") };
    const struct server_verdict up = { SERVER_CHECKED_UP, 1000, STR_NONE };

    require(!servers_fail(place, &never, now, STR("x")));
    servers_fail(place, &rules, now, STR("x"));
    require(servers_gate(place, now) == SERVER_SHUT);
    require(servers_gate(place, now + 1000) == SERVER_TRIAL);
    require(servers_try(place, &rules, now + 1000));
    require(!servers_try(place, &rules, now + 1000));
    require(servers_good(place, now));
    require(servers_gate(place, now) == SERVER_OPEN);
    servers_set_check(place, now, &down);
    require(servers_check(place, now) == SERVER_CHECKED_DOWN);
    require(servers_check(place, now + down.holds) == SERVER_UNCHECKED);
    servers_set_check(place, now, &up);
    require(servers_check(place, now) == SERVER_CHECKED_UP);
    servers_open(place, 1);
    servers_gauge(place, SERVER_WAITING, 1);
    servers_observe(place, now);
    servers_open(place, -1);
    servers_gauge(place, SERVER_WAITING, -1);
    require(servers_opened(place) == 0);
    servers_tell_open(place);
    servers_look();
    servers_sweep(slot_self());
}

static void
try_table(struct str bytes)
{
    static uint32_t generation = 1;
    int64_t now = NOW;

    memset(table, 0, STATES);
    memcpy(table, bytes.ptr, bytes.len < STATES ? bytes.len : STATES);
    look(now);
    use(now);
    servers_set_drained(place, true, now);
    servers_set_drained(place, false, now);
    servers_set_weight(place, 3);
    require(!servers_is_drained(place) && servers_weight(place) == 3);
    require(!servers_is_used(place)); /* there are no workers */
    require(servers_incarnation(place) > 0);
    require(servers_find(STR("api"), STR("a:1")) == place);
    /* With each reload others come, and have the places of those that went. */
    char name[32];

    generation++;
    require(servers_learn(STR("api"), STR("a:1"), generation, &limits) ==
            place);
    snprintf(name, sizeof(name), "new:%u", generation);

    int other = servers_learn(STR("api"), str_from(name), generation, &limits);

    require(other > 0 && other < servers_end());
    require(str_eq(servers_name(other), str_from(name)));
    require(str_eq(servers_upstream(other), STR("api")));
}

static void
try_plan(struct str bytes)
{
    char *copy = malloc(bytes.len + (bytes.len == 0));
    struct pool *pool = pool_new(1024);
    struct health_plan plan;

    require(copy != NULL);
    if (bytes.len > 0) {
        memcpy(copy, bytes.ptr, bytes.len);
    }
    int result = health_read_plan(str_of(copy, bytes.len), pool, &plan);

    free(copy);
    for (size_t i = 0; result == 0 && i < plan.count; i++) {
        const struct health_upstream *u = &plan.upstreams[i];

        require(u->how.interval > 0 && u->how.timeout > 0);
        upstream_is_good(&u->how.status, 200);
        for (size_t k = 0; k < u->count; k++) {
            require(u->servers[k].ptr[u->servers[k].len] == '\0');
        }
    }
    pool_free(&pool);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);

    if (table == NULL) {
        set_up();
    }
    if (take_byte(&input) % 2 == 0) {
        try_plan(input);
    } else {
        try_table(input);
    }
    return 0;
}
