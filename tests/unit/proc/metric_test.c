/*
 * Counting in several processes, adding up, and the text of it.
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

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/metric_text.h"
#include "proc/slot.h"
#include "region.h"

enum { PLAIN, LABELLED, OPEN, LASTED, APPS, RARE, ASKED };

static const char *
reason(unsigned i)
{
    static const char *const names[] = { "a", "b\"\\" };

    return names[i];
}

static void
collect(const struct metric *m, struct metric_out *out)
{
    metric_tell(out, m, "x=\"1\"", -1500);
    metric_tell(out, m, "x=\"2\"", 20000);
}

static unsigned looks;

static void
look(void)
{
    looks++;
}

static const int64_t bounds[] = { 10, 2500 };

static struct metric metrics[] = {
    [PLAIN] = { .name = "t_plain_total", .help = "Plain." },
    [LABELLED] = { .name = "t_labelled_total",
                   .help = "Labelled.",
                   .labels = { { "reason", reason, 2 }, METRIC_LABEL_DIR } },
    [OPEN] = { .name = "t_open", .help = "Open.", .type = METRIC_GAUGE },
    [LASTED] = { .name = "t_lasted_seconds",
                 .help = "Lasted.",
                 .type = METRIC_HISTOGRAM,
                 .bounds = bounds,
                 .bound_count = 2,
                 .unit = 1000 },
    [APPS] = { .name = "t_apps_total",
               .help = "Apps.",
               .labels = { METRIC_LABEL_APP } },
    [RARE] = { .name = "t_rare_total",
               .help = "Rare.",
               .labels = { { "reason", reason, 2 } },
               .sparse = true },
    [ASKED] = { .name = "t_asked",
                .look = look,
                .help = "Asked.",
                .type = METRIC_GAUGE,
                .unit = 1000,
                .collect = collect },
    METRIC_END,
};

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(4, &err) == -1) {
        return -1;
    }
    metric_register(metrics);
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

/* Runs work as the process of a slot, then ends or is killed. */
static void
in_process(uint32_t slot, void (*work)(void), bool killed)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(slot);
        metrics_set_self();
        work();
        if (killed) {
            raise(SIGKILL);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
count_some(void)
{
    metric_add(&metrics[PLAIN], 0, 5);
    metric_add(&metrics[OPEN], 0, 2);
    metric_observe(&metrics[LASTED], 0, 7);
}

static void
test_summed(void **state)
{
    (void)state;
    metric_add(&metrics[PLAIN], 0, 1);
    in_process(1, count_some, false);
    in_process(2, count_some, false);
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), 11);
    assert_int_equal(metric_sum(&metrics[OPEN], 0), 4);
    assert_int_equal(metric_sum(&metrics[LASTED], 0), 2);
    assert_int_equal(metric_sum(&metrics[LASTED], 3), 14);
}

/* What a killed process counted stays; what it had open does not. */
static void
test_swept(void **state)
{
    (void)state;
    in_process(1, count_some, true);
    assert_int_equal(metric_sum(&metrics[OPEN], 0), 2);
    metric_sweep(1);
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), 5);
    assert_int_equal(metric_sum(&metrics[OPEN], 0), 0);
    in_process(1, count_some, true); /* its successor in the slot goes on */
    metric_sweep(1);
    metric_sweep(3); /* never used */
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), 10);
    assert_int_equal(metric_sum(&metrics[LASTED], 0), 2);
}

static void
test_names(void **state)
{
    char name[METRIC_NAME_MAX + 1];

    (void)state;
    assert_int_equal(metric_name_find(METRIC_APPS, STR("live")), 0);
    assert_int_equal(metric_name_add(METRIC_APPS, STR("live")), 1);
    assert_int_equal(metric_name_add(METRIC_APPS, STR("live")), 1);
    for (int i = 2; i < METRIC_NAMES; i++) {
        snprintf(name, sizeof(name), "app%d", i);
        assert_int_equal(metric_name_add(METRIC_APPS, str_from(name)), i);
    }
    assert_int_equal(metric_name_add(METRIC_APPS, STR("late")), 0);
    assert_int_equal(metric_name_find(METRIC_APPS, STR("live")), 1);
    memset(name, 'x', sizeof(name));
    assert_int_equal(
        metric_name_add(METRIC_MODULES, str_of(name, METRIC_NAME_MAX)), 0);
}

/* A place that does not exist counts as the first. */
static void
test_places(void **state)
{
    const struct metric *m = &metrics[LABELLED];

    (void)state;
    assert_int_equal(metric_cells(m), 4);
    assert_int_equal(metric_at(m, 1, METRIC_OUT, 0), 3);
    assert_int_equal(metric_at(m, 2, METRIC_OUT, 7), 1);
    assert_int_equal(metric_at(m, 1, 2, 0), 2);
    assert_int_equal(metric_cells(&metrics[ASKED]), 0);
}

static void
assert_text(enum metric_format format, const char *want)
{
    struct buf b;

    buf_init(&b, 65536);
    assert_int_equal(metric_text(&b, format), 0);
    buf_add(&b, "", 1);
    assert_string_equal((const char *)buf_data(&b), want);
    buf_clear(&b);
}

static void
count_for_text(void)
{
    metric_name_add(METRIC_APPS, STR("li\nve"));
    metric_add(&metrics[PLAIN], 0, 3);
    metric_add(&metrics[LABELLED], metric_at(&metrics[LABELLED], 1, 0, 0), 2);
    metric_observe(&metrics[LASTED], 0, 10);
    metric_observe(&metrics[LASTED], 0, 11);
    metric_observe(&metrics[LASTED], 0, 60000);
    metric_add(&metrics[APPS], 1, 1);
    metric_add(&metrics[RARE], 0, 1);
}

#define LABELLED_TEXT                                       \
    "t_labelled_total{reason=\"a\",dir=\"in\"} 0\n"         \
    "t_labelled_total{reason=\"a\",dir=\"out\"} 0\n"        \
    "t_labelled_total{reason=\"b\\\"\\\\\",dir=\"in\"} 2\n" \
    "t_labelled_total{reason=\"b\\\"\\\\\",dir=\"out\"} 0\n"

static void
test_prometheus(void **state)
{
    (void)state;
    count_for_text();
    assert_text(METRIC_PROMETHEUS,
                "# HELP t_plain_total Plain.\n"
                "# TYPE t_plain_total counter\n"
                "t_plain_total 3\n"
                "# HELP t_labelled_total Labelled.\n"
                "# TYPE t_labelled_total counter\n" LABELLED_TEXT
                "# HELP t_open Open.\n"
                "# TYPE t_open gauge\n"
                "t_open 0\n"
                "# HELP t_lasted_seconds Lasted.\n"
                "# TYPE t_lasted_seconds histogram\n"
                "t_lasted_seconds_bucket{le=\"0.01\"} 1\n"
                "t_lasted_seconds_bucket{le=\"2.5\"} 2\n"
                "t_lasted_seconds_bucket{le=\"+Inf\"} 3\n"
                "t_lasted_seconds_sum 60.021\n"
                "t_lasted_seconds_count 3\n"
                "# HELP t_apps_total Apps.\n"
                "# TYPE t_apps_total counter\n"
                "t_apps_total{app=\"li\\nve\"} 1\n"
                "# HELP t_rare_total Rare.\n"
                "# TYPE t_rare_total counter\n"
                "t_rare_total{reason=\"a\"} 1\n"
                "# HELP t_asked Asked.\n"
                "# TYPE t_asked gauge\n"
                "t_asked{x=\"1\"} -1.5\n"
                "t_asked{x=\"2\"} 20\n");
}

static void
test_openmetrics(void **state)
{
    struct buf b;
    const char *text;

    (void)state;
    metric_add(&metrics[APPS], 0, 1); /* the rest is told once it counted */
    buf_init(&b, 65536);
    assert_int_equal(metric_text(&b, METRIC_OPENMETRICS), 0);
    buf_add(&b, "", 1);
    text = (const char *)buf_data(&b);
    assert_non_null(strstr(text, "# TYPE t_plain counter\nt_plain_total 0\n"));
    assert_non_null(strstr(text, "\nt_apps_total{app=\"other\"} 1\n"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    buf_clear(&b);
}

static void
test_no_room(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(metric_text(&b, METRIC_PROMETHEUS), -1);
    buf_clear(&b);
}

/* Numbers and counts that nobody counted. */
static void
test_whatever_stands_there(void **state)
{
    struct region r = region_find("weir metrics");
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int fill = 0x7f; fill < 256; fill += 0x80) {
        memset(r.bytes, fill, r.size);
        metric_sum(&metrics[PLAIN], 0);
        metric_text(&b, METRIC_PROMETHEUS);
        buf_clear(&b);
    }
    assert_string_equal(metric_app_name(0), "other");
    unsigned place = metric_name_add(METRIC_APPS, STR("new"));

    assert_true(place > 0);
    assert_int_equal(metric_name_find(METRIC_APPS, STR("new")), place);
}

static void
count_again(void)
{
    metric_add(&metrics[PLAIN], 0, 3);
    metric_observe(&metrics[LASTED], 0, 7);
}

/* A counter stands where it was, and goes on with what is counted then. */
static void
test_counters_never_fall(void **state)
{
    static const int fills[] = { 0, 0x7f, 0x80, 0xff, 0x01, 0 };
    struct region r = region_find("weir metrics");
    int64_t plain = 5, lasted = 1;

    (void)state;
    in_process(1, count_some, false);
    metric_look();
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        memset(r.bytes, fills[i], r.size);
        assert_int_equal(metric_sum(&metrics[PLAIN], 0), plain);
        metric_look();
        assert_int_equal(metric_sum(&metrics[PLAIN], 0), plain);
        in_process(2, count_again, false);
        plain += 3;
        lasted++;
        assert_int_equal(metric_sum(&metrics[PLAIN], 0), plain);
        assert_int_equal(metric_sum(&metrics[LASTED], 0), lasted);
        metric_look();
        assert_int_equal(metric_sum(&metrics[PLAIN], 0), plain);
        assert_int_equal(metric_sum(&metrics[LASTED], 0), lasted);
    }
}

/* What lies elsewhere is looked at as well. */
static void
test_others_are_looked_at(void **state)
{
    unsigned before = looks;

    (void)state;
    metric_look();
    assert_int_equal(looks, before + 1);
}

static void
count_much(void)
{
    metric_add(&metrics[PLAIN], 0, (int64_t)1 << 44);
}

/* Every number that can be one is told, to an end: no sum is negative. */
static void
test_counters_have_an_end(void **state)
{
    int64_t most = (int64_t)1 << 60;

    (void)state;
    for (int i = 0; i < 1 << 16; i++) {
        count_much();
        metric_look();
    }
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), most);
    count_much();
    metric_look();
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), most);
}

static void
open_some(void)
{
    metric_set(&metrics[OPEN], 0, 7);
}

static void
open_less_than_none(void)
{
    metric_set(&metrics[OPEN], 0, INT64_MIN);
}

static void
open_too_many(void)
{
    metric_set(&metrics[OPEN], 0, INT64_MAX);
}

/* What one process says does not spoil what others have. */
static void
test_gauges_are_never_negative(void **state)
{
    (void)state;
    in_process(1, open_some, false);
    in_process(2, open_less_than_none, false);
    assert_int_equal(metric_of(&metrics[OPEN], 0, 2), 0);
    assert_int_equal(metric_sum(&metrics[OPEN], 0), 7);
    in_process(2, open_too_many, false);
    assert_int_equal(metric_sum(&metrics[OPEN], 0), 7);
}

/* Without memory for it, counting does nothing. */
static void
test_not_created(void **state)
{
    (void)state;
    metric_add(&metrics[PLAIN], 0, 1);
    metric_set(&metrics[OPEN], 0, 1);
    metric_observe(&metrics[LASTED], 0, 1);
    metric_sweep(0);
    metric_look();
    metrics_set_self();
    assert_int_equal(metric_sum(&metrics[PLAIN], 0), 0);
    assert_int_equal(metric_name_add(METRIC_APPS, STR("live")), 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_summed),
        TEST(test_swept),
        TEST(test_names),
        TEST(test_places),
        TEST(test_prometheus),
        TEST(test_openmetrics),
        TEST(test_no_room),
        TEST(test_whatever_stands_there),
        TEST(test_counters_never_fall),
        TEST(test_others_are_looked_at),
        TEST(test_counters_have_an_end),
        TEST(test_gauges_are_never_negative),
        cmocka_unit_test(test_not_created),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
