/*
 * Signals of the engine: the supervisor sends them, within its session, which
 * nobody leaves (proc/sandbox_programs.c).
 *
 * The number of a group may be another group's at any time.  So while one is
 * signalled it has a member of the supervisor's: a child that has ended, whom
 * no signal reaches.  The kernel puts it into groups of the session alone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise.h"

/* A child that has ended; -1: errno says why. */
static pid_t
make_member(void)
{
    pid_t child = fork();
    siginfo_t end;

    if (child == 0) {
        _exit(0);
    }
    while (child != -1 &&
           waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT) == -1 &&
           errno == EINTR) {
    }
    return child;
}

static void
signal_group(int listener, const struct sandbox_call *call, pid_t group)
{
    pid_t own = getpid(), member = make_member();
    bool is_fine = member != -1 && group != own && setpgid(member, group) == 0;

    sandbox_signal(listener, call, own, is_fine ? group : 0);
    while (member != -1 && waitpid(member, NULL, 0) == -1 && errno == EINTR) {
    }
}

bool
supervise_signal(int listener, const struct sandbox_call *call)
{
    pid_t to = (pid_t)call->arguments[0];

    if (call->number == SYS_kill && to < -1 && to > INT_MIN) {
        signal_group(listener, call, -to);
        return true;
    }
    return sandbox_signal(listener, call, getpid(), 0);
}
