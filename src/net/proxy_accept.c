/*
 * Waiting for PROXY protocol headers.
 *
 * The bytes that came are peeked at first.  While the header is not whole, all
 * of them belong to it and are read and kept; when it is whole, only its rest
 * is read.  So a socket whose header is there with the connection, the usual
 * case, costs two calls and no memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/proxy_accept.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/metrics.h"
#include "net/proxy_header.h"

struct waiting {
    struct list link;
    struct io io;
    struct timer due;
    struct later destroy;
    struct loop *loop;
    struct conn_socket socket;
    struct buf kept; /* of the header */
    proxy_handler *handler;
    void *arg;
};

static struct {
    struct list waiting;
    size_t count;
    bool ready;
} all;

/* ---- refusing ---- */

static void
refuse(const struct conn_socket *s, enum proxy_refusal why, const char *text)
{
    char peer[ADDR_TEXT];

    metric_add(&net_metrics[NET_PROXY_REFUSED], why, 1);
    log_limited(LOG_INFO, "proxy protocol: %s refused: %s",
                addr_text(&s->peer, peer), text);
    close(s->fd);
}

const char *
proxy_refusal_name(enum proxy_refusal why)
{
    static const char *const names[PROXY_REFUSALS] = {
        "untrusted", "malformed", "cut", "timeout", "crowded",
    };

    return names[why];
}

/* ---- handing on ---- */

static void
hand_on(struct conn_socket *s, const struct proxy_header *h,
        proxy_handler *handler, void *arg)
{
    char peer[ADDR_TEXT], client[ADDR_TEXT];

    s->via = s->peer;
    if (h->local) {
        log_debug("proxy protocol: %s speaks for itself",
                  addr_text(&s->peer, peer));
    } else {
        s->peer = h->client;
        s->local = h->server;
        s->secure |= h->secure;
        log_debug("proxy protocol: %s through %s",
                  addr_text(&h->client, client), addr_text(&s->via, peer));
    }
    handler(arg, s);
}

/* ---- reading ---- */

enum outcome { MORE, WHOLE, REFUSED };

/* Nothing more comes. */
static void
cut(const struct conn_socket *s, size_t had, int why)
{
    char peer[ADDR_TEXT];

    if (had > 0) {
        refuse(s, PROXY_CUT, "it ended within the header");
        return;
    }
    log_debug("proxy protocol: %s said nothing: %s", addr_text(&s->peer, peer),
              why == 0 ? "closed" : strerror(why));
    close(s->fd);
}

static ssize_t
receive(int fd, void *dst, size_t n, int flags)
{
    ssize_t got;

    do {
        got = recv(fd, dst, n, flags | MSG_DONTWAIT);
    } while (got == -1 && errno == EINTR);
    return got;
}

/* Looks at the header in data[had .. PROXY_HEADER_MAX), where had bytes of it
 * are already; takes what belongs to it. */
static enum outcome
look(struct conn_socket *s, uint8_t *data, size_t *had, struct proxy_header *h)
{
    const char *why;
    ssize_t got =
        receive(s->fd, data + *had, PROXY_HEADER_MAX - *had, MSG_PEEK);

    if (got == -1 && errno == EAGAIN) {
        return MORE;
    }
    if (got <= 0) {
        cut(s, *had, got == 0 ? 0 : errno);
        return REFUSED;
    }
    ssize_t len = proxy_parse(data, *had + (size_t)got, h, &why);

    if (len < 0) {
        refuse(s, PROXY_WRONG, why);
        return REFUSED;
    }
    size_t take = len > 0 ? (size_t)len - *had : (size_t)got;

    /* They are there: this takes exactly so many. */
    receive(s->fd, data + *had, take, 0);
    *had += take;
    return len > 0 ? WHOLE : MORE;
}

/* ---- waiting ---- */

static void
destroy(struct later *later)
{
    struct waiting *w = LIST_ITEM(later, struct waiting, destroy);

    buf_clear(&w->kept);
    mem_free(&w);
}

static void
end_wait(struct waiting *w)
{
    list_remove(&w->link);
    all.count--;
    io_stop(w->loop, &w->io);
    timer_stop(w->loop, &w->due);
    loop_later(w->loop, &w->destroy);
}

static void
on_due(struct timer *t)
{
    struct waiting *w = LIST_ITEM(t, struct waiting, due);

    end_wait(w);
    refuse(&w->socket, PROXY_SLOW, "the header did not come within 3 s");
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct waiting *w = LIST_ITEM(io, struct waiting, io);
    uint8_t data[PROXY_HEADER_MAX];
    size_t before = buf_len(&w->kept), had = before;
    struct proxy_header h;
    enum outcome o;

    (void)ready;
    if (before > 0) {
        memcpy(data, buf_data(&w->kept), before);
    }
    o = look(&w->socket, data, &had, &h);
    if (o == MORE) {
        if (buf_add(&w->kept, data + before, had - before) == 0) {
            return;
        }
        refuse(&w->socket, PROXY_CROWDED, "out of memory");
    }
    end_wait(w);
    if (o == WHOLE) {
        hand_on(&w->socket, &h, w->handler, w->arg);
    }
}

static void
wait_for_rest(struct loop *l, const struct conn_socket *s, struct str kept,
              proxy_handler *handler, void *arg)
{
    struct waiting *w;

    if (all.count >= PROXY_WAITING_MAX) {
        refuse(s, PROXY_CROWDED, "too many wait for their header");
        return;
    }
    w = mem_zero(sizeof(*w));
    w->loop = l;
    w->socket = *s;
    w->handler = handler;
    w->arg = arg;
    io_init(&w->io);
    timer_init(&w->due, on_due);
    later_init(&w->destroy, destroy);
    buf_init(&w->kept, PROXY_HEADER_MAX);
    if (buf_add_str(&w->kept, kept) == -1 ||
        io_start(l, &w->io, s->fd, IO_READ, on_ready) == -1) {
        refuse(s, PROXY_CROWDED, "the system has no room to wait for it");
        buf_clear(&w->kept);
        mem_free(&w);
        return;
    }
    list_append(&all.waiting, &w->link);
    all.count++;
    timer_set(l, &w->due, PROXY_WAIT_MS);
}

void
proxy_read(struct loop *l, const struct conn_socket *s,
           const struct access_list *trusted, proxy_handler *handler, void *arg)
{
    struct conn_socket socket = *s;
    uint8_t data[PROXY_HEADER_MAX];
    struct proxy_header h;
    size_t had = 0;

    if (!all.ready) {
        list_init(&all.waiting);
        all.ready = true;
    }
    if (!access_names(trusted, &socket.peer)) {
        refuse(&socket, PROXY_UNTRUSTED, "it is not among trusted_proxies");
        return;
    }
    switch (look(&socket, data, &had, &h)) {
    case MORE:
        wait_for_rest(l, &socket, str_of(data, had), handler, arg);
        break;
    case WHOLE:
        hand_on(&socket, &h, handler, arg);
        break;
    case REFUSED:
        break;
    }
}

size_t
proxy_waiting(void)
{
    return all.count;
}

void
proxy_stop(void)
{
    if (!all.ready) {
        return;
    }
    LIST_EACH (node, &all.waiting) {
        struct waiting *w = LIST_ITEM(node, struct waiting, link);

        end_wait(w);
        close(w->socket.fd);
    }
}
