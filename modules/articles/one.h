/*
 * GET of one row by its id: /articles/:id and /authors/:id.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_ONE_H
#define MODULES_ARTICLES_ONE_H

#include "answer.h"

struct one {
    struct ask ask;
    const struct one_kind *kind; /* borrowed */
    struct article article;      /* of the two, what its kind takes */
    struct author author;
    int64_t edition, author_edition; /* of its tag; 0: it has none such */
};

struct one_kind {
    int statement; /* its one parameter is the id */
    /* Takes what is needed of the row, which is there until it is answered. */
    void (*take)(struct one *o, const struct store_value *cells);
    /* As write_article and write_author of struct article_format. */
    int (*write)(const struct one *o, struct buf *body,
                 const struct article_links *links);
};

/* An http_handler for the kind, but for that parameter. */
enum http_result one_answer(struct http_request *r, void *state,
                            const struct one_kind *kind);

#endif
