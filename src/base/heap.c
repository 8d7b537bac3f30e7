/*
 * The library does not tell which memory was touched; it follows from the
 * memory in use: at least the most since the last time, plus the heap's growth.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/heap.h"

#include <malloc.h>
#include <stddef.h>

#define LOOKS 4               /* that a peak of use is remembered for */
#define TOP (4 * 1024 * 1024) /* kept free at the heap's end meanwhile */
#define WORTH (128 * 1024)    /* bytes, and a part of what is in use: */
#define WORTH_PART 32

static struct {
    size_t used[LOOKS]; /* the last looks' */
    unsigned at;
    size_t size;    /* of the heap, when it was looked at last */
    size_t touched; /* bytes of it */
} heap;

void
heap_tune(void)
{
    mallopt(M_MMAP_THRESHOLD, HEAP_LARGE);
    mallopt(M_TRIM_THRESHOLD, TOP);
}

/* The most that was in use in the last looks. */
static size_t
most_used(size_t used)
{
    size_t most = used;

    heap.used[heap.at++ % LOOKS] = used;
    for (int i = 0; i < LOOKS; i++) {
        most = heap.used[i] > most ? heap.used[i] : most;
    }
    return most;
}

bool
heap_look(void)
{
    struct mallinfo2 now = mallinfo2();
    size_t used = most_used(now.uordblks);

    if (now.arena > heap.size) {
        heap.touched += now.arena - heap.size;
    }
    heap.size = now.arena;
    heap.touched = heap.touched > used ? heap.touched : used;
    heap.touched = heap.touched < heap.size ? heap.touched : heap.size;
    if (heap.touched < used + used / WORTH_PART + WORTH) {
        return false;
    }
    malloc_trim(0);
    heap.touched = used;
    heap.size = mallinfo2().arena;
    return true;
}
