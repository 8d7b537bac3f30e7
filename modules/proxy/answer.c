/*
 * The answer on its way from the server to the client.
 *
 * Its head is parsed as strictly as that of a request: whatever could be read
 * in two ways is no answer, and neither is one whose body does not become
 * whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "exchange.h"
#include "http/body.h"

#define INFOS_MAX 16 /* interim answers of a server */

static void
wrong(struct proxy_exchange *x, enum http_refusal why)
{
    exchange_fail(x, UPSTREAM_WRONG, http_refusal_text(why));
}

/* ---- headers ---- */

static void
add_vary(struct proxy_exchange *x, struct str value)
{
    while (value.len > 0) {
        struct str name = str_trim(str_cut(&value, ','));

        if (name.len > 0) {
            http_vary(x->r, name);
        }
    }
}

/* The value of a header of HEADER_CHANGED but Vary. */
static struct str
changed(struct proxy_exchange *x, const struct http_header *h)
{
    if (str_eq_nocase(h->name, STR("Refresh"))) {
        return rewrite_refresh(x, h->value);
    }
    if (str_eq_nocase(h->name, STR("Set-Cookie"))) {
        return rewrite_cookie(x, h->value);
    }
    return rewrite_address(x, h->value);
}

static void
pass_header(struct proxy_exchange *x, const struct http_header *h, unsigned is)
{
    if (str_eq_nocase(h->name, STR("Vary"))) {
        add_vary(x, h->value);
        return;
    }
    http_set_header(x->r, pool_cstr(x->r->pool, h->name),
                    (is & HEADER_CHANGED) != 0 ? changed(x, h) : h->value);
}

static bool
goes_on(const struct proxy_exchange *x, struct str name, unsigned is)
{
    return (is & HEADER_SAID) == 0 && header_goes_on(x->connection, name, is) &&
           (x->r->api == NULL || !str_eq_nocase(name, STR("API-Version"))) &&
           !header_named(&x->layer->settings->hide_headers, name);
}

static const struct str *
find(const struct proxy_exchange *x, struct str name)
{
    for (size_t i = 0; i < x->answer.head.header_count; i++) {
        if (str_eq_nocase(x->answer.head.headers[i].name, name)) {
            return &x->answer.head.headers[i].value;
        }
    }
    return NULL;
}

/* ---- interim answers ---- */

static void
pass_info(struct proxy_exchange *x)
{
    const struct http_head *head = &x->answer.head;
    struct http_header *all =
        pool_alloc(x->r->pool, (head->header_count + 1) * sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; i < head->header_count; i++) {
        struct str name = head->headers[i].name;

        if (goes_on(x, name, header_is(name))) {
            all[count++] = head->headers[i];
        }
    }
    http_send_info(x->r, x->answer.status, all, count);
}

/* False: it is no interim answer, or none that may come. */
static bool
take_info(struct proxy_exchange *x)
{
    if (x->answer.status >= 200 || x->answer.status == 101) {
        return false;
    }
    if (x->answer.status != 100) {
        pass_info(x);
    } else if (x->expects && !x->reading) {
        carry_read(x);
    }
    x->scan = (struct http_scan){ 0 };
    x->infos++;
    return true;
}

/* ---- the head ---- */

static bool
is_passed_on(const struct proxy_exchange *x)
{
    const struct conf_strings *statuses = &x->layer->settings->pass_on;
    const struct str *cascade = find(x, STR("X-Cascade"));
    int64_t status;

    if (x->length != 0) {
        return false;
    }
    for (size_t i = 0; i < statuses->count; i++) {
        if (str_to_int(statuses->items[i], 300, 599, &status) &&
            status == x->answer.status) {
            return true;
        }
    }
    return cascade != NULL && str_eq_nocase(*cascade, STR("pass"));
}

static const char *
type_of(struct proxy_exchange *x)
{
    const struct str *type = find(x, STR("Content-Type"));

    return type == NULL ? NULL : pool_cstr(x->r->pool, *type);
}

static void
start_answer(struct proxy_exchange *x)
{
    const struct http_answer *a = &x->answer;
    const char *type = type_of(x);

    for (size_t i = 0; i < a->head.header_count; i++) {
        const struct http_header *h = &a->head.headers[i];
        unsigned is = header_is(h->name);

        if (goes_on(x, h->name, is)) {
            pass_header(x, h, is);
        }
    }
    http_send_as_is(x->r);
    if (type != NULL && str_starts(str_from(type), STR("text/event-stream"))) {
        http_set_endless(x->r);
    }
    x->started = true;
    if (a->framing == HTTP_BODY_BY_LENGTH ||
        (a->framing == HTTP_BODY_NONE && a->head.length >= 0)) {
        http_start_length(x->r, a->status, type, (uint64_t)a->head.length);
    } else if (a->framing == HTTP_BODY_NONE &&
               !str_eq(x->r->method, STR("HEAD"))) {
        http_start_length(x->r, a->status, type, 0);
    } else {
        http_start(x->r, a->status, type);
    }
}

/* Whether the server changes to a protocol that the client has asked for. */
static bool
is_asked_for(const struct proxy_exchange *x)
{
    const struct str *protocol = find(x, STR("Upgrade"));

    return protocol != NULL && http_has_word(x->upgrade, *protocol);
}

/* The final head has come. */
static void
judge_head(struct proxy_exchange *x)
{
    x->head_ms = loop_now(x->r->loop) - x->asked_ms;
    x->left = x->answer.head.length > 0 ? (uint64_t)x->answer.head.length : 0;
    x->chunks = (struct http_chunked){ .trailers = &x->trailers };
    if (x->answer.status == 101 && is_asked_for(x)) {
        tunnel_begin(x);
    } else if (x->answer.status == 101) {
        exchange_fail(x, UPSTREAM_WRONG,
                      "it changes to a protocol that nobody has asked for");
    } else if (is_passed_on(x)) {
        exchange_pass(x);
    } else {
        start_answer(x);
    }
}

/* Eats one head, if it is whole; 0: not yet. */
static size_t
take_head(struct proxy_exchange *x, const uint8_t *data, size_t n)
{
    static const struct http_limits limits = { .head = PROXY_HEAD_MAX,
                                               .target = PROXY_HEAD_MAX,
                                               .header = PROXY_HEAD_MAX,
                                               .headers = 200 };
    ssize_t len = http_scan_answer(&x->scan, data, n, &limits);
    enum http_refusal why;

    if (len < 0) {
        wrong(x, x->scan.why);
        return 0;
    }
    if (len == 0) {
        return 0;
    }
    why = http_parse_answer(x->r->pool, &x->scan, data, (size_t)len,
                            x->r->method, &x->answer);
    if (why != REFUSE_NONE || x->infos > INFOS_MAX) {
        wrong(x, why != REFUSE_NONE ? why : REFUSE_HEAD_LONG);
        return 0;
    }
    x->connection =
        http_header_list(x->r->pool, x->answer.head.headers,
                         x->answer.head.header_count, STR("Connection"));
    x->last |= x->answer.last;
    if (!take_info(x)) {
        judge_head(x);
    }
    return (size_t)len;
}

/* ---- the body ---- */

/* Whether nothing more of it is to come. */
static bool
is_whole(const struct proxy_exchange *x)
{
    switch (x->answer.framing) {
    case HTTP_BODY_NONE:
        return true;
    case HTTP_BODY_BY_LENGTH:
        return x->left == 0;
    case HTTP_BODY_BY_CHUNKS:
        return http_chunked_done(&x->chunks);
    case HTTP_BODY_TO_CLOSE:
        break;
    }
    return false;
}

/* Bytes eaten up to the end of the next piece, or -1. */
static ssize_t
next_piece(struct proxy_exchange *x, const uint8_t *data, size_t n,
           struct str *piece)
{
    if (x->answer.framing == HTTP_BODY_BY_CHUNKS) {
        return http_chunked_eat(&x->chunks, data, n, piece);
    }
    if (x->answer.framing == HTTP_BODY_BY_LENGTH) {
        n = n < x->left ? n : (size_t)x->left;
        x->left -= n;
    }
    *piece = str_of(data, n);
    return (ssize_t)n;
}

static void
give(struct proxy_exchange *x, struct str piece)
{
    if (piece.len == 0) {
        return; /* what is not sent yet may be the head that waits for it */
    }
    if (http_send_more(x->r, piece) == -1) {
        exchange_detach(x, "the client takes nothing more");
        http_break(x->r);
        return;
    }
    if (!http_is_sent(x->r) && !is_whole(x)) {
        x->paused = true;
        conn_pause_reading(x->link->conn);
    }
}

/* Whether the link is kept. */
static bool
end_answer(struct proxy_exchange *x, bool clean)
{
    const struct http_header *trailers = NULL;
    size_t count = 0;

    http_split_trailers(x->r->pool, buf_str(&x->trailers), &trailers, &count);
    for (size_t i = 0; i < count; i++) {
        struct str name = trailers[i].name;
        unsigned is = header_is(name);

        if ((is & HEADER_FRONT) == 0 && goes_on(x, name, is)) {
            http_set_trailer(x->r, pool_cstr(x->r->pool, name),
                             trailers[i].value);
        }
    }
    return exchange_finish(x, clean);
}

/* Bytes eaten. */
static size_t
take_body(struct proxy_exchange *x, const uint8_t *data, size_t n)
{
    size_t eaten = 0;
    struct str piece = STR_NONE;

    while (eaten < n && x->link != NULL && !x->paused && !is_whole(x)) {
        ssize_t ate = next_piece(x, data + eaten, n - eaten, &piece);

        if (ate < 0) {
            wrong(x, x->chunks.why);
            return 0;
        }
        eaten += (size_t)ate;
        give(x, piece);
    }
    return eaten;
}

ssize_t
answer_on_data(void *arg, const uint8_t *data, size_t n)
{
    struct proxy_exchange *x = arg;
    size_t used = 0, ate = 0;

    x->heard = true;
    do {
        ate = x->started ? take_body(x, data + used, n - used)
                         : take_head(x, data + used, n - used);
        used += ate;
    } while (ate > 0 && used < n && x->link != NULL && !x->tunnelled);
    if (x->link == NULL) {
        return -1; /* it failed, or the answer is the next layer's */
    }
    if (x->started && is_whole(x) && !end_answer(x, used == n)) {
        return -1;
    }
    return (ssize_t)used;
}

void
answer_on_eof(void *arg)
{
    struct proxy_exchange *x = arg;

    if (x->started && x->answer.framing == HTTP_BODY_TO_CLOSE) {
        exchange_finish(x, false);
    } else {
        exchange_fail(x, UPSTREAM_BROKEN, "it ended the connection");
    }
}

void
answer_on_room(void *arg)
{
    struct proxy_exchange *x = arg;

    if (x->paused && x->link != NULL) {
        x->paused = false;
        x->since_ms = loop_now(x->r->loop);
        conn_resume_reading(x->link->conn);
    }
}
