/*
 * Reads an FLV file of H.264 and AAC into a source (Adobe FLV specification
 * 10.1, annex E).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source.h"

#include "common.h"
#include "source_impl.h"

#include <stdio.h>
#include <string.h>

enum {
    FILE_HEAD = 9 + 4,
    TAG_HEAD = 11,
    TAG_SCRIPT = 18,
    MAX_FILE = 1 << 30,
};

size_t
source_stamped_size(const struct source_tag *tag)
{
    return tag->kind == MEDIA_VIDEO ? tag->size - 5 + VIDEO_STAMPED
                                    : tag->size - 2 + AUDIO_STAMPED;
}

static size_t
load(struct source *s, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL || fseek(file, 0, SEEK_END) == -1) {
        fatal("cannot read %s", path);
    }
    long size = ftell(file);

    if (size < FILE_HEAD || size > MAX_FILE) {
        fatal("%s: is empty, or above 1 GiB", path);
    }
    rewind(file);
    s->file = mem_new(1, (size_t)size);
    if (fread(s->file, 1, (size_t)size, file) != (size_t)size ||
        memcmp(s->file, "FLV\1", 4) != 0) {
        fatal("%s: is not an FLV file", path);
    }
    fclose(file);
    return (size_t)size;
}

static void
keep(uint8_t **to, size_t *to_size, const uint8_t *body, size_t size)
{
    mem_drop(to);
    *to = mem_new(1, size);
    *to_size = size;
    put_bytes(*to, body, size);
}

/* A script tag: its value after the name onMetaData. */
static void
take_script(struct source *s, const uint8_t *body, size_t size)
{
    static const char name[] = "\2\0\12onMetaData";
    size_t skip = sizeof(name) - 1;

    if (size > skip && memcmp(body, name, skip) == 0) {
        keep(&s->metadata, &s->metadata_size, body + skip, size - skip);
    }
}

/* A codec header; for H.264 also how long its unit lengths are. */
static void
take_header(struct source *s, enum media_kind kind, const uint8_t *body,
            size_t size)
{
    if (kind == MEDIA_AUDIO) {
        keep(&s->audio_header, &s->audio_header_size, body, size);
        return;
    }
    if (size < 11 || (body[9] & 3) != 3) {
        fatal("the file's H.264 units do not have lengths of 4 bytes");
    }
    keep(&s->video_header, &s->video_header_size, body, size);
}

static void
add_tag(struct source *s, enum media_kind kind, uint32_t timestamp,
        const uint8_t *body, size_t size)
{
    size_t head = kind == MEDIA_VIDEO ? 5 : 2;
    struct source_tag tag = {
        .kind = kind,
        .key = kind == MEDIA_VIDEO && body[0] >> 4 == 1,
        .timestamp = timestamp,
        .body = body,
        .size = size,
        .sum = adler_add(1, body + head, size - head),
    };

    if ((s->tag_count & (s->tag_count + 1)) == 0) { /* 0, 1, 3, 7, ... */
        s->tags = mem_grow(s->tags, 2 * (s->tag_count + 1) * sizeof(tag));
    }
    s->tags[s->tag_count++] = tag;
    if (source_stamped_size(&tag) > s->room) {
        s->room = source_stamped_size(&tag);
    }
}

static void
take_media(struct source *s, enum media_kind kind, uint32_t timestamp,
           const uint8_t *body, size_t size)
{
    bool known = size >= 2 && (kind == MEDIA_VIDEO ? (body[0] & 0x8f) == 7
                                                   : body[0] >> 4 == 10);

    if (!known) {
        fatal("the file has something else in it than H.264 and AAC");
    }
    if (body[1] == 0) {
        take_header(s, kind, body, size);
    } else if (body[1] == 1 && size >= (kind == MEDIA_VIDEO ? 10 : 3)) {
        add_tag(s, kind, timestamp, body, size);
    }
}

/* Times start at 0, and a turn lasts one frame longer than its last one. */
static void
set_length(struct source *s)
{
    uint32_t first = s->tags[0].timestamp;
    uint32_t last = first;

    for (size_t i = 0; i < s->tag_count; i++) {
        if (s->tags[i].timestamp > last) {
            last = s->tags[i].timestamp;
        }
        s->tags[i].timestamp -= first;
    }
    s->length_ms = last - first + 33;
}

struct source *
source_file(const char *path)
{
    struct source *s = mem_new(1, sizeof(*s));
    size_t end = load(s, path);
    size_t at = FILE_HEAD;

    while (end - at >= TAG_HEAD) {
        const uint8_t *tag = s->file + at;
        uint32_t size = get_be24(tag + 1);
        uint32_t timestamp = (uint32_t)tag[7] << 24 | get_be24(tag + 4);

        if (end - at < (size_t)size + TAG_HEAD + 4) {
            break;
        }
        if (tag[0] == TAG_SCRIPT) {
            take_script(s, tag + TAG_HEAD, size);
        } else if (tag[0] == MEDIA_AUDIO || tag[0] == MEDIA_VIDEO) {
            take_media(s, (enum media_kind)tag[0], timestamp, tag + TAG_HEAD,
                       size);
        }
        at += (size_t)size + TAG_HEAD + 4;
    }
    if (s->tag_count == 0) {
        fatal("%s: has no H.264 or AAC in it", path);
    }
    set_length(s);
    return s;
}
