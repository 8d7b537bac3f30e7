/*
 * Shared memory is zeroed, shared with children and given back.
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
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/shared.h"

static void
children_write_to_the_same(void **state)
{
    struct errmsg err;
    int fd, status;
    size_t size = 10000;
    char *memory = shared_create("test", size, &fd, &err);

    (void)state;
    assert_non_null(memory);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(memory[0] | memory[size - 1], 0);
    pid_t pid = fork();

    if (pid == 0) {
        memory[size - 1] = 'c';
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(memory[size - 1], 'c');

    /* The descriptor names the same memory. */
    char *again = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

    assert_int_equal(again[size - 1], 'c');
    munmap(again, size);
    int number = fd;

    shared_destroy(memory, size, &fd);
    assert_int_equal(fd, -1);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    shared_destroy(NULL, size, &fd);
}

static void
too_much_is_an_error(void **state)
{
    struct errmsg err;
    int fd;

    (void)state;
    assert_null(shared_create("test", (size_t)1 << 62, &fd, &err));
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.text, "shared memory for test"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_write_to_the_same),
        cmocka_unit_test(too_much_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
