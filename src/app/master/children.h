/*
 * The master's children: workers and roles, forked, watched, reaped, forked
 * again.
 *
 * A child that ends without a command is started again at once, then with
 * back-off (0, 0.1, 0.5, 1, 5 s; forgiven after 10 s of life).  Before its slot
 * is used again, all that it owned in shared memory is swept.
 *
 * Children of several generations may be in the list at once.
 *
 *   children.c        all of them
 *   children_roles.c  roles over reloads
 *   child_state.c     how one does
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_CHILDREN_H
#define APP_MASTER_CHILDREN_H

#include "app/generation.h"
#include "app/master/orphans.h"
#include "app/module.h"
#include "event/loop.h"

#include <sys/types.h>

#define FORGIVEN_MS 10000 /* a life this long was no failed start */

struct child {
    struct list link;
    struct children *all;                /* borrowed */
    const struct generation *generation; /* borrowed: outlives the child */
    const struct role *role;             /* NULL: a worker */
    uint32_t index;                      /* among its kind */
    pid_t pid;                           /* 0: not running */
    uint32_t slot;
    bool ready;
    bool keep;           /* start it again when it ends */
    bool replaced;       /* by a reload: drains */
    bool restarts;       /* ends because its settings changed */
    bool stopped;        /* by SIGSTOP or a debugger: runs no code */
    unsigned attempt;    /* starts in a row that ended soon */
    int64_t started_ms;  /* clock_ms() */
    struct timer again;  /* until the next start */
    uint64_t seen_turns; /* the watchdog's: turn that it saw last, */
    int64_t stuck_ms;    /* for how long, and whether it has warned */
    bool warned;
    unsigned asked; /* looks since the request for last words */
    bool killed;    /* by the watchdog */
    /* A role (role_failure.h): */
    bool failed;       /* it cannot start, or ends soon each time */
    bool loops;        /* the latter */
    bool told_last;    /* the log has its longest back-off */
    bool lacks;        /* forked while a first role failed */
    bool returned;     /* READY, and workers were started without it */
    struct errmsg why; /* while it failed */
};

/* Calls to the master. */
struct child_calls {
    /* In the child, before all else; it has only its own descriptors. */
    void (*in_child)(void *arg, const struct child *c);
    void (*on_ready)(void *arg, struct child *c);
    /* It could not start; that a role fails is noted already. */
    void (*on_failed)(void *arg, const struct child *c, const char *why);
    /* One was reaped: sweeps what it owned in the modules' shared memory,
     * before its slot is used again. */
    void (*sweep)(void *arg, uint32_t slot);
    void (*on_gone)(void *arg);
};

struct children {
    struct loop *loop;                /* borrowed */
    const struct generation *serving; /* of children_serve() */
    const struct child_calls *calls;
    void *arg; /* of the calls */
    struct list list;
    struct orphans orphans;
};

/* The bus is open: handles READY and FAILED of children from now on, and kills
 * processes that fall to the master (app/master/orphans.h). */
void children_init(struct children *c, struct loop *l,
                   const struct child_calls *calls, void *arg);
/* None runs any more. */
void children_clear(struct children *c);

/* Forks them.  Workers that are ready wait for children_serve() before they
 * accept connections. */
void children_start_workers(struct children *c, const struct generation *g);
void children_start_role(struct children *c, const struct generation *g,
                         const struct role *r);

/* At SIGCHLD. */
void children_reap(struct children *c);
/* Signals workers, roles, or both; with SIGQUIT and SIGTERM they are not
 * started again. */
enum { CHILD_WORKERS = 1, CHILD_ROLES = 2 };
void children_signal(struct children *c, unsigned kinds, int number);

size_t children_running(const struct children *c, unsigned kinds);
bool children_ready(const struct children *c); /* but for roles that fail */

/* ---- of one generation ---- */

/* Lets its workers accept connections: those that are ready at once, the others
 * when they are. */
void children_serve(struct children *c, const struct generation *g);
/* Its workers are replaced: they drain. */
void children_replace(struct children *c, const struct generation *g);
/* Signals its workers, which are not started again. */
void children_end(struct children *c, const struct generation *g, int number);
/* Its workers that run / whether all of them are ready. */
size_t children_workers(const struct children *c, const struct generation *g);
bool children_workers_ready(const struct children *c,
                            const struct generation *g);
/* Replaced workers, of any generation, that may still accept connections. */
size_t children_leaving(const struct children *c);
/* Connections its workers have. */
uint64_t children_connections(const struct children *c,
                              const struct generation *g);

/* ---- roles ---- */

/* Whether it was started and has no command to end. */
bool children_has_role(const struct children *c, const struct role *r);
/* It ends, and is not started again; it belongs to generation g. */
void children_end_role(struct children *c, const struct role *r,
                       const struct generation *g);
/* Moves it to generation `to`: starts it again if its settings changed, else
 * sends it the new ones. */
void children_move_role(struct children *c, const struct role *r,
                        const struct generation *to);

/* Connections that roles have of workers. */
uint64_t children_role_connections(const struct children *c);

/* Whether it dies soon each time it is started. */
bool child_in_crash_loop(const struct child *c);
/* "starting", "ready", "draining", "ending", "waiting" (for its next start),
 * "stopped" (it runs no code) or "crash loop". */
const char *child_state(const struct child *c);

/* It does not run, and is not started again. */
void child_forget(struct child *c);

#define CHILD_NAME 40
/* "worker 0"; returns dst (CHILD_NAME bytes). */
const char *child_name(const struct child *c, char *dst);

#endif
