/*
 * The answer begins with the request.  A piece of the body is taken when the
 * client has the one before: so one piece is kept at most.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "echo_stream.h"

static size_t
on_piece(void *arg, struct str piece)
{
    struct http_request *r = arg;

    if (!http_is_sent(r) || http_send_more(r, piece) == -1) {
        return 0;
    }
    return piece.len;
}

static void
on_end(void *arg)
{
    struct http_request *r = arg;

    for (size_t i = 0; i < r->trailer_count; i++) {
        const struct http_header *h = &r->trailers[i];

        http_set_trailer(r, pool_cstr(r->pool, h->name), h->value);
    }
    http_end(r);
}

static void
on_room(void *arg)
{
    http_want_body(arg);
}

enum http_result
echo_stream(struct http_request *r, void *state)
{
    static const struct http_reader reader = { on_piece, on_end };
    const struct str *type = http_header(r, "Content-Type");
    const char *name =
        type == NULL ? "application/octet-stream" : pool_cstr(r->pool, *type);
    int64_t length = http_body_length(r);

    (void)state;
    http_on_room(r, on_room, r);
    http_read_body(r, &reader, r);
    if (length >= 0) {
        http_start_length(r, 200, name, (uint64_t)length);
    } else {
        http_start(r, 200, name);
    }
    return HTTP_DONE;
}
