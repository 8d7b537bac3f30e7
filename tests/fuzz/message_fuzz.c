/*
 * Fuzz target: data messages of publishers, as players of HLS get them.
 *
 * A tag of ID3 has the sizes that it says, and the name of the message.
 *
 * covers: modules/hls/message.c:message_begin,message_text,put_number,put_value
 * covers: modules/hls/message.c:put_members,write_json,put_size,write_id3
 * covers: modules/hls/message.c:message_id3
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/hls/message.h"

#define ID3_HEAD 10

static size_t
size_at(const uint8_t *p)
{
    size_t n = 0;

    for (int i = 0; i < 4; i++) {
        require((p[i] & 0x80) == 0);
        n = n << 7 | p[i];
    }
    return n;
}

static void
look_at_tag(const struct message *m, struct str tag)
{
    const uint8_t *p = (const uint8_t *)tag.ptr;

    require(tag.len > (size_t)2 * ID3_HEAD + 2);
    require(size_at(p + 6) == tag.len - ID3_HEAD);
    require(size_at(p + ID3_HEAD + 4) == tag.len - (size_t)2 * ID3_HEAD);
    require(str_starts(str_skip(tag, (size_t)2 * ID3_HEAD + 1), m->name));
    require(tag.ptr[tag.len - 1] == ']');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message m;
    struct str text = STR_NONE;
    struct buf out;

    if (size == 0 || size > MESSAGE_MAX) {
        return 0;
    }
    memcpy(m.bytes, data, size);
    if (!message_begin(&m, size)) {
        return 0;
    }
    if (message_text(&m, &text)) {
        require(text.len <= size);
    }
    buf_init(&out, (size_t)256 * 1024);
    if (message_id3(&m, &out) == 0) {
        look_at_tag(&m, buf_str(&out));
    }
    buf_clear(&out);
    return 0;
}
