/*
 * The part of weir.conf that the speaker has to know, from the master.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_SPEAKER_PLAN_H
#define MODULES_TTS_SPEAKER_PLAN_H

#include "base/pool.h"
#include "tts.h"

#define PLAN_DIRECTORIES 9 /* of an instance: data_dir, and the system's */

struct plan_instance {
    struct str name, voice, speaker;
    struct str directories[PLAN_DIRECTORIES]; /* NUL-terminated */
    size_t directory_count;
    bool lenient; /* unknown_voice = "default" */
    int64_t children, queue, max_paused, cache, buffer, max_audio, timeout, cpu,
        memory, min_rate; /* as in struct tts_instance */
};

struct speaker_plan {
    struct plan_instance *items;
    size_t count;
};

/* Master. */
void speaker_plan_write(const struct settings *s, struct buf *to);
/* All of it lies in the pool.  -1: the bytes make no sense. */
int speaker_plan_read(struct str bytes, struct pool *pool,
                      struct speaker_plan *out);
const struct plan_instance *speaker_plan_find(const struct speaker_plan *p,
                                              struct str name);

#endif
