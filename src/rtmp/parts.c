/*
 * Media out of messages.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/parts.h"

#include "base/bytes.h"

#define PARTS_MAX 1024 /* of one aggregate; encoders send some ten */

/* AMF3 data begins with a byte that says so; then it is AMF0. */
static bool
on_data_amf3(const struct chunk_message *m, parts_fn *f, void *arg)
{
    struct chunk_message data = *m;

    if (data.len > 0 && data.payload[0] == 0) {
        data.payload++;
        data.len--;
    }
    return f(arg, MEDIA_DATA, &data);
}

/* One message inside an aggregate has the form of an FLV tag. */
static bool
on_part(const struct chunk_message *part, parts_fn *f, void *arg)
{
    switch (part->type) {
    case TYPE_AUDIO:
        return f(arg, MEDIA_AUDIO, part);
    case TYPE_VIDEO:
        return f(arg, MEDIA_VIDEO, part);
    case TYPE_DATA:
        return f(arg, MEDIA_DATA, part);
    default:
        return true;
    }
}

/* Cuts the next part off what is left of an aggregate; part holds what the
 * parts share.  False at its end, or where it is cut off. */
static bool
next_part(struct str *left, struct chunk_message *part)
{
    const uint8_t *p = (const uint8_t *)left->ptr;

    if (left->len < FLV_TAG_HEADER) {
        return false;
    }
    part->type = p[0];
    part->len = get_be24(p + 1);
    part->timestamp = get_be24(p + 4) | (uint32_t)p[7] << 24;
    part->payload = p + FLV_TAG_HEADER;
    if (part->len > left->len - FLV_TAG_HEADER) {
        return false;
    }
    *left = str_skip(*left, FLV_TAG_HEADER + part->len + FLV_TAG_TRAILER);
    return true;
}

/* The first part has the time of the aggregate, the others keep their
 * distance from it (RTMP 1.0, 7.1.6). */
static int
on_aggregate(struct channel *ch, const struct chunk_message *m, parts_fn *f,
             void *arg)
{
    struct str left = str_of(m->payload, m->len);
    struct chunk_message part = *m;
    uint32_t first = 0;

    for (int i = 0; next_part(&left, &part); i++) {
        if (i == PARTS_MAX) {
            return -1;
        }
        channel_charge(ch, 1);
        first = i > 0 ? first : part.timestamp;
        part.timestamp = m->timestamp + (part.timestamp - first);
        if (!on_part(&part, f, arg)) {
            break;
        }
    }
    return 0;
}

int
parts_read(struct channel *ch, const struct chunk_message *m, parts_fn *f,
           void *arg)
{
    if (m->type == TYPE_AGGREGATE) {
        return on_aggregate(ch, m, f, arg);
    }
    if (m->type == TYPE_DATA_AMF3) {
        on_data_amf3(m, f, arg);
    } else {
        on_part(m, f, arg);
    }
    return 0;
}
