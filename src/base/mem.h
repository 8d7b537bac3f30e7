/*
 * Memory from the heap.
 *
 * mem_* abort the process when memory is out: they are for small sizes fixed
 * by the program.  try_* return NULL: they are for sizes that come from
 * outside, are capped first, and fail only the peer that asked.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Uninitialised / zeroed / resized memory, never NULL for n > 0. */
void *mem_alloc(size_t n);
void *mem_zero(size_t n);
void *mem_resize(void *p, size_t n);
char *mem_dup(const char *s, size_t n); /* copies n bytes and adds a NUL */

/* The same, but NULL when there is none. */
void *try_alloc(size_t n);
void *try_zero(size_t n);
void *try_resize(void *p, size_t n);

/* Frees *p and clears it: mem_free(&s->name).  NULL is fine. */
#define mem_free(pp) (mem_free_raw(*(pp)), (void)(*(pp) = NULL))
void mem_free_raw(void *p);

#endif
