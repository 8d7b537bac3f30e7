/*
 * One synthesis in a child of weir-speaker, from the packet to its end.
 *
 * The child is not believed: records that come out of their order, a length
 * that is not that of the file, a file that cannot be sealed end it as a crash
 * does.  A timer here bounds its cost: TAKEN has to come soon, and the
 * synthesis has `timeout` ms, in which the time that it waits for
 * its reader does not count.  A reader that takes less than min_rate is cut.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_SYNTHESIS_H
#define MODULES_TTS_SYNTHESIS_H

#include "engine.h"
#include "request.h"
#include "tts.h"

struct synthesis;

enum synthesis_outcome {
    SYNTHESIS_WHOLE,   /* memory has it; sealed */
    SYNTHESIS_PIPED,   /* the pipe had all of it */
    SYNTHESIS_FAILED,  /* the child says why */
    SYNTHESIS_CRASHED, /* it ended, or is not believed */
    SYNTHESIS_UNTAKEN, /* no child has begun it; it may be asked again */
    SYNTHESIS_KILLED,  /* here; reason says why */
};

struct synthesis_end {
    enum synthesis_outcome outcome;
    enum tts_child_end reason; /* KILLED */
    int memory; /* WHOLE: owned by the callback, which sets it to -1; -1 else */
    const struct speech_record *record; /* WHOLE, PIPED, FAILED; else NULL */
};

struct synthesis_options {
    struct loop *loop;     /* borrowed, as is the engine */
    struct engine *engine; /* has to be there until on_end */
    struct str packet;     /* struct speech_request, packed */
    struct str text;       /* of it, if the packet has none for its length */
    int64_t buffer;        /* bytes that memory has at most */
    int64_t timeout;       /* ms */
    int64_t min_rate;      /* bytes a second; 0: any */
    /* The sound comes through a pipe: its reading end, borrowed. */
    void (*on_long)(void *arg, int pipe);
    /* It waits for its reader, and computes nothing. */
    void (*on_paused)(void *arg);
    /* It could go on: synthesis_grant(). */
    void (*on_wants)(void *arg);
    /* The last call; the synthesis is freed after it. */
    void (*on_end)(void *arg, struct synthesis_end *end);
    void *arg;
};

/* NULL with err, when there are no descriptors or the engine takes nothing;
 * *again is set if a little later may be better. */
struct synthesis *synthesis_start(const struct synthesis_options *o,
                                  bool *again, struct errmsg *err);
/* To one that wants. */
void synthesis_grant(struct synthesis *s);
/* Kills its child.  on_end is called at the end of this turn. */
void synthesis_kill(struct synthesis *s, enum tts_child_end why);
/* Its engine has ended, all children with it: what the child still said counts.
 * on_end is called at once. */
void synthesis_engine_gone(struct synthesis *s);
/* As synthesis_kill(), without a call. */
void synthesis_forget(struct synthesis **s);
/* Bytes a second that its reader takes, since the pipe began. */
int64_t synthesis_rate(const struct synthesis *s);
/* Hz of the answer, as the child said when it took the request; 0 before. */
int64_t synthesis_sample_rate(const struct synthesis *s);

#endif
