/*
 * The answer begins with the request, or with the body of a client that asks
 * whether to send it (100-continue): it has its word before.  A piece of the
 * body is taken when the client has the one before: so one piece is kept at
 * most.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "echo_stream.h"

struct stream { /* in the request's pool */
    struct http_request *request;
    const char *type;
    int64_t length; /* of the body; -1: not known */
    bool begun;
};

static void
begin(struct stream *s)
{
    s->begun = true;
    if (s->length >= 0) {
        http_start_length(s->request, 200, s->type, (uint64_t)s->length);
    } else {
        http_start(s->request, 200, s->type);
    }
}

static size_t
on_piece(void *arg, struct str piece)
{
    struct stream *s = arg;

    if (!s->begun) {
        begin(s);
    }
    if (!http_is_sent(s->request) || http_send_more(s->request, piece) == -1) {
        return 0;
    }
    return piece.len;
}

static void
on_end(void *arg)
{
    struct stream *s = arg;
    struct http_request *r = s->request;

    if (!s->begun) {
        begin(s);
    }
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
    struct stream *s = pool_zero(r->pool, sizeof(*s));

    (void)state;
    s->request = r;
    s->length = http_body_length(r);
    s->type =
        type == NULL ? "application/octet-stream" : pool_cstr(r->pool, *type);
    http_on_room(r, on_room, r);
    http_read_body(r, &reader, s);
    if (http_header(r, "Expect") == NULL) {
        begin(s);
        return HTTP_DONE;
    }
    return HTTP_WAIT;
}
