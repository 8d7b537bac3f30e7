/*
 * weir-speaker as the role sees it: the zygote of an instance, by its run of
 * the starter, its control socket and its work socket.
 *
 * An engine starts at once and is ready when the zygote says so.  It ends by
 * itself (killed, crashed, failed to start), or after engine_close(), with the
 * last of its children; on_end is the last call.  All of its children end with
 * the zygote, because the starter kills the session.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_ENGINE_H
#define MODULES_TTS_ENGINE_H

#include "base/errmsg.h"
#include "base/str.h"
#include "event/loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct starter; /* proc/starter.h */
struct rights;  /* proc/rights.h */

/* The path of weir-speaker: beside the program that runs.  Static. */
struct str engine_program(void);
/* Whether it can be executed; err says what to do. */
int engine_check_program(struct errmsg *err);

struct engine_options {
    struct loop *loop;             /* borrowed, as is the starter */
    struct starter *starter;       /* its program 0 is weir-speaker */
    const struct str *directories; /* of data, the first wins; copied */
    size_t directory_count;
    struct str warm; /* file of the voice that it loads first; may be empty */
    int64_t memory;  /* bytes of addresses of a child */
    int64_t cpu;     /* s of processor time of a child */
    int64_t pool;    /* children that wait for requests */
    /* It takes requests; rate is Hz. */
    void (*on_ready)(void *arg, int64_t rate);
    /* It has ended, and all its children; why: for the log, "" after
     * engine_close().  The engine is freed after the call. */
    void (*on_end)(void *arg, const char *why);
    void *arg;
};

struct engine;

/* NULL with err; on_end is not called then. */
struct engine *engine_start(const struct engine_options *o, struct errmsg *err);
bool engine_is_ready(const struct engine *e);
/* 0 while it is not known. */
pid_t engine_pid(const struct engine *e);
/* Hands a request to a child: SPEECH_FDS descriptors, which stay the caller's.
 * -1 with errno EAGAIN: there is no room now; any other: never. */
int engine_send(struct engine *e, struct str packet, const int *fds);
/* Its child is killed, soon. */
void engine_kill(struct engine *e, pid_t child);
/* Its child has said its last word on that socket, which is the engine's from
 * now on: it is killed if it does not end soon. */
void engine_see_out(struct engine *e, pid_t child, int status);
/* Makes no more children; on_end comes with the end of the last. */
void engine_close(struct engine *e);
/* Kills the zygote and its children; on_end follows. */
void engine_abort(struct engine *e, const char *why);
/* Kills them without a call. */
void engine_discard(struct engine **e);

#endif
