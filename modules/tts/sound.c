/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sound.h"

#include <stdio.h>
#include <string.h>

#include "reply.h"

void
sound_init(struct sound *s)
{
    memset(s, 0, sizeof(*s));
    buf_init(&s->packet, SPEECH_REQUEST_MAX);
}

void
sound_clear(struct sound *s)
{
    buf_clear(&s->packet);
}

void
sound_tag(const struct sound *s, char tag[SPEECH_TAG_MAX + 1])
{
    for (size_t i = 0; i < SPEECH_TAG_MAX / 2; i++) {
        snprintf(&tag[2 * i], 3, "%02x", s->key[i]);
    }
}

/* All that matters for the sound is in the bytes. */
static bool
pack_for_child(const struct desk *d, struct speech_request *asked,
               const struct resolved *voice, struct buf *to)
{
    struct pack out = { .to = to };

    asked->instance = STR_NONE;
    asked->voice = voice->file;
    asked->speaker = voice->variant;
    asked->speaker_id = -1;
    asked->reset = false;
    asked->buffer = d->plan.buffer;
    asked->max_audio = d->plan.max_audio;
    speech_pack_request(&out, asked);
    return !out.full;
}

/* A stream's bytes may come from a whole answer. */
static void
make_key(const struct desk *d, const struct speech_request *asked,
         uint8_t key[DIGEST_SHA256])
{
    struct speech_request same = *asked;
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, SPEECH_REQUEST_MAX + DIGEST_SHA256);
    same.stream = false;
    speech_pack_request(&out, &same);
    pack_bytes(&out, d->tree, sizeof(d->tree));
    digest_sha256(buf_data(&b), buf_len(&b), key);
    buf_clear(&b);
}

int
sound_read(const struct desk *d, struct str bytes, struct sound *s,
           struct speech_answer *no, struct errmsg *err)
{
    const struct resolve_defaults defaults = { d->plan.voice, d->plan.speaker,
                                               d->plan.lenient };
    struct unpack in = { .rest = bytes };
    struct speech_request asked;

    *no = reply_error_of(500, "the request makes no sense");
    sound_clear(s);
    if (speech_unpack_request(&in, &asked) == -1 ||
        resolve_voice(d->catalogue, &defaults, &asked, &s->voice, no, err) ==
            -1 ||
        !pack_for_child(d, &asked, &s->voice, &s->packet)) {
        return -1;
    }
    s->format = asked.format;
    s->stream = asked.stream;
    s->text_bytes = (int64_t)asked.text.len;
    s->generation = d->generation;
    make_key(d, &asked, s->key);
    return 0;
}
