/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sound.h"

#include <string.h>

#include "reply.h"

void
sound_init(struct sound *s)
{
    memset(s, 0, sizeof(*s));
    buf_init(&s->packet, SPEECH_PACKET_MAX);
    buf_init(&s->text, SPEECH_TEXT_MAX);
}

void
sound_clear(struct sound *s)
{
    buf_clear(&s->packet);
    buf_clear(&s->text);
}

void
sound_tag(const struct sound *s, char tag[SPEECH_TAG_MAX + 1])
{
    reply_tag(s->key, tag);
}

/* As a child is asked: all that matters for the sound, and nothing else. */
static void
settle(const struct desk *d, const struct resolved *voice,
       struct speech_request *asked)
{
    asked->instance = STR_NONE;
    asked->voice = voice->file;
    asked->speaker = voice->variant;
    asked->speaker_id = -1;
    asked->buffer = d->plan.buffer;
    asked->max_audio = d->plan.max_audio;
}

/* A long text goes beside the packet. */
static int
pack_for_child(const struct speech_request *asked, struct sound *s)
{
    struct speech_request less = *asked;
    struct pack out = { .to = &s->packet };

    speech_pack_request(&out, &less);
    if (!out.full) {
        return 0;
    }
    buf_clear(&s->packet);
    out = (struct pack){ .to = &s->packet };
    less.text = STR_NONE;
    speech_pack_request(&out, &less);
    return out.full ? -1 : buf_add_str(&s->text, asked->text);
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
            -1) {
        return -1;
    }
    settle(d, &s->voice, &asked);
    if (pack_for_child(&asked, s) == -1) {
        *no = reply_error_of(503, "there is no memory for the request");
        no->lack = SPEECH_LACKS_SYSTEM;
        return -1;
    }
    s->format = asked.format;
    s->stream = asked.stream;
    s->text_bytes = (int64_t)asked.text.len;
    s->generation = d->generation;
    make_key(d, &asked, s->key);
    return 0;
}
