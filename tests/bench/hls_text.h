/*
 * What a client of HLS needs of a playlist's text (RFC 8216 and its second
 * edition): where it ends, and what is new in it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_HLS_TEXT_H
#define BENCH_HLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HLS_URI = 256, HLS_PARTS = 32 };

/* The place of a part: of segment and part the next one, where they end a
 * playlist. */
struct hls_place {
    uint64_t segment;
    unsigned part;
};

struct hls_text {
    struct hls_place next; /* behind the last part that it has */
    bool blocks;           /* CAN-BLOCK-RELOAD */
    bool ended;            /* EXT-X-ENDLIST */
    double part_target;    /* seconds; 0: no parts */
    /* The newest parts, oldest first, with their places. */
    size_t parts;
    struct hls_part {
        struct hls_place place;
        char uri[HLS_URI];
    } part[HLS_PARTS];
};

/* Reads a media playlist; false: it is none. */
bool hls_read_media(struct hls_text *t, const char *text, size_t size);
/* The first URI of a multivariant playlist; false: there is none. */
bool hls_read_first(char uri[HLS_URI], const char *text, size_t size);
/* The path of a URI that stands in the playlist at `base`. */
void hls_resolve(char *out, size_t room, const char *base, const char *uri);

#endif
