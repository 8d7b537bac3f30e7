/*
 * Stream keys.
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

#include "key.h"

#define KEYS 4000

static void
every_letter_is_as_likely(void **state)
{
    unsigned seen[256] = { 0 };
    unsigned letters = 0;

    (void)state;
    for (unsigned i = 0; i < KEYS; i++) {
        char key[KEY_LENGTH + 1];

        key_make(key);
        assert_int_equal(strlen(key), KEY_LENGTH);
        assert_true(key_is_well_formed(str_from(key)));
        for (size_t k = 0; k < KEY_LENGTH; k++) {
            seen[(unsigned char)key[k]]++;
        }
    }
    for (unsigned c = 0; c < 256; c++) {
        if (seen[c] > 0) { /* 3097 expected; 6 deviations are 330 */
            assert_in_range(seen[c], 2760, 3430);
            letters++;
        }
    }
    assert_int_equal(letters, 62);
}

static void
what_can_be_a_key(void **state)
{
    char text[KEY_LENGTH + 2];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_true(key_is_well_formed(str_of(text, KEY_LENGTH)));
    assert_false(key_is_well_formed(str_of(text, KEY_LENGTH - 1)));
    assert_false(key_is_well_formed(str_of(text, KEY_LENGTH + 1)));
    assert_false(key_is_well_formed(STR_NONE));
    for (unsigned c = 0; c < 256; c++) {
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z');

        text[20] = (char)c;
        assert_int_equal(key_is_well_formed(str_of(text, KEY_LENGTH)), letter);
    }
}

static void
hashes(void **state)
{
    char hash[KEY_HASH + 1];

    (void)state;
    key_hash(STR("abc"), hash);
    assert_string_equal(
        hash,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void
comparing(void **state)
{
    (void)state;
    assert_true(key_equal(STR("abc"), STR("abc")));
    assert_false(key_equal(STR("abc"), STR("abd")));
    assert_false(key_equal(STR("abc"), STR("ab")));
    assert_false(key_equal(STR("abc"), STR_NONE));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_letter_is_as_likely),
        cmocka_unit_test(what_can_be_a_key),
        cmocka_unit_test(hashes),
        cmocka_unit_test(comparing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
