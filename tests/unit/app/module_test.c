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

#include "app/control/verb.h"
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

static void
refuses(const struct module *a, const struct module *b, const char *words)
{
    const struct module *table[] = { a, b, NULL };
    struct errmsg err;

    assert_int_equal(module_check_table(table, &err), -1);
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
    assert_int_equal(module_check_table(good, &err), 0);
    assert_int_equal(module_check_table(modules, &err), 0);
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

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_module_is_found_by_its_name),
        cmocka_unit_test(a_slip_is_told_the_nearest_name),
        cmocka_unit_test(what_two_modules_have_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
