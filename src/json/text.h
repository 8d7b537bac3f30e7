/*
 * Strings of JSON texts, piece by piece.
 *
 * yajl reads a string again from its beginning with each piece of it, and
 * decodes all of it at once: long ones do not go through it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "base/buf.h"

/* "\\ud800" without its other half stands for no character (RFC 8259, 8.2).
 * Where it is; s.len: nowhere. */
size_t json_lone_surrogate(struct str s);
/* The bytes of a piece that can be judged without those behind it: it ends
 * neither in a character nor in an escape. */
size_t json_whole_length(struct str piece);

enum json_string { JSON_STRING_GOES_ON, JSON_STRING_ENDS, JSON_STRING_WRONG };
/* On in a string, behind its first quote; what it says is appended.  The piece
 * is UTF-8 without lone surrogates, and has the length of above unless it is
 * the last.  *taken: bytes to behind the last quote, or to what is wrong. */
enum json_string json_string_take(struct buf *to, struct str piece,
                                  size_t *taken);

#endif
