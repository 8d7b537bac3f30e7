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
 * Each write looks whether somebody still wants the answer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_OUTPUT_H
#define MODULES_TTS_WEIR_SPEAKER_OUTPUT_H

#include "base/errmsg.h"
#include "base/str.h"
#include "request.h"

struct output {
    int fds[SPEECH_FDS]; /* borrowed */
    int64_t buffer;      /* bytes that the file has at most */
    bool stream;         /* always the pipe */
    bool is_long;        /* the pipe has it */
    int64_t bytes;       /* of the answer, so far */
    int64_t piped;       /* of these: that are in the pipe, or were */
    struct errmsg why;   /* a write has failed; "": nobody wants the answer */
};

/* Takes bytes of the answer: an encoder_sink, arg is a struct output.  -1: no
 * more, see why. */
int output_write(void *arg, const void *data, size_t n);
/* The answer is whole: the file's first bytes become head.  Nothing happens to
 * an answer that has gone through the pipe. */
int output_head(struct output *o, struct str head);
/* Says r to the speaker.  -1: nobody listens. */
int output_record(const struct output *o, const struct speech_record *r);

#endif
