/*
 * Shared by the files of this module.
 *
 * A request that needs the store waits as a struct ask (ask.h); a layer's state
 * is a struct articles.
 *
 *   list.c     /articles, a page
 *   item.c     /articles/:id
 *   authors.c  /authors and /authors/:id
 *   post.c     making an article
 *   edit.c     PUT and PATCH
 *   remove.c   DELETE
 *   options.c  OPTIONS and preflights
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_ARTICLES_H
#define MODULES_ARTICLES_ARTICLES_H

#include "app/module.h"
#include "cache.h"
#include "format.h"
#include "proc/metric.h"

#define ARTICLES_NUM 10       /* of a page, without ?num= */
#define ARTICLES_NUM_MOST 500 /* the largest max_num */
#define ARTICLES_TITLE_MOST                                              \
    600                       /* max_title: four bytes each still fit an \
                                 index of PostgreSQL (2704) */
#define ARTICLES_NAME_MAX 200 /* characters of an author's name */
#define ARTICLES_CONTENT_MOST (2 << 20)

struct articles_settings { /* of a layer */
    struct conf_strings write_access;
    bool envelope;
    bool edit; /* PUT and PATCH */
    int64_t max_num;
    int64_t max_title;        /* characters */
    int64_t max_content;      /* bytes */
    int64_t idempotency_time; /* ms */
    int64_t cache;            /* bytes */
};

struct articles { /* a layer, in a worker */
    const struct articles_settings *settings;
    const struct access_list *writers;
    struct cache *cache; /* owned; NULL: none */
    /* The secret that signs cursors: in the store, read when it is first
     * needed; NULL until then.  Owned. */
    struct digest_key *secret;
};

/* ---- metrics ---- */

enum articles_refused {
    ARTICLES_REFUSED_ACCESS,     /* write_access */
    ARTICLES_REFUSED_PARAMETER,  /* 400: num, cursor, author */
    ARTICLES_REFUSED_BODY,       /* 400 */
    ARTICLES_REFUSED_UNPARSABLE, /* 422 */
    ARTICLES_REFUSED_TYPE,       /* 415 */
    ARTICLES_REFUSED_ACCEPT,     /* 406 */
    ARTICLES_REFUSED_NOT_FOUND,  /* 404 */
    ARTICLES_REFUSED_TITLE,      /* 409 */
    ARTICLES_REFUSED_CONDITION,  /* 412 */
    ARTICLES_REFUSED_KEY,        /* Idempotency-Key: 400, 422 */
    ARTICLES_REFUSED_RACE,       /* 503: edited by others all the time */
    ARTICLES_REFUSED_STORE,      /* 503, 500 */
    ARTICLES_REFUSED_REASONS
};

enum articles_changed {
    ARTICLES_CREATED,
    ARTICLES_REPLAYED, /* the answer to a POST was given again */
    ARTICLES_EDITED,
    ARTICLES_DELETED,
    ARTICLES_CHANGES
};

enum articles_metric {
    ARTICLES_REFUSED,
    ARTICLES_CHANGED,
    ARTICLES_METRIC_COUNT
};

extern struct metric articles_metrics[];

/* ---- handlers ---- */

http_handler articles_list;                                /* list.c */
http_handler articles_item;                                /* item.c */
http_handler articles_remove;                              /* remove.c */
http_handler articles_post;                                /* post.c */
http_handler articles_put, articles_patch;                 /* edit.c */
http_handler articles_authors, articles_author;            /* authors.c */
http_handler articles_options_list, articles_options_item; /* options.c */
http_handler articles_options_read;
http_handler articles_openapi; /* openapi.c */

#endif
