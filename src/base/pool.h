/*
 * Memory that lives and dies with one thing (a request, a configuration).
 *
 * Nothing in it is freed singly; pool_free() gives all of it back after
 * running the clean-ups, last registered first.  In sanitizer builds each
 * allocation is a malloc of its own, so that the sanitizer sees overruns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/str.h"

struct pool;

struct pool *pool_new(size_t first_block); /* aborts when memory is out */
void pool_free(struct pool **p);           /* NULL inside is fine */

/* Aligned for any type, never NULL: callers cap sizes from outside. */
void *pool_alloc(struct pool *p, size_t n);
void *pool_zero(struct pool *p, size_t n);
struct str pool_str(struct pool *p, struct str s); /* copy, NUL added */
char *pool_cstr(struct pool *p, struct str s);
/* One behind the other, NUL added: pool_join(p, STRS(a, b)). */
struct str pool_join(struct pool *p, const struct str *parts, size_t count);
struct str pool_printf(struct pool *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls done(arg) in pool_free(). */
void pool_on_free(struct pool *p, void (*done)(void *arg), void *arg);

size_t pool_size(const struct pool *p); /* bytes taken from the heap */

#endif
