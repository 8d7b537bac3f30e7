/*
 * Titles as ps shows them; the environment survives.
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

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/life.h"

static int saved_argc;
static char **saved_argv;

static void
shown_is(const char *expected)
{
    char shown[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t n = read(fd, shown, sizeof(shown) - 1);

    close(fd);
    assert_true(n >= 0);
    while (n > 0 && shown[n - 1] == '\0') {
        n--;
    }
    shown[n] = '\0';
    assert_int_equal(strlen(shown), n); /* nothing behind it */
    assert_string_equal(shown, expected);
}

static void
titles(void **state)
{
    const char *path = getenv("PATH");
    char before[4096] = "", huge[100000];

    (void)state;
    strncat(before, path != NULL ? path : "", sizeof(before) - 1);
    title_set("too early"); /* does nothing */
    title_init(saved_argc, saved_argv);
    title_set("weir: worker %d", 12);
    shown_is("weir: worker 12");
    title_set("weir: master");
    shown_is("weir: master");

    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    title_set("%s", huge); /* cut */
    title_set("weir: w");
    shown_is("weir: w");

    path = getenv("PATH");
    assert_string_equal(path != NULL ? path : "", before);
    assert_int_equal(setenv("WEIR_TEST", "1", 1), 0);
    assert_string_equal(getenv("WEIR_TEST"), "1");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(titles),
    };

    saved_argc = argc;
    saved_argv = argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
