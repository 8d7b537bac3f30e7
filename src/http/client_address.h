/*
 * The client of a request: the peer, or the one that trusted proxies between
 * name in X-Forwarded-For or Forwarded (RFC 7239).
 *
 * The hops of the header are walked from the right, where the nearest proxy
 * wrote, past trusted proxies; the first hop that is not trusted is the client.
 * A malformed hop ends the walk at the one before it, and so do HTTP_HOPS_MAX
 * hops.  Entries further left are the client's own, and are ignored.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_CLIENT_ADDRESS_H
#define HTTP_CLIENT_ADDRESS_H

#include "http/http.h"

#define HTTP_HOPS_MAX 20

/* Fills client, scheme and host from peer and, if s trusts it, headers;
 * returns whether s trusts peer.  via is the host that connected: peer, or a
 * balancer that has named peer by the PROXY protocol; of that one, if s trusts
 * it, the scheme counts.  secure: the connection is TLS. */
bool http_client_begin(struct http_request *r, const struct http_server *s,
                       const struct addr *via, bool secure);
/* As http_way_to_us(), of a peer that s trusts. */
void http_client_way(struct http_request *r, const struct http_server *s,
                     struct http_way *out);

#endif
