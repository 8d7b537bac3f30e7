/*
 * Reading the status of a dead child.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/child_end.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"

static bool
wanted(const struct child *c)
{
    return !c->keep || c->restarts;
}

/* Some signals are sent by somebody; the others a process brings upon
 * itself. */
static bool
from_outside(int number)
{
    return number == SIGKILL || number == SIGTERM || number == SIGINT ||
           number == SIGQUIT || number == SIGHUP;
}

enum app_restart
child_end_reason(const struct child *c, int status)
{
    if (c->killed) {
        return APP_RESTART_STUCK;
    }
    if (WIFSIGNALED(status)) {
        return from_outside(WTERMSIG(status)) ? APP_RESTART_KILLED
                                              : APP_RESTART_CRASH;
    }
    return WEXITSTATUS(status) != 0 ? APP_RESTART_STATUS : APP_RESTART_ENDED;
}

static enum log_level
end_level(const struct child *c, int number)
{
    if (!from_outside(number)) {
        return LOG_ALERT;
    }
    return wanted(c) ? LOG_INFO : LOG_WARN;
}

void
child_end_log(const struct child *c, int status, bool spoke)
{
    char name[CHILD_NAME];
    int pid = (int)c->pid;

    child_name(c, name);
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);

        log_write(end_level(c, number),
                  "%s (pid %d) was ended by signal %d (%s)%s", name, pid,
                  number, strsignal(number),
                  number == SIGKILL && !spoke ? ": it had no last words" : "");
    } else if (WEXITSTATUS(status) != 0) {
        log_write(c->ready    ? LOG_ALERT
                  : c->failed ? LOG_DEBUG /* it has said why */
                              : LOG_ERROR,
                  "%s (pid %d) ended with status %d", name, pid,
                  WEXITSTATUS(status));
    } else {
        log_write(wanted(c) ? LOG_INFO : LOG_WARN, "%s (pid %d) ended", name,
                  pid);
    }
}
