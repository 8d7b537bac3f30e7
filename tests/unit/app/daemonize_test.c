/*
 * What the terminal gets to know of a daemon's start.
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

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/master/daemonize.h"

struct result {
    int status;
    char said[256]; /* on standard error */
};

/* Starts a daemon that does what daemon() does; waits for who started it. */
static struct result
start(void (*daemon)(void))
{
    struct result r = { .said = "" };
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct errmsg err;

        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (daemonize(&err) == 0) {
            daemon();
        }
        _exit(99);
    }
    close(ends[1]);
    while ((got = read(ends[0], r.said + n, sizeof(r.said) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    r.status = WEXITSTATUS(status);
    return r;
}

static void
is_ready(void)
{
    daemonize_tell(0, "");
    daemonize_tell(2, "this is too late");
}

static void
is_wrong(void)
{
    daemonize_tell(2, "there is no cheese");
}

static void
dies(void)
{
    _exit(0);
}

static char here[4096];
static pid_t session;

static void
looks_around(void)
{
    char now[4096];
    bool same = getcwd(now, sizeof(now)) != NULL && strcmp(now, here) == 0;

    daemonize_tell(same && getsid(0) != session ? 0 : 3, "");
}

static void
a_daemon_that_is_ready_is_no_news(void **state)
{
    struct result r = start(is_ready);

    (void)state;
    assert_int_equal(r.status, 0);
    assert_string_equal(r.said, "");
}

static void
a_daemon_that_cannot_start_says_why(void **state)
{
    struct result r = start(is_wrong);

    (void)state;
    assert_int_equal(r.status, 2);
    assert_string_equal(r.said, "weir: there is no cheese\n");
}

static void
a_daemon_that_dies_is_noticed(void **state)
{
    struct result r = start(dies);

    (void)state;
    assert_int_equal(r.status, 2);
    assert_string_equal(r.said, "weir: ended while it was starting\n");
}

static void
relative_paths_go_on_standing_where_they_stood(void **state)
{
    struct result r;

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    session = getsid(0);
    r = start(looks_around);
    assert_int_equal(r.status, 0);
}

static void
nothing_is_told_in_the_foreground(void **state)
{
    (void)state;
    daemonize_tell(2, "nobody listens");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_that_is_ready_is_no_news),
        cmocka_unit_test(a_daemon_that_cannot_start_says_why),
        cmocka_unit_test(a_daemon_that_dies_is_noticed),
        cmocka_unit_test(relative_paths_go_on_standing_where_they_stood),
        cmocka_unit_test(nothing_is_told_in_the_foreground),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
