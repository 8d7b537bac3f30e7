/*
 * The role "speaker": requests for speech, from workers to children of
 * weir-speaker.
 *
 *   speaker.c       the role's life; reloads
 *   desk.c          an instance: its catalogue, its zygotes, its back-off
 *   job.[ch]        the call tts.say: a job, from the request to its slot
 *   job_end.c       a job's answers
 *   job_share.c     whose job it is, and jobs that give way
 *   sound.[ch]      the bytes and the digest of what is asked
 *   reply.[ch]      answers to callers
 *   tree.[ch]       whether files of the directories have changed
 *   voices.c        the call tts.voices: the list of voices
 *   show.c          the call tts.show: what the operator sees of it
 *   speaker_plan.[ch]  what weir.conf says, from the master
 *   resolve.[ch]    names of voices and variants to files
 *   slots.[ch]      which job may compute
 *   synthesis.[ch]  one job in a child
 *   engine.[ch]     the zygote
 *   answer_cache.[ch]  answers that were given
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_SPEAKER_H
#define MODULES_TTS_SPEAKER_H

#include "answer_cache.h"
#include "catalogue.h"
#include "resolve.h"
#include "slots.h"
#include "speaker_plan.h"
#include "synthesis.h"
#include "tts.h"

/*
 * A desk is an instance.  It has one zygote that takes requests; those of
 * earlier configurations end with their last job.  A job waits at its desk
 * until it has a slot and the zygote is ready, and ends when its request has
 * its last answer, or nobody waits for it any more.
 *
 * A reload keeps the role: desks get their new bounds, read their directories
 * again, and start a new zygote where something differs that children have
 * from it.  Jobs that run go on; those that wait are asked of the new voices.
 * Other directories need other rights, so the role starts again then: jobs
 * have FAREWELL_MS to end, those that wait and later ones are refused (503).
 */
#define FAREWELL_MS 3000

struct speaker {       /* the role */
    struct loop *loop; /* borrowed, as is the starter */
    struct starter *starter;
    struct list desks; /* struct desk; those of no instance any more, too */
    size_t instances;  /* of weir.conf */
    bool stopping;
    int64_t farewell_ms; /* loop_now() at which it ends, once it stops */
};

/* ---- speaker.c ---- */

/* Answers 503: the instance is none of weir.conf, or the role starts again. */
void speaker_refuse(const struct speaker *s, struct rpc_request **r);

struct zygote {       /* an engine of a desk; freed with its end */
    struct list link; /* in desk.zygotes */
    struct desk *desk;
    struct engine *engine;
    int64_t started_ms; /* clock_ms() */
    bool was_ready;
};

#define DESK_ERRORS 6  /* that are shown */
#define DESK_SLOWEST 5 /* the same */
#define DESK_TEXT 160  /* bytes of an error */

struct desk_error {
    int64_t wall_ms;
    char text[DESK_TEXT];
};

struct desk_slow { /* a request that took long */
    int64_t wall_ms, ms, text_bytes;
    char voice[2 * SPEECH_FILE_MAX + 2];
};

struct desk {         /* an instance */
    struct list link; /* in speaker.desks */
    struct speaker *speaker;
    struct pool *pool; /* owned: has the texts of plan */
    struct plan_instance plan;
    bool retired; /* weir.conf has it no more */

    struct catalogue *catalogue; /* owned; NULL: there is none */
    uint8_t tree[DIGEST_SHA256]; /* of the directories' files */
    uint64_t generation;         /* grows when voices may differ */
    int64_t rate;                /* Hz */
    int voices; /* owned: the answer of tts.voices; -1: not made */
    int64_t voices_length;
    uint8_t voices_digest[DIGEST_SHA256];
    struct list watchers; /* of voices.c: callers that wait for another list */

    struct list zygotes;   /* struct zygote */
    struct zygote *zygote; /* the one that takes requests; NULL: none */
    struct timer again;    /* until the next */
    unsigned attempt;      /* starts in a row that ended soon */
    char why[DESK_TEXT];   /* the last one ended */
    struct timer room;     /* none begins until then: job_wait_room() */

    struct slots slots; /* struct job */
    struct answer_cache *cache;
    struct list jobs; /* struct job, all of them */

    int64_t usual_ms;   /* of a synthesis: a mean that forgets */
    int64_t hits, made; /* answers: from the cache, computed */
    struct desk_error errors[DESK_ERRORS];
    size_t error_next; /* place of the next */
    struct desk_slow slowest[DESK_SLOWEST];
};

/* ---- desk.c ---- */

struct desk *desk_new(struct speaker *s, const struct plan_instance *p);
/* It has no jobs. */
void desk_free(struct desk *d);
/* At a reload; starts a zygote where one is due. */
void desk_take_plan(struct desk *d, const struct plan_instance *p);
/* weir.conf has it no more: jobs that wait are refused. */
void desk_retire(struct desk *d);
/* It is retired, and nothing of it is left. */
bool desk_is_over(const struct desk *d);
/* NULL: weir.conf has none of that name. */
struct desk *desk_find(struct speaker *s, struct str name);
/* Whether a zygote runs or is about to.  If not, *retry_after is set to the
 * seconds until the next; 0: nothing is known of one. */
bool desk_is_open(const struct desk *d, int64_t *retry_after);
/* For tts.show and for the log. */
void desk_tell_error(struct desk *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* -1 with err: a memory file of those bytes that nobody can change. */
int desk_memory(struct str bytes, struct errmsg *err);

/* ---- job.c ---- */

rpc_handler job_on_request;
/* Jobs that wait get slots, while there are any. */
void job_go_on(struct desk *d);
/* The zygote has ended: so have its children. */
void job_zygote_gone(struct zygote *z);
/* Ends all jobs that wait: 503, because its last zygote has ended, or it is
 * retired. */
void job_refuse_waiting(struct desk *d, int64_t retry_after);
/* Ends all jobs, and refuses their requests. */
void job_drop_all(struct desk *d);
/* job_share.c: the sizes of tts_pools, as the desks are now. */
void job_set_pools(const struct speaker *s);

/* ---- voices.c ---- */

rpc_handler voices_on_request;
/* The desk's list may be another one now: tells those that wait for it. */
void voices_forget(struct desk *d);
/* The desk ends, or weir.conf has it no more: refuses those that wait. */
void voices_end(struct desk *d);

/* ---- show.c ---- */

rpc_handler show_on_request;

#endif
