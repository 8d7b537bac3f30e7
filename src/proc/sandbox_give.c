/*
 * A call that waits for its answer returns a descriptor of the process that
 * answers (SECCOMP_IOCTL_NOTIF_ADDFD, Linux 5.9).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/sandbox_impl.h"

/* In a process of its own, which it filters.  The kernel looks at what is asked
 * before it looks for the call, and none has this number. */
static bool
try_to_give(void)
{
    static struct sock_filter all =
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    static const struct sock_fprog program = { 1, &all };
    struct seccomp_notif_addfd a = { .id = 0 };
    int listener;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return false;
    }
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    a.srcfd = (uint32_t)listener;
    return listener != -1 &&
           ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a) == -1 &&
           errno == ENOENT;
}

bool
sandbox_can_give(void)
{
    int status = 1;
    pid_t child;

    if (!sandbox_can_hear()) {
        return false;
    }
    child = fork();
    if (child == 0) {
        _exit(try_to_give() ? 0 : 1);
    }
    while (child != -1 && waitpid(child, &status, 0) == -1 && errno == EINTR) {
    }
    return child != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void
sandbox_give(int listener, const struct sandbox_call *call, int fd,
             bool until_exec)
{
    struct seccomp_notif_addfd a = {
        .id = call->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND, /* and it returns */
        .srcfd = (uint32_t)fd,
        .newfd_flags = until_exec ? O_CLOEXEC : 0,
    };
    int given = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a);

    if (given == -1 && errno == EINVAL) { /* before Linux 5.14 */
        a.flags = 0;
        given = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a);
        if (given != -1) {
            sandbox_answer(listener, call, 0, given);
        }
    }
    if (given == -1) {
        sandbox_answer(listener, call, errno, 0);
    }
}
