/*
 * Time: int64_t milliseconds on the monotonic clock for everything that is
 * waited for or measured, the wall clock only for what people read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_ms(void); /* CLOCK_MONOTONIC, ms; the same in all processes */
int64_t clock_us(void); /* CLOCK_MONOTONIC, microseconds */
int64_t clock_wall_ms(void); /* since 1970, UTC */
int64_t clock_wall_s(void); /* the same in seconds, up to 10 ms late; cheaper */

/* "2026-01-02T03:04:05.678Z" of a wall time in ms; size >= 25. */
void clock_iso8601(char *dst, size_t size, int64_t wall_ms);
/* "Fri, 02 Jan 2026 03:04:05 GMT" (RFC 9110, 5.6.7); size >= 30. */
void clock_http_date(char *dst, size_t size, int64_t wall_ms);
/* "02/Jan/2026:03:04:05 +0000", as access logs have it; size >= 27. */
void clock_log_date(char *dst, size_t size, int64_t wall_ms);

#endif
