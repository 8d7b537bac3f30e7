/*
 * Calls with a role, or a caller, that is in the hands of a stranger.
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

#include "proc/rpc_impl.h"

#define FIRST ((uint64_t)1 << 16) /* number of a method's first call */

static struct caller a;

/* An answer as the asked role would send it, but from another process of that
 * role. */
static void
answer_from_another(uint32_t kind)
{
    struct rpc_head h = { .number = FIRST, .kind = kind };
    uint32_t slot = (uint32_t)slot_take(SLOT_ROLE, "server 1", 1, 1);
    struct server other = { .slot = slot, .pid = fork() };

    if (other.pid == 0) {
        slot_set_self(slot);
        _exit(rpc_wire_send(0, methods[HOLD].state->answer_type, &h,
                            STR("forged"), -1));
    }
    slot_set_pid(slot, other.pid);
    bury(&other);
}

static void
answers_of_others_do_not_count(void **state)
{
    struct server s = start_server();

    (void)state;
    call(&a, HOLD, NULL, 0);
    answer_from_another(RPC_LAST);
    answer_from_another(RPC_PART);
    answer_from_another(RPC_ERROR);
    round_trip();
    assert_int_equal(a.ends, 0);
    assert_int_equal(a.parts, 0);
    rpc_cancel(&a.call);
    kill_server(&s);
}

static void
send_head(uint32_t slot, uint32_t type, struct rpc_head h, struct str data)
{
    assert_int_equal(rpc_wire_send(slot, type, &h, data, -1), 0);
}

/* Answers of which none makes sense, then the right one. */
static void
talk_nonsense(void *arg, struct rpc_request *r)
{
    uint32_t type = methods[ECHO].state->answer_type;
    struct rpc_head good = { .number = FIRST, .kind = RPC_LAST };
    struct rpc_head h = good;
    char long_text[RPC_TEXT_MAX + 1] = { 0 };

    (void)arg;
    bus_send(0, type, &h, sizeof(h) - 1, -1);
    h.number = 0;
    send_head(0, type, h, STR("x"));
    h.number = UINT64_MAX;
    send_head(0, type, h, STR("x"));
    h.number = FIRST + methods[ECHO].open_max;
    send_head(0, type, h, STR("x"));
    h.number = 2 * FIRST; /* in the same place */
    send_head(0, type, h, STR("x"));
    h = good;
    h.kind = RPC_REQUEST;
    send_head(0, type, h, STR("x"));
    h.kind = UINT32_MAX;
    send_head(0, type, h, STR("x"));
    h.kind = RPC_ERROR;
    send_head(0, type, h, str_of(long_text, sizeof(long_text)));
    rpc_reply(&r, "right", 5, -1);
}

static void
nonsense_does_not_count(void **state)
{
    (void)state;
    echo_handler = talk_nonsense;
    struct server s = start_server();

    echo_handler = echo;
    call(&a, ECHO, NULL, 0);
    wait_end(&a);
    assert_int_equal(a.status, RPC_OK);
    assert_int_equal(a.len, 5);
    assert_memory_equal(a.data, "right", 5);
    kill_server(&s);
}

static void
send_parts(void *arg, struct rpc_request *r)
{
    struct rpc_head h = { .number = FIRST, .kind = RPC_PART };

    (void)arg;
    for (uint32_t i = 0; i < 3; i++) {
        send_head(0, methods[ECHO].state->answer_type, h,
                  str_of((char *)&i, sizeof(i)));
    }
    rpc_reply(&r, NULL, 0, -1);
}

static void
more_than_granted_ends_the_call(void **state)
{
    struct rpc_options o = options_of(&a, LONG_MS, false);
    struct errmsg err;

    (void)state;
    echo_handler = send_parts;
    struct server s = start_server();

    echo_handler = echo;
    a = (struct caller){ .in_order = true, .fd = -1 };
    o.window = 2;
    a.call = rpc_call(&methods[ECHO], &o, NULL, 0, -1, &err);
    wait_end(&a);
    assert_int_equal(a.status, RPC_BROKEN);
    assert_int_equal(a.parts, 2);
    loop_turn(l, 0);
    assert_int_equal(a.ends, 1);
    kill_server(&s);
}

static struct rpc_request *kept; /* in the role */
static uint32_t next_part;

/* As many as were granted. */
static void
send_all(void *arg)
{
    (void)arg;
    while (rpc_part(kept, &next_part, sizeof(next_part), -1) == 0) {
        next_part++;
    }
}

/* Begins when it is asked for something else. */
static void
keep_the_first(void *arg, struct rpc_request *r)
{
    (void)arg;
    if (kept == NULL) {
        kept = r;
        r->on_room = send_all;
        return;
    }
    send_all(NULL);
    rpc_reply(&r, NULL, 0, -1);
}

/* Two windows: who asks for them would have the role write without end. */
static void
a_grant_beyond_the_window_is_none(void **state)
{
    struct rpc_options o = options_of(&a, LONG_MS, false);
    struct rpc_head more = { .number = FIRST,
                             .kind = RPC_GRANT,
                             .count = RPC_WINDOW_MAX };
    struct errmsg err;

    (void)state;
    echo_handler = keep_the_first;
    struct server s = start_server();

    echo_handler = echo;
    a = (struct caller){ .in_order = true, .fd = -1 };
    o.window = RPC_WINDOW_MAX;
    a.call = rpc_call(&methods[ECHO], &o, NULL, 0, -1, &err);
    send_head(s.slot, methods[ECHO].state->request_type, more, STR_NONE);
    round_trip();
    while (a.parts < RPC_WINDOW_MAX && a.ends == 0) {
        loop_turn(l, -1);
    }
    round_trip();
    assert_int_equal(a.parts, RPC_WINDOW_MAX);
    assert_int_equal(a.ends, 0); /* one more would have been too much */
    rpc_cancel(&a.call);
    kill_server(&s);
}

/* A caller that keeps to no bound is kept to it by the role. */
static void
a_role_bounds_each_caller(void **state)
{
    struct server s = start_server();
    uint32_t type = methods[HOLD].state->request_type;
    struct rpc_head h = { .kind = RPC_REQUEST, .due = INT64_MAX };

    (void)state;
    for (h.number = 1; h.number <= CALLS + 20; h.number++) {
        send_head(s.slot, type, h, STR_NONE);
    }
    round_trip();
    assert_int_equal(deeds->taken, CALLS);
    h.kind = RPC_CANCEL;
    for (h.number = 1; h.number <= CALLS + 20; h.number++) {
        send_head(s.slot, type, h, STR_NONE);
    }
    round_trip();
    assert_int_equal(deeds->gone, CALLS);
    kill_server(&s);
}

static void
a_role_takes_no_nonsense(void **state)
{
    struct server s = start_server();
    uint32_t type = methods[HOLD].state->request_type;
    struct rpc_head h = { .number = 1, .due = 1, .kind = RPC_REQUEST };

    (void)state;
    send_head(s.slot, type, h, STR_NONE); /* its time is over */
    h.due = INT64_MAX;
    h.number = 0;
    send_head(s.slot, type, h, STR_NONE);
    h.number = 1;
    h.count = RPC_WINDOW_MAX + 1;
    send_head(s.slot, type, h, STR_NONE);
    h.count = 0;
    h.kind = RPC_GRANT;
    send_head(s.slot, type, h, STR_NONE);
    h.kind = RPC_LAST;
    send_head(s.slot, type, h, STR_NONE);
    bus_send(s.slot, type, &h, sizeof(h) - 1, -1);
    round_trip();
    assert_int_equal(deeds->taken, 0);
    kill_server(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_of_others_do_not_count),
        TEST(nonsense_does_not_count),
        TEST(more_than_granted_ends_the_call),
        TEST(a_role_bounds_each_caller),
        TEST(a_grant_beyond_the_window_is_none),
        TEST(a_role_takes_no_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
