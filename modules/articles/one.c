/*
 * One row, from the cache or from the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "one.h"

static enum http_result
answer_one(struct ask *a)
{
    const struct one *o = (const struct one *)a;
    bool envelope = a->layer->settings->envelope;
    struct article_links links = { STR_NONE, STR_NONE };
    struct tag tag;
    struct buf *body = answer_body();

    tag_of_item(&tag, o->edition, o->author_edition, a->format, envelope);
    if (!answer_is_expected(a, &tag)) {
        return HTTP_DONE;
    }
    if (envelope) {
        links.self = answer_link(a->request, STR_NONE);
    }
    int written = o->kind->write(o, body, envelope ? &links : NULL);

    return answer_send(a, 200, body, written);
}

static void
on_read(void *arg, const struct store_result *r)
{
    struct one *o = arg;

    if (!ask_succeeded(&o->ask, r)) {
        return;
    }
    if (r->answer[0].rows == 0) {
        ask_answer(&o->ask, answer_missing);
        return;
    }
    o->kind->take(o, r->answer[0].cells);
    ask_answer(&o->ask, answer_one);
}

enum http_result
one_answer(struct http_request *r, void *state, const struct one_kind *kind)
{
    struct one *o = r->context;
    struct store_value id = store_int(0);

    if (o != NULL) {
        return o->ask.answer(&o->ask);
    }
    o = ask_begin(r, state, sizeof(*o));
    o->kind = kind;
    if (!answer_choose(&o->ask)) {
        return HTTP_DONE;
    }
    if (answer_from_cache(&o->ask)) {
        return HTTP_DONE;
    }
    if (!ask_id(r, &id.n)) {
        return answer_not_found(r);
    }
    o->ask.call =
        store_read(&articles_statements[kind->statement], &id, 1, on_read, o);
    return HTTP_WAIT;
}
