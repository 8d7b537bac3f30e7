/*
 * Becoming a child process, and ending as one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/process.h"

#include <stdatomic.h>
#include <string.h>

#include "app/child/confine.h"
#include "app/child_commands.h"
#include "base/log.h"
#include "net/unsent.h"
#include "proc/bus.h"
#include "proc/life.h"
#include "proc/rpc.h"

static void
on_signal(void *arg, int number)
{
    struct process *p = arg;

    if (number == SIGTERM || number == SIGINT) {
        p->on_stop(p->arg);
    } else if (number == SIGQUIT) {
        p->on_drain(p->arg);
    }
    /* The others are the master's business. */
}

static void
on_master_gone(void *arg)
{
    struct process *p = arg;

    log_notice("the master is gone");
    p->on_stop(p->arg);
}

int
process_start(struct process *p, const struct settings *s, struct errmsg *err)
{
    static const int numbers[] = { SIGTERM, SIGINT,  SIGQUIT, SIGHUP,
                                   SIGUSR1, SIGUSR2, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&set, numbers[i]);
    }
    p->loop = loop_new(err);
    if (p->loop == NULL || bus_open(p->loop, err) == -1) {
        return -1;
    }
    rpc_open(p->loop);
    child_commands_follow();
    p->signals = signals_new(p->loop, &set, on_signal, p, err);
    confine_prepare(s);
    if (p->signals == NULL || privilege_drop(s->user, s->group, err) == -1) {
        return -1;
    }
    unsent_start(p->loop, s->http.max_unsent);
    return life_watch(p->loop, on_master_gone, p, err);
}

void
process_ready(void)
{
    slot_say(SLOT_READY);
    if (bus_send(0, BUS_READY, NULL, 0, -1) == -1) {
        log_error("cannot tell the master that this process is ready");
    }
}

void
process_failed(const struct process *p, const struct errmsg *why)
{
    if (p->loop == NULL ||
        bus_send(0, BUS_FAILED, why->text, strlen(why->text), -1) == -1) {
        log_error("%s", why->text);
    }
}

void
process_end(struct process *p)
{
    if (p->loop == NULL) {
        return;
    }
    confine_leave(p->loop);
    unsent_stop();
    signals_free(&p->signals);
    rpc_close();
    bus_close();
    life_destroy();
    loop_free(&p->loop);
}
