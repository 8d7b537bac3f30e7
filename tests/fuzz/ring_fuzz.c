/*
 * Fuzz target: a ring of records that another process wrote.
 *
 * Size, head, tail and the bytes of the ring are the input's.  Whatever they
 * say: no record lies outside, the ring is empty after so many records as fit
 * or a damage, and then takes records as a new one does.
 *
 * covers: src/proc/ring.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "proc/ring.h"

#define SIZE_MAX_HERE 512

static void
read_all(struct ring *r, size_t size)
{
    size_t records = 0, len;
    uint32_t tag;
    int result;

    while ((result = ring_first(r, size, &tag, &len)) != 0) {
        require(++records <= size / 8 + 1);
        if (result == 1) {
            require(len <= RING_RECORD_MAX && len <= size);
            uint8_t *record = malloc(len + (len == 0));

            require(record != NULL);
            ring_take(r, size, (records & 1) != 0 ? record : NULL, len);
            free(record);
        }
    }
}

static void
try_anew(struct ring *r, size_t size, struct str record)
{
    char back[SIZE_MAX_HERE + 1];
    uint32_t tag;
    size_t len;

    if (!ring_put(r, size, 7, record.ptr, record.len)) {
        require(record.len + 8 > size);
        return;
    }
    require(ring_first(r, size, &tag, &len) == 1 && tag == 7 &&
            len == record.len);
    ring_take(r, size, back, len);
    require(memcmp(back, record.ptr, len) == 0);
    require(ring_first(r, size, &tag, &len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    size_t room = 1 + (take_byte(&input) * 2u);
    uint64_t head, tail;
    struct ring *r;

    take_bytes(&input, &head, sizeof(head));
    take_bytes(&input, &tail, sizeof(tail));
    if (posix_memalign((void **)&r, 64, sizeof(*r) + room) != 0) {
        return 0;
    }
    atomic_init(&r->head, head);
    atomic_init(&r->tail, tail);
    struct str bytes = str_first(input, room);

    take_bytes(&input, r + 1, room);
    read_all(r, room);
    if (head < UINT64_MAX - 2 * SIZE_MAX_HERE) { /* it counts bytes for ever */
        try_anew(r, room, bytes);
    }
    free(r);
    return 0;
}
