/*
 * The relayer: the process that pulls and pushes (role "relayer").
 *
 *   relayer.c     the life of the process, and its list of tasks
 *   reconcile.c   tasks from the store and from the plan (role_config.h)
 *   task.c        a task: its state, its connections, its failures
 *   node_lease.c  a lease for each task: one node on a database runs it
 *   loops.c       streams that would feed themselves
 *   pull.c        a task that plays elsewhere and publishes here
 *   push.c        a task that plays here and publishes elsewhere
 *
 * A task is idle (a timer brings it to task_look()), dials (net/outgoing), or
 * has a client (rtmp/client).  task_leave() brings it from anywhere to idle.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_RELAYER_H
#define MODULES_RELAY_RELAYER_H

#include "live/live.h"
#include "net/outgoing.h"
#include "net/url.h"
#include "role_config.h"
#include "rtmp/client.h"
#include "rtmp/target.h"
#include "settings.h"
#include "target.h"

/* Why a relay failed, for the counter. */
enum relay_failure {
    RELAY_FAILED_NAME,
    RELAY_FAILED_EGRESS,
    RELAY_FAILED_CONNECT,
    RELAY_FAILED_TLS,
    RELAY_FAILED_TIMEOUT, /* before RTMP began */
    RELAY_FAILED_LOST,    /* these are the fates of a client */
    RELAY_FAILED_SILENT,
    RELAY_FAILED_STUCK,
    RELAY_FAILED_PROTOCOL,
    RELAY_FAILED_LOGIN,
    RELAY_FAILED_REFUSED,
    RELAY_FAILED_ENDED,
    RELAY_FAILED_HERE, /* no room, no such application, kicked */
    RELAY_FAILURES
};
const char *relay_failure_name(unsigned why);

struct relay_other { /* a node that runs a task which we do not run */
    char node[LEASE_NODE_MAX + 1];
    enum relay_state state;
    bool refused;
    int64_t since_ms;
    char reason[256], last_failure[256];
};

struct relay_task {
    struct relayer *relayer; /* borrowed: whose it is */
    struct list link;        /* in relayer.tasks */
    struct pool *pool;       /* owned: has the texts */
    uint64_t id;             /* of the store, or 0 */
    enum relay_kind kind;
    enum relay_origin origin;
    bool of_all;   /* made for a stream: a push takes several */
    bool seen;     /* reconcile.c's */
    bool has_room; /* one of relays.max; else it is not started */
    struct str app, name;
    struct str stream;     /* "app/name" */
    struct str url;        /* with its secrets */
    struct str remote;     /* without: see relay_target_shown() */
    struct str which;      /* of a push " (to REMOTE)", for logs; or empty */
    struct str here;       /* rtmp_wanted.node */
    struct url parsed;     /* url */
    struct rtmp_target to; /* its path */
    struct relay_row *row; /* NULL: the table is full */
    struct relay_view view;
    unsigned failures;  /* in a row */
    int64_t running_ms; /* loop_now() when it began to run, 0: it does not */
    struct timer timer;
    struct outgoing *dial; /* owned */
    struct rtmp_client *client;
    bool ready; /* the remote has accepted */
    struct rtmp_login login;
    struct later destroy;

    /* node_lease.c */
    struct lease *lease;      /* owned; NULL: other nodes do not have it */
    struct relay_other other; /* zero: nobody */

    /* pull.c */
    struct live_publisher *publisher; /* owned */
    uint32_t stream_id;               /* RTMP: of the remote's messages */
    bool started;                     /* the name is ours */
    int64_t media_ms;                 /* loop_now() when media last came */
    struct buf stash;                 /* media that came before that */

    /* loops.c */
    struct relay_target target; /* of url; all empty: url is wrong */
    struct addr server;         /* that it was last connected to */
    char source[LIVE_NAME_MAX]; /* stream of this node that it plays; "":
                                   none */
    bool ring;                  /* it failed because it would feed itself */
    uint64_t ring_seen;         /* loops.c's */

    /* push.c */
    struct live_player *player; /* owned */
    struct live_sent sent;      /* by this player, as counted so far */
};

/* reconcile.c */
struct relay_wanted {
    struct timer streams, again;
    struct store_call *read; /* under way */
    bool stale;              /* changed since that was asked */
    bool stopped;
    struct list *at; /* the task that was found last, in a round */
};

/* loops.c */
struct relay_rings {
    size_t held;      /* pulls that failed for this */
    uint64_t changes; /* of pushes, or of the plan; what no task has seen */
};

/* The state of the process. */
struct relayer {
    struct loop *loop; /* borrowed */
    struct timer tick;
    struct pool *pool; /* owned: of the plan */
    struct plan plan;
    struct resolver *resolver; /* owned */
    struct tls_client *tls;    /* owned; NULL: no_tls says why */
    struct errmsg no_tls;
    struct rtmp_client_settings clients[RELAY_KINDS];
    struct list tasks;
    size_t count;                  /* of them */
    size_t with_room;              /* and of those that are started */
    bool draining;                 /* makes no new connections */
    char node[LEASE_NODE_MAX + 1]; /* role_process.node */
    struct relay_wanted wanted;
    struct relay_rings rings;
};

/* ---- reconcile.c ---- */

/* Asks the store for its tasks, now and whenever they change; nothing if there
 * is no store. */
void wanted_start(struct relayer *r);
void wanted_stop(struct relayer *r);
/* The plan is new: starts its tasks, ends those that it has no more. */
void wanted_plan(struct relayer *r);

/* ---- task.c ---- */

struct task_wish {
    uint64_t id;
    enum relay_kind kind;
    enum relay_origin origin;
    bool of_all;
    struct str app, name, url;
};

/* Adds a task to relayer.tasks; it begins when it gets room.  A wrong URL is a
 * state of the task, not an error: another weir has written it into the
 * store. */
struct relay_task *task_new(struct relayer *r, const struct task_wish *w);
/* Ends the remote's session in order; frees the task at the end of the turn. */
void task_end(struct relay_task *t);
/* Makes a task of the API one of weir.conf; it goes on. */
void task_adopt(struct relay_task *t, bool of_all);
/* The push of weir.conf that it stands for has another name now, and takes the
 * stream as before. */
void task_set_of_all(struct relay_task *t, bool of_all);
/* The egress rules have changed: begins an attempt under way anew, and repeats
 * one that was refused. */
void task_rules_changed(struct relay_task *t);
/* It is idle and its time has come: connects, or waits for the local side. */
void task_look(struct relay_task *t);
/* Its application, NULL: there is none of that name any more. */
const struct plan_app *task_app(const struct relay_task *t);
void task_set(struct relay_task *t, enum relay_state state, const char *reason);
/* Its view has changed. */
void task_show(struct relay_task *t);
/* Leaves the remote (farewell, if hard is false), the local stream, and all
 * that waits: the task is idle.  Its state is the caller's to set. */
void task_leave(struct relay_task *t, const char *reason, bool hard);
/* It is idle now, and will look again after a while. */
void task_failed(struct relay_task *t, enum relay_failure why,
                 const char *reason);
/* The local side is not ready: checks it again and again. */
void task_wait(struct relay_task *t, const char *reason);
/* Every second: counters, silence. */
void task_tick(struct relay_task *t);
/* A client's end, for both kinds. */
void task_client_closed(struct relay_task *t, enum rtmp_client_fate fate,
                        const char *reason);

/* ---- node_lease.c ---- */

void share_begin(struct relay_task *t);
void share_end(struct relay_task *t);
/* Whether this node may run it.  If not, task_look() is called when it may, or
 * when the state of the node that runs it is known. */
bool share_take(struct relay_task *t);
/* Gives it up: another node may have it. */
void share_drop(struct relay_task *t);
bool share_is_ours(const struct relay_task *t);
/* Publishes its state for other nodes, and sets the node in its view. */
void share_say(struct relay_task *t);
/* Shows the state that the node which runs it has published; false: no node
 * runs it. */
bool share_show_other(struct relay_task *t);

/* ---- loops.c ---- */

/* The task is in relayer.tasks now, or not any more: ends pulls that it would
 * feed, or lets them begin. */
void ring_begin(struct relay_task *t);
void ring_end(struct relay_task *t);
/* The plan is new. */
void ring_plan(struct relay_task *t);
/* Whether a pull would bring back the stream of a push; `why` names it. */
bool ring_holds(struct relay_task *t, struct errmsg *why);
/* The task is connected.  True: to the server of the other task of a ring; a
 * pull then has failed, and the socket is closed. */
bool ring_connects(struct relay_task *t, const struct conn_socket *socket);
/* A pull is about to play.  True: its own stream; it has failed. */
bool ring_plays(struct relay_task *t);

/* ---- pull.c, push.c ---- */

extern const struct rtmp_client_handlers pull_handlers, push_handlers;
/* Leave the local stream, for task_leave(). */
void pull_leave(struct relay_task *t);
void push_leave(struct relay_task *t);
/* True: the task is in another state now. */
bool pull_tick(struct relay_task *t);
void push_tick(struct relay_task *t);

#endif
