/*
 * SipHash-2-4 against vectors of the paper's reference code.
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

#include "base/hash.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_vectors(void **state)
{
    uint8_t key[16], input[64];

    (void)state;
    for (uint8_t i = 0; i < 64; i++) {
        input[i] = i;
        if (i < 16) {
            key[i] = i;
        }
    }
    /* Lengths 0, 1, 8, 15 (the last is in the paper, appendix A), 63. */
    assert_true(hash_keyed(key, str_of(input, 0)) == 0x726fdb47dd0e0e31);
    assert_true(hash_keyed(key, str_of(input, 1)) == 0x74f839c593dc67fd);
    assert_true(hash_keyed(key, str_of(input, 8)) == 0x93f5f5799a932462);
    assert_true(hash_keyed(key, str_of(input, 15)) == 0xa129ca6149be45e5);
    assert_true(hash_keyed(key, str_of(input, 63)) == 0x958a324ceb064572);
}

static void
test_process_key(void **state)
{
    uint64_t here, there = 0;
    int ends[2], status;
    pid_t pid;

    (void)state;
    hash_init();
    here = hash_str(STR("live/a"));
    assert_true(here == hash_str(STR("live/a")));
    assert_true(here != hash_str(STR("live/b")));
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        hash_init();
        there = hash_str(STR("live/a"));
        _exit(write(ends[1], &there, sizeof(there)) != sizeof(there));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &there, sizeof(there)), sizeof(there));
    assert_true(here == there);
    close(ends[0]);
    close(ends[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_process_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
