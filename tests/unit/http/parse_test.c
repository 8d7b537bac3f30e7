/*
 * Request heads: what is refused and why, what is understood, and that
 * neither depends on how the bytes were cut.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/parse.h"
#include "oracle.h"

static const struct http_limits limits = {
    .head = 16384, .target = 8192, .header = 8192, .headers = 100
};

struct outcome {
    enum http_refusal why;
    size_t len; /* of the head, 0 if it never got whole */
    bool more;  /* would wait for more bytes */
};

/* How many bytes come next; 0: all of them. */
typedef size_t cut(size_t at);

static size_t
whole(size_t at)
{
    (void)at;
    return SIZE_MAX;
}

static size_t
byte_by_byte(size_t at)
{
    (void)at;
    return 1;
}

static size_t
randomly(size_t at)
{
    (void)at;
    return 1 + (size_t)rand() % 7;
}

/* Each offer lies in memory of its very size, so that a sanitizer sees every
 * byte read behind it. */
static struct outcome
read_head(struct pool *pool, struct str bytes, cut *next, struct http_head *out)
{
    struct http_scan scan = { 0 };
    struct outcome o = { .more = true };

    for (size_t n = 0; n < bytes.len;) {
        size_t step = next(n);

        n = step < bytes.len - n ? n + step : bytes.len;
        char *copy = mem_dup(bytes.ptr, n);
        ssize_t len = http_scan(&scan, (uint8_t *)copy, n, &limits);

        if (len > 0) {
            o.len = (size_t)len;
            o.more = false;
            o.why = http_parse(pool, &scan, (uint8_t *)copy, (size_t)len, out);
            assert_true(o.why != REFUSE_NONE || oracle_agrees(out));
        } else if (len < 0) {
            o.more = false;
            o.why = scan.why;
        }
        mem_free(&copy);
        if (len != 0) {
            break;
        }
    }
    return o;
}

/* Reads it cut in every way, which must not matter. */
static struct outcome
read_all_ways(struct str bytes)
{
    static cut *const cuts[] = { whole, byte_by_byte, randomly, randomly };
    struct outcome first = { .why = REFUSE_NONE };

    for (size_t i = 0; i < 4; i++) {
        struct pool *pool = pool_new(1024);
        struct http_head head;
        struct outcome o = read_head(pool, bytes, cuts[i], &head);

        if (i == 0) {
            first = o;
        }
        assert_int_equal(o.why, first.why);
        assert_int_equal(o.len, first.len);
        assert_int_equal(o.more, first.more);
        pool_free(&pool);
    }
    return first;
}

/* ---- the matrix ---- */

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define ROW(text, refusal)                           \
    {                                                \
        { text, sizeof(text) - 1 }, REFUSE_##refusal \
    }

static const struct {
    struct str bytes;
    enum http_refusal why;
} matrix[] = {
    /* one way of framing, said once */
    ROW(POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", BOTH),
    ROW(POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", BOTH),
    ROW(POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", LENGTHS),
    ROW(POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", LENGTHS),
    ROW(POST "Content-Length: 3\r\ncontent-length: 3\r\n\r\n", LENGTHS),
    ROW(POST "Content-Length: 3, 3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: +3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: -3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 0x3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 3 3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 3\t\r\n\r\n", LENGTH),
    ROW(POST "Content-Length:\t3\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: \t\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 3.0\r\n\r\n", LENGTH),
    ROW(POST "Content-Length:\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: \"3\"\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 9223372036854775808\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 18446744073709551619\r\n\r\n", LENGTH),
    ROW(POST "Content-Length: 99999999999999999999999\r\n\r\n", LENGTH),
    ROW(POST "Transfer-Encoding: xchunked\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked\t\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: \t chunked\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding:\tchunked \r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunkedx\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: identity\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: gzip\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding:\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked, identity\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: gzip, chunked\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked, chunked\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked,\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: \"chunked\"\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked;q=1\r\n\r\n", CODING),
    ROW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        CODINGS),
    ROW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
        CODINGS),
    ROW("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        CODING_ON_10),
    /* lines */
    ROW(GET "X: a\r\n b\r\n\r\n", FOLDED),
    ROW(GET "X: a\r\n\tb\r\n\r\n", FOLDED),
    ROW(POST "X: a\r\n Content-Length: 2\r\n\r\n", FOLDED),
    ROW("GET / HTTP/1.1\r\n Host: a\r\n\r\n", FOLDED),
    ROW(GET "X : a\r\n\r\n", NAME),
    ROW(GET "X\t: a\r\n\r\n", NAME),
    ROW(GET ": a\r\n\r\n", NAME),
    ROW(GET "X\r\n\r\n", NAME),
    ROW(GET "X(y): a\r\n\r\n", NAME),
    ROW(GET "X\xc3\xa4: a\r\n\r\n", NAME),
    ROW("GET / HTTP/1.1\nHost: a\n\n", BARE_LF),
    ROW(GET "X: a\nY: b\r\n\r\n", BARE_LF),
    ROW(GET "X\nY: b\r\n\r\n", BARE_LF),
    ROW(GET "\n", BARE_LF),
    ROW("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", BARE_LF),
    ROW(GET "X: a\rTransfer-Encoding: chunked\r\n\r\n", BARE_CR),
    ROW(GET "X-Abc:\rxTransfer-Encoding: chunked\r\n\r\n", BARE_CR),
    ROW(GET "X: a\r\r\n\r\n", BARE_CR),
    ROW(GET "\r\r\n", BARE_CR),
    ROW(GET "X: a\r\n\rX", BARE_CR),
    ROW("GET / HTTP/1.1\rHost: a\r\n\r\n", BARE_CR),
    ROW("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", BARE_CR),
    ROW(GET "X: a\0b\r\n\r\n", CONTROL),
    ROW(GET "X\0: a\r\n\r\n", CONTROL),
    ROW("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", CONTROL),
    ROW(GET "X: a\x01\r\n\r\n", CONTROL),
    ROW(GET "X: a\x7f\r\n\r\n", CONTROL),
    ROW(GET "X: a\x0b\r\n\r\n", CONTROL),
    ROW("\x16\x03\x01\x02", CONTROL), /* TLS at the wrong door */
    ROW("\x03\x00\x00", CONTROL),     /* RTMP as well */
    /* the request line */
    ROW("GET /\r\n", VERSION),
    ROW("GET / HTTP/0.9\r\nHost: a\r\n\r\n", VERSION),
    ROW("GET / HTTP/2.0\r\nHost: a\r\n\r\n", VERSION),
    ROW("GET / HTTP/2\r\nHost: a\r\n\r\n", VERSION),
    ROW("GET / HTTP/1.2\r\nHost: a\r\n\r\n", VERSION),
    ROW("GET / HTTP/3.1\r\nHost: a\r\n\r\n", VERSION),
    ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", VERSION),
    ROW("GET / HTTP/1.10\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / HTTP/01.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / HTTP/1.1x\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / http/1.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / HTTP/x.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / HTTP/\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / ICE/1.0\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", REQUEST_LINE),
    ROW("GET\r\n", REQUEST_LINE),
    ROW("GET \r\n", REQUEST_LINE),
    ROW(" GET / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("get / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("Get / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("G3T / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("-GET / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", METHOD), /* 33 */
    ROW("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD),
    ROW("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", NO_METHOD),
    ROW("QUERY / HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("VERSION-CONTROL / HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: a\r\n\r\n",
        NO_METHOD), /* 32 */
    ROW("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", CONNECT),
    ROW("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET a HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET * HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET http:/a/ HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    ROW("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
    /* the host */
    ROW("GET / HTTP/1.1\r\n\r\n", NO_HOST),
    ROW("GET http://a/ HTTP/1.1\r\n\r\n", NO_HOST),
    ROW("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", HOSTS),
    ROW("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", HOSTS),
    ROW("GET / HTTP/1.1\r\nHost:\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a:123456\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: :80\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: []\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n", HOST),
    ROW("GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n", HOST),
    ROW("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", HOST),
    ROW("GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", HOST),
    /* other */
    ROW(POST "Upgrade: websocket\r\nContent-Length: 1\r\n\r\n", UPGRADE_BODY),
    ROW(POST "Upgrade: WebSocket/13\r\nTransfer-Encoding: chunked\r\n\r\n",
        UPGRADE_BODY),
    ROW(POST "Upgrade: h2c , websocket\r\nContent-Length: 1\r\n\r\n",
        UPGRADE_BODY),
    ROW(POST "Upgrade: h2c\r\nUpgrade: websocket\r\n"
             "Content-Length: 1\r\n\r\n",
        UPGRADE_BODY),
    ROW(POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n", EXPECT),
    ROW(POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", EXPECT),
    /* fine, odd as it may look */
    ROW(GET "\r\n", NONE),
    ROW("\r\n" GET "\r\n", NONE),
    ROW("GET / HTTP/1.1\r\nHOST:a\r\n\r\n", NONE),
    ROW("GET / HTTP/1.1\r\nHost:  a \t\r\n\r\n", NONE),
    ROW("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", NONE),
    ROW("GET / HTTP/1.1\r\nHost: a.b-c_d:80\r\n\r\n", NONE),
    ROW("GET / HTTP/1.0\r\n\r\n", NONE),
    ROW("GET http://a/b?c HTTP/1.1\r\nHost: A\r\n\r\n", NONE),
    ROW("GET HTTP://a HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", TRACE),
    ROW(GET "X:\r\nY: \r\nZ: a\tb\r\n\r\n", NONE),
    ROW(GET "X: \xfc\xff\x80\r\n\r\n", NONE),
    ROW(GET "!#$%&'*+-.^_`|~0aZ: x\r\n\r\n", NONE),
    ROW("GET /%7B?a=[b]&\"<>\\^`{|} HTTP/1.1\r\nHost: a\r\n\r\n", NONE),
    ROW(POST "Content-Length: 000\r\n\r\n", NONE),
    ROW(POST "Content-Length: 9223372036854775807\r\n\r\n", NONE),
    ROW(POST "Transfer-Encoding: Chunked\r\n\r\n", NONE),
    ROW(GET "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", NONE),
    ROW(GET "Upgrade: websocket\r\nContent-Length: 0\r\n\r\n", NONE),
    ROW(POST "Upgrade: h2c\r\nContent-Length: 1\r\n\r\n", NONE),
    ROW(POST "Upgrade: h2c, TLS/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        NONE),
    ROW(POST "Upgrade: websockets\r\nContent-Length: 1\r\n\r\n", NONE),
    ROW(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n", NONE),
    ROW(POST "Connection: Content-Length, close\r\nContent-Length: 1\r\n\r\n",
        NONE),
};

static void
test_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++) {
        struct outcome o = read_all_ways(matrix[i].bytes);

        if (o.why != matrix[i].why || o.more) {
            fail_msg("\"%s\": \"%s\" instead of \"%s\"%s", matrix[i].bytes.ptr,
                     http_refusal_text(o.why), http_refusal_text(matrix[i].why),
                     o.more ? ", waits for more" : "");
        }
        if (o.why == REFUSE_NONE) {
            assert_int_equal(o.len, matrix[i].bytes.len);
        }
    }
}

static enum http_refusal
in_a_value(int c)
{
    bool control = (c < ' ' && c != '\t') || c == 0x7f;

    return c == '\r'   ? REFUSE_BARE_CR
           : c == '\n' ? REFUSE_BARE_LF
           : control   ? REFUSE_CONTROL
                       : REFUSE_NONE;
}

/* Eight bytes of a value are looked at together: each byte at each place among
 * them counts as if it came alone. */
static void
test_every_byte_of_a_value(void **state)
{
    char text[] = GET "X: 0123456789abcdef\xff\x80pq\r\n\r\n";
    const size_t first = sizeof(GET "X: ") - 1;

    (void)state;
    for (size_t place = first; place < first + 20; place++) {
        char before = text[place];
        for (int c = 0; c < 256; c++) {
            text[place] = (char)c;
            struct outcome o =
                read_all_ways((struct str){ text, sizeof(text) - 1 });

            assert_int_equal(o.why, in_a_value(c));
            assert_false(o.more);
        }
        text[place] = before;
    }
}

/* A head cut anywhere waits for more, and is never taken for whole. */
static void
test_every_prefix_waits(void **state)
{
    struct str text = STR(POST "Content-Length: 3\r\nX: y\r\n\r\n");

    (void)state;
    for (size_t n = 1; n < text.len; n++) {
        struct outcome o = read_all_ways(str_first(text, n));

        assert_true(o.more);
        assert_int_equal(o.why, REFUSE_NONE);
    }
    assert_false(read_all_ways(text).more);
}

/* ---- sizes ---- */

/* prefix, n times fill, suffix. */
static struct outcome
read_filled(const char *prefix, size_t n, const char *suffix)
{
    size_t before = strlen(prefix), behind = strlen(suffix);
    char *text = mem_alloc(before + n + behind);
    struct outcome o;

    memcpy(text, prefix, before);
    memset(text + before, 'a', n);
    memcpy(text + before + n, suffix, behind);
    o = read_all_ways((struct str){ text, before + n + behind });
    mem_free(&text);
    return o;
}

static void
test_target_size(void **state)
{
    (void)state;
    assert_int_equal(
        read_filled("GET /", 8191, " HTTP/1.1\r\nHost: a\r\n\r\n").why,
        REFUSE_NONE);
    assert_int_equal(
        read_filled("GET /", 8192, " HTTP/1.1\r\nHost: a\r\n\r\n").why,
        REFUSE_TARGET_LONG);
    assert_int_equal(read_filled("GET /", 20000, "").why, REFUSE_TARGET_LONG);
}

static void
test_header_size(void **state)
{
    (void)state;
    assert_int_equal(read_filled(GET "X:", 8190, "\r\n\r\n").why, REFUSE_NONE);
    assert_int_equal(read_filled(GET "X:", 8191, "\r\n\r\n").why,
                     REFUSE_HEADER_LONG);
    assert_int_equal(read_filled(GET, 8193, ": x\r\n\r\n").why,
                     REFUSE_HEADER_LONG);
}

static struct outcome
read_headers(size_t count, size_t value_len)
{
    struct buf b;
    struct outcome o;

    buf_init(&b, 1 << 20);
    buf_add_str(&b, STR("GET / HTTP/1.0\r\n"));
    for (size_t i = 0; i < count; i++) {
        buf_printf(&b, "X: %0*d\r\n", (int)value_len, 0);
    }
    buf_add_str(&b, STR("\r\n"));
    o = read_all_ways(buf_str(&b));
    buf_clear(&b);
    return o;
}

static void
test_header_count(void **state)
{
    (void)state;
    assert_int_equal(read_headers(100, 1).why, REFUSE_NONE);
    assert_int_equal(read_headers(101, 1).why, REFUSE_HEADER_COUNT);
}

static void
test_head_size(void **state)
{
    (void)state;
    /* 16 + 18 * 909 + 2 = 16380, then 4 bytes less than the limit */
    assert_int_equal(read_headers(18, 904).why, REFUSE_NONE);
    assert_int_equal(read_headers(18, 905).why, REFUSE_HEAD_LONG);
}

/* ---- what is understood ---- */

static struct http_head
understand(struct pool *pool, struct str text)
{
    struct http_head head;
    struct outcome o = read_head(pool, text, whole, &head);

    assert_int_equal(o.why, REFUSE_NONE);
    assert_false(o.more);
    return head;
}

static void
assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.ptr, expected, s.len);
}

static void
test_request_line(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_head h = understand(
        pool, STR("\r\nPUT /a%20b?c=d?e HTTP/1.1\r\nHost: h:1\r\n\r\n"));

    (void)state;
    assert_str(h.line, "PUT /a%20b?c=d?e HTTP/1.1");
    assert_str(h.method, "PUT");
    assert_str(h.target, "/a%20b?c=d?e");
    assert_str(h.path, "/a%20b");
    assert_str(h.query, "c=d?e");
    assert_str(h.host, "h:1");
    assert_int_equal(h.version, 11);
    assert_int_equal(h.length, -1);
    assert_false(h.chunked);
    pool_free(&pool);
}

static void
test_absolute_target(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_head h =
        understand(pool, STR("GET http://h:1?x/y HTTP/1.0\r\n\r\n"));

    (void)state;
    assert_str(h.path, "/");
    assert_str(h.query, "x/y");
    assert_str(h.host, "h:1");
    assert_int_equal(h.version, 10);
    pool_free(&pool);
}

static void
test_headers(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_head h =
        understand(pool, STR(GET "X-One: \t 1 2 \r\nX_Two: no\r\n"
                                 "Content_Length: 7\r\nX-Three:\r\n\r\n"));

    (void)state;
    assert_int_equal(h.header_count, 3);
    assert_str(h.headers[1].name, "X-One");
    assert_str(h.headers[1].value, "1 2");
    assert_str(h.headers[2].name, "X-Three");
    assert_str(h.headers[2].value, "");
    assert_int_equal(h.length, -1);
    pool_free(&pool);
}

static void
test_keep_alive(void **state)
{
    const struct {
        struct str text;
        bool keep;
    } rows[] = {
        { STR(GET "\r\n"), true },
        { STR(GET "Connection: close\r\n\r\n"), false },
        { STR(GET "Connection: x, Close ,y\r\n\r\n"), false },
        { STR(GET "Connection: x\r\nConnection: close\r\n\r\n"), false },
        { STR(GET "Connection: closed\r\n\r\n"), true },
        { STR("GET / HTTP/1.0\r\n\r\n"), false },
        { STR("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), true },
        { STR("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"),
          false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pool *pool = pool_new(256);

        assert_int_equal(understand(pool, rows[i].text).keep_alive,
                         rows[i].keep);
        pool_free(&pool);
    }
}

static void
test_framing(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_head h =
        understand(pool, STR(POST "Content-Length: 0012\r\n"
                                  "Expect: 100-continue\r\n\r\n"));

    (void)state;
    assert_int_equal(h.length, 12);
    assert_true(h.expects_continue);
    h = understand(pool, STR(POST "Transfer-Encoding: chunked\r\n\r\n"));
    assert_true(h.chunked);
    assert_int_equal(h.length, -1);
    assert_false(h.expects_continue);
    pool_free(&pool);
}

static void
test_every_refusal_has_words(void **state)
{
    (void)state;
    for (int i = 1; i < REFUSE_COUNT; i++) {
        int status = http_refusal_status((enum http_refusal)i);

        assert_true(status >= 400 && status <= 505);
        assert_true(strlen(http_refusal_text((enum http_refusal)i)) > 5);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_every_byte_of_a_value),
        cmocka_unit_test(test_every_prefix_waits),
        cmocka_unit_test(test_target_size),
        cmocka_unit_test(test_header_size),
        cmocka_unit_test(test_header_count),
        cmocka_unit_test(test_head_size),
        cmocka_unit_test(test_request_line),
        cmocka_unit_test(test_absolute_target),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_every_refusal_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
