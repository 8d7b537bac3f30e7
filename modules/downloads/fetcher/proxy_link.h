/*
 * A connection of an engine to the proxy, and the one behind it.
 *
 *     head --> name, rules, connection --> relay --> end
 *
 * Bytes go from one socket to the other without a copy; what the other does
 * not take stays in its connection (64 KB), which is not read on until there
 * is room.  When one side ends, the link does.
 *
 * The parts of the proxy that links need stand here, too.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PROXY_LINK_H
#define MODULES_DOWNLOADS_FETCHER_PROXY_LINK_H

#include "base/list.h"
#include "fetcher/proxy.h"
#include "net/conn.h"
#include "net/resolve.h"

/* Egress rules; those that are replaced live as long as an attempt to connect
 * has them. */
struct proxy_rules {
    struct pool *pool; /* owned: all of it lies there */
    const struct egress *egress;
    const struct str *texts;
    size_t count;
    unsigned holders;
};

void proxy_rules_drop(struct proxy_rules **r);

#define PROXY_CREDENTIALS 56 /* bytes: "run:", 43 letters, NUL */

struct proxy {
    struct loop *loop; /* borrowed */
    struct resolver *resolver;
    struct acceptor *acceptor;
    int fd; /* owned: it listens */
    uint16_t port;
    struct proxy_times times;
    struct proxy_rules *rules;
    struct list strangers; /* links without a pass, the oldest first */
    size_t stranger_count;
    struct list passes;
    size_t links;
};

struct proxy_pass {
    struct list link; /* in proxy.passes */
    struct proxy *proxy;
    char credentials[PROXY_CREDENTIALS];
    char url[PROXY_URL_MAX];
    struct list links;
    size_t count;          /* of links */
    struct errmsg refusal; /* "": none */
    bool by_rules;         /* it stays */
    int64_t bytes;
};

/* The pass with these credentials; NULL: none has them.  All are compared, each
 * in constant time. */
struct proxy_pass *proxy_find_pass(const struct proxy *p,
                                   struct str credentials);

struct proxy_link;

/* Takes the socket over. */
void proxy_link_begin(struct proxy *p, const struct conn_socket *socket);
/* Cuts the link that stands there in a list. */
void proxy_link_cut(struct list *link, const char *reason);

#endif
