/*
 * Upgrades in a worker: the connection goes to the channel, packed, with the
 * call.  The request stays until the answer says how it ended, for the access
 * log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/front_impl.h"

#include <unistd.h>

#include "base/mem.h"
#include "http/websocket.h"

#define UPGRADE_MS 30000
#define LINGER_MS 2000

/* A connection on its way: owned by itself, until the channel has answered. */
struct going {
    struct http_request *request;
    struct conn *conn; /* NULL: it has gone */
    struct channel_ask ask;
    struct later give;
    uint64_t sent; /* bytes, before it went */
};

static ssize_t
keep(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    (void)n;
    return 0; /* it is the channel's */
}

/* The request is logged with that status. */
static void
end_going(struct going *g, int status, const char *note)
{
    if (note != NULL) {
        http_note(g->request, "engine.io: %s", note);
    }
    http_head(g->request, status, NULL); /* nobody sends it: it is logged */
    http_taken_done(g->request, 0);
    mem_free(&g);
}

/* Its client has gone before it could be given away. */
static void
on_lost(void *arg, const char *reason)
{
    struct going *g = arg;

    later_cancel(&g->give);
    end_going(g, 499, reason);
}

static const struct conn_handlers leaving = { .on_data = keep,
                                              .on_close = on_lost };

/* It cannot go: it is told so here. */
static void
send_away(struct conn *c, const char *why)
{
    static const char head[] = "HTTP/1.1 503 Service Unavailable\r\n"
                               "Connection: close\r\nRetry-After: 1\r\n"
                               "Content-Length: 0\r\n\r\n";

    front_refused(CHANNEL_REFUSED_AWAY);
    conn_part(c, str_of(head, sizeof(head) - 1), LINGER_MS, why);
}

static void
on_upgraded(void *arg, struct rpc_answer *a)
{
    struct going *g = arg;
    uint64_t status;

    if (a->status != RPC_OK) {
        char why[256];

        str_copy(why, sizeof(why), str_of(a->data, a->len));
        end_going(g, 502, why);
    } else if (!channel_unpack_number(str_of(a->data, a->len), &status) ||
               status < 100 || status > 599) {
        end_going(g, 502, "the channel's answer makes no sense");
    } else {
        end_going(g, (int)status, status == 101 ? NULL : "refused");
    }
}

/* The packed connection is in state: gives it, or takes it back. */
static void
send_call(struct going *g, int fd, struct str data, struct str state)
{
    static const struct conn_limits limits = { .in_limit = CHANNEL_UNREAD,
                                               .out_limit = CHANNEL_UNREAD };
    const struct rpc_options o = { .timeout_ms = UPGRADE_MS,
                                   .on_answer = on_upgraded,
                                   .arg = g };
    struct loop *l = g->request->loop;
    struct unpack in = { .rest = state };
    struct errmsg err, ignored;
    struct conn *c;

    if (rpc_call(&channel_methods[CHANNEL_UPGRADE], &o, data.ptr, data.len, fd,
                 &err) != NULL) {
        close(fd);
        return;
    }
    c = conn_attach(l, fd, &in, &limits, &ignored);
    if (c != NULL) {
        send_away(c, err.text);
    }
    end_going(g, 503, err.text);
}

static void
give(struct later *later)
{
    struct going *g = LIST_ITEM(later, struct going, give);
    struct pack out = { 0 };
    struct errmsg err;
    struct buf b;
    size_t asked;
    int fd;

    buf_init(&b, CHANNEL_UPGRADE_MAX);
    out.to = &b;
    channel_pack_ask(&out, &g->ask);
    asked = buf_len(&b);
    if (out.full || conn_detach(g->conn, &out, &fd, &err) == -1) {
        struct conn *c = g->conn;

        http_taken_away(g->request);
        send_away(c, "it cannot be given to the channel");
        end_going(g, 503, out.full ? "it has sent too much" : err.text);
    } else {
        http_taken_away(g->request);
        send_call(g, fd, buf_str(&b), str_skip(buf_str(&b), asked));
    }
    buf_clear(&b);
}

/* The ask's texts are the request's, which lives as long. */
enum http_result
front_upgrade(struct http_request *r, const struct channel_ask *ask)
{
    struct http_websocket ws;
    const char *why = "";
    struct going *g;
    int status;

    if (!http_check_site(r)) {
        return HTTP_DONE;
    }
    status = http_check_websocket(r, &ws, &why);
    if (status != 0) {
        front_refused(CHANNEL_REFUSED_HANDSHAKE);
        return front_answer_upgrade(r, status, why);
    }
    g = mem_zero(sizeof(*g));
    g->request = r;
    g->ask = *ask;
    g->ask.handshake.key = ws.key;
    g->ask.handshake.deflate = ws.deflate;
    g->conn = http_take_over(r, &leaving, g);
    later_init(&g->give, give);
    loop_later(r->loop, &g->give);
    return HTTP_DONE;
}
