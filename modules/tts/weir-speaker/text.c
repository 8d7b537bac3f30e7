/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "text.h"

#include "base/mem.h"

#include <string.h>

static bool
is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
           c == 0x7f;
}

/* The number of "NUMBER;" or "xNUMBER;" at the front of s; -1: it is none, or
 * one that the library's reader may take for another. */
static int64_t
reference_value(struct str s)
{
    int base = s.len > 0 && s.ptr[0] == 'x' ? 16 : 10;
    size_t from = base == 16;
    size_t end = str_find(s, ';', from);
    int64_t value = 0;

    if (end == s.len || end == from || end - from > 7) {
        return -1;
    }
    for (size_t i = from; i < end; i++) {
        int digit = str_hex_digit(s.ptr[i]);

        if (digit == -1 || digit >= base) {
            return -1;
        }
        value = value * base + digit;
    }
    return value;
}

/* Whether a '&' may stay: no character reference, or one of a character that
 * may stand in a text. */
static bool
reference_is_good(struct str after)
{
    int64_t value;

    if (after.len == 0 || after.ptr[0] != '#') {
        return true;
    }
    value = reference_value(str_first(str_skip(after, 1), 16));
    return value == '\t' || value == '\n' || value == '\r' ||
           (value >= 0x20 && value != 0x7f && value <= 0x10ffff);
}

char *
text_clean(struct str text, bool ssml)
{
    char *copy = try_alloc(text.len + 1);

    if (copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < text.len; i++) {
        bool bad =
            is_control(text.ptr[i]) ||
            (ssml && text.ptr[i] == '&' &&
             !reference_is_good(str_of(text.ptr + i + 1, text.len - i - 1)));

        copy[i] = bad ? ' ' : text.ptr[i];
    }
    copy[text.len] = '\0';
    return copy;
}
