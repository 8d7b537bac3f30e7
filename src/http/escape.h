/*
 * Text from outside inside JSON strings and HTML.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_ESCAPE_H
#define HTTP_ESCAPE_H

#include "base/buf.h"

/* Writes s with its quotes.  Invalid UTF-8 becomes U+FFFD, and '<', '>', U+2028
 * and U+2029 are written as \u, so that the text is safe inside a script as
 * well. 0, or -1 when b is full. */
int http_json_string(struct buf *b, struct str s);
int http_html_text(struct buf *b, struct str s);

#endif
