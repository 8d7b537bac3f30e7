/*
 * Egress rules: what weir itself may connect to (remotes, downloads), so that a
 * user who names an address for it cannot reach hosts that only this host
 * reaches.
 *
 * An ordered list of "allow|deny WHAT" with WHAT as in net/access.h, less
 * "unix:".  The first match decides; an address that no rule matches is
 * refused.  Three things differ from access rules:
 *
 *   - "allow all" means addresses open to everybody: not loopback, not the
 *     ranges that IANA's registries of special-purpose addresses call not
 *     globally reachable (192.0.0.0/24, 192.88.99.0/24, 198.18.0.0/15,
 *     240.0.0.0/4, 64:ff9b:1::/48, 100::/64, 100:0:0:1::/64, 2001::/23,
 *     5f00::/16, fec0::/10; of documentation 192.0.2.0/24, 198.51.100.0/24,
 *     203.0.113.0/24, 2001:db8::/32, 3fff::/20), less the parts of them that
 *     they call so.  Those are allowed by their name or by an address alone.
 *   - The unspecified addresses (0.0.0.0/8, ::), multicast and broadcast are
 *     refused whatever the rules say: a connection to 0.0.0.0 would be one to
 *     this host.
 *   - An IPv6 address that carries an IPv4 address (IPv4-mapped, -compatible
 *     and -translated, NAT64, 6to4, Teredo, ISATAP) is allowed only if the
 *     rules allow the inner one as well.
 *
 * The rules judge the very address that weir connects to, after the name was
 * resolved; names play no part.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_EGRESS_H
#define NET_EGRESS_H

#include "base/pool.h"
#include "net/addr.h"

/* The default rules, as a row's preset. */
#define EGRESS_PRESET "deny private,deny linklocal,allow all"

struct egress; /* parsed rules */

/* Checks one rule: 0, or -1 with err; fits struct conf_key's check. */
int egress_check_rule(struct str rule, struct errmsg *err);
/* rules[count] were checked before; the list and copies of them live in
 * pool. */
const struct egress *egress_parse(struct pool *pool, const struct str *rules,
                                  size_t count);

/* 0: weir may connect to it, whatever the port; -1 with err: "egress: 10.0.0.1
 * is refused by "deny private"", with the rule that would allow it.  Only IPv4
 * and IPv6 are allowed. */
int egress_check(const struct egress *e, const struct addr *to,
                 struct errmsg *err);

#endif
