/*
 * Random bytes from the system (getrandom); aborts if there are none.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *dst, size_t n);
uint64_t rand_below(uint64_t limit); /* 0 .. limit - 1, unbiased */

#endif
