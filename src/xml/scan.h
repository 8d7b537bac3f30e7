/*
 * A look over an XML text before the parser gets it.
 *
 * What the parser would take in but should not, and what would cost it more
 * than the text is long, is refused here: other encodings, bytes that are no
 * text, document types, tags of very many attributes (each of which the
 * parser compares with each).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef XML_SCAN_H
#define XML_SCAN_H

#include "base/errmsg.h"
#include "base/str.h"

/* 0; -1 with err.  text has no byte order mark. */
int xml_scan(struct str text, struct errmsg *err);

#endif
