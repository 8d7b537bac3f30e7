/*
 * A request with its voice of one generation: the bytes for a child, and the
 * digest by which equal requests are known.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_SOUND_H
#define MODULES_TTS_SOUND_H

#include "speaker.h"

struct sound {
    struct resolved voice;
    struct buf packet; /* owned: for a child */
    struct buf text;   /* owned: one that the packet has no room for */
    uint8_t key[DIGEST_SHA256];
    uint64_t generation; /* of the desk's voices */
    int64_t text_bytes;
    enum speech_format format;
    bool stream;
};

void sound_init(struct sound *s);
void sound_clear(struct sound *s);
/* From the bytes of a request.  -1: no has the answer, its text in err. */
int sound_read(const struct desk *d, struct str bytes, struct sound *s,
               struct speech_answer *no, struct errmsg *err);
/* The key as text, for an answer's tag. */
void sound_tag(const struct sound *s, char tag[SPEECH_TAG_MAX + 1]);

#endif
