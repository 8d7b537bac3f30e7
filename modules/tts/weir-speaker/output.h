/*
 * The answer's way out of a child.
 *
 * The bytes go to a file in memory while they fit `buffer`.  When they do not,
 * or at once for a stream, they go to the pipe, from the first one on.
 *
 * The reader of the pipe may be slow.  When the pipe was not half free for 100
 * ms, the child says PAUSED and waits without computing.  When half of the pipe
 * is free it says WANTS, and waits for the byte that gives it its slot of
 * processor time back.
 *
 * Small writes are collected; each piece looks whether somebody still wants the
 * answer.  The first bytes of a stream go at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_OUTPUT_H
#define MODULES_TTS_WEIR_SPEAKER_OUTPUT_H

#include "base/errmsg.h"
#include "base/str.h"
#include "request.h"

#define OUTPUT_PIECE 32768 /* bytes that are collected */

struct output {
    int fds[SPEECH_FDS]; /* borrowed */
    int64_t buffer;      /* bytes that the file has at most */
    bool stream;         /* always the pipe */
    bool is_long;        /* the pipe has it */
    int64_t bytes;       /* of the answer, so far */
    int64_t filed;       /* of these: that are in the file, or were */
    int64_t piped;       /* of these: that are in the pipe, or were */
    size_t collected;    /* of these: that are in piece */
    uint8_t piece[OUTPUT_PIECE];
    struct errmsg why; /* a write has failed; "": nobody wants the answer */
};

/* Takes bytes of the answer: an encoder_sink, arg is a struct output.  -1: no
 * more, see why. */
int output_write(void *arg, const void *data, size_t n);
/* The answer is whole: what was collected goes, and the file's first bytes
 * become head, but for an answer that has gone through the pipe. */
int output_end(struct output *o, struct str head);
/* Says r to the speaker.  -1: nobody listens. */
int output_record(const struct output *o, const struct speech_record *r);

#endif
