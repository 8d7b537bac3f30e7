/*
 * Checks and reads the body of a request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_INPUT_H
#define MODULES_ARTICLES_INPUT_H

#include "ask.h"
#include "net/sha256.h"

/* The new content of an article; texts as in struct article_input. */
struct draft {
    bool has_title, has_content, has_author, has_created_at, has_updated_at;
    struct str title, content;
    int64_t author_id;      /* 0: unchanged (of a patch) */
    struct str author_name; /* empty: not given */
    int64_t created_at, updated_at;
};

/* For routes of POST and PUT, and of PATCH. */
extern const struct http_feed input_feed, input_patch_feed;
/* Of the whole body of a request with an Idempotency-Key; called once. */
void input_digest(const struct http_request *r, uint8_t out[DIGEST_SHA256]);

/* Reads the body of the request by its Content-Type and checks it. patch:
 * missing members stay as they are; else title, content and author.id are
 * required.  False: it was answered with 415, 422 or 400. */
bool input_take(struct http_request *r, const struct articles *layer,
                bool patch, struct draft *d);

#endif
