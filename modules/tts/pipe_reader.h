/*
 * Reads the pipe of a synthesis on the worker's loop, no faster than its taker
 * has room.
 *
 * A reader that is told to wait reads nothing: the pipe fills, and the child
 * behind it pauses.  It keeps no bytes itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_PIPE_READER_H
#define MODULES_TTS_PIPE_READER_H

#include "base/str.h"
#include "event/loop.h"

/* Bytes that a taker gets at once, at most. */
#define PIPE_PIECE ((size_t)16 * 1024)

struct pipe_taker {
    /* Takes all of data, which is borrowed for the call.  False: it has no room
     * for more, until pipe_reader_go_on(). */
    bool (*on_bytes)(void *arg, struct str data);
    /* The last call: nobody writes to the pipe any more, and all its bytes
     * were given.  broken: reading failed, bytes may be missing. */
    void (*on_end)(void *arg, bool broken);
};

struct pipe_reader;

/* Owns fd from now on.  The calls come in later turns of l.  NULL, with fd
 * closed, when the system has no room to watch it. */
struct pipe_reader *pipe_reader_new(struct loop *l, int fd,
                                    const struct pipe_taker *taker, void *arg);
/* The taker has room again; it is fine to say so twice. */
void pipe_reader_go_on(struct pipe_reader *r);
/* Bytes that were given in all. */
uint64_t pipe_reader_bytes(const struct pipe_reader *r);
/* Closes the pipe, which ends the synthesis if it goes on still.  May be called
 * by the taker, and after on_end(); NULL inside is fine. */
void pipe_reader_free(struct pipe_reader **r);

#endif
