/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "encoder.h"

#include <string.h>

#include "base/mem.h"
#include "encoder_impl.h"
#include "request.h"

#define BLOCK 2048 /* samples that the resampler gives at once */

/* ---- formats ---- */

/* NULL: this build has not got it. */
static const struct encoder_codec *
codec_of(int format)
{
    static const struct encoder_codec *const codecs[SPEECH_FORMATS] = {
        [SPEECH_WAV] = &encoder_wav,
        [SPEECH_PCM] = &encoder_pcm,
        [SPEECH_MULAW] = &encoder_mulaw,
#if HAVE_FLAC
        [SPEECH_FLAC] = &encoder_flac,
#endif
#if HAVE_OPUSENC
        [SPEECH_OPUS] = &encoder_opus,
#endif
#if HAVE_LAME
        [SPEECH_MP3] = &encoder_mp3,
#endif
    };

    return format >= 0 && format < SPEECH_FORMATS ? codecs[format] : NULL;
}

int
encoder_check(int format, struct errmsg *err)
{
    if (codec_of(format) != NULL) {
        return 0;
    }
    return errmsg_set(err, "this weir-speaker makes wav, pcm, mulaw%s%s%s",
                      HAVE_FLAC ? ", flac" : "", HAVE_OPUSENC ? ", opus" : "",
                      HAVE_LAME ? ", mp3" : "");
}

unsigned
encoder_rate(const struct encoder_options *o)
{
    const struct encoder_codec *codec = codec_of(o->format);

    return codec != NULL ? codec->gives(o->rate_in, o->rate_out)
                         : encoder_usual_rate(o->rate_in, o->rate_out);
}

unsigned
encoder_usual_rate(unsigned rate_in, int64_t rate_out)
{
    return rate_out > 0 ? (unsigned)rate_out : rate_in;
}

/* ---- what codecs call ---- */

int
encoder_send(struct encoder *e, const void *data, size_t n)
{
    if (!e->refused && n > 0 && e->sink(e->arg, data, n) != 0) {
        e->refused = true;
    }
    return e->refused ? -1 : 0;
}

int
encoder_fail(struct encoder *e, struct errmsg *err, const char *what,
             const char *why)
{
    if (e->refused) {
        err->text[0] = '\0';
        return -1;
    }
    return errmsg_set(err, "%s: %s", what, why);
}

/* ---- life ---- */

/* No dither: equal samples shall give equal bytes. */
static int
make_resampler(struct encoder *e, struct errmsg *err)
{
    soxr_error_t bad = NULL;
    soxr_io_spec_t io = soxr_io_spec(SOXR_INT16_I, SOXR_INT16_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);

    if (e->rate_in == e->rate_fed) {
        return 0;
    }
    io.flags |= SOXR_NO_DITHER;
    e->resampler =
        soxr_create(e->rate_in, e->rate_fed, 1, &bad, &io, &quality, &runtime);
    if (bad != NULL || e->resampler == NULL) {
        return errmsg_set(err, "libsoxr: %s",
                          bad != NULL ? bad : "no resampler");
    }
    return 0;
}

struct encoder *
encoder_new(const struct encoder_options *o, struct errmsg *err)
{
    const struct encoder_codec *codec = codec_of(o->format);
    struct encoder *e;

    if (codec == NULL) {
        encoder_check(o->format, err);
        return NULL;
    }
    e = mem_zero(sizeof(*e));
    e->codec = codec;
    e->sink = o->sink;
    e->arg = o->arg;
    e->rate_in = o->rate_in;
    e->rate_fed = codec->takes(o->rate_in, o->rate_out);
    e->rate = codec->gives(o->rate_in, o->rate_out);
    if (make_resampler(e, err) != 0 ||
        (codec->open != NULL && codec->open(e, err) != 0)) {
        encoder_free(&e);
    }
    return e;
}

void
encoder_free(struct encoder **e)
{
    struct encoder *x = *e;

    if (x == NULL) {
        return;
    }
    if (x->codec->close != NULL) {
        x->codec->close(x);
    }
    soxr_delete(x->resampler);
    mem_free(e);
}

int64_t
encoder_samples(const struct encoder *e)
{
    return (e->fed * e->rate + e->rate_fed / 2) / e->rate_fed;
}

/* ---- samples ---- */

static int
begin(struct encoder *e, struct errmsg *err)
{
    err->text[0] = '\0';
    if (!e->begun && !e->refused) {
        e->begun = true;
        return e->codec->begin(e, err);
    }
    return e->refused ? -1 : 0;
}

static int
feed(struct encoder *e, const int16_t *samples, size_t n, struct errmsg *err)
{
    e->fed += (int64_t)n;
    return n > 0 ? e->codec->write(e, samples, n, err) : 0;
}

static int
resample(struct encoder *e, const int16_t *samples, size_t n,
         struct errmsg *err)
{
    int16_t out[BLOCK];
    size_t used = 0, made = 0;

    do {
        soxr_error_t bad =
            soxr_process(e->resampler, samples, n, &used, out, BLOCK, &made);

        if (bad != NULL) {
            return encoder_fail(e, err, "libsoxr", bad);
        }
        samples += used;
        n -= used;
        if (feed(e, out, made, err) != 0) {
            return -1;
        }
    } while (n > 0 || made == BLOCK);
    return 0;
}

int
encoder_write(struct encoder *e, const int16_t *samples, size_t n,
              struct errmsg *err)
{
    if (begin(e, err) != 0) {
        return -1;
    }
    if (n == 0) {
        return 0;
    }
    e->taken += (int64_t)n;
    return e->resampler != NULL ? resample(e, samples, n, err)
                                : feed(e, samples, n, err);
}

/* Feeds the last samples of the resampler: as many as belong to those taken. */
static int
drain(struct encoder *e, struct errmsg *err)
{
    int64_t all = (e->taken * e->rate_fed + e->rate_in / 2) / e->rate_in;

    while (e->fed < all) {
        int16_t out[BLOCK] = { 0 };
        size_t left = (size_t)(all - e->fed), made = 0;
        size_t room = left < BLOCK ? left : BLOCK;
        soxr_error_t bad =
            soxr_process(e->resampler, NULL, 0, NULL, out, room, &made);

        if (bad != NULL) {
            return encoder_fail(e, err, "libsoxr", bad);
        }
        if (feed(e, out, made > 0 ? made : room, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int
encoder_end(struct encoder *e, struct buf *head, struct errmsg *err)
{
    if (begin(e, err) != 0 || (e->resampler != NULL && drain(e, err) != 0)) {
        return -1;
    }
    return e->codec->end(e, head, err);
}
