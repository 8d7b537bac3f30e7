/*
 * What systemd is told.
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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/master/sd_notify.h"

/* A datagram socket with that name; '@' for the abstract name space. */
static int
listen_on(const char *name)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    assert_true(fd != -1);
    memcpy(un.sun_path, name, len);
    if (name[0] == '@') {
        un.sun_path[0] = '\0';
    }
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
        0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void
expect(int fd, const char *text)
{
    char got[64] = "";
    ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

    assert_int_equal(n, strlen(text));
    assert_string_equal(got, text);
    close(fd);
}

static void
a_path_is_written_to(void **state)
{
    char name[64];
    int fd;

    (void)state;
    snprintf(name, sizeof(name), "/tmp/weir-notify-%d", (int)getpid());
    fd = listen_on(name);
    sd_notify_send("READY=1");
    unlink(name);
    expect(fd, "READY=1");
}

static void
an_abstract_name_is_written_to(void **state)
{
    char name[64];
    int fd;

    (void)state;
    snprintf(name, sizeof(name), "@weir-notify-%d", (int)getpid());
    fd = listen_on(name);
    sd_notify_send("STOPPING=1");
    expect(fd, "STOPPING=1");
}

static void
nothing_happens_without_a_listener(void **state)
{
    char long_name[200];

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    sd_notify_send("READY=1");
    setenv("NOTIFY_SOCKET", "", 1);
    sd_notify_send("READY=1");
    setenv("NOTIFY_SOCKET", "/tmp/nobody-is-here", 1);
    sd_notify_send("READY=1");
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    setenv("NOTIFY_SOCKET", long_name, 1);
    sd_notify_send("READY=1");
}

static bool is_well;

static bool
well(void *arg)
{
    *(unsigned *)arg += 1;
    return is_well;
}

/* Turns until well() was asked that often. */
static void
turn(struct loop *l, const unsigned *asked, unsigned until)
{
    while (*asked < until) {
        loop_turn(l, -1);
    }
}

static void
a_watchdog_is_told_while_all_is_well(void **state)
{
    struct errmsg err;
    struct loop *l = loop_new(&err);
    unsigned asked = 0;
    char name[64], pid[16];
    int fd;

    (void)state;
    snprintf(name, sizeof(name), "@weir-watch-%d", (int)getpid());
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    fd = listen_on(name);
    setenv("WATCHDOG_USEC", "20000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    sd_notify_watchdog_start(l, well, &asked);
    turn(l, &asked, 3); /* not well: nothing is told */
    assert_int_equal(recv(fd, name, sizeof(name), 0), -1);
    is_well = true;
    turn(l, &asked, 4);
    sd_notify_watchdog_stop();
    sd_notify_watchdog_stop();
    loop_free(&l);
    expect(fd, "WATCHDOG=1");
}

/* Meant for another process, or no time at all. */
static void
who_is_not_watched_tells_nothing(void **state)
{
    static const char *const times[] = { "20000", "", "0", "soon" };
    struct errmsg err;
    struct loop *l = loop_new(&err);
    unsigned asked = 0;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        setenv("WATCHDOG_USEC", times[i], 1);
        setenv("WATCHDOG_PID", i == 0 ? "1" : "", 1);
        if (i > 0) {
            unsetenv("WATCHDOG_PID");
        }
        sd_notify_watchdog_start(l, well, &asked);
        loop_turn(l, 30);
    }
    assert_int_equal(asked, 0);
    sd_notify_watchdog_stop();
    loop_free(&l);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_written_to),
        cmocka_unit_test(an_abstract_name_is_written_to),
        cmocka_unit_test(nothing_happens_without_a_listener),
        cmocka_unit_test(a_watchdog_is_told_while_all_is_well),
        cmocka_unit_test(who_is_not_watched_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
