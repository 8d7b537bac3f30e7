/*
 * The sandbox as a whole: files, what goes on, and what a process has left.
 * sandbox_filter_test.c has the refused calls.
 *
 * Each try is made in a child that entered the sandbox as a worker does.
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
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/sandbox.h"

static char folder[64];  /* that may be read */
static char inside[96];  /* a file in it */
static char outside[96]; /* one beside it */
static int directory;    /* descriptor of the folder, from before */
static int listener;     /* listens since before */
static int ring;         /* an io_uring from before; -1: the system has none */
static int other;        /* a process that only waits */

static struct sandbox everything = {
    .seccomp = SANDBOX_SECCOMP_ENFORCE,
    .landlock = true,
    .capabilities = true,
};

static int
new_ring(void)
{
    struct io_uring_params p = { .flags = 0 };

    return (int)syscall(SYS_io_uring_setup, 4, &p);
}

/* ---- a process in the sandbox ---- */

static void
enter(void)
{
    struct rights rights = { .connect_any = true };
    struct sandbox s = everything;
    struct errmsg err;

    rights_read(&rights, str_from(folder));
    s.rights = &rights;
    sandbox_prepare(&s);
    if (sandbox_enter(&s, &err) == -1) {
        fprintf(stderr, "%s\n", err.text);
        _exit(99);
    }
}

/* Ends of a try: 0, or the number of what was wrong. */
static int
run(int (*try)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        enter();
        _exit(try());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The call said -1: the errno of it; else 0, as if it were done. */
static int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

/* ---- files outside ---- */

static int
try_open(void)
{
    return refusal(open(outside, O_RDONLY));
}

static int
try_open_etc(void)
{
    return refusal(open("/etc/passwd", O_RDONLY));
}

static int
openat2_of(const char *path)
{
    uint64_t how[3] = { O_RDONLY, 0, 0 };

    return refusal(syscall(SYS_openat2, directory, path, how, sizeof(how)));
}

static int
try_openat2(void)
{
    return openat2_of(outside);
}

/* Through a directory that is open, and a link that leads out of it. */
static int
try_parent(void)
{
    return openat2_of("../outside");
}

static int
try_link(void)
{
    return openat2_of("link");
}

static int
try_list(void)
{
    return refusal(open("/", O_RDONLY | O_DIRECTORY));
}

static void
files_outside_cannot_be_opened(void **state)
{
    static int (*const tries[])(void) = { try_open,   try_open_etc, try_openat2,
                                          try_parent, try_link,     try_list };

    (void)state;
    if (sandbox_is_wide() || sandbox_landlock_version() == 0) {
        print_message("Landlock is needed, without sanitizers\n");
        skip();
    }
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        assert_int_equal(run(tries[i]), EACCES);
    }
}

static int
read_inside(void)
{
    char byte;
    int fd = open(inside, O_RDONLY | O_CLOEXEC);

    if (fd == -1 || read(fd, &byte, 1) != 1) {
        return 1;
    }
    return openat2_of("inside") == 0 ? 0 : 2;
}

/* ---- sockets that others share ---- */

/* What would keep everybody from a socket that others share. */
static int
set_option(int level, int name, const void *value, socklen_t len)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd == -1 ? 1 : refusal(setsockopt(fd, level, name, value, len));
}

static int
try_socket_filter(void)
{
    struct sock_filter none = { BPF_RET | BPF_K, 0, 0, 0 };
    struct sock_fprog program = { 1, &none };

    return set_option(SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int
try_choosing_among_sockets(void)
{
    struct sock_filter first = { BPF_RET | BPF_K, 0, 0, 0 };
    struct sock_fprog program = { 1, &first };

    return set_option(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
                      sizeof(program));
}

static int
try_locking_a_filter(void)
{
    int on = 1;

    return set_option(SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on));
}

static void
shared_sockets_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(run(try_socket_filter), EPERM);
    assert_int_equal(run(try_choosing_among_sockets), EPERM);
    assert_int_equal(run(try_locking_a_filter), EPERM);
}

/* ---- what goes on ---- */

static void *
set_true(void *arg)
{
    *(bool *)arg = true;
    return arg;
}

static int
make_a_thread(void)
{
    bool ran = false;
    pthread_t thread;

    if (pthread_create(&thread, NULL, set_true, &ran) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    return ran ? 0 : 2;
}

static int
accept_a_connection(void)
{
    struct sockaddr_in to;
    socklen_t len = sizeof(to);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    getsockname(listener, (struct sockaddr *)&to, &len);
    if (fd == -1 || connect(fd, (struct sockaddr *)&to, len) == -1) {
        return 1;
    }
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC) != -1 ? 0 : 2;
}

/* The ring is empty: the call finds nothing to do, but is made. */
static int
enter_a_ring(void)
{
    return ring == -1 ||
                   syscall(SYS_io_uring_enter, ring, 0, 0, 0, NULL, 0) == 0
               ? 0
               : 1;
}

static volatile sig_atomic_t came;

static void
on_signal(int number)
{
    came = number;
}

static int
signal_oneself(void)
{
    signal(SIGUSR1, on_signal);
    if (raise(SIGUSR1) != 0 || came != SIGUSR1) {
        return 1;
    }
    return kill(getpid(), 0) == 0 && kill(other, 0) == 0 ? 0 : 2;
}

static int
map_and_allocate(void)
{
    char *p = calloc(1, 8 << 20);
    int fd = memfd_create("x", MFD_CLOEXEC);

    if (p == NULL || fd == -1 || write(fd, "x", 1) != 1) {
        return 1;
    }
    free(p);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
                   MAP_FAILED
               ? 0
               : 2;
}

/* A call from the future: libraries try it, and do without. */
static int
call_the_unknown(void)
{
    return syscall(1000) == -1 && errno == ENOSYS ? 0 : 1;
}

static void
work_goes_on(void **state)
{
    (void)state;
    assert_int_equal(run(read_inside), 0);
    assert_int_equal(run(make_a_thread), 0);
    assert_int_equal(run(accept_a_connection), 0);
    assert_int_equal(run(enter_a_ring), 0);
    assert_int_equal(run(signal_oneself), 0);
    assert_int_equal(run(map_and_allocate), 0);
    assert_int_equal(run(call_the_unknown), 0);
}

/* ---- threads that are there before ---- */

static void *
listen_later(void *arg)
{
    const int *ends = arg;
    char byte;

    if (read(ends[0], &byte, 1) != 1) {
        return (void *)(intptr_t)1;
    }
    return (void *)(intptr_t)(listen(-1, 1) == -1 ? errno : 0);
}

static void
threads_that_are_there_enter_it(void **state)
{
    int status, ends[2];
    pthread_t thread;
    void *said;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        if (pthread_create(&thread, NULL, listen_later, ends) != 0) {
            _exit(1);
        }
        enter();
        (void)!write(ends[1], "x", 1);
        pthread_join(thread, &said);
        _exit((int)(intptr_t)said);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EPERM);
    close(ends[0]);
    close(ends[1]);
}

/* ---- the state of the process ---- */

static int
look_at_oneself(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];
    struct rlimit core;

    getrlimit(RLIMIT_CORE, &core);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || core.rlim_max != 0) {
        return 1;
    }
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != sandbox_is_wide()) {
        return 2;
    }
    /* capget is not in the filter: refused, so it is counted. */
    int last = 0;

    syscall(SYS_capget, &head, data);
    return sandbox_refused(&last) == 1 && last == SYS_capget ? 0 : 3;
}

static int
look_at_capabilities(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &head, data) == -1) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        if (data[i].effective != 0 || data[i].permitted != 0 ||
            data[i].inheritable != 0) {
            return 2;
        }
    }
    /* Only root can empty the bounding set. */
    return geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0
               ? 3
               : 0;
}

static void
privileges_are_gone(void **state)
{
    (void)state;
    assert_int_equal(run(look_at_oneself), 0);
    everything.seccomp = SANDBOX_SECCOMP_OFF;
    assert_int_equal(run(look_at_capabilities), 0);
    everything.seccomp = SANDBOX_SECCOMP_ENFORCE;
}

/* ---- around all of them ---- */

static void
write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static int
begin(void **state)
{
    static char top[] = "/tmp/weir-sandbox-XXXXXX";
    char path[128];

    *state = mkdtemp(top);
    snprintf(folder, sizeof(folder), "%s/folder", top);
    mkdir(folder, 0700);
    snprintf(inside, sizeof(inside), "%s/inside", folder);
    snprintf(outside, sizeof(outside), "%s/outside", top);
    write_file(inside);
    write_file(outside);
    snprintf(path, sizeof(path), "%s/link", folder);
    assert_int_equal(symlink(outside, path), 0);
    directory = open(folder, O_PATH | O_CLOEXEC);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(listen(listener, 8), 0);
    ring = new_ring();
    other = fork();
    if (other == 0) {
        for (;;) {
            pause();
        }
    }
    return 0;
}

static int
finish(void **state)
{
    char path[128];

    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    snprintf(path, sizeof(path), "%s/link", folder);
    unlink(path);
    unlink(inside);
    unlink(outside);
    rmdir(folder);
    rmdir(*state);
    close(directory);
    close(listener);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_outside_cannot_be_opened),
        cmocka_unit_test(shared_sockets_are_left_alone),
        cmocka_unit_test(work_goes_on),
        cmocka_unit_test(threads_that_are_there_enter_it),
        cmocka_unit_test(privileges_are_gone),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
