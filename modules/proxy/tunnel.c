/*
 * Behind 101: bytes go both ways between the client and the server, as fast as
 * the other side takes them.
 *
 * Nothing is kept: what the other side does not take stays with who sent it.
 * When one ends its side, so do we on the other, and the other direction goes
 * on.  A tunnel through which nothing goes for too long ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

struct side {
    struct tunnel *tunnel;
    struct conn *conn; /* borrowed; NULL: gone */
    bool ended;        /* it has ended its side */
    bool told;         /* the other side was told so */
};

struct tunnel { /* in the request's pool */
    struct proxy_exchange *x;
    struct side client, server;
    struct timer timer;
    int64_t active_ms; /* when bytes last went */
    uint64_t to_client;
    bool closing;
};

static struct side *
other_of(struct side *s)
{
    return s == &s->tunnel->client ? &s->tunnel->server : &s->tunnel->client;
}

static void
end_tunnel(struct tunnel *t, const char *reason)
{
    struct link *l = t->x->link;

    if (t->closing) {
        return;
    }
    t->closing = true;
    timer_stop(t->x->r->loop, &t->timer);
    t->x->link = NULL;
    if (l != NULL) {
        link_close(l, reason);
    }
    t->server.conn = NULL;
    if (t->client.conn != NULL) {
        conn_close(t->client.conn, reason);
    }
}

/* The other side has ended, and this one has been sent all of it. */
static void
tell_end(struct side *to)
{
    struct side *from = other_of(to);

    if (from->ended && !from->told && to->conn != NULL) {
        from->told = conn_end_sending(to->conn);
    }
    if (to->tunnel->client.ended && to->tunnel->client.told &&
        to->tunnel->server.ended && to->tunnel->server.told) {
        end_tunnel(to->tunnel, "both sides have ended");
    }
}

static void
on_eof(void *arg)
{
    struct side *from = arg;

    from->ended = true;
    tell_end(other_of(from));
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct side *from = arg, *to = other_of(from);
    struct iovec iov = { (void *)(uintptr_t)data, n };
    ssize_t sent;

    if (to->conn == NULL) {
        return (ssize_t)n;
    }
    sent = conn_unsent(to->conn) > 0 ? 0 : conn_writev(to->conn, &iov, 1);
    if (sent < 0) {
        end_tunnel(from->tunnel, "the other side takes nothing any more");
        return -1;
    }
    if ((size_t)sent < n) {
        conn_has_room(to->conn);
        conn_pause_reading(from->conn);
    }
    from->tunnel->active_ms = loop_now(from->conn->loop);
    from->tunnel->to_client += from == &from->tunnel->server ? (size_t)sent : 0;
    if ((size_t)sent == n && from->conn->eof && !from->ended) {
        on_eof(from); /* it had ended before the tunnel began */
    }
    return sent;
}

static void
on_writable(void *arg)
{
    struct side *to = arg, *from = other_of(to);

    to->tunnel->active_ms = loop_now(to->conn->loop);
    if (from->conn != NULL) {
        conn_resume_reading(from->conn);
    }
    tell_end(to);
}

/* Of the client's connection: the request is over with it. */
static void
on_client_close(void *arg, const char *reason)
{
    struct side *s = arg;
    struct tunnel *t = s->tunnel;

    s->conn = NULL;
    end_tunnel(t, reason);
    exchange_detach(t->x, reason);
    http_taken_done(t->x->r, t->to_client);
}

static void
on_server_close(void *arg, const char *reason)
{
    struct side *s = arg;

    s->conn = NULL;
    s->tunnel->x->link = NULL;
    end_tunnel(s->tunnel, reason);
}

static const struct conn_handlers client_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_client_close,
    .hears_out = true,
};

static const struct conn_handlers server_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_server_close,
    .hears_out = true,
};

static void
on_due(struct timer *timer)
{
    struct tunnel *t = LIST_ITEM(timer, struct tunnel, timer);
    int64_t left = t->active_ms + t->x->layer->settings->tunnel_timeout -
                   loop_now(t->x->r->loop);

    if (left > 0) {
        timer_set(t->x->r->loop, &t->timer, left);
    } else {
        end_tunnel(t, "nothing went through the tunnel in time");
    }
}

/* ---- the answer ---- */

/* Its headers, and "Connection: Upgrade" in place of ours. */
static struct str
write_head(struct proxy_exchange *x)
{
    const struct http_head *head = &x->answer.head;
    struct str upgrade = http_header_list(x->r->pool, head->headers,
                                          head->header_count, STR("Upgrade"));
    struct str connection = http_header_list(
        x->r->pool, head->headers, head->header_count, STR("Connection"));
    struct buf b;
    struct str text;

    buf_init(&b, SIZE_MAX / 2);
    buf_printf(&b,
               "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
               "Upgrade: %.*s\r\nX-Request-ID: %.*s\r\n",
               STR_ARGS(upgrade), STR_ARGS(x->r->request_id));
    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *h = &head->headers[i];

        if (header_goes_on(connection, h->name, header_is(h->name)) &&
            !header_named(&x->layer->settings->hide_headers, h->name)) {
            http_add_line(&b, h->name, h->value);
        }
    }
    buf_add_str(&b, STR("\r\n"));
    text = pool_str(x->r->pool, buf_str(&b));
    buf_clear(&b);
    return text;
}

void
tunnel_begin(struct proxy_exchange *x)
{
    struct tunnel *t = pool_zero(x->r->pool, sizeof(*t));
    struct str head = write_head(x);
    struct conn *server = x->link->conn;

    t->x = x;
    x->tunnelled = true;
    t->client.tunnel = t->server.tunnel = t;
    t->active_ms = loop_now(x->r->loop);
    timer_stop(x->r->loop, &x->timer);
    timer_init(&t->timer, on_due);
    timer_set(x->r->loop, &t->timer, x->layer->settings->tunnel_timeout);
    t->server.conn = server;
    link_use(x->link, &server_handlers, &t->server);
    http_head(x->r, 101, NULL); /* for the log; ours is another */
    t->client.conn = http_take_over(x->r, &client_handlers, &t->client);
    conn_pause_reading(server); /* what came behind the head is offered */
    conn_resume_reading(server);
    if (conn_write(t->client.conn, head.ptr, head.len) == -1) {
        conn_close(t->client.conn, "write failed");
        return;
    }
    conn_has_room(t->client.conn);
    if (t->client.conn->eof && buf_len(&t->client.conn->in) == 0) {
        on_eof(&t->client);
    }
}
