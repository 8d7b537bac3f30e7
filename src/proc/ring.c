/*
 * A ring of records in shared memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/ring.h"

#include <string.h>

struct head {
    uint32_t tag;
    uint32_t len;
};

static uint8_t *
data_of(struct ring *r)
{
    return (uint8_t *)(r + 1);
}

static void
copy_in(struct ring *r, size_t size, uint64_t at, const void *src, size_t n)
{
    size_t from = at % size;
    size_t first = n < size - from ? n : size - from;

    memcpy(data_of(r) + from, src, first);
    memcpy(data_of(r), (const uint8_t *)src + first, n - first);
}

static void
copy_out(struct ring *r, size_t size, uint64_t at, void *dst, size_t n)
{
    size_t from = at % size;
    size_t first = n < size - from ? n : size - from;

    memcpy(dst, data_of(r) + from, first);
    memcpy((uint8_t *)dst + first, data_of(r), n - first);
}

bool
ring_put(struct ring *r, size_t size, uint32_t tag, const void *data,
         size_t len)
{
    struct head h = { .tag = tag, .len = (uint32_t)len };
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    uint64_t used = head - tail;

    if (len > RING_RECORD_MAX || used > size || sizeof(h) + len > size - used) {
        return false;
    }
    copy_in(r, size, head, &h, sizeof(h));
    copy_in(r, size, head + sizeof(h), data, len);
    atomic_store_explicit(&r->head, head + sizeof(h) + len,
                          memory_order_release);
    return true;
}

int
ring_first(struct ring *r, size_t size, uint32_t *tag, size_t *len)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint64_t used = head - tail;
    struct head h = { 0 };

    if (used == 0) {
        return 0;
    }
    if (used >= sizeof(h) && used <= size) {
        copy_out(r, size, tail, &h, sizeof(h));
        if (h.len <= RING_RECORD_MAX && h.len <= used - sizeof(h)) {
            *tag = h.tag;
            *len = h.len;
            return 1;
        }
    }
    atomic_store_explicit(&r->tail, head, memory_order_release);
    return -1;
}

void
ring_take(struct ring *r, size_t size, void *dst, size_t len)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    if (dst != NULL) {
        copy_out(r, size, tail + sizeof(struct head), dst, len);
    }
    atomic_store_explicit(&r->tail, tail + sizeof(struct head) + len,
                          memory_order_release);
}
