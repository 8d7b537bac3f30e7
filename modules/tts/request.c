/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request.h"

/* Bounds of numbers that a child says: sums of them do not overflow. */
#define BYTES_MOST ((int64_t)1 << 40)
#define FIRST_MOST ((int64_t)86400 * 1000000) /* us */

/* ---- requests ---- */

void
speech_pack_request(struct pack *p, const struct speech_request *r)
{
    pack_text(p, r->instance);
    pack_text(p, r->text);
    pack_text(p, r->voice);
    pack_text(p, r->speaker);
    pack_int(p, r->speaker_id);
    pack_int(p, r->length_scale);
    pack_int(p, r->noise_scale);
    pack_int(p, r->noise_w_scale);
    pack_int(p, r->pitch);
    pack_int(p, r->range);
    pack_int(p, r->volume);
    pack_int(p, r->sentence_silence);
    pack_u8(p, r->ssml);
    pack_u8(p, r->stream);
    pack_u8(p, (uint8_t)r->format);
    pack_int(p, r->sample_rate);
    pack_int(p, r->buffer);
    pack_int(p, r->max_audio);
}

static bool
within(int64_t n, int64_t least, int64_t most)
{
    return n >= least && n <= most;
}

static bool
request_is_allowed(const struct speech_request *r)
{
    return r->instance.len <= SPEECH_NAME_MAX &&
           r->text.len <= SPEECH_TEXT_MAX && r->voice.len <= SPEECH_VOICE_MAX &&
           r->speaker.len <= SPEECH_VOICE_MAX &&
           within(r->speaker_id, -1, INT32_MAX) &&
           within(r->length_scale, 100000, 10000000) &&
           within(r->noise_scale, -1, 10000000) &&
           within(r->noise_w_scale, 0, 2000000) && within(r->pitch, -1, 99) &&
           within(r->range, -1, 99) && within(r->volume, -1, 200) &&
           within(r->sentence_silence, 0, 10000) &&
           (r->sample_rate == 0 || within(r->sample_rate, 8000, 48000)) &&
           within(r->buffer, 0, (int64_t)64 << 20) &&
           within(r->max_audio, 0, 86400000);
}

int
speech_unpack_request(struct unpack *u, struct speech_request *r)
{
    uint8_t format;

    r->instance = unpack_text(u);
    r->text = unpack_text(u);
    r->voice = unpack_text(u);
    r->speaker = unpack_text(u);
    r->speaker_id = unpack_int(u);
    r->length_scale = unpack_int(u);
    r->noise_scale = unpack_int(u);
    r->noise_w_scale = unpack_int(u);
    r->pitch = unpack_int(u);
    r->range = unpack_int(u);
    r->volume = unpack_int(u);
    r->sentence_silence = unpack_int(u);
    r->ssml = unpack_u8(u) != 0;
    r->stream = unpack_u8(u) != 0;
    format = unpack_u8(u);
    r->sample_rate = unpack_int(u);
    r->buffer = unpack_int(u);
    r->max_audio = unpack_int(u);
    if (!unpack_ends(u) || format >= SPEECH_FORMATS) {
        return -1;
    }
    r->format = (enum speech_format)format;
    return request_is_allowed(r) ? 0 : -1;
}

/* ---- answers ---- */

void
speech_pack_answer(struct pack *p, const struct speech_answer *a)
{
    pack_int(p, a->status);
    pack_u8(p, (uint8_t)a->lack);
    pack_int(p, a->length);
    pack_int(p, a->sample_rate);
    pack_int(p, a->duration);
    pack_int(p, a->retry_after);
    pack_u8(p, a->cached);
    pack_u8(p, a->unlisted);
    pack_u8(p, (uint8_t)a->format);
    pack_text(p, a->voice);
    pack_text(p, a->tag);
    pack_text(p, a->field);
    pack_text(p, a->message);
}

int
speech_unpack_answer(struct unpack *u, struct speech_answer *a)
{
    int64_t status = unpack_int(u);
    uint8_t lack = unpack_u8(u), format;

    a->length = unpack_int(u);
    a->sample_rate = unpack_int(u);
    a->duration = unpack_int(u);
    a->retry_after = unpack_int(u);
    a->cached = unpack_u8(u) != 0;
    a->unlisted = unpack_u8(u) != 0;
    format = unpack_u8(u);
    a->voice = unpack_text(u);
    a->tag = unpack_text(u);
    a->field = unpack_text(u);
    a->message = unpack_text(u);
    if (!unpack_ends(u) || format >= SPEECH_FORMATS || lack >= SPEECH_LACKS ||
        !within(status, 200, 599) || !within(a->length, -1, INT64_MAX) ||
        !within(a->duration, -1, INT64_MAX) ||
        !within(a->retry_after, 0, 3600) ||
        !within(a->sample_rate, 0, 192000) || a->tag.len > SPEECH_TAG_MAX) {
        return -1;
    }
    a->status = (int)status;
    a->lack = (enum speech_lack)lack;
    a->format = (enum speech_format)format;
    return 0;
}

/* ---- records ---- */

void
speech_pack_record(struct pack *p, const struct speech_record *r)
{
    pack_u8(p, (uint8_t)r->kind);
    pack_int(p, r->pid);
    pack_int(p, r->sample_rate);
    pack_int(p, r->bytes);
    pack_int(p, r->samples);
    pack_int(p, r->first_us);
    pack_int(p, r->status);
    pack_text(p, r->field);
    pack_text(p, r->message);
}

int
speech_unpack_record(struct unpack *u, struct speech_record *r)
{
    uint8_t kind = unpack_u8(u);

    r->pid = unpack_int(u);
    r->sample_rate = unpack_int(u);
    r->bytes = unpack_int(u);
    r->samples = unpack_int(u);
    r->first_us = unpack_int(u);
    r->status = unpack_int(u);
    r->field = unpack_text(u);
    r->message = unpack_text(u);
    if (!unpack_ends(u) || kind >= SPEECH_RECORDS ||
        !within(r->pid, 0, INT32_MAX) || !within(r->bytes, 0, BYTES_MOST) ||
        !within(r->sample_rate, 0, 192000) ||
        !within(r->samples, 0, BYTES_MOST) ||
        !within(r->first_us, 0, FIRST_MOST) || !within(r->status, 0, 599) ||
        r->field.len > SPEECH_FIELD_MAX ||
        r->message.len > SPEECH_MESSAGE_MAX) {
        return -1;
    }
    r->kind = (enum speech_record_kind)kind;
    return 0;
}
