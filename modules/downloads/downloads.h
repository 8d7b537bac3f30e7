/*
 * Downloads: a queue that clients feed over HTTP, engines work off, and every
 * change of which is pushed over Socket.IO.
 *
 *   downloads.c    settings, metrics, calls, the table of the module
 *   request.[ch]   worker: bodies of POST to what they wish; their bytes on the
 *                  way to the fetcher
 *   shares.c       the pools that clients share
 *   layer.c        worker: routes
 *   files.c        worker: GET download/NAME
 *   sockets.c      channel: the endpoint, its events and snapshots
 *   verbs.c        master: weirctl show downloads, downloads add ...
 *   page*.c        worker: the page for people
 *   fetcher/       the role: owns the queues, runs the engines
 *   weir-supervisor/  the program around each run of an engine
 *   weir-fetch/    the engine "direct": plain files, by libcurl
 *
 *     worker --call--> fetcher --write--> store
 *                         |--starter--> weir-supervisor --> engine
 *                         |               |  (pipe: lines; network: proxy)
 *                         |<--------------'
 *                         '--sio_emit--> channel --> clients
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_DOWNLOADS_H
#define MODULES_DOWNLOADS_DOWNLOADS_H

#include "app/control/verb.h"
#include "app/module.h"
#include "http/http.h"
#include "proc/metric.h"
#include "proc/rpc.h"
#include "sio/sio.h"

#define DOWNLOADS_NAME_MAX 64  /* bytes of an instance's name */
#define DOWNLOADS_INSTANCES 16 /* at most */

/* ---- downloads.c ---- */

enum downloads_payload { PAYLOAD_OBJECT, PAYLOAD_STRING };

struct downloads_instance { /* an item of "downloads" at the root */
    struct conf_where where;
    struct str name;
    struct str directory;   /* where the files go */
    struct str engine;      /* "auto", or a name in the table of engines
                               (fetcher/engine.h) */
    struct str engine_path; /* of yt-dlp */
    struct str ffmpeg_path;
    struct str engine_options_file; /* empty: the environment's, or none */
    int64_t max_concurrent;         /* runs of this node at once */
    int64_t max_extractions;        /* at once; DOWNLOADS_WAITING wait */
    int64_t extract_timeout;        /* ms */
    int64_t timeout;     /* ms that a worker waits for other answers */
    int64_t max_entries; /* in all lists; a further add is refused */
    int64_t max_done;    /* records that are kept; 0: any number */
    int64_t clear_completed_after; /* ms; 0: never */
    int64_t min_free;      /* bytes on the disk; less: nothing starts, and
                              what writes is ended */
    int64_t max_file_size; /* bytes; 0: any */
    /* Of a run; all but files and processes: 0: any. */
    int64_t max_memory;           /* bytes */
    int64_t max_processes;        /* at once */
    int64_t max_cpu;              /* ms of processor time */
    int64_t max_files;            /* below its folder */
    int64_t max_bytes;            /* of these */
    int64_t playlist_item_limit;  /* of requests without one; 0: none */
    bool playlist_strict_mode;    /* the same */
    bool delete_files;            /* with where=done */
    bool custom_dirs;             /* folder may be given */
    bool create_custom_dirs;      /* one that is not there is made */
    struct str template;          /* of names: "%(title)s.%(ext)s" */
    struct str playlist_template; /* "%(playlist_title)s/%(title)s.%(ext)s" */
};

struct downloads_root {
    struct conf_groups instances; /* struct downloads_instance */
};

struct downloads_settings {        /* of a layer */
    struct conf_instance instance; /* struct downloads_instance */
    struct str url_prefix;         /* the location's path if it has none */
    int event_payload;             /* enum downloads_payload */
    struct sio_settings sockets;   /* group socket_io */
};

const struct downloads_root *downloads_root_of(const struct settings *s);
/* Whether a layer of s has this module: then the fetcher runs. */
bool downloads_wanted(const struct settings *s);

enum downloads_metric {
    DOWNLOADS_ADDED,          /* entries */
    DOWNLOADS_ENDED,          /* by downloads_end */
    DOWNLOADS_REFUSED,        /* requests, by downloads_refusal */
    DOWNLOADS_ENTRIES,        /* gauge, by list */
    DOWNLOADS_RUNS,           /* gauge: runs now */
    DOWNLOADS_BYTES,          /* that engines have fetched */
    DOWNLOADS_EGRESS_REFUSED, /* connections that the proxy refused */
    DOWNLOADS_METRICS
};
enum downloads_end {
    DOWNLOADS_END_FINISHED,
    DOWNLOADS_END_ERROR,
    DOWNLOADS_END_CANCELED,
    DOWNLOADS_ENDS
};
enum downloads_refusal {
    DOWNLOADS_BAD_REQUEST,
    DOWNLOADS_BUSY, /* too many extractions wait, or an add of a canceled
                       address */
    DOWNLOADS_NO_ENGINE,
    DOWNLOADS_EXTRACTION, /* the engine found nothing to download there */
    DOWNLOADS_TIMEOUT,
    DOWNLOADS_NO_STORE, /* away or full */
    DOWNLOADS_NO_FETCHER,
    DOWNLOADS_MAX_ENTRIES,
    DOWNLOADS_REFUSALS
};
extern struct metric downloads_metrics[];

/* Pools of the fetcher that clients share. */
enum downloads_pool {
    DOWNLOADS_POOL_EXTRACTIONS, /* adds, from the request to their end */
    DOWNLOADS_POOL_ORDERS,      /* deletes and starts */
    DOWNLOADS_POOLS
};
#define DOWNLOADS_WAITING 128               /* adds of an instance that wait, */
#define DOWNLOADS_ORDERS 64                 /* and orders of all */
extern struct tally_pool downloads_pools[]; /* shares.c */

/* ---- calls: workers, the channel and the master ask, the fetcher answers.
 * Each answer to a worker is a struct downloads_answer (request.h). ---- */

enum {
    DOWNLOADS_ADD,     /* the client (net/share.h), struct download_wish
                          (request.h) */
    DOWNLOADS_DELETE,  /* the client, struct download_ids */
    DOWNLOADS_START,   /* the same */
    DOWNLOADS_HISTORY, /* instance -> JSON as a sealed memfd */
    DOWNLOADS_VERSION, /* instance -> JSON */
    /* Snapshots (sio/sio.h): endpoint, line feed, variant -> arguments. */
    DOWNLOADS_ALL,
    DOWNLOADS_CONFIGURATION,
    DOWNLOADS_CUSTOM_DIRS,
    DOWNLOADS_OPTIONS_CHANGED,
    DOWNLOADS_OPTIONS_ALIAS, /* the same by its old name, as strings alone */
    DOWNLOADS_SHOW,          /* the master's: see below */
    DOWNLOADS_ORDER, /* the master's: struct download_wish or download_ids, by
                       a first byte 'a', 'd', 's' -> struct downloads_answer */
};
extern struct rpc_method downloads_methods[];

#define DOWNLOADS_BODY_MAX (1 << 20) /* of a POST; bytes */
#define DOWNLOADS_REQUEST_MAX (DOWNLOADS_BODY_MAX + 65536) /* of a call */
#define DOWNLOADS_ANSWER_MAX (8 << 20)                     /* to a worker */

/* DOWNLOADS_SHOW, by base/pack.h.  Request: text: an instance, "" for all; u8:
 * enum downloads_shown; int: how many rows to leave out, because the master has
 * them.  Answer, in 32000 bytes: rows, each behind a u8 of 1; then a u8 of 0:
 * that is all, or of 2: more follow.
 *     SHOWN_QUEUES  text instance, engine, its version, what is wrong;
 *                   int pending, queue, done, running, bytes free (-1)
 *     the others    text instance, list, status, url, title, filename, msg;
 *                   int percent (thousandths), speed, eta, size; -1: null */
enum downloads_shown {
    SHOWN_QUEUES,
    SHOWN_PENDING,
    SHOWN_QUEUE,
    SHOWN_DONE,
    SHOWN_ENTRIES, /* of all lists */
    DOWNLOADS_SHOWN
};

/* ---- the others ---- */

extern const struct http_route downloads_routes[]; /* layer.c */
int downloads_start(const struct module_layer *layer, void **state,
                    const struct http_route **routes, struct errmsg *err);
void downloads_stop(void *state);
http_error_body downloads_error_body; /* {"status":"error","msg":...} */
/* Of a layer's state. */
const struct downloads_settings *downloads_layer(const void *state);
http_handler downloads_on_file; /* files.c: GET download/... */
/* page.c */
http_handler downloads_on_page, downloads_on_page_script,
    downloads_on_page_style;
extern const struct role downloads_roles[];         /* fetcher/fetcher.c */
extern const struct store_schema downloads_schema;  /* fetcher/keep.c */
extern const struct control_verb downloads_verbs[]; /* verbs.c */
extern const struct sio_module downloads_sockets;   /* sockets.c */
/* Locations of an instance share an endpoint of each payload: "main",
 * "main/string"; its variant is the payload's word. */
#define DOWNLOADS_ENDPOINT (DOWNLOADS_NAME_MAX + 16) /* bytes, with NUL */
struct str downloads_endpoint(struct str instance, int payload,
                              char room[static DOWNLOADS_ENDPOINT]);
/* Of a snapshot's request: the instance and the payload.  False: it makes no
 * sense. */
bool downloads_endpoint_read(struct str request, struct str *instance,
                             int *payload);

#endif
