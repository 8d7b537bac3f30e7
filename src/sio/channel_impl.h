/*
 * The channel, as its files share it.
 *
 *   channel.c         calls of other processes, life
 *   channel_points.c  endpoints
 *   emit.c            sio_emit()
 *   settings.c        rows of settings
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_CHANNEL_IMPL_H
#define SIO_CHANNEL_IMPL_H

#include "sio/channel.h"
#include "sio/point.h"

struct channel {
    struct loop *loop;
    const struct channel_module *modules;
    struct ws_host *ws;    /* owned */
    struct engine *engine; /* owned */
    size_t sessions_max;
    struct list points; /* struct sio_point */
    struct list polls;  /* struct poll */
    size_t poll_count;
    bool draining;
};

/* Whether this process is the channel: the event is then sent at once. */
bool channel_emit_here(const struct sio_target *to,
                       const struct sio_message *m);

/* NULL: there is none. */
struct sio_point *channel_find_point(const struct channel *c, struct str module,
                                     struct str name);
/* Its sessions have ended. */
void channel_free_point(struct sio_point *p);

#endif
