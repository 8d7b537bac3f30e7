/*
 * The table of relays, which every process can read.
 *
 * It lies in shared memory that the master makes before any fork.  The role
 * relayer alone writes it, a row for each task; workers and the master read
 * rows under a sequence counter.  Any process could write there, so readers
 * get copies, whose numbers and texts are within their bounds.  A relayer that
 * dies leaves its rows, so that a list is not empty while it is started again:
 * relay_tasks_sweep() notes in them that it died, and the next relayer drops
 * them when it has its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_TASKS_H
#define MODULES_RELAY_TASKS_H

#include "base/errmsg.h"
#include "base/str.h"
#include "rtmp/rtmp.h"
#include "store/lease.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows: as many as relays.max can be, and as many that have no room. */
#define RELAY_TASKS_MAX 8192

enum relay_kind { RELAY_PULL, RELAY_PUSH, RELAY_KINDS };

/* Origin of a relay: the API, or weir.conf. */
enum relay_origin { RELAY_API, RELAY_CONFIG };

/*
 *                    +-------------------------------+
 *                    v                               |
 *   waiting ---> connecting ---> running ---> backing off
 *   local  --->      |              |
 *     ^              |              |
 *     +--------------+--------------+   the local side is not as needed
 *
 * A task of the store begins as "starting", and may become "elsewhere" at any
 * time.  A task that may not run is "not started": its reason tells why.
 */
enum relay_state {
    RELAY_CONNECTING,  /* until the first frame of a pull, or until a push is
                          accepted */
    RELAY_WAITING,     /* push: nobody publishes the stream here */
    RELAY_LOCAL,       /* pull: somebody here publishes the stream */
    RELAY_RUNNING,     /* frames go through */
    RELAY_BACKING_OFF, /* it failed, and will connect again in a while */
    RELAY_STARTING,    /* which node runs it is not known yet */
    RELAY_ELSEWHERE,   /* another node on the same database runs it */
    RELAY_NOT_STARTED, /* it may not run now */
    RELAY_STATES
};

const char *relay_kind_name(unsigned kind);     /* "pull" */
const char *relay_state_name(unsigned state);   /* "backing off" */
const char *relay_origin_name(unsigned origin); /* "config" */

struct relay_view {
    uint64_t id;       /* of the store; 0: of weir.conf */
    uint64_t url_hash; /* hash_str() of the whole URL */
    uint8_t kind, origin, state;
    uint8_t there;   /* RELAY_ELSEWHERE: the state where it runs */
    uint8_t refused; /* 1: egress rules forbid it */
    uint8_t of_all;  /* 1: listed because several streams of its app are */
    char node[LEASE_NODE_MAX + 1]; /* that runs it; "": none */
    char app[RTMP_NAME_MAX + 1];
    char name[RTMP_NAME_MAX + 1];
    char url[512];          /* without its secrets; cut to fit */
    char reason[256];       /* of the state: the failure, the thing it waits
                               for */
    char last_failure[256]; /* why it failed last, kept; "": it did not */
    int64_t since_ms;       /* clock_wall_ms(): in this state */
    int64_t failed_ms;      /* clock_wall_ms() of the last failure, 0: none */
    uint64_t attempts;      /* connections it tried */
    uint64_t failures;      /* and how many of them failed or broke */
    uint64_t bytes, frames; /* of media, since it was started */
};

/* Master, before any fork. */
int relay_tasks_create(struct errmsg *err);
/* Master: the process of slot is dead. */
void relay_tasks_sweep(uint32_t slot);

/* ---- the relayer ---- */

struct relay_row;

/* Takes the table over: rows of an earlier relayer are marked as old. */
void relay_tasks_begin(void);
/* Forgets old rows, those that no task of this relayer has taken over. */
void relay_tasks_forget_old(void);
/* A row that shows *v, in place of an old one of the same task; NULL: there
 * is none left. */
struct relay_row *relay_row_take(const struct relay_view *v);
void relay_row_set(struct relay_row *row, const struct relay_view *v);
/* NULL inside is fine. */
void relay_row_free(struct relay_row **row);

/* ---- everybody ---- */

/* The next row at or behind *at, which is moved past it; false behind the
 * last. */
bool relay_tasks_next(uint32_t *at, struct relay_view *v);
/* The state where it runs. */
enum relay_state relay_view_state(const struct relay_view *v);
/* How many are of_all. */
size_t relay_tasks_of_all(void);
/* False, and *v all zero: there is none. */
bool relay_tasks_find_id(uint64_t id, struct relay_view *v);
/* One of weir.conf; url with its secrets. */
bool relay_tasks_find_config(enum relay_kind kind, struct str app,
                             struct str name, struct str url,
                             struct relay_view *v);

#endif
