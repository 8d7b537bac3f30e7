/*
 * Requests to become a WebSocket (RFC 6455 4.2.1): the worker judges them, so
 * that no other part reads what the client wrote.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "http/http.h"

#define HTTP_WEBSOCKET_KEY 24 /* characters: 16 bytes in base64 */

struct http_websocket {
    struct str key; /* in the request's pool */
    bool deflate;   /* permessage-deflate is offered without a server_*
                       parameter */
};

/* Whether it asks for an upgrade to a WebSocket (Upgrade and Connection). */
bool http_is_websocket(const struct http_request *r);
/* 0 with *out; or the status of the refusal (400; 426 with the headers Upgrade
 * and Sec-WebSocket-Version set) with *why, which is static. */
int http_check_websocket(struct http_request *r, struct http_websocket *out,
                         const char **why);

#endif
