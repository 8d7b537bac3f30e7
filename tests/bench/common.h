/*
 * What every part of the load tool needs: the clock, messages, memory that is
 * either there or ends the program, and numbers in network order.
 *
 * The tool shares nothing with src/: a mistake made there must not be made
 * here a second time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* CLOCK_MONOTONIC, which is one clock for all processes of the machine. */
int64_t now_ns(void);
/* By how much CLOCK_REALTIME is ahead of it, to some microseconds. */
int64_t wall_ahead_ns(void);
/* User and system time this process has used. */
int64_t cpu_ns(void);

/* Says what is wrong on standard error and ends with status 2. */
_Noreturn void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Prints a line on standard error. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory for count things of size bytes; never NULL. */
void *mem_new(size_t count, size_t size);
/* As realloc(), but never NULL. */
void *mem_grow(void *p, size_t size);
/* Frees *p and clears it; p is the address of any pointer. */
void mem_drop(void *p);

/* Takes as many descriptors as the system lets this process have. */
void raise_file_limit(void);

/* Each writes a number, most significant byte first, and returns the byte
 * after it. */
uint8_t *put_be16(uint8_t *p, uint32_t v);
uint8_t *put_be24(uint8_t *p, uint32_t v);
uint8_t *put_be32(uint8_t *p, uint32_t v);
uint8_t *put_le32(uint8_t *p, uint32_t v);
uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t n);

uint32_t get_be16(const uint8_t *p);
uint32_t get_be24(const uint8_t *p);
uint32_t get_be32(const uint8_t *p);
uint32_t get_le32(const uint8_t *p);

#endif
