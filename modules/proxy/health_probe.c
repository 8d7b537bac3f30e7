/*
 * One server: connect, ask, read the head of the answer, count.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "health.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http/parse_answer.h"
#include "net/conn.h"
#include "servers.h"

#define REQUEST_MAX 4096
#define HEAD_MAX 16384 /* bytes of all heads, interim ones included */

static void on_next(struct timer *t);

/* ---- the verdict ---- */

static void
tell(const struct probe *p, enum server_check now, const char *why)
{
    struct str name = p->upstream->name;

    if (now == SERVER_CHECKED_DOWN) {
        log_limited(
            LOG_WARN,
            "upstream %.*s: server %.*s is down: %lld checks failed, the "
            "last because %s",
            STR_ARGS(name), STR_ARGS(p->address), (long long)p->failed, why);
    } else {
        log_limited(LOG_NOTICE, "upstream %.*s: server %.*s is up",
                    STR_ARGS(name), STR_ARGS(p->address));
    }
}

/* One that was never judged is up with its first good check. */
static enum server_check
judge(const struct probe *p, enum server_check was)
{
    int64_t rise = was == SERVER_UNCHECKED ? 1 : p->upstream->how.rise;

    if (was != SERVER_CHECKED_DOWN && p->failed >= p->upstream->how.fall) {
        return SERVER_CHECKED_DOWN;
    }
    if (was != SERVER_CHECKED_UP && p->good >= rise) {
        return SERVER_CHECKED_UP;
    }
    return was;
}

/* Requests that failed have shut the server, and checks know better. */
static void
open_again(struct probe *p, int64_t at, bool is_good)
{
    bool is_shut = servers_gate(p->place, at) != SERVER_OPEN;

    p->good_since_shut = is_shut && is_good ? p->good_since_shut + 1 : 0;
    if (p->good_since_shut >= p->upstream->how.rise &&
        servers_good(p->place, at)) {
        p->good_since_shut = 0;
        log_limited(LOG_NOTICE,
                    "upstream %.*s: server %.*s is back: %lld checks were "
                    "good",
                    STR_ARGS(p->upstream->name), STR_ARGS(p->address),
                    (long long)p->upstream->how.rise);
    }
}

/* The place may have gone to another server a moment ago. */
static void
count(struct probe *p, const char *why)
{
    int64_t at = loop_now(p->prober->loop);
    enum server_check was = servers_check(p->place, at), now;

    if (servers_incarnation(p->place) != p->incarnation) {
        return;
    }
    p->good = why == NULL ? p->good + 1 : 0;
    p->failed = why != NULL ? p->failed + 1 : 0;
    now = judge(p, was);
    open_again(p, at, why == NULL);
    servers_count(p->place, SERVER_CHECKS + (why != NULL), 1);
    servers_set_check(p->place, at,
                      &(struct server_verdict){
                          .check = now,
                          .holds = upstream_verdict_holds(&p->upstream->how),
                          .why = why != NULL ? str_from(why) : STR_NONE });
    if (now != was && !(was == SERVER_UNCHECKED && now == SERVER_CHECKED_UP)) {
        tell(p, now, why);
    }
}

/* ---- a check ---- */

void
probe_abort(struct probe *p)
{
    struct conn *c = p->conn;

    outgoing_cancel(&p->outgoing);
    timer_stop(p->prober->loop, &p->next);
    p->conn = NULL;
    if (c != NULL) {
        conn_close(c, "the check is over");
    }
}

/* Ten in a hundred sooner or later, so that checks do not fall together. */
static int64_t
pause_of(const struct probe *p)
{
    int64_t interval = p->upstream->how.interval;

    return interval - interval / 10 +
           (int64_t)rand_below((uint64_t)interval / 5 + 1);
}

static void
finish(struct probe *p, const char *why)
{
    probe_abort(p);
    count(p, why);
    timer_init(&p->next, on_next);
    timer_set(p->prober->loop, &p->next, pause_of(p));
}

static void
on_deadline(struct timer *t)
{
    struct probe *p = LIST_ITEM(t, struct probe, next);
    struct errmsg why;

    errmsg_set(&why, "there was no answer within %lld ms",
               (long long)p->upstream->how.timeout);
    finish(p, why.text);
}

static void
judge_status(struct probe *p, int status)
{
    struct errmsg why;

    if (upstream_is_good(&p->upstream->how.status, status)) {
        finish(p, NULL);
        return;
    }
    errmsg_set(&why, "it answered %d", status);
    finish(p, why.text);
}

/* A head at the beginning of the bytes: its length and status; 0: more is
 * needed, -1: it is not HTTP. */
static ssize_t
read_head(const uint8_t *data, size_t n, int *status)
{
    static const struct http_limits limits = { HEAD_MAX, HEAD_MAX, 8192, 100 };
    struct http_scan scan = { .at = 0 };
    ssize_t len = http_scan_answer(&scan, data, n, &limits);

    if (len > 0) {
        struct pool *pool = pool_new(4096);
        struct http_answer answer;

        if (http_parse_answer(pool, &scan, data, (size_t)len, STR("GET"),
                              &answer) != REFUSE_NONE) {
            len = -1;
        }
        *status = answer.status;
        pool_free(&pool);
    }
    return len;
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct probe *p = arg;
    size_t at = 0;
    ssize_t len;
    int status;

    do {
        len = read_head(data + at, n - at, &status);
        at += len > 0 ? (size_t)len : 0;
    } while (len > 0 && status < 200 && at < n);
    if (len == 0 || (len > 0 && status < 200)) {
        return 0; /* it is offered again with what follows */
    }
    if (len > 0) {
        judge_status(p, status);
    } else {
        finish(p, "what it answered is not HTTP/1.1");
    }
    return -1;
}

static void
on_close(void *arg, const char *reason)
{
    struct probe *p = arg;

    (void)reason;
    if (p->conn != NULL) { /* else we closed it */
        p->conn = NULL;
        finish(p, "it closed the connection without an answer");
    }
}

static struct str
host_of(const struct probe *p, char *text, size_t size)
{
    bool six = str_find(p->at.host, ':', 0) < p->at.host.len;

    if (p->upstream->how.host.len > 0) {
        return p->upstream->how.host;
    }
    if (p->at.path.len > 0) {
        return STR("localhost");
    }
    snprintf(text, size, six ? "[%.*s]:%u" : "%.*s:%u", STR_ARGS(p->at.host),
             p->at.port);
    return str_from(text);
}

static int
ask(struct probe *p)
{
    char request[REQUEST_MAX], host[300];
    struct str name = host_of(p, host, sizeof(host));
    int n = snprintf(request, sizeof(request),
                     "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: weir\r\n"
                     "Accept: */*\r\nConnection: close\r\n\r\n",
                     STR_ARGS(p->upstream->how.path), STR_ARGS(name));

    return conn_write(p->conn, request, (size_t)n);
}

static const struct conn_handlers handlers = {
    .on_data = on_data,
    .on_close = on_close,
};

static void
on_connected(void *arg, const struct conn_socket *socket,
             const struct outgoing_failure *failure)
{
    static const struct conn_limits limits = {
        .in_limit = HEAD_MAX,
        .out_limit = REQUEST_MAX,
    };
    struct probe *p = arg;
    int64_t left;

    p->outgoing = NULL;
    if (socket == NULL) {
        finish(p, failure->why.text);
        return;
    }
    p->conn = conn_new(p->prober->loop, socket, &handlers, p, &limits);
    if (p->conn == NULL) {
        finish(p, "there is no room for a connection");
        return;
    }
    left = p->next.due - loop_now(p->prober->loop);
    timer_set(p->prober->loop, &p->next, left > 0 ? left : 0);
    if (ask(p) == -1) {
        finish(p, "it took no question");
    }
}

/* The deadline is ours, of which connecting leaves a rest. */
static void
on_next(struct timer *t)
{
    struct probe *p = LIST_ITEM(t, struct probe, next);
    struct outgoing_target to = {
        .host = p->at.path.len > 0 ? STR("localhost") : p->at.host,
        .port = p->at.port,
        .path = p->at.path,
        .tls_name = p->upstream->secured.server_name,
        .resolver = p->prober->resolver,
        .egress = p->prober->plan.egress,
        .tls = p->tls,
        .timeout_ms = p->upstream->how.timeout,
    };

    timer_init(&p->next, on_deadline);
    timer_set(p->prober->loop, &p->next, p->upstream->how.timeout + 1);
    p->outgoing = outgoing_start(p->prober->loop, &to, on_connected, p);
}

/* ---- life ---- */

static void
destroy(struct later *later)
{
    struct probe *p = LIST_ITEM(later, struct probe, destroy);

    mem_free(&p);
}

void
probe_start(struct probe *p)
{
    timer_init(&p->next, on_next);
    later_init(&p->destroy, destroy);
    timer_set(p->prober->loop, &p->next, 0);
}

void
probe_free(struct probe *p)
{
    probe_abort(p);
    list_remove(&p->link);
    loop_later(p->prober->loop, &p->destroy);
}
