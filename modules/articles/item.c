/*
 * GET /articles/:id.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"

struct item {
    struct ask ask;
    struct article article;
    int64_t edition, author_edition;
};

static enum http_result
answer_item(struct ask *a)
{
    const struct item *i = (const struct item *)a;
    bool envelope = a->layer->settings->envelope;
    struct article_links links = { STR_NONE, STR_NONE };
    struct tag tag;
    struct buf body;

    tag_of_item(&tag, i->edition, i->author_edition, a->format, envelope);
    if (!answer_is_expected(a, &tag)) {
        return HTTP_DONE;
    }
    if (envelope) {
        links.self = answer_link(a->request, STR_NONE);
    }
    answer_init(&body);
    int written =
        a->format->write_article(&body, &i->article, envelope ? &links : NULL);

    return answer_send(a, 200, &body, written);
}

static void
on_item(void *arg, const struct store_result *r)
{
    struct item *i = arg;
    const struct store_value *cells;

    if (!ask_succeeded(&i->ask, r)) {
        return;
    }
    if (r->answer[0].rows == 0) {
        ask_go_on(&i->ask, answer_missing);
        return;
    }
    cells = r->answer[0].cells;
    i->article = ask_take_article(i->ask.request->pool, cells);
    i->edition = cells[ITEM_EDITION].n;
    i->author_edition = cells[ITEM_AUTHOR_EDITION].n;
    ask_go_on(&i->ask, answer_item);
}

enum http_result
articles_item(struct http_request *r, void *state)
{
    struct item *i = r->context;
    struct store_value id = store_int(0);

    if (i != NULL) {
        return i->ask.answer(&i->ask);
    }
    i = ask_begin(r, state, sizeof(*i));
    if (!answer_choose(&i->ask)) {
        return HTTP_DONE;
    }
    if (answer_from_cache(&i->ask)) {
        return HTTP_DONE;
    }
    if (!ask_id(r, &id.n)) {
        return answer_not_found(r);
    }
    i->ask.call =
        store_read(&articles_statements[SQL_ITEM], &id, 1, on_item, i);
    return HTTP_WAIT;
}
