/*
 * Rights of processes in the sandbox: what each lets pass, and what it does
 * not, try by try.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sandbox_tries.h"

#define MPTCP 262

/* ---- writing ---- */

static int
work_in_ones_own(void)
{
    const char *path = path_in(mine, "new");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char byte;

    return fd == -1 || write(fd, "xy", 2) != 2                   ? 1
           : ftruncate(fd, 1) == -1                              ? 2
           : fchmod(fd, 0640) == -1                              ? 3
           : futimens(fd, NULL) == -1                            ? 4
           : pread(fd, &byte, 1, 0) != 1 || byte != 'x'          ? 5
           : mkdir(path_in(mine, "folder"), 0700) == -1          ? 6
           : rename(path, path_in(mine, "folder/moved")) == -1   ? 7
           : unlink(path_in(mine, "folder/moved")) == -1         ? 8
           : rmdir(path_in(mine, "folder")) == -1                ? 9
           : open(my_file, O_WRONLY | O_TRUNC | O_CLOEXEC) == -1 ? 10
                                                                 : 0;
}

static int
try_truncate(void)
{
    return refusal(open(other_file, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int
try_read(void)
{
    return refusal(open(other_file, O_RDONLY | O_CLOEXEC));
}

static int
try_make(void)
{
    return make_file(path_in(other, "new"));
}

static int
try_make_folder(void)
{
    return refusal(mkdir(path_in(other, "folder"), 0700));
}

static int
try_remove(void)
{
    return refusal(unlink(other_file));
}

static int
try_through_parent(void)
{
    return make_file(path_in(mine, "../other/new"));
}

static int
try_rename_in(void)
{
    return refusal(rename(other_file, path_in(mine, "new")));
}

static int
try_hard_link(void)
{
    return refusal(link(other_file, path_in(mine, "new")));
}

static int
try_symbolic_link(void)
{
    return refusal(symlink("/etc", path_in(mine, "new")));
}

static int
try_device(void)
{
    return refusal(mknod(path_in(mine, "new"), S_IFCHR | 0600, 0x103));
}

static int
try_chmod(void)
{
    return refusal(chmod(my_file, 0777));
}

static int
try_set_user(void)
{
    int fd = open(my_file, O_RDONLY | O_CLOEXEC);

    return fd == -1 ? 1 : refusal(fchmod(fd, 04700));
}

static int
try_times(void)
{
    return refusal(utimensat(AT_FDCWD, other_file, NULL, 0));
}

/* An address whose lower half is that of NULL. */
static int
try_upper_half(void)
{
    int fd = open(my_file, O_RDONLY | O_CLOEXEC);

    return refusal(
        syscall(SYS_utimensat, fd, (uintptr_t)UINT64_C(0x100000000), 0, 0));
}

static int
try_exec_memory(void)
{
    char *args[] = { NULL };

    return refusal(fexecve(memfd_create("x", 0), args, args));
}

static void
who_writes_below_a_folder(void **state)
{
    static const struct call calls[] = {
        { "its own", work_in_ones_own, 0 },
        { "a hard link", try_hard_link, EPERM },
        { "a symbolic link", try_symbolic_link, EPERM },
        { "a device", try_device, EPERM },
        { "chmod()", try_chmod, EPERM },
        { "another's user", try_set_user, EPERM },
        { "times by name", try_times, EPERM },
        { "times by an address", try_upper_half, EPERM },
        { "execution", try_exec_own, EPERM },
        { "execution of memory", try_exec_memory, EPERM },
    };

    (void)state;
    give(none, SANDBOX_CHILD);
    rights_write(&rights, str_from(mine));
    CHECK(calls);
}

static void
and_nowhere_else(void **state)
{
    static const struct call calls[] = {
        { "writing", try_write, EACCES },
        { "reading", try_read, EACCES },
        { "truncation", try_truncate, EACCES },
        { "a new file", try_make, EACCES },
        { "a folder", try_make_folder, EACCES },
        { "removal", try_remove, EACCES },
        { "through a link", try_through_link, EACCES },
        { "through the parent", try_through_parent, EACCES },
        { "renaming out", try_rename_out, -1 },
        { "renaming in", try_rename_in, -1 },
    };

    (void)state;
    need_landlock(SANDBOX_HOLDS_SIZES);
    give(none, SANDBOX_CHILD);
    rights_write(&rights, str_from(mine));
    CHECK(calls);
    rights_read(&rights, str_from(other));
    assert_int_equal(run(try_read), 0);
    assert_int_equal(run(try_write), EACCES);
    assert_int_equal(run(try_rename_in), EACCES);
}

/* ---- processes ---- */

static int
end_by_descriptor(void)
{
    int fd, status;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0);

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    if (pid == -1 ||
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == -1) {
        return 1;
    }
    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 0 : 2;
}

static int
try_fork(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    return refusal(pid);
}

static int
try_pidfd(void)
{
    return refusal(syscall(SYS_pidfd_open, sibling, 0));
}

static void
who_forks(void **state)
{
    static const struct call calls[] = {
        { "fork()", fork_and_wait, 0 },
        { "an end by descriptor", end_by_descriptor, 0 },
        { "name spaces", try_new_names, EPERM },
        { "execution", try_exec, EPERM },
        { "pidfd_open()", try_pidfd, EPERM },
    };
    static const struct call narrow[] = {
        { "a signal", try_kill, EPERM },
        { "ptrace()", try_ptrace, EPERM },
        { "limits", try_limits, EPERM },
    };

    (void)state;
    if (sandbox_is_wide()) {
        print_message("sanitizers fork and trace\n");
        skip();
    }
    give((struct rights){ .fork = true }, SANDBOX_CHILD);
    CHECK(calls);
    CHECK(narrow);
    give(none, SANDBOX_CHILD);
    assert_int_equal(run(try_fork), EPERM);
}

/* ---- connections ---- */

static int
try_many_paths(void)
{
    return refusal(socket(AF_INET, SOCK_STREAM, MPTCP));
}

static int
try_datagrams(void)
{
    return refusal(socket(AF_INET6, SOCK_DGRAM, 0));
}

static int
try_unix(void)
{
    return refusal(socket(AF_UNIX, SOCK_STREAM, 0));
}

static void
who_connects(void **state)
{
    static const struct call nowhere[] = {
        { "a socket", try_port, EPERM },
        { "a unix socket", try_unix, EPERM },
        { "datagrams", try_datagrams, EPERM },
        { "sending from a listener", try_fast_open_of_a_listener, EPERM },
    };
    static const struct call anywhere[] = {
        { "a port", try_port, 0 },
        { "another", try_other_port, 0 },
        { "sendto()", try_fast_open, EPERM },
        { "sendmsg()", try_fast_open_message, EPERM },
        { "sendmmsg()", try_fast_open_messages, EPERM },
        { "the option", try_fast_open_option, EPERM },
        { "listen()", try_listen, EPERM },
        { "MPTCP", try_many_paths, EPERM },
        { "bind()", try_bind, EPERM },
    };

    (void)state;
    give(none, SANDBOX_CHILD);
    CHECK(nowhere);
    give((struct rights){ .connect_any = true }, SANDBOX_CHILD);
    CHECK(anywhere);
    give((struct rights){ .connect_local = true }, SANDBOX_CHILD);
    assert_int_equal(run(try_unix), 0);
    assert_int_equal(run(try_port), EPERM);
}

static void
who_connects_to_named_ports(void **state)
{
    static const struct call calls[] = {
        { "its own port", try_port, 0 },
        { "another", try_other_port, EACCES },
        { "another by sending", try_fast_open, EPERM },
        { "another by the option", try_fast_open_option, EPERM },
        { "MPTCP", try_many_paths, EPERM },
        { "datagrams", try_datagrams, 0 },
    };

    (void)state;
    need_landlock(SANDBOX_HOLDS_PORTS);
    give(none, SANDBOX_CHILD);
    rights_connect(&rights, port);
    CHECK(calls);
}

/* ---- calls by other numbers ---- */

static int
try_clone3(void)
{
    return refusal(syscall(SYS_clone3, NULL, 0));
}

static int
try_openat2(void)
{
    return refusal(syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0));
}

static void
flags_in_memory_are_not_looked_at(void **state)
{
    (void)state;
    give((struct rights){ .fork = true }, SANDBOX_CHILD);
    assert_int_equal(run(try_clone3), ENOSYS);
    give(none, SANDBOX_PROGRAM);
    sandbox.landlock = false; /* it would hold that no file is emptied */
    assert_int_equal(run(try_openat2), ENOSYS);
    sandbox.landlock = true;
}

#ifdef __x86_64__
static int
try_x32(void)
{
    return refusal(syscall(0x40000000 + SYS_listen, -1, 1));
}

/* getpid(), as programs of 32 bits call it. */
static void
call_by_interrupt(void)
{
    long rc;

    __asm__ volatile("int $0x80" : "=a"(rc) : "0"(20) : "memory");
    _exit(rc > 0 ? 0 : 1);
}

static void
other_processors_call_nothing(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    give(none, SANDBOX_CHILD);
    assert_int_equal(run(try_x32), EPERM);
    pid = fork();
    if (pid == 0) {
        enter();
        call_by_interrupt();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* SIGSEGV: the kernel has none */
}
#else
static void
other_processors_call_nothing(void **state)
{
    (void)state;
    skip();
}
#endif

/* ---- Landlock alone ---- */

static int
connect_abstract(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", top);
    return refusal(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

static void
landlock_holds_by_itself(void **state)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    need_landlock(SANDBOX_HOLDS_ABSTRACT);
    snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", top);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    sandbox.seccomp = SANDBOX_SECCOMP_OFF;
    give(none, SANDBOX_CHILD);
    rights_execute(&rights, STR("/"));
    assert_int_equal(run(connect_abstract), EPERM);
    assert_int_equal(run(try_exec), EACCES);
    sandbox.seccomp = SANDBOX_SECCOMP_ENFORCE;
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_writes_below_a_folder),
        cmocka_unit_test(and_nowhere_else),
        cmocka_unit_test(who_forks),
        cmocka_unit_test(who_connects),
        cmocka_unit_test(who_connects_to_named_ports),
        cmocka_unit_test(flags_in_memory_are_not_looked_at),
        cmocka_unit_test(other_processors_call_nothing),
        cmocka_unit_test(landlock_holds_by_itself),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
