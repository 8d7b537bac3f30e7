/*
 * Tests of media types of files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "types.h"

static char x_own[] = "text/x-own own htm", x_a[] = "application/x-a A.B a";
static struct str own_items[] = { { x_own, sizeof(x_own) - 1 },
                                  { x_a, sizeof(x_a) - 1 } };
static const struct conf_strings own = { own_items, 2 }, none = { NULL, 0 };

static void
is(struct types *t, const char *name, const char *type)
{
    struct pool *p = pool_new(256);

    assert_string_equal(types_find(t, p, str_from(name)), type);
    pool_free(&p);
}

static struct types *
make(const struct conf_strings *items, const char *charset)
{
    const struct types_rules rules = { STR_NONE, items, STR("x/none"),
                                       str_from(charset) };
    struct errmsg err;
    struct types *t = types_new(&rules, &err);

    assert_non_null(t);
    return t;
}

static void
endings_are_looked_up(void **state)
{
    struct types *t = make(&own, "");

    (void)state;
    is(t, "a.own", "text/x-own");
    is(t, "dir.own/a", "x/none");
    is(t, "a.OWN", "text/x-own");
    is(t, "x.a.b", "application/x-a"); /* the longest */
    is(t, "b.a", "application/x-a");
    is(t, "a", "x/none");
    is(t, "own", "x/none");
    is(t, "", "x/none");
    is(t, "a.htm", "text/x-own"); /* before weir's own */
    is(t, "a.html", "text/html");
    types_free(&t);
}

static void
text_has_a_charset(void **state)
{
    struct types *t = make(&own, "koi8-r");

    (void)state;
    is(t, "a.own", "text/x-own; charset=koi8-r");
    is(t, "a.html", "text/html; charset=koi8-r");
    is(t, "a.png", "image/png");
    types_free(&t);
}

static void
reads(const char *bytes, const char *wrong)
{
    struct types *t = make(&none, "");
    struct errmsg err = { "" };
    int result = types_read(t, STR("f"), str_from(bytes), &err);

    assert_int_equal(result, wrong == NULL ? 0 : -1);
    assert_string_equal(err.text, wrong == NULL ? "" : wrong);
    types_free(&t);
}

static void
files_have_two_forms(void **state)
{
    (void)state;
    reads("", NULL);
    reads("# no\n\ntext/html html htm # more\r\nvideo/mp4\n", NULL);
    reads("a/b c\nd", "f:2: \"d\" is no media type");
    reads("a/b /c", "f:1: \"/c\" is no ending of a name");
    reads("types{a/b c;#}\nd/e\nf g;}", NULL);
    reads("types { a/b c; }\nserver { }", NULL);
    reads("types { a/b c", "f:1: ';' is missing");
    reads("types {\na/b c;\n", "f:3: '}' is missing");
    reads("types {\nab c; }", "f:2: \"ab\" is no media type");
    reads("types { a/b }", "f:1: \"}\" is no ending of a name");
}

static void
settings_are_checked(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(types_check(STR("a/b c"), &err), 0);
    assert_int_equal(types_check(STR("a/b"), &err), -1);
    assert_string_equal(err.text, "no ending of names stands behind \"a/b\"");
    assert_int_equal(types_check(STR("b c"), &err), -1);
    assert_int_equal(types_check(STR(""), &err), -1);
}

static void
many_endings_are_refused(void **state)
{
    struct types *t = make(&none, "");
    struct errmsg err;
    struct buf b;

    (void)state;
    buf_init(&b, SIZE_MAX / 2);
    for (int i = 0; i <= TYPES_MAX; i++) {
        buf_printf(&b, "a/b c%d\n", i);
    }
    assert_int_equal(types_read(t, STR("f"), buf_str(&b), &err), -1);
    assert_string_equal(err.text, "f:8193: has more than 8192 endings");
    buf_clear(&b);
    types_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_are_looked_up),
        cmocka_unit_test(text_has_a_charset),
        cmocka_unit_test(files_have_two_forms),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(many_endings_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
