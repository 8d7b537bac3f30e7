/*
 * Percent-encoding and dot segments.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/path.h"

#include <string.h>
#include <sys/types.h>

/* The byte that "%xx" at raw[at] stands for, -1 if it is not that. */
static int
decoded_byte(struct str raw, size_t at)
{
    if (raw.len - at < 3) {
        return -1;
    }
    int high = str_hex_digit(raw.ptr[at + 1]);
    int low = str_hex_digit(raw.ptr[at + 2]);

    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Into dst, which has room for raw.len bytes; its length, or -1.  *plain: no
 * segment is empty or begins with a dot. */
static ssize_t
decode(char *dst, struct str raw, bool *plain)
{
    size_t n = 0;
    int before = 0;

    *plain = true;
    for (size_t i = 0; i < raw.len; i++) {
        int c = (unsigned char)raw.ptr[i];

        if (c == '%') {
            c = decoded_byte(raw, i);
            i += 2;
        }
        if (c < ' ' || c == 0x7f) {
            return -1;
        }
        *plain &= before != '/' || (c != '/' && c != '.');
        before = c;
        dst[n++] = (char)c;
    }
    return (ssize_t)n;
}

/* Length of what is left of "/a/b" when its last segment goes; -1: none. */
static ssize_t
without_last(const char *path, size_t n)
{
    if (n == 0) {
        return -1;
    }
    while (path[n - 1] != '/') {
        n--;
    }
    return (ssize_t)n - 1;
}

/* Resolves in place; the result is never longer.  Its length, or -1. */
static ssize_t
resolve(char *path, size_t n)
{
    struct str rest = str_skip((struct str){ path, n }, 1);
    size_t kept = 0; /* "/a/b", without a slash at the end */
    bool slash = true;

    while (rest.len > 0) {
        slash = str_find(rest, '/', 0) < rest.len;
        struct str segment = str_cut(&rest, '/');

        if (str_eq(segment, STR(".."))) {
            ssize_t left = without_last(path, kept);

            if (left < 0) {
                return -1;
            }
            kept = (size_t)left;
            slash = true;
        } else if (segment.len == 0 || str_eq(segment, STR("."))) {
            slash = true;
        } else {
            path[kept++] = '/';
            memmove(path + kept, segment.ptr, segment.len);
            kept += segment.len;
        }
    }
    if (slash) {
        path[kept++] = '/';
    }
    return (ssize_t)kept;
}

int
http_path_decode(struct pool *pool, struct str raw, struct str *out)
{
    char *path = pool_alloc(pool, raw.len + 1);
    bool plain;
    ssize_t n = decode(path, raw, &plain);

    if (n < 1 || path[0] != '/') {
        return -1;
    }
    if (!plain) {
        n = resolve(path, (size_t)n);
    }
    if (n < 0) {
        return -1;
    }
    path[n] = '\0';
    *out = (struct str){ path, (size_t)n };
    return 0;
}

static bool
is_slash(char c)
{
    return c == '/' || c == '\\';
}

struct str
http_path_local(struct pool *pool, struct str raw)
{
    size_t n = 0;

    while (n < raw.len && is_slash(raw.ptr[n])) {
        n++;
    }
    return n < 2 ? raw : pool_printf(pool, "/%.*s", STR_ARGS(str_skip(raw, n)));
}

static bool
stands_for_itself(unsigned char c, const char *beside)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr(beside, c) != NULL);
}

static struct str
encode(struct pool *pool, struct str text, const char *beside)
{
    static const char hex[] = "0123456789ABCDEF";
    char *dst = pool_alloc(pool, text.len * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (stands_for_itself(c, beside)) {
            dst[n++] = (char)c;
        } else {
            dst[n++] = '%';
            dst[n++] = hex[c >> 4];
            dst[n++] = hex[c & 15];
        }
    }
    dst[n] = '\0';
    return (struct str){ dst, n };
}

struct str
http_path_encode(struct pool *pool, struct str path)
{
    return encode(pool, path, "/-._~!$&'()*+,;=:@");
}

struct str
http_query_encode(struct pool *pool, struct str text)
{
    return encode(pool, text, "-._~");
}

bool
http_query_is_encoded(struct str raw)
{
    for (size_t i = str_find(raw, '%', 0); i < raw.len;
         i = str_find(raw, '%', i + 1)) {
        if (decoded_byte(raw, i) < 0) {
            return false;
        }
    }
    return true;
}

/* The next byte of what raw stands for; *at moves behind its code. */
static char
query_byte(struct str raw, size_t *at)
{
    int c = raw.ptr[*at] == '%' ? decoded_byte(raw, *at) : -1;

    if (c >= 0) {
        *at += 3;
        return (char)c;
    }
    char plain = raw.ptr[(*at)++];

    return plain == '+' ? ' ' : plain;
}

struct str
http_query_decode(struct pool *pool, struct str raw)
{
    char *dst = pool_alloc(pool, raw.len + 1);
    size_t n = 0;

    for (size_t at = 0; at < raw.len; n++) {
        dst[n] = query_byte(raw, &at);
    }
    dst[n] = '\0';
    return (struct str){ dst, n };
}

bool
http_query_is(struct str raw, struct str text)
{
    size_t at = 0, n = 0;

    while (at < raw.len && n < text.len &&
           query_byte(raw, &at) == text.ptr[n]) {
        n++;
    }
    return at == raw.len && n == text.len;
}

struct str
http_path_last(struct str path)
{
    size_t begin = path.len;

    while (begin > 0 && path.ptr[begin - 1] != '/') {
        begin--;
    }
    return str_skip(path, begin);
}
