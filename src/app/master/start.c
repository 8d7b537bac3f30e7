/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/start.h"

#include <stdio.h>

#include "app/master/daemonize.h"
#include "app/master/role_failure.h"
#include "app/master/role_table.h"
#include "app/master/sd_notify.h"
#include "app/master/state.h"
#include "base/log.h"

#define READY_WAIT_MS 10000 /* for all children to say READY */

void
start_give_up(struct master *m, const char *name, const char *why)
{
    const struct settings *s = m->generation->settings;
    struct errmsg text;

    if (m->status != EXIT_DONE) {
        return; /* the first reason is enough */
    }
    m->status = EXIT_NO_START;
    errmsg_set(&text, "%s cannot start: %s", name, why);
    log_crit("%s", text.text);
    if (!str_eq(s->error_log.file, STR("stderr"))) {
        fprintf(stderr, "weir: %s\n", text.text);
    }
    daemonize_tell(EXIT_NO_START, text.text);
    master_stop(m);
}

/* Everybody but the first roles, when those are ready; false: not yet. */
static bool
start_others(struct master *m)
{
    const struct generation *g = m->generation;

    if (m->all_started || !role_table_first_ready(&m->children, g)) {
        return m->all_started;
    }
    m->all_started = true;
    timer_set(m->loop, &m->deadline, READY_WAIT_MS);
    role_table_start(&m->children, m->table, g, false);
    children_start_workers(&m->children, g);
    children_serve(&m->children, g);
    return true;
}

void
start_look(struct master *m)
{
    if (m->phase != STARTING || !start_others(m) ||
        !children_ready(&m->children)) {
        return;
    }
    m->phase = SERVING;
    timer_stop(m->loop, &m->deadline);
    log_notice("ready: %u workers", m->generation->workers);
    sd_notify_send("READY=1");
    daemonize_tell(EXIT_DONE, "");
    reload_serving(m);
}

void
start_is_late(struct master *m)
{
    role_failure_late(&m->children);
    if (m->all_started &&
        !children_workers_ready(&m->children, m->generation)) {
        start_give_up(m, "weir", "not all workers were ready within 10 s");
    } else {
        start_look(m);
    }
}

void
start_children(struct master *m)
{
    const struct generation *g = m->generation;

    timer_set(m->loop, &m->deadline, READY_WAIT_MS);
    role_table_start(&m->children, m->table, g, true);
    start_others(m);
    watchdog_start(&m->watchdog, &m->children, g->settings->watchdog);
}
