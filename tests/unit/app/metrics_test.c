/*
 * All tables of metrics together: their names, types and labels.
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
#include <string.h>

#include "app/metrics/metrics.h"
#include "http/metrics.h"
#include "proc/slot.h"

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(2, &err) == -1) {
        return -1;
    }
    metrics_register(modules);
    return metrics_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    metrics_destroy();
    slots_destroy();
    return 0;
}

/* Calls f for each; n counts them. */
static unsigned
each(void (*f)(const struct metric *m))
{
    unsigned n = 0;

    for (unsigned i = 0; metric_table(i) != NULL; i++) {
        for (const struct metric *m = metric_table(i); m->name != NULL; m++) {
            f(m);
            n++;
        }
    }
    return n;
}

static void
assert_named_well(const struct metric *m)
{
    struct str name = str_from(m->name);
    bool total = str_ends(name, STR("_total"));

    for (size_t i = 0; i < name.len; i++) {
        assert_true((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') ||
                    name.ptr[i] == '_');
    }
    assert_true(str_starts(name, STR("weir_")) ||
                str_starts(name, STR("process_")));
    assert_int_equal(total, m->type == METRIC_COUNTER);
    assert_non_null(m->help);
    assert_true(str_ends(str_from(m->help), STR(".")));
    assert_int_equal(m->bounds != NULL, m->type == METRIC_HISTOGRAM);
}

/* Every place has a text, no two the same; lists grow, and are left out. */
static void
assert_labelled_well(const struct metric *m)
{
    for (int k = 0; k < METRIC_LABELS; k++) {
        const struct metric_label *l = &m->labels[k];
        char seen[64][64] = { { 0 } };
        unsigned count = l->count <= 64 ? l->count : 0;

        for (unsigned i = 0; i < count; i++) {
            const char *text = l->value(i);

            if (text == NULL) { /* "nothing is wrong", or a list's end */
                continue;
            }
            str_copy(seen[i], sizeof(seen[i]), str_from(text));
            for (unsigned j = 0; j < i; j++) {
                assert_string_not_equal(seen[i], seen[j]);
            }
        }
    }
}

static void
assert_ascending(const struct metric *m)
{
    for (unsigned i = 1; i < m->bound_count; i++) {
        assert_true(m->bounds[i] > m->bounds[i - 1]);
    }
}

static void
test_tables(void **state)
{
    (void)state;
    assert_in_range(each(assert_named_well), 40, 500);
    each(assert_labelled_well);
    each(assert_ascending);
}

/* No two metrics share a cell. */
static void
test_cells(void **state)
{
    uint32_t next = 1;

    (void)state;
    for (unsigned i = 0; metric_table(i) != NULL; i++) {
        for (const struct metric *m = metric_table(i); m->name != NULL; m++) {
            assert_int_equal(m->first, m->collect == NULL ? next : 0);
            next += metric_cells(m);
        }
    }
}

static void
test_reloads(void **state)
{
    (void)state;
    metrics_reload(true);
    metrics_reload(false);
    metrics_reload(false);
    assert_int_equal(metric_sum(&app_metrics[APP_RELOADS], 0), 1);
    assert_int_equal(metric_sum(&app_metrics[APP_RELOADS], 1), 2);
    assert_int_equal(metric_sum(&app_metrics[APP_RELOAD_OK], 0), 0);
}

/* Children can write what they like there: a sum of that is a number still. */
static void
test_nonsense(void **state)
{
    const struct metric *rtmp = &app_metrics[APP_RTMP_BYTES];
    uint64_t in, out;

    (void)state;
    metric_set(&http_metrics[HTTP_BYTES], METRIC_IN, INT64_MAX);
    metric_set(rtmp, metric_at(rtmp, METRIC_IN, 0, 0), INT64_MAX);
    metric_add(rtmp, metric_at(rtmp, METRIC_IN, 0, 0), 2);
    metrics_wire_bytes(&in, &out);
    assert_true(in == (uint64_t)INT64_MAX + (uint64_t)INT64_MAX + 2);
    assert_true(out == 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_tables),
        TEST(test_cells),
        TEST(test_reloads),
        TEST(test_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
