/*
 * Request ids and traces.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/trace.h"

#include <string.h>

#include "base/rand.h"

#define ID_BYTES 16
#define STOCK 256 /* ids drawn at once: one system call for so many requests */

/* Random bytes, each given out once.  A process draws its own: nothing is
 * drawn before the workers are forked. */
static struct {
    uint8_t bytes[STOCK * ID_BYTES];
    size_t left;
} stock;

static const uint8_t *
draw(size_t n)
{
    if (stock.left < n) {
        rand_bytes(stock.bytes, sizeof(stock.bytes));
        stock.left = sizeof(stock.bytes);
    }
    stock.left -= n;
    return stock.bytes + stock.left;
}

/* n random bytes as lower-case hex digits, in pool. */
static struct str
random_hex(struct pool *pool, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = draw(n);
    char *text = pool_alloc(pool, 2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[from[i] >> 4];
        text[2 * i + 1] = digits[from[i] & 15];
    }
    text[2 * n] = '\0';
    return str_of(text, 2 * n);
}

void
http_trace_begin(struct http_request *r)
{
    r->request_id = random_hex(r->pool, ID_BYTES);
    r->trace_id = r->request_id;
}
