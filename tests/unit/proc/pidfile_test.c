/*
 * The pid file: one holder, gone with it, stale ones taken over.
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/life.h"

static char folder[] = "/tmp/weir-pidfile-XXXXXX";
static char path[64];

static int
make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/pid", folder);
    return 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void
holds(const char *expected)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY);

    /* In the holder itself this would lose the lock. */
    assert_int_not_equal(fd, -1);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    assert_string_equal(text, expected);
}

/* A child that holds the file until it is killed. */
static pid_t
start_holder(void)
{
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();

    if (pid == 0) {
        struct errmsg err;

        byte = pidfile_create(path, &err) == 0 ? 'y' : 'n';
        (void)!write(ready[1], &byte, 1);
        alarm(60); /* should the test fail first */
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void
one_holder_only(void **state)
{
    struct errmsg err;
    char expected[128];
    pid_t pid = start_holder();

    (void)state;
    snprintf(expected, sizeof(expected), "%d\n", (int)pid);
    holds(expected);
    assert_int_equal(pidfile_read(path, &err), pid);
    assert_int_equal(pidfile_create(path, &err), -1);
    snprintf(expected, sizeof(expected), "weir is running as pid %d (%s)",
             (int)pid, path);
    assert_string_equal(err.text, expected);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(pidfile_read(path, &err), -1);
    assert_non_null(strstr(err.text, "no weir is running"));
    assert_int_equal(pidfile_create(path, &err), 0); /* stale: taken over */
    assert_int_equal(pidfile_read(path, &err), getpid());
    pidfile_remove();
    assert_int_equal(access(path, F_OK), -1);
    pidfile_remove();
}

static void
children_neither_hold_nor_remove(void **state)
{
    struct errmsg err;
    int status;

    (void)state;
    assert_int_equal(pidfile_create(path, &err), 0);
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        pidfile_remove();
        _exit(pidfile_read(path, &err) == parent ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(path, F_OK), 0);
    pidfile_remove();

    /* A child that lives on does not keep the name of a dead master. */
    int ready[2], stay[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(stay), 0);
    pid = fork();
    if (pid == 0) {
        (void)!pidfile_create(path, &err);
        close(stay[1]);
        if (fork() == 0) {
            (void)!read(stay[0], &byte, 1); /* until the test is over */
            _exit(0);
        }
        close(ready[0]);
        (void)!write(ready[1], "x", 1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(pidfile_create(path, &err), 0);
    pidfile_remove();
    close(stay[0]);
    close(stay[1]);
    close(ready[0]);
    close(ready[1]);
}

static void
a_longer_number_before(void **state)
{
    struct errmsg err;
    char expected[32];
    int fd = open(path, O_CREAT | O_WRONLY, 0644), status;

    (void)state;
    assert_int_equal(write(fd, "123456789123456789\n", 19), 19);
    close(fd);
    assert_int_equal(pidfile_create(path, &err), 0);
    snprintf(expected, sizeof(expected), "%d\n", (int)getpid());
    pid_t pid = fork(); /* a child may open and close it */

    if (pid == 0) {
        holds(expected);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(pidfile_create(path, &err), -1);
    pidfile_remove();
}

static void
one_replaced_by_hand_is_left(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(pidfile_create(path, &err), 0);
    unlink(path);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);

    pidfile_remove();
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
    unlink(path);
}

static void
where_it_cannot_be(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(pidfile_create("/no/such/pid", &err), -1);
    assert_string_equal(
        err.text,
        "cannot open pid file /no/such/pid: No such file or directory");
    assert_int_equal(pidfile_read("/no/such/pid", &err), -1);
    assert_non_null(strstr(err.text, "No such file or directory"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holder_only),
        cmocka_unit_test(children_neither_hold_nor_remove),
        cmocka_unit_test(a_longer_number_before),
        cmocka_unit_test(one_replaced_by_hand_is_left),
        cmocka_unit_test(where_it_cannot_be),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
