/*
 * The mark is the name's hash under the key that the master draws before it
 * forks: the same name elsewhere has another one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/rtmp_node.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

struct str
rtmp_node_mark(struct str stream, char dst[RTMP_NODE_MARK])
{
    int len = snprintf(dst, RTMP_NODE_MARK, "%016" PRIx64, hash_str(stream));

    return str_of(dst, (size_t)len);
}
