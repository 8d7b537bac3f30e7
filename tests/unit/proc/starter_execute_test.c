/*
 * A process that cannot become the program says which call failed.
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

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/starter_impl.h"

/* In a child that may have so many descriptors. */
static void
execute_with(rlim_t open, char *why, size_t size)
{
    static const struct str programs[] = { { "/bin/true", 9 } };
    const struct starter_options o = { .programs = programs };
    const struct starter_request r = { .program = 0 };
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        const struct rlimit limit = { open, open };

        setrlimit(RLIMIT_NOFILE, &limit);
        starter_execute(&o, &r, NULL, ends[1]);
    }
    close(ends[1]);
    ssize_t n = recv(ends[0], why, size - 1, 0);

    why[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
descriptors_that_are_not_there(void **state)
{
    char why[PROGRAM_WHY];

    (void)state;
    execute_with(STDERR_FILENO + 1, why, sizeof(why));
    assert_string_equal(why, "cannot open /dev/null: Too many open files");
    execute_with(PROGRAM_FILES + 2, why, sizeof(why));
    assert_string_equal(why, "no number is left for descriptor 1: Too many "
                             "open files");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_that_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
