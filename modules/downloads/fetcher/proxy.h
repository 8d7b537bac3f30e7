/*
 * The checking proxy: HTTP/1.1 on a loopback port of its own, by which engines
 * reach others (CONNECT for https, absolute addresses for http).
 *
 *   proxy.c               the listener, the rights of runs, the egress rules
 *   proxy_link.[ch]       a connection of an engine, and the one behind it
 *   proxy_request.[ch]    what an engine asks: a head of HTTP, judged
 *
 * Each run has a password of its own.  The proxy resolves the name once, asks
 * the egress rules about each address, and connects to the very address that
 * they allow.  It speaks http and https alone: behind CONNECT the first byte
 * has to be that of TLS.  A connection carries one request.  A refusal by the
 * rules is a 403 with the reason and the line for weir.conf, and is kept for
 * the run's msg.
 *
 * Bounds: connections in all and of a run (a further one is answered 503 or
 * closed), connections whose password is not known yet (the oldest goes),
 * bytes of a head, times; both directions with back-pressure.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PROXY_H
#define MODULES_DOWNLOADS_FETCHER_PROXY_H

#include "base/errmsg.h"
#include "base/str.h"
#include "event/loop.h"
#include "net/egress.h"

#include <stdint.h>

#define PROXY_URL_MAX 128
#define PROXY_LINKS 512     /* connections at once */
#define PROXY_PASS_LINKS 64 /* of a run */
#define PROXY_STRANGERS 64  /* whose password is not known yet */

struct proxy;
struct proxy_pass; /* the right of a run */
struct resolver_options;

struct proxy_times { /* ms */
    int64_t head;    /* until the whole head is there */
    int64_t connect; /* name and connection */
    int64_t idle;    /* no byte in any direction */
};

/* Listens at 127.0.0.1, a free port.  Before the sandbox.  NULL with err. */
struct proxy *proxy_new(struct loop *l, struct errmsg *err);
/* All passes are freed before. */
void proxy_free(struct proxy **p);
uint16_t proxy_port(const struct proxy *p);
/* Rules of the configuration in force; copied.  Before the first call nothing
 * is allowed.  Open connections stay. */
void proxy_set_egress(struct proxy *p, const struct str *rules, size_t count);

struct proxy_pass *proxy_pass_new(struct proxy *p);
/* Its connections are cut.  NULL inside is fine. */
void proxy_pass_free(struct proxy_pass **pass);
/* "http://run:PASSWORD@127.0.0.1:PORT", for the environment of the run. */
const char *proxy_pass_url(const struct proxy_pass *pass);
/* Why the proxy itself has answered it last: a refusal of the rules stays, a
 * connection that failed is forgotten with the next that is made; "": none. */
const char *proxy_pass_refusal(const struct proxy_pass *pass);
/* Bytes that came in for it. */
int64_t proxy_pass_bytes(const struct proxy_pass *pass);

/* ---- for tests ---- */

/* The same with another resolver and other times; NULL: the usual ones. */
struct proxy *proxy_new_with(struct loop *l, const struct resolver_options *r,
                             const struct proxy_times *times,
                             struct errmsg *err);
size_t proxy_links(const struct proxy *p); /* connections that are open */

#endif
