/*
 * Calls when a mailbox is full, with several processes of a role, and over a
 * fork.
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

static struct caller a, b, all[CALLS];

/* Until mailbox and queue take nothing, however small: with what is long over,
 * of either side. */
static void
fill(uint32_t slot)
{
    static const char data[ANSWER_MAX];
    struct rpc_head h = { .number = UINT64_MAX,
                          .due = 1,
                          .kind = slot == 0 ? RPC_LAST : RPC_REQUEST };
    const struct rpc_state *s = methods[ECHO].state;
    uint32_t type = slot == 0 ? s->answer_type : s->request_type;

    while (rpc_wire_send(slot, type, &h, str_of(data, sizeof(data)), -1) == 0) {
    }
    while (rpc_wire_send(slot, type, &h, STR_NONE, -1) == 0) {
    }
}

static struct rpc_call *
try_call(struct caller *c, bool resend, struct errmsg *err)
{
    struct rpc_options o = options_of(c, LONG_MS, resend);

    *c = (struct caller){ .fd = -1 };
    return rpc_call(&methods[ECHO], &o, "x", 1, -1, err);
}

static void
a_full_role_is_told_at_once(void **state)
{
    struct server s = start_server();
    struct errmsg err;

    (void)state;
    kill(s.pid, SIGSTOP);
    fill(s.slot);
    assert_null(try_call(&a, false, &err));
    assert_string_equal(err.text, "the server takes no more now");
    assert_int_equal(a.ends, 0);
    assert_int_equal(methods[ECHO].state->open, 0);
    b.call = try_call(&b, true, &err); /* waits for room */
    assert_non_null(b.call);
    kill(s.pid, SIGCONT);
    wait_end(&b);
    assert_int_equal(b.status, RPC_OK);
    kill_server(&s);
}

/* All of them are sent when there is room. */
static void
who_waits_for_room_is_heard(void **state)
{
    struct server s = start_server();
    struct errmsg err;

    (void)state;
    kill(s.pid, SIGSTOP);
    fill(s.slot);
    for (uint32_t i = 0; i < CALLS; i++) {
        all[i].call = try_call(&all[i], true, &err);
        assert_non_null(all[i].call);
    }
    assert_int_equal(methods[ECHO].state->waiting, CALLS);
    kill(s.pid, SIGCONT);
    wait_end(&all[CALLS - 1]);
    for (uint32_t i = 0; i < CALLS; i++) {
        assert_int_equal(all[i].ends, 1);
        assert_int_equal(all[i].status, RPC_OK);
    }
    assert_int_equal(methods[ECHO].state->waiting, 0);
    kill_server(&s);
}

/* A handler that leaves no room in its caller's mailbox, and never answers. */
static void
fill_and_keep(void *arg, struct rpc_request *r)
{
    fill(0);
    hold(arg, r);
    r->on_gone = NULL;
}

static void
wait_taken(unsigned n)
{
    while (deeds->taken < n) {
        usleep(1000);
    }
}

/* This process reads nothing until the role has refused a call. */
static void
a_refusal_waits_for_room(void **state)
{
    struct rpc_options o = options_of(&b, LONG_MS, false);
    struct errmsg err;

    (void)state;
    echo_handler = fill_and_keep;
    struct server s = start_server();

    echo_handler = echo;
    for (uint32_t i = 0; i < CALLS; i++) {
        call(&all[i], ECHO, NULL, 0);
        rpc_cancel(&all[i].call);
    }
    b = (struct caller){ .fd = -1 };
    o.timeout_ms = 60000; /* a failure ends */
    b.call = rpc_call(&methods[ECHO], &o, NULL, 0, -1, &err);
    call(&a, HOLD, NULL, 0);
    bus_send(s.slot, BUS_PEERS, NULL, 0, -1); /* and what is held */
    wait_taken(CALLS + 1);
    assert_int_equal(b.ends, 0);
    wait_end(&b);
    assert_int_equal(b.status, RPC_REFUSED);
    assert_memory_equal(b.data, "this process asks too much at once", b.len);
    rpc_cancel(&a.call);
    kill_server(&s);
}

/* ---- answers that wait ---- */

/* Leaves no room for its answer, and tells what it owes its caller. */
static void
fill_and_answer(void *arg, struct rpc_request *r)
{
    static const char answer[ANSWER_MAX];

    (void)arg;
    if (r->len == 0) {
        bool owes = rpc_owes(0);

        rpc_reply(&r, &owes, sizeof(owes), -1);
        return;
    }
    fill(0);
    atomic_store(&deeds->echoed[0], rpc_owes(0));
    rpc_reply(&r, answer, sizeof(answer), -1);
    atomic_store(&deeds->echoed[1], rpc_owes(0));
    atomic_fetch_add(&deeds->taken, 1);
}

static void
an_answer_that_waits_is_owed(void **state)
{
    (void)state;
    echo_handler = fill_and_answer;
    struct server s = start_server();

    echo_handler = echo;
    call(&a, ECHO, "x", 1);
    wait_taken(1);
    assert_int_equal(deeds->echoed[0], false);
    assert_int_equal(deeds->echoed[1], true);
    wait_end(&a);
    assert_int_equal(a.status, RPC_OK);
    assert_int_equal(a.len, ANSWER_MAX);
    call(&b, ECHO, NULL, 0);
    wait_end(&b);
    assert_int_equal(b.data[0], false);
    kill_server(&s);
}

/* It was asked before: what is said later waits, or is refused. */
static void
a_call_does_not_overtake_an_answer(void **state)
{
    struct server s = start_server();
    struct errmsg err;

    (void)state;
    rpc_owe(s.slot, 1);
    assert_null(try_call(&a, false, &err));
    assert_string_equal(err.text, "the server takes no more now");
    b.call = try_call(&b, true, &err);
    assert_non_null(b.call);
    assert_int_equal(methods[ECHO].state->waiting, 1);
    rpc_owe(s.slot, -1);
    wait_end(&b);
    assert_int_equal(b.status, RPC_OK);
    kill_server(&s);
}

/* As if answers of 64 MB waited. */
static void
answer_beyond_the_bound(void *arg, struct rpc_request *r)
{
    struct rpc_state *s = methods[ECHO].state;
    static const char answer[ANSWER_MAX];
    size_t much = (size_t)64 << 20;

    if (s->count == 1) {
        hold(arg, r);
        return;
    }
    fill(0);
    s->bytes += much;
    rpc_reply(&r, answer, sizeof(answer), -1);
    s->bytes -= much;
    atomic_fetch_add(&deeds->taken, 1);
}

static void
answers_that_wait_have_a_bound(void **state)
{
    (void)state;
    echo_handler = answer_beyond_the_bound;
    struct server s = start_server();

    echo_handler = echo;
    call(&a, ECHO, NULL, 0);
    wait_taken(1);
    loop_turn(l, 0); /* or the next one waits for the end of this turn */
    call(&b, ECHO, NULL, 0);
    wait_taken(2);
    wait_end(&b);
    assert_int_equal(b.status, RPC_REFUSED);
    assert_memory_equal(b.data, "too many answers wait for room", b.len);
    rpc_cancel(&a.call);
    kill_server(&s);
}

/* As if so many requests, or bytes of them, were there from others. */
static void
hold_among_many(void *arg, struct rpc_request *r)
{
    if (deeds->taken == 0) {
        methods[ECHO].state->count = 8191;
    }
    hold(arg, r);
}

static void
hold_among_much(void *arg, struct rpc_request *r)
{
    if (deeds->taken == 0) {
        methods[ECHO].state->bytes = (size_t)64 << 20;
    }
    hold(arg, r);
}

static void
one_more_is_refused(rpc_handler *handler)
{
    const uint32_t none = 0;

    deeds->taken = 0;
    echo_handler = handler;
    struct server s = start_server();

    echo_handler = echo;
    for (int i = 0; i < 2; i++) { /* the second is the last */
        call(&all[i], ECHO, NULL, 0);
    }
    call(&a, ECHO, "x", 1);
    call(&b, COUNT, &none, sizeof(none));
    wait_end(&b);
    assert_int_equal(a.ends, 1);
    assert_int_equal(a.status, RPC_REFUSED);
    assert_memory_equal(a.data, "there are too many requests at once", a.len);
    assert_int_equal(all[0].ends + all[1].ends, 0);
    for (int i = 0; i < 2; i++) {
        rpc_cancel(&all[i].call);
    }
    kill_server(&s);
}

static void
requests_of_all_have_a_bound(void **state)
{
    (void)state;
    one_more_is_refused(hold_among_many);
    one_more_is_refused(hold_among_much);
}

/* ---- several processes ---- */

static void
tell_slot(void *arg, struct rpc_request *r)
{
    uint32_t slot = slot_self();

    (void)arg;
    rpc_reply(&r, &slot, sizeof(slot), -1);
}

static struct server
start_one(const char *name, uint32_t index)
{
    struct server s = { .slot =
                            (uint32_t)slot_take(SLOT_ROLE, name, index, 1) };

    ready = false;
    s.pid = fork();
    assert_int_not_equal(s.pid, -1);
    if (s.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_server(s.slot);
    }
    slot_set_pid(s.slot, s.pid);
    while (!ready) {
        loop_turn(l, -1);
    }
    rpc_peers_changed();
    return s;
}

static struct rpc_call *
call_index(struct caller *c, uint32_t index, struct errmsg *err)
{
    struct rpc_options o = options_of(c, LONG_MS, false);

    o.index = index;
    *c = (struct caller){ .fd = -1 };
    return rpc_call(&methods[ECHO], &o, NULL, 0, -1, err);
}

static void
is_answered_by(uint32_t index, const struct server *s)
{
    struct errmsg err;

    a.call = call_index(&a, index, &err);
    assert_non_null(a.call);
    wait_end(&a);
    assert_int_equal(a.status, RPC_OK);
    assert_memory_equal(a.data, &s->slot, sizeof(s->slot));
}

static void
found_by_index(void **state)
{
    struct server zero, one;
    struct errmsg err;

    (void)state;
    echo_handler = tell_slot;
    zero = start_one("server 0", 0);
    one = start_one("server 1", 1);
    echo_handler = echo;
    for (int i = 0; i < 3; i++) {
        is_answered_by(0, &zero);
        is_answered_by(1, &one);
    }
    assert_null(call_index(&a, 2, &err));
    assert_string_equal(err.text, "there is no server that is ready");
    call(&b, HOLD, NULL, 0); /* of index 0 */
    kill_server(&zero);
    assert_int_equal(b.ends, 1);
    assert_int_equal(b.status, RPC_DIED);
    is_answered_by(1, &one);
    assert_null(call_index(&a, 0, &err));
    kill_server(&one);
}

/* ---- fork ---- */

static void
run_asking_child(uint32_t slot)
{
    struct errmsg err;

    slot_set_self(slot);
    loop_free(&l);
    l = loop_new(&err);
    if (bus_open(l, &err) == -1) {
        _exit(1);
    }
    rpc_open(l);
    for (int i = 0; i < METHODS; i++) {
        if (methods[i].state->open > 0 || methods[i].state->waiting > 0) {
            _exit(2);
        }
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        call(&all[i], ECHO, &i, sizeof(i));
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        wait_end(&all[i]);
    }
    rpc_close();
    _exit(a.ends + b.ends); /* the parent's */
}

static void
calls_of_a_parent_stay_its_own(void **state)
{
    struct server s = start_server();
    struct rpc_options o = options_of(&b, LONG_MS, true);
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "worker 0", 0, 1);
    struct server child = { .slot = slot };
    struct errmsg err;
    int status;

    (void)state;
    call(&a, HOLD, NULL, 0);
    b = (struct caller){ .fd = -1 };
    b.call = rpc_call(&methods[HOLD], &o, "again", 5, 0, &err);
    assert_non_null(b.call);
    child.pid = fork();
    if (child.pid == 0) {
        run_asking_child(slot);
    }
    slot_set_pid(slot, child.pid);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(status, 0);
    assert_int_equal(a.ends + b.ends, 0);
    round_trip();
    assert_int_equal(deeds->taken, 2);
    kill_server(&s);
    assert_int_equal(a.status, RPC_DIED);
    s = start_server();
    while (deeds->taken < 3) { /* b, again */
        loop_turn(l, 10);
    }
    rpc_cancel(&b.call);
    kill_server(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_role_is_told_at_once),
        TEST(who_waits_for_room_is_heard),
        TEST(a_refusal_waits_for_room),
        TEST(found_by_index),
        TEST(calls_of_a_parent_stay_its_own),
        TEST(an_answer_that_waits_is_owed),
        TEST(a_call_does_not_overtake_an_answer),
        TEST(answers_that_wait_have_a_bound),
        TEST(requests_of_all_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
