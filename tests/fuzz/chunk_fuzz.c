/*
 * Fuzz target: the chunk reader.
 *
 * The first byte chooses the pieces, the rest is the wire.  Read whole
 * and read in pieces must give the same messages, or fail both.
 *
 * covers: src/rtmp/chunk.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "rtmp/chunk.h"

#define MAX_MESSAGE (64 * 1024)
#define MAX_MEMORY (96 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct chunk_reader *reader;
    uint64_t sum; /* of everything delivered */
    uint32_t count;
    bool failed;
};

static void
mix(struct outcome *o, uint64_t v)
{
    o->sum = (o->sum ^ v) * 0x100000001b3;
}

static int
on_message(void *arg, const struct chunk_message *m)
{
    struct outcome *o = arg;
    struct errmsg err;
    o->count++;
    mix(o, m->type);
    mix(o, m->csid);
    mix(o, m->stream_id);
    mix(o, m->timestamp);
    mix(o, m->len);
    for (uint32_t i = 0; i < m->len; i++) {
        mix(o, m->payload[i]);
    }
    if (m->type == 1 && m->len >= 4) {
        chunk_set_size(o->reader, get_be32(m->payload), &err);
    }
    if (m->type == 2 && m->len >= 4) {
        chunk_abort(o->reader, get_be32(m->payload));
    }
    return o->count % 5 == 0; /* stops now and then */
}

/* step 0: whole. */
static void
read_all(struct outcome *o, const uint8_t *data, size_t size, size_t step)
{
    struct chunk_reader r;
    struct errmsg err;
    memset(o, 0, sizeof(*o));
    o->reader = &r;
    chunk_reader_init(&r, MAX_MESSAGE, MAX_MEMORY);
    for (size_t i = 0; size > 0 && !o->failed; i++) {
        size_t n = step == 0 ? size : 1 + i * step % 13;
        n = n < size ? n : size;
        uint8_t *copy = malloc(n);
        memcpy(copy, data, n);
        ssize_t ate = chunk_read(&r, copy, n, on_message, o, &err);
        free(copy);
        if (ate > (ssize_t)n || r.memory > MAX_MEMORY) {
            abort();
        }
        o->failed = ate < 0;
        data += ate < 0 ? 0 : ate;
        size -= ate < 0 ? 0 : (size_t)ate;
    }
    chunk_reader_clear(&r);
    if (r.memory != 0) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces;
    if (size < 1) {
        return 0;
    }
    read_all(&whole, data + 1, size - 1, 0);
    read_all(&pieces, data + 1, size - 1, (size_t)data[0] + 1);
    if (whole.failed != pieces.failed || whole.count != pieces.count ||
        whole.sum != pieces.sum) {
        abort();
    }
    return 0;
}
