/*
 * The master's description of weir.conf comes out in the relayer as it went in,
 * and malformed bytes are refused.
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

#include "role_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define APPLICATION                                                       \
    "{ name = \"live\"; publish = \"open\"; hold = \"3s\";"               \
    "  push = ( \"rtmp://192.0.2.1/x\","                                  \
    "           { url = \"rtmp://192.0.2.1/x/y\"; name = \"cam\"; },"     \
    "           { url = \"rtmp://192.0.2.1/z\"; name = \"~ ^c.m$\"; } );" \
    "  pull = ( { name = \"in\"; url = \"rtmps://u:p@host/a/b?c\"; } ); }"

static const char everything[] =
    "egress = [ \"allow loopback\", \"allow 192.0.2.1\", \"deny all\" ];"
    "relays = { max = 9; idle_timeout = \"7s\"; };"
    "rtmp = { servers = ( { listen = ( \"127.0.0.1:0\" ); chunk_size = 5000;"
    "  applications = ( " APPLICATION ","
    "    { name = \"other\"; publish = \"open\"; gop_cache = false; } ); } ); "
    "};";

static struct conf *
load(const char *text)
{
    char path[] = "/tmp/plan_test.XXXXXX";
    int fd = mkstemp(path);
    char *mistakes = NULL;
    struct conf *c;

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    c = settings_load(path, &mistakes);
    unlink(path);
    if (c == NULL) {
        print_error("%s", mistakes);
    }
    assert_non_null(c);
    return c;
}

/* Which streams each push takes: all, one, a pattern. */
static void
check_whose(const struct plan *p)
{
    static const struct {
        const char *stream, *url;
        bool has;
    } rows[] = {
        { "any", "rtmp://192.0.2.1/x", true },
        { "cam", "rtmp://192.0.2.1/x/y", true },
        { "com", "rtmp://192.0.2.1/x/y", false },
        { "com", "rtmp://192.0.2.1/z", true },
        { "Com", "rtmp://192.0.2.1/z", false },
        { "com2", "rtmp://192.0.2.1/z", false },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct plan_task t = {
            .kind = RELAY_PUSH,
            .app = STR("live"),
            .name = str_from(rows[i].stream),
            .url = str_from(rows[i].url),
        };

        assert_int_equal(plan_has(p, &t), rows[i].has);
    }
    assert_true(plan_has_named_push(p, STR("live"), STR("cam"),
                                    STR("rtmp://192.0.2.1/x/y")));
    assert_false(plan_has_named_push(p, STR("live"), STR("com"),
                                     STR("rtmp://192.0.2.1/z")));
}

static void
test_comes_out_as_it_went_in(void **state)
{
    struct conf *c = load(everything);
    struct pool *pool = pool_new(1024);
    struct addr loopback, other;
    struct plan p;
    struct errmsg err;
    struct buf bytes;

    (void)state;
    buf_init(&bytes, PLAN_MAX);
    plan_write(settings_of(c), &bytes);
    conf_free(&c); /* the plan has none of it */
    assert_int_equal(plan_read(buf_str(&bytes), pool, &p), 0);
    buf_clear(&bytes);
    assert_int_equal(p.max, 9);
    assert_int_equal(p.idle_timeout, 7000);
    assert_true(p.tls_verify);
    assert_false(p.store);
    addr_parse_ip(STR("127.0.0.1"), &loopback);
    addr_parse_ip(STR("192.0.2.7"), &other);
    assert_int_equal(egress_check(p.egress, &loopback, &err), 0);
    assert_int_equal(egress_check(p.egress, &other, &err), -1);
    assert_int_equal(p.app_count, 2);
    assert_int_equal(plan_app(&p, STR("live"))->hold, 3000);
    assert_int_equal(plan_app(&p, STR("live"))->chunk_size, 5000);
    assert_true(plan_app(&p, STR("live"))->gop_cache);
    assert_false(plan_app(&p, STR("other"))->gop_cache);
    assert_null(plan_app(&p, STR("none")));
    assert_int_equal(p.task_count, 4);
    assert_int_equal(p.tasks[0].kind, RELAY_PUSH);
    assert_int_equal(p.tasks[0].name.len, 0);
    assert_true(str_eq(p.tasks[1].name, STR("cam")));
    assert_int_equal(p.tasks[3].kind, RELAY_PULL);
    assert_true(str_eq(p.tasks[3].url, STR("rtmps://u:p@host/a/b?c")));
    check_whose(&p);
    pool_free(&pool);
}

/* Each cut, and each byte changed: refused or read, never out of bounds. */
static void
test_other_bytes(void **state)
{
    struct conf *c = load(everything);
    struct buf bytes;
    struct plan p;
    uint8_t *copy;
    size_t len;

    (void)state;
    buf_init(&bytes, PLAN_MAX);
    plan_write(settings_of(c), &bytes);
    conf_free(&c);
    len = buf_len(&bytes);
    for (size_t i = 0; i < len; i++) {
        struct pool *pool = pool_new(1024);

        copy = mem_alloc(i + 1);
        memcpy(copy, buf_data(&bytes), i);
        assert_int_equal(plan_read(str_of(copy, i), pool, &p), -1);
        mem_free(&copy);
        pool_free(&pool);
    }
    buf_clear(&bytes);
}

/* Each rule of egress is one: what takes them apart trusts that. */
static void
test_rules_that_are_none(void **state)
{
    struct conf *c = load(everything);
    struct pool *pool = pool_new(1024);
    struct buf bytes;
    struct plan p;
    char *rule;

    (void)state;
    buf_init(&bytes, PLAN_MAX);
    plan_write(settings_of(c), &bytes);
    conf_free(&c);
    rule = memmem(buf_data(&bytes), buf_len(&bytes), "deny all", 8);
    assert_non_null(rule);
    memcpy(rule, "deny a11", 8);
    assert_int_equal(plan_read(buf_str(&bytes), pool, &p), -1);
    memcpy(rule, "dony all", 8);
    assert_int_equal(plan_read(buf_str(&bytes), pool, &p), -1);
    buf_clear(&bytes);
    pool_free(&pool);
}

static void
test_who_wants_a_relayer(void **state)
{
    struct conf *c = load(everything);

    (void)state;
    assert_true(plan_wants_relayer(settings_of(c)));
    conf_free(&c);
    c = load("rtmp = { servers = ( { listen = ( \"127.0.0.1:0\" ); "
             "applications = ( { name = \"live\"; } ); } ); };");
    assert_false(plan_wants_relayer(settings_of(c)));
    assert_false(plan_wants_store(settings_of(c)));
    conf_free(&c);
    c = load("http = { servers = ( { listen = ( \"127.0.0.1:0\" ); "
             "locations = ( { path = \"/control\"; module = \"relay\"; } ); } "
             "); };");
    assert_true(plan_wants_store(settings_of(c)));
    assert_true(plan_wants_relayer(settings_of(c)));
    conf_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_out_as_it_went_in),
        cmocka_unit_test(test_other_bytes),
        cmocka_unit_test(test_rules_that_are_none),
        cmocka_unit_test(test_who_wants_a_relayer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
