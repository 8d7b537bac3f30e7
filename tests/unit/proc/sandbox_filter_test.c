/*
 * System calls that the sandbox refuses, one by one.
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
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/sandbox.h"

static char folder[64]; /* that may be read */
static char inside[96]; /* a file in it */
static int directory;   /* descriptor of the folder, from before */
static int ring;        /* an io_uring from before; -1: the system has none */
static int other;       /* a process that only waits */

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
run_until(int (*try)(void), int (*judge)(int said))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        enter();
        _exit(judge(try()));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int
as_it_is(int said)
{
    return said;
}

static int
run(int (*try)(void))
{
    return run_until(try, as_it_is);
}

/* The call said -1: the errno of it; else 0, as if it were done. */
static int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

#define BY_ANOTHER 98 /* not the filter refused it, but the kernel itself */

static int
by_the_filter(int said)
{
    int last;

    return said != EPERM || sandbox_refused(&last) == 1 ? said : BY_ANOTHER;
}

/* ---- calls that are refused, named ---- */

static int
try_execve(void)
{
    char *none[] = { NULL };

    return refusal(execve("/bin/true", none, none));
}

static int
try_execveat(void)
{
    char *none[] = { NULL };

    return refusal(syscall(SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0));
}

static int
try_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        _exit(0);
    }
    return refusal(pid);
}

static int
try_ptrace(void)
{
    return refusal(ptrace(PTRACE_ATTACH, other, NULL, NULL));
}

static int
try_kill(void)
{
    return refusal(kill(other, SIGTERM));
}

static int
try_kill_all(void)
{
    return refusal(kill(-other, SIGTERM));
}

static int
try_process_vm_readv(void)
{
    char byte;
    struct iovec iov = { &byte, 1 };

    return refusal(process_vm_readv(other, &iov, 1, &iov, 1, 0));
}

static int
try_process_vm_writev(void)
{
    char byte = 0;
    struct iovec iov = { &byte, 1 };

    return refusal(process_vm_writev(other, &iov, 1, &iov, 1, 0));
}

static int
try_bind(void)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd == -1) {
        return 1;
    }
    return refusal(bind(fd, (struct sockaddr *)&any, sizeof(any)));
}

/* A socket that was not bound listens on a port of the system's choice. */
static int
try_listen(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd == -1 ? 1 : refusal(listen(fd, 1));
}

static int
try_bind_unix(void)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", folder);
    return refusal(bind(fd, (struct sockaddr *)&name, sizeof(name)));
}

static int
try_netlink(void)
{
    return refusal(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int
try_packet(void)
{
    return refusal(socket(AF_PACKET, SOCK_RAW, 0));
}

static int
try_io_uring_setup(void)
{
    return refusal(new_ring());
}

static int
try_io_uring_register(void)
{
    return refusal(syscall(SYS_io_uring_register, ring, 0, NULL, 0));
}

static int
try_mount(void)
{
    return refusal(mount("none", folder, "tmpfs", 0, NULL));
}

static int
try_umount(void)
{
    return refusal(umount2(folder, 0));
}

static int
try_chroot(void)
{
    return refusal(chroot(folder));
}

static int
try_bpf(void)
{
    return refusal(syscall(SYS_bpf, 0, NULL, 0));
}

static int
try_perf_event_open(void)
{
    return refusal(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int
try_keyctl(void)
{
    return refusal(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int
try_add_key(void)
{
    return refusal(syscall(SYS_add_key, "user", "x", "y", 1, -3));
}

static int
try_userfaultfd(void)
{
    return refusal(syscall(SYS_userfaultfd, 0));
}

static int
try_unshare(void)
{
    return refusal(unshare(CLONE_NEWUSER));
}

static int
try_setns(void)
{
    return refusal(setns(directory, 0));
}

static int
try_personality(void)
{
    return refusal(syscall(SYS_personality, ADDR_NO_RANDOMIZE));
}

static int
try_setuid(void)
{
    return refusal(syscall(SYS_setuid, 0));
}

static int
try_capset(void)
{
    return refusal(syscall(SYS_capset, NULL, NULL));
}

static int
try_open_by_handle_at(void)
{
    return refusal(syscall(SYS_open_by_handle_at, directory, NULL, O_RDONLY));
}

static int
try_init_module(void)
{
    return refusal(syscall(SYS_init_module, NULL, 0, ""));
}

static int
try_reboot(void)
{
    return refusal(syscall(SYS_reboot, 0, 0, 0, NULL));
}

static int
try_setrlimit(void)
{
    struct rlimit l = { 1, 1 };

    return refusal(setrlimit(RLIMIT_CORE, &l));
}

static int
try_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? errno : 0;
}

static int
try_mprotect(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? 1 : refusal(mprotect(p, 4096, PROT_EXEC));
}

static int
try_dumpable(void)
{
    return refusal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int
try_seccomp(void)
{
    return refusal(syscall(SYS_seccomp, 1, 0, NULL));
}

static int
try_create(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/new", folder);
    return refusal(open(path, O_WRONLY | O_CREAT, 0600));
}

/* Files that are there can be written neither. */
static int
try_open_for(int flags)
{
    int fd = open(inside, flags | O_CLOEXEC);

    if (fd != -1) {
        close(fd);
        return 0;
    }
    return errno;
}

static int
try_open_to_write(void)
{
    return try_open_for(O_WRONLY);
}

static int
try_open_for_both(void)
{
    return try_open_for(O_RDWR);
}

static int
try_truncate_by_open(void)
{
    return try_open_for(O_RDONLY | O_TRUNC);
}

#ifdef SYS_open
static int
try_old_open_to_write(void)
{
    return refusal(syscall(SYS_open, inside, O_WRONLY | O_CLOEXEC, 0));
}
#endif

static int
try_unlink(void)
{
    return refusal(unlinkat(AT_FDCWD, inside, 0));
}

struct call {
    const char *name;
    int (*try)(void);
    bool sanitizers; /* they need it */
};

static const struct call calls[] = {
    { "execve", try_execve, false },
    { "execveat", try_execveat, false },
    { "fork", try_fork, true },
    { "ptrace", try_ptrace, true },
    { "kill of another", try_kill, true },
    { "kill of a group", try_kill_all, true },
    { "process_vm_readv", try_process_vm_readv, false },
    { "process_vm_writev", try_process_vm_writev, false },
    { "bind", try_bind, false },
    { "listen", try_listen, false },
    { "bind to a path", try_bind_unix, false },
    { "a netlink socket", try_netlink, false },
    { "a packet socket", try_packet, false },
    { "io_uring_setup", try_io_uring_setup, false },
    { "io_uring_register", try_io_uring_register, false },
    { "mount", try_mount, false },
    { "umount2", try_umount, false },
    { "chroot", try_chroot, false },
    { "bpf", try_bpf, false },
    { "perf_event_open", try_perf_event_open, false },
    { "keyctl", try_keyctl, false },
    { "add_key", try_add_key, false },
    { "userfaultfd", try_userfaultfd, false },
    { "unshare", try_unshare, false },
    { "setns", try_setns, false },
    { "personality", try_personality, true },
    { "setuid", try_setuid, false },
    { "capset", try_capset, false },
    { "open_by_handle_at", try_open_by_handle_at, false },
    { "init_module", try_init_module, false },
    { "reboot", try_reboot, false },
    { "setrlimit", try_setrlimit, true },
    { "mmap of code", try_code, true },
    { "mprotect to code", try_mprotect, true },
    { "prctl PR_SET_DUMPABLE", try_dumpable, true },
    { "seccomp", try_seccomp, false },
    { "creating a file", try_create, true },
    { "opening a file to write", try_open_to_write, true },
    { "opening a file for both", try_open_for_both, true },
    { "emptying a file by opening", try_truncate_by_open, true },
#ifdef SYS_open
    { "open() to write", try_old_open_to_write, true },
#endif
    { "unlink", try_unlink, true },
};

static void
calls_are_refused(void **state)
{
    bool bad = false;

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i].sanitizers && sandbox_is_wide()) {
            continue;
        }
        int said = run_until(calls[i].try, by_the_filter);

        if (said != EPERM) {
            print_error("%s: %s\n", calls[i].name,
                        said == 0            ? "was done"
                        : said == BY_ANOTHER ? "the filter lets it pass"
                                             : strerror(said));
            bad = true;
        }
    }
    assert_false(bad);
    assert_int_equal(kill(other, 0), 0);
}

/* In "log" a call is made; a bad one still says so. */
static void
log_lets_pass(void **state)
{
    (void)state;
    everything.seccomp = SANDBOX_SECCOMP_LOG;
    assert_int_equal(run(try_listen), 0);
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
    *state = mkdtemp(top);
    snprintf(folder, sizeof(folder), "%s/folder", top);
    mkdir(folder, 0700);
    snprintf(inside, sizeof(inside), "%s/inside", folder);
    write_file(inside);
    directory = open(folder, O_PATH | O_CLOEXEC);
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
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    unlink(inside);
    rmdir(folder);
    rmdir(*state);
    close(directory);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused),
        cmocka_unit_test(log_lets_pass),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
