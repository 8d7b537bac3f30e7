/*
 * Bit rates that a publisher's metadata promise.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_PROMISED_H
#define MODULES_HLS_PROMISED_H

#include "hls.h"

/* Bits of a second, of pictures and sound together; 0: nothing that can be.
 * Encoders tell thousands of bits; some tell bits, or nonsense. */
uint64_t promised_speed(const struct live_cuts *c);

/* The same of an onMetaData. */
uint64_t promised_by(struct str metadata);

#endif
