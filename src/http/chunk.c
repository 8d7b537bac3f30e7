/*
 * Chunked bodies, byte by byte except the data.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/chunk.h"

#include <assert.h>
#include <string.h>

#include "http/head_scan.h"

#define DIGITS_MAX 16
#define EXTENSION_MAX 256
#define TRAILER_MAX 4096

enum state {
    IN_SIZE,
    AT_EXTENSION_NAME, /* its first byte, which there must be */
    IN_EXTENSION_NAME,
    AT_EXTENSION_VALUE,
    IN_EXTENSION_VALUE,
    AT_SIZE_LF,
    IN_DATA,
    AT_DATA_CR,
    AT_DATA_LF,
    AT_TRAILER, /* first byte of a line behind the last chunk */
    IN_TRAILER_NAME,
    IN_TRAILER_VALUE,
    AT_TRAILER_LF,
    AT_LAST_LF,
    AT_END,
};

static bool
refuse(struct http_chunked *c, enum http_refusal why)
{
    c->why = (uint8_t)why;
    return false;
}

static bool
enter(struct http_chunked *c, enum state state)
{
    c->state = (uint8_t)state;
    return true;
}

static bool
eat_size(struct http_chunked *c, uint8_t b)
{
    int digit = str_hex_digit((char)b);

    if (digit >= 0) {
        if (c->digits == DIGITS_MAX) {
            return refuse(c, REFUSE_CHUNK);
        }
        c->digits++;
        c->left = c->left << 4 | (uint64_t)digit;
        return true;
    }
    if (c->digits == 0 || c->left > INT64_MAX) {
        return refuse(c, REFUSE_CHUNK);
    }
    if (b == '\r') {
        return enter(c, AT_SIZE_LF);
    }
    if (b == ';') {
        c->extension++;
        return c->extension <= EXTENSION_MAX
                   ? enter(c, AT_EXTENSION_NAME)
                   : refuse(c, REFUSE_CHUNK_EXTENSION);
    }
    return refuse(c, REFUSE_CHUNK);
}

/* ";name" or ";name=value", both tokens. */
static bool
eat_extension(struct http_chunked *c, uint8_t b)
{
    bool in_name = c->state <= IN_EXTENSION_NAME;
    bool begun =
        c->state == IN_EXTENSION_NAME || c->state == IN_EXTENSION_VALUE;

    if (b == '\r' && begun) {
        return enter(c, AT_SIZE_LF);
    }
    if (++c->extension > EXTENSION_MAX) {
        return refuse(c, REFUSE_CHUNK_EXTENSION);
    }
    if (http_is_token(b)) {
        return enter(c, in_name ? IN_EXTENSION_NAME : IN_EXTENSION_VALUE);
    }
    if (b == ';' && begun) {
        return enter(c, AT_EXTENSION_NAME);
    }
    if (b == '=' && begun && in_name) {
        return enter(c, AT_EXTENSION_VALUE);
    }
    return refuse(c, REFUSE_CHUNK_EXTENSION);
}

static bool
eat_lf(struct http_chunked *c, uint8_t b, enum state next)
{
    if (b != '\n') {
        return refuse(c, REFUSE_CHUNK);
    }
    c->digits = 0;
    c->name_len = 0;
    return enter(c, next);
}

static bool
eat_trailer_start(struct http_chunked *c, uint8_t b)
{
    if (b == '\r') {
        return enter(c, AT_LAST_LF);
    }
    if (!http_is_token(b)) {
        return refuse(c, REFUSE_TRAILER);
    }
    c->name[c->name_len++] = (char)b;
    return enter(c, IN_TRAILER_NAME);
}

/* One that tries to change the framing tells of an attempt. */
static bool
trailer_allowed(const struct http_chunked *c)
{
    struct str name = { c->name, c->name_len };

    return !str_eq_nocase(name, STR("Content-Length")) &&
           !str_eq_nocase(name, STR("Transfer-Encoding")) &&
           !str_eq_nocase(name, STR("Host"));
}

static bool
eat_trailer_name(struct http_chunked *c, uint8_t b)
{
    if (b == ':') {
        return trailer_allowed(c) ? enter(c, IN_TRAILER_VALUE)
                                  : refuse(c, REFUSE_TRAILER);
    }
    if (!http_is_token(b)) {
        return refuse(c, REFUSE_TRAILER);
    }
    if (c->name_len < sizeof(c->name)) {
        c->name[c->name_len++] = (char)b;
    }
    return true;
}

static bool
eat_trailer_value(struct http_chunked *c, uint8_t b)
{
    if (b == '\r') {
        return enter(c, AT_TRAILER_LF);
    }
    if (b == 0x7f || (b < ' ' && b != '\t')) {
        return refuse(c, REFUSE_TRAILER);
    }
    return true;
}

static bool
eat_data_cr(struct http_chunked *c, uint8_t b)
{
    return b == '\r' ? enter(c, AT_DATA_LF) : refuse(c, REFUSE_CHUNK);
}

static bool
in_trailer(const struct http_chunked *c)
{
    return c->state >= AT_TRAILER;
}

/* Keeps the bytes of trailers, but not of the empty line behind them. */
static bool
note_trailer(struct http_chunked *c, uint8_t b)
{
    bool last = c->state == AT_LAST_LF || (c->state == AT_TRAILER && b == '\r');

    if (++c->trailer > TRAILER_MAX) {
        return refuse(c, REFUSE_TRAILER);
    }
    if (c->trailers != NULL && !last && buf_add(c->trailers, &b, 1) == -1) {
        return refuse(c, REFUSE_TRAILER);
    }
    return true;
}

/* A byte that is not data. */
static bool
eat_byte(struct http_chunked *c, uint8_t b)
{
    if (in_trailer(c) && !note_trailer(c, b)) {
        return false;
    }
    switch ((enum state)c->state) {
    case IN_SIZE:
        return eat_size(c, b);
    case AT_EXTENSION_NAME:
    case IN_EXTENSION_NAME:
    case AT_EXTENSION_VALUE:
    case IN_EXTENSION_VALUE:
        return eat_extension(c, b);
    case AT_SIZE_LF:
        return eat_lf(c, b, c->left > 0 ? IN_DATA : AT_TRAILER);
    case AT_DATA_CR:
        return eat_data_cr(c, b);
    case AT_DATA_LF:
        return eat_lf(c, b, IN_SIZE);
    case AT_TRAILER:
        return eat_trailer_start(c, b);
    case IN_TRAILER_NAME:
        return eat_trailer_name(c, b);
    case IN_TRAILER_VALUE:
        return eat_trailer_value(c, b);
    case AT_TRAILER_LF:
        return eat_lf(c, b, AT_TRAILER);
    case AT_LAST_LF:
        return eat_lf(c, b, AT_END);
    case IN_DATA:
    case AT_END:
        break;
    }
    assert(false && "data is not eaten byte by byte");
    return false;
}

static size_t
eat_data(struct http_chunked *c, const uint8_t *data, size_t n,
         struct str *piece)
{
    size_t take = n < c->left ? n : (size_t)c->left;

    *piece = str_of(data, take);
    c->left -= take;
    if (c->left == 0) {
        enter(c, AT_DATA_CR);
    }
    return take;
}

ssize_t
http_chunked_eat(struct http_chunked *c, const uint8_t *data, size_t n,
                 struct str *piece)
{
    size_t eaten = 0;

    *piece = STR_NONE;
    if (c->why != REFUSE_NONE) {
        return -1;
    }
    while (eaten < n && c->state != AT_END) {
        if (c->state == IN_DATA) {
            eaten += eat_data(c, data + eaten, n - eaten, piece);
            break;
        }
        if (!eat_byte(c, data[eaten])) {
            return -1;
        }
        eaten++;
    }
    return (ssize_t)eaten;
}

void
http_chunked_return(struct http_chunked *c, size_t n)
{
    if (n > 0) {
        c->left += n;
        enter(c, IN_DATA);
    }
}

uint64_t
http_chunked_left(const struct http_chunked *c)
{
    return c->state == IN_DATA ? c->left : 0;
}

bool
http_chunked_done(const struct http_chunked *c)
{
    return c->state == AT_END;
}
