/*
 * Writing XML: escapes, and a stack of names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "xml/xml.h"

#include <stdio.h>

#include "base/utf8.h"

#define REPLACEMENT STR("\xef\xbf\xbd") /* U+FFFD */

static void
add(struct xml_out *o, struct str s)
{
    if (!o->failed && buf_add_str(o->to, s) == -1) {
        o->failed = true;
    }
}

static void
add_name(struct xml_out *o, const char *before, const char *name,
         const char *behind)
{
    add(o, str_from(before));
    add(o, str_from(name));
    add(o, str_from(behind));
}

void
xml_begin(struct xml_out *o, struct buf *to)
{
    *o = (struct xml_out){ .to = to };
    add(o, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
}

int
xml_end(struct xml_out *o)
{
    return o->complete && !o->failed ? 0 : -1;
}

/* ---- text ---- */

/* The escape of a byte that cannot stand for itself; ptr NULL: it can.  A
 * carriage return would be read as a line's end, white space in an attribute as
 * a blank. */
static struct str
escape_of(unsigned char c, bool attribute)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '\r':
        return STR("&#13;");
    case '"':
        return attribute ? STR("&quot;") : (struct str){ NULL, 0 };
    case '\n':
        return attribute ? STR("&#10;") : (struct str){ NULL, 0 };
    case '\t':
        return attribute ? STR("&#9;") : (struct str){ NULL, 0 };
    default:
        return c < 0x20 ? REPLACEMENT : (struct str){ NULL, 0 };
    }
}

/* The length of the character at the front of s that XML can hold; 0: there
 * is none. */
static size_t
xml_char(struct str s)
{
    size_t n = utf8_char(s);
    bool none = n == 3 && (str_eq(str_first(s, 3), STR("\xef\xbf\xbe")) ||
                           str_eq(str_first(s, 3), STR("\xef\xbf\xbf")));

    return none ? 0 : n;
}

/* One or more characters that stand for themselves, taken off s. */
static size_t
plain(struct str s, bool attribute)
{
    size_t at = 0;

    while (at < s.len) {
        unsigned char c = (unsigned char)s.ptr[at];
        size_t n = c < 0x80 ? 1 : xml_char(str_skip(s, at));

        if (n == 0 || (c < 0x80 && escape_of(c, attribute).ptr != NULL)) {
            break;
        }
        at += n;
    }
    return at;
}

static void
add_escaped(struct xml_out *o, struct str s, bool attribute)
{
    while (s.len > 0) {
        size_t n = plain(s, attribute);

        add(o, str_first(s, n));
        s = str_skip(s, n);
        if (s.len == 0) {
            return;
        }
        struct str escape = escape_of((unsigned char)s.ptr[0], attribute);
        /* Those two are whole characters of three bytes. */
        bool none = utf8_char(s) == 3;

        add(o, escape.ptr != NULL ? escape : REPLACEMENT);
        s = str_skip(s, none ? 3 : 1);
    }
}

/* ---- elements ---- */

static void
end_tag(struct xml_out *o)
{
    if (o->in_tag) {
        add(o, STR(">"));
        o->in_tag = false;
    }
}

void
xml_open(struct xml_out *o, const char *name)
{
    if (o->complete || o->depth == XML_DEPTH) {
        o->failed = true;
    }
    if (!o->failed) {
        end_tag(o);
        add_name(o, "<", name, "");
        o->open[o->depth++] = name;
        o->in_tag = true;
    }
}

void
xml_attribute(struct xml_out *o, const char *name, struct str value)
{
    if (!o->in_tag) {
        o->failed = true;
        return;
    }
    add_name(o, " ", name, "=\"");
    add_escaped(o, value, true);
    add(o, STR("\""));
}

void
xml_text(struct xml_out *o, struct str s)
{
    if (o->depth == 0) {
        o->failed = true;
        return;
    }
    if (s.len > 0) {
        end_tag(o);
        add_escaped(o, s, false);
    }
}

void
xml_close(struct xml_out *o)
{
    if (o->depth == 0) {
        o->failed = true;
    }
    if (o->failed) {
        return;
    }
    o->depth--;
    if (o->in_tag) {
        add(o, STR("/>"));
        o->in_tag = false;
    } else {
        add_name(o, "</", o->open[o->depth], ">");
    }
    if (o->depth == 0) {
        add(o, STR("\n"));
        o->complete = true;
    }
}

void
xml_put_str(struct xml_out *o, const char *name, struct str s)
{
    xml_open(o, name);
    xml_text(o, s);
    xml_close(o);
}

void
xml_put_int(struct xml_out *o, const char *name, int64_t n)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%lld", (long long)n);

    xml_put_str(o, name, str_of(text, (size_t)len));
}
