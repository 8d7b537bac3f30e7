/*
 * Who descends from this process, children of its own asking over a real
 * socket.
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

#include "proc/ancestry.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un place = { .sun_family = AF_UNIX };
static int listener;

static int
set_up(void **state)
{
    (void)state;
    /* An abstract one: the first byte is 0. */
    snprintf(place.sun_path + 1, sizeof(place.sun_path) - 1, "ancestry-%d",
             (int)getpid());
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return listener == -1 ||
           bind(listener, (struct sockaddr *)&place, sizeof(place)) == -1 ||
           listen(listener, 8) == -1;
}

static int
tear_down(void **state)
{
    (void)state;
    return close(listener);
}

/* Stays connected until the other end is closed. */
static void __attribute__((noreturn)) be_a_client(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;

    if (connect(fd, (struct sockaddr *)&place, sizeof(place)) == 0) {
        (void)!read(fd, &byte, 1);
    }
    _exit(0);
}

/* Becomes one `depth` generations below, in sessions of their own; those
 * between end at once if it is to be an orphan. */
static void __attribute__((noreturn)) be_a_descendant(int depth, bool orphan)
{
    prctl(PR_SET_NAME, "a) S 1 (b"); /* as /proc shows it: with no escapes */
    while (depth-- > 0) {
        pid_t pid = fork();

        if (pid != 0) {
            if (!orphan) {
                waitpid(pid, NULL, 0);
            }
            _exit(0);
        }
        setsid();
    }
    be_a_client();
}

static enum ancestry
look(int fd, pid_t *pid, struct errmsg *err)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);

    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size), 0);
    *pid = cred.pid;
    return ancestry_of_peer(fd, cred.pid, err);
}

static void
reap_all(void)
{
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

static void
a_descendant(int depth, bool orphan)
{
    struct errmsg err = { "" };
    pid_t pid, first = fork();
    enum ancestry found;
    int fd;

    if (first == 0) {
        be_a_descendant(depth, orphan);
    }
    fd = accept(listener, NULL, NULL);
    assert_int_not_equal(fd, -1);
    if (orphan && depth > 0) {
        waitpid(first, NULL, 0);
    }
    found = look(fd, &pid, &err);
    close(fd);
    reap_all();
    assert_string_equal(err.text, "");
    assert_int_equal(found, ANCESTRY_DESCENDANT);
    assert_true(depth == 0 ? pid == first : pid != first);
}

static void
test_descendants(void **state)
{
    (void)state;
    a_descendant(0, false);
    a_descendant(1, false);
    a_descendant(5, false);
    a_descendant(1, true);
    a_descendant(5, true);
}

static void
test_too_many_ancestors(void **state)
{
    struct errmsg err = { "" };
    enum ancestry found;
    pid_t pid;
    int fd;

    (void)state;
    if (fork() == 0) {
        be_a_descendant(80, false);
    }
    fd = accept(listener, NULL, NULL);
    found = look(fd, &pid, &err);
    close(fd);
    reap_all();
    assert_int_equal(found, ANCESTRY_UNKNOWN);
    assert_non_null(strstr(err.text, "ancestors"));
}

/* One that connected and ended: others may have its number now. */
static void
test_a_peer_that_has_ended(void **state)
{
    struct errmsg err = { "" };
    pid_t pid, first = fork();
    enum ancestry found;
    int fd;

    (void)state;
    if (first == 0) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);

        _exit(connect(s, (struct sockaddr *)&place, sizeof(place)) != 0);
    }
    fd = accept(listener, NULL, NULL);
    reap_all();
    found = look(fd, &pid, &err);
    close(fd);
    assert_int_equal(pid, first);
    assert_int_equal(found, ANCESTRY_UNKNOWN);
    assert_true(err.text[0] != '\0');
}

/* From where a child stands, its parent and its brother are strangers. */
static void
test_strangers(void **state)
{
    struct errmsg err = { "" };
    pid_t brother = fork(), judge;
    int status;

    (void)state;
    if (brother == 0) {
        be_a_client();
    }
    judge = fork();
    if (judge == 0) {
        int fd = accept(listener, NULL, NULL);
        pid_t pid;

        _exit(look(fd, &pid, &err) == ANCESTRY_STRANGER && pid == brother &&
                      ancestry_of_peer(fd, getppid(), &err) !=
                          ANCESTRY_DESCENDANT
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(judge, &status, 0), judge);
    reap_all();
    assert_int_equal(status, 0);
}

/* This process itself, and one that no number is known of. */
static void
test_nobody_else(void **state)
{
    struct errmsg err = { "" };

    (void)state;
    assert_int_equal(ancestry_of_peer(listener, getpid(), &err),
                     ANCESTRY_STRANGER);
    assert_int_equal(ancestry_of_peer(listener, 0, &err), ANCESTRY_STRANGER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descendants),
        cmocka_unit_test(test_too_many_ancestors),
        cmocka_unit_test(test_a_peer_that_has_ended),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_nobody_else),
    };
    struct errmsg err;

    signal(SIGPIPE, SIG_IGN);
    if (ancestry_adopt(&err) == -1) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
