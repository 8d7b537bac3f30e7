/*
 * Which roles fail, for how long, and whom a role that is back starts again.
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
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/channel_role.h"
#include "app/master/role_failure.h"
#include "app/roles.h"
#include "app/store_role.h"
#include "base/log.h"

enum { COUNT = 3 };

static struct {
    struct loop *loop;
    struct children all;
    struct child each[COUNT];
} t;

static void
lose_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
again(struct timer *timer)
{
    (void)timer;
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    log_set_sink(lose_line, NULL);
    t.loop = loop_new(&err);
    return t.loop == NULL ? -1 : roles_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    roles_destroy();
    loop_free(&t.loop);
    log_set_sink(NULL, NULL);
    return 0;
}

/* Children of that role, which run and are READY. */
static int
begin(void **state)
{
    (void)state;
    t.all = (struct children){ .loop = t.loop };
    list_init(&t.all.list);
    for (uint32_t i = 0; i < COUNT; i++) {
        t.each[i] = (struct child){ .all = &t.all,
                                    .role = &channel_roles[0],
                                    .index = i,
                                    .keep = true,
                                    .ready = true };
        timer_init(&t.each[i].again, again);
        list_append(&t.all.list, &t.each[i].link);
    }
    roles_set_failing(&channel_roles[0], false);
    roles_set_failing(&store_roles[0], false);
    return 0;
}

static bool
fails(void)
{
    return roles_is_failing(&channel_roles[0]);
}

/* ---- while it fails ---- */

static void
a_role_fails_while_one_process_does(void **state)
{
    (void)state;
    role_fails(&t.each[0], "no way");
    role_fails(&t.each[1], "no way");
    assert_true(fails());
    role_is_well(&t.each[0]);
    assert_true(fails());
    role_is_well(&t.each[2]); /* which did not fail */
    assert_true(fails());
    role_is_well(&t.each[1]);
    assert_false(fails());
    assert_string_equal(t.each[1].why.text, "");
}

static void
others_of_its_name_alone_count(void **state)
{
    (void)state;
    t.each[1].role = &store_roles[0];
    role_fails(&t.each[0], "no way");
    role_fails(&t.each[1], "no way");
    role_is_well(&t.each[0]);
    assert_false(fails());
    assert_true(roles_is_failing(&store_roles[0]));
}

static void
one_that_was_not_ready_fails(void **state)
{
    (void)state;
    t.each[0].ready = false;
    role_judge_end(&t.each[0]);
    assert_true(fails());
    assert_non_null(strstr(t.each[0].why.text, "before it was ready"));
    role_judge_ready(&t.each[0]);
    assert_false(fails());
}

/* READY is not enough for it: it has been that each time. */
static void
one_that_ends_soon_has_to_live_first(void **state)
{
    struct child *c = &t.each[0];

    (void)state;
    c->attempt = 100;
    role_judge_end(c);
    assert_true(fails());
    assert_false(role_judge_ready(c));
    assert_true(fails());
    assert_true(timer_is_set(&c->again));
    timer_stop(t.loop, &c->again);
    role_is_well(c);
    assert_false(fails());
}

static void
one_that_was_asked_to_end_does_not_fail(void **state)
{
    (void)state;
    t.each[0].ready = t.each[0].keep = false;
    role_judge_end(&t.each[0]);
    t.each[1].ready = false;
    t.each[1].restarts = true;
    role_judge_end(&t.each[1]);
    assert_false(fails());
}

static void
all_that_are_late_fail(void **state)
{
    (void)state;
    t.each[1].ready = false;
    role_failure_late(&t.all);
    assert_true(fails() && t.each[1].failed);
    assert_false(t.each[0].failed || t.each[2].failed);
}

/* ---- a role on which others wait ---- */

static pid_t
begin_process(void)
{
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        alarm(600);
        pause();
        _exit(1);
    }
    return pid;
}

static void
those_without_it_start_again(void **state)
{
    static const struct role waits = { .name = "waits", .count = 1 };
    struct child *first = &t.each[0], *with = &t.each[1], *without = &t.each[2];
    int status;

    (void)state;
    with->role = without->role = &waits;
    first->role = &store_roles[0];
    role_note_lack(with);
    assert_false(with->lacks);
    role_fails(first, "no disk");
    role_note_lack(without);
    assert_true(without->lacks);
    with->pid = begin_process();
    without->pid = begin_process();
    assert_true(role_judge_ready(first)); /* workers come by a reload */
    assert_true(without->restarts);
    assert_int_equal(waitpid(without->pid, &status, 0), without->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_false(with->restarts);
    assert_int_equal(kill(with->pid, SIGKILL), 0);
    assert_int_equal(waitpid(with->pid, &status, 0), with->pid);
    assert_int_equal(WTERMSIG(status), SIGKILL); /* by nobody before */
    role_note_lack(without);
    assert_false(without->lacks);
}

/* It was well before: nobody lacks it. */
static void
one_that_did_not_fail_replaces_nobody(void **state)
{
    static const struct role plain = { .name = "plain", .count = 1 };

    (void)state;
    t.each[0].role = &store_roles[0];
    assert_false(role_judge_ready(&t.each[0]));
    t.each[1].role = &plain;
    role_fails(&t.each[1], "no way"); /* no first role */
    role_note_lack(&t.each[2]);
    assert_false(t.each[2].lacks);
    assert_false(role_judge_ready(&t.each[1]));
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_role_fails_while_one_process_does),
        TEST(others_of_its_name_alone_count),
        TEST(one_that_was_not_ready_fails),
        TEST(one_that_ends_soon_has_to_live_first),
        TEST(one_that_was_asked_to_end_does_not_fail),
        TEST(all_that_are_late_fail),
        TEST(those_without_it_start_again),
        TEST(one_that_did_not_fail_replaces_nobody),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
