/*
 * A job: a request for speech, until its last answer.
 *
 * A job whose request equals that of another one, its leader, waits for the
 * leader's answer instead of a slot.  If that is no whole answer, or none, it
 * waits for a slot after all.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_JOB_H
#define MODULES_TTS_JOB_H

#include "sound.h"

struct job {
    struct list link; /* in desk.jobs */
    struct slot_user slot;
    struct desk *desk;
    struct rpc_request *request; /* its last answer is ours to give */
    struct tally_holder client;  /* it counts for, */
    enum tts_pool pool;          /* here; TTS_POOLS: nowhere */
    struct sound sound;
    struct list followers, follow; /* of a leader; in its followers */
    bool alone;                    /* neither leads nor follows */
    struct zygote *zygote;         /* that has it, while run is not NULL */
    struct synthesis *run;         /* owned; NULL: none now */
    int64_t came_ms, sent_ms;
    unsigned returns; /* how often its child or zygote ended before it began */
    bool piped;       /* the part with the pipe was sent */
    int pipe;         /* owned: a part that waits for room; -1: none */
    bool over;        /* the last answer waits for that part */
    int status;       /* of it */
    int64_t sample_rate, duration, length;
    char message[DESK_TEXT];
};

/* ---- job_end.c ---- */

/* The calls of a synthesis; arg is the job. */
void job_on_long(void *arg, int pipe);
void job_on_end(void *arg, struct synthesis_end *end);

/* ---- job_share.c ---- */

/* A slot, or a place of the queue.  False: it was refused, and is gone. */
bool job_claim_slot(struct job *j);
/* The answer of another one.  The same. */
bool job_claim_answer(struct job *j);
/* It counts no more. */
void job_unclaim(struct job *j);
/* It goes on for another client, who had a place. */
void job_change_client(struct job *j, const struct tally_holder *client);
/* Answers 503 and frees it. */
void job_refuse(struct job *j, const char *why);

/* ---- job.c ---- */

/* Without an answer. */
void job_free(struct job *j);
/* None begins for a moment: the zygote takes no more, or ends just now. */
void job_wait_room(struct desk *d);
/* Its last answer was given: the next may begin. */
void job_end(struct job *j);
/* It leads no more: its followers wait for another leader, or each for a slot
 * of its own. */
void job_release(struct job *j, bool each_alone);

#endif
