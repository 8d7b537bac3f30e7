/*
 * Each wait has its time: the head, the connection (net/outgoing.h), silence
 * of both sides, the last words to an engine (conn_finish()).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/proxy_link.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "downloads.h"
#include "fetcher/proxy_request.h"
#include "http/http.h"
#include "net/outgoing.h"

#define TLS_HANDSHAKE 0x16 /* RFC 8446, 5.1: the type of the first record */
#define LINGER_MS 2000
#define FLUSH_MS 30000

struct proxy_link {
    struct list link; /* in its pass's, or the proxy's strangers */
    struct proxy *proxy;
    struct proxy_pass *pass;      /* NULL: its password is not known yet */
    struct conn *client, *server; /* NULL: not there, or closed */
    struct outgoing *attempt;
    struct proxy_rules *rules; /* held during the attempt */
    struct pool *pool;         /* of request; NULL: it is under way */
    struct proxy_request request;
    struct http_scan scan;
    struct timer timer; /* the head, silence */
    struct later destroy;
    int64_t body_left; /* bytes of the request's body */
    bool tunnel;
    bool relays;
    bool hello_seen; /* a tunnel's first byte was that of TLS */
    bool ending;     /* the client gets its last bytes */
    bool over;
};

/* Of the unread bytes, the head must not fill all. */
static const struct conn_limits limits = {
    .in_limit = PROXY_HEAD_MAX + 1,
    .out_limit = PROXY_REQUEST_MAX + 1024,
    .linger_total_ms = LINGER_MS,
    .linger_size = 1024 * 1024,
    .flush_ms = FLUSH_MS,
};

/* ---- the end ---- */

static void
destroy(struct later *later)
{
    struct proxy_link *l = LIST_ITEM(later, struct proxy_link, destroy);

    pool_free(&l->pool);
    mem_free(&l);
}

static void
close_conn(struct conn **at, bool reset, const char *reason)
{
    struct conn *c = *at;

    *at = NULL;
    if (c == NULL) {
        return;
    }
    if (reset) {
        conn_reset(c, reason);
    } else {
        conn_close(c, reason);
    }
}

/* reset: the client must not take what it has for the whole. */
static void
end(struct proxy_link *l, bool reset, const char *reason)
{
    if (l->over) {
        return;
    }
    l->over = true;
    log_debug("downloads: a connection of the proxy ends: %s", reason);
    list_remove(&l->link);
    l->proxy->links--;
    if (l->pass != NULL) {
        l->pass->count--;
    } else {
        l->proxy->stranger_count--;
    }
    outgoing_cancel(&l->attempt);
    proxy_rules_drop(&l->rules);
    timer_stop(l->proxy->loop, &l->timer);
    close_conn(&l->client, reset, reason);
    close_conn(&l->server, false, reason);
    loop_later(l->proxy->loop, &l->destroy);
}

void
proxy_link_cut(struct list *link, const char *reason)
{
    end(LIST_ITEM(link, struct proxy_link, link), true, reason);
}

/* ---- answers of the proxy itself ---- */

static void
finish(struct proxy_link *l, const char *reason)
{
    l->ending = true;
    timer_stop(l->proxy->loop, &l->timer);
    conn_finish(l->client, LINGER_MS, reason);
}

static void
answer(struct proxy_link *l, int status, const char *why)
{
    char words[512], text[1024];

    str_copy(words, sizeof(words), str_from(why));
    for (char *c = words; *c != '\0'; c++) {
        *c = (char)((unsigned char)*c < ' ' ? '?' : *c);
    }

    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 %d %s\r\n%s"
                     "Content-Type: text/plain; charset=utf-8\r\n"
                     "Content-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s\n",
                     status, http_status_text(status),
                     status == 407 ? "Proxy-Authenticate: Basic "
                                     "realm=\"weir\"\r\n"
                                   : "",
                     strlen(words) + 1, words);

    if (conn_write(l->client, text, (size_t)n) == -1) {
        end(l, true, "the answer cannot be written");
        return;
    }
    finish(l, "answered by the proxy");
}

static void
note(struct proxy_pass *pass, bool by_rules, const char *why)
{
    if (by_rules || !pass->by_rules) {
        pass->by_rules = by_rules;
        errmsg_set(&pass->refusal, "%s", why);
    }
}

/* ---- what weir.conf would need ---- */

static void
write_line(const struct str *rules, size_t count, struct errmsg *out)
{
    size_t room = 240, len = 0;
    char text[240] = "";

    for (size_t i = 0; i < count; i++) {
        len = str_append(text, room, len, i == 0 ? STR("\"") : STR(", \""));
        len = str_append(text, room, len, rules[i]);
        len = str_append(text, room, len, STR("\""));
    }
    if (len < room - 1) {
        errmsg_set(out, "; in weir.conf: egress = [ %s ];", text);
    } else {
        errmsg_set(out, "; in weir.conf: egress = [ \"%.*s\", ... ];",
                   STR_ARGS(rules[0]));
    }
}

/* The line that would allow it, tried before it is told; "": none. */
static struct errmsg
advise(const struct proxy_rules *now, const struct addr *to)
{
    struct pool *pool = pool_new(1024);
    struct str *rules = pool_alloc(pool, (now->count + 1) * sizeof(*rules));
    struct errmsg line = { "" }, err;
    char text[ADDR_TEXT];

    rules[0] = addr_is_loopback(to)
                   ? STR("allow loopback")
                   : pool_printf(pool, "allow %s", addr_ip_text(to, text));
    for (size_t i = 0; i < now->count; i++) {
        rules[i + 1] = now->texts[i];
    }
    if (egress_check(egress_parse(pool, rules, now->count + 1), to, &err) ==
        0) {
        write_line(rules, now->count + 1, &line);
    }
    pool_free(&pool);
    return line;
}

/* ---- relaying ---- */

/* Hands on what fits; from is not read on before there is room for the rest.
 * -1: the socket failed. */
static ssize_t
hand_on(struct conn *from, struct conn *to, const uint8_t *data, size_t n)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = n };
    ssize_t sent = conn_writev(to, &iov, 1);

    if (sent >= 0 && (size_t)sent < n) {
        conn_pause_reading(from);
    }
    return sent;
}

/* True: the first byte that an engine sends through a tunnel is that of TLS. */
static bool
begins_tls(struct proxy_link *l, const uint8_t *data)
{
    if (l->hello_seen) {
        return true;
    }
    if (data[0] != TLS_HANDSHAKE) {
        note(l->pass, true, "only https goes through CONNECT");
        return false;
    }
    l->hello_seen = true;
    conn_resume_reading(l->server);
    return true;
}

static bool
is_line_end(const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (data[i] != '\r' && data[i] != '\n') {
            return false;
        }
    }
    return true;
}

static ssize_t
relay_up(struct proxy_link *l, const uint8_t *data, size_t n)
{
    if (l->tunnel && !begins_tls(l, data)) {
        end(l, true, "no TLS behind CONNECT");
        return -1;
    }
    if (!l->tunnel && l->body_left == 0) {
        /* Some clients end a body by an empty line. */
        if (is_line_end(data, n)) {
            return (ssize_t)n;
        }
        end(l, true, "a second request on a connection");
        return -1;
    }
    size_t most =
        !l->tunnel && (int64_t)n > l->body_left ? (size_t)l->body_left : n;
    ssize_t sent = hand_on(l->client, l->server, data, most);

    if (sent < 0) {
        end(l, true, "the server takes no more");
        return -1;
    }
    if (!l->tunnel) {
        l->body_left -= sent;
    }
    return sent;
}

static ssize_t
server_on_data(void *arg, const uint8_t *data, size_t n)
{
    struct proxy_link *l = arg;
    ssize_t sent = hand_on(l->server, l->client, data, n);

    if (sent < 0) {
        end(l, true, "the engine takes no more");
        return -1;
    }
    l->pass->bytes += sent;
    return sent;
}

/* All is handed on: while its connection keeps bytes, it is not read, and its
 * end is not seen. */
static void
server_on_eof(void *arg)
{
    finish(arg, "the server has ended");
}

static void
server_on_writable(void *arg)
{
    struct proxy_link *l = arg;

    conn_resume_reading(l->client);
}

static void
client_on_writable(void *arg)
{
    struct proxy_link *l = arg;

    if (l->server != NULL && (!l->tunnel || l->hello_seen)) {
        conn_resume_reading(l->server);
    }
}

/* Cut short, unless its end was seen before. */
static void
server_on_close(void *arg, const char *reason)
{
    struct proxy_link *l = arg;

    l->server = NULL;
    if (!l->ending) {
        end(l, true, reason);
    }
}

static void
client_on_close(void *arg, const char *reason)
{
    struct proxy_link *l = arg;

    l->client = NULL;
    end(l, false, reason);
}

static const struct conn_handlers server_handlers = {
    .on_data = server_on_data,
    .on_writable = server_on_writable,
    .on_eof = server_on_eof,
    .on_close = server_on_close,
    .hears_out = true,
};

static int64_t
last_moved(const struct conn *c)
{
    return c->last_read_ms > c->last_write_ms ? c->last_read_ms
                                              : c->last_write_ms;
}

static void
on_timer(struct timer *t)
{
    struct proxy_link *l = LIST_ITEM(t, struct proxy_link, timer);
    int64_t last, left;

    if (!l->relays) {
        answer(l, 408, "the head of the request did not come in time");
        return;
    }
    last = last_moved(l->client);
    if (l->server != NULL && last_moved(l->server) > last) {
        last = last_moved(l->server);
    }
    left = last + l->proxy->times.idle - loop_now(l->proxy->loop);
    if (left <= 0) {
        end(l, true, "idle");
    } else {
        timer_set(l->proxy->loop, t, left);
    }
}

static void
relay(struct proxy_link *l)
{
    static const char made[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    struct str head = l->request.head;
    int result;

    l->relays = true;
    if (l->tunnel) {
        conn_pause_reading(l->server); /* the engine speaks first */
        result = conn_write(l->client, made, sizeof(made) - 1);
    } else {
        result = conn_write(l->server, head.ptr, head.len);
    }
    pool_free(&l->pool);
    if (result == -1) {
        end(l, true, "the head of the request cannot be written");
        return;
    }
    timer_set(l->proxy->loop, &l->timer, l->proxy->times.idle);
    conn_resume_reading(l->client);
}

/* ---- connecting ---- */

static void
tell_failure(struct proxy_link *l, const struct outgoing_failure *failure)
{
    static const int statuses[OUTGOING_CAUSES] = {
        [OUTGOING_NAME] = 502,      [OUTGOING_EGRESS] = 403,
        [OUTGOING_CONNECT] = 502,   [OUTGOING_TLS] = 502,
        [OUTGOING_TIMED_OUT] = 504,
    };
    bool by_rules = failure->cause == OUTGOING_EGRESS;
    struct errmsg line = { "" }, why;

    if (by_rules) {
        line = advise(l->rules, &failure->refused);
        metric_add(&downloads_metrics[DOWNLOADS_EGRESS_REFUSED], 0, 1);
    }
    errmsg_set(&why, "%.100s: %.300s%s", l->request.host.ptr, failure->why.text,
               line.text);
    note(l->pass, by_rules, why.text);
    answer(l, statuses[failure->cause], why.text);
}

static void
on_connected(void *arg, const struct conn_socket *socket,
             const struct outgoing_failure *failure)
{
    struct proxy_link *l = arg;

    l->attempt = NULL;
    if (socket == NULL) {
        tell_failure(l, failure);
    } else {
        l->server =
            conn_new(l->proxy->loop, socket, &server_handlers, l, &limits);
        if (l->server == NULL) {
            answer(l, 503, "the system has no room for a connection");
        } else {
            if (!l->pass->by_rules) {
                l->pass->refusal.text[0] = '\0';
            }
            relay(l);
        }
    }
    proxy_rules_drop(&l->rules);
}

static void
connect_to(struct proxy_link *l)
{
    struct proxy *p = l->proxy;
    struct outgoing_target target = {
        .host = l->request.host,
        .port = l->request.port,
        .resolver = p->resolver,
        .egress = p->rules->egress,
        .timeout_ms = p->times.connect,
    };

    timer_stop(p->loop, &l->timer);
    conn_pause_reading(l->client);
    l->tunnel = l->request.tunnel;
    l->body_left = l->request.length;
    l->rules = p->rules;
    l->rules->holders++;
    l->attempt = outgoing_start(p->loop, &target, on_connected, l);
}

/* ---- the head ---- */

/* False: the run has too many. */
static bool
join(struct proxy_link *l, struct proxy_pass *pass)
{
    if (pass->count >= PROXY_PASS_LINKS) {
        return false;
    }
    list_remove(&l->link);
    l->proxy->stranger_count--;
    l->pass = pass;
    list_append(&pass->links, &l->link);
    pass->count++;
    return true;
}

static void
take_request(struct proxy_link *l, const uint8_t *data, size_t n)
{
    struct errmsg why;
    int status;

    l->pool = pool_new(n + 1024);
    status = proxy_request_read(l->pool, &l->scan, data, n, &l->request, &why);

    struct proxy_pass *pass = proxy_find_pass(l->proxy, l->request.credentials);

    if (pass == NULL) {
        answer(l, 407, "only runs of weir's engines may use this proxy");
    } else if (!join(l, pass)) {
        answer(l, 503, "a run may have 64 connections at once");
    } else if (status != 0) {
        note(pass, false, why.text);
        answer(l, status, why.text);
    } else {
        connect_to(l);
    }
}

static ssize_t
client_on_data(void *arg, const uint8_t *data, size_t n)
{
    struct proxy_link *l = arg;

    if (l->relays) {
        return relay_up(l, data, n);
    }
    if (l->attempt != NULL) {
        return 0;
    }
    ssize_t len = http_scan(&l->scan, data, n, &proxy_limits);

    if (len == -1) {
        answer(l, http_refusal_status(l->scan.why),
               http_refusal_text(l->scan.why));
        return (ssize_t)n;
    }
    if (len > 0) {
        take_request(l, data, (size_t)len);
    }
    return len;
}

static const struct conn_handlers client_handlers = {
    .on_data = client_on_data,
    .on_writable = client_on_writable,
    .on_close = client_on_close,
};

void
proxy_link_begin(struct proxy *p, const struct conn_socket *socket)
{
    struct proxy_link *l;

    if (p->links >= PROXY_LINKS) {
        conn_socket_close(socket);
        return;
    }
    if (p->stranger_count >= PROXY_STRANGERS) {
        proxy_link_cut(p->strangers.next, "others wait behind it");
    }
    l = mem_zero(sizeof(*l));
    l->proxy = p;
    timer_init(&l->timer, on_timer);
    later_init(&l->destroy, destroy);
    l->client = conn_new(p->loop, socket, &client_handlers, l, &limits);
    if (l->client == NULL) {
        mem_free(&l);
        return;
    }
    list_append(&p->strangers, &l->link);
    p->stranger_count++;
    p->links++;
    timer_set(p->loop, &l->timer, p->times.head);
}
