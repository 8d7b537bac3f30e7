/*
 * One pass for bytes, one from "<" to "<".
 *
 * It needs to know no more of XML than where markup ends: a text that is not
 * well-formed may be seen differently here, but the parser stops at the first
 * such place.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "xml/scan.h"

#include <string.h>

#include "base/utf8.h"
#include "xml/read.h"

static int
line_of(struct str text, size_t at)
{
    int line = 1;

    for (size_t i = 0; i < at; i++) {
        line += text.ptr[i] == '\n';
    }
    return line;
}

/* ---- bytes ---- */

static int
scan_bytes(struct str text, struct errmsg *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            return errmsg_set(err,
                              "line %d: the character U+%04X cannot stand "
                              "in XML",
                              line_of(text, i), c);
        }
    }
    if (!utf8_valid(text)) {
        return errmsg_set(err, "the text is not valid UTF-8");
    }
    return 0;
}

/* ---- the declaration ---- */

/* The position of word in s, or s.len. */
static size_t
position(struct str s, struct str word)
{
    const char *hit = memmem(s.ptr, s.len, word.ptr, word.len);

    return hit != NULL ? (size_t)(hit - s.ptr) : s.len;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct str
skip_blanks(struct str s)
{
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s = str_skip(s, 1);
    }
    return s;
}

/* <?xml version="1.0" encoding="NAME"?> */
static int
scan_declaration(struct str text, struct errmsg *err)
{
    struct str head = str_first(text, position(text, STR("?>")));
    struct str rest = str_skip(head, position(head, STR("encoding")));
    struct str name;

    rest = skip_blanks(str_skip(rest, 8));
    if (!str_starts(text, STR("<?xml")) || rest.len < 3 || rest.ptr[0] != '=') {
        return 0; /* no encoding, or it is malformed */
    }
    rest = skip_blanks(str_skip(rest, 1));
    name = str_skip(rest, 1);
    name = str_first(name, rest.len > 0 ? str_find(name, rest.ptr[0], 0) : 0);
    if (str_eq_nocase(name, STR("UTF-8"))) {
        return 0;
    }
    return errmsg_set(err, "line 1: the encoding is %.*s: only UTF-8 is read",
                      (int)(name.len < 40 ? name.len : 40), name.ptr);
}

/* ---- markup ---- */

/* The bytes from "<" to behind ">", of a start or end tag; counts values. */
static size_t
tag_length(struct str tag, size_t *values)
{
    char quote = 0;

    *values = 0;
    for (size_t i = 1; i < tag.len; i++) {
        char c = tag.ptr[i];

        if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
            ++*values;
        } else if (c == '>') {
            return i + 1;
        }
        if (i > XML_READ_TAG || *values > XML_READ_ATTRIBUTES) {
            return i;
        }
    }
    return tag.len;
}

/* The bytes up to and with the mark that ends it. */
static size_t
until(struct str s, size_t from, struct str mark)
{
    size_t n = from + position(str_skip(s, from), mark) + mark.len;

    return n < s.len ? n : s.len;
}

/* The bytes of the markup at the front of s; 0 with err. */
static size_t
markup(struct str s, struct errmsg *err)
{
    size_t values, n;

    if (str_starts(s, STR("<!--"))) {
        return until(s, 4, STR("-->"));
    }
    if (str_starts(s, STR("<![CDATA["))) {
        return until(s, 9, STR("]]>"));
    }
    if (str_starts(s, STR("<?"))) {
        return until(s, 2, STR("?>"));
    }
    if (str_starts(s, STR("<!"))) {
        errmsg_set(err, "document types and declarations are not taken");
        return 0;
    }
    n = tag_length(s, &values);
    if (n > XML_READ_TAG) {
        errmsg_set(err, "a tag is longer than %zu bytes", XML_READ_TAG);
        return 0;
    }
    if (values > XML_READ_ATTRIBUTES) {
        errmsg_set(err, "a tag has more than %d attributes",
                   XML_READ_ATTRIBUTES);
        return 0;
    }
    return n;
}

static int
scan_markup(struct str text, struct errmsg *err)
{
    size_t at = str_find(text, '<', 0);

    while (at < text.len) {
        size_t n = markup(str_skip(text, at), err);

        if (n == 0) {
            return errmsg_prefix(err, "line %d: ", line_of(text, at));
        }
        at = str_find(text, '<', at + n);
    }
    return 0;
}

int
xml_scan(struct str text, struct errmsg *err)
{
    if (str_starts(text, STR("\xfe\xff")) ||
        str_starts(text, STR("\xff\xfe"))) {
        return errmsg_set(err, "the text is UTF-16: only UTF-8 is read");
    }
    if (scan_bytes(text, err) == -1 || scan_declaration(text, err) == -1) {
        return -1;
    }
    return scan_markup(text, err);
}
