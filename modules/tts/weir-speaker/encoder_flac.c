/*
 * FLAC (RFC 9639), by libFLAC.
 *
 * STREAMINFO comes first, with zeros for what is not known: how many samples
 * there are, their MD5, the smallest and largest frame.  A stream keeps that;
 * in a file the true STREAMINFO takes its place.
 *
 * Frames are short, so that a stream's first one comes early.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "encoder_impl.h"

#if HAVE_FLAC

#include <FLAC/stream_encoder.h>
#include <string.h>

#include "base/mem.h"

#define FRAME 1152 /* samples */
#define LEVEL 5
#define INFO 42 /* bytes: "fLaC", the head of a block, STREAMINFO */
#define INFO_LARGEST 15
#define INFO_TOTAL 21
#define INFO_MD5 26

struct flac {
    FLAC__StreamEncoder *library; /* owned */
    uint8_t info[INFO];           /* the first bytes of the answer */
    size_t len;                   /* of them */
};

/* ---- what the library calls ---- */

static FLAC__StreamEncoderWriteStatus
on_bytes(const FLAC__StreamEncoder *library, const FLAC__byte bytes[], size_t n,
         uint32_t samples, uint32_t frame, void *arg)
{
    struct encoder *e = arg;
    struct flac *f = e->state;
    size_t more = INFO - f->len < n ? INFO - f->len : n;

    (void)library;
    (void)samples;
    (void)frame;
    memcpy(f->info + f->len, bytes, more);
    f->len += more;
    return encoder_send(e, bytes, n) == 0
               ? FLAC__STREAM_ENCODER_WRITE_STATUS_OK
               : FLAC__STREAM_ENCODER_WRITE_STATUS_FATAL_ERROR;
}

static void
put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

/* At the end: what was zero in STREAMINFO. */
static void
on_info(const FLAC__StreamEncoder *library, const FLAC__StreamMetadata *all,
        void *arg)
{
    const struct encoder *e = arg;
    struct flac *f = e->state;
    const FLAC__StreamMetadata_StreamInfo *i = &all->data.stream_info;
    uint8_t high;

    (void)library;
    if (f->len != INFO) {
        return;
    }
    high = f->info[INFO_TOTAL] & 0xf0;
    put(f->info + INFO_LARGEST - 3, i->min_framesize, 3);
    put(f->info + INFO_LARGEST, i->max_framesize, 3);
    put(f->info + INFO_TOTAL, i->total_samples, 5);
    f->info[INFO_TOTAL] = (uint8_t)((f->info[INFO_TOTAL] & 0x0f) | high);
    memcpy(f->info + INFO_MD5, i->md5sum, sizeof(i->md5sum));
}

/* ---- the codec ---- */

static int
fail(struct encoder *e, struct errmsg *err)
{
    const struct flac *f = e->state;
    int state = (int)FLAC__stream_encoder_get_state(f->library);

    return encoder_fail(e, err, "libFLAC",
                        FLAC__StreamEncoderStateString[state]);
}

static int
open_flac(struct encoder *e, struct errmsg *err)
{
    struct flac *f = mem_zero(sizeof(*f));
    FLAC__StreamEncoder *library = FLAC__stream_encoder_new();

    e->state = f;
    f->library = library;
    if (library == NULL || !FLAC__stream_encoder_set_channels(library, 1) ||
        !FLAC__stream_encoder_set_bits_per_sample(library, 16) ||
        !FLAC__stream_encoder_set_sample_rate(library, e->rate_fed) ||
        !FLAC__stream_encoder_set_compression_level(library, LEVEL) ||
        !FLAC__stream_encoder_set_blocksize(library, FRAME)) {
        return errmsg_set(err, "libFLAC cannot be set up");
    }
    return 0;
}

static int
begin_flac(struct encoder *e, struct errmsg *err)
{
    const struct flac *f = e->state;

    if (FLAC__stream_encoder_init_stream(f->library, on_bytes, NULL, NULL,
                                         on_info, e) !=
        FLAC__STREAM_ENCODER_INIT_STATUS_OK) {
        return fail(e, err);
    }
    return 0;
}

static int
write_flac(struct encoder *e, const int16_t *samples, size_t n,
           struct errmsg *err)
{
    const struct flac *f = e->state;
    FLAC__int32 wide[FRAME];

    while (n > 0) {
        size_t now = n < FRAME ? n : FRAME;

        for (size_t i = 0; i < now; i++) {
            wide[i] = samples[i];
        }
        if (!FLAC__stream_encoder_process_interleaved(f->library, wide,
                                                      (uint32_t)now)) {
            return fail(e, err);
        }
        samples += now;
        n -= now;
    }
    return 0;
}

static int
end_flac(struct encoder *e, struct buf *head, struct errmsg *err)
{
    const struct flac *f = e->state;

    if (!FLAC__stream_encoder_finish(f->library)) {
        return fail(e, err);
    }
    return buf_add(head, f->info, f->len) == 0
               ? 0
               : errmsg_set(err, "no room for STREAMINFO");
}

static void
close_flac(struct encoder *e)
{
    struct flac *f = e->state;

    if (f == NULL) {
        return;
    }
    e->refused = true; /* the library writes as it goes */
    if (f->library != NULL) {
        FLAC__stream_encoder_delete(f->library);
    }
    mem_free(&f);
}

const struct encoder_codec encoder_flac = {
    .takes = encoder_usual_rate,
    .gives = encoder_usual_rate,
    .open = open_flac,
    .begin = begin_flac,
    .write = write_flac,
    .end = end_flac,
    .close = close_flac,
};

#endif
