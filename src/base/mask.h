/*
 * Taking secrets out of text that a log or an operator is shown.
 *
 * A secret is recognised by the text around it: the query of an address, the
 * value of a word like "key=" or "password:", the value of a header that
 * carries credentials.  Too much is masked rather than too little.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_MASK_H
#define BASE_MASK_H

#include "base/str.h"

/* Overwrites each byte of a secret in text (len bytes) with '*'.  The length
 * stays, so that offsets into the text still hold. */
void mask_secrets(char *text, size_t len);

#endif
