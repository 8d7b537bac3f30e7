/*
 * What players see: one viewer for each, one tally for all.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include "frame_check.h"
#include "histogram.h"

struct tally {
    int64_t now;   /* when the bytes at hand were received */
    int64_t since; /* when counting began */
    int64_t cpu;   /* CPU time used until then */

    /* From there on: */
    uint64_t bytes;
    uint64_t messages; /* whole and right ones */
    uint64_t dropped;  /* missing in the sequence */
    struct histogram video_latency;
    struct histogram audio_latency; /* apart: a server may let sound wait */

    /* From the beginning on: */
    uint64_t repeated; /* in the sequence again, or before their turn */
    uint64_t corrupt;
    uint64_t strayed;              /* of another stream, or not asked for */
    uint64_t foreign;              /* without a stamp */
    uint64_t off_key;              /* pictures began with something else */
    uint64_t backwards;            /* a timestamp below the one before */
    struct histogram join_connect; /* from connect to the first key frame */
    struct histogram join_play;    /* from play or GET to it */

    /* Players, when the result is made: */
    unsigned players;
    unsigned playing; /* have had a key frame and are still there */
    unsigned waiting; /* are there and have had none */
    unsigned failed;  /* were never let in; why tells about the first */
    unsigned closed;  /* were, and were closed by the server */
    unsigned stalled; /* got nothing for 2 s though they read */
    unsigned holding; /* stopped reading, as told by --stall */
    char why[160];
};

struct viewer {
    uint32_t stream; /* which it plays */
    bool any_stream; /* is not to be compared */
    bool started;    /* had a picture */
    bool heard;      /* had sound */
    uint32_t next_video;
    uint32_t next_audio;
    uint32_t video_time; /* ms, of the last message */
    uint32_t audio_time;
    int64_t connected; /* when connect() was called, ns */
    int64_t asked;     /* when play or GET was sent */
};

/* Begins to count here. */
void tally_reset(struct tally *t);
/* A whole media message at t->now. */
void viewer_take(struct viewer *v, struct tally *t, const struct media *m);
/* Prints the result on standard output. */
void tally_print(const struct tally *t, bool json);

#endif
