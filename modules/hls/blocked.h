/*
 * Requests for what is not there yet.
 *
 * They hang at a place of the stream and are woken by its cuts.  A stream with
 * such requests has one watch in the process, and all of them have one timer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_BLOCKED_H
#define MODULES_HLS_BLOCKED_H

#include "hls.h"

struct blocked { /* in the request's pool; r->context */
    struct list link;
    struct blocked_stream *stream; /* NULL: it waits no more */
    struct http_request *request;
    uint64_t segment; /* waits until that part is whole, */
    uint32_t part;    /* or BLOCKED_SEGMENT: that segment */
    int64_t until;    /* loop_now() */
    bool expired;
};
#define BLOCKED_SEGMENT UINT32_MAX

/* Whether the place is there now, or will not come. */
bool blocked_is_over(const struct live_cuts *c, const struct blocked *b);
/* Waits: when the place is there, the stream ends or ms have gone by (then
 * expired is set), the handler is called again.  False: as many wait as may. */
bool blocked_wait(const struct hls_layer *layer, struct blocked *b,
                  struct str name, int64_t ms);

#endif
