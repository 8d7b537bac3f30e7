/*
 * AMF3 (Adobe, 2013) as far as an AMF0 reader needs it: one value behind the
 * switch 0x11.  It reads scalars and skips arrays, objects and byte arrays.  It
 * refuses a value that refers to an earlier definition of a class, or whose
 * form only its class defines: it cannot skip those.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_AMF3_H
#define RTMP_AMF3_H

#include "rtmp/amf.h"

/* Bytes of the value at p, 0 when it cannot be read. */
size_t amf3_read(const uint8_t *p, size_t n, struct amf_value *v);

#endif
