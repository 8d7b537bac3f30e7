/*
 * Strings of JSON texts, piece by piece.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "json/text.h"

#include <string.h>

#include "base/utf8.h"

#define LONGEST 4 /* bytes of a character (RFC 3629) */

/* ---- escapes ---- */

/* The four hexadecimal digits behind "\u"; -1: there are none. */
static int
unit_at(struct str s, size_t at)
{
    int n = 0;

    if (at + 6 > s.len || s.ptr[at] != '\\' || s.ptr[at + 1] != 'u') {
        return -1;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = str_hex_digit(s.ptr[i]);

        if (digit < 0) {
            return -1;
        }
        n = n * 16 + digit;
    }
    return n;
}

size_t
json_lone_surrogate(struct str s)
{
    for (size_t at = str_find(s, '\\', 0); at < s.len;
         at = str_find(s, '\\', at)) {
        int unit = unit_at(s, at);

        if (unit >= 0xd800 && unit <= 0xdbff) {
            int low = unit_at(s, at + 6);

            if (low < 0xdc00 || low > 0xdfff) {
                return at;
            }
            at += 12;
        } else if (unit >= 0xdc00 && unit <= 0xdfff) {
            return at;
        } else {
            at += 2;
        }
    }
    return s.len;
}

/* Bytes of the escape there, with the other half of a pair; 0: it may go on
 * behind the end of s. */
static size_t
escape_length(struct str s, size_t at)
{
    int unit = unit_at(s, at);
    size_t n = unit < 0 ? 2 : unit >= 0xd800 && unit <= 0xdbff ? 12 : 6;

    if (unit < 0 && at + 6 > s.len &&
        (at + 1 == s.len || s.ptr[at + 1] == 'u')) {
        return 0;
    }
    return at + n <= s.len ? n : 0;
}

size_t
json_whole_length(struct str piece)
{
    size_t whole = utf8_length(piece), n;
    struct str s =
        str_first(piece, piece.len - whole < LONGEST ? whole : piece.len);
    size_t at = str_find(s, '\\', 0);

    while (at < s.len) {
        n = escape_length(s, at);
        if (n == 0) {
            return at;
        }
        at = str_find(s, '\\', at + n);
    }
    return s.len;
}

/* ---- a string ---- */

static int
add_character(struct buf *to, unsigned c)
{
    char utf8[LONGEST];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

    for (size_t i = n; i > 1; i--) {
        utf8[i - 1] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    utf8[0] = (char)(first[n] | c);
    return buf_add(to, utf8, n);
}

/* Where "\\u" is no escape, behind its first bytes. */
static size_t
wrong_digit(struct str s, size_t at)
{
    size_t i = at + 2;

    while (i < s.len && i < at + 6 && str_hex_digit(s.ptr[i]) >= 0) {
        i++;
    }
    return i;
}

/* The escape at the front of s: its bytes, 0 if it is wrong, at *wrong. */
static size_t
take_escape(struct buf *to, struct str s, size_t *wrong)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *name =
        s.len > 1 && s.ptr[1] != '\0' ? strchr(names, s.ptr[1]) : NULL;
    int unit = unit_at(s, 0), low = unit_at(s, 6);

    if (name != NULL) {
        return buf_add(to, &meant[name - names], 1) == 0 ? 2 : 0;
    }
    if (unit < 0) {
        *wrong = s.len > 1 && s.ptr[1] == 'u' ? wrong_digit(s, 0)
                                              : (s.len > 1 ? 1 : s.len);
        return 0;
    }
    if (unit >= 0xd800 && unit <= 0xdbff && low >= 0) {
        unsigned high = ((unsigned)unit - 0xd800) << 10;

        return add_character(to, 0x10000 + high + ((unsigned)low - 0xdc00)) == 0
                   ? 12
                   : 0;
    }
    return add_character(to, (unsigned)unit) == 0 ? 6 : 0;
}

/* Bytes that stand for themselves. */
static size_t
plain_length(struct str s)
{
    size_t i = 0;

    while (i < s.len && s.ptr[i] != '"' && s.ptr[i] != '\\' &&
           (unsigned char)s.ptr[i] >= ' ') {
        i++;
    }
    return i;
}

enum json_string
json_string_take(struct buf *to, struct str piece, size_t *taken)
{
    size_t at = 0;

    while (at < piece.len) {
        struct str rest = str_skip(piece, at);
        size_t n = plain_length(rest), wrong = 0;

        *taken = at + n;
        if (buf_add(to, rest.ptr, n) == -1) {
            return JSON_STRING_WRONG;
        }
        at += n;
        if (n == rest.len) {
            break;
        }
        if (rest.ptr[n] == '"') {
            *taken = at + 1;
            return JSON_STRING_ENDS;
        }
        n = rest.ptr[n] == '\\' ? take_escape(to, str_skip(piece, at), &wrong)
                                : 0;
        *taken = at + wrong;
        if (n == 0) {
            return JSON_STRING_WRONG;
        }
        at += n;
    }
    *taken = piece.len;
    return JSON_STRING_GOES_ON;
}
