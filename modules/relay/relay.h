/*
 * Shared by the files of this module.
 *
 * relay.c has the table of the module, schema.c its tables in the store,
 * answer.c the form of its answers and the checks of parameters; api_keys.c
 * answers for stream keys, publish_hook.c lets publishers in by them.
 *
 *   api_relays.c  /pull, /push and /relays
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_RELAY_H
#define MODULES_RELAY_RELAY_H

#include "app/control/verb.h"
#include "app/module.h"
#include "proc/metric.h"

#define RELAY_ROOM_MAX                                    \
    200 /* bytes: there is room for an application's name \
         */
#define RELAY_URL_MAX 2048
/* A room's key was reset or deleted; the text is the room (store/store.h). */
#define RELAY_TOPIC_KEY "key"

struct relay_settings {
    int64_t max_rooms;
};

struct relay { /* of a layer */
    const struct relay_settings *settings;
    const struct settings *all; /* of weir.conf */
};

/* ---- metrics ---- */

enum relay_metric {
    RELAY_TASKS,           /* by kind and state */
    RELAY_ATTEMPTS,        /* by kind */
    RELAY_FAILED,          /* by kind and enum relay_failure (relayer.h) */
    RELAY_BYTES,           /* by kind */
    RELAY_REFUSED,         /* by enum relay_refused */
    RELAY_KEYS,            /* by enum relay_done */
    RELAY_PUBLISH_REFUSED, /* by enum relay_publish_refused */
    RELAY_GRACED,
    RELAY_REVOKED,
    RELAY_METRIC_COUNT
};

enum relay_refused {
    RELAY_REFUSED_PARAMETER, /* missing or wrong */
    RELAY_REFUSED_TASK,      /* of pull and push: unknown, taken, no room */
    RELAY_REFUSED_NO_ROOM,   /* it has no key */
    RELAY_REFUSED_ROOMS,     /* max_rooms */
    RELAY_REFUSED_STORE,     /* it does not answer */
    RELAY_REFUSED_REASONS
};

enum relay_done {
    RELAY_DONE_MADE,
    RELAY_DONE_RESET,
    RELAY_DONE_DELETED,
    RELAY_DONE_KINDS
};

enum relay_publish_refused {
    RELAY_PUBLISH_FORM,    /* cannot be a key */
    RELAY_PUBLISH_UNKNOWN, /* no room has it */
    RELAY_PUBLISH_LONG,    /* the stream's name would be too long */
    RELAY_PUBLISH_STORE,   /* it does not answer */
    RELAY_PUBLISH_REASONS
};

extern struct metric relay_metrics[];

/* ---- relays ---- */

#define RELAY_TASKS_TOPIC "relay" /* of notices about relays */

extern const struct role relay_roles[];
extern const struct control_verb relay_verbs[];
http_handler relay_pull, relay_push, relay_list;

#endif
