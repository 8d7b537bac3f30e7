/*
 * Facts on a pipe.
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

#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static int
begin(void **state)
{
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(supervise_tell_open(ends[1]), 0);
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static const char *
told(void)
{
    static char text[4096];
    ssize_t n = read(ends[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void
test_lines(void **state)
{
    (void)state;
    supervise_tell("excess %s", "memory");
    supervise_tell("call %d %d", 41, 3);
    assert_string_equal(told(), "excess memory\ncall 41 3\n");
}

static void
test_too_long(void **state)
{
    (void)state;
    supervise_tell("%0*d", SUPERVISE_FACT - 1, 1);
    assert_string_equal(told(), "");
    supervise_tell("%0*d", SUPERVISE_FACT - 2, 1);
    assert_int_equal(strlen(told()), SUPERVISE_FACT - 1);
}

/* Nobody reads. */
static void
test_full(void **state)
{
    (void)state;
    while (write(ends[1], "x", 1) == 1) {
    }
    assert_int_equal(errno, EAGAIN);
    supervise_tell("excess memory");
}

/* A program that was executed meanwhile has nothing at that number. */
static void
test_it_is_no_programs(void **state)
{
    char script[64];
    int status;
    pid_t pid = fork();

    (void)state;
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        snprintf(script, sizeof(script), "test ! -e /proc/$$/fd/%d", ends[1]);
        execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(9);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, begin, finish),
        cmocka_unit_test_setup_teardown(test_too_long, begin, finish),
        cmocka_unit_test_setup_teardown(test_full, begin, finish),
        cmocka_unit_test_setup_teardown(test_it_is_no_programs, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
