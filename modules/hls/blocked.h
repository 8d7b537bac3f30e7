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
#include "net/share.h"

struct blocked { /* in the request's pool; r->context */
    struct list link;
    struct list of_client;         /* beside those of the same one */
    struct tally_holder client;    /* while it waits */
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
/* Waits: when the place is there, the stream ends, ms have gone by or others
 * need its room (then expired is set), the handler is called again.  Other
 * answers than SHARE_GRANTED: it may not wait. */
enum share_answer blocked_wait(const struct hls_layer *layer, struct blocked *b,
                               struct str name, int64_t ms);
/* A worker: so many may wait. */
void blocked_set_size(int64_t max_waiting);

extern struct tally_pool blocked_pools[];

#endif
