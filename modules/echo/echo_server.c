/*
 * Servers, one for each item of the list, and their clients.
 *
 * A client begins in on_accept() and ends in on_close(), which frees it: after
 * anything that closes its connection it is not touched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "echo_server.h"

#include <string.h>

#include "app/settings/servers.h"
#include "app/worker.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/rows.h"

#define LINE_MAX_MAX ((int64_t)64 * 1024)
#define HOURS(n) ((int64_t)(n)*3600 * 1000)
#define DRAIN_MS 1000  /* of silence: a line on its way is still answered */
#define LINGER_MS 1000 /* for the client to read our last words */

struct echo_server_settings { /* an item of the list */
    struct str name;
    struct listening listening;
    int64_t max_line;     /* bytes, LF included */
    int64_t idle_timeout; /* ms */
};

struct echo_server {
    const struct echo_server_settings *settings; /* borrowed */
    struct loop *loop;                           /* borrowed */
    struct list clients;                         /* struct client */
    size_t count;                                /* of them */
    bool draining;
};

struct client {
    struct list link;
    struct echo_server *server; /* borrowed */
    struct conn *conn;          /* its own */
    struct timer idle;
    int64_t since_ms; /* loop_now(): when it took the last bytes */
    bool between;     /* two lines: nothing of the next one has come */
    bool ended;       /* it sends nothing more */
};

static const struct conf_key server_keys[] = {
    ROW(echo_server_settings, name, CONF_STRING, .min = 1, .max = 64,
        .help = "The name that lines of the log have for it."),
    ROWS_LISTENING(echo_server_settings, listening),
    ROW(echo_server_settings, max_line, CONF_SIZE, .min = 2,
        .max = LINE_MAX_MAX, .preset = "4k",
        .help = "The longest line, with its end; a longer one ends the "
                "connection."),
    ROW(echo_server_settings, idle_timeout, CONF_TIME, .min = 100,
        .max = HOURS(24), .preset = "60s",
        .help = "A client that sends no line, or takes none, for so long is "
                "closed."),
    CONF_END,
};

const struct conf_key echo_server_keys[] = {
    ROW_AS("echo", echo_server_root, servers, CONF_GROUPS, .keys = server_keys,
           .size = sizeof(struct echo_server_settings), .preset = "",
           .named = true,
           .help = "Servers that send back each line; see echo(7)."),
    CONF_END,
};

struct metric echo_server_metrics[] = {
    { .name = "weir_echo_lines_total",
      .help = "Lines that servers of module echo sent back." },
    METRIC_END,
};

/* ---- clients ---- */

/* How long it may be idle: hardly, between two lines, if the process drains. */
static int64_t
patience(const struct client *c)
{
    int64_t time = c->server->settings->idle_timeout;
    bool hurries = c->server->draining && c->between && time > DRAIN_MS;

    return hurries ? DRAIN_MS : time;
}

static void
on_idle(struct timer *t)
{
    struct client *c = LIST_ITEM(t, struct client, idle);
    const struct echo_server *s = c->server;
    int64_t left = c->since_ms + patience(c) - loop_now(s->loop);

    if (left > 0) {
        timer_set(s->loop, &c->idle, left);
    } else {
        conn_finish(c->conn, LINGER_MS,
                    s->draining ? "weir drains" : "it was idle");
    }
}

/* From now on. */
static void
watch(struct client *c)
{
    struct loop *loop = c->server->loop;

    c->since_ms = loop_now(loop);
    timer_set(loop, &c->idle, patience(c));
}

static size_t
count_lines(const uint8_t *data, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++) {
        lines += data[i] == '\n';
    }
    return lines;
}

/* Bytes up to the end of the last whole line. */
static size_t
whole_lines(const uint8_t *data, size_t n)
{
    const uint8_t *last = n > 0 ? memrchr(data, '\n', n) : NULL;

    return last == NULL ? 0 : (size_t)(last - data) + 1;
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct client *c = arg;
    struct conn *conn = c->conn;
    struct iovec lines = { (void *)(uintptr_t)data, whole_lines(data, n) };

    if (lines.iov_len == 0) {
        if (n < (size_t)c->server->settings->max_line) {
            c->between = false;
            return 0;
        }
        conn_close(conn, "the line is too long");
        return -1;
    }
    conn_set_incomplete(conn, false);
    ssize_t sent = conn_writev(conn, &lines, 1);

    if (sent < 0) {
        conn_close(conn, "cannot send");
        return -1;
    }
    metric_add(&echo_server_metrics[0], 0,
               (int64_t)count_lines(data, (size_t)sent));
    c->between = (size_t)sent == n;
    if (c->ended && (size_t)sent == lines.iov_len) {
        conn_finish(conn, LINGER_MS, "the client has ended");
    } else if (sent > 0) {
        watch(c);
    }
    return sent;
}

static void
on_writable(void *arg)
{
    const struct client *c = arg;

    conn_offer(c->conn);
}

static void
on_eof(void *arg)
{
    struct client *c = arg;
    const struct buf *in = &c->conn->in;

    c->ended = true;
    if (whole_lines(buf_data(in), buf_len(in)) == 0) {
        conn_finish(c->conn, LINGER_MS, "the client has ended");
    }
}

static void
on_close(void *arg, const char *reason)
{
    struct client *c = arg;
    char text[ADDR_TEXT];

    log_limited_if(conn_debugged(c->conn), LOG_INFO, "echo %.*s: %s left: %s",
                   STR_ARGS(c->server->settings->name),
                   addr_text(&c->conn->peer, text), reason);
    timer_stop(c->server->loop, &c->idle);
    list_remove(&c->link);
    c->server->count--;
    mem_free(&c);
}

static const struct conn_handlers handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_close,
};

/* ---- servers ---- */

static const struct echo_server_settings *
server_settings(const void *settings, size_t i)
{
    const struct echo_server_root *root = settings;
    const struct echo_server_settings *all = root->servers.items;

    return i < root->servers.count ? &all[i] : NULL;
}

static const struct listening *
find(const void *settings, size_t i)
{
    const struct echo_server_settings *s = server_settings(settings, i);

    return s == NULL ? NULL : &s->listening;
}

static int
start(const struct module_server *server, void **state, struct errmsg *err)
{
    struct echo_server *s = mem_zero(sizeof(*s));

    (void)err;
    s->settings = server_settings(server->settings, server->number);
    s->loop = server->worker->loop;
    list_init(&s->clients);
    *state = s;
    return 0;
}

static void
on_accept(void *state, const struct conn_socket *socket)
{
    struct echo_server *s = state;
    struct client *c = mem_zero(sizeof(*c));
    const struct conn_limits limits = {
        .in_limit = (size_t)s->settings->max_line,
    };

    c->server = s;
    timer_init(&c->idle, on_idle);
    c->conn = conn_new(s->loop, socket, &handlers, c, &limits);
    if (c->conn == NULL) {
        mem_free(&c);
        return;
    }
    list_append(&s->clients, &c->link);
    s->count++;
    c->between = true;
    watch(c);
}

static size_t
connections(const void *state)
{
    const struct echo_server *s = state;

    return s->count;
}

/* A client that has sent a part of a line may finish it. */
static void
drain(void *state)
{
    struct echo_server *s = state;

    s->draining = true;
    LIST_EACH (node, &s->clients) {
        struct client *c = LIST_ITEM(node, struct client, link);

        if (c->between) {
            watch(c);
        }
    }
}

static void
finish(void *state, const char *reason)
{
    const struct echo_server *s = state;

    LIST_EACH (node, &s->clients) {
        conn_finish(LIST_ITEM(node, struct client, link)->conn, LINGER_MS,
                    reason);
    }
}

static void
stop(void *state)
{
    struct echo_server *s = state;

    LIST_EACH (node, &s->clients) {
        conn_close(LIST_ITEM(node, struct client, link)->conn, "weir stops");
    }
    mem_free(&s);
}

const struct module_servers echo_servers = {
    .find = find,
    .start = start,
    .on_accept = on_accept,
    .connections = connections,
    .drain = drain,
    .finish = finish,
    .stop = stop,
};
