/*
 * Giving root away, in a child.
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

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/life.h"

/* Runs check in a child; 0 is good. */
static void
in_child(int (*check)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        _exit(check());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int
becomes_nobody(void)
{
    struct errmsg err;
    uid_t u[3];
    gid_t g[3], groups[16];

    if (privilege_drop(STR("nobody"), STR(""), &err) == -1) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    getresuid(&u[0], &u[1], &u[2]);
    getresgid(&g[0], &g[1], &g[2]);
    if (u[0] == 0 || u[0] != u[1] || u[0] != u[2] || g[0] == 0 ||
        g[0] != g[1] || g[0] != g[2]) {
        return 2;
    }
    int n = getgroups(16, groups);

    for (int i = 0; i < n; i++) {
        if (groups[i] == 0) {
            return 3;
        }
    }
    if (setuid(0) == 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        return 4;
    }
    /* Again, as the user one is already; but no other. */
    if (privilege_drop(STR("nobody"), STR(""), &err) == -1) {
        return 5;
    }
    return privilege_drop(STR("daemon"), STR(""), &err) == -1 &&
                   strcmp(err.text, "cannot become user \"daemon\": not "
                                    "started as root") == 0
               ? 0
               : 6;
}

static int
takes_one_group(void)
{
    struct errmsg err;
    gid_t groups[16];

    if (privilege_drop(STR("nobody"), STR("daemon"), &err) == -1) {
        return 1;
    }
    return getgroups(16, groups) == 1 && groups[0] == getgid() && getgid() != 0
               ? 0
               : 2;
}

/* Empty for who is not root; "weir" or "nobody" for root. */
static int
becomes_the_usual_one(void)
{
    struct errmsg err;
    uid_t uid = geteuid(), wanted = uid;
    struct str user = privilege_user(STR(""));

    if ((uid == 0) != (user.len > 0) ||
        (user.len > 0 && privilege_user_id(user, &wanted, &err) == -1)) {
        return 1;
    }
    if (privilege_drop(STR(""), STR(""), &err) == -1 || geteuid() != wanted ||
        (uid == 0 && geteuid() == 0)) {
        return 2;
    }
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 3;
}

/* Who names the user that it is has decided so. */
static int
stays_root(void)
{
    struct errmsg err;

    if (!str_eq(privilege_user(STR("root")), STR("root")) ||
        privilege_drop(STR("root"), STR(""), &err) == -1 || geteuid() != 0) {
        return 1;
    }
    return strcmp(privilege_who(), "user \"root\"") == 0 &&
                   prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
               ? 0
               : 2;
}

static void
becomes_a_user_for_good(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    in_child(becomes_nobody);
    in_child(takes_one_group);
}

static void
without_a_user_nobody_stays_root(void **state)
{
    (void)state;
    in_child(becomes_the_usual_one);
}

static void
root_by_name(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    in_child(stays_root);
}

static int
names_are_refused(void)
{
    struct errmsg err;

    if (privilege_drop(STR("no such user"), STR(""), &err) != -1 ||
        strcmp(err.text, "there is no user \"no such user\"") != 0) {
        return 1;
    }
    if (privilege_drop(STR("nobody"), STR("no such group"), &err) != -1 ||
        strcmp(err.text, "there is no group \"no such group\"") != 0) {
        return 2;
    }
    return privilege_drop(STR(""), STR("daemon"), &err) == -1 &&
                   strstr(err.text, "needs a user") != NULL
               ? 0
               : 3;
}

static void
unknown_names(void **state)
{
    (void)state;
    in_child(names_are_refused);
}

/* Numbers need no user of that name. */
static void
programs_have_a_user_of_their_own(void **state)
{
    struct errmsg err;
    struct privilege_ids ids;

    (void)state;
    assert_int_equal(privilege_check_program(STR("777"), STR("nobody"), &err),
                     0);
    assert_int_equal(privilege_check_program(STR("0"), STR("nobody"), &err),
                     -1);
    assert_string_equal(err.text, "program_user is root");
    assert_int_equal(
        privilege_check_program(STR("nobody"), STR("nobody"), &err), -1);
    assert_non_null(strstr(err.text, "has to be another than user"));
    assert_int_equal(
        privilege_check_program(STR("no-such-user"), STR("nobody"), &err), -1);
    assert_int_equal(privilege_program(STR("777"), &ids, &err), 0);
    assert_int_equal(ids.uid, geteuid() == 0 ? 777 : geteuid());
    assert_int_equal(ids.gid, geteuid() == 0 ? 777 : getegid());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(becomes_a_user_for_good),
        cmocka_unit_test(without_a_user_nobody_stays_root),
        cmocka_unit_test(root_by_name),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(programs_have_a_user_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
