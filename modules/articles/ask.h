/*
 * One request that waits for the store.
 *
 *     struct mine { struct ask ask; ... };
 *     struct mine *m = ask_begin(r, state, sizeof(*m));
 *     m->ask.call = store_read(..., on_read, m);
 *     return HTTP_WAIT;
 *
 * on_read() ends with one of two, which name the function that answers the
 * request: ask_answer() at once, while the rows are there, which is for reads
 * (the store gives their results for 5 ms of a turn); or, when it has kept what
 * it needs, ask_go_on() in a later turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_ASK_H
#define MODULES_ARTICLES_ASK_H

#include "articles.h"
#include "schema.h"

struct ask {                      /* the first member of a handler's struct */
    struct http_request *request; /* its pool has this */
    struct articles *layer;
    const struct article_format *format; /* of the answer */
    struct store_call *call;             /* owned while it runs */
    enum http_result (*answer)(struct ask *a);
    enum store_status status; /* of the last call */

    /* Of a read whose answer may be kept (cache.h): the version of the store
     * before the read, 0 of others; and the answer's headers. */
    uint64_t version;
    struct str tag, cursor, link;
};

/* A zeroed struct of size bytes that begins with a struct ask; it becomes the
 * request's context, and its call is cancelled with the request. */
void *ask_begin(struct http_request *r, void *state, size_t size);
void ask_go_on(struct ask *a, enum http_result (*answer)(struct ask *a));
/* *a may be gone afterwards. */
void ask_answer(struct ask *a, enum http_result (*answer)(struct ask *a));
/* In a store_done: notes the result.  False: the store failed, and the answer
 * will say so. */
bool ask_succeeded(struct ask *a, const struct store_result *r);
/* The same where STORE_CONFLICT and STORE_MISSING are no failures. */
bool ask_decided(struct ask *a, const struct store_result *r);

/* Reads the secret of cursors if the layer does not have it yet, and then calls
 * done.  False: it is there, done will not be called. */
bool ask_secret(struct ask *a, void (*done)(struct ask *a));

/* From cells of SQL_ITEM and SQL_AUTHOR; texts live as long as the cells. */
struct article ask_article(const struct store_value *cells);
struct author ask_author(const struct store_value *cells);
/* The same; texts are copied to the pool. */
struct article ask_take_article(struct pool *pool,
                                const struct store_value *cells);
struct author ask_take_author(struct pool *pool,
                              const struct store_value *cells);

/* The last segment of the path as an id; false: it cannot be one. */
bool ask_id(const struct http_request *r, int64_t *id);
/* A number for the next edition of a row. */
int64_t ask_edition(void);

#endif
