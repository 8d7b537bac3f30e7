/*
 * Where a stream's messages come from: made up (H.264- and AAC-shaped, of a
 * given bitrate) or from an FLV file, over and over. Every message carries a
 * stamp.
 *
 * A source is read only and serves many streams; a cursor is one stream's
 * place in it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include "stamp.h"

struct source;

struct blob {
    const uint8_t *bytes; /* borrowed from the source */
    size_t size;
};

struct cursor {
    const struct source *source; /* borrowed */
    uint32_t stream;
    uint32_t video; /* number of the next video message */
    uint32_t audio;
    size_t tag;      /* of a file: the next one, */
    int64_t loop_ms; /* and when this turn through the file began */
};

/* One message as made by cursor_take(). */
struct frame {
    enum media_kind kind;
    bool key;
    uint32_t timestamp; /* ms since the stream's start */
    size_t size;
};

/* bitrate is of video and audio together, in bits a second; key frames come
 * every gop seconds. Owned by the caller. */
struct source *source_synthetic(uint64_t bitrate, unsigned fps, unsigned gop);
/* Reads the whole file; ends the program when it cannot be used. */
struct source *source_file(const char *path);
void source_free(struct source *s);

/* Most bytes of any message. */
size_t source_room(const struct source *s);
/* The properties of onMetaData (an AMF0 array), and the codec headers as
 * message bodies; empty where a file has none. */
struct blob source_metadata(const struct source *s);
struct blob source_video_header(const struct source *s);
struct blob source_audio_header(const struct source *s);

void cursor_init(struct cursor *c, const struct source *s, uint32_t stream);
/* When the next message is due, in ns since the stream's start. */
int64_t cursor_due(const struct cursor *c);
/* Makes the next message in room (source_room() bytes), stamped with the time
 * of now, and moves on. */
void cursor_take(struct cursor *c, uint8_t *room, struct frame *f);

#endif
