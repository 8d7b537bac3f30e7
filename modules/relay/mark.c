/*
 * The mark is the name's hash under the key that the master draws before it
 * forks: the same name elsewhere has another one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mark.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

struct str
relay_mark(struct str stream, char dst[RELAY_MARK])
{
    int len = snprintf(dst, RELAY_MARK, "%016" PRIx64, hash_str(stream));

    return str_of(dst, (size_t)len);
}

bool
relay_accepts(const struct rtmp_request *r, struct str stream,
              struct rtmp_refusal *no)
{
    char mark[RELAY_MARK];

    if (r->node.len == 0 || !str_eq(r->node, relay_mark(stream, mark))) {
        return true;
    }
    no->why = RTMP_REFUSED_LOOP;
    errmsg_set(&no->reason, "this is a relay of a stream to itself");
    return false;
}
