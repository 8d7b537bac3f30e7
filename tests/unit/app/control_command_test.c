/*
 * Cutting lines into commands and finding them in the table.
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

#include "app/control/control_impl.h"
#include "app/module.h"

static struct str words[CONTROL_WORDS];
static size_t count;

static int
split(struct str *rest)
{
    struct errmsg err;

    return control_split(rest, words, &count, &err);
}

static void
word_is(size_t i, const char *text)
{
    assert_true(i < count);
    assert_true(str_eq(words[i], str_from(text)));
}

static void
test_words(void **state)
{
    struct str rest = STR("  show\tsess  1:2 ");

    (void)state;
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, 3);
    word_is(0, "show");
    word_is(1, "sess");
    word_is(2, "1:2");
    assert_int_equal(rest.len, 0);
}

static void
test_several_commands(void **state)
{
    struct str rest = STR("a;b c ;; d");

    (void)state;
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, 1);
    word_is(0, "a");
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, 2);
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, 0);
    assert_int_equal(split(&rest), 0);
    word_is(0, "d");
    assert_int_equal(rest.len, 0);
}

static void
test_quotes(void **state)
{
    struct str rest = STR("kick stream \"live/a b;c\"");
    struct str open = STR("a \"b");

    (void)state;
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, 3);
    word_is(2, "live/a b;c");
    assert_int_equal(split(&open), -1);
}

static void
test_too_many_words(void **state)
{
    char line[2 * CONTROL_WORDS + 3] = "";
    struct str rest = str_of(line, 2 * CONTROL_WORDS);

    (void)state;
    for (size_t i = 0; i < sizeof(line); i++) {
        line[i] = i % 2 == 0 ? 'x' : ' ';
    }
    assert_int_equal(split(&rest), 0);
    assert_int_equal(count, CONTROL_WORDS);
    rest = str_of(line, 2 * CONTROL_WORDS + 1);
    assert_int_equal(split(&rest), -1);
}

static const struct control_verb *
find(const char *line, size_t *skip, struct errmsg *err)
{
    struct str rest = str_from(line);

    assert_int_equal(split(&rest), 0);
    return control_find(words, count, skip, err);
}

static void
test_found_by_most_words(void **state)
{
    struct errmsg err;
    size_t skip;

    (void)state;
    assert_string_equal(find("show sess all", &skip, &err)->words, "show sess");
    assert_int_equal(skip, 2);
    assert_string_equal(find("set log level debug", &skip, &err)->words,
                        "set log level");
    assert_int_equal(skip, 3);
}

static void
test_not_found(void **state)
{
    struct errmsg err;
    size_t skip;

    (void)state;
    assert_null(find("show", &skip, &err));
    assert_non_null(strstr(err.text, "there are: show info, show proc, "));
    assert_null(find("show str", &skip, &err));
    assert_string_equal(err.text, "no such command; there is: show streams");
    assert_null(find("show str live/a", &skip, &err));
    assert_non_null(strstr(err.text, "there is: show streams"));
    assert_null(find("show xyzzy", &skip, &err));
    assert_non_null(strstr(err.text, "there are: show info, show proc, "));
    assert_null(find("shw info", &skip, &err));
    assert_non_null(strstr(err.text, "\"show info\""));
    assert_null(find("relod", &skip, &err));
    assert_non_null(strstr(err.text, "\"reload\""));
    assert_null(find("xyzzy", &skip, &err));
    assert_non_null(strstr(err.text, "help"));
}

/* Each has what help needs, stands in it once, and is found by its words. */
static void
test_the_table_is_sound(void **state)
{
    const struct control_verb *at;
    struct errmsg err;
    struct buf text;
    size_t n = 0, skip;

    (void)state;
    for (; (at = control_verb_at(n)) != NULL; n++) {
        const struct control_verb *v = find(at->words, &skip, &err);

        assert_ptr_equal(v, at);
        assert_non_null(v->help);
        assert_non_null(v->run);
        assert_true(v->level >= CONTROL_USER && v->level <= CONTROL_ADMIN);
        assert_int_equal(v->most > 0, v->arguments != NULL);
    }
    assert_true(n > 20);
    buf_init(&text, 65536);
    assert_int_equal(control_help(&text, STR_NONE), n);
    buf_clear(&text);
    assert_int_equal(control_help(&text, STR("kick ")), 4);
    buf_clear(&text);
    assert_int_equal(control_help(&text, STR("nothing")), 0);
    buf_clear(&text);
}

static void
test_verbs_of_modules(void **state)
{
    struct errmsg err;
    size_t skip;

    (void)state;
    for (size_t i = 0; modules[i] != NULL; i++) {
        const struct control_verb *v = modules[i]->verbs;

        for (; v != NULL && v->words != NULL; v++) {
            assert_ptr_equal(find(v->words, &skip, &err), v);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_several_commands),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_too_many_words),
        cmocka_unit_test(test_found_by_most_words),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_the_table_is_sound),
        cmocka_unit_test(test_verbs_of_modules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
