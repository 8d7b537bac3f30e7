/*
 * A worker's view of an upstream whose server has a name: its addresses are
 * asked for again by their TTL, and connections to old ones are let go.  And
 * choosing, as far as it needs no other process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "../../tests/unit/net/dns_server.h"
#include "base/clock.h"
#include "proc/slot.h"
#include "upstream_impl.h"

static struct dns_name names[] = {
    { "b.test", "192.0.2.1 192.0.2.2" },
};

static struct loop *l;
static struct upstream u;
static struct server s;
static int let_go;

void
upstream_let_go(struct server *server)
{
    server->seen.epoch++;
    let_go++;
}

struct str
upstream_name(const struct upstream *of)
{
    (void)of;
    return STR("api");
}

static int
set_up(void **state)
{
    struct errmsg err;
    struct resolver_options o = { .try_ms = 5000 };

    (void)state;
    l = loop_new(&err);
    dns_start(l, names, sizeof(names) / sizeof(names[0]));
    o.servers = dns.servers;
    u.loop = l;
    u.resolver = resolver_new(l, &o, &err);
    s.seen.upstream = &u;
    s.named = true;
    s.at.host = STR("b.test");
    return u.resolver == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    upstream_names_clear(&s);
    resolver_free(&u.resolver);
    dns_stop();
    loop_free(&l);
    return 0;
}

/* A tick at that time, and the answer to its question, if it asks one. */
static bool
asks_at(int64_t now)
{
    int64_t until = clock_ms() + DNS_PATIENCE_MS;

    upstream_names_tick(&s, now);

    bool asked = s.query != NULL;

    while (s.query != NULL && clock_ms() < until) {
        loop_turn(l, 100);
    }
    assert_null(s.query);
    return asked;
}

static void
a_changed_answer_is_used_within_its_ttl(void **state)
{
    int64_t now = loop_now(l);

    (void)state;
    assert_true(asks_at(now));
    assert_int_equal(s.known.count, 2);
    now = loop_now(l);
    assert_false(asks_at(now + 50000));
    names[0].has = "192.0.2.2 192.0.2.1"; /* the order is no change */
    assert_true(asks_at(now + 60000));
    assert_int_equal(let_go, 0);
    names[0].has = "192.0.2.7";
    s.ask_ms = 0;
    assert_true(asks_at(now));
    assert_int_equal(let_go, 1);
    assert_int_equal(s.known.count, 1);
    assert_int_equal(s.known.addrs[0].ip[3], 7);
}

static void
without_an_answer_the_old_addresses_stay(void **state)
{
    (void)state;
    names[0].has = "";
    s.ask_ms = 0;
    assert_true(asks_at(loop_now(l)));
    assert_int_equal(s.known.count, 1);
    assert_int_equal(let_go, 1);
    assert_false(asks_at(loop_now(l)));
    assert_true(asks_at(loop_now(l) + 2001));
}

static void
an_address_is_not_asked_for(void **state)
{
    (void)state;
    s.named = false;
    s.ask_ms = 0;
    assert_false(asks_at(loop_now(l)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_answer_is_used_within_its_ttl),
        cmocka_unit_test(without_an_answer_the_old_addresses_stay),
        cmocka_unit_test(an_address_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
