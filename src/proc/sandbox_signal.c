/*
 * Signals of a run, which the filter hands on where Landlock does not hold them
 * (before version 6).
 *
 * Numbers alone decide, and they are in registers.  A number may be another
 * process's at any time, so a signal goes to a descriptor of the process, which
 * was there before its session was looked at.  Nobody joins a session: whoever
 * is in there descends from the process that made it.
 *
 * A call to the caller's own process goes on in the kernel: it alone reaches
 * threads, before Linux 6.9, and that number is the caller's as long as it
 * waits.
 *
 * The caller has its answer before the signal is sent.  Else the signal, or
 * SIGCHLD behind it, would find the caller waiting: it would make its call
 * once more, and the signal would be sent twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/sandbox_impl.h"

/* Whether that is the caller's process, or the thread that calls. */
static bool
is_own(const struct sandbox_call *call, pid_t pid)
{
    return pid > 0 &&
           (pid == call->pid || syscall(SYS_tgkill, pid, call->pid, 0) == 0);
}

static void
signal_process(int listener, const struct sandbox_call *call, pid_t pid,
               pid_t session)
{
    int number = (int)call->arguments[1], error = 0;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd == -1) {
        error = errno == ENOSYS ? EPERM : ESRCH;
    } else if (pid == getpid() || getsid(pid) != session) {
        error = EPERM;
    } else if (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == -1) {
        error = errno;
    }
    if (sandbox_answer(listener, call, error, 0) && error == 0) {
        syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    }
    if (fd != -1) {
        close(fd);
    }
}

/* -1, which is all processes, is no group. */
static void
signal_group(int listener, const struct sandbox_call *call, pid_t group)
{
    pid_t to = (pid_t)call->arguments[0];
    int error = 0;

    if (to == -1 || kill(to, 0) == 0) {
        error = group > 0 && to == -group ? 0 : EPERM;
    } else {
        error = errno;
    }
    if (sandbox_answer(listener, call, error, 0) && error == 0) {
        kill(to, (int)call->arguments[1]);
    }
}

static void
judge_kill(int listener, const struct sandbox_call *call, pid_t session,
           pid_t group)
{
    pid_t to = (pid_t)call->arguments[0];
    int number = (int)call->arguments[1];

    if (number < 0 || number >= NSIG) {
        sandbox_answer(listener, call, EINVAL, 0);
    } else if (to > 0) {
        signal_process(listener, call, to, session);
    } else {
        signal_group(listener, call, group);
    }
}

bool
sandbox_signal(int listener, const struct sandbox_call *call, pid_t session,
               pid_t group)
{
    int number = call->number;

    if (number != SYS_kill && number != SYS_tkill && number != SYS_tgkill &&
        number != SYS_rt_sigqueueinfo && number != SYS_rt_tgsigqueueinfo) {
        return false;
    }
    if (is_own(call, (pid_t)call->arguments[0])) {
        sandbox_let(listener, call);
    } else if (number == SYS_kill) {
        judge_kill(listener, call, session, group);
    } else {
        sandbox_answer(listener, call, EPERM, 0);
    }
    return true;
}
