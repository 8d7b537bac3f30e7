/*
 * A client from its first byte to its last: handshake, reading, what is sent,
 * time-outs, the end.
 *
 * One timer a client.  It stands at the next thing that can be overdue: an
 * answer, a byte of a remote that is silent, the answer to a ping, a remote
 * that does not read.
 *
 * Not every server answers pings (livego and Node-Media-Server do not).  One
 * that is played has to, or to send something else; one that is published to
 * needs not if it never did.  Whether it still is there the system finds out
 * then: the ping is a byte that has to be acknowledged.  So that it is known
 * early which kind it is, the first ping goes out soon.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/client.h"

#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "rtmp/client_impl.h"
#include "rtmp/metrics.h"

#define TEXT_LIMIT 4096
#define LINGER_MS 2000
#define FIRST_PING_MS 500 /* of one that is published to */
#define TLS_ALERT 21      /* the first byte of a server that speaks TLS */

/* Of this process: those whose connection is not closed. */
static struct {
    struct list list;
    size_t count;
} clients = { .list = { &clients.list, &clients.list } };

size_t
rtmp_clients(void)
{
    return clients.count;
}

void *
rtmp_client_arg(struct rtmp_client *c)
{
    return c->arg;
}

struct conn *
rtmp_client_conn(struct rtmp_client *c)
{
    return c->ch.conn;
}

const char *
client_wish(const struct rtmp_client *c)
{
    return c->publish ? "publish" : "play";
}

const char *
rtmp_client_fate_name(enum rtmp_client_fate fate)
{
    static const char *const names[RTMP_CLIENT_FATES] = {
        [RTMP_CLIENT_AGAIN] = "login_step", [RTMP_CLIENT_OWNER] = "closed",
        [RTMP_CLIENT_LOST] = "lost",        [RTMP_CLIENT_SILENT] = "silent",
        [RTMP_CLIENT_STUCK] = "stuck",      [RTMP_CLIENT_PROTOCOL] = "protocol",
        [RTMP_CLIENT_LOGIN] = "login",      [RTMP_CLIENT_REFUSED] = "refused",
        [RTMP_CLIENT_ENDED] = "ended",
    };

    return names[fate];
}

/* ---- sending ---- */

int
client_say(struct rtmp_client *c, struct words *w)
{
    bool ordered = c->publish && c->phase == CLIENT_READY;
    size_t n = buf_len(&w->wire);
    int result = -1;

    c->ch.chunk_size = w->chunk_size;
    if (!c->over && !w->failed) {
        result = ordered ? c->handlers->say(c, buf_data(&w->wire), n)
                         : conn_write(c->ch.conn, buf_data(&w->wire), n);
    }
    words_clear(w);
    if (result != 0 && conn_unsent(c->ch.conn) + n > CHANNEL_OUT_LIMIT) {
        client_end(c, RTMP_CLIENT_STUCK, "it does not read what it is told");
    } else if (result != 0) {
        client_end(c, RTMP_CLIENT_LOST, "the connection is broken");
    }
    return c->over ? -1 : 0;
}

int
rtmp_client_chunk_size(struct rtmp_client *c, uint32_t size)
{
    struct words w;

    if (size == c->ch.chunk_size) {
        return c->over ? -1 : 0;
    }
    words_init(&w, c->ch.chunk_size);
    words_chunk_size(&w, size);
    return client_say(c, &w);
}

/* ---- the end ---- */

static void
on_destroy(struct later *later)
{
    struct rtmp_client *c = LIST_ITEM(later, struct rtmp_client, destroy);

    channel_clear(&c->ch);
    mem_free(&c->ask);
    explicit_bzero(c->text, TEXT_LIMIT);
    mem_free(&c->text);
    mem_free(&c);
}

static void
say_farewell(struct rtmp_client *c, const char *reason)
{
    struct words w;

    words_init(&w, c->ch.chunk_size);
    client_say_farewell(c, &w);
    bool sent = w.failed || conn_write(c->ch.conn, buf_data(&w.wire),
                                       buf_len(&w.wire)) == 0;

    words_clear(&w);
    if (sent) {
        conn_finish(c->ch.conn, LINGER_MS, reason);
    } else {
        conn_close(c->ch.conn, reason);
    }
}

void
client_end(struct rtmp_client *c, enum rtmp_client_fate fate,
           const char *reason)
{
    if (c->over) {
        return;
    }
    c->over = true;
    timer_stop(c->loop, &c->timer);
    metric_add(
        &rtmp_metrics[RTMP_CLIENTS_CLOSED],
        metric_at(&rtmp_metrics[RTMP_CLIENTS_CLOSED], c->publish, fate, 0), 1);
    if (fate != RTMP_CLIENT_AGAIN && c->login != NULL) {
        rtmp_login_clear(c->login);
    }
    c->handlers->on_close(c, fate, reason);
    if (c->closed) {
        return;
    }
    if (fate == RTMP_CLIENT_OWNER && c->stream_id != 0) {
        say_farewell(c, reason);
    } else {
        conn_close(c->ch.conn, reason);
    }
}

void
rtmp_client_close(struct rtmp_client *c, const char *reason)
{
    client_end(c, RTMP_CLIENT_OWNER, reason);
}

void
rtmp_client_close_all(const char *reason)
{
    /* Those that on_close may make meanwhile are not meant. */
    for (size_t n = clients.count; n > 0 && !list_empty(&clients.list); n--) {
        struct rtmp_client *c =
            LIST_ITEM(clients.list.next, struct rtmp_client, link);

        c->stream_id = 0; /* without farewell */
        client_end(c, RTMP_CLIENT_OWNER, reason);
        if (!c->closed) {
            conn_close(c->ch.conn, reason);
        }
    }
}

static void
on_conn_close(void *arg, const char *reason)
{
    static const char *const during[] = {
        [CLIENT_HELLO] = "in the handshake: ",
        [CLIENT_CONNECT] = "instead of an answer to connect: ",
        [CLIENT_STREAM] = "instead of an answer to createStream: ",
        [CLIENT_ACCEPT] = "",
        [CLIENT_READY] = "",
    };
    struct rtmp_client *c = arg;
    struct errmsg text;

    c->closed = true;
    clients.count--;
    list_remove(&c->link);
    if (c->phase == CLIENT_ACCEPT) {
        errmsg_set(&text, "instead of an answer to %s: %s", client_wish(c),
                   reason);
    } else {
        errmsg_set(&text, "%s%s", during[c->phase], reason);
    }
    client_end(c, RTMP_CLIENT_LOST, text.text);
    loop_later(c->loop, &c->destroy);
}

/* ---- time ---- */

static int64_t
phase_deadline(const struct rtmp_client *c)
{
    const struct rtmp_client_settings *s = c->settings;

    switch ((enum client_phase)c->phase) {
    case CLIENT_HELLO:
        return c->ch.conn->opened_ms + s->handshake_timeout;
    case CLIENT_CONNECT:
        return c->since_ms + s->connect_timeout;
    case CLIENT_STREAM:
    case CLIENT_ACCEPT:
        return c->since_ms + s->answer_timeout;
    case CLIENT_READY:
        break;
    }
    return INT64_MAX;
}

static int64_t
ping_deadline(const struct rtmp_client *c)
{
    if (c->phase != CLIENT_READY || c->mute) {
        return INT64_MAX;
    }
    int64_t due = channel_ping_deadline(&c->ch, c->settings->idle,
                                        c->settings->ping_timeout);
    int64_t first = c->since_ms + FIRST_PING_MS;

    return c->publish && !c->pinged && first < due ? first : due;
}

static void
touch_timer(struct rtmp_client *c)
{
    int64_t now = loop_now(c->loop);
    int64_t due =
        channel_stuck_deadline(&c->ch, now, c->settings->send_timeout);
    int64_t phase = phase_deadline(c);
    int64_t ping = ping_deadline(c);

    due = phase < due ? phase : due;
    due = ping < due ? ping : due;
    timer_set(c->loop, &c->timer, due > now ? due - now : 1);
}

void
client_set_phase(struct rtmp_client *c, enum client_phase phase)
{
    if (phase != CLIENT_ACCEPT) {
        c->since_ms = loop_now(c->loop);
    }
    c->phase = (uint8_t)phase;
    touch_timer(c);
}

static void
check_ping(struct rtmp_client *c, int64_t now)
{
    struct words w;

    if (now < ping_deadline(c)) {
        return;
    }
    if (c->ch.ping_ms == 0) {
        c->pinged = true;
        words_init(&w, c->ch.chunk_size);
        channel_ping(&c->ch, now, &w);
        client_say(c, &w);
    } else if (c->publish && !c->answers) {
        c->mute = true;
    } else {
        client_end(c, RTMP_CLIENT_SILENT, "it is silent, and answers no ping");
    }
}

static void
end_overdue(struct rtmp_client *c)
{
    static const char *const asked[] = {
        [CLIENT_HELLO] = "the handshake",
        [CLIENT_CONNECT] = "connect",
        [CLIENT_STREAM] = "createStream",
        [CLIENT_ACCEPT] = NULL,
    };
    struct errmsg text;
    const char *what = asked[c->phase];

    errmsg_set(&text, "no answer to %s in time",
               what != NULL ? what : client_wish(c));
    client_end(c, RTMP_CLIENT_SILENT, text.text);
}

static void
on_due(struct timer *t)
{
    struct rtmp_client *c = LIST_ITEM(t, struct rtmp_client, timer);
    int64_t now = loop_now(c->loop);

    if (now >= phase_deadline(c)) {
        end_overdue(c);
    } else if (channel_stuck(&c->ch, now, c->settings->send_timeout)) {
        client_end(c, RTMP_CLIENT_STUCK, "it takes no more bytes");
    } else {
        check_ping(c, now);
    }
    if (!c->over) {
        touch_timer(c);
    }
}

/* ---- receiving ---- */

static int
check_first_byte(uint8_t byte, struct errmsg *err)
{
    if (byte == TLS_ALERT) {
        return errmsg_set(err, "it speaks TLS (is it an rtmps:// address?)");
    }
    return handshake_check_version(byte, err);
}

static ssize_t
read_hello(struct rtmp_client *c, const uint8_t *p, size_t n)
{
    uint8_t c2[HANDSHAKE_BLOCK];
    struct words w;
    struct errmsg err;

    if (check_first_byte(p[0], &err) == -1) {
        client_end(c, RTMP_CLIENT_PROTOCOL, err.text);
        return -1;
    }
    if (n < HANDSHAKE_ANSWER) {
        return 0;
    }
    rand_bytes(c2, sizeof(c2));
    if (handshake_conclude(c->ask, p, c2, &err) == -1) {
        client_end(c, RTMP_CLIENT_PROTOCOL, err.text);
        return -1;
    }
    mem_free(&c->ask);
    words_init(&w, c->ch.chunk_size);
    words_put_bytes(&w, c2, sizeof(c2));
    client_set_phase(c, CLIENT_CONNECT);
    client_say_connect(c, &w);
    return HANDSHAKE_ANSWER;
}

static ssize_t
read_step(void *arg, const uint8_t *p, size_t n)
{
    struct rtmp_client *c = arg;
    struct errmsg err;

    if (c->over) {
        return -1;
    }
    if (c->phase == CLIENT_HELLO) {
        return read_hello(c, p, n);
    }
    ssize_t eaten = chunk_read(&c->ch.reader, p, n, client_message, c, &err);

    if (eaten == -1) {
        client_end(c, RTMP_CLIENT_PROTOCOL, err.text);
    }
    return eaten;
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct rtmp_client *c = arg;
    struct words w;

    if (c->ch.ping_ms != 0) { /* any byte is an answer */
        c->ch.ping_ms = 0;
        c->mute = false;
        touch_timer(c);
    }
    size_t eaten = channel_feed(&c->ch, data, n, read_step, c);

    words_init(&w, c->ch.chunk_size);
    if (!c->over && c->phase > CLIENT_CONNECT &&
        channel_acknowledge(&c->ch, &w)) {
        client_say(c, &w);
    }
    return c->closed ? -1 : (ssize_t)eaten;
}

static void
on_writable(void *arg)
{
    struct rtmp_client *c = arg;

    if (!c->over && c->phase == CLIENT_READY) {
        c->handlers->on_writable(c);
    }
}

/* ---- the beginning ---- */

static const struct conn_handlers conn_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_close = on_conn_close,
};

/* Copies s to *at. */
static struct str
keep(char **at, struct str s)
{
    char *to = *at;

    if (s.len > 0) { /* else it may be no text at all */
        memcpy(to, s.ptr, s.len);
    }
    *at += s.len;
    return str_of(to, s.len);
}

static void
keep_wishes(struct rtmp_client *c, const struct rtmp_wanted *wanted)
{
    char *at = mem_zero(TEXT_LIMIT);

    c->text = at;
    c->origin = keep(&at, wanted->origin);
    c->app = keep(&at, wanted->app);
    c->user = keep(&at, wanted->user);
    c->password = keep(&at, wanted->password);
    c->flash_ver = keep(&at, wanted->flash_ver);
    c->page_url = keep(&at, wanted->page_url);
    c->swf_url = keep(&at, wanted->swf_url);
    c->node = keep(&at, wanted->node);
    c->name = keep(&at, wanted->name);
    c->full = c->name;
    if (wanted->args.len > 0) {
        keep(&at, STR("?"));
        c->args = keep(&at, wanted->args);
        c->full = str_of(c->name.ptr, (size_t)(at - c->name.ptr));
    }
    c->settings = wanted->settings;
    c->login = wanted->login;
    c->publish = wanted->publish;
}

static int
check_wishes(const struct rtmp_wanted *w, struct errmsg *err)
{
    size_t len = w->origin.len + w->app.len + w->name.len + 1 + w->args.len +
                 w->user.len + w->password.len + w->flash_ver.len +
                 w->page_url.len + w->swf_url.len + w->node.len;

    if (w->app.len == 0 || w->name.len == 0) {
        return errmsg_set(err, "neither application nor stream name may be "
                               "empty");
    }
    return len <= TEXT_LIMIT ? 0 : errmsg_set(err, "the URL is too long");
}

static int
say_hello(struct rtmp_client *c)
{
    c->ask = mem_alloc(HANDSHAKE_ASK);
    rand_bytes(c->ask, HANDSHAKE_ASK);
    handshake_ask(c->ask);
    return conn_write(c->ch.conn, c->ask, HANDSHAKE_ASK);
}

struct rtmp_client *
rtmp_client_new(struct loop *l, const struct rtmp_wanted *wanted,
                const struct rtmp_client_handlers *handlers, void *arg,
                const struct conn_socket *socket, struct errmsg *err)
{
    if (check_wishes(wanted, err) == -1) {
        conn_socket_close(socket);
        return NULL;
    }
    struct rtmp_client *c = mem_zero(sizeof(*c));

    if (channel_open(&c->ch, l, socket, &conn_handlers, c,
                     wanted->settings->window_ack) == -1) {
        mem_free(&c);
        errmsg_set(err, "the system has no room to watch a connection");
        return NULL;
    }
    keep_wishes(c, wanted);
    c->loop = l;
    c->handlers = handlers;
    c->arg = arg;
    timer_init(&c->timer, on_due);
    later_init(&c->destroy, on_destroy);
    list_append(&clients.list, &c->link);
    clients.count++;
    conn_set_user_timeout(c->ch.conn, wanted->settings->send_timeout);
    if (say_hello(c) == -1) {
        c->over = true; /* only the caller gets the error */
        conn_close(c->ch.conn, "it takes nothing");
        errmsg_set(err, "the connection is broken");
        return NULL;
    }
    client_set_phase(c, CLIENT_HELLO);
    return c;
}
