/*
 * Signals as events.
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

#include <unistd.h>

#include "event/signals.h"

struct seen {
    int term, hup;
    struct signals **free_at; /* what on_signal frees */
};

static void
on_signal(void *arg, int number)
{
    struct seen *s = arg;

    s->term += number == SIGTERM;
    s->hup += number == SIGHUP;
    if (s->free_at != NULL) {
        signals_free(s->free_at);
    }
}

static void
each_is_told(void **state)
{
    struct errmsg err;
    struct seen seen = { 0 };
    struct loop *l = loop_new(&err);
    sigset_t set;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    struct signals *s = signals_new(l, &set, on_signal, &seen, &err);

    assert_non_null(s);
    loop_turn(l, 0);
    assert_int_equal(seen.term + seen.hup, 0);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGHUP);
    loop_turn(l, 1000);
    assert_int_equal(seen.term, 1);
    assert_int_equal(seen.hup, 1);

    seen.free_at = &s;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGHUP);
    loop_turn(l, 1000);
    assert_null(s);
    assert_int_equal(seen.term + seen.hup, 3);
    loop_turn(l, 0);
    kill(getpid(), SIGTERM); /* late: must not kill */
    loop_free(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
