/*
 * The backend of a process that was started while the store could not be
 * opened: each call is answered at once, and the process is replaced when the
 * store is there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/call.h"

static int
open_nothing(struct loop *l, const struct store_settings *s,
             struct task_threads *threads, struct errmsg *err)
{
    (void)l;
    (void)s;
    (void)threads;
    (void)err;
    return 0;
}

static void
close_nothing(void)
{
}

static void
refuse(struct store_call *c)
{
    call_later(c, STORE_DOWN);
}

static void
tick(void)
{
}

static bool
is_up(void)
{
    return false;
}

const struct backend away_backend = {
    .open = open_nothing,
    .close = close_nothing,
    .read = refuse,
    .write = refuse,
    .tick = tick,
    .is_up = is_up,
};
