/*
 * Rows of every type: what is taken and what is refused.
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

static void
test_lists(void **state)
{
    static const char *const forms[] = { "\"allow a\"", "[ \"allow a\" ]",
                                         "( \"allow a\" )" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[100];
        struct conf *c;
        const struct sample *s;

        snprintf(text, sizeof(text), "port = 1; access = %s;", forms[i]);
        c = help_load(text);
        s = conf_settings(c);
        assert_int_equal(s->access.count, 1);
        assert_string_equal(s->access.items[0].ptr, "allow a");
        conf_free(&c);
    }
    help_refused("port = 1; access = [ ];",
                 "t.conf:1: access must not be empty\n");
    help_refused("port = 1; access = 1;",
                 "t.conf:1: access must be a string or a list of strings, "
                 "not 1\n");
    help_refused("port = 1; access = { };",
                 "t.conf:1: access must be a string or a list of strings, "
                 "not a group\n");
    help_refused("port = 1; units = { name = \"a\"; tags = ( \"a\", \"b\", "
                 "\"c\" ); }",
                 "t.conf:1: units.tags must have 0 to 2 items, not 3\n");
}

static void
test_groups(void **state)
{
    static const char *const forms[] = { "{ name = \"a\"; }",
                                         "( { name = \"a\"; } )", "\"a\"",
                                         "[ \"a\" ]", "( \"a\" )" };

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char text[100];
        struct conf *c;
        const struct sample *s;
        const struct sample_unit *u;

        snprintf(text, sizeof(text), "port = 1; units = %s;", forms[i]);
        c = help_load(text);
        s = conf_settings(c);
        u = s->units.items;
        assert_int_equal(s->units.count, 1);
        assert_string_equal(u->name.ptr, "a");
        assert_int_equal(u->weight, 1);
        conf_free(&c);
    }
    help_refused("port = 1; units = ( ( \"a\" ), { name = \"\"; } );",
                 "t.conf:1: units must be a list of groups ( { ... }, { ... "
                 "} ), not a list\n"
                 "t.conf:1: units.name must be a string of 1 to 8 bytes, not "
                 "\"\"\n");
    help_refused("port = 1; live = \"x\";",
                 "t.conf:1: live must be a group { ... }, not \"x\"\n");
    help_refused("port = 1; live = ( { } );",
                 "t.conf:1: live must be a group { ... }, not a list\n");
}

static void
test_extra(void **state)
{
    struct conf *c =
        help_load("port = 1;\n"
                  "units = { name = \"a\"; layers = (\n"
                  "  \"echo\",\n"
                  "  { text = \"b\"; module = \"echo\"; times = 9; },\n"
                  "  { module = \"bare\"; },\n"
                  "  { } ); };");
    const struct sample *s = conf_settings(c);
    const struct sample_unit *u = s->units.items;
    const struct sample_layer *l = u->layers.items;
    const struct sample_echo *echo = l[0].module.settings;

    (void)state;
    assert_int_equal(u->layers.count, 4);
    assert_string_equal(l[0].module.name.ptr, "echo");
    assert_non_null(l[0].module.what);
    assert_string_equal(echo->text.ptr, "hi");
    echo = l[1].module.settings;
    assert_string_equal(echo->text.ptr, "b");
    assert_int_equal(echo->times, 9);
    assert_non_null(l[2].module.what);
    assert_null(l[2].module.settings);
    assert_null(l[3].module.what);
    assert_int_equal(l[3].module.name.len, 0);
    assert_int_equal(l[3].where.line, 6);
    conf_free(&c);
}

static void
test_extra_mistakes(void **state)
{
    (void)state;
    /* Unknown keys count both tables; with an unknown module none can be
     * told. */
    help_refused("port = 1;\n"
                 "units = { name = \"a\"; layers = (\n"
                 "  { module = \"echo\"; txt = \"b\"; modul = 1; },\n"
                 "  { module = \"ecoh\"; txt = 1; },\n"
                 "  { text = \"b\"; },\n"
                 "  { module = 5; },\n"
                 "  { module = \"\"; },\n"
                 "  { module = \"echo\"; times = 10; } ); };",
                 "t.conf:3: units.layers.txt is unknown, did you mean "
                 "\"text\"?\n"
                 "t.conf:3: units.layers.modul is unknown, did you mean "
                 "\"module\"?\n"
                 "t.conf:4: units.layers.module: there is no module "
                 "\"ecoh\"\n"
                 "t.conf:5: units.layers.text is unknown; there are: "
                 "module\n"
                 "t.conf:6: units.layers.module must be a string, not 5\n"
                 "t.conf:7: units.layers.module: there is no module \"\"\n"
                 "t.conf:8: units.layers.times must be a whole number from 1 "
                 "to 9, not 10\n");
}

static void
test_extra_with_own_row(void **state)
{
    struct conf *c = help_load("port = 1; store = { path = \"x\"; };");
    const struct sample *s = conf_settings(c);
    const struct sample_sqlite *db = s->store.extra.settings;

    (void)state;
    assert_string_equal(db->path.ptr, "x");
    conf_free(&c);
    c = help_load("port = 1; store = { backend = \"none\"; };");
    s = conf_settings(c);
    assert_int_equal(s->store.backend, 1);
    assert_null(s->store.extra.what);
    conf_free(&c);
    help_refused("port = 1; store = { backend = \"none\"; path = \"x\"; };",
                 "t.conf:1: store.path is unknown; there are: backend, "
                 "backend\n");
    help_refused("port = 1; store = { backend = \"sqlit\"; pfad = 1; };",
                 "t.conf:1: store.backend must be \"sqlite\" or \"none\", "
                 "not \"sqlit\"; did you mean \"sqlite\"?\n");
    help_refused("port = 1; live = { mode = \"none\"; };", /* like neither */
                 "t.conf:1: live.mode must be \"replace\" or \"refuse\", not "
                 "\"none\"\n");
}

static void
test_checks(void **state)
{
    struct conf *c;

    (void)state;
    help_refused("port = 1;\nlive = {\n hold = \"13s\"; };",
                 "t.conf:2: live: 13 s bring bad luck\n");
    /* The whole is not looked at while a part is wrong. */
    help_refused("port = 1;\nlive = {\n hold = \"13s\"; cache = 1; };",
                 "t.conf:3: live.cache must be true or false, not 1\n");
    help_refused("port = 1; user = \"xyz\";",
                 "t.conf:1: user must start with allow or deny, not "
                 "\"xyz\"\n");
    c = help_load("port = 1; user = \"\";"); /* as the default: nothing */
    conf_free(&c);
}

static void
test_secrets(void **state)
{
    (void)state;
    help_refused("port = 1;\ntoken = 77;\nsecrets = [ 88 ];\n"
                 "token = \"99\";",
                 "t.conf:2: token must be a string\n"
                 "t.conf:3: secrets must be a string or a list of strings\n"
                 "t.conf:4: token is set twice\n");
    help_refused("port = 1; token = \"a\\x00b\";",
                 "t.conf:1: token: ***: a string cannot hold a NUL byte\n");
}

static void
test_words(void **state)
{
    struct conf *c =
        help_load("port = 1; workers = \"auto\"; live = { gather = "
                  "\"inherit\"; memory = 5000000; mode = \"refuse\"; };");
    const struct sample *s = conf_settings(c);

    (void)state;
    assert_int_equal(s->workers, -1);
    assert_int_equal(s->live.gather, -2);
    assert_int_equal(s->live.memory, 5000000);
    assert_int_equal(s->live.mode, 1);
    conf_free(&c);
    help_refused("port = \"1\";", "t.conf:1: port must be a whole number from "
                                  "0 to 65535, not \"1\"\n");
    help_refused("port = 1; workers = -1;",
                 "t.conf:1: workers must be a whole number from 1 to 64 or "
                 "\"auto\", not -1\n");
    help_refused("port = 1; live = { hold = 10; };",
                 "t.conf:1: live.hold must be a time in ms, s, m, h or d, "
                 "such as \"10s\", from 0 to 1d, not 10\n");
    help_refused("port = 1; live = { memory = \"1M\"; };",
                 "t.conf:1: live.memory must be a size in bytes, or with k, "
                 "m or g, such as \"16M\", from 4M to 1024G, not \"1M\"\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_extra),
        cmocka_unit_test(test_extra_mistakes),
        cmocka_unit_test(test_extra_with_own_row),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
