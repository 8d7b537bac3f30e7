/*
 * Escaping for JSON and HTML.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/escape.h"

#include <string.h>

#include "base/utf8.h"

/* How a byte is written in JSON, NULL for as it is. */
static const char *
json_short(unsigned char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static int
json_byte(struct buf *b, unsigned char c)
{
    const char *text = json_short(c);

    if (text != NULL) {
        return buf_add_str(b, str_from(text));
    }
    if (c < ' ' || c == 0x7f || c == '<' || c == '>') {
        return buf_printf(b, "\\u%04x", c);
    }
    return buf_add(b, &c, 1);
}

/* Adds the character at the front of *s and takes it off. */
static int
json_char(struct buf *b, struct str *s)
{
    size_t n = utf8_char(*s);
    struct str c = str_first(*s, n > 0 ? n : 1);

    *s = str_skip(*s, c.len);
    if (n == 0) {
        return buf_add_str(b, STR("\xef\xbf\xbd"));
    }
    if (n == 1) {
        return json_byte(b, (unsigned char)c.ptr[0]);
    }
    if (str_eq(c, STR("\xe2\x80\xa8"))) {
        return buf_add_str(b, STR("\\u2028"));
    }
    if (str_eq(c, STR("\xe2\x80\xa9"))) {
        return buf_add_str(b, STR("\\u2029"));
    }
    return buf_add_str(b, c);
}

/* Bytes at the front that are written as they are. */
static size_t
plain_bytes(struct str s)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= ' ' && s.ptr[n] < 0x7f && s.ptr[n] != '"' &&
           s.ptr[n] != '\\' && s.ptr[n] != '<' && s.ptr[n] != '>') {
        n++;
    }
    return n;
}

int
http_json_string(struct buf *b, struct str s)
{
    int result = buf_add(b, "\"", 1);

    while (result == 0 && s.len > 0) {
        size_t n = plain_bytes(s);

        result = n > 0 ? buf_add(b, s.ptr, n) : json_char(b, &s);
        s = str_skip(s, n);
    }
    return result == 0 ? buf_add(b, "\"", 1) : -1;
}

int
http_html_text(struct buf *b, struct str s)
{
    int result = 0;

    for (size_t i = 0; i < s.len && result == 0; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (strchr("<>&\"'", c) != NULL) {
            result = buf_printf(b, "&#%d;", c);
        } else {
            result = buf_add(b, &c, 1);
        }
    }
    return result;
}
