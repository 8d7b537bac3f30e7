/*
 * Bit rates in metadata: AMF0, onMetaData and an object.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "promised.h"

#include <string.h>

#include "live/init_headers.h"
#include "rtmp/amf.h"

#define METADATA_MAX 4096u /* bytes that are looked at */
#define MEMBERS_MAX 256    /* of the object, likewise */
/* The most that is believed, thousands of bits a second. */
#define PICTURES_MOST 200000.0
#define SOUND_MOST 10000.0

static uint64_t
bits_of(const struct amf_value *v, double most)
{
    bool good = v->kind == AMF_NUMBER && v->number > 0 && v->number <= most;

    return good ? (uint64_t)(v->number * 1000) : 0;
}

uint64_t
promised_by(struct str metadata)
{
    struct amf_reader r;
    struct amf_value v;
    struct str name;
    uint64_t pictures = 0, sound = 0;

    amf_reader_init(&r, (const uint8_t *)metadata.ptr, metadata.len);
    amf_skip(&r);
    if (!amf_read(&r, NULL, &v) || v.kind != AMF_OBJECT) {
        return 0;
    }
    r = v.inside;
    for (int i = 0; i < MEMBERS_MAX && amf_read(&r, &name, &v); i++) {
        if (str_eq(name, STR("videodatarate"))) {
            pictures = bits_of(&v, PICTURES_MOST);
        } else if (str_eq(name, STR("audiodatarate"))) {
            sound = bits_of(&v, SOUND_MOST);
        }
    }
    return pictures + sound;
}

/* From a copy: any process may write to what lies there. */
uint64_t
promised_speed(const struct live_cuts *c)
{
    const struct prologue *p = prologue_of(c->stream);
    struct prologue_item item;
    char copy[METADATA_MAX];

    for (uint32_t i = 0; p != NULL && prologue_item(p, i, &item); i++) {
        if (item.type == MEDIA_DATA && (item.flags & MEDIA_META) != 0) {
            size_t len = item.len < sizeof(copy) ? item.len : sizeof(copy);

            memcpy(copy, p->bytes + item.offset, len);
            return promised_by(str_of(copy, len));
        }
    }
    return 0;
}
