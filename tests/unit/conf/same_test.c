/*
 * What a reload cannot change.
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

#include "help.h"

#include <string.h>

#include "base/mem.h"

/* What stands against a reload from one to the other; "": nothing. */
static void
tells(const struct conf *first, const struct conf *second, const char *expected)
{
    char *lines = NULL;
    int rc = conf_same_start(first, second, &lines);

    assert_int_equal(rc, expected[0] != '\0' ? -1 : 0);
    assert_string_equal(lines != NULL ? lines : "", expected);
    mem_free(&lines);
}

static void
differs(const char *a, const char *b, const char *expected)
{
    struct conf *first = help_load(a), *second = help_load(b);

    tells(first, second, expected);
    conf_free(&first);
    conf_free(&second);
}

static void
test_values(void **state)
{
    (void)state;
    differs("port = 1;", "port = 1;", "");
    differs("port = 1;", "port = 2; workers = 4; live = { hold = 0; };", "");
    differs("port = 1;", "port = 1; pid = \"x\";",
            "pid (from \"run/pid\" to \"x\")\n");
    differs("port = 1;", "port = 1; live = { memory = \"513M\"; };",
            "live.memory (from \"512M\" to \"513M\")\n");
    differs("port = 1;", "port = 1; live = { memory = \"512M\"; };", "");
    differs("port = 1;",
            "port = 1; live = { streams = 5; }; units = \"a\"; pid = \"x\";",
            "pid (from \"run/pid\" to \"x\")\n"
            "live.streams (from 4096 to 5)\n");
}

static void
test_groups(void **state)
{
    (void)state;
    /* By name: what comes and goes is no matter, nor the order. */
    differs("port = 1; units = ( \"a\", { name = \"b\"; weight = 2; } );",
            "port = 1; units = ( { name = \"b\"; weight = 2; }, \"c\", \"a\" "
            ");",
            "");
    differs("port = 1; units = ( \"a\", { name = \"b\"; weight = 2; } );",
            "port = 1; units = ( { name = \"b\"; weight = 3; } );",
            "units.weight (from 2 to 3)\n");
    differs("port = 1; units = { name = \"a\"; units = { name = \"b\"; "
            "weight = 2; }; };",
            "port = 1; units = { name = \"a\"; units = \"b\"; };",
            "units.units.weight (from 2 to 1)\n");
}

static void
test_extra(void **state)
{
    (void)state;
    differs("port = 1; units = { name = \"a\"; layers = \"echo\"; };",
            "port = 1; units = { name = \"a\"; layers = { module = "
            "\"echo\"; times = 2; }; };",
            "units.layers.times (from 1 to 2)\n");
    differs("port = 1; units = { name = \"a\"; layers = \"echo\"; };",
            "port = 1; units = { name = \"a\"; layers = { module = "
            "\"echo\"; text = \"x\"; }; };",
            "");
    differs("port = 1; units = { name = \"a\"; layers = \"echo\"; };",
            "port = 1; units = { name = \"a\"; layers = \"bare\"; };", "");
    differs("port = 1; units = { name = \"a\"; layers = \"echo\"; };",
            "port = 1; units = { name = \"a\"; };", "");
}

/* A whole block may be marked. */
#define NOTHING "units = ( );" /* a file has one setting at least */

static const struct conf_key marked[] = {
    { .name = "live",
      .type = CONF_GROUP,
      .offset = offsetof(struct sample, live),
      .keys = live_keys,
      .size = sizeof(struct sample_live),
      .preset = "",
      .change = CONF_RESTART },
    { .name = "units",
      .type = CONF_GROUPS,
      .offset = offsetof(struct sample, units),
      .shorthand = "name",
      .keys = unit_keys,
      .size = sizeof(struct sample_unit),
      .preset = "",
      .change = CONF_RESTART },
    CONF_END,
};

static void
marked_differs(const char *a, const char *b, const char *expected)
{
    struct conf *c[2];

    for (int i = 0; i < 2; i++) {
        char *mistakes;

        help_write("t.conf", str_from(i == 0 ? a : b));
        c[i] = conf_load("t.conf", marked, sizeof(struct sample), &mistakes);
        if (c[i] == NULL) {
            fail_msg("refused: %s", mistakes);
        }
    }
    tells(c[0], c[1], expected);
    conf_free(&c[0]);
    conf_free(&c[1]);
}

static void
test_marked_groups(void **state)
{
    (void)state;
    marked_differs(NOTHING, NOTHING, "");
    marked_differs(NOTHING, "live = { cache = false; };",
                   "live.cache (from true to false)\n");
    marked_differs(NOTHING, "live = { mode = \"refuse\"; };",
                   "live.mode (from \"replace\" to \"refuse\")\n");
    marked_differs(NOTHING, "units = \"a\";", "units\n");
    marked_differs("units = \"b\";", "units = \"a\";", "units\n");
    marked_differs("units = \"a\";", "units = { name = \"a\"; tags = \"x\"; };",
                   "units.tags\n");
    marked_differs("units = { name = \"a\"; tags = \"x\"; };",
                   "units = { name = \"a\"; tags = \"y\"; };", "units.tags\n");
    marked_differs("units = { name = \"a\"; layers = \"echo\"; };",
                   "units = { name = \"a\"; layers = \"bare\"; };",
                   "units.layers.module\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_extra),
        cmocka_unit_test(test_marked_groups),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
