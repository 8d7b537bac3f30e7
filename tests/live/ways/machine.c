/*
 * Ways by the machine: name spaces, mounts, devices, clocks, the kernel.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Calls of which one processor alone knows, and those that libraries lack. */
#define CALL(name, call, ...) TRY(name, syscall(SYS_##call, __VA_ARGS__))

/* ---- name spaces ---- */

TRY(new_users, unshare(CLONE_NEWUSER))
TRY(new_mounts, unshare(CLONE_NEWNS))
TRY(new_processes, unshare(CLONE_NEWPID))
TRY(new_network, unshare(CLONE_NEWNET))
TRY(new_ipc, unshare(CLONE_NEWIPC))
TRY(new_names, unshare(CLONE_NEWUTS))
TRY(new_cgroups, unshare(CLONE_NEWCGROUP))
TRY(new_time, unshare(0x80))
TRY(own_files, unshare(CLONE_FS | CLONE_FILES))
CALL(users_by_clone, clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
CALL(join_names, setns, 0, 0)

static int
clones(uint64_t flags)
{
    uint64_t a[11] = { flags, 0, 0, 0, SIGCHLD };
    long child = syscall(SYS_clone3, a, sizeof(a));

    if (child == 0) {
        _exit(0);
    }
    return tried(child);
}

WHY(users_by_clone3, clones(CLONE_NEWUSER))
WHY(a_clone3, clones(0))

/* ---- mounts ---- */

TRY(mounts, mount("none", ".", "tmpfs", 0, NULL))
TRY(unmounts, umount2("/proc", MNT_DETACH))
TRY(root, chroot("."))
CALL(root_moved, pivot_root, ".", ".")
CALL(file_system, fsopen, "tmpfs", 0)
CALL(file_system_picked, fspick, AT_FDCWD, "/", 0)
CALL(tree, open_tree, AT_FDCWD, "/", 1)
CALL(tree_moved, move_mount, AT_FDCWD, "/", AT_FDCWD, ".", 0)
CALL(mount_changed, mount_setattr, AT_FDCWD, "/", 0, NULL, 0)
TRY(mount_told, syscall(457, NULL, NULL, 0, 0)) /* statmount */
CALL(quota, quotactl, 0, NULL, 0, NULL)
CALL(quota_of_open, quotactl_fd, 0, 0, 0, NULL)
CALL(accounts, acct, NULL)
CALL(swap_on, swapon, ".", 0)
CALL(swap_off, swapoff, ".")

/* ---- the machine ---- */

CALL(restart, reboot, 0, 0, 0, NULL)
CALL(module, init_module, NULL, 0, "")
CALL(module_of_file, finit_module, 0, "", 0)
CALL(module_away, delete_module, "none", 0)
CALL(kernel, kexec_load, 0, 0, NULL, 0)
CALL(kernel_file, kexec_file_load, -1, -1, 0, "", 0)
TRY(host_name, sethostname("x", 1))
TRY(domain_name, setdomainname("x", 1))
CALL(kernel_log, syslog, 3, NULL, 0)
CALL(time_of_day, settimeofday, NULL, NULL)
CALL(clock_adjusted, clock_adjtime, CLOCK_REALTIME, NULL)
CALL(adjusted, adjtimex, NULL)

static int
clock_set(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return tried(clock_settime(CLOCK_REALTIME, &now));
}

static int
counts(void)
{
    struct perf_event_attr a;

    memset(&a, 0, sizeof(a));
    a.size = sizeof(a);
    a.type = PERF_TYPE_SOFTWARE;
    a.exclude_kernel = a.exclude_hv = 1;
    return tried(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

CALL(faults, userfaultfd, 1)
CALL(cookie, lookup_dcookie, 0, NULL, 0)
TRY(security, syscall(460, 100, NULL, 0, 0)) /* lsm_set_self_attr */
#ifdef __x86_64__
CALL(ports, ioperm, 0x80, 1, 1)
CALL(all_ports, iopl, 3)
CALL(descriptor_table, modify_ldt, 1, NULL, 0)
CALL(library, uselib, "./library")
CALL(file_systems, sysfs, 3)
#endif

/* ---- keys ---- */

CALL(key, add_key, "user", told("name"), "x", 1, -4)
CALL(key_of_session, add_key, "user", told("name"), "x", 1, -3)
CALL(key_asked, request_key, "user", told("name"), NULL, -4)
CALL(key_ring, keyctl, 1, told("name"), 0, 0, 0)
CALL(key_id, keyctl, 0, -4, 1, 0, 0)

const struct way ways_of_machine[] = {
    WAY(new_users),
    WAY(new_mounts),
    WAY(new_processes),
    WAY(new_network),
    WAY(new_ipc),
    WAY(new_names),
    WAY(new_cgroups),
    WAY(new_time),
    WAY(own_files),
    WAY(users_by_clone),
    WAY(join_names),
    WAY(users_by_clone3),
    WAY(a_clone3),
    WAY(mounts),
    WAY(unmounts),
    WAY(root),
    WAY(root_moved),
    WAY(file_system),
    WAY(file_system_picked),
    WAY(tree),
    WAY(tree_moved),
    WAY(mount_changed),
    WAY(mount_told),
    WAY(quota),
    WAY(quota_of_open),
    WAY(accounts),
    WAY(swap_on),
    WAY(swap_off),
    WAY(restart),
    WAY(module),
    WAY(module_of_file),
    WAY(module_away),
    WAY(kernel),
    WAY(kernel_file),
    WAY(host_name),
    WAY(domain_name),
    WAY(kernel_log),
    WAY(time_of_day),
    WAY(clock_adjusted),
    WAY(adjusted),
    WAY(clock_set),
    WAY(counts),
    WAY(faults),
    WAY(cookie),
    WAY(security),
#ifdef __x86_64__
    WAY(ports),
    WAY(all_ports),
    WAY(descriptor_table),
    WAY(library),
    WAY(file_systems),
#endif
    WAY(key),
    WAY(key_of_session),
    WAY(key_asked),
    WAY(key_ring),
    WAY(key_id),
    { NULL, NULL },
};
