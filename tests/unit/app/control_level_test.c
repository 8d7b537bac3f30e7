/*
 * Who may what: root and ourselves, users, groups, everybody else.
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

#include <unistd.h>

#include "app/control/control_impl.h"

#define OTHER 54321u /* nobody we are */

static struct control_rule list[3];
static struct control_rules rules = { .list = list };

static enum control_level
level_of(uid_t uid, gid_t gid, gid_t *groups, size_t count)
{
    struct control_peer p = {
        .uid = uid, .gid = gid, .groups = groups, .group_count = count
    };

    return control_rules_level(&rules, &p);
}

static void
test_root_and_ourselves(void **state)
{
    (void)state;
    rules.count = 0;
    rules.others = CONTROL_NONE;
    assert_int_equal(level_of(0, OTHER, NULL, 0), CONTROL_ADMIN);
    assert_int_equal(level_of(geteuid(), OTHER, NULL, 0), CONTROL_ADMIN);
    /* The group root alone means nothing. */
    assert_int_equal(level_of(OTHER, 0, NULL, 0), CONTROL_NONE);
}

static void
test_others(void **state)
{
    (void)state;
    rules.others = CONTROL_USER;
    assert_int_equal(level_of(OTHER, OTHER, NULL, 0), CONTROL_USER);
}

static void
test_the_highest_holds(void **state)
{
    gid_t more[] = { 7, 8 };

    (void)state;
    list[0] = (struct control_rule){ true, 8, CONTROL_OPERATOR };
    list[1] = (struct control_rule){ false, OTHER, CONTROL_USER };
    list[2] = (struct control_rule){ true, 9, CONTROL_ADMIN };
    rules.count = 3;
    assert_int_equal(level_of(OTHER, 1, NULL, 0), CONTROL_USER);
    assert_int_equal(level_of(OTHER, 1, more, 2), CONTROL_OPERATOR);
    assert_int_equal(level_of(OTHER, 9, more, 2), CONTROL_ADMIN);
    assert_int_equal(level_of(8, 1, NULL, 0), CONTROL_USER); /* no user 8 */
}

/* An item may also say less than what others have. */
static void
test_less_than_others(void **state)
{
    (void)state;
    rules.count = 1;
    rules.others = CONTROL_ADMIN;
    list[0] = (struct control_rule){ false, OTHER, CONTROL_USER };
    assert_int_equal(level_of(OTHER, OTHER, NULL, 0), CONTROL_USER);
}

static void
test_names(void **state)
{
    struct control_user_settings users[] = {
        { .uid = STR("root"), .gid = STR(""), .level = 2 },
        { .uid = STR(""), .gid = STR("12"), .level = 1 },
        { .uid = STR("no such user"), .gid = STR(""), .level = 0 },
    };
    struct control_settings s = { .users = { users, 2 },
                                  .others = CONTROL_NONE };
    struct control_rules r;
    struct errmsg err;

    (void)state;
    assert_int_equal(control_rules_read(&r, &s, &err), 0);
    assert_int_equal(r.list[0].id, 0);
    assert_int_equal(r.list[0].level, CONTROL_ADMIN);
    assert_true(r.list[1].group);
    assert_int_equal(r.list[1].id, 12);
    assert_int_equal(r.list[1].level, CONTROL_OPERATOR);
    control_rules_clear(&r);
    s.users.count = 3;
    assert_int_equal(control_rules_read(&r, &s, &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_and_ourselves),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_the_highest_holds),
        cmocka_unit_test(test_less_than_others),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
