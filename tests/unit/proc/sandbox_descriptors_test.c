/*
 * What the sandbox lets a process do to descriptors that it has open.
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
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/sandbox.h"

static struct sandbox everything = {
    .seccomp = SANDBOX_SECCOMP_ENFORCE,
    .landlock = true,
    .capabilities = true,
};
static int directory; /* open from before */

/* What a try in the sandbox says: an errno, or 0. */
static int
run(int (*try)(void))
{
    struct errmsg err;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        sandbox_prepare(&everything);
        _exit(sandbox_enter(&everything, &err) == -1 ? 99 : try());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* EPERM by the filter; 97: by the kernel itself. */
static int
refusal(long rc)
{
    int last;

    return rc != -1                                        ? 0
           : errno == EPERM && sandbox_refused(&last) != 1 ? 97
                                                           : errno;
}

/* Memory that all have mapped would be shorter under them. */
static int
try_ftruncate(void)
{
    return refusal(ftruncate(memfd_create("x", 0), 1));
}

static int
try_fallocate(void)
{
    return refusal(syscall(SYS_fallocate, memfd_create("x", 0), 0, 0L, 1L));
}

static int
try_seals(void)
{
    return refusal(
        fcntl(memfd_create("x", MFD_ALLOW_SEALING), F_ADD_SEALS, F_SEAL_GROW));
}

static int
try_owner(void)
{
    return refusal(fcntl(directory, F_SETOWN, getppid()));
}

static int
try_lease(void)
{
    return refusal(fcntl(directory, F_SETLEASE, F_RDLCK));
}

static int
try_notify(void)
{
    return refusal(fcntl(directory, F_NOTIFY, DN_CREATE));
}

/* The master, which has the same file open, would wait. */
static int
try_blocking(void)
{
    return refusal(fcntl(eventfd(0, EFD_NONBLOCK), F_SETFL, 0));
}

static int
try_blocking_ioctl(void)
{
    int off = 0;

    return refusal(ioctl(eventfd(0, EFD_NONBLOCK), FIONBIO, &off));
}

static const struct call {
    const char *name;
    int (*try)(void);
} calls[] = {
    { "ftruncate", try_ftruncate },
    { "fallocate", try_fallocate },
    { "F_ADD_SEALS", try_seals },
    { "F_SETOWN", try_owner },
    { "F_SETLEASE", try_lease },
    { "F_NOTIFY", try_notify },
    { "F_SETFL without O_NONBLOCK", try_blocking },
    { "FIONBIO", try_blocking_ioctl },
};

static void
calls_are_refused(void **state)
{
    bool bad = false;

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int said = run(calls[i].try);

        if (said != EPERM) {
            print_error("%s: %d\n", calls[i].name, said);
            bad = true;
        }
    }
    assert_false(bad);
}

/* What libraries ask of descriptors; -1: it was done, else its number. */
static int
ask_of_descriptors(void)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    int fd = memfd_create("x", 0), copy;

    lock.l_len = 1;
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    return copy < 10                                       ? 1
           : fcntl(fd, F_SETFD, FD_CLOEXEC) == -1          ? 2
           : fcntl(fd, F_GETFD) != FD_CLOEXEC              ? 3
           : fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == -1 ? 4
           : (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0        ? 5
           : fcntl(fd, F_SETLK, &lock) == -1               ? 6
           : fcntl(fd, F_GETLK, &lock) == -1               ? 7
           : fcntl(fd, F_GET_SEALS) == -1                  ? 8
                                                           : 0;
}

static void
some_commands_of_fcntl_are_allowed(void **state)
{
    (void)state;
    assert_int_equal(run(ask_of_descriptors), 0);
}

/* The keeper, whose database grows and shrinks. */
static void
sizes_of_files_where_they_are_its_own(void **state)
{
    static const struct rights resize = { .resize = true };

    (void)state;
    everything.rights = &resize;
    assert_int_equal(run(try_ftruncate), 0);
    everything.rights = NULL;
}

static int
try_seal(void)
{
    int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1 ? errno
           : write(fd, "x", 1) != -1                  ? 1
                                                      : 0;
}

/* A role that hands out what it has in memory. */
static void
seals_where_it_has_the_right(void **state)
{
    static const struct rights seal = { .seal = true };

    (void)state;
    assert_int_equal(run(try_seal), EPERM);
    everything.rights = &seal;
    assert_int_equal(run(try_seal), 0);
    everything.rights = NULL;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused),
        cmocka_unit_test(some_commands_of_fcntl_are_allowed),
        cmocka_unit_test(sizes_of_files_where_they_are_its_own),
        cmocka_unit_test(seals_where_it_has_the_right),
    };

    directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
