/*
 * Walking through JSON.
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
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/walk.h"

struct told {
    struct buf text;
    size_t steps, stop_at; /* stop_at 0: never */
};

static bool
note(void *arg, const struct json_step *s)
{
    static const char *const is[] = { "", "name ", "end " };
    static const char kinds[] = "0bns[{";
    struct told *t = arg;

    buf_printf(&t->text, "%s%c%u@%zu:%.*s%s\n", is[s->is], kinds[s->kind],
               s->depth, s->end, STR_ARGS(s->text), s->truth ? "true" : "");
    return ++t->steps != t->stop_at;
}

static int
walk(struct told *t, const char *text)
{
    buf_clear(&t->text);
    buf_init(&t->text, 4096);
    t->steps = 0;
    return json_walk(str_from(text), note, t);
}

static void
tells_each_token(void **state)
{
    struct told t = { .stop_at = 0 };

    (void)state;
    assert_int_equal(
        walk(&t, " [\"a\\u0062\", -1.5e3,{\"n\":true , \"m\":null}]"), 0);
    buf_add(&t.text, "", 1);
    assert_string_equal((const char *)buf_data(&t.text), "[0@2:\n"
                                                         "s1@11:ab\n"
                                                         "n1@19:-1.5e3\n"
                                                         "{1@21:\n"
                                                         "name 02@24:n\n"
                                                         "b2@29:true\n"
                                                         "name 02@35:m\n"
                                                         "02@40:\n"
                                                         "end {1@41:\n"
                                                         "end [0@42:\n");
    buf_clear(&t.text);
}

static void
stops_when_told(void **state)
{
    struct told t = { .stop_at = 2 };

    (void)state;
    assert_int_equal(walk(&t, "[1,2,3]"), -1);
    assert_int_equal(t.steps, 2);
    t.stop_at = 5;
    assert_int_equal(walk(&t, "[1,2,3]"), -1);
    t.stop_at = 6;
    assert_int_equal(walk(&t, "[1,2,3]"), 0);
    buf_clear(&t.text);
}

static void
judges_texts(void **state)
{
    static const char *const good[] = {
        "1",
        "\"\"",
        "[]",
        "{}",
        " null ",
        "[[[]]]",
        "{\"a\":1,\"a\":2}",
        "\"\\ud800\"",
    };
    static const char *const bad[] = {
        "",
        " ",
        "[",
        "]",
        "[1,]",
        "{\"a\"}",
        "[1] 2",
        "nul",
        "01",
        "\"\x01\"",
        "'a'",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "/**/1",
        "[1}",
        "[1]\"x",
        "1\"x",
        "{}\"",
        "[1] \"x]",
        "[1,\v2]",
        "[1]\f",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(json_walk(str_from(good[i]), NULL, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(json_walk(str_from(bad[i]), NULL, NULL), -1);
    }
}

static void
bounds_depth(void **state)
{
    struct buf text;

    (void)state;
    for (int deep = JSON_WALK_DEPTH; deep <= JSON_WALK_DEPTH + 1; deep++) {
        buf_init(&text, 1000);
        for (int i = 0; i < deep; i++) {
            buf_add(&text, "[", 1);
        }
        for (int i = 0; i < deep; i++) {
            buf_add(&text, "]", 1);
        }
        assert_int_equal(json_walk(buf_str(&text), NULL, NULL),
                         deep > JSON_WALK_DEPTH ? -1 : 0);
        buf_clear(&text);
    }
}

/* A text of n bytes that is one string, with an escape in front. */
static char *
long_string(size_t n)
{
    char *text = mem_alloc(n + 1);

    memset(text, 'x', n);
    text[n] = '\0';
    text[0] = text[n - 1] = '"';
    text[1] = '\\';
    text[2] = 'n';
    return text;
}

static bool
measure(void *arg, const struct json_step *s)
{
    *(size_t *)arg = s->text.len;
    return true;
}

static void
takes_long_strings(void **state)
{
    (void)state;
    for (size_t n = 60000; n < 300000; n += 4999) {
        char *text = long_string(n);
        size_t len = 0;

        assert_int_equal(json_walk(str_of(text, n), measure, &len), 0);
        assert_int_equal(len, n - 3);
        /* Its end is missing. */
        assert_int_equal(json_walk(str_of(text, n - 1), NULL, NULL), -1);
        mem_free(&text);
    }
}

#ifndef __SANITIZE_ADDRESS__
static void
needs_memory_for_them(void **state)
{
    size_t n = (size_t)64 << 20;
    char *text = long_string(n);
    struct rlimit old, tight;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (8 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    assert_int_equal(json_walk(str_of(text, n), NULL, NULL), -1);
    setrlimit(RLIMIT_AS, &old);
    assert_int_equal(json_walk(str_of(text, n), NULL, NULL), 0);
    mem_free(&text);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_each_token),
        cmocka_unit_test(stops_when_told),
        cmocka_unit_test(judges_texts),
        cmocka_unit_test(bounds_depth),
        cmocka_unit_test(takes_long_strings),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(needs_memory_for_them),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
