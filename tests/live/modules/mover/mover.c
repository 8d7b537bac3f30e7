/*
 * A module for tests: gives connections to a role, which echoes their lines.
 *
 *   GET /move         the answer's head comes from the worker, all behind it
 *                     from the role
 *   GET /move?greet   before it goes, the worker says more than the socket
 *                     takes: "greeting N" each line, then "done"
 *   GET /move?lie     the role is given another descriptor than was packed
 *
 * What the worker could not give away says "nobody takes it" and ends.  When
 * weir drains, the role says "draining" and ends each connection behind its
 * next line.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/module.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/conn_move.h"
#include "proc/rpc.h"

#define KEPT (64 * 1024) /* bytes unread, and unsent, of one that moves */
#define STATE_MAX (CONN_MOVE_BYTES + 2 * KEPT)
#define TAKE_MS 30000
#define LINGER_MS 2000
#define GREETING_LEFT 8192 /* bytes that the socket did not take */

static const struct conn_limits limits = { .in_limit = KEPT,
                                           .out_limit = KEPT };

static struct rpc_method methods[] = {
    { .name = "mover.take",
      .role = "mover",
      .caller = BUS_ANYBODY,
      .request_max = STATE_MAX,
      .answer_max = 1,
      .open_max = RPC_OPEN_MAX },
    { .name = NULL },
};

/* ---- the worker ---- */

/* A connection on its way. */
struct going {
    struct http_request *request;
    struct conn *conn;
    struct later give;
    bool lie;
};

static ssize_t
keep(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    (void)n;
    return 0; /* it is the role's */
}

static void
on_gone(void *arg, const char *reason)
{
    struct going *g = arg;

    (void)reason;
    later_cancel(&g->give);
    http_taken_done(g->request, g->conn->bytes_out);
    mem_free(&g);
}

static const struct conn_handlers leaving = { .on_data = keep,
                                              .on_close = on_gone };

static void
on_answer(void *arg, struct rpc_answer *a)
{
    (void)arg;
    if (a->status != RPC_OK) {
        log_notice("mover: not taken: %.*s", (int)a->len,
                   (const char *)a->data);
    }
}

static void
nobody_takes(struct loop *l, int fd, struct str state, const char *why)
{
    struct unpack in = { .rest = state };
    struct errmsg err;
    struct conn *c = conn_attach(l, fd, &in, &limits, &err);

    log_notice("mover: not given: %s", why);
    if (c != NULL) {
        conn_part(c, STR("nobody takes it\n"), LINGER_MS, "nobody takes it");
    }
}

static int
other_than(int fd)
{
    int pair[2];

    close(fd);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1) {
        return -1;
    }
    close(pair[1]);
    return pair[0];
}

static void
send_away(struct loop *l, int fd, struct str state)
{
    struct rpc_options o = { .timeout_ms = TAKE_MS, .on_answer = on_answer };
    struct errmsg err;

    if (rpc_call(&methods[0], &o, state.ptr, state.len, fd, &err) == NULL) {
        nobody_takes(l, fd, state, err.text);
    } else {
        close(fd);
    }
}

static void
give(struct later *later)
{
    struct going *g = LIST_ITEM(later, struct going, give);
    struct loop *l = g->request->loop;
    uint64_t sent = g->conn->bytes_out;
    struct pack out = { 0 };
    struct errmsg err;
    struct buf state;
    int fd;

    buf_init(&state, STATE_MAX);
    out.to = &state;
    if (conn_detach(g->conn, &out, &fd, &err) == -1) {
        log_notice("mover: not given: %s", err.text);
        conn_write(g->conn, "nobody takes it\n", 16);
        conn_finish(g->conn, LINGER_MS, err.text);
    } else {
        http_taken_done(g->request, sent);
        send_away(l, g->lie ? other_than(fd) : fd, buf_str(&state));
        mem_free(&g);
    }
    buf_clear(&state);
}

static void
greet(struct conn *c)
{
    char line[32];
    int n;

    for (unsigned i = 0; conn_unsent(c) < GREETING_LEFT; i++) {
        n = snprintf(line, sizeof(line), "greeting %u\n", i);
        if (conn_write(c, line, (size_t)n) == -1) {
            return;
        }
    }
    conn_write(c, "done\n", 5);
}

static enum http_result
on_move(struct http_request *r, void *state)
{
    struct going *g = mem_zero(sizeof(*g));
    struct str head;

    (void)state;
    g->request = r;
    g->lie = str_eq(r->query, STR("lie"));
    g->conn = http_take_over(r, &leaving, g);
    later_init(&g->give, give);
    head = http_head(r, 200, "text/plain");
    conn_write(g->conn, head.ptr, head.len);
    if (str_eq(r->query, STR("greet"))) {
        greet(g->conn);
    }
    loop_later(r->loop, &g->give);
    return HTTP_DONE;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_move },
    { .path = NULL },
};

/* ---- the role ---- */

struct echo {
    struct conn *conn;
    struct list link;
};

static struct {
    struct loop *loop;
    struct list echoes;
    bool draining;
} role;

static size_t
whole_lines(const uint8_t *data, size_t n)
{
    while (n > 0 && data[n - 1] != '\n') {
        n--;
    }
    return n;
}

static ssize_t
echo_lines(void *arg, const uint8_t *data, size_t n)
{
    struct echo *e = arg;
    size_t lines = whole_lines(data, n);

    if (!conn_has_room(e->conn)) {
        return 0;
    }
    if (conn_write(e->conn, data, lines) == -1) {
        conn_close(e->conn, "it takes no more");
        return -1;
    }
    if (role.draining && lines > 0) {
        conn_finish(e->conn, LINGER_MS, "draining");
    }
    return (ssize_t)lines;
}

static void
on_writable(void *arg)
{
    struct echo *e = arg;

    conn_offer(e->conn);
}

static void
on_eof(void *arg)
{
    struct echo *e = arg;

    conn_finish(e->conn, LINGER_MS, "the client has ended");
}

static void
on_close(void *arg, const char *reason)
{
    struct echo *e = arg;

    (void)reason;
    list_remove(&e->link);
    mem_free(&e);
}

static const struct conn_handlers echoing = {
    .on_data = echo_lines,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_close,
};

static void
on_take(void *arg, struct rpc_request *r)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };
    int fd = r->fd;
    struct errmsg err;

    (void)arg;
    r->fd = -1;
    struct conn *c = conn_attach(role.loop, fd, &in, &limits, &err);

    if (c == NULL) {
        rpc_refuse(&r, err.text);
        return;
    }
    struct echo *e = mem_zero(sizeof(*e));

    e->conn = c;
    list_append(&role.echoes, &e->link);
    conn_set_handlers(c, &echoing, e);
    rpc_reply(&r, NULL, 0, -1);
}

static int
role_start(const struct role_process *p, void **state, struct errmsg *err)
{
    (void)err;
    *state = &role;
    role.loop = p->loop;
    list_init(&role.echoes);
    rpc_serve(&methods[0], on_take, NULL);
    return 0;
}

static void
role_drain(void *state)
{
    (void)state;
    role.draining = true;
    LIST_EACH (node, &role.echoes) {
        struct echo *e = LIST_ITEM(node, struct echo, link);

        conn_write(e->conn, "draining\n", 9);
    }
}

static void
role_stop(void *state)
{
    (void)state;
    LIST_EACH (node, &role.echoes) {
        conn_close(LIST_ITEM(node, struct echo, link)->conn, "weir stops");
    }
}

static const struct role roles[] = {
    { .name = "mover",
      .count = 1,
      .start = role_start,
      .drain = role_drain,
      .stop = role_stop },
    { .name = NULL },
};

const struct module mover_module = {
    .name = "mover",
    .about = "gives connections to a role, for tests",
    .routes = routes,
    .roles = roles,
    .methods = methods,
};
