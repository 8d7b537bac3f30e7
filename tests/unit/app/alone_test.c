/*
 * Options of modules with which weir runs without a file.
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

#include "app/alone.h"
#include "base/buf.h"
#include "base/mem.h"

static const struct option own_names[] = {
    { "config", required_argument, NULL, 'c' },
    { "speed", required_argument, NULL, 's' }, /* the module's is another */
    { NULL, 0, NULL, 0 },
};
static const struct alone_own weirs_own = { "c:s:tv", own_names };

static const struct alone_option options[] = {
    { "model", 'm', "NAME", "of what it does", 1 },
    { "speed", 's', "SPEED", "how fast", 2 },
    { "loud", '\0', NULL, "with noise", 3 },
    { "noisy", '\0', NULL, NULL, 3 },
    { NULL, '\0', NULL, NULL, 0 },
};

/* A comment with all that was given, behind a setting. */
static int
write_all(const struct alone_line *line, struct buf *out, struct errmsg *err)
{
    buf_printf(out, "daemon = false; /*%s", line->has_prefix ? " prefix" : "");
    for (size_t i = 0; i < line->count; i++) {
        const struct alone_given *g = &line->given[i];

        if (g->value != NULL && strcmp(g->value, "bad") == 0) {
            return errmsg_set(err, "--%s must not be bad", g->option->name);
        }
        buf_printf(out, " %d=%s", g->option->what,
                   g->value != NULL ? g->value : "");
    }
    return buf_printf(out, " */\n");
}

static const struct module_alone of = { "(-m)", options, write_all };
static const struct module plain = { .name = "plain" };
static const struct module alone_module = { .name = "single", .alone = &of };
static const struct module *const table[] = { &plain, &alone_module, NULL };

/* Takes a command line apart; weir's own letters are put into own. */
static void
take(struct alone *a, const char *words, char own[16])
{
    static char text[256], name[] = "weir"; /* values lie in the text */
    char *rest = NULL, *argv[32] = { name };
    int argc = 1, c;
    size_t n = 0;

    snprintf(text, sizeof(text), "%s", words);
    for (char *w = strtok_r(text, " ", &rest); w != NULL;
         w = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = w;
    }
    opterr = 0;
    alone_init(a, table, &weirs_own, argc, argv);
    while ((c = getopt_long(argc, argv, a->letters, a->names, NULL)) != -1) {
        if (!alone_take(a, c, optarg)) {
            own[n++] = (char)c;
        }
    }
    own[n] = '\0';
    opterr = 1;
}

static void
given_is(const char *words, const char *expected, const char *own_letters)
{
    char own[16], text[256] = "";
    struct alone a;
    size_t n = 0;

    take(&a, words, own);
    for (size_t i = 0; i < a.count; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%d=%s ",
                              a.given[i].option->what,
                              a.given[i].value != NULL ? a.given[i].value : "");
    }
    assert_string_equal(text, expected);
    assert_string_equal(own, own_letters);
}

static void
test_given(void **state)
{
    (void)state;
    given_is("-m x", "1=x ", "");
    given_is("-t --model=x -s 3", "1=x 2=3 ", "t");
    given_is("-s 3 -m x", "2=3 1=x ", "");
    given_is("-s 3 -v", "", "sv");
    given_is("--loud -m x --noisy --speed 1", "3= 1=x 3= 2=1 ", "");
    given_is("--loud", "", "?");
    given_is("-m", "", "?");
    given_is("--model", "", "?");
    given_is("-m x --other", "1=x ", "?");
    given_is("", "", "");
}

static void
test_nobody_asks(void **state)
{
    char own[16];
    struct alone a;

    (void)state;
    take(&a, "-s stop -c file", own);
    assert_null(a.of);
    take(&a, "-m x", own);
    assert_ptr_equal(a.of, &of);
}

static void
test_too_many(void **state)
{
    struct errmsg err;
    struct alone a = { .of = &of };

    (void)state;
    for (int i = 0; i <= ALONE_GIVEN; i++) {
        assert_true(alone_take(&a, 's', "1"));
    }
    assert_null(alone_use(&a, false, &err));
    assert_string_equal(err.text, "more than 64 options");
}

/* ---- what comes of it ---- */

static const struct conf_key keys[] = {
    { .name = "daemon", .type = CONF_BOOL, .preset = "true" },
    CONF_END,
};

static void
test_is_read_in_place_of_a_file(void **state)
{
    struct errmsg err;
    struct alone a;
    char own[16], *mistakes;
    struct conf *c;

    (void)state;
    take(&a, "-m x", own);
    assert_string_equal(alone_use(&a, true, &err), "(-m)");
    for (int i = 0; i < 2; i++) { /* as at a reload */
        c = conf_load("(-m)", keys, sizeof(bool), &mistakes);
        assert_non_null(c);
        assert_false(*(const bool *)conf_settings(c));
        conf_free(&c);
    }
    take(&a, "-m bad", own);
    assert_null(alone_use(&a, false, &err));
    assert_string_equal(err.text, "--model must not be bad");
    conf_builtin("(-m)", STR("daemon = 1;\n"));
    assert_null(conf_load("(-m)", keys, sizeof(bool), &mistakes));
    assert_string_equal(mistakes,
                        "(-m):1: daemon must be true or false, not 1\n");
    mem_free(&mistakes);
    conf_builtin("(-m)", STR_NONE);
    assert_null(conf_load("(-m)", keys, sizeof(bool), &mistakes));
    assert_string_equal(mistakes, "(-m): cannot open: No such file or "
                                  "directory\n");
    mem_free(&mistakes);
}

static void
test_help(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    alone_print_usage(table, out);
    alone_print_options(table, out);
    fclose(out);
    assert_string_equal(text,
                        "       weir -m NAME [-p PREFIX] [-t | -T] ...\n"
                        "\nWithout a file, for module single alone:\n"
                        "  -m, --model NAME               of what it does\n"
                        "  -s, --speed SPEED              how fast\n"
                        "      --loud                     with noise\n");
    mem_free(&text);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_nobody_asks),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_is_read_in_place_of_a_file),
        cmocka_unit_test(test_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
