/*
 * What errors of the server mean.
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

#include "store/postgres/error.h"

static void
states_have_their_status(void **state)
{
    static const struct {
        const char *state;
        enum store_status status;
        enum pg_remedy remedy;
    } rows[] = {
        { "23505", STORE_CONFLICT, PG_ANSWER },
        { "23514", STORE_FAILED, PG_ANSWER },
        { "42P01", STORE_FAILED, PG_ANSWER },
        { "40001", STORE_DOWN, PG_AGAIN },
        { "40P01", STORE_DOWN, PG_AGAIN },
        { "53100", STORE_FULL, PG_ANSWER },
        { "53200", STORE_FULL, PG_ANSWER },
        { "53300", STORE_DOWN, PG_ANSWER },
        { "57P01", STORE_DOWN, PG_LEAVE },
        { "57014", STORE_DOWN, PG_ANSWER },
        { "25006", STORE_DOWN, PG_LEAVE },
        { "08006", STORE_DOWN, PG_LEAVE },
        { NULL, STORE_DOWN, PG_LEAVE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pg_fault f = pg_fault_of(rows[i].state);

        assert_int_equal(f.status, rows[i].status);
        assert_int_equal(f.remedy, rows[i].remedy);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_have_their_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
