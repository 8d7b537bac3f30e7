/*
 * Opus in Ogg (RFC 7845), by libopusenc.
 *
 * A decoder of Opus gives 48000 Hz, whatever the samples had; their rate
 * stands in the header, and bounds what can be heard.  Nothing of the file has
 * to be replaced when it is whole: its length is in its last page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "encoder_impl.h"

#if HAVE_OPUSENC

#include <opus/opusenc.h>

#define RATE 48000
#define BITRATE 40000    /* bits a second */
#define PAGE (RATE / 10) /* samples of sound that wait for a page */
#define SERIAL 1         /* equal samples shall give equal bytes */

static int
fail(struct encoder *e, struct errmsg *err, int code)
{
    return encoder_fail(e, err, "libopusenc", ope_strerror(code));
}

/* ---- what the library calls ---- */

static int
on_bytes(void *arg, const unsigned char *bytes, opus_int32 n)
{
    return encoder_send(arg, bytes, (size_t)n) == 0 ? 0 : 1;
}

static int
on_close(void *arg)
{
    (void)arg;
    return 0;
}

/* ---- the codec ---- */

static unsigned
gives(unsigned rate_in, int64_t rate_out)
{
    (void)rate_in;
    (void)rate_out;
    return RATE;
}

static int
set_up(OggOpusEnc *library)
{
    int bad = ope_encoder_ctl(library, OPE_SET_SERIALNO(SERIAL));

    bad = bad != 0 ? bad : ope_encoder_ctl(library, OPE_SET_DECISION_DELAY(0));
    bad = bad != 0 ? bad : ope_encoder_ctl(library, OPE_SET_MUXING_DELAY(PAGE));
    bad = bad != 0 ? bad : ope_encoder_ctl(library, OPUS_SET_BITRATE(BITRATE));
    return bad != 0
               ? bad
               : ope_encoder_ctl(library, OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE));
}

static int
open_opus(struct encoder *e, struct errmsg *err)
{
    static const OpusEncCallbacks calls = { on_bytes, on_close };
    OggOpusComments *comments = ope_comments_create();
    int code = OPE_ALLOC_FAIL;

    if (comments != NULL) {
        e->state = ope_encoder_create_callbacks(
            &calls, e, comments, (opus_int32)e->rate_fed, 1, 0, &code);
        ope_comments_destroy(comments);
    }
    if (e->state == NULL) {
        return fail(e, err, code);
    }
    code = set_up(e->state);
    return code == 0 ? 0 : fail(e, err, code);
}

static int
begin_opus(struct encoder *e, struct errmsg *err)
{
    int code = ope_encoder_flush_header(e->state);

    return code == 0 ? 0 : fail(e, err, code);
}

static int
write_opus(struct encoder *e, const int16_t *samples, size_t n,
           struct errmsg *err)
{
    while (n > 0) {
        int now = n < RATE ? (int)n : RATE;
        int code = ope_encoder_write(e->state, samples, now);

        if (code != 0) {
            return fail(e, err, code);
        }
        samples += now;
        n -= (size_t)now;
    }
    return 0;
}

static int
end_opus(struct encoder *e, struct buf *head, struct errmsg *err)
{
    static const int16_t zero;
    int code = 0;

    (void)head;
    if (e->fed == 0) { /* the library aborts on a stream without samples */
        code = ope_encoder_write(e->state, &zero, 1);
    }
    if (code == 0) {
        code = ope_encoder_drain(e->state);
    }
    return code == 0 ? 0 : fail(e, err, code);
}

static void
close_opus(struct encoder *e)
{
    if (e->state != NULL) {
        ope_encoder_destroy(e->state);
    }
}

const struct encoder_codec encoder_opus = {
    .takes = encoder_usual_rate,
    .gives = gives,
    .open = open_opus,
    .begin = begin_opus,
    .write = write_opus,
    .end = end_opus,
    .close = close_opus,
};

#endif
