/*
 * Heads, lengths and chunks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_wire.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 16384, BODY_MAX = 1 << 28 };

/* The value of a header, or NULL; it ends with its line. */
static const char *
find(const char *head, size_t n, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i + 2 + length < n; i++) {
        const char *line = head + i + 2;

        if (head[i] == '\r' && strncasecmp(line, name, length) == 0 &&
            line[length] == ':') {
            line += length + 1;
            return line + strspn(line, " ");
        }
    }
    return NULL;
}

/* The chunks at p: bytes that they take, 0 while there are more to come, -1
 * when one is too long.  With to, their data is moved there. */
static ssize_t
walk_chunks(uint8_t *p, size_t n, uint8_t *to, size_t *size)
{
    size_t at = 0, length;

    *size = 0;
    do {
        const uint8_t *end = memchr(p + at, '\n', n - at);

        if (end == NULL) {
            return 0;
        }
        length = strtoul((const char *)p + at, NULL, 16);
        at = (size_t)(end - p) + 1;
        if (length > BODY_MAX || n - at < length + 2) {
            return length > BODY_MAX ? -1 : 0;
        }
        if (to != NULL) {
            memmove(to + *size, p + at, length);
        }
        *size += length;
        at += length + 2;
    } while (length > 0);
    return (ssize_t)at;
}

/* Nothing moves before all of them are here. */
static ssize_t
read_chunks(uint8_t *p, size_t n, struct http_in *a)
{
    ssize_t whole = walk_chunks(p, n, NULL, &a->size);

    return whole > 0 ? walk_chunks(p, n, p, &a->size) : whole;
}

static ssize_t
read_body(uint8_t *head, size_t head_size, size_t n, struct http_in *a,
          const char **why)
{
    const char *length = find((const char *)head, head_size, "Content-Length");
    ssize_t took;

    a->body = head + head_size;
    a->size = 0;
    if (a->status < 200 || a->status == 204) {
        return (ssize_t)head_size;
    }
    if (length != NULL) {
        unsigned long size = strtoul(length, NULL, 10);

        a->size = size <= BODY_MAX ? size : BODY_MAX;
        return n - head_size < a->size ? 0 : (ssize_t)(head_size + a->size);
    }
    if (find((const char *)head, head_size, "Transfer-Encoding") == NULL) {
        *why = "an answer without a length";
        return -1;
    }
    took = read_chunks(a->body, n - head_size, a);
    *why = "a chunk of more than 256 MB";
    return took > 0 ? took + (ssize_t)head_size : took;
}

ssize_t
http_read(uint8_t *p, size_t n, struct http_in *a, const char **why)
{
    static const char first[] = "HTTP/1.1 ";
    const uint8_t *end = memmem(p, n, "\r\n\r\n", 4);
    const char *connection;
    size_t head_size;

    if (n >= sizeof(first) - 1 && memcmp(p, first, sizeof(first) - 1) != 0) {
        *why = "no answer of HTTP/1.1";
        return -1;
    }
    if (end == NULL) {
        *why = "a head of more than 16 KB";
        return n > HEAD_MAX ? -1 : 0;
    }
    head_size = (size_t)(end - p) + 4;
    *a = (struct http_in){ 0 };
    a->status =
        (unsigned)strtoul((const char *)p + sizeof(first) - 1, NULL, 10);
    connection = find((const char *)p, head_size, "Connection");
    a->closes = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    return read_body(p, head_size, n, a, why);
}
