/*
 * A job: a request for speech, until its last answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_JOB_H
#define MODULES_TTS_JOB_H

#include "speaker.h"

struct sound { /* what is asked, of one generation of voices */
    struct resolved voice;
    struct buf packet; /* owned: for a child */
    uint8_t key[DIGEST_SHA256];
    uint64_t generation;
    int64_t text_bytes;
    enum speech_format format;
    bool stream;
};

struct job {
    struct list link; /* in desk.jobs */
    struct slot_user slot;
    struct desk *desk;
    struct rpc_request *request; /* its last answer is ours to give */
    struct sound sound;
    struct zygote *zygote; /* that has it, while run is not NULL */
    struct synthesis *run; /* owned; NULL: none now */
    int64_t came_ms, sent_ms;
    bool returned; /* a zygote has ended before a child began it */
    bool piped;    /* the part with the pipe was sent */
    int pipe;      /* owned: a part that waits for room; -1: none */
    bool over;     /* the last answer waits for that part */
    int status;    /* of it */
    int64_t sample_rate, duration, length;
    char message[DESK_TEXT];
};

#endif
