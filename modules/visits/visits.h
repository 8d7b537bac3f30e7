/*
 * Counts visits of rooms: a small service with all that a service may need.
 *
 *   visits.c   settings, metrics, the table of the module
 *   layer.c    worker: requests of HTTP clients
 *   counter.c  role "counter": the one process that changes counts
 *   verbs.c    master: the words of weirctl
 *   schema.c   the table in the store, and its statements
 *   page.c     the page for people, and its script
 *
 * A POST walks from a worker to the counter, from there to the keeper, which
 * has the disk, and back.  A GET reads the store in the worker.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VISITS_VISITS_H
#define MODULES_VISITS_VISITS_H

#include "app/control/verb.h"
#include "app/module.h"
#include "http/http.h"
#include "proc/metric.h"
#include "proc/rpc.h"
#include "store/store.h"

#define VISITS_NAME_MAX 64 /* bytes of an instance's name, of a room's */

/* ---- visits.c ---- */

struct visits_instance { /* an item of "visits" at the root of weir.conf */
    struct str name;
    int64_t max_rooms;
    int64_t timeout; /* ms */
};

struct visits_root {
    struct conf_groups instances; /* struct visits_instance */
};

struct visits_settings {           /* of a layer */
    struct conf_instance instance; /* struct visits_instance */
};

const struct visits_root *visits_root_of(const struct settings *s);
/* Whether it may name an instance or a room: 1 to VISITS_NAME_MAX letters,
 * digits, '-', '_' and '.', the first a letter or a digit. */
bool visits_is_name(struct str s);
/* Whether a layer of s has this module: then the counter runs. */
bool visits_wanted(const struct settings *s);

enum visits_metric { VISITS_COUNTED, VISITS_REFUSED, VISITS_METRICS };
/* Label of VISITS_REFUSED. */
enum visits_reason {
    VISITS_BAD_NAME,
    VISITS_NO_ROOM,
    VISITS_NO_COUNTER,
    VISITS_NO_STORE,
    VISITS_REASONS
};
extern struct metric visits_metrics[];

/* ---- calls: layer.c and verbs.c ask, counter.c answers ---- */

enum { VISITS_COUNT, VISITS_RESET, VISITS_SHOW }; /* places in the table */
extern struct rpc_method visits_methods[];

/* The request of VISITS_COUNT; that of VISITS_RESET is the instance's name. */
struct visits_place {
    char instance[VISITS_NAME_MAX + 1], room[VISITS_NAME_MAX + 1];
};

/* Answers both.  A failure refuses the call, with the reason. */
struct visits_answer {
    int64_t visits; /* of the room, with this one; RESET: rooms that went */
    int64_t full;   /* not counted: there are max_rooms already */
};

/* VISITS_SHOW is answered by base/pack.h: how many instances follow; of each
 * its name, its rooms, its visits. */
#define VISITS_SHOWN 200 /* instances, at most */

/* ---- the others ---- */

extern const struct http_route visits_routes[]; /* layer.c */
int visits_start(const struct module_layer *layer, void **state,
                 const struct http_route **routes, struct errmsg *err);
void visits_stop(void *state);
extern const struct role visits_roles[];         /* counter.c */
extern const struct control_verb visits_verbs[]; /* verbs.c */
http_handler visits_on_page, visits_on_script;   /* page.c */

enum visits_statement {           /* schema.c */
                        SQL_ADD,  /* instance, room, n, max_rooms -> its visits;
                                     no row: full */
                        SQL_ONE,  /* instance, room -> visits */
                        SQL_PAGE, /* instance, room, most -> rooms behind it,
                                     visits */
                        SQL_RESET, /* instance */
                        SQL_SUMS,  /* most -> instance, rooms, visits */
                        SQL_COUNT
};
extern const struct store_statement visits_statements[];
extern const struct store_schema visits_schema;

#endif
