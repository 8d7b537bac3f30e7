/*
 * Listeners of instances, and the life of their clients.
 *
 * A client is heard while it waits for nothing: events that come meanwhile stay
 * in its connection, which reads no more than one of them.  So do those that
 * are more than a turn's.  Its sound is made no faster than it takes it.  It
 * begins in on_accept() and ends in on_close(): after anything that closes its
 * connection it is not touched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "wyoming.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/worker.h"
#include "base/log.h"
#include "base/mem.h"

#define LINE_ROOM 16384          /* bytes of an event beside its text */
#define ESCAPED 6                /* bytes of JSON for one of a text, at most */
#define OUT_MAX (8 * PIPE_PIECE) /* bytes that the client has not taken */
#define UNSENT (16 * 1024)       /* of them, that wait in the system */
#define EVENTS_A_TURN 64         /* then other clients have their turn */
#define DRAIN_MS 1000  /* of silence: an event on its way is still answered */
#define LINGER_MS 1000 /* for the client to read our last words */

struct wyoming_server {
    const struct tts_instance *instance; /* borrowed */
    const struct tts_wyoming *settings;  /* borrowed: the instance's */
    struct loop *loop;                   /* borrowed */
    struct list clients;                 /* struct wyoming_client */
    size_t count;                        /* of them */
    bool draining;
};

/* ---- clients that are silent ---- */

static bool
is_between(const struct wyoming_client *c)
{
    return !wyoming_is_busy(c) && !c->streaming && buf_len(&c->conn->in) == 0;
}

static int64_t
patience(const struct wyoming_client *c)
{
    int64_t time = c->server->settings->idle_timeout;

    return c->server->draining && is_between(c) && time > DRAIN_MS ? DRAIN_MS
                                                                   : time;
}

/* Since when the client keeps us waiting. */
static int64_t
waits_since(const struct wyoming_client *c)
{
    int64_t taken = c->conn->last_write_ms;

    if (!wyoming_is_busy(c)) {
        return c->since_ms;
    }
    if (conn_has_room(c->conn)) {
        return loop_now(c->loop); /* the speaker does */
    }
    return taken > c->since_ms ? taken : c->since_ms;
}

static void
on_idle(struct timer *t)
{
    struct wyoming_client *c = LIST_ITEM(t, struct wyoming_client, idle);
    int64_t left = waits_since(c) + patience(c) - loop_now(c->loop);

    if (left > 0) {
        timer_set(c->loop, &c->idle, left);
    } else if (wyoming_is_busy(c)) {
        conn_reset(c->conn, "it takes no sound");
    } else {
        conn_finish(c->conn, LINGER_MS,
                    c->server->draining ? "weir drains" : "it was idle");
    }
}

/* From now on. */
static void
watch(struct wyoming_client *c)
{
    c->since_ms = loop_now(c->loop);
    timer_set(c->loop, &c->idle, patience(c));
}

/* ---- clients ---- */

/* The event at the front, of which there may be a part: returns bytes that are
 * done with, -1 when the connection ends. */
static ssize_t
hear(struct wyoming_client *c, struct str bytes)
{
    struct pool *pool = pool_new(1024);
    struct wyoming_event e;
    struct errmsg err;
    ssize_t n = wyoming_read(&c->reader, pool, bytes, &e, &err);

    if (n == -1) {
        wyoming_fail(c, "protocol", str_from(err.text));
    } else if (n > 0 && e.type.len > 0) {
        watch(c);
        n = wyoming_do(c, &e) ? n : -1;
    }
    pool_free(&pool);
    return n;
}

static void
end_if_over(struct wyoming_client *c)
{
    if (c->ended && !wyoming_is_busy(c)) {
        conn_finish(c->conn, LINGER_MS, "the client has ended");
    }
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct wyoming_client *c = arg;
    const struct conn *conn = c->conn;
    size_t done = 0, heard = 0;

    conn_set_incomplete(c->conn, false);
    while (done < n && !wyoming_is_busy(c)) {
        if (heard++ == EVENTS_A_TURN) {
            conn_offer(c->conn);
            return (ssize_t)done;
        }
        ssize_t more = hear(c, str_of(data + done, n - done));

        if (more == -1) {
            return conn->closed ? -1 : (ssize_t)n;
        }
        if (more == 0) {
            break;
        }
        done += (size_t)more;
    }
    end_if_over(c);
    return (ssize_t)done;
}

void
wyoming_is_free(struct wyoming_client *c)
{
    watch(c);
    if (buf_len(&c->conn->in) == 0) {
        end_if_over(c);
    } else {
        conn_offer(c->conn);
    }
}

static void
on_writable(void *arg)
{
    wyoming_on_room(arg);
}

static void
on_eof(void *arg)
{
    struct wyoming_client *c = arg;

    c->ended = true;
    end_if_over(c);
}

static void
on_close(void *arg, const char *reason)
{
    struct wyoming_client *c = arg;
    char text[ADDR_TEXT];

    log_limited_if(
        conn_debugged(c->conn), LOG_INFO, "wyoming of tts %.*s: %s left: %s",
        STR_ARGS(c->instance->name), addr_text(&c->conn->peer, text), reason);
    timer_stop(c->loop, &c->idle);
    wyoming_let_go(c);
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

/* Instance i of those that listen; NULL behind the last. */
static const struct tts_instance *
listener(const void *settings, size_t i)
{
    const struct tts_root *root = settings;
    const struct tts_instance *all = root->instances.items;

    for (size_t at = 0; at < root->instances.count; at++) {
        if (all[at].wyoming.count > 0 && i-- == 0) {
            return &all[at];
        }
    }
    return NULL;
}

static const struct listening *
find(const void *settings, size_t i)
{
    const struct tts_instance *instance = listener(settings, i);
    const struct tts_wyoming *w =
        instance != NULL ? instance->wyoming.items : NULL;

    return w != NULL ? &w->listening : NULL;
}

static int
start(const struct module_server *server, void **state, struct errmsg *err)
{
    const struct tts_instance *i = listener(server->settings, server->number);
    struct wyoming_server *s;

    if (i == NULL) {
        return errmsg_set(err, "no instance of tts has that listener");
    }
    s = mem_zero(sizeof(*s));
    s->instance = i;
    s->settings = i->wyoming.items;
    s->loop = server->worker->loop;
    list_init(&s->clients);
    *state = s;
    return 0;
}

/* Fails for a Unix socket, whose buffer is small anyway. */
static void
limit_unsent(const struct conn *c)
{
    int bytes = UNSENT;

    setsockopt(c->io.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

static void
on_accept(void *state, const struct conn_socket *socket)
{
    struct wyoming_server *s = state;
    struct wyoming_client *c = mem_zero(sizeof(*c));
    size_t text = (size_t)s->instance->max_text;
    const struct conn_limits limits = {
        .in_limit = LINE_ROOM + ESCAPED * text,
        .out_limit = OUT_MAX,
    };

    c->server = s;
    c->instance = s->instance;
    c->loop = s->loop;
    c->reader.limit = limits.in_limit;
    buf_init(&c->text, text);
    timer_init(&c->idle, on_idle);
    c->conn = conn_new(s->loop, socket, &handlers, c, &limits);
    if (c->conn == NULL) {
        mem_free(&c);
        return;
    }
    limit_unsent(c->conn);
    list_append(&s->clients, &c->link);
    s->count++;
    watch(c);
}

static size_t
connections(const void *state)
{
    const struct wyoming_server *s = state;

    return s->count;
}

static void
drain(void *state)
{
    struct wyoming_server *s = state;

    s->draining = true;
    LIST_EACH (node, &s->clients) {
        struct wyoming_client *c = LIST_ITEM(node, struct wyoming_client, link);

        if (is_between(c)) {
            watch(c);
        }
    }
}

static void
finish(void *state, const char *reason)
{
    const struct wyoming_server *s = state;

    LIST_EACH (node, &s->clients) {
        struct wyoming_client *c = LIST_ITEM(node, struct wyoming_client, link);

        wyoming_let_go(c);
        conn_finish(c->conn, LINGER_MS, reason);
    }
}

static void
stop(void *state)
{
    struct wyoming_server *s = state;

    LIST_EACH (node, &s->clients) {
        conn_close(LIST_ITEM(node, struct wyoming_client, link)->conn,
                   "weir stops");
    }
    mem_free(&s);
}

const struct module_servers tts_servers = {
    .find = find,
    .start = start,
    .on_accept = on_accept,
    .connections = connections,
    .drain = drain,
    .finish = finish,
    .stop = stop,
};
