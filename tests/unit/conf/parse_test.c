/*
 * Syntax errors, and the lines of what libconfig read.
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

#include <stdio.h>
#include <string.h>

static void
test_syntax_error_alone(void **state)
{
    (void)state;
    help_refused("workers = 99;\nport = 1\npid = ;\nfoo = 1;\n",
                 "t.conf:3: syntax error at ; in: pid = ;\n");
    help_refused("port = yes;", "t.conf:1: syntax error at yes (write true "
                                "or false) in: port = yes;\n");
    help_refused("port = 1;\nlive = { hold \"1s\"; };",
                 "t.conf:2: syntax error at \"1s\" (a setting is written "
                 "with \"=\": hold = ...) in: live = { hold \"1s\"; };\n");
    help_refused("port = 1;;", "t.conf:1: syntax error at ; in: port = "
                               "1;;\n");
    help_refused("port = 1;\nunits = ( { name = \"a\"; }\n"
                 "  { name = \"b\"; } );",
                 "t.conf:3: syntax error at { (is a comma missing?) in: "
                 "{ name = \"b\"; } );\n");
    help_refused("port =\n\n", "t.conf:1: syntax error at the end of the "
                               "file\n");
    help_refused("access = [ \"allow a\", 5 ];",
                 "t.conf:1: mismatched element type in array at 5 in: access "
                 "= [ \"allow a\", 5 ];\n");
    help_refused("access = [ 5, \"allow a\" ];",
                 "t.conf:1: mismatched element type in array at ] in: access "
                 "= [ 5, \"allow a\" ];\n");
    help_refused_bytes(STR("port = 1;\n \xff\x01\tx = 1;"),
                       "t.conf:2: syntax error at ? in: ??\?x = 1;\n");
}

#define GROUPS "groups stand in ( ): ( { ... }, { ... } ); [ ] is for values"
#define EACH "settings stand in groups, each in { }: ( { ... }, { ... } )"
#define VALUES                                                              \
    "values stand in [ ], groups in ( ): ( { ... }, { ... } ); { } is for " \
    "settings, NAME = ..."
#define AROUND \
    "a file holds settings, NAME = ..., without brackets around all of them"

/* A wrong bracket: what it is for, and which one is wanted. */
static void
test_brackets(void **state)
{
    static const struct {
        const char *text, *at, *hint;
    } rows[] = {
        { "units = [ { name = \"a\"; } ];", "{", GROUPS },
        { "live = { hold = 1; units = [ { a = 1; } ]; };", "{", GROUPS },
        { "units = [ \"a\", { name = \"b\"; } ];", "{", GROUPS },
        { "units = [ name = \"a\" ];", "name", GROUPS },
        { "units = [ ( \"a\" ) ];", "(", GROUPS },
        { "access = [ [ \"a\" ] ];", "[", GROUPS },
        { "live = [ { hold = [ 1 ]; } ];", "{", GROUPS },
        { "units = ( name = \"a\"; );", "name", EACH },
        { "units = ( { name = \"a\"; }, name : \"b\" );", "name", EACH },
        { "access = { \"a\", \"b\" };", "\"a\"", VALUES },
        { "access = { 5 };", "5", VALUES },
        { "units = { { name = \"a\"; } };", "{", VALUES },
        { "live = { hold = 1; ( 5 ); };", "(", VALUES },
        { "units = ( { name = \"a\"; } { b = 1; } );", "{",
          "is a comma missing?" },
        { "units = ( { name = \"a\"; }; { b = 1; } );", ";",
          "a comma parts what stands in ( ) or [ ]" },
        { "access = [ \"a\"; \"b\" ];", ";",
          "a comma parts what stands in ( ) or [ ]" },
        { "access = [ \"a\", ];", "]", "no comma stands behind the last one" },
        { "units = ( { a = 1; }, );", ")",
          "no comma stands behind the last one" },
        { "{ port = 1; }", "{", AROUND },
        { "port = 1; ( { port = 1; } );", "(", AROUND },
        { "live = { \"hold\" = 1; };", "\"hold\"",
          "names stand without quotes" },
        { "\"port\": 1;", "\"port\"", "names stand without quotes" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char said[512];

        snprintf(said, sizeof(said),
                 "t.conf:1: syntax error at %s (%s) in: "
                 "%s\n",
                 rows[i].at, rows[i].hint, rows[i].text);
        help_refused(rows[i].text, said);
    }
}

/* A syntax error and what was seen before parsing. */
static void
test_syntax_error_and_bad_values(void **state)
{
    (void)state;
    help_refused("port = 3000000000;\nx = ;\n",
                 "t.conf:1: a whole number over 32 bits needs an L behind "
                 "it\n"
                 "t.conf:2: syntax error at ; in: x = ;\n");
}

static void
test_lines(void **state)
{
    struct conf *c = help_load("port\n=\n1\n;\n"
                               "live\n=\n{\nhold = 0\n;\n}\n"
                               "units = (\n"               /* 11 */
                               "\n\"a\"\n\n,\n"            /* 13 */
                               "{\nname = \"b\"\n}\n,\n\n" /* 16 */
                               "\"c\"\n\n/* \n */\n)\n");  /* 21 */
    const struct sample *s = conf_settings(c);
    const struct sample_unit *units = s->units.items;

    (void)state;
    assert_int_equal(s->live.where.line, 5);
    assert_int_equal(units[0].where.line, 13);
    assert_int_equal(units[1].where.line, 16);
    assert_int_equal(units[2].where.line, 21);
    conf_free(&c);
}

static void
test_lines_of_items(void **state)
{
    (void)state;
    help_refused("port = 1; access = (\n"
                 "\"x\"\n\n,\n5,\n"
                 "true\n\n,\n{\n}\n,\n[\n1]\n,\n\"y\"\n\n)",
                 "t.conf:2: access must start with allow or deny, not "
                 "\"x\"\n"
                 "t.conf:5: access must be a string or a list of strings, "
                 "not 5\n"
                 "t.conf:6: access must be a string or a list of strings, "
                 "not true\n"
                 "t.conf:9: access must be a string or a list of strings, "
                 "not a group\n"
                 "t.conf:12: access must be a string or a list of strings, "
                 "not a list\n"
                 "t.conf:15: access must start with allow or deny, not "
                 "\"y\"\n");
}

static void
test_twice(void **state)
{
    (void)state;
    help_refused("port = 1;\nport = 2;\nlive = { hold = 0;\nhold = \"x\";\n"
                 "hold = 0; };\nlive = 5;\nworkers = 0;",
                 "t.conf:2: port is set twice\n"
                 "t.conf:4: live.hold is set twice\n"
                 "t.conf:5: live.hold is set twice\n"
                 "t.conf:6: live is set twice\n"
                 "t.conf:7: workers must be a whole number from 1 to 64 or "
                 "\"auto\", not 0\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax_error_alone),
        cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_syntax_error_and_bad_values),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_of_items),
        cmocka_unit_test(test_twice),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
