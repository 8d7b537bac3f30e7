/*
 * Calls that are not on a list: a listener hears of them, and answers.  And
 * the list of engines.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sandbox_tries.h"

#include <poll.h>

/* ---- a process that is filtered, and its listener ---- */

static struct {
    enum sandbox_kind kind; /* of the filter in front */
    bool engine;            /* and one of an engine behind it */
    unsigned flags;
    pid_t process;
    int listener, other; /* socket to it */
} o;

static void
send_listener(int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec part = { &fd, sizeof(fd) };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    struct cmsghdr *c = (void *)control;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    if (sendmsg(o.other, &m, 0) == -1) {
        _exit(97);
    }
    close(fd);
}

static int
take_listener(int from)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    int fd = -1;
    struct iovec part = { &fd, sizeof(fd) };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };

    assert_int_equal(recvmsg(from, &m, MSG_CMSG_CLOEXEC), sizeof(fd));
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    if (c == NULL) {
        fail();
        return -1;
    }
    memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

static void
filter(pid_t spared)
{
    int fd = -1;

    sandbox.kind = o.kind;
    sandbox.listener = o.engine ? NULL : &fd;
    enter();
    if (o.engine && sandbox_engine_filter(o.flags, spared, &fd) == -1) {
        _exit(96);
    }
    if (fd == -1) {
        _exit(95);
    }
    send_listener(fd);
}

static void
start(int (*try)(void))
{
    pid_t spared = getpid();
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    o.other = ends[1];
    o.process = fork();
    if (o.process == 0) {
        setpgid(0, 0);
        filter(spared);
        _exit(try());
    }
    close(ends[1]);
    o.listener = take_listener(ends[0]);
    close(ends[0]);
}

static int
status(void)
{
    int said;

    assert_int_equal(waitpid(o.process, &said, 0), o.process);
    assert_true(WIFEXITED(said));
    close(o.listener);
    return WEXITSTATUS(said);
}

/* The next call; false: the process has ended. */
static bool
next(struct sandbox_call *call)
{
    struct pollfd p = { o.listener, POLLIN, 0 };

    assert_int_equal(poll(&p, 1, 120000), 1);
    return (p.revents & POLLIN) != 0 && sandbox_hear(o.listener, call);
}

/* Answers as weir does, and says which calls there were. */
static size_t
hear(int *numbers, size_t most)
{
    struct sandbox_call call;
    size_t count = 0;

    while (next(&call)) {
        assert_true(count < most);
        assert_int_equal(call.pid, o.process);
        numbers[count++] = call.number;
        sandbox_answer(o.listener, &call, ENOSYS, 0);
    }
    return count;
}

/* ---- programs ---- */

static void
need_listeners(void)
{
    if (!sandbox_can_hear()) {
        print_message("not run: needs user notification of seccomp\n");
        skip();
    }
}

/* One that is no engine, with these rights. */
static void
start_program(struct rights has, int (*calls)(void))
{
    need_listeners();
    o.kind = SANDBOX_PROGRAM;
    o.engine = false;
    give(has, SANDBOX_PROGRAM);
    start(calls);
}

static int
unknown_calls(void)
{
    return try_listen() != ENOSYS || try_ptrace() != ENOSYS ||
           syscall(5000, 1, 2, 3) != -1 || errno != ENOSYS;
}

static void
unknown_calls_are_heard(void **state)
{
    int numbers[8];

    (void)state;
    start_program((struct rights){ .connect_any = true }, unknown_calls);
    assert_int_equal(hear(numbers, 8), 3);
    assert_int_equal(numbers[0], SYS_listen);
    assert_int_equal(numbers[1], SYS_ptrace);
    assert_int_equal(numbers[2], 5000);
    assert_int_equal(status(), 0);
}

/* They are ENOSYS all the same. */
static void
a_listener_that_is_gone(void **state)
{
    (void)state;
    start_program((struct rights){ .connect_any = true }, unknown_calls);
    close(o.listener);
    o.listener = -1;
    assert_int_equal(status(), 0);
}

/* Its call is there, and then it is not. */
static void
a_process_that_is_gone(void **state)
{
    struct sandbox_call call;
    struct pollfd p;

    (void)state;
    start_program((struct rights){ .connect_any = true }, unknown_calls);
    p = (struct pollfd){ o.listener, POLLIN, 0 };
    assert_int_equal(poll(&p, 1, 120000), 1);
    kill(o.process, SIGKILL);
    waitpid(o.process, NULL, 0);
    assert_false(sandbox_hear(o.listener, &call));
    close(o.listener);
}

/* Whether Landlock holds that no file is emptied, whatever openat2() asks. */
static bool
keeps_files(void)
{
    return sandbox.landlock && !sandbox_is_wide() &&
           sandbox_landlock_version() >= SANDBOX_HOLDS_SIZES;
}

static int
known_calls(void)
{
    return try_new_names() != EPERM || try_limits() != EPERM ||
           fork_and_wait() != 0 || syscall(SYS_clone3, NULL, 0) != -1 ||
           errno != ENOSYS || syscall(SYS_openat2, 0, "/", NULL, 0) != -1 ||
           errno != (keeps_files() ? EINVAL : ENOSYS);
}

static void
known_calls_are_not(void **state)
{
    int numbers[1];

    (void)state;
    start_program(none, known_calls);
    assert_int_equal(hear(numbers, 1), 0);
    assert_int_equal(status(), 0);
}

/* ---- engines ---- */

static int
datagrams(void)
{
    return refusal(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int
many_paths(void)
{
    return refusal(socket(AF_INET, SOCK_STREAM, 262));
}

static int
local(void)
{
    return refusal(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int
pair_of_datagrams(void)
{
    int ends[2];

    return refusal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
}

static int
mode_of_open(void)
{
    return refusal(fchmod(open(my_file, O_RDONLY | O_CLOEXEC), 0700));
}

static int
memory_file(void)
{
    return refusal(memfd_create("x", MFD_CLOEXEC | 8U));
}

static int
layer(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? 1
                    : refusal(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3));
}

static int
kill_it(void)
{
    return refusal(kill(getppid(), 0));
}

static int
kill_its_group(void)
{
    return refusal(kill(-getppid(), 0));
}

static int
kill_all(void)
{
    return refusal(kill(-1, 0));
}

static int
kill_its_thread(void)
{
    return refusal(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int
kill_a_thread(void)
{
    return refusal(syscall(SYS_tkill, getppid(), 0));
}

static int
queue_a_signal(void)
{
    siginfo_t info = { .si_code = SI_QUEUE };

    return refusal(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info));
}

static int
join_its_group(void)
{
    return refusal(setpgid(0, getppid()));
}

static int
leave_its_session(void)
{
    return refusal(setsid());
}

static int
kill_itself(void)
{
    return kill(getpid(), 0) == 0 && kill(0, 0) == 0 && setpgid(0, 0) == 0 &&
                   kill(-getpid(), 0) == 0
               ? 0
               : errno;
}

static const struct call engine_calls[] = {
    { "datagrams", datagrams, EACCES },
    { "another protocol", many_paths, EACCES },
    { "a socket of files", local, EACCES },
    { "a pair of datagrams", pair_of_datagrams, EACCES },
    { "a mode of an open file", mode_of_open, EACCES },
    { "a file of memory", memory_file, EACCES },
    { "a layer on a connection", layer, EACCES },
    { "bind()", try_bind, EACCES },
    { "sendto()", try_fast_open, EACCES },
    { "sendmsg()", try_fast_open_message, EACCES },
    { "sendmmsg()", try_fast_open_messages, EACCES },
    { "the option", try_fast_open_option, EACCES },
    { "its supervisor", kill_it, EACCES },
    { "its group", kill_its_group, EACCES },
    { "all", kill_all, EACCES },
    { "its thread", kill_its_thread, EACCES },
    { "a thread", kill_a_thread, EACCES },
    { "a signal with a value", queue_a_signal, EACCES },
    { "joining its group", join_its_group, EACCES },
    { "leaving its session", leave_its_session, EACCES },
    { "itself", kill_itself, 0 },
    { "connect()", try_port, 0 },
    { "fork()", fork_and_wait, 0 },
};
static size_t tried; /* of them */

static int
try_as_said(void)
{
    int said = engine_calls[tried].try();

    if (said != engine_calls[tried].said) {
        fprintf(stderr, "%s: %s\n", engine_calls[tried].name, strerror(said));
        return 1;
    }
    return 0;
}

static void
check_engine(void)
{
    int numbers[1], wrong = 0;

    for (tried = 0; tried < sizeof(engine_calls) / sizeof(engine_calls[0]);
         tried++) {
        start(try_as_said);
        assert_int_equal(hear(numbers, 1), 0);
        wrong += status();
    }
    assert_int_equal(wrong, 0);
}

/* Where nothing but its own filter holds it, too. */
static void
engines_have_a_list(void **state)
{
    (void)state;
    need_listeners();
    o.engine = true;
    o.flags = 0;
    o.kind = SANDBOX_SUPERVISOR;
    sandbox.seccomp = SANDBOX_SECCOMP_OFF;
    sandbox.landlock = false;
    give(none, SANDBOX_SUPERVISOR);
    check_engine();
    sandbox.seccomp = SANDBOX_SECCOMP_ENFORCE;
    sandbox.landlock = true;
}

/* A filter in front would answer first if it said ENOSYS itself. */
static void
a_filter_in_front_leaves_them_calls(void **state)
{
    int numbers[8];

    (void)state;
    need_listeners();
    o.engine = true;
    o.flags = 0;
    o.kind = SANDBOX_SUPERVISOR;
    give((struct rights){ .connect_any = true }, SANDBOX_SUPERVISOR);
    start(unknown_calls);
    assert_int_equal(hear(numbers, 8), 3);
    assert_int_equal(numbers[0], SYS_listen);
    assert_int_equal(status(), 0);
}

/* ---- connections that are asked for ---- */

static int
ask(void)
{
    return try_port() == ECONNREFUSED && try_port() == 0 ? 0 : 1;
}

static void
connections_are_asked_for(void **state)
{
    struct sandbox_call call;

    (void)state;
    need_listeners();
    if (!sandbox_can_give()) {
        skip();
    }
    o.engine = true;
    o.flags = SANDBOX_ENGINE_ASKS;
    o.kind = SANDBOX_SUPERVISOR;
    give((struct rights){ .connect_any = true }, SANDBOX_SUPERVISOR);
    start(ask);
    for (int i = 0; i < 2; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(next(&call));
        assert_int_equal(call.number, SYS_socket);
        sandbox_give(o.listener, &call, fd, true);
        close(fd);
        assert_true(next(&call));
        assert_int_equal(call.number, SYS_connect);
        assert_int_equal(call.arguments[2], sizeof(struct sockaddr_in));
        sandbox_answer(o.listener, &call, i == 0 ? ECONNREFUSED : 0, 0);
    }
    assert_int_equal(status(), 0);
}

/* ---- telling ---- */

static void
each_number_is_told_once(void **state)
{
    struct sandbox_told told = { .count = 0 };
    int told_once = 0;

    (void)state;
    for (int i = 0; i < 3 * SANDBOX_TOLD; i++) {
        told_once += sandbox_tells(&told, i);
        assert_false(sandbox_tells(&told, i));
    }
    assert_int_equal(told_once, SANDBOX_TOLD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_calls_are_heard),
        cmocka_unit_test(a_listener_that_is_gone),
        cmocka_unit_test(a_process_that_is_gone),
        cmocka_unit_test(known_calls_are_not),
        cmocka_unit_test(engines_have_a_list),
        cmocka_unit_test(a_filter_in_front_leaves_them_calls),
        cmocka_unit_test(connections_are_asked_for),
        cmocka_unit_test(each_number_is_told_once),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
