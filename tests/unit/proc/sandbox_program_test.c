/*
 * Starters and programs in the sandbox: they do what programs do, and not
 * what no program has any use for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <asm/ioctls.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "sandbox_tries.h"

/* ---- programs ---- */

static int
try_unshare(void)
{
    return refusal(unshare(CLONE_NEWUSER));
}

static int
try_mount(void)
{
    return refusal(mount("none", mine, "tmpfs", 0, NULL));
}

static int
try_memory_of_others(void)
{
    char byte;
    struct iovec iov = { &byte, 1 };

    return refusal(process_vm_readv(sibling, &iov, 1, &iov, 1, 0));
}

#define REFUSED(name, call)                                      \
    static int name(void)                                        \
    {                                                            \
        return refusal(syscall(SYS_##call, -1, -1, -1, -1, -1)); \
    }

REFUSED(try_setns, setns)
REFUSED(try_keyctl, keyctl)
REFUSED(try_add_key, add_key)
REFUSED(try_bpf, bpf)
REFUSED(try_perf, perf_event_open)
REFUSED(try_faults, userfaultfd)
REFUSED(try_ring, io_uring_setup)
REFUSED(try_kexec, kexec_load)
REFUSED(try_module, init_module)
REFUSED(try_reboot, reboot)
REFUSED(try_swap, swapon)
REFUSED(try_acct, acct)
REFUSED(try_time, settimeofday)
REFUSED(try_handle, open_by_handle_at)
REFUSED(try_clone3, clone3)

static int
try_personality(void)
{
    return refusal(syscall(SYS_personality, 0x0040000));
}

static int
try_packets(void)
{
    return refusal(socket(AF_PACKET, SOCK_RAW, 0));
}

/* What Landlock does not look at, of a path or of another process. */
static int
try_mode(void)
{
    return refusal(chmod(my_file, 0600));
}

static int
try_owner(void)
{
    return refusal(chown(my_file, getuid(), getgid()));
}

static int
try_size(void)
{
    return refusal(truncate(my_file, 1));
}

static int
try_empty(void)
{
    return refusal(open(my_file, O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int
try_times(void)
{
    return refusal(utimensat(AT_FDCWD, my_file, NULL, 0));
}

static int
try_attribute(void)
{
    return refusal(setxattr(my_file, "user.x", "x", 1, 0));
}

static int
try_priority(void)
{
    return refusal(setpriority(PRIO_PROCESS, (id_t)sibling, 1));
}

/* The kernel lets the processes of its own group be as nice as they are. */
static int
try_priorities(void)
{
    setpgid(0, 0);
    return refusal(setpriority(PRIO_PGRP, 0, getpriority(PRIO_PROCESS, 0)));
}

static int
try_processors(void)
{
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    return refusal(sched_setaffinity(sibling, sizeof(all), &all));
}

static int
try_schedule(void)
{
    struct sched_param p = { 0 };

    return refusal(sched_setscheduler(sibling, SCHED_OTHER, &p));
}

static int
try_disk_priority(void)
{
    return refusal(syscall(SYS_ioprio_set, 1, sibling, 3 << 13 | 7));
}

static int
try_owner_of_file(void)
{
    return refusal(fcntl(0, F_SETOWN, sibling));
}

static int
try_asynchronous(void)
{
    return refusal(fcntl(0, F_SETFL, O_ASYNC));
}

static int
try_typing(void)
{
    return refusal(ioctl(0, TIOCSTI, "x"));
}

static int
try_descriptor(void)
{
    char name[] = "true", *args[] = { name, NULL };
    int file = open("/bin/true", O_RDONLY | O_CLOEXEC);

    return refusal(syscall(SYS_execveat, file, "", args, environ, 0x1000));
}

/* A file of memory is a program that lies nowhere, which the kernel can
 * forbid since Linux 6.3. */
static int
try_memory_file(void)
{
    int file = memfd_create("x", MFD_CLOEXEC);

    if (file == -1) {
        return errno;
    }
    file = memfd_create("x", MFD_CLOEXEC | 8U);
    return file == -1 && errno == EINVAL ? EPERM : 97;
}

/* ---- what is only for oneself ---- */

static int
of_oneself(void)
{
    struct rlimit l;
    struct sched_param p = { 0 };
    cpu_set_t all;

    return getrlimit(RLIMIT_NOFILE, &l) == -1 ||
                   setrlimit(RLIMIT_NOFILE, &l) == -1 ||
                   setpriority(PRIO_PROCESS, 0, 19) == -1 ||
                   sched_setscheduler(0, SCHED_BATCH, &p) == -1 ||
                   sched_getaffinity(0, sizeof(all), &all) == -1 ||
                   sched_setaffinity(0, sizeof(all), &all) == -1
               ? errno
               : 0;
}

static int
of_an_open_file(void)
{
    int file = open(my_file, O_RDWR | O_TRUNC | O_CLOEXEC);

    return file == -1 || write(file, "x", 1) != 1 || fchmod(file, 0700) == -1 ||
                   futimens(file, NULL) == -1 || ftruncate(file, 1) == -1
               ? errno
               : 0;
}

static int
try_mode_of_open(void)
{
    return refusal(fchmod(open(my_file, O_RDONLY | O_CLOEXEC), 0700));
}

static int
try_times_of_open(void)
{
    return refusal(futimens(open(my_file, O_RDONLY | O_CLOEXEC), NULL));
}

static int
try_setuid_bit(void)
{
    int file = open(my_file, O_RDWR | O_CLOEXEC);

    return refusal(fchmod(file, 04700));
}

/* Nobody is at the end of a signal: it must be errno. */
static void
nobody_catches(void)
{
    signal(SIGSYS, SIG_DFL);
}

static const struct call program_calls[] = {
    { "ptrace()", try_ptrace, ENOSYS },
    { "process_vm_readv()", try_memory_of_others, ENOSYS },
    { "mount()", try_mount, ENOSYS },
    { "unshare()", try_unshare, ENOSYS },
    { "clone() of name spaces", try_new_names, EPERM },
    { "clone3()", try_clone3, ENOSYS },
    { "setns()", try_setns, ENOSYS },
    { "keyctl()", try_keyctl, ENOSYS },
    { "add_key()", try_add_key, ENOSYS },
    { "bpf()", try_bpf, ENOSYS },
    { "perf_event_open()", try_perf, ENOSYS },
    { "userfaultfd()", try_faults, ENOSYS },
    { "io_uring_setup()", try_ring, ENOSYS },
    { "kexec_load()", try_kexec, ENOSYS },
    { "init_module()", try_module, ENOSYS },
    { "reboot()", try_reboot, ENOSYS },
    { "swapon()", try_swap, ENOSYS },
    { "acct()", try_acct, ENOSYS },
    { "settimeofday()", try_time, ENOSYS },
    { "open_by_handle_at()", try_handle, ENOSYS },
    { "personality()", try_personality, EPERM },
    { "limits of another", try_limits, EPERM },
    { "a socket", try_port, EPERM },
    { "a packet socket", try_packets, EPERM },
    { "a mode", try_mode, EPERM },
    { "an owner", try_owner, EPERM },
    { "a size", try_size, EPERM },
    { "emptying what is read", try_empty, EPERM },
    { "times", try_times, EPERM },
    { "an attribute", try_attribute, EPERM },
    { "priority of another", try_priority, EPERM },
    { "priority of a group", try_priorities, EPERM },
    { "processors of another", try_processors, EPERM },
    { "scheduling of another", try_schedule, EPERM },
    { "disk priority of another", try_disk_priority, EPERM },
    { "who is signalled of a file", try_owner_of_file, EPERM },
    { "signals of a file", try_asynchronous, EPERM },
    { "typing into a terminal", try_typing, EPERM },
    { "executing a descriptor", try_descriptor, EPERM },
    { "an executable file of memory", try_memory_file, EPERM },
    { "its own limits and priority", of_oneself, 0 },
    { "fork()", fork_and_wait, 0 },
};

/* Their arguments are nonsense: a call that is not refused makes nothing. */
static const struct {
    const char *name;
    long number;
} refused[] = {
    /* what outlives a program */
    { "shmget", SYS_shmget },
    { "shmat", SYS_shmat },
    { "shmctl", SYS_shmctl },
    { "msgget", SYS_msgget },
    { "msgsnd", SYS_msgsnd },
    { "msgrcv", SYS_msgrcv },
    { "msgctl", SYS_msgctl },
    { "semget", SYS_semget },
    { "semop", SYS_semop },
    { "semtimedop", SYS_semtimedop },
    { "semctl", SYS_semctl },
    { "mq_open", SYS_mq_open },
    { "mq_unlink", SYS_mq_unlink },
    { "request_key", SYS_request_key },
    /* other processes, mounts, the machine */
    { "process_vm_writev", SYS_process_vm_writev },
    { "process_madvise", SYS_process_madvise },
    { "kcmp", SYS_kcmp },
    { "pidfd_getfd", SYS_pidfd_getfd },
    { "umount2", SYS_umount2 },
    { "pivot_root", SYS_pivot_root },
    { "chroot", SYS_chroot },
    { "open_tree", SYS_open_tree },
    { "move_mount", SYS_move_mount },
    { "fsopen", SYS_fsopen },
    { "fsconfig", SYS_fsconfig },
    { "fsmount", SYS_fsmount },
    { "fspick", SYS_fspick },
    { "mount_setattr", SYS_mount_setattr },
    { "quotactl", SYS_quotactl },
#ifdef SYS_quotactl_fd
    { "quotactl_fd", SYS_quotactl_fd },
#endif
};
static size_t tried; /* of them */

static int
try_refused(void)
{
    return refusal(syscall(refused[tried].number, -1L, 0L, -1L, -1L, -1L));
}

static void
check_refused(void)
{
    bool bad = false;

    for (tried = 0; tried < sizeof(refused) / sizeof(refused[0]); tried++) {
        int said = run(try_refused);

        if (said != ENOSYS) {
            print_error("%s: %s\n", refused[tried].name, strerror(said));
            bad = true;
        }
    }
    assert_false(bad);
}

static void
programs_have_no_use_for(void **state)
{
    (void)state;
    nobody_catches();
    give(none, SANDBOX_PROGRAM);
    rights_execute(&rights, STR("/"));
    CHECK(program_calls);
    check_refused();
    assert_int_equal(run(try_exec), 0);
    rights.connect_any = true;
    assert_int_equal(run(try_port), 0);
}

/* Numbers of another set of calls of the same processor. */
static int
try_other_numbers(void)
{
#ifdef __x86_64__
    return refusal(syscall(0x40000000 + SYS_listen, -1, 1));
#else
    return ENOSYS;
#endif
}

static int
try_pair(void)
{
    int ends[2];
    char byte;

    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1       ? errno
           : send(ends[0], "x", 1, MSG_NOSIGNAL) != 1            ? 1
           : recv(ends[1], &byte, 1, MSG_DONTWAIT) != 1          ? 2
           : sendto(ends[1], "x", 1, MSG_DONTWAIT, NULL, 0) != 1 ? 3
                                                                 : 0;
}

/* Each datagram takes an address, whatever the other end is. */
static int
pair_of(int family, int type)
{
    int ends[2];

    return refusal(socketpair(family, type | SOCK_CLOEXEC, 0, ends));
}

static int
try_datagrams(void)
{
    return refusal(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int
try_pair_of_datagrams(void)
{
    return pair_of(AF_UNIX, SOCK_DGRAM);
}

static int
try_pair_of_raw(void)
{
    return pair_of(AF_UNIX, SOCK_RAW);
}

static int
try_pair_of_others(void)
{
    return pair_of(AF_TIPC, SOCK_STREAM);
}

static int
try_pair_of_packets(void)
{
    return pair_of(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK);
}

static int
try_name(void)
{
    struct sockaddr_un at = { AF_UNIX, "\0weir" };
    int ends[2];

    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1
               ? 1
               : refusal(bind(ends[0], (struct sockaddr *)&at, sizeof(at)));
}

static void
programs_have_one_way_out(void **state)
{
    static const struct call calls[] = {
        { "connect()", try_port, 0 },
        { "sendto()", try_fast_open, EPERM },
        { "sendmsg()", try_fast_open_message, EPERM },
        { "sendmmsg()", try_fast_open_messages, EPERM },
        { "flags of a message", try_flags_of_a_message, EPIPE },
        { "the option", try_fast_open_option, EPERM },
        { "listen()", try_listen, ENOSYS },
        { "accept()", try_accept, ENOSYS },
        { "accept4()", try_accept4, ENOSYS },
        { "other numbers", try_other_numbers, ENOSYS },
        { "a pair", try_pair, 0 },
        { "a pair of packets", try_pair_of_packets, 0 },
        { "a pair of datagrams", try_pair_of_datagrams, EPERM },
        { "a raw pair", try_pair_of_raw, EPERM },
        { "a pair of another family", try_pair_of_others, EPERM },
        { "datagrams of this machine", try_datagrams, EPERM },
        { "a name of this machine", try_name, EPERM },
        { "a mode of what it reads", try_mode_of_open, EPERM },
        { "a time of what it reads", try_times_of_open, EPERM },
    };

    (void)state;
    give((struct rights){ .connect_any = true }, SANDBOX_PROGRAM);
    rights_execute(&rights, STR("/"));
    CHECK(calls);
}

static int
try_exec_other(void)
{
    return exec(other_file);
}

static int
try_link(void)
{
    return refusal(symlink("/", path_in(mine, "link")));
}

static void
programs_have_paths_and_ports(void **state)
{
    static const struct call calls[] = {
        { "what is named", try_exec, 0 },
        { "what is not", try_exec_other, EACCES },
        { "what it could have made", try_exec_own, EACCES },
        { "a symbolic link", try_link, 0 },
        { "a file that is open", of_an_open_file, 0 },
        { "a bit of another user", try_setuid_bit, EPERM },
        { "writing", try_write, EACCES },
        { "through a link", try_through_link, EACCES },
        { "renaming out", try_rename_out, -1 },
        { "its port", try_port, 0 },
        { "another", try_other_port, EACCES },
        { "another by sending", try_fast_open, EPERM },
        { "another by the option", try_fast_open_option, EPERM },
        { "bind()", try_bind, EPERM },
        { "a signal", try_kill, EPERM },
    };

    (void)state;
    need_landlock(SANDBOX_HOLDS_ABSTRACT);
    give(none, SANDBOX_PROGRAM);
    rights_execute(&rights, STR("/usr"));
    rights_execute(&rights, STR("/bin"));
    rights_execute(&rights, STR("/lib"));
    rights_execute(&rights, STR("/lib64"));
    rights_write(&rights, str_from(mine));
    rights_connect(&rights, port);
    CHECK(calls);
}

/* ---- starters ---- */

/* A starter makes a process that enters a program's sandbox and executes;
 * another it ends. */
static int
start_programs(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        sandbox.kind = SANDBOX_PROGRAM;
        enter();
        _exit(try_ptrace() == ENOSYS ? exec("/bin/true") : 1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        return 1;
    }
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        for (;;) {
            pause();
        }
    }
    setpgid(pid, pid);
    return kill(-pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid ? 0 : 2;
}

static void
starters_start_programs(void **state)
{
    (void)state;
    give(none, SANDBOX_STARTER);
    rights_execute(&rights, STR("/"));
    assert_int_equal(run(start_programs), 0);
    assert_int_equal(run(try_ptrace), ENOSYS);
    assert_int_equal(run(try_unshare), ENOSYS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_have_no_use_for),
        cmocka_unit_test(programs_have_one_way_out),
        cmocka_unit_test(programs_have_paths_and_ports),
        cmocka_unit_test(starters_start_programs),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
