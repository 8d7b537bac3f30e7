/*
 * Answers on their way out.
 *
 * Everything goes through http_send_bytes(): what the socket takes goes
 * straight from where it lies, in one call with what is still kept in
 * x->out; only the rest is copied there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/exchange.h"

#define STREAM_ROOM (64 * 1024) /* kept of a stream before it must wait */
#define IOV_MAX_HERE 4

/* ---- bytes ---- */

static void
fail(struct exchange *x)
{
    x->broken = true;
    http_settle_later(x->c);
}

/* Keeps what lies behind the first sent bytes of iov. */
static void
keep_rest(struct exchange *x, const struct iovec *iov, int count, size_t sent)
{
    for (int i = 0; i < count; i++) {
        size_t skip = sent < iov[i].iov_len ? sent : iov[i].iov_len;

        sent -= skip;
        if (buf_add(&x->out, (const char *)iov[i].iov_base + skip,
                    iov[i].iov_len - skip) == -1) {
            fail(x);
            return;
        }
    }
    if (buf_len(&x->out) > 0) {
        http_answer_stalls(x->c);
    }
}

void
http_send_bytes(struct exchange *x, const struct iovec *iov, int count)
{
    struct iovec all[IOV_MAX_HERE + 1];
    size_t kept = buf_len(&x->out);

    assert(count <= IOV_MAX_HERE);
    if (x->broken || x->c->conn == NULL) {
        return;
    }
    all[0].iov_base = (void *)(uintptr_t)buf_data(&x->out);
    all[0].iov_len = kept;
    for (int i = 0; i < count; i++) {
        all[i + 1] = iov[i];
    }
    ssize_t sent = conn_writev(x->c->conn, all, count + 1);

    if (sent < 0) {
        fail(x);
        return;
    }
    size_t of_kept = (size_t)sent < kept ? (size_t)sent : kept;

    buf_take(&x->out, of_kept);
    keep_rest(x, iov, count, (size_t)sent - of_kept);
    buf_trim(&x->out);
}

bool
http_flush(struct exchange *x)
{
    if (buf_len(&x->out) > 0) {
        http_send_bytes(x, NULL, 0);
    }
    return !x->broken && buf_len(&x->out) == 0;
}

/* ---- the head ---- */

static struct str
date_now(void)
{
    static struct {
        int64_t second;
        char text[32];
    } cached = { .second = -1 };
    int64_t now = clock_wall_ms();

    if (now / 1000 != cached.second) {
        cached.second = now / 1000;
        clock_http_date(cached.text, sizeof(cached.text), now);
    }
    return str_from(cached.text);
}

static bool
fits_in_header(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c == 0x7f || (c < ' ' && c != '\t')) {
            return false;
        }
    }
    return true;
}

void
http_set_header(struct http_request *r, const char *name, struct str value)
{
    struct exchange *x = exchange_of(r);
    struct http_field *field = pool_alloc(r->pool, sizeof(*field));
    struct http_field **end = &x->fields;

    if (!fits_in_header(value)) {
        log_error("http: header %s of an answer to %.*s has bytes that cannot "
                  "stand there, left out",
                  name, STR_ARGS(x->head.target));
        return;
    }
    *field = (struct http_field){ NULL, name, pool_str(r->pool, value),
                                  x->in_filter };
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = field;
}

/* Whether the connection ends with this answer. */
static bool
must_close(const struct exchange *x, int status)
{
    const struct http_connection *c = x->c;
    const struct http_settings *s = &c->server->settings;

    if (!x->head.keep_alive || http_draining()) {
        return true;
    }
    if (c->requests >= s->keepalive_requests ||
        loop_now(c->loop) - c->conn->opened_ms >= s->keepalive_time) {
        return true;
    }
    /* What comes next could be the body or a request: with a body that was
     * asked for by "100 Continue" only, nobody knows. */
    return !x->body.done && (status >= 400 || x->head.expects_continue);
}

/* These return 0, or not 0 when memory is out. */
static int
add_fields(struct buf *b, const struct exchange *x)
{
    int bad = 0;

    for (const struct http_field *f = x->fields; f != NULL; f = f->next) {
        bad |= buf_printf(b, "%s: ", f->name);
        bad |= buf_add_str(b, f->value);
        bad |= buf_add(b, "\r\n", 2);
    }
    return bad;
}

static int
add_framing(struct buf *b, const struct exchange *x, int64_t length)
{
    int bad = 0;

    if (length >= 0 && x->status != 204 && x->status != 304) {
        bad |= buf_printf(b, "Content-Length: %lld\r\n", (long long)length);
    } else if (x->chunked) {
        bad |= buf_add_str(b, STR("Transfer-Encoding: chunked\r\n"));
    }
    if (x->close) {
        bad |= buf_add_str(b, STR("Connection: close\r\n"));
    } else if (x->head.version == 10) {
        bad |= buf_add_str(b, STR("Connection: keep-alive\r\n"));
    }
    return bad;
}

static int
add_head(struct buf *b, const struct exchange *x, const char *type,
         int64_t length)
{
    int bad =
        buf_printf(b, "HTTP/1.1 %d %s\r\nServer: weir\r\nDate: ", x->status,
                   http_status_text(x->status));

    bad |= buf_add_str(b, date_now());
    bad |= buf_add(b, "\r\n", 2);
    if (type != NULL) {
        bad |= buf_printf(b, "Content-Type: %s\r\n", type);
    }
    bad |= add_framing(b, x, length);
    bad |= add_fields(b, x);
    return bad | buf_add(b, "\r\n", 2);
}

static bool
has_no_body(const struct exchange *x, int status)
{
    return str_eq(x->head.method, STR("HEAD")) || status == 204 ||
           status == 304;
}

void
http_begin_answer(struct exchange *x, int status, const char *type,
                  int64_t length)
{
    assert(x->status == 0); /* one answer to a request */
    x->status = status;
    x->no_body = has_no_body(x, status);
    if (x->c->conn == NULL) { /* nobody will read it */
        return;
    }
    if (length < 0 && status != 204 && status != 304) {
        x->chunked = x->head.version == 11;
        x->close |= !x->chunked;
    }
    x->close |= must_close(x, status);
    if (add_head(&x->out, x, type, length) != 0) {
        fail(x);
    }
}

struct str
http_head(struct http_request *r, int status, const char *content_type)
{
    struct exchange *x = exchange_of(r);
    struct buf b;

    x->status = status;
    x->close = true;
    buf_init(&b, SIZE_MAX / 2);
    if (add_head(&b, x, content_type, -1) != 0) {
        buf_clear(&b); /* the client sees the connection end */
    }

    struct str head = pool_str(r->pool, buf_str(&b));

    buf_clear(&b);
    return head;
}

/* ---- answers ---- */

static void
end_answer(struct exchange *x)
{
    x->ended = true;
    x->on_room = NULL;
    http_settle_later(x->c);
}

enum http_result
http_reply(struct http_request *r, int status, const char *content_type,
           struct str body)
{
    struct exchange *x = exchange_of(r);

    http_begin_answer(x, status, content_type, (int64_t)body.len);

    struct iovec iov = { (void *)(uintptr_t)body.ptr,
                         x->no_body ? 0 : body.len };

    x->body_sent += iov.iov_len;
    http_send_bytes(x, &iov, 1);
    end_answer(x);
    return HTTP_DONE;
}

void
http_start(struct http_request *r, int status, const char *content_type)
{
    struct exchange *x = exchange_of(r);

    http_begin_answer(x, status, content_type, -1);
    http_settle_later(x->c); /* sends the head if nothing comes with it */
}

static void
send_chunk(struct exchange *x, struct str data)
{
    char size[20];
    int n = snprintf(size, sizeof(size), "%zx\r\n", data.len);
    struct iovec iov[3] = {
        { size, (size_t)n },
        { (void *)(uintptr_t)data.ptr, data.len },
        { (void *)(uintptr_t) "\r\n", 2 },
    };

    if (x->chunked) {
        http_send_bytes(x, iov, 3);
    } else {
        http_send_bytes(x, &iov[1], 1);
    }
}

int
http_send_more(struct http_request *r, struct str data)
{
    struct exchange *x = exchange_of(r);
    size_t kept = buf_len(&x->out);

    assert(x->status != 0 && !x->ended);
    if (x->broken || x->c->conn == NULL) {
        return -1;
    }
    if (data.len == 0 || x->no_body) {
        return 0;
    }
    if (x->stalled_ms != 0 && kept > 0 && kept + data.len > STREAM_ROOM) {
        return -1;
    }
    x->body_sent += data.len;
    send_chunk(x, data);
    return x->broken ? -1 : 0;
}

void
http_on_room(struct http_request *r, void (*on_room)(void *arg), void *arg)
{
    struct exchange *x = exchange_of(r);

    x->on_room = on_room;
    x->on_room_arg = arg;
}

enum http_result
http_end(struct http_request *r)
{
    struct exchange *x = exchange_of(r);
    struct iovec last = { (void *)(uintptr_t) "0\r\n\r\n", 5 };

    if (x->chunked && !x->no_body) {
        http_send_bytes(x, &last, 1);
    }
    end_answer(x);
    return HTTP_DONE;
}
