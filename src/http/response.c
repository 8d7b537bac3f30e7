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
#include <sys/uio.h>

#include "http/exchange.h"
#include "http/file/coding.h"
#include "http/metrics.h"

#define STREAM_ROOM (64 * 1024) /* kept of a stream before it must wait */
#define IOV_MAX_HERE 4
#define SMALL_BODY                                                         \
    4096                  /* copied behind its head: cheaper than a second \
                             range of memory for the system */
#define SCRATCH_MAX 16384 /* bytes kept for the next head */

/* Where a head is written that goes out at once, so that an answer needs no
 * memory of its own. */
static struct buf scratch = { .limit = SIZE_MAX / 2 };

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

/* A waiting answer keeps all memory of its request. */
static void
note_unsent(struct exchange *x)
{
    size_t kept = x->out.size + x->memory;

    if (kept > 0) {
        kept += x->body.bytes.size + pool_size(x->pub.pool);
    }
    unsent_set(&x->c->unsent, kept, x->c->conn->bytes_out);
}

void
http_send_bytes(struct exchange *x, const struct iovec *iov, int count)
{
    struct iovec all[IOV_MAX_HERE + 1];
    size_t kept = buf_len(&x->out);
    int n = 0;

    assert(count <= IOV_MAX_HERE);
    if (x->broken || x->c->conn == NULL) {
        return;
    }
    http_file_other_bytes(x);
    if (kept > 0) {
        all[n++] = (struct iovec){ (void *)(uintptr_t)buf_data(&x->out), kept };
    }
    for (int i = 0; i < count; i++) {
        all[n++] = iov[i];
    }
    ssize_t sent = conn_writev(x->c->conn, all, n);

    if (sent < 0) {
        fail(x);
        return;
    }
    size_t of_kept = (size_t)sent < kept ? (size_t)sent : kept;

    buf_take(&x->out, of_kept);
    keep_rest(x, iov, count, (size_t)sent - of_kept);
    buf_trim(&x->out);
    note_unsent(x);
}

/* Takes what went of out; sent: as of conn_writev().  Returns the bytes sent
 * behind it. */
static size_t
take_sent(struct exchange *x, ssize_t sent)
{
    size_t of_out = buf_len(&x->out);

    if (sent < 0) {
        fail(x);
        return 0;
    }
    of_out = (size_t)sent < of_out ? (size_t)sent : of_out;
    buf_take(&x->out, of_out);
    buf_trim(&x->out);
    if (x->memory > 0) {
        note_unsent(x);
    }
    return (size_t)sent - of_out;
}

size_t
http_send_unkept(struct exchange *x, struct str data)
{
    struct iovec iov[2] = {
        { (void *)(uintptr_t)buf_data(&x->out), buf_len(&x->out) },
        { (void *)(uintptr_t)data.ptr, data.len },
    };
    int first = iov[0].iov_len > 0 ? 0 : 1;

    if (x->broken || x->c->conn == NULL) {
        return 0;
    }
    return take_sent(x, conn_writev(x->c->conn, &iov[first], 2 - first));
}

size_t
http_send_from_file(struct exchange *x, int fd, int64_t offset, size_t n)
{
    if (x->broken || x->c->conn == NULL) {
        return 0;
    }
    return take_sent(
        x, conn_send_file(x->c->conn, buf_str(&x->out), fd, offset, n));
}

bool
http_has_room(struct exchange *x)
{
    if (x->broken || x->c->conn == NULL ||
        (x->file == NULL && buf_len(&x->out) > 0)) {
        return false;
    }
    if (!conn_has_room(x->c->conn)) {
        http_answer_stalls(x->c);
        return false;
    }
    return true;
}

bool
http_flush(struct exchange *x)
{
    if (x->file != NULL && !x->ended) {
        return http_has_room(x); /* out goes with its next piece */
    }
    if (buf_len(&x->out) > 0) {
        http_send_bytes(x, NULL, 0);
    }
    if (x->pieces != NULL && !x->ended) {
        return http_has_room(x); /* it keeps nothing that could be looked at */
    }
    return !x->broken && buf_len(&x->out) == 0;
}

/* ---- the head ---- */

/* Whether the connection ends with this answer. */
static bool
must_close(const struct exchange *x, int status)
{
    const struct http_connection *c = x->c;
    const struct http_settings *s = &c->server->settings;

    if (!x->head.keep_alive || http_ends_with(c)) {
        return true;
    }
    if (c->requests >= s->keepalive_requests ||
        loop_now(c->loop) - c->conn->opened_ms >= s->keepalive_time) {
        return true;
    }
    /* The next bytes could be the body or a request: a client that asked for
     * "100 Continue" may send either. */
    return !x->body.done && (status >= 400 || x->head.expects_continue);
}

static bool
has_no_body(const struct exchange *x, int status)
{
    return str_eq(x->head.method, STR("HEAD")) || status == 204 ||
           status == 304;
}

/* False when nobody is there to read the answer. */
static bool
begin(struct exchange *x, int status, int64_t length)
{
    assert(x->status == 0); /* one answer to a request */
    http_set_status(x, status);
    x->no_body = has_no_body(x, status);
    if (x->c->conn == NULL) {
        return false;
    }
    if (length < 0 && status != 204 && status != 304) {
        x->chunked = x->head.version == 11;
        x->close |= !x->chunked;
    }
    x->close |= must_close(x, status);
    return true;
}

void
http_begin_answer(struct exchange *x, int status, const char *type,
                  int64_t length)
{
    if (begin(x, status, length) &&
        http_add_head(&x->out, x, type, length) != 0) {
        fail(x);
    }
}

struct str
http_head(struct http_request *r, int status, const char *content_type)
{
    struct exchange *x = exchange_of(r);
    struct buf b;

    http_set_status(x, status);
    x->close = true;
    buf_init(&b, SIZE_MAX / 2);
    if (http_add_head(&b, x, content_type, -1) != 0) {
        buf_clear(&b); /* the client sees the connection end */
    }

    struct str head = pool_str(r->pool, buf_str(&b));

    buf_clear(&b);
    return head;
}

void
http_send_info(struct http_request *r, int status,
               const struct http_header *headers, size_t count)
{
    struct exchange *x = exchange_of(r);
    struct buf b;

    assert(x->status == 0 && status >= 100 && status <= 199 && status != 101);
    if (x->head.version == 10 || x->c->conn == NULL) {
        return;
    }
    buf_init(&b, SIZE_MAX / 2);
    if (http_add_info(&b, status, headers, count) != 0) {
        fail(x);
    } else {
        struct iovec iov = { (void *)(uintptr_t)buf_data(&b), buf_len(&b) };

        http_send_bytes(x, &iov, 1);
    }
    buf_clear(&b);
}

/* ---- answers ---- */

static void
end_answer(struct exchange *x)
{
    x->ended = true;
    x->on_room = NULL;
    http_settle_later(x->c);
}

/* The head lies in scratch. */
static void
send_with_head(struct exchange *x, struct str body)
{
    struct iovec iov[2];
    int count = 1;

    if (body.len <= SMALL_BODY && buf_add_str(&scratch, body) == 0) {
        body.len = 0;
    }
    iov[0] = (struct iovec){ (void *)(uintptr_t)buf_data(&scratch),
                             buf_len(&scratch) };
    if (body.len > 0) {
        iov[count++] = (struct iovec){ (void *)(uintptr_t)body.ptr, body.len };
    }
    http_send_bytes(x, iov, count);
}

enum http_result
http_answer(struct exchange *x, int status, const char *type, struct str body)
{
    if (begin(x, status, (int64_t)body.len)) {
        int bad = http_add_head(&scratch, x, type, (int64_t)body.len);

        body.len = x->no_body ? 0 : body.len;
        x->body_sent += body.len;
        if (bad != 0) {
            fail(x);
        } else {
            send_with_head(x, body);
        }
        buf_take(&scratch, buf_len(&scratch));
        if (scratch.size > SCRATCH_MAX) {
            buf_clear(&scratch);
        }
    }
    end_answer(x);
    return HTTP_DONE;
}

enum http_result
http_reply(struct http_request *r, int status, const char *content_type,
           struct str body)
{
    struct exchange *x = exchange_of(r);

    http_code_body(x, status, content_type, &body);
    return http_answer(x, status, content_type, body);
}

enum http_result
http_reply_shared(struct http_request *r, int status, const char *content_type,
                  struct str body, struct buf *gzip)
{
    struct exchange *x = exchange_of(r);

    http_code_shared(x, status, content_type, &body, gzip);
    return http_answer(x, status, content_type, body);
}

void
http_start_length(struct http_request *r, int status, const char *content_type,
                  uint64_t length)
{
    struct exchange *x = exchange_of(r);

    x->has_length = true;
    x->to_come = length;
    http_begin_answer(x, status, content_type, (int64_t)length);
    http_settle_later(x->c);
}

void
http_send_as_is(struct http_request *r)
{
    exchange_of(r)->as_is = true;
}

void
http_start(struct http_request *r, int status, const char *content_type)
{
    struct exchange *x = exchange_of(r);

    http_code_stream(x, status, content_type);
    http_begin_answer(x, status, content_type, -1);
    http_settle_later(x->c); /* sends the head if nothing comes with it */
}

/* A head that waits takes a small body along: one range, as SMALL_BODY says. */
static bool
joins_head(struct exchange *x, struct str data)
{
    size_t kept = buf_len(&x->out);

    if (kept == 0 || x->stalled_ms != 0 || kept + data.len > SMALL_BODY ||
        buf_add_str(&x->out, data) == -1) {
        return false;
    }
    http_send_bytes(x, NULL, 0);
    return true;
}

static void
send_chunked(struct exchange *x, struct str data)
{
    char size[20];
    int n = snprintf(size, sizeof(size), "%zx\r\n", data.len);
    struct iovec iov[3] = {
        { size, (size_t)n },
        { (void *)(uintptr_t)data.ptr, data.len },
        { (void *)(uintptr_t) "\r\n", 2 },
    };

    http_send_bytes(x, iov, 3);
}

static void
send_part(struct exchange *x, struct str data)
{
    struct iovec iov = { (void *)(uintptr_t)data.ptr, data.len };

    if (data.len == 0) {
        return;
    }
    x->body_sent += data.len;
    x->to_come -= x->has_length ? data.len : 0;
    if (x->chunked) {
        send_chunked(x, data);
    } else if (!joins_head(x, data)) {
        http_send_bytes(x, &iov, 1);
    }
}

void
http_send_piece(struct exchange *x, struct str data, enum gzip_flush flush)
{
    struct buf out;

    if (x->gzip == NULL) {
        send_part(x, data);
        return;
    }
    buf_init(&out, SIZE_MAX / 2);
    if (gzip_add(x->gzip, data, flush, &out) == -1) {
        fail(x);
    } else {
        send_part(x, buf_str(&out));
    }
    buf_clear(&out);
}

static void
send_last_chunk(struct exchange *x)
{
    struct buf b;
    int bad;

    buf_init(&b, SIZE_MAX / 2);
    bad = buf_add_str(&b, STR("0\r\n"));
    bad |= http_add_trailers(&b, x);
    bad |= buf_add_str(&b, STR("\r\n"));
    if (bad != 0) {
        fail(x);
    } else {
        struct iovec iov = { (void *)(uintptr_t)buf_data(&b), buf_len(&b) };

        http_send_bytes(x, &iov, 1);
    }
    buf_clear(&b);
}

void
http_send_end(struct exchange *x)
{
    struct iovec last = { (void *)(uintptr_t) "0\r\n\r\n", 5 };

    if (x->no_body) {
        return;
    }
    if (x->gzip != NULL) {
        http_send_piece(x, STR_NONE, GZIP_END);
    }
    if (x->chunked && x->trailers != NULL) {
        send_last_chunk(x);
    } else if (x->chunked) {
        http_send_bytes(x, &last, 1);
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
    assert(!x->has_length || data.len <= x->to_come);
    if (x->stalled_ms != 0 && kept > 0 && kept + data.len > STREAM_ROOM) {
        return -1;
    }
    http_send_piece(x, data, GZIP_FLUSH);
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

    if (x->has_length && x->to_come > 0 && !x->no_body) {
        http_break(r);
        return HTTP_DONE;
    }
    http_send_end(x);
    x->close |= x->endless;
    end_answer(x);
    return HTTP_DONE;
}
