/*
 * Streams by name: finding, making, owning, holding and ending them.
 *
 * A record goes FREE -> CLAIMED -> OPEN -> ENDED -> FREE.  Its key word holds
 * state, claiming slot and the hash of the name, so that one compare-and-swap
 * both takes a record and shows others which name it will have.  A process that
 * finds another record with the same hash after claiming lets go and tries
 * again.  Of two processes at least one sees the other, so no name is there
 * twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_STREAM_H
#define LIVE_STREAM_H

#include "live/arena.h"

enum stream_answer {
    STREAM_YOURS,   /* this process writes it now */
    STREAM_TAKEN,   /* it has another publisher */
    STREAM_RETRY,   /* another process is changing it: ask again in a
                       millisecond */
    STREAM_NO_ROOM, /* live.max_streams */
    STREAM_SHARE,   /* its client has its share of them */
};

/* The open stream of that name, or NULL. */
struct stream *stream_find(struct str name);
bool stream_is_open(struct stream *s);
/* Borrowed from shared memory: never longer than a name may be, but its bytes
 * are not to be trusted. */
struct str stream_name(const struct stream *s);

/* Asks for the right to write the stream, and makes it if there is none. */
enum stream_answer stream_claim(const struct live_publish *p,
                                struct stream **out);

/* Asks its writer to hand it over to this process; 0, or -1 with err when
 * another process asks already or the stream changes hands too often. */
int stream_ask(struct stream *s, struct errmsg *err);
/* Takes the question back; false: it was answered, the stream is ours. */
bool stream_unask(struct stream *s);
/* The writer's side: gives it to the process that asked; false: none did. */
bool stream_hand_over(struct stream *s);
/* Notes that a publisher was replaced; -1 with err: too often. */
int stream_note_replaced(struct stream *s, struct errmsg *err);

/* The writer leaves: on hold from now. */
void stream_leave(struct stream *s);

/* For its writer: whether its words are such that frames can be appended.  Any
 * process may have written to them.  Takes a few loads. */
bool stream_is_whole(struct stream *s);

/* Words that its writer alone changes: it compares them with those it left. */
struct stream_words {
    uint64_t all[12];
};
struct stream_words stream_words(struct stream *s);

/* The writer leaves a stream that is not whole: the master ends it at once,
 * whoever watches it or asks for it. */
void stream_abandon(struct stream *s);

/* One that is on hold ends now. */
void stream_give(struct stream *s);

bool stream_is_live(struct stream *s);
/* Whether it has no publisher and its hold is over: players that have all of it
 * are stopped.  The master ends the stream itself (sweep.c) when no slot owes
 * a player some of it; at owed_until in any case. */
bool stream_hold_is_over(struct stream *s);
/* Sets whether a slot has players without all of it, or has not looked yet. */
void stream_set_owing(struct stream *s, uint32_t slot, bool owing);
bool stream_is_owed(struct stream *s); /* by any */

/* ---- keys, for the master's sweep ---- */

/* A key: state (2 bits), claiming slot (10 bits), hash of the name (52). */
#define KEY_STATE_BITS 2
#define KEY_SLOT_BITS 10
#define KEY_HASH_SHIFT (KEY_STATE_BITS + KEY_SLOT_BITS)

static inline uint64_t
key_make(enum stream_state state, uint32_t slot, uint64_t hash)
{
    return (uint64_t)state | (uint64_t)slot << KEY_STATE_BITS |
           hash << KEY_HASH_SHIFT;
}

static inline enum stream_state
key_state(uint64_t key)
{
    return (enum stream_state)(key & ((1u << KEY_STATE_BITS) - 1));
}

static inline uint32_t
key_slot(uint64_t key)
{
    return (uint32_t)(key >> KEY_STATE_BITS) & ((1u << KEY_SLOT_BITS) - 1);
}

#endif
