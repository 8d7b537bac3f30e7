/*
 * The wire forms of a frame: RTMP chunk headers and FLV tag headers.
 *
 * A chunk header written here is always fmt 0 with an absolute timestamp, so
 * that its bytes depend on the frame alone and are the same for all players.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/media.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

/* RTMP 1.0, 5.3.1.3: from here on the timestamp is in the extended field. */
#define EXTENDED 0xffffff
#define BYTES_24 0xffffff

const uint8_t media_set_data_frame[MEDIA_SET_DATA_FRAME] = {
    2, 0, 13, '@', 's', 'e', 't', 'D', 'a', 't', 'a', 'F', 'r', 'a', 'm', 'e',
};

static uint8_t
csid_of(enum media_type type)
{
    switch (type) {
    case MEDIA_AUDIO:
        return CSID_AUDIO;
    case MEDIA_VIDEO:
        return CSID_VIDEO;
    case MEDIA_DATA:
        return CSID_DATA;
    }
    return CSID_DATA;
}

size_t
media_rtmp_header(uint8_t dst[RTMP_HEADER_MAX], enum media_type type,
                  uint32_t timestamp, uint32_t len, uint32_t stream_id)
{
    assert(len <= BYTES_24);
    bool extended = timestamp >= EXTENDED;
    dst[0] = csid_of(type);
    put_be24(dst + 1, extended ? EXTENDED : timestamp);
    put_be24(dst + 4, len);
    dst[7] = (uint8_t)type;
    put_le32(dst + 8, stream_id);
    if (!extended) {
        return 12;
    }
    put_be32(dst + 12, timestamp);
    return 16;
}

size_t
media_rtmp_continue(uint8_t dst[RTMP_HEADER_MAX], enum media_type type,
                    uint32_t timestamp)
{
    dst[0] = (uint8_t)(0xc0 | csid_of(type));
    if (timestamp < EXTENDED) {
        return 1;
    }
    put_be32(dst + 1, timestamp);
    return 5;
}

size_t
media_rtmp_size(uint32_t timestamp, uint32_t len, uint32_t chunk_size)
{
    assert(chunk_size > 0);
    size_t extended = timestamp >= EXTENDED ? 4 : 0;
    size_t more = len == 0 ? 0 : (len - 1) / chunk_size;
    return 12 + extended + more * (1 + extended) + len;
}

void
media_flv_tag_header(uint8_t dst[FLV_TAG_HEADER], enum media_type type,
                     uint32_t timestamp, uint32_t len)
{
    assert(len <= BYTES_24);
    dst[0] = (uint8_t)type;
    put_be24(dst + 1, len);
    put_be24(dst + 4, timestamp & BYTES_24);
    dst[7] = (uint8_t)(timestamp >> 24);
    put_be24(dst + 8, 0);
}

void
media_flv_tag_trailer(uint8_t dst[FLV_TAG_TRAILER], uint32_t len)
{
    put_be32(dst, FLV_TAG_HEADER + len);
}

void
media_flv_file_header(uint8_t dst[FLV_FILE_HEADER], bool audio, bool video)
{
    static const uint8_t head[FLV_FILE_HEADER] = { 'F', 'L', 'V', 1, 0, 0, 0,
                                                   0,   9,   0,   0, 0, 0 };
    memcpy(dst, head, sizeof(head));
    dst[4] = (uint8_t)((audio ? 4 : 0) | (video ? 1 : 0));
}
