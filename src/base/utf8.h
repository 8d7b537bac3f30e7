/*
 * UTF-8 (RFC 3629): no surrogates, no overlong forms, up to U+10FFFF.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

bool utf8_valid(struct str s);
/* How much of s is valid, from its front. */
size_t utf8_length(struct str s);
/* Length of the valid character at the front of s, 0 if there is none. */
size_t utf8_char(struct str s);

#endif
