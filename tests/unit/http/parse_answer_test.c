/*
 * Heads of answers: what is refused and why, how a body is framed, and that
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

#include <string.h>

#include "base/mem.h"
#include "http/parse_answer.h"
#include "oracle.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const struct http_limits limits = {
    .head = 400, .target = 10, .header = 100, .headers = 5
};

/* Offers `step` bytes more each time, in memory of their very size, so that a
 * sanitizer sees every byte read behind them. */
static enum http_refusal
read_answer(struct pool *pool, const char *method, struct str bytes,
            size_t step, struct http_answer *out)
{
    struct http_scan scan = { 0 };
    enum http_refusal why = REFUSE_NONE;
    ssize_t len = 0;

    for (size_t n = 0; n < bytes.len && len == 0;) {
        n = step < bytes.len - n ? n + step : bytes.len;
        char *copy = mem_dup(bytes.ptr, n);

        len = http_scan_answer(&scan, (uint8_t *)copy, n, &limits);
        if (len > 0) {
            why = http_parse_answer(pool, &scan, (uint8_t *)copy, (size_t)len,
                                    str_from(method), out);
        }
        mem_free(&copy);
    }
    assert_int_not_equal(len, 0);
    return len < 0 ? (enum http_refusal)scan.why : why;
}

static const struct {
    const char *head;
    enum http_refusal why;
} refused[] = {
    { "\r\n" OK "\r\n", REFUSE_STATUS_LINE },
    { " HTTP/1.1 200 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 \r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1  200 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1\t200 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 20 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 2000 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 099 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 600 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 2x0 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 +20 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/1.1 200\tOK\r\n\r\n", REFUSE_STATUS_LINE },
    { "http/1.1 200 OK\r\n\r\n", REFUSE_STATUS_LINE },
    { "GET / HTTP/1.1\r\n\r\n", REFUSE_STATUS_LINE },
    { "HTTP/2.0 200 OK\r\n\r\n", REFUSE_VERSION },
    { "HTTP/0.9 200 OK\r\n\r\n", REFUSE_VERSION },
    { "HTTP/1.1 200 OK\n\r\n", REFUSE_BARE_LF },
    { "HTTP/1.1 200 OK\rX", REFUSE_BARE_CR },
    { OK "A: b\nC: d\r\n\r\n", REFUSE_BARE_LF },
    { OK "A: b\rC: d\r\n\r\n", REFUSE_BARE_CR },
    { OK "\rX", REFUSE_BARE_CR },
    { OK "A: b\r\n c\r\n\r\n", REFUSE_FOLDED },
    { OK " A: b\r\n\r\n", REFUSE_FOLDED },
    { OK "A : b\r\n\r\n", REFUSE_NAME },
    { OK ": b\r\n\r\n", REFUSE_NAME },
    { OK "A\r\n\r\n", REFUSE_NAME },
    { OK "A: \x01\r\n\r\n", REFUSE_CONTROL },
    { OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", REFUSE_LENGTHS },
    { OK "Content-Length: 1, 1\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length: +1\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length: -1\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length: 0x1\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length:\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length: 99999999999999999999\r\n\r\n", REFUSE_LENGTH },
    { OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      REFUSE_BOTH },
    { OK "Transfer-Encoding: gzip, chunked\r\n\r\n", REFUSE_CODING },
    { OK "Transfer-Encoding: identity\r\n\r\n", REFUSE_CODING },
    { OK "Transfer-Encoding:\tchunked\r\n\r\n", REFUSE_CODING },
    { OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      REFUSE_CODINGS },
    { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      REFUSE_CODING_ON_10 },
    { OK "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\nF: 1\r\n\r\n",
      REFUSE_HEADER_COUNT },
};

static void
test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        for (size_t step = 1; step < 500; step = step * 3 + 1) {
            struct pool *pool = pool_new(256);
            struct http_answer a;

            assert_int_equal(
                read_answer(pool, "GET", str_from(refused[i].head), step, &a),
                refused[i].why);
            pool_free(&pool);
        }
    }
}

static void
test_sizes(void **state)
{
    struct buf head;

    (void)state;
    for (int in_status = 0; in_status < 2; in_status++) {
        struct pool *pool = pool_new(256);
        struct http_answer a;

        buf_init(&head, 1000);
        buf_add_str(&head, in_status ? STR("HTTP/1.1 200 ") : STR(OK "A: "));
        for (int i = 0; i < 200; i++) {
            buf_add(&head, "x", 1);
        }
        assert_int_equal(read_answer(pool, "GET", buf_str(&head), 7, &a),
                         REFUSE_HEADER_LONG);
        buf_clear(&head);
        pool_free(&pool);
    }
}

static void
test_framing(void **state)
{
    static const struct {
        const char *method, *head;
        int status;
        enum http_framing framing;
        bool last;
    } rows[] = {
        { "GET", OK "Content-Length: 5\r\n\r\n", 200, HTTP_BODY_BY_LENGTH,
          false },
        { "GET", OK "Content-Length: 0\r\n\r\n", 200, HTTP_BODY_BY_LENGTH,
          false },
        { "GET", OK "Transfer-Encoding: chunked\r\n\r\n", 200,
          HTTP_BODY_BY_CHUNKS, false },
        { "GET", OK "\r\n", 200, HTTP_BODY_TO_CLOSE, true },
        { "GET", OK "Content-Length: 5\r\nConnection: x, close\r\n\r\n", 200,
          HTTP_BODY_BY_LENGTH, true },
        { "GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", 200,
          HTTP_BODY_BY_LENGTH, true },
        { "GET",
          "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n"
          "Connection: keep-alive\r\n\r\n",
          200, HTTP_BODY_BY_LENGTH, false },
        { "HEAD", OK "Content-Length: 5\r\n\r\n", 200, HTTP_BODY_NONE, false },
        { "HEAD", OK "Transfer-Encoding: chunked\r\n\r\n", 200, HTTP_BODY_NONE,
          false },
        { "HEAD", OK "\r\n", 200, HTTP_BODY_NONE, false },
        { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304,
          HTTP_BODY_NONE, false },
        { "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, HTTP_BODY_NONE,
          false },
        { "GET", "HTTP/1.1 204\r\nContent-Length: 0\r\n\r\n", 204,
          HTTP_BODY_NONE, false },
        { "GET", "HTTP/1.1 204 \r\nContent-Length: 5\r\n\r\n", 204,
          HTTP_BODY_NONE, true },
        { "GET", "HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n", 204,
          HTTP_BODY_NONE, true },
        { "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 103,
          HTTP_BODY_NONE, false },
        { "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 101,
          HTTP_BODY_NONE, false },
        { "GET", "HTTP/1.1 599 Caf\xe9\r\nContent-Length: 0\r\n\r\n", 599,
          HTTP_BODY_BY_LENGTH, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pool *pool = pool_new(256);
        struct http_answer a;

        assert_int_equal(read_answer(pool, rows[i].method,
                                     str_from(rows[i].head), 1 + i, &a),
                         REFUSE_NONE);
        assert_int_equal(a.status, rows[i].status);
        assert_int_equal(a.framing, rows[i].framing);
        assert_int_equal(a.last, rows[i].last);
        assert_true(oracle_agrees_with_answer(&a));
        pool_free(&pool);
    }
}

static void
test_parts_of_a_head(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_answer a;

    (void)state;
    assert_int_equal(read_answer(pool, "GET",
                                 STR("HTTP/1.0 404 Not  here \r\n"
                                     "Set-Cookie: a=1\r\nset-cookie:b=2 \r\n"
                                     "x_y:\r\n\r\nmore"),
                                 3, &a),
                     REFUSE_NONE);
    assert_int_equal(a.head.version, 10);
    assert_true(str_eq(a.reason, STR("Not  here ")));
    assert_int_equal(a.head.header_count, 3);
    assert_true(str_eq(a.head.headers[1].name, STR("set-cookie")));
    assert_true(str_eq(a.head.headers[1].value, STR("b=2")));
    assert_true(str_eq(a.head.headers[2].name, STR("x_y")));
    assert_int_equal(a.head.headers[2].value.len, 0);
    pool_free(&pool);
}

/* What lies behind the bytes that came is not looked at. */
static void
test_no_byte_too_many(void **state)
{
    const struct http_limits l = { 1000, 1000, 1000, 10 };
    const char text[] = OK "A: 0123456789abcdef\r\nB: 0123\r\nC: 012345678";

    (void)state;
    for (size_t n = 1; n + 8 < sizeof(text); n++) {
        struct http_scan scan = { 0 };

        assert_int_equal(http_scan_answer(&scan, (const uint8_t *)text, n, &l),
                         0);
        assert_int_equal(scan.at, n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_parts_of_a_head),
        cmocka_unit_test(test_no_byte_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
