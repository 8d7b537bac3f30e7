/*
 * MP3, by libmp3lame: a constant bitrate, so that players of a stream know how
 * long it is from its size.
 *
 * A file begins with the frame "Info" that tells how many samples there are and
 * how many of the decoder's first and last ones are not sound.  None of this is
 * known when a stream begins, and players would play an unfinished one.  So the
 * place of that frame is taken by an ID3v2 tag of the same size, which all of
 * them skip; in a file that is whole the frame replaces it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "encoder_impl.h"

#if HAVE_LAME

#include <lame/lame.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK 1152                  /* samples that are encoded at once */
#define ROOM (BLOCK * 5 / 4 + 7200) /* bytes for them, as lame.h tells */
#define FRAME_MAX 2048
#define TAG_HEAD 10   /* bytes before what a tag has */
#define ID3_FRAME 10  /* the same of one of its frames */
#define ID3_BITS 0x7f /* of each byte of a tag's size */

struct mp3 {
    lame_t library; /* owned */
    size_t info;    /* bytes of the frame "Info" */
    size_t skipped; /* of them, which the library gives first */
};

/* ---- rates ---- */

/* The lowest rate of MP3 that keeps all, or the highest. */
static unsigned
takes(unsigned rate_in, int64_t rate_out)
{
    static const unsigned rates[] = { 8000,  11025, 12000, 16000, 22050,
                                      24000, 32000, 44100, 48000 };
    unsigned usual = encoder_usual_rate(rate_in, rate_out);
    size_t i = 0;

    while (rates[i] < usual && i < sizeof(rates) / sizeof(rates[0]) - 1) {
        i++;
    }
    return rates[i];
}

/* Kilobits a second. */
static int
bitrate(unsigned rate)
{
    if (rate < 16000) {
        return 48;
    }
    return rate < 32000 ? 64 : 96;
}

/* Bytes of a frame without padding, as "Info" is (ISO 11172-3, 2.4.3.1). */
static size_t
frame_size(unsigned rate)
{
    size_t samples = rate < 32000 ? 576 : 1152;

    return samples / 8 * 1000 * (size_t)bitrate(rate) / rate;
}

/* ---- the codec ---- */

static int
fail(struct encoder *e, struct errmsg *err, const char *what)
{
    return encoder_fail(e, err, "libmp3lame", what);
}

static int
set_up(lame_t library, unsigned rate)
{
    int bad = lame_set_num_channels(library, 1);

    bad |= lame_set_mode(library, MONO);
    bad |= lame_set_in_samplerate(library, (int)rate);
    bad |= lame_set_out_samplerate(library, (int)rate);
    bad |= lame_set_VBR(library, vbr_off);
    bad |= lame_set_brate(library, bitrate(rate));
    bad |= lame_set_quality(library, 5);
    bad |= lame_set_bWriteVbrTag(library, 1);
    lame_set_write_id3tag_automatic(library, 0);
    return bad == 0 && lame_init_params(library) >= 0 ? 0 : -1;
}

static void
no_report(const char *format, va_list args)
{
    (void)format;
    (void)args;
}

static int
open_mp3(struct encoder *e, struct errmsg *err)
{
    struct mp3 *m = mem_zero(sizeof(*m));

    e->state = m;
    m->library = lame_init();
    if (m->library == NULL) {
        return fail(e, err, "no memory");
    }
    lame_set_errorf(m->library, no_report);
    lame_set_msgf(m->library, no_report);
    lame_set_debugf(m->library, no_report);
    if (set_up(m->library, e->rate_fed) != 0) {
        return fail(e, err, "the rate is refused");
    }
    m->info = frame_size(e->rate_fed);
    return 0;
}

/* A tag with one frame, "TSSE" (what made the file), and zeros up to size. */
static void
make_tag(uint8_t *tag, size_t size)
{
    static const char software[] = "weir";
    size_t text = 1 + sizeof(software) - 1; /* a byte for the character set */
    size_t inner = size - TAG_HEAD;

    memset(tag, 0, size);
    memcpy(tag, "ID3\4", 4);
    tag[8] = (uint8_t)(inner >> 7 & ID3_BITS);
    tag[9] = (uint8_t)(inner & ID3_BITS);
    memcpy(tag + TAG_HEAD, "TSSE", 4);
    tag[TAG_HEAD + 7] = (uint8_t)text;
    memcpy(tag + TAG_HEAD + ID3_FRAME + 1, software, text - 1);
}

static int
begin_mp3(struct encoder *e, struct errmsg *err)
{
    const struct mp3 *m = e->state;
    uint8_t tag[FRAME_MAX];

    (void)err;
    make_tag(tag, m->info);
    return encoder_send(e, tag, m->info);
}

/* Without the place of the frame "Info", which the library gives first. */
static int
send_frames(struct encoder *e, const uint8_t *bytes, size_t n)
{
    struct mp3 *m = e->state;
    size_t left = m->info - m->skipped;
    size_t skip = left < n ? left : n;

    m->skipped += skip;
    return encoder_send(e, bytes + skip, n - skip);
}

static int
write_mp3(struct encoder *e, const int16_t *samples, size_t n,
          struct errmsg *err)
{
    const struct mp3 *m = e->state;
    uint8_t bytes[ROOM];

    while (n > 0) {
        int now = n < BLOCK ? (int)n : BLOCK;
        int made = lame_encode_buffer(m->library, samples, samples, now, bytes,
                                      sizeof(bytes));

        if (made < 0 || send_frames(e, bytes, (size_t)made) != 0) {
            return fail(e, err, "a frame fails");
        }
        samples += now;
        n -= (size_t)now;
    }
    return 0;
}

static int
end_mp3(struct encoder *e, struct buf *head, struct errmsg *err)
{
    const struct mp3 *m = e->state;
    uint8_t bytes[ROOM];
    int made = lame_encode_flush(m->library, bytes, sizeof(bytes));
    size_t n;

    if (made < 0 || send_frames(e, bytes, (size_t)made) != 0) {
        return fail(e, err, "the last frame fails");
    }
    n = lame_get_lametag_frame(m->library, bytes, sizeof(bytes));
    if (n != m->info || buf_add(head, bytes, n) != 0) {
        return fail(e, err, "no frame with the length");
    }
    return 0;
}

static void
close_mp3(struct encoder *e)
{
    struct mp3 *m = e->state;

    if (m != NULL) {
        lame_close(m->library);
        mem_free(&m);
    }
}

const struct encoder_codec encoder_mp3 = {
    .takes = takes,
    .gives = takes,
    .open = open_mp3,
    .begin = begin_mp3,
    .write = write_mp3,
    .end = end_mp3,
    .close = close_mp3,
};

#endif
