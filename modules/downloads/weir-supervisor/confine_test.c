/*
 * A process that is confined tries the calls that make what would outlive a
 * run, or a program that lies nowhere.
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

#include "proc/descriptors.h"
#include "proc/sandbox.h"
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Confines a process that calls f; its exit status. */
static int
status_of(void (*f)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        struct supervise s = { .folder = -1, .beside = AT_FDCWD };
        struct errmsg err;
        bool apart;
        int listener;

        if (supervise_confine(&s, &apart, &err) == -1) {
            fprintf(stderr, "%s\n", err.text);
            _exit(99);
        }
        if (sandbox_engine_filter(0, getppid(), &listener) == -1) {
            _exit(97);
        }
        close(listener); /* nobody hears of calls */
        f();
        _exit(98);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- what it needs ---- */

/* Told in the child, which has room for the rules alone. */
static void
no_descriptor_is_left(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    if (sandbox_landlock_version() == 0) {
        skip(); /* it opens nothing */
    }
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        const struct rlimit limit = { STDERR_FILENO + 2, STDERR_FILENO + 2 };
        struct supervise s = { .folder = -1, .beside = AT_FDCWD };
        struct errmsg err = { "" };
        bool apart;

        descriptors_close_from(STDERR_FILENO + 1);
        setrlimit(RLIMIT_NOFILE, &limit);
        supervise_confine(&s, &apart, &err);
        _exit(strcmp(err.text, "cannot open /dev/null: Too many open files"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- calls ---- */

static const struct {
    const char *name;
    long number;
} calls[] = {
    { "shmget", SYS_shmget },
    { "shmat", SYS_shmat },
    { "shmctl", SYS_shmctl },
    { "msgget", SYS_msgget },
    { "msgsnd", SYS_msgsnd },
    { "msgrcv", SYS_msgrcv },
    { "msgctl", SYS_msgctl },
    { "semget", SYS_semget },
    { "semop", SYS_semop },
    { "semtimedop", SYS_semtimedop },
    { "semctl", SYS_semctl },
    { "mq_open", SYS_mq_open },
    { "mq_unlink", SYS_mq_unlink },
    { "add_key", SYS_add_key },
    { "request_key", SYS_request_key },
    { "keyctl", SYS_keyctl },
#ifdef SYS_memfd_secret
    { "memfd_secret", SYS_memfd_secret },
#endif
};

/* None of them says ENOSYS to arguments that are nonsense, or makes anything.
 */
static void
try_calls(void)
{
    int wrong = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (syscall(calls[i].number, -1L, 0L, -1L, -1L, -1L) != -1 ||
            errno != ENOSYS) {
            fprintf(stderr, "%s: %s\n", calls[i].name, strerror(errno));
            wrong++;
        }
    }
    if (syscall(SYS_memfd_create, "x", 0) != -1 || errno != EACCES) {
        fprintf(stderr, "memfd_create: %s\n", strerror(errno));
        wrong++;
    }
    _exit(wrong);
}

static void
test_nothing_outlives_it(void **state)
{
    (void)state;
    assert_int_equal(status_of(try_calls), 0);
}

/* ---- programs ---- */

static char name[] = "true";
static char *const arguments[] = { name, NULL };

static void
by_descriptor(void)
{
    int file = open("/bin/true", O_RDONLY | O_CLOEXEC);

    syscall(SYS_execveat, file, "", arguments, environ, AT_EMPTY_PATH);
    _exit(errno == EACCES ? 1 : 2);
}

/* As the supervisor executes an engine that lies beside a folder. */
static void
by_folder(void)
{
    int folder = open("/bin", O_PATH | O_DIRECTORY | O_CLOEXEC);

    syscall(SYS_execveat, folder, "true", arguments, environ, 0);
    _exit(1);
}

static void
test_programs_have_paths(void **state)
{
    (void)state;
    assert_int_equal(status_of(by_descriptor), 1);
    assert_int_equal(status_of(by_folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(test_nothing_outlives_it),
        cmocka_unit_test(test_programs_have_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
