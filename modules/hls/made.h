/*
 * Objects and playlists that were made in this process, for all who ask.
 *
 * When there are too many or they hold too much memory, those that nobody is
 * sent leave it, the one that was asked for longest ago first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_MADE_H
#define MODULES_HLS_MADE_H

#include "object.h"

/* Bytes that it may hold, of the layer that allows most. */
void made_allow(int64_t bytes);
/* The object, made if it is not there; OBJECT_HERE: *out is held by the caller
 * until made_drop(). */
enum object_found made_find(const struct live_cuts *c, struct str name,
                            const struct object_key *key, struct object **out);
void made_drop(struct object *o);
/* A frame of it is gone: nobody gets it any more. */
void made_forget(struct object *o);
/* Makes its copy, if there is room for one among the copies. -1: there is
 * none. */
int made_copy(struct object *o);

/* A playlist as text. */
#define TEXT_QUERY_MAX 64
struct text_key {
    uint64_t word, end; /* of the run; the cut up to which it tells */
    const struct media_container *container;
    char rendition[OBJECT_RENDITION_MAX];
    bool over, skip, parts;
    uint64_t beside;            /* where the other members of its ladder are */
    char query[TEXT_QUERY_MAX]; /* of its objects; may be empty */
};
struct text {
    struct list chain, age;
    struct text_key key;
    char name[LIVE_NAME_MAX];
    struct buf body, gzip; /* owned */
};
/* NULL: it is not there.  The texts are good until the next call of
 * made_add_text(). */
struct text *made_text(struct str name, const struct text_key *key);
/* A text with an empty body. */
struct text *made_add_text(struct str name, const struct text_key *key);
void made_drop_text(struct text *t);

/* Bytes of copies now. */
size_t made_copies(void);

#endif
