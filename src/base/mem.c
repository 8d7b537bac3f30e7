/*
 * Memory from the heap: the one place that calls malloc.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL 1024 /* bytes */

/* Says it with no help of the heap and ends the process. */
static void *
out_of_memory(void)
{
    static const char text[] = "weir: out of memory\n";
    ssize_t unused = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)unused;
    abort();
}

void *
try_alloc(size_t n)
{
    return malloc(n > 0 ? n : 1);
}

/* glibc gives small pieces again that this thread has just freed, quickly, to
 * malloc() but not to calloc(); of large ones only calloc() knows that the
 * system has zeroed them. */
void *
try_zero(size_t n)
{
    void *p;

    if (n > SMALL) {
        return calloc(1, n);
    }
    p = try_alloc(n);
    if (p != NULL) {
        memset(p, 0, n);
    }
    return p;
}

void *
try_resize(void *p, size_t n)
{
    return realloc(p, n > 0 ? n : 1);
}

void *
mem_alloc(size_t n)
{
    void *p = try_alloc(n);

    return p != NULL ? p : out_of_memory();
}

void *
mem_zero(size_t n)
{
    void *p = try_zero(n);

    return p != NULL ? p : out_of_memory();
}

void *
mem_resize(void *old, size_t n)
{
    void *p = try_resize(old, n);

    return p != NULL ? p : out_of_memory();
}

char *
mem_dup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);

    if (n > 0) {
        memcpy(copy, s, n);
    }
    copy[n] = '\0';
    return copy;
}

void
mem_free_raw(void *p)
{
    free(p);
}
