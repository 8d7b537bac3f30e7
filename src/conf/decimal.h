/*
 * Numbers with a point, kept as millionths: no rounding of theirs differs from
 * machine to machine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_DECIMAL_H
#define CONF_DECIMAL_H

#include "base/buf.h"
#include "base/str.h"

#define DECIMAL_ONE 1000000     /* 1.0 */
#define DECIMAL_MAX 1000000000L /* largest whole part */

/* Millionths of "0.667", "-2" or "1.", six places at most and no exponent;
 * false leaves *out alone. */
bool decimal_read(struct str s, int64_t *out);
/* Millionths next to n; false: it is none, or beyond DECIMAL_MAX. */
bool decimal_of(double n, int64_t *out);
/* Of a value of a file; false: it is no number. */
struct scalar; /* conf/value.h */
bool decimal_of_scalar(const struct scalar *v, int64_t *out);
/* "0.667", "2.0": one place at least. */
void decimal_print(int64_t millionths, struct buf *out);

#endif
