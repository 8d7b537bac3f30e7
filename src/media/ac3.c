/*
 * The fields at the front of an AC-3 or E-AC-3 frame.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/bits.h"
#include "media/sound_impl.h"

#define SYNC 0x0b77
#define FRONT 7u /* bytes up to what is read */

enum { BSID_AC3_LAST = 10, BSID_ENHANCED_LAST = 16 };

static const uint32_t rates[] = { 48000, 44100, 32000, 0 };

/* syncinfo() and bsi() */
static void
read_plain(struct ac3_frame *f, struct bits *b)
{
    bits_skip(b, 16);
    f->fscod = bits_get(b, 2);
    f->rate_code = bits_get(b, 6) / 2;
    f->bsid = bits_get(b, 5);
    f->bsmod = bits_get(b, 3);
    f->acmod = bits_get(b, 3);
    bits_skip(b, (f->acmod & 1) != 0 && f->acmod != 1 ? 2 : 0);
    bits_skip(b, (f->acmod & 4) != 0 ? 2 : 0);
    bits_skip(b, f->acmod == 2 ? 2 : 0);
    f->lfeon = bits_get(b, 1);
    f->rate = rates[f->fscod] >> (f->bsid > 8 ? f->bsid - 8 : 0);
    f->samples = 1536;
}

/* bsi() of E-AC-3 */
static void
read_enhanced(struct ac3_frame *f, struct bits *b)
{
    static const uint8_t blocks[] = { 1, 2, 3, 6 };
    uint32_t code;

    f->enhanced = true;
    f->type = bits_get(b, 2);
    bits_skip(b, 3);
    f->size = (bits_get(b, 11) + 1) * 2;
    f->fscod = bits_get(b, 2);
    code = bits_get(b, 2);
    f->rate = f->fscod == 3 ? rates[code] / 2 : rates[f->fscod];
    f->samples = 256u * (f->fscod == 3 ? 6 : blocks[code]);
    f->acmod = bits_get(b, 3);
    f->lfeon = bits_get(b, 1);
    f->bsid = bits_get(b, 5);
}

int
ac3_read(struct ac3_frame *f, struct str body)
{
    static const uint8_t channels[] = { 2, 1, 2, 3, 3, 4, 4, 5 };
    struct bits b = bits_of(body);
    unsigned bsid;

    *f = (struct ac3_frame){ .enhanced = false };
    if (body.len < FRONT || bits_get(&b, 16) != SYNC) {
        return -1;
    }
    bsid = (uint8_t)body.ptr[5] >> 3;
    if (bsid > BSID_ENHANCED_LAST) {
        return -1;
    }
    if (bsid <= BSID_AC3_LAST) {
        read_plain(f, &b);
    } else {
        read_enhanced(f, &b);
    }
    f->channels = channels[f->acmod] + f->lfeon;
    return f->rate == 0 || b.over ? -1 : 0;
}
