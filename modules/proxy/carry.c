/*
 * The request on its way to the server: its head, and its body as fast as both
 * sides go.
 *
 * A piece of the body is taken from the client when the server's socket has
 * taken all that came before.  One of a known length goes out from where it
 * lies; of a chunk what the socket does not take is kept, a buffer at most.
 * When the server takes no more for good, its answer or its end tells: nothing
 * fails here because of it.
 *
 * A head with a body waits to the end of the turn for the body's first piece:
 * what came together goes on together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "exchange.h"

static struct iovec
range(struct str s)
{
    return (struct iovec){ (void *)(uintptr_t)s.ptr, s.len };
}

bool
carry_waits(const struct proxy_exchange *x)
{
    return conn_unsent(x->link->conn) > 0 || !conn_has_room(x->link->conn);
}

/* Sends all of it, now or later; without memory for the rest the link ends, so
 * that nothing follows what is missing. */
static void
send_all(struct proxy_exchange *x, const struct iovec *iov, int count)
{
    struct conn *c = x->link->conn;
    ssize_t sent = conn_unsent(c) == 0 ? conn_writev(c, iov, count) : 0;

    for (int i = 0; sent >= 0 && i < count; i++) {
        size_t skip =
            (size_t)sent < iov[i].iov_len ? (size_t)sent : iov[i].iov_len;

        sent -= (ssize_t)skip;
        if (skip < iov[i].iov_len &&
            conn_write(c, (const char *)iov[i].iov_base + skip,
                       iov[i].iov_len - skip) == -1) {
            link_cut(x->link);
            return;
        }
    }
    conn_has_room(c); /* carry_on() is called when it has */
}

/* The head, if it waits for the body's first piece. */
static struct str
waiting_head(struct proxy_exchange *x)
{
    struct str head = x->head_waits ? x->head : STR_NONE;

    x->head_waits = false;
    return head;
}

static void
send_chunk(struct proxy_exchange *x, struct str piece)
{
    char size[20];
    int n = snprintf(size, sizeof(size), "%zx\r\n", piece.len);
    const struct iovec iov[] = { range(waiting_head(x)),
                                 { size, (size_t)n },
                                 range(piece),
                                 range(STR("\r\n")) };

    send_all(x, iov, 4);
}

/* Bytes of the piece that are taken. */
static size_t
send_piece(struct proxy_exchange *x, struct str piece)
{
    if (x->length == -1) {
        send_chunk(x, piece);
        return piece.len;
    }

    struct str head = waiting_head(x);
    struct iovec iov[] = { range(head), range(piece) };
    int skip = head.len == 0 ? 1 : 0;
    ssize_t sent = conn_writev(x->link->conn, iov + skip, 2 - skip);

    if (sent >= 0 && (size_t)sent < head.len) {
        iov[0] = range(str_skip(head, (size_t)sent));
        send_all(x, iov, 1);
    }
    return sent > (ssize_t)head.len ? (size_t)sent - head.len : 0;
}

/* Keeps what was read, as long as all of it fits. */
static void
keep(struct proxy_exchange *x, struct str piece)
{
    if (x->replayable && (x->heard || buf_add_str(&x->kept, piece) == -1)) {
        x->replayable = false;
        buf_clear(&x->kept);
    }
}

static int
send_trailers(struct proxy_exchange *x, struct buf *b)
{
    struct http_request *r = x->r;
    struct str connection = http_header_list(
        r->pool, r->headers, r->header_count, STR("Connection"));
    int bad = 0;

    for (size_t i = 0; i < r->trailer_count; i++) {
        struct str name = r->trailers[i].name;
        unsigned is = header_is(name);

        if ((is & HEADER_FRONT) == 0 && header_goes_on(connection, name, is) &&
            !header_named(&x->layer->settings->set_headers, name)) {
            bad |= http_add_line(b, name, r->trailers[i].value);
        }
    }
    return bad;
}

static void
send_end(struct proxy_exchange *x)
{
    struct buf b;
    struct iovec iov;
    int bad;

    if (x->length == -1) {
        buf_init(&b, SIZE_MAX / 2);
        bad = buf_add_str(&b, STR("0\r\n"));
        bad |= send_trailers(x, &b);
        bad |= buf_add_str(&b, STR("\r\n"));
        iov = range(buf_str(&b));
        if (bad == 0) {
            send_all(x, &iov, 1);
        } else {
            link_cut(x->link);
        }
        buf_clear(&b);
    }
    x->sent = true;
    x->since_ms = loop_now(x->r->loop);
}

void
carry_head(struct proxy_exchange *x)
{
    struct iovec head = range(waiting_head(x));

    if (head.iov_len > 0 && x->link != NULL) {
        send_all(x, &head, 1);
    }
}

/* ---- from the client ---- */

/* All of it, or until the socket takes no more, which then wakes us. */
static size_t
on_piece(void *arg, struct str piece)
{
    struct proxy_exchange *x = arg;
    size_t most = (size_t)x->layer->settings->buffer, took = 0, part = 1;

    if (x->over || x->link == NULL || x->tunnelled) {
        return 0;
    }
    while (part > 0 && took < piece.len && !carry_waits(x)) {
        struct str next = str_first(str_skip(piece, took), most);

        part = send_piece(x, next);
        keep(x, str_first(next, part));
        took += part;
    }
    return took;
}

static void
on_end(void *arg)
{
    struct proxy_exchange *x = arg;

    x->whole = true;
    if (!x->over && x->link != NULL) {
        carry_head(x);
        send_end(x);
    }
}

void
carry_read(struct proxy_exchange *x)
{
    static const struct http_reader reader = { on_piece, on_end };

    if (!x->reading) {
        x->reading = true;
        http_read_body(x->r, &reader, x);
    } else {
        http_want_body(x->r);
    }
}

void
carry_on(struct proxy_exchange *x)
{
    if (x->reading && !x->whole) {
        http_want_body(x->r);
    }
}

/* ---- the begin of a try ---- */

void
carry_begin(struct proxy_exchange *x)
{
    x->sent = false;
    x->head_waits = true;
    if (x->length != 0 && !x->expects && !x->reading) {
        loop_later(x->r->loop, &x->send_head);
        carry_read(x);
        return;
    }
    carry_head(x);
    if (x->length == 0) {
        x->sent = true;
        x->since_ms = loop_now(x->r->loop);
        return;
    }
    if (buf_len(&x->kept) > 0 && x->length == -1) {
        send_chunk(x, buf_str(&x->kept));
    } else if (buf_len(&x->kept) > 0) {
        struct iovec body = range(buf_str(&x->kept));

        send_all(x, &body, 1);
    }
    if (x->whole) {
        send_end(x);
    } else if (x->reading) {
        carry_read(x);
    }
}
