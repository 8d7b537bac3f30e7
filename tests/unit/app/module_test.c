/*
 * Finding modules by name, and names that two of them have.
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

#include <string.h>

#include "app/control/control.h"
#include "app/control/verb.h"
#include "app/metrics/metrics.h"
#include "app/module.h"
#include "proc/metric.h"

static void
every_module_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; modules[i] != NULL; i++) {
        assert_ptr_equal(module_find(str_from(modules[i]->name)), modules[i]);
        assert_non_null(modules[i]->about);
    }
    assert_null(module_find(STR("")));
    assert_null(module_find(STR("hell")));
    assert_null(module_find(STR("hello ")));
}

static void
a_slip_is_told_the_nearest_name(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(module_unknown(STR("helo"), &err), -1);
    assert_non_null(strstr(err.text, "\"helo\""));
    assert_non_null(strstr(err.text, "did you mean \"hello\"?"));
    assert_int_equal(module_unknown(STR("transcoding"), &err), -1);
    assert_null(strstr(err.text, "did you mean"));
}

/* ---- names that two have ---- */

static const struct control_verb verbs[] = { { .words = "say" },
                                             { .words = "say more" },
                                             { .words = NULL } };
static const struct control_verb more[] = { { .words = "say more" },
                                            { .words = NULL } };
static struct metric metrics[] = { { .name = "weir_a_total" }, METRIC_END };
static const struct conf_key keys[] = { { .name = "block" }, CONF_END };

static const struct own_names none = { .command = NULL };

static void
refuses(const struct module *a, const struct module *b, const char *words)
{
    const struct module *table[] = { a, b, NULL };
    struct errmsg err;

    assert_int_equal(module_check_table(table, &none, &err), -1);
    assert_non_null(strstr(err.text, "first"));
    assert_non_null(strstr(err.text, "second"));
    if (strstr(err.text, words) == NULL) {
        fail_msg("not said: %s\nbut: %s", words, err.text);
    }
}

static void
what_two_modules_have_is_told(void **state)
{
    struct module a = { .name = "a", .about = "first", .publish = "key" };
    struct module b = { .name = "b", .about = "second" };
    const struct module *good[] = { &a, &b, NULL };
    struct errmsg err;

    (void)state;
    a.verbs = verbs;
    a.metrics = metrics;
    a.root.keys = a.application.keys = keys;
    assert_int_equal(module_check_table(good, &none, &err), 0);
    b.name = "a";
    refuses(&a, &b, "the name \"a\"");
    b = (struct module){ .name = "b", .about = "second", .verbs = more };
    refuses(&b, &a, "the command \"say more\"");
    b = (struct module){ .name = "b", .about = "second", .metrics = metrics };
    refuses(&a, &b, "the metric \"weir_a_total\"");
    b = (struct module){ .name = "b", .about = "second", .root.keys = keys };
    refuses(&a, &b, "the setting \"block\"");
    b = (struct module){ .name = "b",
                         .about = "second",
                         .application.keys = keys };
    refuses(&a, &b, "the setting of an application \"block\"");
    b = (struct module){ .name = "b", .about = "second", .publish = "key" };
    refuses(&a, &b, "the value of publish \"key\"");
}

/* ---- names that weir has ---- */

static void
is_own(const struct module *m, const char *words)
{
    const struct module *table[] = { m, NULL };
    struct errmsg err;

    assert_int_equal(module_check_table(table, &control_own_names, &err), -1);
    if (strstr(err.text, "module \"a\" (first) has the ") != err.text ||
        strstr(err.text, words) == NULL ||
        strstr(err.text, ", which is weir's own") == NULL) {
        fail_msg("not said: %s\nbut: %s", words, err.text);
    }
}

/* A module that has one row more, which is name. */
static void
is_own_row(const char *name, const char *words, bool application)
{
    const struct conf_key rows[] = { { .name = "mine" },
                                     { .name = name },
                                     CONF_END };
    struct module m = { .name = "a", .about = "first" };

    if (application) {
        m.application.keys = rows;
    } else {
        m.root.keys = rows;
    }
    is_own(&m, words);
}

static void
what_is_weirs_own_is_told(void **state)
{
    static const struct control_verb own_verbs[] = { { .words = "mine" },
                                                     { .words = "show config" },
                                                     { .words = NULL } };
    static struct metric own_metrics[] = { { .name = "weir_mine" },
                                           { .name = "weir_generation" },
                                           METRIC_END };
    static struct metric last[] = { { .name = NULL }, METRIC_END };
    struct errmsg err;
    size_t count = 0;

    (void)state;
    is_own(
        &(struct module){ .name = "a", .about = "first", .verbs = own_verbs },
        "the command \"show config\"");
    is_own(&(struct module){ .name = "a",
                             .about = "first",
                             .metrics = own_metrics },
           "the metric \"weir_generation\"");
    while (metrics_own_name(count) != NULL) {
        last[0].name = metrics_own_name(count++);
    }
    assert_true(count > 50);
    is_own(&(struct module){ .name = "a", .about = "first", .metrics = last },
           last[0].name);
    is_own(&(struct module){ .name = "a", .about = "first", .publish = "open" },
           "the value of publish \"open\"");
    is_own_row("http", "the setting \"http\"", false);
    is_own_row("worker_processes", "the setting \"worker_processes\"", false);
    is_own_row("publish", "the setting of an application \"publish\"", true);
    is_own_row("name", "the setting of an application \"name\"", true);
    assert_int_equal(module_check_table(modules, &control_own_names, &err), 0);
}

/* Rows that are not written in the file are in nobody's way. */
static void
unwritten_rows_are_not_names(void **state)
{
    static const struct conf_key rows[] = { { .name = "where" },
                                            { .name = "modules" },
                                            CONF_END };
    const struct module m = { .name = "a",
                              .about = "first",
                              .root.keys = rows };
    const struct module *table[] = { &m, NULL };
    struct errmsg err;

    (void)state;
    assert_int_equal(module_check_table(table, &control_own_names, &err), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_module_is_found_by_its_name),
        cmocka_unit_test(a_slip_is_told_the_nearest_name),
        cmocka_unit_test(what_two_modules_have_is_told),
        cmocka_unit_test(what_is_weirs_own_is_told),
        cmocka_unit_test(unwritten_rows_are_not_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
