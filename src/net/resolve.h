/*
 * Names to addresses, by c-ares on the event loop: /etc/hosts and DNS in the
 * order that nsswitch.conf says, A and AAAA, over UDP and, where an answer was
 * cut, TCP.
 *
 * A resolver is made before its process enters the sandbox: then it reads
 * resolv.conf.  A changed resolv.conf is noticed at the next look-up and read
 * anew if it can be; /etc/hosts is read by every look-up.  resolve_rights()
 * names the files and ports that a process needs for that.
 *
 * A look-up has its own sockets and one timer; resolve_cancel() leaves nothing
 * of it.  RESOLVE_AT_ONCE are made at once, RESOLVE_WAITING more wait for their
 * turn (their time runs), and any further look-up fails at once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "event/loop.h"
#include "net/addr.h"
#include "proc/rights.h"

#define RESOLVE_CONF "/etc/resolv.conf"
#define RESOLVE_ADDRESSES                                \
    16 /* of one name; those of each family that are too \
          many are left out */
#define RESOLVE_AT_ONCE 64
#define RESOLVE_WAITING 4096

struct resolver;

struct resolver_options {
    /* Borrowed as long as it lives: "127.0.0.1:5353,[::1]:5353" instead of
     * resolv.conf's, for tests; NULL: those of resolv.conf. */
    const char *servers;
    const char *path; /* of resolv.conf, for tests; NULL: RESOLVE_CONF */
    uint16_t port;    /* of servers that have none of their own; 0: 53 */
    int try_ms; /* how long a server is waited for before the next is asked;
                   0: 2000 */
};

/* NULL with err. */
struct resolver *resolver_new(struct loop *l, const struct resolver_options *o,
                              struct errmsg *err);
/* All look-ups must have ended.  NULL inside is fine. */
void resolver_free(struct resolver **r);

/* Adds the rights that the resolvers of this process need in the sandbox:
 * files, as far as they exist, and the ports of their servers; none if the
 * process has no resolver. */
void resolve_rights(struct rights *r);

/* Addresses in the order in which they should be tried: both families in
 * turn, IPv6 first (RFC 8305, 4); ports are 0. */
struct resolved {
    struct addr addrs[RESOLVE_ADDRESSES];
    size_t count;   /* at least 1 */
    int64_t ttl_ms; /* how long they hold, the least of all; 0: nobody said, as
                       for those of /etc/hosts */
};

struct resolve; /* a look-up */

/* The look-up is over and freed. found is NULL when it failed, and why has the
 * reason: "cannot resolve "example.org": there is no such name". */
typedef void resolve_handler(void *arg, const struct resolved *found,
                             const struct errmsg *why);

/* name: a host name, or an address without brackets, which is its own answer.
 * It fails after timeout_ms.  handler is called from the loop, never from
 * here. */
struct resolve *resolve_start(struct resolver *r, struct str name,
                              int64_t timeout_ms, resolve_handler *handler,
                              void *arg);
/* handler is not called.  NULL inside is fine. */
void resolve_cancel(struct resolve **q);

#endif
