/*
 * Ends that the supervisor makes: it is told to, or its engine has too much.
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

#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED ((128 + SIGKILL) << 8) /* its status, as wait() has it */

static char path[64];
static int folder, output[2], facts[2];

static int
begin(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/weir-ends-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    return pipe2(facts, O_CLOEXEC);
}

static int
finish(void **state)
{
    char command[sizeof(path) + 16];

    (void)state;
    close(folder);
    close(output[0]);
    close(facts[0]);
    snprintf(command, sizeof(command), "rm -rf %s", path);
    return system(command);
}

static bool strangely; /* how the supervisor is started */

/* The supervisor's number, when the engine has said something. */
static pid_t
start(const char *script)
{
    char *const argv[] = { (char *)(uintptr_t) "/bin/bash",
                           (char *)(uintptr_t) "-c", (char *)(uintptr_t)script,
                           NULL };
    const struct supervise s = { .folder = folder,
                                 .beside = AT_FDCWD,
                                 .tells = facts[1],
                                 .max_files = 3,
                                 .argv = argv };
    pid_t supervisor = fork();
    char c;

    assert_int_not_equal(supervisor, -1);
    if (supervisor == 0) {
        if (strangely) {
            umask(0);
            signal(SIGCHLD, SIG_IGN);
        }
        dup2(output[1], STDOUT_FILENO);
        close(output[1]);
        _exit(supervise(&s));
    }
    close(output[1]);
    close(facts[1]);
    assert_int_equal(read(output[0], &c, 1), 1);
    return supervisor;
}

/* All that it told until its end; nothing that has its output is left then. */
static const char *
facts_until_end(pid_t supervisor, int *status)
{
    static char text[256];
    char ignored[256];
    ssize_t n;

    assert_int_equal(waitpid(supervisor, status, 0), supervisor);
    while (read(output[0], ignored, sizeof(ignored)) > 0) {
    }
    n = read(facts[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* By all of it, whatever that does with signals. */
static void
test_sigterm_ends_it(void **state)
{
    int status;
    pid_t supervisor = start("trap '' TERM INT; (sleep 1000; :) & echo; "
                             "while :; do sleep 0.05; done");

    (void)state;
    kill(supervisor, SIGTERM);
    assert_string_equal(facts_until_end(supervisor, &status), "");
    assert_int_equal(status, KILLED);
}

static void
test_excess_ends_it(void **state)
{
    int status;
    pid_t supervisor = start("echo; while :; do : > f$((n++)); "
                             "sleep 0.05; done");

    (void)state;
    assert_string_equal(facts_until_end(supervisor, &status), "excess files\n");
    assert_int_equal(status, KILLED);
}

/* An engine that is done is what it says, though it may have had too much. */
static void
test_its_own_end(void **state)
{
    int status;
    pid_t supervisor = start("echo; : > a; : > b; : > c; exit 5");

    (void)state;
    assert_string_equal(facts_until_end(supervisor, &status), "");
    assert_int_equal(status, 5 << 8);
}

/* Files that others may not write, and ends of children that are told, though
 * weir was started otherwise. */
static void
test_what_it_was_started_with(void **state)
{
    int status;
    pid_t supervisor;

    (void)state;
    strangely = true;
    supervisor = start("echo; : > a; exit 5");
    strangely = false;
    assert_string_equal(facts_until_end(supervisor, &status), "");
    assert_int_equal(status, 5 << 8);

    struct stat st;

    assert_int_equal(fstatat(folder, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sigterm_ends_it, begin, finish),
        cmocka_unit_test_setup_teardown(test_excess_ends_it, begin, finish),
        cmocka_unit_test_setup_teardown(test_its_own_end, begin, finish),
        cmocka_unit_test_setup_teardown(test_what_it_was_started_with, begin,
                                        finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
