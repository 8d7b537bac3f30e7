/*
 * Entity tags (RFC 9110, 8.8.3): "EDITION-FORM", where the edition is the one
 * of the article with the one of its author, and the form is that of the
 * answer ("json", "json.e" with an envelope).
 *
 * A compressed answer has a weak tag, and most clients ask for compressed ones.
 * So If-Match takes a tag of ours with W/ and of any format as well: only its
 * edition counts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_TAG_H
#define MODULES_ARTICLES_TAG_H

#include "format.h"

#define TAG_EDITION 17 /* 16 hexadecimal digits and a NUL */
#define TAG_TEXT 64

struct tag {
    char edition[TAG_EDITION];
    char text[TAG_TEXT]; /* with its quotes, and W/ of a weak one */
};

void tag_of_item(struct tag *t, int64_t edition, int64_t author_edition,
                 const struct article_format *f, bool envelope);
/* Of a list: weak; hash is of all that it shows. */
void tag_of_list(struct tag *t, uint64_t hash, const struct article_format *f,
                 bool envelope);

/* Whether If-Match (of the edition) allows the request: there is none, or one
 * of its tags fits. */
bool tag_is_expected(const struct http_request *r, const struct tag *t);
/* Whether If-None-Match has the tag: a read is 304, anything else 412. */
bool tag_is_known(const struct http_request *r, const struct tag *t);
bool tag_text_is_known(const struct http_request *r, struct str text);
/* Whether one of the two headers needs the item's tag: "If-Match: *" is true of
 * any item. */
bool tag_is_asked_for(const struct http_request *r);

#endif
