/*
 * Ways to other processes: weir's own, and one of the test that the program's
 * user has, which counts signals.
 *
 * No way hurts: signals are 0 and SIGURG, which nobody minds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TARGET number("target")

/* ---- signals ---- */

TRY(signal_target, kill(TARGET, SIGURG))
TRY(signal_parent, kill(parent(), 0))
TRY(signal_starter, kill(number("starter"), 0))
TRY(signal_role, kill(number("role"), 0))
TRY(signal_worker, kill(number("worker"), 0))
TRY(signal_master, kill(number("master"), 0))
TRY(signal_first, kill(1, 0))
TRY(signal_group_of_parent, kill(-getpgid(parent()), 0))
TRY(signal_group_of_target, kill(-TARGET, SIGURG))
TRY(signal_all, kill(-1, SIGURG))
TRY(signal_thread, syscall(SYS_tkill, TARGET, SIGURG))
TRY(signal_thread_of, syscall(SYS_tgkill, TARGET, TARGET, SIGURG))
TRY(signal_thread_of_parent, syscall(SYS_tgkill, parent(), parent(), 0))

static int
queues(long call, pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    return tried(call == SYS_rt_sigqueueinfo
                     ? syscall(call, pid, SIGURG, &info)
                     : syscall(call, pid, pid, SIGURG, &info));
}

WHY(signal_queued, queues(SYS_rt_sigqueueinfo, TARGET))
WHY(signal_queued_thread, queues(SYS_rt_tgsigqueueinfo, TARGET))
WHY(signal_queued_parent, queues(SYS_rt_sigqueueinfo, parent()))

static int
signals_by_descriptor(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd == -1
               ? errno
               : tried(syscall(SYS_pidfd_send_signal, fd, SIGURG, NULL, 0));
}

WHY(signal_by_descriptor, signals_by_descriptor(TARGET))
WHY(signal_parent_by_descriptor, signals_by_descriptor(parent()))
TRY(join_group_of_parent, setpgid(0, getpgid(parent())))
TRY(move_parent, setpgid(parent(), getpid()))

static int
leaves_session(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        _exit(tried(setsid()));
    }
    return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : errno;
}

WHY(leave_session, leaves_session())

static int
timer_of_another(void)
{
    struct {
        union sigval value;
        int number, notify, thread;
        char more[48];
    } event = { .number = SIGURG, .notify = 4, .thread = TARGET };
    int timer;

    return tried(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
}

/* ---- memory and descriptors ---- */

TRY(trace_attach, ptrace(PTRACE_ATTACH, TARGET, NULL, NULL))
TRY(trace_seize, ptrace(PTRACE_SEIZE, TARGET, NULL, NULL))
TRY(trace_parent, ptrace(PTRACE_SEIZE, parent(), NULL, NULL))
TRY(trace_me, ptrace(PTRACE_TRACEME, 0, NULL, NULL))

static int
memory_of(pid_t pid, bool writes)
{
    char byte = 0;
    struct iovec here = { &byte, 1 }, there = { &byte, 1 };

    return tried(writes ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                        : process_vm_readv(pid, &here, 1, &there, 1, 0));
}

WHY(read_memory, memory_of(TARGET, false))
WHY(write_memory, memory_of(TARGET, true))
WHY(read_memory_of_parent, memory_of(parent(), false))
WHY(write_memory_of_parent, memory_of(parent(), true))

static int
take_descriptor(void)
{
    int fd = (int)syscall(SYS_pidfd_open, TARGET, 0);

    return fd == -1 ? errno : tried(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int
advise_memory(void)
{
    int fd = (int)syscall(SYS_pidfd_open, TARGET, 0);
    struct iovec all = { NULL, 4096 };

    return fd == -1 ? errno
                    : tried(syscall(SYS_process_madvise, fd, &all, 1, 4, 0));
}

static int
free_memory(void)
{
    int fd = (int)syscall(SYS_pidfd_open, TARGET, 0);

    return fd == -1 ? errno : tried(syscall(SYS_process_mrelease, fd, 0));
}

TRY(compare, syscall(SYS_kcmp, getpid(), TARGET, 1, 0, 0))
TRY(move_memory, syscall(SYS_move_pages, TARGET, 0, NULL, NULL, NULL, 0))
TRY(migrate_memory, syscall(SYS_migrate_pages, TARGET, 0, NULL, NULL))

static int
list_of_locks(void)
{
    void *head;
    size_t size;

    return tried(syscall(SYS_get_robust_list, TARGET, &head, &size));
}

static int
of_process(pid_t pid, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return tried(open(path, flags));
}

WHY(proc_memory, of_process(TARGET, "mem", O_RDWR))
WHY(proc_environment, of_process(TARGET, "environ", O_RDONLY))
WHY(proc_maps, of_process(TARGET, "maps", O_RDONLY))
WHY(proc_descriptor, of_process(TARGET, "fd/0", O_RDONLY))
WHY(proc_folder, of_process(TARGET, "cwd", O_RDONLY))
WHY(proc_root, of_process(TARGET, "root/etc/passwd", O_RDONLY))
WHY(proc_words, of_process(TARGET, "cmdline", O_RDONLY))
WHY(proc_badness, of_process(TARGET, "oom_score_adj", O_WRONLY))
WHY(proc_of_parent, of_process(parent(), "mem", O_RDWR))
WHY(proc_of_master, of_process(number("master"), "environ", O_RDONLY))

/* ---- priorities and limits ---- */

static int
limits(pid_t pid)
{
    struct rlimit l = { 1024, 1024 };

    return tried(prlimit(pid, RLIMIT_NOFILE, &l, NULL));
}

static int
processors(void)
{
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    return tried(sched_setaffinity(TARGET, sizeof(all), &all));
}

static int
schedule(void)
{
    struct sched_param p = { 0 };

    return tried(sched_setscheduler(TARGET, SCHED_OTHER, &p));
}

static int
schedule_attributes(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        char more[32];
    } a = { .size = 48 };

    return tried(syscall(SYS_sched_setattr, TARGET, &a, 0));
}

WHY(limit_target, limits(TARGET))
WHY(limit_parent, limits(parent()))
TRY(nice_target, setpriority(PRIO_PROCESS, TARGET, 1))
TRY(nice_group, setpriority(PRIO_PGRP, TARGET, 1))
TRY(nice_user, setpriority(PRIO_USER, 0, 1))
TRY(disk_of_target, syscall(SYS_ioprio_set, 1, TARGET, 3 << 13 | 7))
TRY(disk_of_user, syscall(SYS_ioprio_set, 3, getuid(), 3 << 13 | 7))

/* ---- itself ---- */

TRY(trusted_tracer, syscall(SYS_prctl, 0x59616d61, -1, 0, 0, 0))
TRY(memory_map, syscall(SYS_prctl, 35, 1, 4096, 0, 0))
TRY(capability, syscall(SYS_prctl, 47, 2, 21, 0, 0))
TRY(securebits, syscall(SYS_prctl, 28, 0, 0, 0, 0))
TRY(filtered_less, syscall(SYS_prctl, 22, 0, 0, 0, 0))
TRY(random_addresses, syscall(SYS_personality, 0x0040000))
TRY(become_root, setuid(0))
TRY(become_user, setresuid(1, 1, 1))
TRY(become_group, setgid(0))
TRY(more_groups, syscall(SYS_setgroups, 0, NULL))

static int
capabilities(void)
{
    struct {
        uint32_t version;
        int pid;
    } head = { 0x20080522, 0 };
    uint32_t data[6] = { 0xffffffff, 0xffffffff, 0, 0, 0, 0 };

    return tried(syscall(SYS_capset, &head, data));
}

const struct way ways_of_processes[] = {
    WAY(signal_target),
    WAY(signal_parent),
    WAY(signal_starter),
    WAY(signal_role),
    WAY(signal_worker),
    WAY(signal_master),
    WAY(signal_first),
    WAY(signal_group_of_parent),
    WAY(signal_group_of_target),
    WAY(signal_all),
    WAY(signal_thread),
    WAY(signal_thread_of),
    WAY(signal_thread_of_parent),
    WAY(signal_queued),
    WAY(signal_queued_thread),
    WAY(signal_queued_parent),
    WAY(signal_by_descriptor),
    WAY(signal_parent_by_descriptor),
    WAY(join_group_of_parent),
    WAY(leave_session),
    WAY(move_parent),
    WAY(timer_of_another),
    WAY(trace_attach),
    WAY(trace_seize),
    WAY(trace_parent),
    WAY(trace_me),
    WAY(read_memory),
    WAY(write_memory),
    WAY(read_memory_of_parent),
    WAY(write_memory_of_parent),
    WAY(take_descriptor),
    WAY(advise_memory),
    WAY(free_memory),
    WAY(compare),
    WAY(move_memory),
    WAY(migrate_memory),
    WAY(list_of_locks),
    WAY(proc_memory),
    WAY(proc_environment),
    WAY(proc_maps),
    WAY(proc_descriptor),
    WAY(proc_folder),
    WAY(proc_root),
    WAY(proc_words),
    WAY(proc_badness),
    WAY(proc_of_parent),
    WAY(proc_of_master),
    WAY(limit_target),
    WAY(limit_parent),
    WAY(processors),
    WAY(schedule),
    WAY(schedule_attributes),
    WAY(nice_target),
    WAY(nice_group),
    WAY(nice_user),
    WAY(disk_of_target),
    WAY(disk_of_user),
    WAY(trusted_tracer),
    WAY(memory_map),
    WAY(capability),
    WAY(securebits),
    WAY(filtered_less),
    WAY(random_addresses),
    WAY(become_root),
    WAY(become_user),
    WAY(become_group),
    WAY(more_groups),
    WAY(capabilities),
    { NULL, NULL },
};
