/*
 * Queries of requests, the protocol's errors, and why sessions end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/engine/engine.h"

#define BODY(code, text) "{\"code\":" #code ",\"message\":\"" text "\"}"

static const struct {
    int status;
    const char *text;
    struct str body;
} errors[] = {
#define ERROR(name, code, status, text) \
    [name] = { status,                  \
               text,                    \
               { BODY(code, text), sizeof(BODY(code, text)) - 1 } }
    ERROR(ENGINE_TRANSPORT_UNKNOWN, 0, 400, "Transport unknown"),
    ERROR(ENGINE_SESSION_UNKNOWN, 1, 400, "Session ID unknown"),
    ERROR(ENGINE_BAD_METHOD, 2, 400, "Bad handshake method"),
    ERROR(ENGINE_BAD_REQUEST, 3, 400, "Bad request"),
    ERROR(ENGINE_FORBIDDEN, 4, 403, "Forbidden"),
    ERROR(ENGINE_BAD_VERSION, 5, 400, "Unsupported protocol version"),
    ERROR(ENGINE_FULL, 3, 503, "Too many sessions"),
    ERROR(ENGINE_SHARE, 3, 503, "Your address has its share of sessions"),
    ERROR(ENGINE_OK, 3, 400, "Bad request"),
#undef ERROR
};

struct str
engine_error_body(enum engine_error e)
{
    return errors[e].body;
}

const char *
engine_error_text(enum engine_error e)
{
    return errors[e].text;
}

int
engine_error_status(enum engine_error e)
{
    return errors[e].status;
}

const char *
session_end_text(enum session_end why)
{
    static const char *const texts[SESSION_ENDS] = {
        [SESSION_CLIENT_CLOSED] = "transport close",
        [SESSION_TRANSPORT_LOST] = "transport error",
        [SESSION_PING_TIMEOUT] = "ping timeout",
        [SESSION_PARSE_ERROR] = "parse error",
        [SESSION_TOO_SLOW] = "too slow",
        [SESSION_NOT_JOINED] = "no namespace joined",
        [SESSION_SERVER_CLOSED] = "server closed",
        [SESSION_KICKED] = "kicked",
        [SESSION_REFUSED] = "too many sessions",
        [SESSION_ENDPOINT_GONE] = "endpoint gone",
        [SESSION_STOPPING] = "server shutting down",
    };

    return texts[why];
}

/* The order is the reference server's (Server.verify, then handshake): clients
 * tell by the code what they did wrong first. */
enum engine_error
engine_check_query(const struct engine_query *q, struct str method,
                   bool is_upgrade)
{
    bool websocket = str_eq(q->transport, STR("websocket"));

    if (!websocket && !str_eq(q->transport, STR("polling"))) {
        return ENGINE_TRANSPORT_UNKNOWN;
    }
    if (q->sid.len > 0) {
        return ENGINE_OK;
    }
    if (!str_eq(method, STR("GET"))) {
        return ENGINE_BAD_METHOD;
    }
    if (websocket != is_upgrade) {
        return ENGINE_BAD_REQUEST;
    }
    return str_eq(q->eio, STR("4")) ? ENGINE_OK : ENGINE_BAD_VERSION;
}
