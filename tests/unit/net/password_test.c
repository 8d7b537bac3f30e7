/*
 * Hashed passwords.
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

#include "net/password.h"

/* All of "secret"; made by crypt(3) with the smallest costs. */
static const char *const hashes[] = {
    "$2a$04$DBmWLsby5kIe7aE6gyM5B.I4NVNUQIKA8Vus/V9IbfFBEENhE99dO",
    "$2b$04$cDPtznMLiSEfb0EzjVIbJ.lsKB2LFYsg0kKdw7HMs8vYk/jMEjwQi",
    "$2y$04$R9KAWhGvJ6DFiKQi6keiVO0bjPNYbRUgusG/WG/E/LiEwXgpsNtYG",
    "$5$rounds=1000$2KvsHIH2OSGPjvbG$Rlf7wxfHFeW5S3jamPmFc7IyrtmD"
    "/xtQSihV74tps5C",
    "$6$rounds=1000$LMiQwl8rHxg47hxw$DPoRtHJjPXVph8lknkP6oISjQMYs"
    "baDywSyV1uBKoBaoxKOs2x1YQwLRz2Q0wi/Q5mDBxP4GqDLm1XbJJL4wc/",
    "$y$j75$9PBMvBFx1bBgpOanrcr86.$Na3/TpsCXeGYhBlwwbUx5LZKT4XFJh"
    "H2RS4rAbq5OV0",
};

static void
test_fits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
        struct str hash = str_from(hashes[i]);

        assert_true(password_hash_ok(hash));
        assert_true(password_fits(STR("secret"), hash));
        assert_false(password_fits(STR("Secret"), hash));
        assert_false(password_fits(STR("secret "), hash));
        assert_false(password_fits(STR(""), hash));
        assert_false(password_fits(STR("secret\0x"), hash));
    }
}

static void
test_hashes_that_are_none(void **state)
{
    static const char *const bad[] = {
        "",
        "secret",
        "*",
        "!",
        "x",
        "$1$abcdefgh$0123456789012345678901",
        "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
        "$apr1$abc$0123456789012345678901",
        "$6$short$abc",
        "$2y$05$short",
        "$5$",
        "$y$j9T$x$y",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (password_hash_ok(str_from(bad[i]))) {
            fail_msg("%s was taken", bad[i]);
        }
    }
}

static void
test_sizes(void **state)
{
    static char big[2000];
    struct str hash = str_from(hashes[0]);

    (void)state;
    for (size_t i = 0; i < sizeof(big); i++) {
        big[i] = 'a';
    }
    assert_false(password_fits(str_of(big, sizeof(big)), hash));
    assert_false(password_fits(STR("secret"), str_of(big, sizeof(big))));
    assert_false(password_hash_ok(str_of(big, sizeof(big))));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_hashes_that_are_none),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
