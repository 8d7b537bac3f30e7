/*
 * Access rules: an ordered list of "allow|deny WHAT", of which the first that
 * matches decides.  An address that no rule matches is denied.  WHAT: an
 * address, a CIDR, loopback, private, linklocal, unix:, all.
 *
 * The same without the verbs is a list of peers that are trusted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_ACCESS_H
#define NET_ACCESS_H

#include "base/pool.h"
#include "net/addr.h"

struct access_list; /* parsed rules */

/* ADDRESS, or ADDRESS/BITS: all addresses that begin with the same bits. */
struct access_net {
    struct addr addr;
    unsigned bits; /* of addr that count */
};

/* -1: it is none. */
int access_parse_net(struct str s, struct access_net *out);
bool access_net_has(const struct access_net *net, const struct addr *peer);

/* Checks one rule: 0, or -1 with err; fits struct conf_key's check. */
int access_check_rule(struct str rule, struct errmsg *err);
/* rules[count] were checked before; the list lives in pool. */
const struct access_list *access_parse(struct pool *pool,
                                       const struct str *rules, size_t count);
/* A NULL list allows everybody. */
bool access_allows(const struct access_list *list, const struct addr *peer);
/* Whether its first rule allows everybody, so that addresses do not matter. */
bool access_allows_all(const struct access_list *list);

/* The same for lists of WHAT alone. */
int access_check_name(struct str name, struct errmsg *err);
const struct access_list *access_parse_names(struct pool *pool,
                                             const struct str *names,
                                             size_t count);
/* Whether the list has it; a NULL list names nobody. */
bool access_names(const struct access_list *list, const struct addr *peer);

#endif
