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

#define LONGEST 4        /* bytes of a character (RFC 3629) */
#define MARKUP_BEGINS 9  /* bytes that tell what it is: <![CDATA[ */
#define DECLARATION 8192 /* bytes of one, at most */

static int
newlines(struct str text, size_t at)
{
    int n = 0;

    for (size_t i = 0; i < at; i++) {
        n += text.ptr[i] == '\n';
    }
    return n;
}

/* ---- bytes ---- */

static int
scan_bytes(const struct xml_scan *s, struct str text, struct errmsg *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            return errmsg_set(err,
                              "line %d: the character U+%04X cannot stand "
                              "in XML",
                              s->lines + newlines(text, i) + 1, c);
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

/* Whether all of it has come, or there is none. */
static bool
is_declared(struct str text)
{
    return !str_starts(text, STR("<?xml")) ||
           position(text, STR("?>")) < text.len;
}

/* 1: on; 0: more has to come first; -1 with err. */
static int
scan_beginning(struct str text, bool last, struct errmsg *err)
{
    if (str_starts(text, STR("\xfe\xff")) ||
        str_starts(text, STR("\xff\xfe"))) {
        return errmsg_set(err, "the text is UTF-16: only UTF-8 is read");
    }
    if (!last && (text.len < MARKUP_BEGINS || !is_declared(text))) {
        return text.len <= DECLARATION
                   ? 0
                   : errmsg_set(err, "line 1: the declaration is too long");
    }
    return 1;
}

/* ---- markup ---- */

static int
refuse_tag(const struct xml_scan *s, struct errmsg *err)
{
    if (s->values > XML_READ_ATTRIBUTES) {
        return errmsg_set(err, "line %d: a tag has more than %d attributes",
                          s->tag_line, XML_READ_ATTRIBUTES);
    }
    return errmsg_set(err, "line %d: a tag is longer than %zu bytes",
                      s->tag_line, XML_READ_TAG);
}

/* On in a start or end tag, to behind its ">"; the bytes of that, or -1 with
 * err.  Each value is counted, as libxml2 compares each with each. */
static ssize_t
pass_tag(struct xml_scan *s, struct str rest, struct errmsg *err)
{
    size_t i = 0;

    for (; i < rest.len && s->in_tag; i++) {
        char c = rest.ptr[i];

        if (s->quote != 0) {
            s->quote = c == s->quote ? 0 : s->quote;
        } else if (c == '"' || c == '\'') {
            s->quote = c;
            s->values++;
        } else {
            s->in_tag = c != '>';
        }
        if (++s->length > XML_READ_TAG || s->values > XML_READ_ATTRIBUTES) {
            return refuse_tag(s, err);
        }
    }
    return (ssize_t)i;
}

/* On to behind the mark; else only what cannot be the mark's beginning. */
static ssize_t
pass_mark(struct xml_scan *s, struct str rest, bool last)
{
    size_t at = position(rest, s->mark), kept = s->mark.len - 1;

    if (at < rest.len) {
        at += s->mark.len;
        s->mark = STR_NONE;
        return (ssize_t)at;
    }
    if (last) {
        return (ssize_t)rest.len;
    }
    return rest.len > kept ? (ssize_t)(rest.len - kept) : 0;
}

/* Enters the markup at the "<" in front of rest; the bytes that told which it
 * is, or -1 with err. */
static ssize_t
enter_markup(struct xml_scan *s, struct str rest, struct errmsg *err)
{
    static const struct {
        struct str begin, end;
    } marks[] = { { { "<!--", 4 }, { "-->", 3 } },
                  { { "<![CDATA[", 9 }, { "]]>", 3 } },
                  { { "<?", 2 }, { "?>", 2 } } };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (str_starts(rest, marks[i].begin)) {
            s->mark = marks[i].end;
            return (ssize_t)marks[i].begin.len;
        }
    }
    if (str_starts(rest, STR("<!"))) {
        return errmsg_set(
            err, "line %d: document types and declarations are not taken",
            s->lines + 1);
    }
    s->in_tag = true;
    s->quote = 0;
    s->values = 0;
    s->length = 1;
    s->tag_line = s->lines + 1;
    return 1;
}

/* One step from `at` in the piece; 0: it waits for the next piece. */
static ssize_t
scan_step(struct xml_scan *s, struct str piece, size_t at, bool last,
          struct errmsg *err)
{
    struct str rest = str_skip(piece, at);
    size_t next;

    if (s->mark.len > 0) {
        return pass_mark(s, rest, last);
    }
    if (s->in_tag) {
        return pass_tag(s, rest, err);
    }
    next = str_find(rest, '<', 0);
    if (next > 0) {
        return (ssize_t)next;
    }
    if (rest.len < MARKUP_BEGINS && !last) {
        return 0;
    }
    return enter_markup(s, rest, err);
}

/* The bytes that were looked at, or -1 with err. */
static ssize_t
scan_markup(struct xml_scan *s, struct str piece, bool last, struct errmsg *err)
{
    size_t at = 0;
    ssize_t n = 1;

    while (at < piece.len && n > 0) {
        n = scan_step(s, piece, at, last, err);
        if (n == -1) {
            return -1;
        }
        s->lines += newlines(str_skip(piece, at), (size_t)n);
        at += (size_t)n;
    }
    return (ssize_t)at;
}

/* Without a character that is cut at its end. */
static struct str
whole_characters(struct str piece)
{
    size_t whole = utf8_length(piece);

    return piece.len - whole < LONGEST ? str_first(piece, whole) : piece;
}

ssize_t
xml_scan(struct xml_scan *s, struct str piece, bool last, struct errmsg *err)
{
    if (!s->begun) {
        int on = scan_beginning(piece, last, err);

        if (on != 1) {
            return on;
        }
    }
    if (!last) {
        piece = whole_characters(piece);
    }
    if (scan_bytes(s, piece, err) == -1 ||
        (!s->begun && scan_declaration(piece, err) == -1)) {
        return -1;
    }
    s->begun = true;
    return scan_markup(s, piece, last, err);
}
