/*
 * What a child keeps of its parent's descriptors.
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

#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/descriptors.h"

#define MOST 200

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

/* At that number, which is free. */
static void
open_at(int fd)
{
    int made = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_false(is_open(fd));
    assert_int_equal(dup2(made, fd), fd);
    close(made);
}

/* In a child of that slot with one descriptor of its own (-1: none): the
 * descriptors from 3 on that are open are those of expected, 0 at the end. */
static void
keeps(uint32_t slot, int own, const int *expected)
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        descriptors_close_others(slot, &own, own != -1);
        for (int fd = 0; fd < 3; fd++) {
            if (!is_open(fd)) {
                _exit(254);
            }
        }
        for (int fd = 3; fd < MOST; fd++) {
            bool wanted = fd == *expected;

            expected += wanted;
            if (is_open(fd) != wanted) {
                _exit(fd);
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
only_what_is_on_the_list_is_kept(void **state)
{
    static const int numbers[] = { 100, 101, 102, 105, 130, 131, 199 };
    static const int nothing[] = { 0 };
    static const int all[] = { 101, 130, 0 };
    static const int of_two[] = { 101, 102, 130, 0 };
    static const int with_own[] = { 101, 102, 130, 199, 0 };
    static const int less[] = { 130, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        open_at(numbers[i]);
    }
    keeps(1, -1, nothing);
    descriptors_keep(101);
    descriptors_keep(130);
    descriptors_keep_for(2, 102);
    keeps(1, -1, all);
    keeps(2, -1, of_two);
    keeps(2, 199, with_own);
    keeps(2, -1, of_two); /* what a child adds is its own */

    descriptors_close(101);
    assert_false(is_open(101));
    open_at(101); /* the number is another's now */
    keeps(1, -1, less);
}

static void
a_slot_is_not_taken_for_everybody(void **state)
{
    static const int last[] = { 150, 0 };
    static const int nothing[] = { 0 };

    (void)state;
    descriptors_close(130);
    descriptors_close(102);
    open_at(150);
    descriptors_keep_for(0, 150);
    keeps(0, -1, last);
    keeps(1, -1, nothing);
    descriptors_close(150);
}

static void
one_that_was_never_named_is_closed_as_well(void **state)
{
    (void)state;
    open_at(180);
    descriptors_close(180);
    assert_false(is_open(180));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_on_the_list_is_kept),
        cmocka_unit_test(a_slot_is_not_taken_for_everybody),
        cmocka_unit_test(one_that_was_never_named_is_closed_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
