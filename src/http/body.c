/*
 * Bodies by length or chunked, kept or dropped.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/body.h"

#define LIMIT_NOWHERE (64 * 1024) /* where no location says one */
#define TRAILERS_MAX 4096

void
http_body_init(struct http_body *b, const struct http_head *head)
{
    *b = (struct http_body){ .is_chunked = head->chunked,
                             .limit = LIMIT_NOWHERE };
    b->left = head->length > 0 ? (uint64_t)head->length : 0;
    b->done = !b->is_chunked && b->left == 0;
    buf_init(&b->bytes, 0);
    buf_init(&b->trailers, TRAILERS_MAX);
    b->chunked.trailers = &b->trailers;
}

void
http_body_clear(struct http_body *b)
{
    buf_clear(&b->bytes);
    buf_clear(&b->trailers);
}

/* The next piece of payload at the front of data; bytes eaten, or -1. */
static ssize_t
next_piece(struct http_body *b, const uint8_t *data, size_t n,
           struct str *piece)
{
    if (b->is_chunked) {
        ssize_t eaten = http_chunked_eat(&b->chunked, data, n, piece);

        b->done = http_chunked_done(&b->chunked);
        return eaten;
    }
    *piece = str_of(data, n < b->left ? n : (size_t)b->left);
    b->left -= piece->len;
    b->done = b->left == 0;
    return (ssize_t)piece->len;
}

static int
take_piece(struct http_body *b, struct str piece)
{
    uint64_t room = b->limit - b->seen;

    if (piece.len > room ||
        (b->is_chunked && http_chunked_left(&b->chunked) > room - piece.len)) {
        return -1;
    }
    b->seen += piece.len;
    return 0;
}

static int
keep_piece(struct http_body *b, struct str piece)
{
    b->bytes.limit = (size_t)b->limit;
    return b->keep ? buf_add_str(&b->bytes, piece) : 0;
}

ssize_t
http_body_next(struct http_body *b, const uint8_t *data, size_t n,
               struct str *piece, enum http_refusal *why)
{
    ssize_t ate = next_piece(b, data, n, piece);

    if (ate < 0) {
        *why = b->chunked.why;
        return -1;
    }
    if (take_piece(b, *piece) == -1) {
        *why = REFUSE_BODY_LONG;
        return -1;
    }
    return ate;
}

void
http_body_return(struct http_body *b, size_t n)
{
    b->seen -= n;
    if (b->is_chunked) {
        http_chunked_return(&b->chunked, n);
    } else {
        b->left += n;
    }
    b->done = b->done && n == 0;
}

ssize_t
http_body_eat(struct http_body *b, const uint8_t *data, size_t n,
              enum http_refusal *why)
{
    size_t eaten = 0;
    struct str piece;

    while (eaten < n && !b->done) {
        ssize_t ate = http_body_next(b, data + eaten, n - eaten, &piece, why);

        if (ate < 0) {
            return -1;
        }
        if (keep_piece(b, piece) == -1) {
            *why = REFUSE_BODY_LONG;
            return -1;
        }
        eaten += (size_t)ate;
    }
    return (ssize_t)eaten;
}

static size_t
count_lines(struct str text)
{
    size_t n = 0;

    for (; text.len > 0; n++) {
        str_cut(&text, '\n');
    }
    return n;
}

void
http_body_trailers(const struct http_body *b, struct pool *pool,
                   const struct http_header **out, size_t *count)
{
    http_split_trailers(pool, buf_str(&b->trailers), out, count);
}

void
http_split_trailers(struct pool *pool, struct str lines,
                    const struct http_header **out, size_t *count)
{
    struct str rest = lines;
    struct http_header *all;

    *count = 0;
    if (rest.len == 0) {
        return;
    }
    rest = pool_str(pool, rest);
    all = pool_alloc(pool, count_lines(rest) * sizeof(*all));
    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');
        struct str value = str_first(line, line.len - 1); /* the CR */
        struct str name = str_cut(&value, ':');

        if (str_find(name, '_', 0) == name.len) {
            all[(*count)++] = (struct http_header){ name, str_trim(value) };
        }
    }
    *out = all;
}
