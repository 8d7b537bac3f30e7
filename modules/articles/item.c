/*
 * GET /articles/:id.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "one.h"

static void
take_article(struct one *o, const struct store_value *cells)
{
    o->article = ask_article(cells);
    o->edition = cells[ITEM_EDITION].n;
    o->author_edition = cells[ITEM_AUTHOR_EDITION].n;
}

static int
write_article(const struct one *o, struct buf *body,
              const struct article_links *links)
{
    return o->ask.format->write_article(body, &o->article, links);
}

enum http_result
articles_item(struct http_request *r, void *state)
{
    static const struct one_kind kind = { SQL_ITEM, take_article,
                                          write_article };

    return one_answer(r, state, &kind);
}
