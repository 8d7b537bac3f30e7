/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "rate.h"

#include <sonic.h>
#include <string.h>

#include "request.h"

#define PIECE 2048 /* samples that go out at once */

int
rate_init(struct rate *r, unsigned hz, int64_t length_scale, rate_sink *sink,
          void *arg)
{
    memset(r, 0, sizeof(*r));
    r->scale = (double)length_scale / SPEECH_MILLION;
    r->sink = sink;
    r->arg = arg;
    if (length_scale == SPEECH_MILLION) {
        return 0;
    }
    r->stretcher = sonicCreateStream((int)hz, 1);
    if (r->stretcher == NULL) {
        return -1;
    }
    sonicSetSpeed(r->stretcher, (float)(1 / r->scale));
    return 0;
}

void
rate_clear(struct rate *r)
{
    if (r->stretcher != NULL) {
        sonicDestroyStream(r->stretcher);
        r->stretcher = NULL;
    }
}

static int
give(struct rate *r, const int16_t *samples, size_t n)
{
    r->out += (int64_t)n;
    return n == 0 ? 0 : r->sink(r->arg, samples, n);
}

static int
give_stretched(struct rate *r)
{
    int16_t piece[PIECE];
    int n;

    while ((n = sonicReadShortFromStream(r->stretcher, piece, PIECE)) > 0) {
        if (give(r, piece, (size_t)n) == -1) {
            return -1;
        }
    }
    return 0;
}

int
rate_add(struct rate *r, const int16_t *samples, size_t n)
{
    r->in += (int64_t)n;
    if (r->stretcher == NULL) {
        return give(r, samples, n);
    }
    while (n > 0) {
        size_t part = n < PIECE ? n : PIECE;
        int16_t copy[PIECE]; /* libsonic takes no constant samples */

        memcpy(copy, samples, part * sizeof(*copy));
        if (!sonicWriteShortToStream(r->stretcher, copy, (int)part) ||
            give_stretched(r) == -1) {
            return -1;
        }
        samples += part;
        n -= part;
    }
    return 0;
}

static int
give_zeros(struct rate *r, int64_t samples)
{
    static const int16_t zeros[PIECE];

    while (samples > 0) {
        size_t part = samples < PIECE ? (size_t)samples : PIECE;

        if (give(r, zeros, part) == -1) {
            return -1;
        }
        samples -= (int64_t)part;
    }
    return 0;
}

/* libsonic's last samples may be some ms too few, which counts where all is
 * short. */
int
rate_flush(struct rate *r)
{
    int64_t end = rate_position(r);

    if (r->stretcher != NULL && r->in > 0 &&
        (!sonicFlushStream(r->stretcher) || give_stretched(r) == -1 ||
         give_zeros(r, end - r->out) == -1)) {
        return -1;
    }
    r->in = 0;
    r->base = r->out;
    return 0;
}

int
rate_silence(struct rate *r, int64_t samples)
{
    if (rate_flush(r) == -1 || give_zeros(r, samples) == -1) {
        return -1;
    }
    r->base = r->out;
    return 0;
}

int64_t
rate_position(const struct rate *r)
{
    return r->base + (int64_t)((double)r->in * r->scale + 0.5);
}
