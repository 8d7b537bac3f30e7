/*
 * A request to the proxy: the head that an engine sent, judged, and the head
 * that its server gets instead (RFC 9110, 7.6; RFC 9112, 3.2).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PROXY_REQUEST_H
#define MODULES_DOWNLOADS_FETCHER_PROXY_REQUEST_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "http/head_scan.h"

#define PROXY_HEAD_MAX 65535      /* bytes of a head */
#define PROXY_REQUEST_MAX 0x20000 /* bytes of the head for the server */

extern const struct http_limits proxy_limits; /* of http_scan() */

struct proxy_request {      /* texts lie in the pool, or are static */
    struct str credentials; /* "user:password" of Proxy-Authorization, decoded;
                               empty: none, or none that can be read */
    bool tunnel;            /* CONNECT */
    struct str host;        /* a name or an address, without brackets */
    uint16_t port;
    struct str head; /* for the server; empty for a tunnel */
    int64_t length;  /* bytes of the body that follows; 0 for a tunnel */
};

/* The head is data[scan->begin .. n), as http_scan() found it.  0, or the
 * status of HTTP that refuses it, with why; then credentials alone are set. */
int proxy_request_read(struct pool *pool, const struct http_scan *scan,
                       const uint8_t *data, size_t n, struct proxy_request *out,
                       struct errmsg *why);

#endif
