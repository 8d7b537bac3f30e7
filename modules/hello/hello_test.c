/*
 * The settings of modules/hello, as weir fills them from its rows.
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
#include <unistd.h>

#include "app/module.h"
#include "base/mem.h"

extern const struct module hello_module;

/* Loads a file with that text; the mistakes go to *mistakes. */
static struct conf *
load(const char *text, char **mistakes)
{
    char path[] = "/tmp/hello_test.XXXXXX";
    int fd = mkstemp(path);
    struct conf *c;

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    c = conf_load(path, hello_module.keys, hello_module.settings_size,
                  mistakes);
    unlink(path);
    return c;
}

/* Starts and stops a layer with these settings. */
static int
run_layer(const char *text)
{
    char *mistakes = NULL;
    struct conf *c = load(text, &mistakes);
    struct module_layer layer = { .location = STR("/") };
    struct errmsg err;
    void *state = NULL;
    int status;

    assert_non_null(c);
    layer.settings = conf_settings(c);
    status = hello_module.start(&layer, &state, NULL, &err);
    assert_non_null(state);
    hello_module.stop(state);
    conf_free(&c);
    return status;
}

static void
test_defaults_are_enough(void **state)
{
    (void)state;
    assert_int_equal(run_layer("repeat = 1;"), 0);
}

static void
test_largest_answer_fits(void **state)
{
    char text[256];
    char greeting[101];

    (void)state;
    memset(greeting, 'x', 100);
    greeting[100] = '\0';
    snprintf(text, sizeof(text), "greeting = \"%s\"; repeat = 9;\n", greeting);
    assert_int_equal(run_layer(text), 0);
}

static void
test_bounds(void **state)
{
    static const char *const wrong[] = { "repeat = 0;", "repeat = 10;",
                                         "repeat = \"1\";", "greeting = \"\";",
                                         "x = 1;" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *mistakes = NULL;

        assert_null(load(wrong[i], &mistakes));
        assert_non_null(strstr(mistakes, ":1: "));
        mem_free(&mistakes);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_enough),
        cmocka_unit_test(test_largest_answer_fits),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
