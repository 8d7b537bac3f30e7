/*
 * Writing XML 1.0 in UTF-8.
 *
 *     struct xml_out o;
 *
 *     xml_begin(&o, body);
 *     xml_open(&o, "problem");
 *     xml_attribute(&o, "xmlns", STR("urn:ietf:rfc:7807"));
 *     xml_put_str(&o, "title", title);
 *     xml_close(&o);
 *     if (xml_end(&o) == -1) { the buffer's limit was met }
 *
 * Nothing need be checked between: the first failure is kept until the end.
 * Calls that would break well-formedness (a second root, an attribute behind
 * text) fail as well.  Names are the program's own and are not checked.
 *
 * Any text can be written, and a reader gets the same characters, carriage
 * returns included.  But invalid UTF-8, byte by byte, and characters that XML
 * 1.0 cannot hold (2.2: most below U+0020, U+FFFE, U+FFFF) become U+FFFD.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef XML_XML_H
#define XML_XML_H

#include "base/buf.h"

#define XML_DEPTH 16 /* elements in one another, at most */

struct xml_out {
    struct buf *to;              /* borrowed */
    const char *open[XML_DEPTH]; /* names of open elements; borrowed */
    unsigned depth;
    bool in_tag;   /* attributes may still come */
    bool complete; /* the root was closed */
    bool failed;
};

/* Appends to a buffer, which must live until xml_end(): the XML declaration
 * first. */
void xml_begin(struct xml_out *o, struct buf *to);
/* 0 if `to` has one whole document; -1 if not: then the appended bytes are of
 * no use. */
int xml_end(struct xml_out *o);

void xml_open(struct xml_out *o, const char *name);
void xml_attribute(struct xml_out *o, const char *name, struct str value);
void xml_text(struct xml_out *o, struct str s);
void xml_close(struct xml_out *o);

/* An element with its text. */
void xml_put_str(struct xml_out *o, const char *name, struct str s);
void xml_put_int(struct xml_out *o, const char *name, int64_t n);

#endif
