/*
 * Shared memory is zeroed, shared with children and given back; and what is the
 * master's, nobody else can change.
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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/shared.h"

#define SIZE ((size_t)10000)

/* Runs what a child does, which tells how many of its checks failed. */
static void
in_child(int (*check)(char *memory), char *memory)
{
    struct errmsg err;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(shared_enter_child(&err) == -1 ? 100 : check(memory));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A descriptor of that memory in this process; -1: there is none. */
static int
find_descriptor(const char *name)
{
    char path[64], link[128], wanted[64];

    snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", name);
    for (int fd = 0; fd < 100; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        if (strcmp(link, wanted) == 0) {
            return fd;
        }
    }
    return -1;
}

static char *
make(enum shared_writers writers)
{
    struct errmsg err;
    char *memory = shared_create("test", SIZE, writers, &err);

    assert_non_null(memory);
    assert_int_equal(memory[0] | memory[SIZE - 1], 0);
    return memory;
}

/* ---- of all ---- */

static int
write_last(char *memory)
{
    memory[SIZE - 1] = 'c';
    return find_descriptor("test") != -1;
}

static void
children_write_to_the_same(void **state)
{
    char *memory = make(SHARED_ALL);

    (void)state;
    assert_true(fcntl(find_descriptor("test"), F_GETFD) & FD_CLOEXEC);
    in_child(write_last, memory);
    assert_int_equal(memory[SIZE - 1], 'c');
    shared_destroy(memory);
    assert_int_equal(find_descriptor("test"), -1);
    shared_destroy(NULL);
}

static void
nobody_changes_its_size_or_seals(void **state)
{
    char *memory = make(SHARED_ALL);
    int fd = find_descriptor("test");

    (void)state;
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 1 << 20), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    memory[SIZE - 1] = 1;
    shared_destroy(memory);
}

static void
pages_are_given_back(void **state)
{
    char *memory = make(SHARED_ALL);

    (void)state;
    memory[0] = memory[4096] = 1;
    assert_true(shared_empty(memory, 4096));
    assert_int_equal(memory[0], 0);
    assert_int_equal(memory[4096], 1);
    shared_destroy(memory);
}

/* ---- of the master ---- */

/* A child of a stranger tries to write all the same.  The descriptor is the
 * parent's, as if it had kept one. */
static int kept;

static int
try_to_write(char *memory)
{
    bool sealed = shared_is_sealed();
    int bad = find_descriptor("test") != kept;
    char path[64];

    bad += memory[0] != 'm';
    bad += sealed && mprotect(memory, SIZE, PROT_READ | PROT_WRITE) == 0;
    bad += sealed && mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, kept,
                          0) != MAP_FAILED;
    bad += sealed && write(kept, "x", 1) == 1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
    int again = open(path, O_RDWR | O_CLOEXEC);

    bad += sealed && again != -1 &&
           mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) !=
               MAP_FAILED;
    bad += madvise(memory, 4096, MADV_REMOVE) == 0;
    bad += ftruncate(kept, 0) == 0;
    return bad;
}

static void
only_the_master_writes(void **state)
{
    static const enum shared_writers its[] = { SHARED_MASTER, SHARED_SECRET };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char *memory = make(its[i]);

        memory[0] = 'm';
        kept = dup(find_descriptor("test"));
        in_child(try_to_write, memory);
        assert_int_equal(memory[0], 'm');
        memory[0] = 'n'; /* still */
        close(kept);
        shared_destroy(memory);
    }
}

/* A write to it kills the child, nobody else. */
static int
write_first(char *memory)
{
    *(volatile char *)memory = 'c';
    return 0;
}

static void
a_child_that_writes_dies(void **state)
{
    char *memory = make(SHARED_MASTER);
    struct errmsg err;
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(shared_enter_child(&err) == -1 || write_first(memory));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(status, 0);
    assert_int_equal(memory[0], 0);
    shared_destroy(memory);
}

/* What the master writes later is seen. */
static int
wait_for_word(char *memory)
{
    while (((_Atomic char *)memory)[1] == 0) {
        poll(NULL, 0, 1);
    }
    return 0;
}

static void
children_see_what_is_written_later(void **state)
{
    char *memory = make(SHARED_MASTER);
    struct errmsg err;
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(shared_enter_child(&err) == -1 || wait_for_word(memory));
    }
    poll(NULL, 0, 20);
    memory[1] = 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    shared_destroy(memory);
}

static void
too_much_is_an_error(void **state)
{
    struct errmsg err;

    (void)state;
    assert_null(shared_create("test", (size_t)1 << 62, SHARED_ALL, &err));
    assert_int_equal(find_descriptor("test"), -1);
    assert_non_null(strstr(err.text, "shared memory for test"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_write_to_the_same),
        cmocka_unit_test(nobody_changes_its_size_or_seals),
        cmocka_unit_test(pages_are_given_back),
        cmocka_unit_test(only_the_master_writes),
        cmocka_unit_test(a_child_that_writes_dies),
        cmocka_unit_test(children_see_what_is_written_later),
        cmocka_unit_test(too_much_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
