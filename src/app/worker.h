/*
 * A worker's state, which its services and modules get.  Its life is in
 * app/child/worker_process.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_WORKER_H
#define APP_WORKER_H

#include "app/generation.h"
#include "event/loop.h"
#include "event/task.h"

struct worker {
    struct loop *loop;                   /* owned */
    const struct generation *generation; /* borrowed: inherited by fork */
    struct pool *pool;                   /* memory that lives as long as the
                                            worker */
    uint32_t index;               /* among the workers of its generation */
    struct task_threads *threads; /* owned */
    struct services *services;    /* of service/services.h; in the pool */
};

#endif
