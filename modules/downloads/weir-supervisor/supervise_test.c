/*
 * Runs of /bin/sh below a starter: this program is the supervisor as well.
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
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/sandbox.h"
#include "starter_help.h"

static struct {
    char closed[64]; /* a folder that only its owner enters; in it, "run" */
    int folder;      /* "run" */
    int output;      /* of the run */
    struct starter_run *run;
} own;

/* ---- each test ---- */

static void
make_folder(void)
{
    char path[sizeof(own.closed) + 8];

    snprintf(own.closed, sizeof(own.closed), "/tmp/supervise-XXXXXX");
    assert_non_null(mkdtemp(own.closed));
    snprintf(path, sizeof(path), "%s/run", own.closed);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    own.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(own.folder >= 0);
}

static int
begin(void **state)
{
    static const struct str programs[] = { { "/proc/self/exe", 14 } };
    static const struct str folders[] = { { "/", 1 } };
    static const struct sandbox none = { .kind = SANDBOX_PROGRAM };
    struct starter_options o = {
        .programs = programs,
        .program_count = 1,
        .folders = folders,
        .folder_count = 1,
        .sandbox = &none,
    };

    (void)state;
    memset(&own, 0, sizeof(own));
    make_folder();
    return open_starter(&o);
}

static int
finish(void **state)
{
    char command[sizeof(own.closed) + 16];

    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    close(own.folder);
    close(own.output);
    snprintf(command, sizeof(command), "rm -rf %s", own.closed);
    assert_int_equal(system(command), 0);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return 0;
}

/* ---- running ---- */

static void
start(const char *script, const char *port)
{
    const char *const arguments[] = { "supervisor", port,   "/bin/bash",
                                      "-c",         script, NULL };
    const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    int ends[2], files[4];
    const struct program p = {
        .arguments = arguments,
        .environment = environment,
        .files = files,
        .file_count = 4,
        .on_start = on_start,
        .on_end = on_end,
    };
    struct errmsg err;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    own.output = ends[0];
    files[0] = -1;
    files[1] = ends[1];
    files[2] = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
    files[3] = fcntl(own.folder, F_DUPFD_CLOEXEC, 0);
    own.run = starter_run(t.starter, &p, &err);
    assert_non_null(own.run);
}

/* Its output, until all that has it open is gone. */
static const char *
read_all(void)
{
    static char text[4096];
    size_t len = 0;
    ssize_t n;

    while ((n = read(own.output, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    return text;
}

static const char *
output_of(const char *script, const char *port)
{
    start(script, port);
    wait_until(&t.ended, 1);
    return read_all();
}

/* The next line, "12 34". */
static void
read_pids(pid_t *first, pid_t *second)
{
    char line[64];
    size_t len = 0;

    while (len < sizeof(line) - 1 && read(own.output, line + len, 1) == 1 &&
           line[len] != '\n') {
        len++;
    }
    line[len] = '\0';
    assert_int_equal(sscanf(line, "%d %d", first, second), 2);
}

static bool
is_there(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

static void
wait_gone(pid_t pid)
{
    int64_t end = clock_ms() + PATIENCE;

    while (is_there(pid)) {
        assert_true(clock_ms() < end);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        loop_turn(t.loop, 5);
    }
}

/* ---- how it ends ---- */

static void
test_status(void **state)
{
    (void)state;
    assert_string_equal(output_of("echo $HOME $TMPDIR; exit 7", "0"), ". .\n");
    assert_int_equal(t.end.status, 7 << 8);
}

static void
test_signal(void **state)
{
    (void)state;
    output_of("kill -TERM $$", "0");
    assert_int_equal(t.end.status, (128 + SIGTERM) << 8);
}

/* Says its number and that of a process which has left the group and whose
 * parents have ended. */
#define DAEMON                                                       \
    "read daemon < <(bash -c 'set -m; (sleep 1000 >/dev/null 2>&1 &" \
    "echo $!)');"                                                    \
    "echo $$ $daemon;"

static void
test_daemon_ends_with_it(void **state)
{
    pid_t engine, daemon;

    (void)state;
    start(DAEMON, "0");
    wait_until(&t.ended, 1);
    read_pids(&engine, &daemon);
    assert_false(is_there(engine));
    assert_false(is_there(daemon));
}

static void
test_all_end_with_the_supervisor(void **state)
{
    pid_t engine, daemon;

    (void)state;
    start(DAEMON "sleep 1000", "0");
    read_pids(&engine, &daemon);
    wait_until(&t.started, 1);
    assert_true(is_there(engine) && is_there(daemon));
    kill(t.pid, SIGKILL);
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, SIGKILL);
    assert_false(is_there(engine));
    assert_false(is_there(daemon));
}

static void
test_engine_ends_with_the_starter(void **state)
{
    pid_t engine, daemon;
    char path[64], text[512] = "";
    int starter = 0;
    FILE *f;

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* as the master is */
    start(DAEMON "sleep 1000", "0");
    read_pids(&engine, &daemon);
    wait_until(&t.started, 1);
    snprintf(path, sizeof(path), "/proc/%d/stat", t.pid);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_int_equal(sscanf(strrchr(text, ')') + 4, "%d", &starter), 1);
    kill(starter, SIGKILL);
    wait_gone(engine);
    kill(daemon, SIGKILL); /* it has fallen to us */
    wait_gone(daemon);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* Nothing answers to a signal that was ignored when it began. */
static void
test_sigint_arrives(void **state)
{
    static const char script[] = "trap 'echo heard; exit 3' INT; echo $$ 0; "
                                 "while :; do sleep 0.01; done";
    static char *const argv[] = { (char *)(uintptr_t) "/bin/bash",
                                  (char *)(uintptr_t) "-c",
                                  (char *)(uintptr_t)script, NULL };
    const struct supervise s = { .folder = -1,
                                 .beside = AT_FDCWD,
                                 .argv = argv };
    pid_t engine, none, supervisor;
    int ends[2], status;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    own.output = ends[0];
    supervisor = fork();
    if (supervisor == 0) {
        signal(SIGINT, SIG_IGN);
        dup2(ends[1], STDOUT_FILENO);
        _exit(supervise(&s));
    }
    close(ends[1]);
    read_pids(&engine, &none);
    kill(supervisor, SIGINT);
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_int_equal(status, 3 << 8);
    assert_string_equal(read_all(), "heard\n");
}

/* By its folder, of which the engine has nothing. */
static void
test_an_engine_beside(void **state)
{
    static char *const argv[] = { (char *)(uintptr_t) "bash",
                                  (char *)(uintptr_t) "-c",
                                  (char *)(uintptr_t) "test -e /proc/$$/fd/9 "
                                                      "&& exit 1; exit 3",
                                  NULL };
    const struct supervise s = { .folder = -1, .beside = 9, .argv = argv };
    pid_t supervisor = fork();
    int status;

    (void)state;
    if (supervisor == 0) {
        dup2(open("/bin", O_PATH | O_DIRECTORY), 9);
        _exit(supervise(&s));
    }
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_int_equal(status, 3 << 8);
}

static void
test_not_executable(void **state)
{
    static char *const argv[] = { (char *)(uintptr_t) "/nowhere", NULL };
    const struct supervise s = { .folder = -1,
                                 .beside = AT_FDCWD,
                                 .argv = argv };
    pid_t supervisor = fork();
    int status;

    (void)state;
    if (supervisor == 0) {
        close(STDERR_FILENO);
        _exit(supervise(&s));
    }
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_int_equal(status, SUPERVISE_CANNOT << 8);
}

/* ---- what it cannot do ---- */

static void
need_landlock(int version)
{
    if (sandbox_landlock_version() < version) {
        print_message("not run: needs Landlock %d\n", version);
        skip();
    }
}

static void
test_writes_stay_inside(void **state)
{
    (void)state;
    need_landlock(SANDBOX_HOLDS_FILES);
    assert_string_equal(
        output_of("exec 2>/dev/null; echo x > a; mv a b; cat b; rm b; mkdir d;"
                  "touch ../c /tmp/c /var/tmp/c; ln -s / e; mkfifo f; ls -A",
                  "0"),
        "x\n");
}

/* A process that left the engine's group ends with it all the same. */
static void
test_the_supervisor_is_not_signalled(void **state)
{
    pid_t engine, daemon;

    (void)state;
    need_landlock(SANDBOX_HOLDS_ABSTRACT);
    start("exec 2>/dev/null;" DAEMON "for i in 0 STOP KILL; do "
          "kill -$i $PPID && echo $i; done; echo tried",
          "0");
    wait_until(&t.ended, 1);
    read_pids(&engine, &daemon);
    assert_string_equal(read_all(), "tried\n");
    assert_false(is_there(daemon));
}

static int
listen_somewhere(char port[static 8])
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    getsockname(fd, (struct sockaddr *)&at, &size);
    snprintf(port, 8, "%u", (unsigned)ntohs(at.sin_port));
    return fd;
}

static void
test_one_port_is_reached(void **state)
{
    char allowed[8], other[8], script[512];
    int one = listen_somewhere(allowed), two = listen_somewhere(other);

    (void)state;
    need_landlock(SANDBOX_HOLDS_PORTS);
    snprintf(script, sizeof(script),
             "exec 2>/dev/null; for i in tcp/127.0.0.1/%s tcp/127.0.0.1/%s "
             "udp/127.0.0.1/%s; do (: > /dev/$i) && echo yes || echo no; done",
             allowed, other, allowed);
    assert_string_equal(output_of(script, allowed), "yes\nno\nno\n");
    close(one);
    close(two);
}

/* ---- ways that are none ---- */

/* Each says what came of it, on a socket that is connected to nothing. */
static int
try_sendto(int fd)
{
    struct sockaddr_in at = { .sin_family = AF_INET };

    return (int)sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&at,
                       sizeof(at));
}

static int
try_sendmsg(int fd)
{
    struct msghdr m = { .msg_iovlen = 0 };

    return (int)sendmsg(fd, &m, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static int
try_sendmmsg(int fd)
{
    struct mmsghdr m = { .msg_len = 0 };

    return sendmmsg(fd, &m, 1, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static int
try_listen(int fd)
{
    return listen(fd, 1);
}

static int
try_accept(int fd)
{
    return (int)syscall(SYS_accept, fd, NULL, NULL);
}

static int
try_accept4(int fd)
{
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC);
}

static int
try_ring(int fd)
{
    (void)fd;
    return (int)syscall(SYS_io_uring_setup, 0, NULL);
}

static int
try_layer(int fd)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_ULP, "none", 4);
}

static int
try_many_paths(int fd)
{
    (void)fd;
    return socket(AF_INET, SOCK_STREAM, 262);
}

static int
try_datagrams(int fd)
{
    (void)fd;
    return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

#ifdef __x86_64__
static int
try_other_numbers(int fd)
{
    return (int)syscall(0x40000000 + SYS_listen, fd, 1);
}

static void
no_such_calls(int number)
{
    _exit(number != SIGSEGV);
}

/* listen() of 32 bits; a process of its own, as not every kernel has it. */
static int
try_old_calls(int fd)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int answer = 363; /* listen() */

        signal(SIGSEGV, no_such_calls);
        __asm__ volatile("int $0x80"
                         : "+a"(answer)
                         : "b"(fd), "c"(1)
                         : "memory", "r8", "r9", "r10", "r11");
        _exit(answer == -ENOSYS ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    errno = status == 0 ? ENOSYS : 0;
    return -1;
}
#endif

/* The engine's side. */
static int
try_ways(void)
{
    static const struct {
        const char *name;
        int (*try)(int fd);
        int said;
    } tries[] = {
        { "sendto", try_sendto, EACCES },
        { "sendmsg", try_sendmsg, EACCES },
        { "sendmmsg", try_sendmmsg, EACCES },
        { "listen", try_listen, ENOSYS },
        { "accept", try_accept, ENOSYS },
        { "accept4", try_accept4, ENOSYS },
        { "ring", try_ring, ENOSYS },
        { "layer", try_layer, EACCES },
        { "many paths", try_many_paths, EACCES },
        { "datagrams", try_datagrams, EACCES },
#ifdef __x86_64__
        { "other numbers", try_other_numbers, ENOSYS },
        { "old calls", try_old_calls, ENOSYS },
#endif
    };

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd == -1 || tries[i].try(fd) != -1 || errno != tries[i].said) {
            printf("%s: %s\n", tries[i].name, strerror(errno));
        }
        close(fd);
    }
    printf("tried\n");
    return 0;
}

static void
test_no_other_ways(void **state)
{
    char self[PATH_MAX] = "", script[PATH_MAX + 16], port[8];

    (void)state;
    listen_somewhere(port);
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(script, sizeof(script), "exec '%s' ways", self);
    assert_string_equal(output_of(script, port), "tried\n");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_status, begin, finish),
        cmocka_unit_test_setup_teardown(test_signal, begin, finish),
        cmocka_unit_test_setup_teardown(test_daemon_ends_with_it, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_all_end_with_the_supervisor, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_engine_ends_with_the_starter,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(test_sigint_arrives, begin, finish),
        cmocka_unit_test_setup_teardown(test_an_engine_beside, begin, finish),
        cmocka_unit_test_setup_teardown(test_not_executable, begin, finish),
        cmocka_unit_test_setup_teardown(test_writes_stay_inside, begin, finish),
        cmocka_unit_test_setup_teardown(test_the_supervisor_is_not_signalled,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(test_one_port_is_reached, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_no_other_ways, begin, finish),
    };

    if (argc == 2) { /* without the leak checker, which makes other calls */
        _exit(try_ways() | fflush(stdout));
    }
    if (argc > 2) {
        struct supervise s = { .folder = 3,
                               .beside = AT_FDCWD,
                               .argv = argv + 2 };

        s.port = (uint16_t)strtoul(argv[1], NULL, 10);
        return supervise(&s);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
