/*
 * Calls between real processes: answers, parts, cancel, deadlines, death.
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

#include "rpc_child.h"

static struct caller a, all[CALLS];

static void
answered(void **state)
{
    static const size_t sizes[] = { 0, 1, 1000, 1001, ANSWER_MAX };
    struct server s = start_server();
    char *data = mem_alloc(ANSWER_MAX);

    (void)state;
    memset(data, 0xa5, ANSWER_MAX);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        call(&a, ECHO, data, sizes[i]);
        assert_int_equal(a.ends, 0); /* never from within */
        wait_end(&a);
        assert_int_equal(a.status, RPC_OK);
        assert_int_equal(a.len, sizes[i]);
        assert_memory_equal(a.data, data, sizes[i]);
        assert_int_equal(a.fd, -1);
    }
    mem_free(&data);
    kill_server(&s);
}

static void
with_a_descriptor(void **state)
{
    struct server s = start_server();
    struct rpc_options o = options_of(&a, LONG_MS, false);
    struct errmsg err;
    int ends[2];
    char byte;

    (void)state;
    a = (struct caller){ .fd = -1 };
    assert_int_equal(pipe(ends), 0);
    a.call = rpc_call(&methods[ECHO], &o, "x", 1, ends[1], &err);
    close(ends[1]);
    wait_end(&a);
    assert_int_not_equal(a.fd, -1);
    assert_int_equal(write(a.fd, "x", 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(a.fd);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the role has none left */
    close(ends[0]);
    kill_server(&s);
}

static void
many_at_once(void **state)
{
    struct server s = start_server();

    (void)state;
    for (uint32_t i = 0; i < CALLS; i++) {
        call(&all[i], ECHO, &i, sizeof(i));
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        wait_end(&all[i]);
        assert_int_equal(all[i].status, RPC_OK);
        assert_memory_equal(all[i].data, &i, sizeof(i));
        assert_int_equal(deeds->echoed[i], 1);
    }
    kill_server(&s);
}

static void
refused_with_the_reason(void **state)
{
    struct server s = start_server();

    (void)state;
    call(&a, REFUSE, NULL, 0);
    wait_end(&a);
    assert_int_equal(a.status, RPC_REFUSED);
    assert_int_equal(a.len, strlen("not today"));
    assert_memory_equal(a.data, "not today", a.len);
    call(&a, ECHO, "x", 1); /* it has stopped serving */
    wait_end(&a);
    assert_int_equal(a.status, RPC_REFUSED);
    assert_memory_equal(a.data, "the role stops", a.len);
    kill_server(&s);
}

static void
call_count(uint32_t parts, unsigned window)
{
    struct rpc_options o = options_of(&a, LONG_MS, false);
    struct errmsg err;

    o.window = window;
    a = (struct caller){ .in_order = true, .fd = -1 };
    a.call = rpc_call(&methods[COUNT], &o, &parts, sizeof(parts), -1, &err);
    assert_non_null(a.call);
}

/* The role waits when the window is used up, however often it is given more. */
static void
parts_as_granted(void **state)
{
    struct server s = start_server();

    (void)state;
    call_count(100, 4);
    for (unsigned granted = 4; granted < 100; granted += 3) {
        while (a.parts < granted) {
            loop_turn(l, -1);
        }
        round_trip();
        assert_int_equal(a.parts, granted);
        rpc_grant(a.call, 3);
    }
    wait_end(&a);
    assert_int_equal(a.status, RPC_OK);
    assert_int_equal(a.parts, 100);
    assert_true(a.in_order);
    kill_server(&s);
}

/* More parts than mailbox and queue hold at once: the role goes on when there
 * is room. */
static void
parts_without_end(void **state)
{
    struct server s = start_server();
    unsigned granted = RPC_WINDOW_MAX;

    (void)state;
    call_count(20000, granted);
    while (a.ends == 0) {
        loop_turn(l, -1);
        if (a.call != NULL && a.parts > granted - 1000) {
            rpc_grant(a.call, 3000);
            granted += 3000;
        }
    }
    assert_int_equal(a.status, RPC_OK);
    assert_int_equal(a.parts, 20000);
    assert_true(a.in_order);
    kill_server(&s);
}

static void
cancelled(void **state)
{
    struct server s = start_server();

    (void)state;
    call(&a, HOLD, NULL, 0);
    round_trip();
    assert_int_equal(deeds->taken, 1);
    rpc_cancel(&a.call);
    assert_null(a.call);
    rpc_cancel(&a.call);
    round_trip();
    assert_int_equal(deeds->gone, 1);
    call_count(100, 1);
    rpc_cancel(&a.call); /* what is under way goes nowhere */
    round_trip();
    assert_int_equal(a.parts, 0);
    assert_int_equal(a.ends, 0);
    kill_server(&s);
}

static void
late(void **state)
{
    struct server s = start_server();
    struct rpc_options o = options_of(&a, 20, false);
    struct errmsg err;

    (void)state;
    a = (struct caller){ .fd = -1 };
    a.call = rpc_call(&methods[HOLD], &o, NULL, 0, -1, &err);
    wait_end(&a);
    assert_int_equal(a.status, RPC_LATE);
    round_trip();
    assert_int_equal(deeds->gone, deeds->taken);
    kill_server(&s);
}

#define SHORT_MS 100

/* Whether a call that is put off again and again outlived its deadline three
 * times; not if this machine stood still meanwhile. */
static bool
outlives(const struct caller *c)
{
    int64_t end = clock_ms() + 3 * SHORT_MS;

    for (int64_t now = clock_ms(), before = now; now < end; before = now) {
        rpc_prolong(c->call);
        loop_turn(l, 5);
        now = clock_ms();
        if (c->ends > 0 || now - before > SHORT_MS / 2) {
            return false;
        }
    }
    return true;
}

static void
put_off(void **state)
{
    struct server s = start_server();
    struct rpc_options o = options_of(&a, SHORT_MS, false);
    struct errmsg err;
    bool good = false;

    (void)state;
    for (int i = 0; i < 20 && !good; i++) {
        a = (struct caller){ .fd = -1 };
        a.call = rpc_call(&methods[HOLD], &o, NULL, 0, -1, &err);
        good = outlives(&a);
        if (good) {
            round_trip();
            assert_int_equal(a.ends, 0);
            assert_int_equal(deeds->gone + 1, deeds->taken);
        }
        if (a.ends == 0) {
            wait_end(&a);
        }
        assert_int_equal(a.status, RPC_LATE);
        round_trip();
        assert_int_equal(deeds->gone, deeds->taken);
    }
    assert_true(good);
    kill_server(&s);
}

static void
without_a_role(void **state)
{
    struct rpc_options o = options_of(&a, 1, false);
    struct errmsg err;

    (void)state;
    a = (struct caller){ .fd = -1 };
    assert_null(rpc_call(&methods[ECHO], &o, NULL, 0, -1, &err));
    assert_string_equal(err.text, "there is no server that is ready");
    o.resend = true; /* waits, but not for ever */
    a.call = rpc_call(&methods[ECHO], &o, NULL, 0, -1, &err);
    assert_non_null(a.call);
    wait_end(&a);
    assert_int_equal(a.status, RPC_LATE);
}

static void
the_role_dies(void **state)
{
    struct server s = start_server();

    (void)state;
    call(&a, HOLD, NULL, 0);
    call(&all[0], HOLD, NULL, 0);
    round_trip();
    kill_server(&s);
    assert_int_equal(a.ends, 1); /* at once */
    assert_int_equal(a.status, RPC_DIED);
    assert_int_equal(all[0].status, RPC_DIED);
}

static void
sent_again_in_order(void **state)
{
    struct server s = start_server();
    struct errmsg err;

    (void)state;
    kill(s.pid, SIGSTOP);
    for (uint32_t i = 0; i < CALLS; i++) {
        struct rpc_options o = options_of(&all[i], LONG_MS, true);

        all[i] = (struct caller){ .fd = -1 };
        all[i].call = rpc_call(&methods[ECHO], &o, &i, sizeof(i), -1, &err);
        assert_non_null(all[i].call);
    }
    kill_server(&s);
    assert_int_equal(all[0].ends, 0);
    s = start_server();
    wait_end(&all[CALLS - 1]);
    for (uint32_t i = 0; i < CALLS; i++) {
        assert_int_equal(all[i].status, RPC_OK);
        assert_int_equal(all[i].ends, 1);
        assert_memory_equal(all[i].data, &i, sizeof(i));
        assert_int_equal(deeds->echoed[i], 1);
    }
    kill_server(&s);
}

/* Its beginning came: the rest of another one would not fit. */
static void
what_was_answered_in_part_is_not_sent_again(void **state)
{
    struct rpc_options o = options_of(&a, LONG_MS, true);
    struct server s = start_server();
    uint32_t parts = 3;
    struct errmsg err;

    (void)state;
    o.window = 1;
    a = (struct caller){ .in_order = true, .fd = -1 };
    a.call = rpc_call(&methods[COUNT], &o, &parts, sizeof(parts), -1, &err);
    assert_non_null(a.call);
    while (a.parts < 1) {
        loop_turn(l, -1);
    }
    kill_server(&s);
    assert_int_equal(a.ends, 1);
    assert_int_equal(a.status, RPC_DIED);
    assert_int_equal(a.parts, 1);
}

/* Requests of 8 MB are kept for a role that is not there. */
static void
what_is_kept_has_a_bound(void **state)
{
    char *data = mem_zero(REQUEST_MAX);
    struct errmsg err;

    (void)state;
    for (unsigned i = 0; i <= 8; i++) {
        struct rpc_options o = options_of(&all[i], LONG_MS, true);

        all[i] = (struct caller){ .fd = -1 };
        all[i].call = rpc_call(&methods[HOLD], &o, data, REQUEST_MAX, -1, &err);
        assert_int_equal(all[i].call != NULL, i < 8);
    }
    assert_string_equal(err.text, "8388608 bytes of test.hold wait already");
    rpc_cancel(&all[3].call); /* there is room again */
    struct rpc_options o = options_of(&a, LONG_MS, true);

    a = (struct caller){ .fd = -1 };
    a.call = rpc_call(&methods[HOLD], &o, data, REQUEST_MAX, -1, &err);
    assert_non_null(a.call);
    mem_free(&data);
}

/* A role that never reads costs its callers what is allowed, and no more: other
 * calls are refused at once, and all end at their time. */
static void
a_role_that_never_reads(void **state)
{
    struct server s = start_server();
    char *data = mem_zero(ANSWER_MAX);
    unsigned open = 0;
    struct errmsg err;

    (void)state;
    kill(s.pid, SIGSTOP);
    for (unsigned i = 0; i < CALLS; i++) {
        struct rpc_options o = options_of(&all[i], 100, false);

        all[i] = (struct caller){ .fd = -1 };
        all[i].call = rpc_call(&methods[HOLD], &o, data, ANSWER_MAX, -1, &err);
        open += all[i].call != NULL;
    }
    assert_int_equal(open, CALLS);
    struct rpc_options o = options_of(&a, 100, false);

    assert_null(rpc_call(&methods[HOLD], &o, NULL, 0, -1, &err));
    assert_string_equal(err.text, "64 calls of test.hold are open already");
    for (unsigned i = 0; i < CALLS; i++) {
        wait_end(&all[i]);
        assert_int_equal(all[i].status, RPC_LATE);
    }
    mem_free(&data);
    kill_server(&s);
}

static void
closing_ends_calls(void **state)
{
    struct server s = start_server();

    (void)state;
    call(&a, HOLD, NULL, 0);
    rpc_close();
    assert_int_equal(a.ends, 1);
    assert_int_equal(a.status, RPC_DIED);
    rpc_open(l);
    kill_server(&s);
}

static void
names_are_unique(void **state)
{
    static struct rpc_method again[] = {
        { .name = "test.echo", .role = "other", .open_max = 1 },
        { .name = NULL }
    };
    struct errmsg err;

    (void)state;
    assert_int_equal(rpc_register(again, &err), -1);
    assert_string_equal(err.text,
                        "two kinds of messages are called \"test.echo\"");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answered),
        TEST(with_a_descriptor),
        TEST(many_at_once),
        TEST(refused_with_the_reason),
        TEST(parts_as_granted),
        TEST(parts_without_end),
        TEST(cancelled),
        TEST(late),
        TEST(put_off),
        TEST(without_a_role),
        TEST(the_role_dies),
        TEST(sent_again_in_order),
        TEST(what_was_answered_in_part_is_not_sent_again),
        TEST(what_is_kept_has_a_bound),
        TEST(a_role_that_never_reads),
        TEST(closing_ends_calls),
        TEST(names_are_unique),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
