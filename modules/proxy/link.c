/*
 * Connections kept and used.  upstream_server's `owned` is the list of its idle
 * ones.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "link.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/mem.h"

/* Unsent bytes: a head, a body kept for another try, a piece of a body. */
#define OUT_MAX (4 << 20)

struct idle {
    struct list links;
    int64_t count;
};

static struct idle *
idle_of(struct upstream_server *server)
{
    struct idle *all = server->owned;

    if (all == NULL) {
        all = mem_zero(sizeof(*all));
        list_init(&all->links);
        server->owned = all;
    }
    return all;
}

static void
leave_idle(struct link *l)
{
    if (!list_empty(&l->list)) {
        list_remove(&l->list);
        list_init(&l->list);
        idle_of(l->server)->count--;
    }
    timer_stop(l->loop, &l->timer);
}

/* ---- what comes from the server ---- */

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct link *l = arg;
    struct conn *c = l->conn;
    ssize_t ate = -1;

    if (l->user != NULL) {
        ate = l->user->on_data(l->arg, data, n);
        if (ate < 0 || (size_t)ate == n || l->user != NULL) {
            return ate;
        }
    }
    conn_close(c, "the server sent bytes that nobody has asked for");
    return -1;
}

static void
on_writable(void *arg)
{
    struct link *l = arg;

    if (l->user != NULL && l->user->on_writable != NULL) {
        l->user->on_writable(l->arg);
    }
}

static void
on_eof(void *arg)
{
    struct link *l = arg;

    if (l->user != NULL) {
        l->user->on_eof(l->arg);
    } else {
        conn_close(l->conn, "the server closed the connection");
    }
}

static void
on_close(void *arg, const char *reason)
{
    struct link *l = arg;

    leave_idle(l);
    upstream_count_connection(l->server, -1);
    l->conn = NULL;
    if (l->user != NULL) {
        l->user->on_close(l->arg, reason);
    }
    mem_free(&l);
}

static const struct conn_handlers handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_close,
    .hears_out = true,
};

static void
on_idle_over(struct timer *t)
{
    struct link *l = LIST_ITEM(t, struct link, timer);

    conn_close(l->conn, "idle");
}

/* ---- its use ---- */

/* Bytes that the server's system has acknowledged; 0 where nobody knows. */
static uint64_t
acknowledged(const struct link *l)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof(info);

    if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1) {
        return 0;
    }
    return info.tcpi_bytes_acked;
}

bool
link_is_untouched(const struct link *l)
{
    return l->acked > 0 && acknowledged(l) == l->acked;
}

void
link_use(struct link *l, const struct conn_handlers *user, void *arg)
{
    l->user = user;
    l->arg = arg;
}

static bool
is_open(const struct link *l)
{
    char byte;
    ssize_t n = recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == -1 ? errno == EAGAIN : n == 1 && l->conn->tls != NULL;
}

struct link *
link_take(struct upstream_server *server, bool once,
          const struct conn_handlers *user, void *arg)
{
    struct idle *all = idle_of(server);

    while (!list_empty(&all->links)) {
        struct link *l = LIST_ITEM(all->links.next, struct link, list);

        leave_idle(l);
        if (l->epoch == server->epoch && is_open(l)) {
            l->acked = once ? acknowledged(l) : 0;
            l->requests++;
            link_use(l, user, arg);
            return l;
        }
        conn_close(l->conn, "not to be used any more");
    }
    return NULL;
}

struct link *
link_new(struct loop *loop, struct upstream_server *server,
         const struct conn_socket *socket, size_t buffer)
{
    const struct conn_limits limits = { .in_limit = buffer,
                                        .out_limit = OUT_MAX };
    struct link *l = mem_zero(sizeof(*l));

    l->loop = loop;
    l->server = server;
    l->epoch = server->epoch;
    l->fd = socket->fd;
    l->requests = 1;
    list_init(&l->list);
    timer_init(&l->timer, on_idle_over);
    l->conn = conn_new(loop, socket, &handlers, l, &limits);
    if (l->conn == NULL) {
        mem_free(&l);
        return NULL;
    }
    upstream_count_connection(server, 1);
    return l;
}

void
link_close(struct link *l, const char *reason)
{
    l->user = NULL;
    conn_close(l->conn, reason);
}

void
link_cut(struct link *l)
{
    l->acked = 0; /* what was sent is on its way */
    shutdown(l->fd, SHUT_RDWR);
}

bool
link_keep(struct link *l)
{
    const struct upstream_keep *keep = upstream_keep(l->server->upstream);
    struct idle *all = idle_of(l->server);

    l->user = NULL;
    if (l->epoch != l->server->epoch || l->requests >= keep->requests ||
        all->count >= keep->connections || l->conn->eof) {
        conn_close(l->conn, "not kept");
        return false;
    }
    list_prepend(&all->links, &l->list);
    all->count++;
    timer_set(l->loop, &l->timer, keep->timeout_ms);
    conn_resume_reading(l->conn);
    return true;
}

/* ---- all of a server ---- */

static void
on_changed(struct upstream_server *server)
{
    struct idle *all = idle_of(server);
    struct list *at = all->links.next;

    while (at != &all->links) {
        struct link *l = LIST_ITEM(at, struct link, list);

        at = at->next;
        if (l->epoch != server->epoch) {
            conn_close(l->conn, "not to be used any more");
        }
    }
}

static void
on_gone(struct upstream_server *server)
{
    struct idle *all = idle_of(server);

    while (!list_empty(&all->links)) {
        conn_close(LIST_ITEM(all->links.next, struct link, list)->conn,
                   "its layer ends");
    }
    mem_free(&all);
    server->owned = NULL;
}

void
links_open(struct upstream *u)
{
    upstream_on_change(u, on_changed, on_gone);
}
