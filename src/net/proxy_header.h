/*
 * The PROXY protocol, versions 1 and 2 (haproxy's proxy-protocol.txt): the
 * header about the client that a proxy sends ahead of the client's own bytes.
 *
 * Only the parser: the caller decides which peers may send one.  Version 1 is a
 * line of text of at most 107 bytes, version 2 is binary and taken up to 4096
 * bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_PROXY_HEADER_H
#define NET_PROXY_HEADER_H

#include "base/str.h"
#include "net/addr.h"

#include <sys/types.h>

#define PROXY_HEADER_MAX 4096 /* bytes */

struct proxy_header {
    uint8_t version; /* 1, 2 */
    bool local;      /* it names no client (LOCAL, UNKNOWN, UNSPEC): the
                        connection's own addresses count */
    bool secure;     /* the client's side is TLS (PP2_TYPE_SSL) */
    struct addr client, server;      /* unless local */
    struct str authority, unique_id; /* borrowed from the data, or empty */
};

/* data is everything from the first byte of the connection on.  Returns the
 * length of the whole header with *out filled; 0: right so far, more is
 * needed, so that all n bytes belong to the header; -1: wrong, *why says what
 * (static text). */
ssize_t proxy_parse(const uint8_t *data, size_t n, struct proxy_header *out,
                    const char **why);

#endif
