/*
 * A starter whose role is in the hands of a stranger: it takes no nonsense,
 * and ends with all that it runs.
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

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/life.h"
#include "proc/starter_impl.h"
#include "starter_help.h"

static const struct str programs[] = { { "/bin/sh", 7 } };
static const struct str folders[] = { { "/", 1 } };
static const struct sandbox none = { .kind = SANDBOX_PROGRAM };

static int role; /* our end of the starter's socket */
static pid_t starter;

static int
begin(void **state)
{
    struct starter_options o = { .programs = programs,
                                 .program_count = 1,
                                 .folders = folders,
                                 .folder_count = 1,
                                 .sandbox = &none,
                                 .role = role_ids(),
                                 .program = program_ids() };
    const struct cgroup no_cgroup = { .folder = -1 };
    struct errmsg err;
    int ends[2];

    (void)state;
    if (life_create(&err) == -1 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        return -1;
    }
    role = ends[0];
    starter = fork();
    if (starter == 0) {
        close(role);
        starter_serve(&o, &no_cgroup, ends[1]);
    }
    close(ends[1]);
    return starter == -1 ? -1 : 0;
}

/* What it started ends as well, and would be ours, as it is the master's. */
static int
finish(void **state)
{
    (void)state;
    close(role);
    life_destroy();
    assert_int_equal(waitpid(starter, NULL, 0), starter);
    while (wait(NULL) > 0) {
    }
    return 0;
}

/* A request for a program that runs for long, as run 0, of that many bytes. */
static void
write_request(struct buf *out, uint32_t passed, size_t size)
{
    static struct starter_request r;
    static char variable[STARTER_MESSAGE];
    struct errmsg err;

    r = (struct starter_request){ .asks = STARTER_START,
                                  .passed = passed,
                                  .arguments = { "sh", "-c",
                                                 "exec sleep 1000" },
                                  .environment = { "A=" } };
    buf_init(out, STARTER_MESSAGE);
    assert_int_equal(starter_wire_write(&r, out, &err), 0);
    if (size > buf_len(out)) {
        memset(variable, 'x', sizeof(variable));
        memcpy(variable, "A=", 2);
        variable[size - buf_len(out) + 2] = '\0';
        r.environment[0] = variable;
        buf_clear(out);
        assert_int_equal(starter_wire_write(&r, out, &err), 0);
        assert_int_equal(buf_len(out), size);
    }
}

/* Asks for it with so many descriptors, and so many bytes behind it. */
static void
ask(const struct buf *request, size_t fds, size_t more)
{
    static char nothing[1];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE((PROGRAM_FILES + 1) * sizeof(int))];
    } control;
    struct iovec parts[] = { { (void *)(uintptr_t)buf_data(request),
                               buf_len(request) },
                             { nothing, more } };
    struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

    if (fds > 0) {
        m.msg_control = memset(&control, 0, sizeof(control));
        m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(fds * sizeof(int));
    } /* the numbers are 0: standard input */
    assert_int_not_equal(sendmsg(role, &m, MSG_NOSIGNAL), -1);
}

/* The next report; false: the starter has ended. */
static bool
hears(struct starter_report *r)
{
    static char bytes[STARTER_REPORT];
    struct pollfd p = { role, POLLIN, 0 };
    ssize_t n;

    assert_int_equal(poll(&p, 1, PATIENCE), 1);
    n = recv(role, bytes, sizeof(bytes), 0);
    return n > 0 && starter_report_read(r, str_of(bytes, (size_t)n));
}

static void
a_run_begins(const struct buf *request, size_t fds)
{
    struct starter_report r;

    ask(request, fds, 0);
    assert_true(hears(&r));
    assert_int_equal(r.tells, STARTER_STARTED);
    assert_int_equal(r.run, 0);
}

/* It has told of no other run before. */
static void
it_has_ended(void)
{
    struct starter_report r;

    assert_false(hears(&r));
}

/* The program that runs would be nobody's. */
static void
a_run_that_runs_does_not_begin(void **state)
{
    struct buf request;

    (void)state;
    write_request(&request, 0, 0);
    a_run_begins(&request, 0);
    ask(&request, 0, 0);
    it_has_ended();
    buf_clear(&request);
}

/* A request of that many bytes, which names descriptors, comes with so many,
 * and with more bytes behind it: the starter ends. */
static void
ends_it(uint32_t passed, size_t size, size_t fds, size_t more)
{
    struct buf request;

    write_request(&request, passed, size);
    ask(&request, fds, more);
    it_has_ended();
    buf_clear(&request);
}

static void
nonsense_is_no_request(void **state)
{
    (void)state;
    ends_it(0, 0, 0, 1);
}

static void
the_longest_request_is_taken(void **state)
{
    struct buf request;

    (void)state;
    write_request(&request, (1U << PROGRAM_FILES) - 1, STARTER_MESSAGE);
    a_run_begins(&request, PROGRAM_FILES);
    buf_clear(&request);
}

/* Its beginning would be one. */
static void
a_longer_one_is_not(void **state)
{
    (void)state;
    ends_it(0, STARTER_MESSAGE, 0, 1);
}

static void
more_descriptors_are_not_taken(void **state)
{
    (void)state;
    ends_it((1U << PROGRAM_FILES) - 1, 0, PROGRAM_FILES + 1, 0);
}

static void
all_end_with_the_master(void **state)
{
    struct buf request;

    (void)state;
    write_request(&request, 0, 0);
    a_run_begins(&request, 0);
    life_destroy();
    it_has_ended();
    buf_clear(&request);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_runs_does_not_begin), TEST(nonsense_is_no_request),
        TEST(the_longest_request_is_taken),   TEST(a_longer_one_is_not),
        TEST(more_descriptors_are_not_taken), TEST(all_end_with_the_master),
    };

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* as the master is */
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
