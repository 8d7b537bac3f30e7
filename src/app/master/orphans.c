/*
 * Killing what falls to the master.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/orphans.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/metrics/metrics.h"
#include "base/log.h"

#define LOOK_MS 1000
#define SOON_MS 10 /* there are more */

static void
on_look(struct timer *t)
{
    struct orphans *o = LIST_ITEM(t, struct orphans, timer);

    orphans_look(o);
}

void
orphans_start(struct orphans *o, struct loop *l,
              bool (*is_ours)(void *arg, pid_t pid), void *arg)
{
    *o = (struct orphans){ .loop = l, .is_ours = is_ours, .arg = arg };
    o->found_count = offspring_list(o->found, ORPHANS_FOUND);
    timer_init(&o->timer, on_look);
    timer_set(l, &o->timer, LOOK_MS);
}

void
orphans_stop(struct orphans *o)
{
    timer_stop(o->loop, &o->timer);
}

void
orphans_remember(struct orphans *o, pid_t pid, const char *name)
{
    unsigned at = o->ended_count++ % ORPHANS_ENDED;

    o->ended[at].pid = pid;
    snprintf(o->ended[at].name, sizeof(o->ended[at].name), "%s", name);
}

void
orphans_reaped(struct orphans *o, pid_t pid, int status)
{
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
        return;
    }
    /* Its number may be another's now. */
    for (size_t i = 0; i < o->found_count; i++) {
        if (o->found[i] == pid) {
            o->found[i] = 0;
        }
    }
    for (size_t i = 0; i < ORPHANS_TURN; i++) {
        if (o->killed[i] == pid) {
            o->killed[i] = 0;
        }
    }
}

static bool
is_left_alone(const struct orphans *o, pid_t pid)
{
    for (size_t i = 0; i < o->found_count; i++) {
        if (o->found[i] == pid) {
            return true;
        }
    }
    return o->is_ours(o->arg, pid);
}

/* Names the child that has started it: its process group is the number of a
 * child that has ended, or one child alone has just ended. */
static const char *
origin(const struct orphans *o, pid_t pid)
{
    pid_t group = getpgid(pid);
    unsigned kept =
        o->ended_count < ORPHANS_ENDED ? o->ended_count : ORPHANS_ENDED;

    for (unsigned i = 0; i < kept; i++) {
        if (o->ended[i].pid == group) {
            return o->ended[i].name;
        }
    }
    return o->ended_count - o->turn == 1
               ? o->ended[o->turn % ORPHANS_ENDED].name
               : "a process that has ended";
}

/* It ends, but has not ended yet. */
static bool
is_killed(const struct orphans *o, pid_t pid)
{
    for (size_t i = 0; i < ORPHANS_TURN; i++) {
        if (o->killed[i] == pid) {
            return true;
        }
    }
    return false;
}

static void
end(struct orphans *o, pid_t pid)
{
    char name[OFFSPRING_NAME];

    offspring_name(pid, name);
    if (kill(pid, SIGKILL) == 0) {
        o->killed[o->killed_count++ % ORPHANS_TURN] = pid;
        metric_add(&app_metrics[APP_ORPHANS], 0, 1);
        log_limited(LOG_WARN,
                    "process %d \"%s\" of %s is killed: it has lost "
                    "its parent",
                    (int)pid, name, origin(o, pid));
    }
}

void
orphans_look(struct orphans *o)
{
    pid_t pids[ORPHANS_TURN];
    size_t count = offspring_list(pids, ORPHANS_TURN);

    for (size_t i = 0; i < count; i++) {
        if (!is_left_alone(o, pids[i]) && !is_killed(o, pids[i])) {
            end(o, pids[i]);
        }
    }
    o->turn = o->ended_count;
    timer_set(o->loop, &o->timer, count < ORPHANS_TURN ? LOOK_MS : SOON_MS);
}
