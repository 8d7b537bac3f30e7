/*
 * Loading a whole file: defaults, values, all mistakes at once.
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

static const struct sample *
settings(const struct conf *c)
{
    return conf_settings(c);
}

static void
test_defaults(void **state)
{
    struct conf *c = help_load("port = 80;");
    const struct sample *s = settings(c);
    const struct sample_sqlite *db = s->store.extra.settings;

    (void)state;
    assert_int_equal(s->port, 80);
    assert_int_equal(s->workers, -1);
    assert_string_equal(s->pid.ptr, "run/pid");
    assert_int_equal(s->user.len, 0);
    assert_int_equal(s->access.count, 2);
    assert_string_equal(s->access.items[0].ptr, "deny x");
    assert_string_equal(s->access.items[1].ptr, "allow all");
    assert_int_equal(s->secrets.count, 0);
    assert_int_equal(s->live.memory, 512 << 20);
    assert_int_equal(s->live.hold, 10000);
    assert_int_equal(s->live.gather, -1);
    assert_true(s->live.cache);
    assert_int_equal(s->live.mode, 0);
    assert_int_equal(s->units.count, 0);
    assert_string_equal(s->live.where.file, "t.conf");
    assert_int_equal(s->live.where.line, 1);
    assert_string_equal(db->path.ptr, "run/db");
    assert_non_null(conf_pool(c));
    conf_free(&c);
    assert_null(c);
    conf_free(&c);
}

static void
test_all_mistakes(void **state)
{
    (void)state;
    help_refused(
        "# a comment\n"
        "workers = 65;\n"
        "prot = 8080;\n"
        "live = { memory = 3000000000;\n"
        "  hold = \"13\"; cache = 1;\n"
        "  hold = \"7s\";\n"
        "  mode = \"replac\"; };\n"
        "units = ( { nme = \"b\"; },\n"
        "  \"c\" \"d\",\n"
        "  5 );\n",
        "t.conf:1: port is missing, it must be a whole number from 0 to "
        "65535\n"
        "t.conf:2: workers must be a whole number from 1 to 64 or \"auto\", "
        "not 65\n"
        "t.conf:3: prot is unknown, did you mean \"port\"?\n"
        "t.conf:4: live.memory: 3000000000: a whole number over 32 bits "
        "needs an L behind it\n"
        "t.conf:5: live.hold must be a time in ms, s, m, h or d, such as "
        "\"10s\", from 0 to 1d, not \"13\"\n"
        "t.conf:5: live.cache must be true or false, not 1\n"
        "t.conf:6: live.hold is set twice\n"
        "t.conf:7: live.mode must be \"replace\" or \"refuse\", not "
        "\"replac\"; did you mean \"replace\"?\n"
        "t.conf:8: units.name is missing, it must be a string of 1 to 8 "
        "bytes\n"
        "t.conf:8: units.nme is unknown, did you mean \"name\"?\n"
        "t.conf:9: units.name: \"d\": two strings side by side, is a comma "
        "missing?\n"
        "t.conf:10: units must be a list of groups ( { ... }, { ... } ), not "
        "5, or a text in quotes: \"5\"\n");
}

static void
test_no_file(void **state)
{
    char *mistakes;

    (void)state;
    assert_null(
        conf_load("none.conf", sample_keys, sizeof(struct sample), &mistakes));
    assert_string_equal(mistakes, "none.conf: cannot open: No such file or "
                                  "directory\n");
    mem_free(&mistakes);
    assert_null(conf_load("/", sample_keys, sizeof(struct sample), &mistakes));
    assert_string_equal(mistakes, "/: cannot read: Is a directory\n");
    mem_free(&mistakes);
}

static void
test_empty_file(void **state)
{
    (void)state;
    help_refused("", "t.conf:1: there is no setting in this file\n");
    help_refused("# nothing", "t.conf:1: there is no setting in this file\n");
}

/* As other programs want it. */
static void
test_habits(void **state)
{
    struct conf *c = help_load("\xef\xbb\xbfport = 80;"); /* a mark */

    (void)state;
    conf_free(&c);
    help_refused("worker_processes auto;",
                 "t.conf:1: syntax error at auto (a setting is written with "
                 "\"=\": worker_processes = ...) in: worker_processes "
                 "auto;\n");
    help_refused("a = {\n  listen 80; };",
                 "t.conf:2: syntax error at 80 (a setting is written with "
                 "\"=\": listen = ...) in: listen 80; };\n");
    help_refused("http {\n};", "t.conf:1: syntax error at { (a group is "
                               "written http = { ... };) in: http {\n");
    help_refused("gzip = on;", "t.conf:1: syntax error at on (write true or "
                               "false) in: gzip = on;\n");
    help_refused("level = info;",
                 "t.conf:1: syntax error at info (a text stands in quotes: "
                 "\"info\") in: level = info;\n");
}

/* Whatever else is wrong in the file, as long as it can be taken apart. */
static void
test_peek(void **state)
{
    char *value, *mistakes;

    (void)state;
    help_write("in.conf",
               STR("control = { mode = \"0600\"; socket = \"a\"; };"));
    help_write("t.conf", STR("prot = 1;\n@include \"in.conf\"\n"));
    assert_int_equal(conf_peek("t.conf", "control.socket", &value, &mistakes),
                     0);
    assert_string_equal(value, "a");
    mem_free(&value);
    assert_int_equal(conf_peek("t.conf", "control.x", &value, &mistakes), 0);
    assert_null(value);
    assert_int_equal(conf_peek("t.conf", "prot.x", &value, &mistakes), 0);
    assert_null(value);
    help_write("t.conf", STR("control = { socket = ;"));
    assert_int_equal(conf_peek("t.conf", "control.socket", &value, &mistakes),
                     -1);
    assert_non_null(strstr(mistakes, "t.conf:1: "));
    mem_free(&mistakes);
    assert_int_equal(conf_peek("none.conf", "a", &value, &mistakes), -1);
    assert_string_equal(mistakes, "none.conf: cannot open: No such file or "
                                  "directory\n");
    mem_free(&mistakes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_all_mistakes),
        cmocka_unit_test(test_no_file),  cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_habits),   cmocka_unit_test(test_peek),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
