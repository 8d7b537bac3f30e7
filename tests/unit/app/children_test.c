/*
 * Children are started, watched, and started again: with roles made for it.
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

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/master/children.h"
#include "app/master/role_table.h"
#include "app/master/watchdog.h"
#include "base/clock.h"
#include "base/hash.h"
#include "event/signals.h"
#include "live/live.h"
#include "proc/bus.h"
#include "proc/life.h"
#include "proc/slot.h"

static struct {
    struct loop *loop;
    struct signals *signals;
    struct children children;
    struct generation generation;
    struct conf *conf;
    unsigned gone, failed;
    uint32_t swept; /* the last slot */
    pid_t pid;
    char why[128];
    _Atomic int *told; /* shared with the processes */
} t;

/* ---- the roles ---- */

static struct loop *role_loop;
static struct timer role_timer;

static int
start_good(const struct role_process *p, void **state, struct errmsg *err)
{
    (void)state;
    (void)p;
    (void)err;
    return 0;
}

static int
start_bad(const struct role_process *p, void **state, struct errmsg *err)
{
    (void)state;
    (void)p;
    return errmsg_set(err, "there is no cheese");
}

/* Never comes back from a callback. */
static void
hang(struct timer *timer)
{
    (void)timer;
    for (;;) {
        pause();
    }
}

static int
start_stuck(const struct role_process *p, void **state, struct errmsg *err)
{
    (void)state;
    (void)err;
    role_loop = p->loop;
    timer_init(&role_timer, hang);
    timer_set(p->loop, &role_timer, 1);
    return 0;
}

static const struct role good = { .name = "good",
                                  .count = 2,
                                  .start = start_good };
static const struct role single = { .name = "single",
                                    .count = 1,
                                    .start = start_good };
static const struct role bad = { .name = "bad",
                                 .count = 1,
                                 .start = start_bad };
static const struct role stuck = { .name = "stuck",
                                   .count = 1,
                                   .start = start_stuck };

/* ---- the master ---- */

static void
in_child(void *arg, const struct child *c)
{
    (void)arg;
    (void)c;
    loop_free(&t.loop);
}

static void
on_ready(void *arg, struct child *c)
{
    (void)arg;
    (void)c;
}

static void
on_failed(void *arg, const struct child *c, const char *why)
{
    char name[CHILD_NAME];

    (void)arg;
    t.failed++;
    snprintf(t.why, sizeof(t.why), "%s: %s", child_name(c, name), why);
}

static void
sweep(void *arg, uint32_t slot)
{
    (void)arg;
    t.swept = slot;
}

static void
on_gone(void *arg)
{
    (void)arg;
    t.gone++;
}

static const struct child_calls calls = {
    .in_child = in_child,
    .on_ready = on_ready,
    .on_failed = on_failed,
    .sweep = sweep,
    .on_gone = on_gone,
};

static void
on_signal(void *arg, int number)
{
    (void)arg;
    (void)number;
    children_reap(&t.children);
}

/* Turns the loop until what() holds; on an idle machine it must within ms. */
static void
wait_for(bool (*what)(void), int64_t ms)
{
    int64_t end = clock_ms() + 10 * ms;

    while (!what()) {
        assert_true(clock_ms() < end);
        loop_turn(t.loop, 10);
    }
}

static bool
all_ready(void)
{
    return children_ready(&t.children);
}

static bool
none_left(void)
{
    return list_empty(&t.children.list);
}

static bool
three_failed(void)
{
    return t.failed >= 3;
}

static bool
one_gone(void)
{
    return t.gone >= 1;
}

static struct child *
first(void)
{
    return LIST_ITEM(t.children.list.next, struct child, link);
}

static int
set_up(void **state)
{
    static const char path[] = "/tmp/weir-children-test.conf";
    struct errmsg err;
    char *mistakes = NULL;
    FILE *f = fopen(path, "w");
    sigset_t set;

    (void)state;
    t.told = mmap(NULL, sizeof(*t.told), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(t.told, MAP_FAILED);
    if (f == NULL) {
        return -1;
    }
    fputs("live = { memory = \"16M\"; max_streams = 16; };\n", f);
    fclose(f);
    hash_init();
    t.conf = settings_load(path, &mistakes);
    unlink(path);
    if (t.conf == NULL) {
        return -1;
    }
    t.generation.settings = settings_of(t.conf);
    t.generation.number = 1;
    if (slots_create(16, &err) == -1 || bus_create(&err) == -1 ||
        life_create(&err) == -1 ||
        live_create(&t.generation.settings->live, &err) == -1) {
        return -1;
    }
    t.loop = loop_new(&err);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    t.signals = signals_new(t.loop, &set, on_signal, NULL, &err);
    return t.signals == NULL ? -1 : bus_open(t.loop, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    signals_free(&t.signals);
    bus_close();
    loop_free(&t.loop);
    live_destroy();
    life_destroy();
    bus_destroy();
    slots_destroy();
    conf_free(&t.conf);
    return 0;
}

static int
begin(void **state)
{
    (void)state;
    if (t.children.loop != NULL) { /* of the test before */
        children_clear(&t.children);
    }
    t.gone = t.failed = 0;
    children_init(&t.children, t.loop, &calls, NULL);
    return 0;
}

static void
stop_all(void)
{
    children_signal(&t.children, CHILD_ROLES, SIGTERM);
    wait_for(none_left, 5000);
}

/* ---- tests ---- */

static void
roles_say_ready_and_end_when_told(void **state)
{
    char name[CHILD_NAME];

    (void)state;
    children_start_role(&t.children, &t.generation, &good);
    assert_int_equal(children_running(&t.children, CHILD_ROLES), 2);
    assert_int_equal(children_running(&t.children, CHILD_WORKERS), 0);
    wait_for(all_ready, 5000);
    assert_string_equal(child_name(first(), name), "good 0");
    assert_int_equal(slot_state(first()->slot), SLOT_READY);
    assert_int_equal(atomic_load(&slot_card(first()->slot)->pid), first()->pid);
    stop_all();
    assert_int_equal(t.gone, 2);
}

static void
a_killed_child_is_back_at_once(void **state)
{
    slot_owner old;
    pid_t pid;
    int64_t killed;

    (void)state;
    children_start_role(&t.children, &t.generation, &good);
    wait_for(all_ready, 5000);
    pid = first()->pid;
    old = slot_owner_of(first()->slot);
    killed = clock_ms();
    kill(pid, SIGKILL);
    wait_for(one_gone, 5000);
    wait_for(all_ready, 5000);
    assert_true(clock_ms() - killed < 10000);
    assert_true(first()->pid != pid);
    assert_false(slot_owner_alive(old));
    assert_int_equal(t.swept, slot_owner_number(old));
    stop_all();
}

static bool
first_is_back(void)
{
    return first()->pid > 0 && first()->ready;
}

static void
kill_first(void)
{
    wait_for(first_is_back, 5000);
    t.gone = 0;
    kill(first()->pid, SIGKILL);
    wait_for(one_gone, 5000);
    wait_for(first_is_back, 5000);
}

/* Starts that ended soon add up; a good while of life makes up for them. */
static void
what_failed_before_is_forgiven(void **state)
{
    (void)state;
    children_start_role(&t.children, &t.generation, &single);
    for (unsigned i = 1; i <= 3; i++) {
        kill_first();
        assert_int_equal(first()->attempt, i);
    }
    assert_true(child_in_crash_loop(first()));
    wait_for(all_ready, 5000); /* it does its work all the same */
    assert_string_equal(child_state(first()), "ready");
    first()->started_ms -= 10000; /* it lived for so long */
    assert_false(child_in_crash_loop(first()));
    kill_first();
    assert_int_equal(first()->attempt, 1); /* started again at once */
    assert_false(child_in_crash_loop(first()));
    stop_all();
}

static void
a_child_that_cannot_start_says_why_and_is_given_time(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    children_start_role(&t.children, &t.generation, &bad);
    wait_for(three_failed, 5000);
    /* At once, then after 100 ms: never in a tight circle. */
    assert_true(clock_ms() - began >= 100);
    assert_string_equal(t.why, "bad: there is no cheese");
    assert_true(children_ready(&t.children)); /* nobody waits for it */
    assert_string_equal(first()->why.text, "there is no cheese");
    stop_all();
}

static void
a_stuck_child_is_killed(void **state)
{
    struct watchdog dog;
    pid_t pid;

    (void)state;
    children_start_role(&t.children, &t.generation, &stuck);
    pid = first()->pid;
    watchdog_start(&dog, &t.children, 400);
    wait_for(one_gone, 5000);
    assert_true(first()->pid != pid);
    watchdog_stop(&dog);
    children_signal(&t.children, CHILD_ROLES, SIGTERM);
    children_signal(&t.children, CHILD_ROLES, SIGKILL);
    wait_for(none_left, 5000);
}

static void
a_stopped_child_is_killed(void **state)
{
    struct watchdog dog;
    pid_t pid;

    (void)state;
    children_start_role(&t.children, &t.generation, &good);
    wait_for(all_ready, 5000);
    assert_string_equal(child_state(first()), "ready");
    pid = first()->pid;
    watchdog_start(&dog, &t.children, 300);
    kill(pid, SIGSTOP);
    wait_for(one_gone, 5000);
    assert_true(first()->pid != pid);
    watchdog_stop(&dog);
    stop_all();
}

static bool
in_crash_loop(void)
{
    return children_running(&t.children, CHILD_ROLES) == 0 &&
           child_in_crash_loop(first());
}

static void
one_that_keeps_dying_is_known(void **state)
{
    (void)state;
    children_start_role(&t.children, &t.generation, &bad);
    assert_false(child_in_crash_loop(first()));
    wait_for(in_crash_loop, 60000); /* where a start takes seconds, too */
    assert_string_equal(child_state(first()), "crash loop");
    stop_all();
}

static bool
depends(const struct settings *before, const struct settings *now)
{
    return before->worker_connections != now->worker_connections;
}

static bool
another_pid(void)
{
    return first()->pid != 0 && first()->pid != t.pid && first()->ready;
}

/* A reload: only what depends on a changed setting is started again. */
static void
roles_live_through_reloads(void **state)
{
    static const struct role picky = {
        .name = "picky", .count = 1, .start = start_good, .changed = depends
    };
    struct settings other = *t.generation.settings;
    struct generation next = { .number = 2, .settings = &other };

    (void)state;
    children_start_role(&t.children, &t.generation, &picky);
    wait_for(all_ready, 5000);
    t.pid = first()->pid;
    children_move_role(&t.children, &picky, &next);
    assert_ptr_equal(first()->generation, &next);
    assert_false(first()->restarts);
    children_move_role(&t.children, &picky, &t.generation);
    other.worker_connections = 77;
    children_move_role(&t.children, &picky, &next);
    assert_true(first()->restarts);
    wait_for(another_pid, 5000);
    assert_int_equal(atomic_load(&slot_card(first()->slot)->generation), 2);
    assert_false(first()->restarts);
    stop_all();
}

/* ---- which of them run ---- */

static bool
wants_many(const struct settings *s)
{
    return s->worker_connections >= 100;
}

static void
describe(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%lld", (long long)s->worker_connections);
}

/* Handed what describe() wrote, and nobody's settings. */
static int
start_told(const struct role_process *p, void **state, struct errmsg *err)
{
    (void)err;
    *state = t.told;
    atomic_fetch_or(t.told, p->description.len > 0 ? 1 << p->index : 0);
    return p->settings == NULL ? 0 : -1;
}

static void
configure(void *state, struct str description)
{
    _Atomic int *said = state;

    *said = str_eq(description, STR("99")) ? 99 : -1;
}

static const struct role sometimes[] = {
    { "early", 1, .first = true, .wanted = wants_many, .start = start_good },
    { .name = "told",
      .count = 2,
      .start = start_told,
      .describe = describe,
      .configure = configure },
    { .name = NULL },
};
static const struct module picked = { .name = "picked", .roles = sometimes };
static const struct module *const table[] = { &picked, NULL };

static void
first_roles_start_first_and_only_when_wanted(void **state)
{
    struct settings many = *t.generation.settings, few = many;
    struct generation g = { .number = 2, .settings = &many };
    struct generation next = { .number = 3, .settings = &few };

    (void)state;
    many.worker_connections = 100;
    few.worker_connections = 99;
    assert_int_equal(role_table_count(table), 5); /* with keeper, channel */
    role_table_start(&t.children, table, &g, true);
    assert_int_equal(children_running(&t.children, CHILD_ROLES), 1);
    assert_false(role_table_first_ready(&t.children, &g));
    assert_true(role_table_first_ready(&t.children, &next));
    wait_for(all_ready, 5000);
    assert_true(role_table_first_ready(&t.children, &g));
    role_table_start(&t.children, table, &g, false);
    role_table_start(&t.children, table, &g, false);
    assert_int_equal(children_running(&t.children, CHILD_ROLES), 3);
    wait_for(all_ready, 5000);
    assert_int_equal(atomic_load(t.told), 1 + 2); /* each has a number */
    assert_true(children_has_role(&t.children, &sometimes[0]));
    role_table_move(&t.children, table, &next);
    assert_false(children_has_role(&t.children, &sometimes[0]));
    assert_true(children_has_role(&t.children, &sometimes[1]));
    wait_for(one_gone, 5000);
    role_table_move(&t.children, table, &g);
    assert_true(children_has_role(&t.children, &sometimes[0]));
    stop_all();
}

static bool
was_told(void)
{
    return atomic_load(t.told) == 99;
}

/* Its process sees only what it was forked with, so it is told. */
static void
a_running_role_is_told_of_new_settings(void **state)
{
    struct settings now = *t.generation.settings, new = now;
    struct generation g = { .number = 2, .settings = &now };
    struct generation next = { .number = 3, .settings = &new };

    (void)state;
    new.worker_connections = 99;
    children_start_role(&t.children, &g, &sometimes[1]);
    wait_for(all_ready, 5000);
    children_move_role(&t.children, &sometimes[1], &g); /* nothing is new */
    children_move_role(&t.children, &sometimes[1], &next);
    wait_for(was_told, 5000);
    assert_int_equal(t.gone, 0);
    stop_all();
}

static void
an_idle_child_is_not_stuck(void **state)
{
    struct watchdog dog;
    int64_t end = clock_ms() + 2500;

    (void)state;
    children_start_role(&t.children, &t.generation, &good);
    wait_for(all_ready, 5000);
    watchdog_start(&dog, &t.children, 1000);
    while (clock_ms() < end) {
        loop_turn(t.loop, 10);
    }
    assert_int_equal(t.gone, 0);
    watchdog_stop(&dog);
    stop_all();
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(roles_say_ready_and_end_when_told, begin),
        cmocka_unit_test_setup(a_killed_child_is_back_at_once, begin),
        cmocka_unit_test_setup(what_failed_before_is_forgiven, begin),
        cmocka_unit_test_setup(
            a_child_that_cannot_start_says_why_and_is_given_time, begin),
        cmocka_unit_test_setup(a_stuck_child_is_killed, begin),
        cmocka_unit_test_setup(an_idle_child_is_not_stuck, begin),
        cmocka_unit_test_setup(a_stopped_child_is_killed, begin),
        cmocka_unit_test_setup(one_that_keeps_dying_is_known, begin),
        cmocka_unit_test_setup(roles_live_through_reloads, begin),
        cmocka_unit_test_setup(first_roles_start_first_and_only_when_wanted,
                               begin),
        cmocka_unit_test_setup(a_running_role_is_told_of_new_settings, begin),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
