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

/* 0; -1 with err.  text has no byte order mark. */
int xml_scan(struct str text, struct errmsg *err);

#endif
