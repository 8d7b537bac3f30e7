/*
 * Base64: one text for one value.
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

#include "base/base64.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(256);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static void
is(enum base64_kind kind, const char *text, const char *bytes)
{
    struct str out;

    assert_true(base64_decode(pool, kind, str_from(text), &out));
    assert_true(str_eq(out, str_from(bytes)));
}

static void
is_not(enum base64_kind kind, const char *text)
{
    struct str out;

    if (base64_decode(pool, kind, str_from(text), &out)) {
        fail_msg("\"%s\" was taken", text);
    }
}

/* RFC 4648, 10. */
static void
test_vectors(void **state)
{
    (void)state;
    is(BASE64, "", "");
    is(BASE64, "Zg==", "f");
    is(BASE64, "Zm8=", "fo");
    is(BASE64, "Zm9v", "foo");
    is(BASE64, "Zm9vYg==", "foob");
    is(BASE64, "Zm9vYmE=", "fooba");
    is(BASE64, "Zm9vYmFy", "foobar");
    is(BASE64_URL, "Zm9vYg", "foob");
    is(BASE64, "++//", "\xfb\xef\xff");
    is(BASE64_URL, "--__", "\xfb\xef\xff");
}

static void
test_other_texts_of_a_value_are_refused(void **state)
{
    (void)state;
    is_not(BASE64, "Zg");       /* padding left out */
    is_not(BASE64, "Zg=");      /* half of it */
    is_not(BASE64, "Zg===");    /* too much */
    is_not(BASE64, "Zm9v=");    /* none is due */
    is_not(BASE64, "Zh==");     /* bits left over */
    is_not(BASE64, "Zm9v\n");   /* a newline */
    is_not(BASE64, "Zm 9v");    /* a space */
    is_not(BASE64, "Z");        /* no whole byte */
    is_not(BASE64, "--__");     /* the other alphabet */
    is_not(BASE64_URL, "Zg=="); /* padding */
    is_not(BASE64_URL, "Zh");
    is_not(BASE64_URL, "++//");
    is_not(BASE64, "=");
    is_not(BASE64, "====");
}

static void
test_what_is_encoded(void **state)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xfb\xef\xff", "++//" },
    };
    char text[BASE64_ROOM(6)];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        base64_encode(BASE64, (const uint8_t *)rows[i][0], strlen(rows[i][0]),
                      text);
        assert_string_equal(text, rows[i][1]);
    }
    base64_encode(BASE64_URL,
                  (const uint8_t *)"\xfb\xef\xff"
                                   "f",
                  4, text);
    assert_string_equal(text, "--__Zg");
    base64_encode(BASE64_URL, (const uint8_t *)"fo", 2, text);
    assert_string_equal(text, "Zm8");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_other_texts_of_a_value_are_refused),
        cmocka_unit_test(test_what_is_encoded),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
