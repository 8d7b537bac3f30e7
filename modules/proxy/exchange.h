/*
 * A request on its way to a server of an upstream, and the answer on its way
 * back.
 *
 * An exchange lies in the request's pool.  It asks a server at a time: choose,
 * connect or take a kept link, send head and body, read the answer.  Until the
 * first byte of an answer, another server may be asked (exchange_fail()).
 * Bodies are never held whole: a piece of the request is taken from the client
 * when the server has taken the one before, and a piece of the answer is read
 * from the server when the client has the one before.
 *
 *   exchange.c  its life: choosing, connecting, trying again, the end
 *   ask.c       the head of the request
 *   place.c     its path, for the client and for the server
 *   carry.c     the body of the request
 *   answer.c    the answer
 *   rewrite.c   addresses and cookies in it
 *   tunnel.c    what goes on behind 101
 *   headers.c   which headers go on
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_EXCHANGE_H
#define MODULES_PROXY_EXCHANGE_H

#include "http/chunk.h"
#include "http/parse_answer.h"
#include "http/tries.h"
#include "link.h"
#include "proxy.h"

/* Paths as they stand in URLs.  Behind what both begin with, the client's path
 * and the server's are the same. */
struct proxy_place {
    struct str client, server; /* the beginnings, without a slash at the end */
    struct str path;           /* the server's, whole */
    bool without_version;      /* the server's path has lost one */
};

struct proxy_exchange {
    struct http_request *r;
    const struct proxy_layer *layer;
    struct upstream_use use;
    struct outgoing *connecting;
    struct link *link; /* owned while a server is asked */
    struct timer timer;
    struct http_try *now; /* this try, for the log */
    int64_t began_ms;     /* of the first try */
    int64_t asked_ms;     /* of this one */
    int64_t since_ms;     /* since when the server may be silent */
    int64_t head_ms;      /* from asking to the answer's head; -1: none came */
    int tries;
    enum upstream_outcome failed; /* how the last one ended without an answer */
    bool fresh;                   /* this try is not made with a kept link */
    bool reused;                  /* the link was kept */
    bool over;                    /* answered, or not to be answered by us */
    bool pass;                    /* the next layer is to answer */

    /* The request. */
    struct str head; /* as it is sent */
    bool head_waits; /* it is to be sent; at the latest by ... */
    struct later send_head;
    struct proxy_place place;
    struct str upgrade; /* other protocols that the client asks for */
    int64_t length;     /* of its body; -1: chunked */
    bool idempotent;
    bool expects;    /* the client waits for 100 Continue */
    bool reading;    /* the body is asked for */
    bool whole;      /* all of it was read */
    bool sent;       /* the server was sent all of it */
    bool replayable; /* all that was read of it is in kept */
    struct buf kept; /* owned */

    /* The answer. */
    struct http_scan scan;
    struct http_answer answer;
    struct str connection; /* its header of that name */
    struct http_chunked chunks;
    struct buf trailers; /* owned */
    uint64_t left;       /* of a length, to come */
    int infos;           /* interim answers so far */
    bool heard;          /* a byte of it came */
    bool last;           /* it, or an interim one, is the link's last */
    bool started;        /* the client's answer has begun */
    bool paused;         /* the client has not taken the last piece */
    bool tunnelled;
};

/* ---- exchange.c ---- */

/* The server's fault: asks another, or answers, or breaks off.  The link is
 * closed. */
void exchange_fail(struct proxy_exchange *x, enum upstream_outcome outcome,
                   const char *why);
/* The answer is whole, and the client has been sent all of it.  clean: the
 * server has sent nothing behind it.  Whether the link is kept; else it is
 * closed. */
bool exchange_finish(struct proxy_exchange *x, bool clean);
/* The next layer is to answer. */
void exchange_pass(struct proxy_exchange *x);
/* Lets go of everything but the request. */
void exchange_detach(struct proxy_exchange *x, const char *reason);

/* ---- ask.c ---- */

/* Makes x->head for the server that was chosen; -1: memory is out. */
int ask_write_head(struct proxy_exchange *x);
/* The other protocols that the client asks for; empty: none, or behind a body,
 * which would stand in front of the tunnel. */
struct str ask_upgrade(const struct http_request *r);
bool ask_is_idempotent(struct str method);
/* The Host that the server is sent. */
struct str ask_host(const struct proxy_exchange *x);
/* Whether the pair of a query names a version that was chosen by it. */
bool ask_names_version(const struct proxy_exchange *x, struct str pair);

/* ---- place.c ---- */

/* Fills x->place. */
void proxy_place_find(struct proxy_exchange *x);
/* Of X-Forwarded-Prefix: what the client's paths begin with in place of the
 * server's, behind what trusted proxies have said; empty: nothing. */
struct str proxy_place_prefix(const struct proxy_exchange *x);

/* ---- carry.c ---- */

/* Sends head and body, as far as they are there. */
void carry_begin(struct proxy_exchange *x);
/* Sends the head, if it waits for the body. */
void carry_head(struct proxy_exchange *x);
/* The server takes bytes again. */
void carry_on(struct proxy_exchange *x);
/* The client is asked for the body. */
void carry_read(struct proxy_exchange *x);
/* Whether the server has bytes to take that we hold. */
bool carry_waits(const struct proxy_exchange *x);

/* ---- answer.c ---- */

/* Handlers of a link. */
ssize_t answer_on_data(void *arg, const uint8_t *data, size_t n);
void answer_on_eof(void *arg);
/* The client has taken everything. */
void answer_on_room(void *arg);

/* ---- rewrite.c ---- */

struct str rewrite_address(struct proxy_exchange *x, struct str address);
struct str rewrite_refresh(struct proxy_exchange *x, struct str value);
struct str rewrite_cookie(struct proxy_exchange *x, struct str value);

/* ---- headers.c ---- */

/* Kinds of headers, by name; any of: */
enum {
    HEADER_HOP = 1,      /* for one connection alone (RFC 9110, 7.6.1) */
    HEADER_ASKED = 2,    /* of a request: weir says it, whatever came */
    HEADER_VERSION = 4,  /* the same where a version was chosen */
    HEADER_SAID = 8,     /* of an answer: weir says it */
    HEADER_CHANGED = 16, /* of an answer: it may go on changed */
    HEADER_FRONT = 32    /* never behind a body (RFC 9110, 6.5.1): it frames,
                            routes, authenticates, changes the request, says
                            how the body is to be read, or we vouch for it */
};
unsigned header_is(struct str name);
/* Whether it goes further than the connection: is as of header_is(), and the
 * message's own Connection may name it. */
bool header_goes_on(struct str connection, struct str name, unsigned is);
bool header_named(const struct conf_strings *names, struct str name);

/* ---- tunnel.c ---- */

/* The server has changed to another protocol: gives the client its answer and
 * joins both connections.  The rest of data is offered again. */
void tunnel_begin(struct proxy_exchange *x);

#endif
