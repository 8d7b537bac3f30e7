/*
 * Appending frames to a stream: the only code that changes its rings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_WRITER_H
#define LIVE_WRITER_H

#include "live/cut.h"
#include "live/init_headers.h"
#include "live/stray.h"
#include "live/stream_stats.h"
#include "live/timeline.h"

/* The private state of the writing process; lost with it without harm. */
struct writer {
    struct stream *stream;
    int64_t started_ms;
    struct timeline time;
    struct writer_track {
        bool seen;
        uint8_t id;
    } leads[2];           /* the lowest track of sound, of pictures */
    uint64_t first_sound; /* behind the newest header of sound */
    bool wants_key;       /* frames were lost: nothing until a key frame */
    bool video_declared;  /* by metadata */
    bool pictured;        /* a picture came, and not its codec header alone */
    struct stray_watch strays;
    struct measure measure;
    struct prologue_writer headers;
    struct cutter cuts;
    bool (*plays)(struct writer *w); /* whether this process has players of the
                                        stream; NULL: it has none */
    bool unsteady; /* its codec headers change too often: it has to be stopped,
                      because new players would get a header that is not in
                      force */
};

/* The process has the right to write s.  Drops the codec headers of an earlier
 * publisher. */
void writer_start(struct writer *w, struct stream *s);

/* 0; -1: dropped and counted, or w->unsteady. */
int writer_append(struct writer *w, enum media_type type, uint32_t timestamp,
                  const uint8_t *payload, size_t len);

#endif
