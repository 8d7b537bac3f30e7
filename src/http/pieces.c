/*
 * Answers whose bytes lie with their handler: they go out from there, and this
 * keeps none of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/exchange.h"

/* Ranges of one call; the system takes 1024. */
#define RANGES 1000

static struct iovec ranges[RANGES + 1];

static void
end_pieces(struct exchange *x)
{
    const struct http_pieces *p = x->pieces;

    x->pieces = NULL;
    if (p != NULL) {
        p->done(x->pieces_arg);
    }
}

static void
fail(struct exchange *x)
{
    x->broken = true;
    x->reset = x->head.version == 10;
    http_settle_later(x->c);
}

/* Sends what is kept of the head, and of the body all that one call takes.
 * False: no more can be sent now. */
static bool
send_some(struct exchange *x, uint64_t from)
{
    size_t kept = buf_len(&x->out);
    uint64_t asked = kept;
    int n = x->pieces->at(x->pieces_arg, from, ranges + 1, RANGES);

    if (n <= 0) {
        fail(x);
        return false;
    }
    ranges[0] = (struct iovec){ (void *)(uintptr_t)buf_data(&x->out), kept };
    for (int i = 1; i <= n; i++) {
        asked += ranges[i].iov_len;
    }
    ssize_t sent =
        conn_writev(x->c->conn, ranges + (kept == 0), n + (kept > 0));

    if (sent < 0) {
        fail(x);
        return false;
    }
    uint64_t of_head = (uint64_t)sent < kept ? (uint64_t)sent : kept;

    buf_take(&x->out, of_head);
    buf_trim(&x->out);
    x->body_sent += (uint64_t)sent - of_head;
    x->pieces_left -= (uint64_t)sent - of_head;
    return (uint64_t)sent == asked;
}

void
http_pieces_pump(struct exchange *x)
{
    uint64_t len = x->pieces_left + x->body_sent;
    bool more = true;

    while (more && x->pieces_left > 0) {
        more = send_some(x, len - x->pieces_left);
    }
    if (x->broken) {
        return;
    }
    if (x->pieces_left == 0) {
        x->ended = true;
        end_pieces(x);
    } else if (x->pieces->keep(x->pieces_arg, len - x->pieces_left) == -1) {
        fail(x);
    } else {
        http_answer_stalls(x->c);
    }
}

void
http_pieces_drop(struct exchange *x)
{
    end_pieces(x);
}

enum http_result
http_send_pieces(struct http_request *r, int status, const char *content_type,
                 uint64_t len, const struct http_pieces *p, void *arg)
{
    struct exchange *x = exchange_of(r);

    x->pieces = p;
    x->pieces_arg = arg;
    x->pieces_left = len;
    http_begin_answer(x, status, content_type, (int64_t)len);
    if (x->no_body || len == 0 || x->c->conn == NULL) {
        x->ended = true;
        end_pieces(x);
    } else if (!x->broken) {
        http_file_other_bytes(x);
        http_pieces_pump(x);
    }
    http_settle_later(x->c);
    return HTTP_DONE;
}
