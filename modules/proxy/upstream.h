/*
 * Upstreams as a worker uses them: which server gets a request, and how it is
 * reached.
 *
 * A layer opens its upstream when the worker starts.  For each request it then
 * has a struct upstream_use, which goes round like this:
 *
 *   upstream_use_init()
 *     upstream_choose() ---> UPSTREAM_CHOSEN ---> use->server is asked
 *        |    ^                                       |
 *        |    +--- another try <--- upstream_give_back()
 *        v
 *     UPSTREAM_WAITS ---> on_chosen() with UPSTREAM_CHOSEN or _FULL
 *
 * Between UPSTREAM_CHOSEN and upstream_give_back() the request counts as open
 * at that server, in memory that all workers share.  The master gives back the
 * open requests of a worker that is killed.
 *
 * Clients share both (net/share.h): beyond half of a server's max_connections,
 * and of the queue, one has half at most.  The queue serves clients in turn; in
 * a full one, an entry gives way whose turn would come after the new one's.
 *
 *   upstream.c           opening, closing, connecting
 *   upstream_choose.c    choosing, the outcome
 *   upstream_queue.c     the queue
 *   upstream_names.c     addresses of names, by their TTL
 *   upstream_key.c       the key of a hash
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_H
#define MODULES_PROXY_UPSTREAM_H

#include "app/module.h"
#include "base/fair_queue.h"
#include "net/outgoing.h"
#include "net/share.h"

#define UPSTREAM_SERVERS 64 /* of one upstream: a bit each in `tried` */

struct upstream; /* one of this worker */

/* A server of it.  All but `owned` is for reading. */
struct upstream_server {
    struct upstream *upstream; /* its own */
    struct str name;           /* "b.example:9002": messages, logs, weirctl */
    unsigned place;            /* among the upstream's: bit `place` of tried */
    /* Host of requests where that is the server's own: the address without the
     * port where that is the scheme's own; "localhost" for a path. */
    struct str authority;
    bool tls;
    /* Grows when kept connections should not be used any more: the name has
     * other addresses, the server is drained or down.  Keep the number that it
     * had when a connection was made; one of another number is closed. */
    uint32_t epoch;
    void *owned; /* the exchange's: its kept connections; NULL at first */
};

/* ---- life ---- */

/* Called when a server's epoch has grown: time to close what is kept idle. */
typedef void upstream_changed(struct upstream_server *server);

/* From a layer's start(), before the worker is in its sandbox.  name is the
 * layer's setting: the name of an upstream, or the URL of its only server.
 * Layers that name one and the same share it.  NULL with err. */
struct upstream *upstream_open(struct worker *w, struct str name,
                               struct errmsg *err);
/* From the layer's stop().  All uses of the layer are over.  With the last
 * layer it ends: on_gone, if set, is called for each server before, for
 * `owned`. */
void upstream_close(struct upstream **u);

/* Sets what is called from now on; both may be NULL. */
void upstream_on_change(struct upstream *u, upstream_changed *on_changed,
                        upstream_changed *on_gone);

struct str upstream_name(const struct upstream *u);
size_t upstream_count(const struct upstream *u); /* of servers */
struct upstream_server *upstream_at(struct upstream *u, size_t i);

/* Of the rows of the upstream; for a URL their defaults. */
struct upstream_keep {
    int64_t connections; /* kept idle to each server, by this worker */
    int64_t timeout_ms;  /* idle */
    int64_t requests;    /* of one connection */
};
const struct upstream_keep *upstream_keep(const struct upstream *u);

/* ---- choosing ---- */

enum upstream_choice {
    UPSTREAM_CHOSEN, /* use->server */
    UPSTREAM_WAITS,  /* on_chosen() is called later, or upstream_cancel() */
    UPSTREAM_NONE,   /* all servers left are down, drained or tried: 503, or
                        502 when one was tried */
    UPSTREAM_FULL,   /* all servers left are busy, and so is the queue, or the
                        time in it is over: 503; see has_share */
};

/* The wait is over: UPSTREAM_CHOSEN, _NONE or _FULL. */
typedef void upstream_chosen(void *arg, enum upstream_choice choice);

/* A request's; it lies in memory of the request, which ends it
 * (upstream_cancel()). */
struct upstream_use {
    struct upstream_server *server; /* NULL unless one is chosen */
    uint64_t tried; /* bits of the servers that it has been given */
    bool has_share; /* UPSTREAM_FULL, because its client has its share */
    /* The rest is upstream_choose.c's. */
    struct upstream *upstream;
    uint64_t key;
    upstream_chosen *on_chosen;
    void *arg;
    struct tally_holder client;
    struct fair_entry entry; /* in the queue, or given */
    bool waits;              /* counts as one that waits */
    struct timer timeout;
};

extern struct tally_pool upstream_pools[];

/* Takes the key of the request where the upstream's balance is "hash". */
void upstream_use_init(struct upstream_use *use, struct upstream *u,
                       struct http_request *r, upstream_chosen *on_chosen,
                       void *arg);
/* Chooses among the servers that it has not tried.  Nothing may be open. */
enum upstream_choice upstream_choose(struct upstream_use *use);

/* How the server did.  All but UPSTREAM_OK and UPSTREAM_LEFT count as fails of
 * the server (max_fails). */
enum upstream_outcome {
    UPSTREAM_OK,        /* the whole of an answer came, of any status */
    UPSTREAM_UNREACHED, /* no connection */
    UPSTREAM_NO_TLS,    /* a connection, and no TLS */
    UPSTREAM_TIMED_OUT, /* it was silent */
    UPSTREAM_BROKEN,    /* it ended the connection too early */
    UPSTREAM_WRONG,     /* what it sent is no answer */
    UPSTREAM_LEFT,      /* the client went, or we ended it: not its fault */
    UPSTREAM_OUTCOMES
};

struct upstream_result {
    enum upstream_outcome outcome;
    int status;      /* of its answer; 0: there was no head */
    int64_t head_ms; /* from asking to the answer's head; -1: there was none */
    const char *why; /* more words on a fail, for the log; NULL: none */
};

/* The request is not open any more: use->server is NULL. */
void upstream_give_back(struct upstream_use *use,
                        const struct upstream_result *result);
/* However far it is: leaves the queue, or gives back with UPSTREAM_LEFT.  May
 * be called twice. */
void upstream_cancel(struct upstream_use *use);

/* ---- connecting ---- */

/* Connects to the server, by TCP or a path, with TLS where the upstream has
 * it.  As outgoing_start(): handler is called later, once; outgoing_cancel()
 * ends it.  The cost of names is small: their addresses are known, or found. */
struct outgoing *upstream_connect(struct upstream_server *server,
                                  int64_t timeout_ms, outgoing_handler *handler,
                                  void *arg);

/* One more connection to the server is open (1), or one less (-1): for
 * metrics. */
void upstream_count_connection(struct upstream_server *server, int change);

/* ---- the exchange has for it ---- */

/* The setting `upstream` of a layer of module "proxy", and where the layer
 * stands. */
struct str proxy_layer_upstream(const void *layer_settings,
                                struct conf_where *where);

#endif
