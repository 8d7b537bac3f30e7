/*
 * The PostgreSQL backend against a server that the test starts.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/bus.h"
#include "store/postgres/keeper.h"
#include "store/postgres/postgres.h"
#include "store/schema.h"

enum {
    ADD,
    SET,
    RAISE,
    COUNT,
    GET,
    ALL,
    KINDS,
    TURNED,
    MANY,
    SLEEP,
    WRONG,
    TAKE,
    NEVER,
    STATEMENTS
};

static struct store_migration migrations[] = {
    { .sqlite = "CREATE TABLE note (name text PRIMARY KEY, n bigint "
                "CHECK (n <> 13))" },
    { .sqlite = "CREATE TABLE counter (n bigint); INSERT INTO counter "
                "VALUES (0)" },
    { .sqlite = NULL },
    { .sqlite = NULL },
};

static const struct store_statement statements[] = {
    [ADD] = { .name = "add", .sql = "INSERT INTO note VALUES ($1, $2)" },
    [SET] = { .name = "set", .sql = "UPDATE note SET n = $2 WHERE name = $1" },
    [RAISE] = { .name = "raise",
                .sql = "UPDATE counter SET n = n + 1 RETURNING n" },
    [COUNT] = { .name = "count",
                .quick = true,
                .sql = "SELECT n FROM counter" },
    [GET] = { .name = "get",
              .quick = true,
              .sql = "SELECT n, name FROM note WHERE name = $1" },
    [ALL] = { .name = "all", .sql = "SELECT name, n FROM note ORDER BY name" },
    [KINDS] = { .name = "kinds",
                .quick = true,
                .sql = "SELECT 1 = 1, sum(x), 2.5, NULL, 'a', 7::smallint "
                       "FROM (VALUES (1::bigint), (2)) AS v (x)" },
    [TURNED] = { .name = "turned", .quick = true, .sql = "SELECT $2, $1" },
    [MANY] = { .name = "many",
               .sql = "SELECT i FROM generate_series(1, $1) AS s (i)" },
    [SLEEP] = { .name = "sleep", .sql = "SELECT 1 FROM pg_sleep($1)" },
    [WRONG] = { .name = "wrong", .sql = "SELECT 1 / $1" },
    [TAKE] = { .name = "take",
               .sql = "UPDATE note SET n = 0 WHERE n = (SELECT max(n) FROM "
                      "note)" },
    [NEVER] = { .name = "never",
                .sql = "SELECT count(*) FROM note FOR UPDATE" },
    [STATEMENTS] = { .name = NULL },
};

static const struct store_schema schema = {
    .name = "things",
    .migrations = migrations,
    .statements = statements,
};

static char folder[64], conninfo[160];
static struct loop *l;
static int databases;

static struct {
    int calls, heard, missed;
    enum store_status status, all[64];
    struct buf text; /* cells of the last answer */
    int64_t changed;
    char notice[64];
} told;

/* ---- the server ---- */

static int
run(const char *what)
{
    char command[256];

    snprintf(command, sizeof(command), "tests/postgres %s %s", what, folder);
    return system(command) == 0 ? 0 : -1;
}

static int
psql(const char *database, const char *sql)
{
    char command[512];

    snprintf(command, sizeof(command),
             "psql -X -q -h %s -U weir -d %s -v ON_ERROR_STOP=1 -c \"%s\" "
             "> /dev/null",
             folder, database, sql);
    return system(command) == 0 ? 0 : -1;
}

static int
start_server(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/weir-postgres-XXXXXX");
    return mkdtemp(folder) != NULL && run("make") == 0 ? run("start") : -1;
}

static int
end_server(void **state)
{
    (void)state;
    return run("drop");
}

/* ---- a store ---- */

static void
on_heard(void *arg, struct str text)
{
    (void)arg;
    if (text.len == 0) {
        told.missed++;
        return;
    }
    told.heard++;
    str_copy(told.notice, sizeof(told.notice), text);
}

static void
print_cell(const struct store_value *v)
{
    if (v->type == STORE_INT) {
        buf_printf(&told.text, "%lld ", (long long)v->n);
    } else if (v->type == STORE_NULL) {
        buf_printf(&told.text, "null ");
    } else {
        buf_printf(&told.text, "'%.*s' ", STR_ARGS(v->s));
    }
}

static void
on_done(void *arg, const struct store_result *r)
{
    (void)arg;
    told.status = told.all[told.calls++ % 64] = r->status;
    buf_clear(&told.text);
    told.changed = 0;
    for (size_t i = 0; i < r->steps; i++) {
        const struct store_rows *rows = &r->answer[i];

        told.changed += rows->changed;
        for (size_t k = 0; k < rows->rows * rows->columns; k++) {
            print_cell(&rows->cells[k]);
        }
    }
    buf_add(&told.text, "", 1);
}

static struct store_settings
settings(int64_t timeout)
{
    return (struct store_settings){ .backend = STORE_POSTGRES,
                                    .conninfo = str_from(conninfo),
                                    .connections = 2,
                                    .timeout = timeout,
                                    .queue = 128 };
}

static int
keep(struct errmsg *err)
{
    struct store_settings s = settings(60000);
    int rc = postgres_keeper_start(l, &s, err);

    postgres_keeper_stop();
    return rc;
}

static int
open_store(int64_t timeout)
{
    struct store_settings s = settings(timeout);
    struct errmsg err;

    store_listen("things", on_heard, NULL);
    return store_open(l, &s, NULL, &err);
}

static int
set_up(void **state)
{
    char sql[64], name[32];
    struct errmsg err;

    (void)state;
    log_set(LOG_ALERT, LOG_TEXT);
    told.calls = told.heard = told.missed = 0;
    buf_init(&told.text, STORE_ROWS_MAX);
    schema_forget();
    store_register(&schema);
    migrations[2].sqlite = NULL;
    snprintf(name, sizeof(name), "d%d", ++databases);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name);
    snprintf(conninfo, sizeof(conninfo), "host=%s user=weir dbname=%s", folder,
             name);
    l = loop_new(&err);
    if (l == NULL || slots_create(4, &err) == -1 || bus_create(&err) == -1 ||
        bus_open(l, &err) == -1 || psql("postgres", sql) == -1) {
        return -1;
    }
    store_prepare();
    return keep(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    store_close();
    bus_destroy();
    slots_destroy();
    loop_free(&l);
    schema_forget();
    buf_clear(&told.text);
    return 0;
}

/* ---- asking ---- */

#define UNTIL(what)         \
    while (!(what)) {       \
        loop_turn(l, 1000); \
    }

static void
wait_for_calls(int calls)
{
    UNTIL(told.calls >= calls);
}

static void
read_with(int statement, const struct store_value *values, size_t count)
{
    int before = told.calls;

    store_read(&statements[statement], values, count, on_done, NULL);
    wait_for_calls(before + 1);
}

static void
read_one(int statement, struct store_value value)
{
    read_with(statement, &value, 1);
}

static void
expect(enum store_status status, const char *text)
{
    assert_int_equal(told.status, status);
    assert_string_equal((const char *)buf_data(&told.text), text);
}

static void
ask_to_write(int statement, const char *name, int64_t n, bool must_change)
{
    struct store_value values[] = { store_text(str_from(name)), store_int(n) };
    struct store_step step = { &statements[statement], values, 2, must_change };
    struct store_notice notice = { "things", str_from(name) };

    if (statement == RAISE || statement == TAKE || statement == NEVER) {
        step.count = 0;
    }
    store_write(&step, 1, &notice, on_done, NULL);
}

static void
write_one(int statement, const char *name, int64_t n, bool must_change)
{
    int before = told.calls;

    ask_to_write(statement, name, n, must_change);
    wait_for_calls(before + 1);
}

/* ---- tests ---- */

static void
writes_and_reads(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000), 0);
    assert_false(store_is_down());
    write_one(ADD, "a", INT64_MIN, true);
    expect(STORE_OK, "");
    assert_int_equal(told.changed, 1);
    read_one(GET, store_text(STR("a")));
    expect(STORE_OK, "-9223372036854775808 'a' ");
    assert_int_equal(told.changed, 0);
    write_one(ADD, "a", 2, true);
    expect(STORE_CONFLICT, "");
    write_one(SET, "b", 2, true);
    expect(STORE_MISSING, "");
    write_one(SET, "b", 2, false);
    expect(STORE_OK, "");
    write_one(ADD, "never", 13, true);
    expect(STORE_FAILED, "");
    read_with(ALL, NULL, 0);
    expect(STORE_OK, "'a' -9223372036854775808 ");
    write_one(RAISE, "", 0, true);
    expect(STORE_OK, "1 ");
}

static void
all_steps_or_none(void **state)
{
    struct store_value a[] = { store_text(STR("a")), store_int(1) };
    struct store_value b[] = { store_text(STR("b")), store_int(2) };
    struct store_step steps[] = {
        { &statements[ADD], a, 2, true },
        { &statements[RAISE], NULL, 0, true },
        { &statements[SET], b, 2, true },
        { &statements[RAISE], NULL, 0, true },
    };

    (void)state;
    assert_int_equal(open_store(60000), 0);
    store_write(steps, 4, NULL, on_done, NULL);
    wait_for_calls(1);
    expect(STORE_MISSING, "");
    read_with(ALL, NULL, 0);
    expect(STORE_OK, "");
    read_with(COUNT, NULL, 0);
    expect(STORE_OK, "0 ");
    steps[2].must_change = false;
    store_write(steps, 4, NULL, on_done, NULL);
    wait_for_calls(4);
    expect(STORE_OK, "1 2 ");
}

static void
values_have_their_kinds(void **state)
{
    struct store_value values[] = { store_int(1), store_text(STR("x")) };

    (void)state;
    assert_int_equal(open_store(60000), 0);
    read_with(KINDS, NULL, 0);
    expect(STORE_OK, "1 3 '2.5' null 'a' 7 ");
    read_with(TURNED, values, 2);
    expect(STORE_OK, "'x' 1 ");
    values[0].type = STORE_NULL;
    read_with(TURNED, values, 2);
    expect(STORE_OK, "'x' null ");
    values[0] = store_text(STR("")); /* another kind than before */
    values[1] = store_int(2);
    read_with(TURNED, values, 2);
    expect(STORE_OK, "2 '' ");
}

static void
what_is_no_text_is_refused(void **state)
{
    static const struct str wrong[] = { { "a\0b", 3 },
                                        { "\xff", 1 },
                                        { "\xed\xa0\x80", 3 } };
    struct store_value values[] = { store_text(STR("a")), store_int(1) };
    struct store_step step = { &statements[ADD], values, 2, true };

    (void)state;
    assert_int_equal(open_store(60000), 0);
    for (size_t i = 0; i < 3; i++) {
        read_one(GET, store_text(wrong[i]));
        expect(STORE_FAILED, "");
        values[0] = store_text(wrong[i]);
        store_write(&step, 1, NULL, on_done, NULL);
        wait_for_calls((int)(2 * i + 2));
        expect(STORE_FAILED, "");
    }
}

static void
what_fails_hurts_nobody(void **state)
{
    (void)state;
    assert_int_equal(open_store(300000), 0); /* a million rows take a while */
    for (int i = 0; i < 3; i++) {
        read_one(WRONG, store_int(0));
        expect(STORE_FAILED, "");
        read_one(WRONG, store_int(1));
        expect(STORE_OK, "1 ");
    }
    read_one(MANY, store_int(1000000));
    expect(STORE_FAILED, "");
    read_one(MANY, store_int(3));
    expect(STORE_OK, "1 2 3 ");
    /* Said of a plan that is too old, too, which a new connection mends. */
    write_one(NEVER, "", 0, false);
    expect(STORE_FAILED, "");
}

static void
what_takes_too_long_is_ended(void **state)
{
    (void)state;
    assert_int_equal(open_store(300), 0);
    read_one(SLEEP, store_int(100));
    expect(STORE_DOWN, "");
    do {
        read_one(SLEEP, store_int(0));
    } while (told.status == STORE_DOWN);
    expect(STORE_OK, "1 ");
}

static void
big_texts(void **state)
{
    size_t len = 3 << 20;
    char *text = mem_alloc(len);
    struct store_value values[] = { store_text(str_of(text, len)),
                                    store_int(1) };

    (void)state;
    memset(text, 'x', len);
    assert_int_equal(open_store(60000), 0);
    for (int i = 1; i <= 2; i++) {
        read_with(TURNED, values, 2);
        assert_int_equal(told.status, STORE_OK);
        assert_int_equal(buf_len(&told.text), len + 6);
    }
    mem_free(&text);
}

/* Each reads what the other writes: they are made one after another. */
static void
writes_at_once_are_as_if_one_by_one(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000), 0);
    for (int i = 0; i < 60; i++) {
        ask_to_write(RAISE, "", 0, true);
    }
    wait_for_calls(60);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(told.all[i], STORE_OK);
    }
    read_with(COUNT, NULL, 0);
    expect(STORE_OK, "60 ");
}

static void
notices_are_heard(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000), 0);
    write_one(ADD, "caf\xc3\xa9 and more", 1, true);
    UNTIL(told.heard >= 1);
    assert_string_equal(told.notice, "caf\xc3\xa9 and more");
    write_one(ADD, "caf\xc3\xa9 and more", 1, true);
    expect(STORE_CONFLICT, "");
    write_one(ADD, "b", 1, true);
    UNTIL(told.heard >= 2);
    assert_string_equal(told.notice, "b");
    assert_int_equal(told.missed, 0);
}

static void
end_sessions(void)
{
    psql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     "WHERE application_name LIKE 'weir%'");
    UNTIL(!postgres_backend.is_up());
}

/* A call that found it away long ago says nothing of now. */
static void
it_is_waited_for_each_time_it_is_away(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000), 0);
    end_sessions();
    pg.down_since = loop_now(l) - 120000;
    UNTIL(postgres_backend.is_up());
    end_sessions();
    write_one(ADD, "a", 1, true);
    expect(STORE_OK, "");
}

static void
after_its_end_all_is_down(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000), 0);
    ask_to_write(ADD, "a", 1, true);
    store_read(&statements[COUNT], NULL, 0, on_done, NULL);
    loop_turn(l, 0); /* they are on their way */
    store_close();
    assert_int_equal(told.calls, 2);
    expect(STORE_DOWN, "");
}

static void
a_cancelled_call_is_not_answered(void **state)
{
    struct store_call *c;

    (void)state;
    assert_int_equal(open_store(60000), 0);
    c = store_read(&statements[COUNT], NULL, 0, on_done, NULL);
    loop_turn(l, 0);
    store_cancel(&c);
    read_with(COUNT, NULL, 0);
    assert_int_equal(told.calls, 1);
}

/* ---- the keeper ---- */

static void
migrations_are_made_once(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(keep(&err), 0);
    migrations[2].sqlite = "never";
    migrations[2].postgres = "CREATE TABLE third (n bigint)";
    assert_int_equal(keep(&err), 0);
    assert_int_equal(keep(&err), 0);
    migrations[2].sqlite = NULL;
    assert_int_equal(keep(&err), -1);
    assert_non_null(strstr(err.text, "a newer weir made it: schema things has "
                                     "migration 3, this weir knows 2"));
    migrations[2].sqlite = "never";
    migrations[2].postgres = "CREATE TABLE other (n bigint)";
    assert_int_equal(keep(&err), -1);
    assert_non_null(strstr(err.text, "migration 3 of schema things is not"));
}

static void
a_migration_that_fails_leaves_nothing(void **state)
{
    struct errmsg err;

    (void)state;
    migrations[2].sqlite = "CREATE TABLE third (n bigint); CREATE nonsense";
    migrations[2].postgres = NULL;
    assert_int_equal(keep(&err), -1);
    assert_non_null(strstr(err.text, "migration 3 of schema things: "));
    migrations[2].sqlite = "CREATE TABLE third (n bigint)";
    assert_int_equal(keep(&err), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_and_reads),
        TEST(all_steps_or_none),
        TEST(values_have_their_kinds),
        TEST(what_is_no_text_is_refused),
        TEST(what_fails_hurts_nobody),
        TEST(what_takes_too_long_is_ended),
        TEST(big_texts),
        TEST(writes_at_once_are_as_if_one_by_one),
        TEST(notices_are_heard),
        TEST(it_is_waited_for_each_time_it_is_away),
        TEST(after_its_end_all_is_down),
        TEST(a_cancelled_call_is_not_answered),
        TEST(migrations_are_made_once),
        TEST(a_migration_that_fails_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, start_server, end_server);
}
