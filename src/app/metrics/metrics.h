/*
 * All of weir's metrics: the tables of every folder and module, and those that
 * are collected on demand (processes, memory, streams).
 *
 * docs/metrics.md lists them; tests/lint/metrics compares that list with the
 * output of "weir -M".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_METRICS_METRICS_H
#define APP_METRICS_METRICS_H

#include "app/generation.h"
#include "app/module.h"
#include "base/buf.h"
#include "proc/metric_text.h"

#define METRICS_SIZE (8 * 1024 * 1024) /* enough for metrics_text() */

/* Master, before metrics_create(): registers the tables of all folders and
 * of these modules. */
void metrics_register(const struct module *const *table);
/* Name number i of weir's own metrics; NULL behind the last. */
const char *metrics_own_name(size_t i);
/* Master, for each generation that is opened, before its workers are forked:
 * its applications, listeners and modules get their places. */
void metrics_learn(const struct generation *g);
/* Master: g is in force, at the start or by a reload. */
void metrics_in_force(const struct generation *g);
/* Master: sets how many generations have workers, without those that are being
 * closed. */
void metrics_generations(int64_t count);
/* Place of a listener, for struct conn_socket. */
uint16_t metrics_listener(const struct listener *l);
/* Master: a reload was done (metrics_in_force() too) or refused. */
void metrics_reload(bool ok);

/* Adds all metrics to out (METRICS_SIZE is enough), in any process. 0, or -1
 * when out is full. */
int metrics_text(struct buf *out, enum metric_format format);
/* Prints a line "name type labels help" for each metric (weir -M). */
void metrics_list(FILE *out);

/* ---- metrics of the core ---- */

enum {
    APP_RESTARTS, /* kind, enum app_restart */
    APP_KILLS,    /* enum app_kill */
    APP_ORPHANS,
    APP_STALLS,
    APP_LOOP,            /* microseconds of a turn */
    APP_RELOADS,         /* 0 success, 1 failure */
    APP_RTMP_BYTES,      /* enum metric_dir, app */
    APP_IDLE_PUBLISHERS, /* app */
    APP_SUPPRESSED,
    APP_CONTROL_REFUSED, /* enum app_control */
    APP_CPU,     /* kind; microseconds; this and all below the master's */
    APP_MEMORY,  /* kind */
    APP_PRIVATE, /* kind */
    APP_FILES,   /* kind */
    APP_FILES_MOST,
    APP_RELOAD_OK,
    APP_RELOAD_TIME, /* milliseconds */
    APP_GENERATION,
    APP_GENERATIONS,
    APP_START_TIME, /* milliseconds */
};

/* Kinds of processes, a label. */
enum app_kind { APP_MASTER, APP_WORKER, APP_ROLE, APP_KINDS };

/* The reason why a process had to be started again. */
enum app_restart {
    APP_RESTART_CRASH,   /* a signal that it has caused */
    APP_RESTART_KILLED,  /* a signal from outside */
    APP_RESTART_STUCK,   /* killed by the watchdog */
    APP_RESTART_STATUS,  /* it ended with an error */
    APP_RESTART_ENDED,   /* it ended without one */
    APP_RESTART_NO_FORK, /* it could not even be forked */
    APP_RESTART_COUNT
};

/* Processes killed by the master. */
enum app_kill { APP_KILL_STUCK, APP_KILL_STOP, APP_KILL_COUNT };

/* The reason why a client of the control socket was sent away. */
enum app_control {
    APP_CONTROL_CLIENTS,    /* too many are there */
    APP_CONTROL_LEVEL,      /* it has no right at all */
    APP_CONTROL_SLOW,       /* it does not read, or does not end its line */
    APP_CONTROL_DESCENDANT, /* it is one of our own processes */
    APP_CONTROL_COUNT
};

extern struct metric app_metrics[];

/* Bytes on the wire so far, over RTMP and HTTP. */
void metrics_wire_bytes(uint64_t *in, uint64_t *out);

/* Any process: measures the turns of its loop. */
void metrics_watch_loop(struct loop *l);

#endif
