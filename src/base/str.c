/*
 * Strings as pointer and length.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/str.h"

#include <string.h>

#include "base/utf8.h"

/* Longest strings that str_distance() looks into. */
#define DISTANCE_MAX 128

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Most are written alike: eight bytes of these are compared at once. */
bool
str_same_nocase(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    while (i + 8 <= n && memcmp(a + i, b + i, 8) == 0) {
        i += 8;
    }
    for (; i < n; i++) {
        if (a[i] != b[i] && lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

bool
str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_first(s, prefix.len), prefix);
}

bool
str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           str_eq(str_skip(s, s.len - suffix.len), suffix);
}

int
str_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;

    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

int
str_compare_nocase(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;

    for (size_t i = 0; i < n; i++) {
        int order = lower(a.ptr[i]) - lower(b.ptr[i]);

        if (order != 0) {
            return order;
        }
    }
    return (a.len > b.len) - (a.len < b.len);
}

size_t
str_find(struct str s, char c, size_t from)
{
    const char *hit;

    if (from >= s.len) {
        return s.len;
    }
    hit = memchr(s.ptr + from, c, s.len - from);
    return hit != NULL ? (size_t)(hit - s.ptr) : s.len;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str
str_trim(struct str s)
{
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str
str_trim_space(struct str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

struct str
str_cut(struct str *s, char c)
{
    size_t at = str_find(*s, c, 0);
    struct str before = str_first(*s, at);

    *s = str_skip(*s, at < s->len ? at + 1 : at);
    return before;
}

/* The digits of s as a number of at most max; false if it is none. */
static bool
digits(struct str s, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;

    if (s.len == 0) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned char)s.ptr[i] - (unsigned)'0';

        if (digit > 9 || n > (UINT64_MAX - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    *out = n;
    return n <= max;
}

bool
str_to_int(struct str s, int64_t min, int64_t max, int64_t *out)
{
    bool negative = min < 0 && s.len > 0 && s.ptr[0] == '-';
    uint64_t n;
    int64_t value;

    if (negative) {
        if (!digits(str_skip(s, 1), (uint64_t)INT64_MAX + 1, &n)) {
            return false;
        }
        value = n == 0 ? 0 : -(int64_t)(n - 1) - 1;
    } else {
        if (!digits(s, INT64_MAX, &n)) {
            return false;
        }
        value = (int64_t)n;
    }
    if (value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

size_t
str_copy(char *dst, size_t size, struct str s)
{
    size_t n;

    if (size == 0) {
        return 0;
    }
    n = s.len < size ? s.len : size - 1;
    if (n > 0) {
        memcpy(dst, s.ptr, n);
    }
    dst[n] = '\0';
    return n;
}

size_t
str_append(char *dst, size_t size, size_t len, struct str s)
{
    return len < size ? len + str_copy(dst + len, size - len, s) : len;
}

void
str_hex(char *dst, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;

    for (size_t i = 0; i < n; i++) {
        *dst++ = digits[from[i] >> 4];
        *dst++ = digits[from[i] & 15];
    }
    *dst = '\0';
}

int
str_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Puts the character at the front of s, or its first byte escaped, at to,
 * which has room for 4 bytes; tells how many bytes of s these were.  `more` are
 * escaped, too. */
static size_t
escape_char(char *to, struct str s, const char *more, size_t *used)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = utf8_char(s);
    unsigned c = (unsigned char)s.ptr[0];

    if (n == 0 || c < 0x20 || c == 0x7f || strchr(more, (int)c) != NULL) {
        const char text[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

        memcpy(to, text, sizeof(text));
        *used = sizeof(text);
        return 1;
    }
    memcpy(to, s.ptr, n);
    *used = n;
    return n;
}

static size_t
escape(char *dst, size_t size, struct str s, const char *more)
{
    size_t len = 0;

    if (size == 0) {
        return 0;
    }
    while (s.len > 0) {
        char text[4];
        size_t used;
        size_t n = escape_char(text, s, more, &used);

        if (used >= size - len) {
            break;
        }
        memcpy(dst + len, text, used);
        len += used;
        s = str_skip(s, n);
    }
    dst[len] = '\0';
    return len;
}

size_t
str_escape(char *dst, size_t size, struct str s)
{
    return escape(dst, size, s, "\"\\");
}

size_t
str_escape_words(char *dst, size_t size, struct str s)
{
    return escape(dst, size, s, "");
}

static size_t
smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Whether a swap of two neighbours ends at a[i - 1] and b[j - 1]. */
static bool
is_swap(struct str a, size_t i, struct str b, size_t j)
{
    return i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] &&
           a.ptr[i - 2] == b.ptr[j - 1];
}

size_t
str_distance(struct str a, struct str b, size_t limit)
{
    /* rows[i % 3][j]: edits from the first i characters of a to the first j
     * of b (optimal string alignment) */
    size_t rows[3][DISTANCE_MAX + 1];

    if (a.len > DISTANCE_MAX || b.len > DISTANCE_MAX) {
        return str_eq(a, b) ? 0 : limit + 1;
    }
    for (size_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool differ = a.ptr[i - 1] != b.ptr[j - 1];

            row[j] =
                smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + differ);
            if (is_swap(a, i, b, j) && rows[(i + 1) % 3][j - 2] < row[j]) {
                row[j] = rows[(i + 1) % 3][j - 2] + 1;
            }
        }
    }
    size_t edits = rows[a.len % 3][b.len];

    return edits <= limit ? edits : limit + 1;
}
