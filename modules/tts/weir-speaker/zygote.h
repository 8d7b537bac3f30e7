/*
 * The zygote: the library, started once, and the children that are forked from
 * it.
 *
 * A child is forked before there is a request for it, takes one, and ends with
 * it.  As many as `pool` wait; one more is forked when one has taken a request
 * (it says so on a pipe) or has ended without one.  Children that end at once
 * are not forked at full speed for ever: the zygote waits longer each time.
 *
 * The speaker talks to the zygote on the control socket (request.h).  The
 * zygote ends when that socket, or the one of the requests, is closed, and
 * children that have a request have ended.  No child outlives the zygote.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_ZYGOTE_H
#define MODULES_TTS_WEIR_SPEAKER_ZYGOTE_H

#include <stddef.h>
#include <stdint.h>

#define ZYGOTE_POOL 64       /* children that wait, at most */
#define ZYGOTE_CHILDREN 4352 /* max_paused, children and idle ones, at most */

struct zygote_options {
    int64_t memory; /* bytes of addresses of a child; 0: any */
    int64_t cpu;    /* seconds of processor time of a child; 0: any */
    int64_t pool;   /* children that wait */
    const char *const *directories; /* of data, the first wins; borrowed */
    size_t count;
};

/* Does all of it; returns the exit status of the program. */
int zygote_run(const struct zygote_options *o);

#endif
