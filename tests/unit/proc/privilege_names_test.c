/*
 * What the name service said; the test is that service.
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

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "proc/life.h"
#include "proc/privilege_names.h"

/* ---- the name service ---- */

static struct {
    int why;      /* it is away: what it returns */
    bool empty;   /* it knows nobody */
    unsigned add; /* to every number */
    int asked;    /* times */
} service;

/* "u7" has number 7, "g7" too. */
static bool
number_of(const char *name, char kind, unsigned *number)
{
    unsigned n = 0;

    service.asked++;
    if (service.why != 0 || service.empty || name[0] != kind ||
        sscanf(name + 1, "%u", &n) != 1) {
        return false;
    }
    *number = n + service.add;
    return true;
}

int
getpwnam_r(const char *name, struct passwd *pw, char *room, size_t size,
           struct passwd **found)
{
    unsigned n;

    (void)room;
    (void)size;
    *found = NULL;
    if (number_of(name, 'u', &n)) {
        *pw = (struct passwd){ .pw_uid = n, .pw_gid = n + 1 };
        *found = pw;
    }
    return service.why;
}

int
getpwuid_r(uid_t uid, struct passwd *pw, char *room, size_t size,
           struct passwd **found)
{
    char name[16];

    snprintf(name, sizeof(name), "u%u", uid);
    return getpwnam_r(name, pw, room, size, found);
}

int
getgrnam_r(const char *name, struct group *gr, char *room, size_t size,
           struct group **found)
{
    unsigned n;

    (void)room;
    (void)size;
    *found = NULL;
    if (number_of(name, 'g', &n)) {
        *gr = (struct group){ .gr_gid = n };
        *found = gr;
    }
    return service.why;
}

/* Its own and two more. */
int
getgrouplist(const char *user, gid_t group, gid_t *groups, int *count)
{
    int room = *count;

    (void)user;
    *count = 3;
    if (room < 3) {
        return -1;
    }
    groups[0] = group;
    groups[1] = 501;
    groups[2] = 502;
    return 3;
}

static void
answer(int why, bool empty, unsigned add)
{
    service.why = why;
    service.empty = empty;
    service.add = add;
    service.asked = 0;
}

/* ---- what is asked ---- */

static uid_t
user(const char *name)
{
    struct errmsg err;
    const struct privilege_user_entry *u =
        privilege_names_user(str_from(name), &err);

    return u != NULL ? u->uid : (uid_t)-1;
}

static gid_t
group(const char *name)
{
    struct errmsg err;
    gid_t gid;

    return privilege_names_group(str_from(name), &gid, &err) == 0 ? gid
                                                                  : (gid_t)-1;
}

static int
know(void **state)
{
    (void)state;
    answer(0, false, 0);
    privilege_ask(true);
    assert_int_equal(user("u7"), 7);
    assert_int_equal(group("g8"), 8);
    assert_int_equal(privilege_names_group_of(9), 10);
    privilege_ask(false);
    return 0;
}

static void
test_known_names_are_not_asked_for(void **state)
{
    (void)state;
    answer(0, true, 100);
    assert_int_equal(user("u7"), 7);
    assert_int_equal(group("g8"), 8);
    assert_int_equal(privilege_names_group_of(9), 10);
    assert_int_equal(service.asked, 0);
}

static void
test_groups_are_known_too(void **state)
{
    struct errmsg err;
    const struct privilege_user_entry *u =
        privilege_names_user(STR("u7"), &err);

    (void)state;
    assert_non_null(u);
    assert_int_equal(u->gid, 8);
    assert_int_equal(u->group_count, 3);
    assert_int_equal(u->groups[0], 8);
    assert_int_equal(u->groups[2], 502);
}

static void
test_a_configuration_asks_anew(void **state)
{
    (void)state;
    answer(0, false, 100);
    privilege_ask(true);
    assert_int_equal(user("u7"), 107);
    assert_int_equal(group("g8"), 108);
    assert_int_equal(privilege_names_group_of(9), 110);
    privilege_ask(false);
    answer(0, true, 0);
    assert_int_equal(user("u7"), 107);
    assert_int_equal(group("g8"), 108);
}

static void
test_a_service_that_is_away_changes_nothing(void **state)
{
    (void)state;
    answer(EIO, false, 100);
    privilege_ask(true);
    assert_int_equal(user("u7"), 7);
    assert_int_equal(group("g8"), 8);
    assert_int_equal(privilege_names_group_of(9), 10);
    assert_true(service.asked > 0);
}

/* It may say so in any words. */
static void
test_each_error_is_an_absence(void **state)
{
    (void)state;
    answer(ENOENT, false, 100);
    privilege_ask(true);
    assert_int_equal(user("u7"), 7);
    assert_int_equal(group("g8"), 8);
    assert_int_equal(privilege_names_group_of(9), 10);
}

static void
test_that_there_is_none_is_known_too(void **state)
{
    (void)state;
    answer(0, true, 0);
    privilege_ask(true);
    assert_int_equal(user("u70"), (uid_t)-1);
    assert_int_equal(group("g80"), (gid_t)-1);
    privilege_ask(false);
    answer(0, false, 0);
    assert_int_equal(user("u70"), (uid_t)-1);
    assert_int_equal(group("g80"), (gid_t)-1);
    assert_int_equal(service.asked, 0);
    privilege_ask(true);
    assert_int_equal(user("u70"), 70);
    assert_int_equal(group("g80"), 80);
}

static void
test_who_is_gone_is_refused(void **state)
{
    struct errmsg err;
    gid_t gid;

    (void)state;
    answer(0, true, 0);
    privilege_ask(true);
    assert_null(privilege_names_user(STR("u7"), &err));
    assert_string_equal(err.text, "there is no user \"u7\"");
    assert_int_equal(privilege_names_group(STR("g8"), &gid, &err), -1);
    assert_string_equal(err.text, "there is no group \"g8\"");
    assert_int_equal(privilege_names_group_of(9), 9);
    privilege_ask(false); /* but processes that are that one come back */
    assert_int_equal(user("u7"), 7);
    assert_int_equal(group("g8"), 8);
}

static void
test_why_nothing_is_known_is_told(void **state)
{
    struct errmsg err;
    gid_t gid;

    (void)state;
    answer(EIO, false, 0);
    assert_null(privilege_names_user(STR("u71"), &err));
    assert_string_equal(err.text,
                        "there is no user \"u71\": Input/output error");
    assert_int_equal(privilege_names_group(STR("g81"), &gid, &err), -1);
    assert_string_equal(err.text,
                        "there is no group \"g81\": Input/output error");
}

static void
test_more_names_than_are_kept(void **state)
{
    char name[16];

    (void)state;
    for (unsigned i = 100; i < 400; i++) {
        snprintf(name, sizeof(name), "u%u", i);
        assert_int_equal(user(name), i);
        snprintf(name, sizeof(name), "g%u", i);
        assert_int_equal(group(name), i);
        assert_int_equal(privilege_names_group_of(i), i + 1);
    }
    answer(EIO, false, 0);
    assert_int_equal(user("u398"), 398);
    assert_int_equal(user("u399"), 399);
    assert_int_equal(group("g399"), 399);
    assert_int_equal(privilege_names_group_of(399), 400);
    assert_int_equal(user("u7"), (uid_t)-1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_known_names_are_not_asked_for, know),
        cmocka_unit_test_setup(test_groups_are_known_too, know),
        cmocka_unit_test_setup(test_a_configuration_asks_anew, know),
        cmocka_unit_test_setup(test_a_service_that_is_away_changes_nothing,
                               know),
        cmocka_unit_test_setup(test_each_error_is_an_absence, know),
        cmocka_unit_test_setup(test_that_there_is_none_is_known_too, know),
        cmocka_unit_test_setup(test_who_is_gone_is_refused, know),
        cmocka_unit_test_setup(test_why_nothing_is_known_is_told, know),
        cmocka_unit_test_setup(test_more_names_than_are_kept, know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
