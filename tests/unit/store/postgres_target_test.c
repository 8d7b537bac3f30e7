/*
 * Conninfos taken apart.
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

#include "store/postgres/target.h"

static void
expect_target(const char *text, const char *wanted)
{
    struct errmsg err = { "" };
    struct pg_target *t = pg_target_new(str_from(text), &err);
    struct buf shown;

    assert_string_equal(err.text, "");
    assert_non_null(t);
    buf_init(&shown, 1000);
    pg_target_print(t, &shown);
    buf_add(&shown, "", 1);
    assert_string_equal((const char *)buf_data(&shown), wanted);
    buf_clear(&shown);
    pg_target_free(&t);
}

static void
hosts_are_taken_apart(void **state)
{
    (void)state;
    expect_target("dbname=w user=u", "database w on /var/run/postgresql:5432");
    expect_target("user=u host=a,b port=1", "database u on a:1, b:1");
    expect_target("user=u host=a,b port=1,", "database u on a:1, b:5432");
    expect_target("postgresql://u:secret@a:7,[::1]/w?sslmode=disable",
                  "database w on a:7, ::1:5432");
    expect_target("dbname=w host=a hostaddr=10.0.0.1", "database w on a:5432");
    expect_target("dbname=w hostaddr=10.0.0.1,10.0.0.2",
                  "database w on 10.0.0.1:5432, 10.0.0.2:5432");
}

static void
expect_refused(const char *text, const char *wanted)
{
    struct errmsg err = { "" };

    assert_int_equal(pg_target_check(str_from(text), &err), -1);
    assert_non_null(strstr(err.text, wanted));
    assert_null(strstr(err.text, "secret"));
}

static void
what_is_no_target(void **state)
{
    (void)state;
    expect_refused("secret", "must be");
    expect_refused("password=secret hots=a", "option \"hots\"");
    expect_refused("password='secret", "must be");
    expect_refused("passfile=secret", "\"passfile\"");
    expect_refused("client_encoding=LATIN1", "UTF8");
    expect_refused("host=a,b port=1,2,3", "as many");
    expect_refused("host=a,b hostaddr=1.1.1.1", "as many");
    expect_refused("host=1,2,3,4,5,6,7,8,9", "more than 8 hosts");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_taken_apart),
        cmocka_unit_test(what_is_no_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
