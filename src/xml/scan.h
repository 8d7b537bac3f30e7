/*
 * A look over an XML text before the parser gets it.
 *
 * It refuses input that the parser would accept but should not, or that would
 * cost it more than linear time: other encodings, bytes that are no text,
 * document types, tags of very many attributes (each of which the parser
 * compares with each).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef XML_SCAN_H
#define XML_SCAN_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

/* Where the look is in a text that comes piece by piece; zeroed at first. */
struct xml_scan {
    struct str mark;       /* ends the markup that it is in; empty: none */
    size_t values, length; /* of the tag that it is in */
    int lines, tag_line;   /* newlines so far; line of the tag */
    char quote;            /* of a value that it is in */
    bool begun, in_tag;
};

/* Returns how many bytes were looked at: what may go on behind the piece waits
 * for the next one, unless it is the last.  -1 with err.  The text has no byte
 * order mark. */
ssize_t xml_scan(struct xml_scan *s, struct str piece, bool last,
                 struct errmsg *err);

#endif
