/*
 * GET /authors, ascending by id, and GET /authors/:id.  There is no other way
 * to make an author than to write an article of his.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "one.h"
#include "page.h"

#define FILTER STR("authors") /* what its cursors are for */

struct page {
    struct ask ask;
    int64_t num;
    bool follows; /* there is a cursor */
    struct str cursor;
    struct cursor after; /* shown before */

    /* The answer. */
    struct author *authors;
    int64_t *shown; /* the id and edition of each */
    size_t count;
    bool more;
};

/* ---- a page ---- */

static enum http_result
answer_page(struct ask *a)
{
    struct page *p = (struct page *)a;
    bool envelope = a->layer->settings->envelope;
    struct article_links links = { STR_NONE, STR_NONE };
    struct tag tag;
    struct buf *body = answer_body();

    page_tag(&tag, a, p->shown, 2 * p->count, p->more);
    if (!answer_is_expected(a, &tag)) {
        return HTTP_DONE;
    }
    if (p->more) {
        const struct cursor last = { 0, p->authors[p->count - 1].id };

        links.next = page_set_next(a, &last, FILTER);
    }
    if (envelope) {
        links.self = answer_link(a->request, STR_NONE);
    }
    int written = a->format->write_authors(body, p->authors, p->count,
                                           envelope ? &links : NULL);

    return answer_send(a, 200, body, written);
}

static void
on_page(void *arg, const struct store_result *r)
{
    struct page *p = arg;
    struct pool *pool = p->ask.request->pool;
    const struct store_rows *rows = r->answer;

    if (!ask_succeeded(&p->ask, r)) {
        return;
    }
    p->more = rows->rows > (size_t)p->num;
    p->count = p->more ? (size_t)p->num : rows->rows;
    p->authors = pool_alloc(pool, (p->count + 1) * sizeof(*p->authors));
    p->shown = pool_alloc(pool, (p->count + 1) * 2 * sizeof(*p->shown));
    for (size_t i = 0; i < p->count; i++) {
        const struct store_value *cells = &rows->cells[i * rows->columns];

        p->authors[i] = ask_author(cells);
        p->shown[2 * i] = cells[AUTHOR_ID].n;
        p->shown[2 * i + 1] = cells[AUTHOR_EDITION].n;
    }
    ask_answer(&p->ask, answer_page);
}

static bool
take_cursor(struct page *p)
{
    return !p->follows || cursor_read(p->ask.request->pool, p->cursor,
                                      p->ask.layer->secret, FILTER, &p->after);
}

static void
look(struct page *p)
{
    const struct store_value params[] = { store_int(p->after.id),
                                          store_int(p->num + 1) };

    p->ask.call =
        store_read(&articles_statements[SQL_AUTHORS], params, 2, on_page, p);
}

static void
on_secret(struct ask *a)
{
    struct page *p = (struct page *)a;

    if (take_cursor(p)) {
        look(p);
    } else {
        ask_go_on(a, page_refuse_cursor);
    }
}

enum http_result
articles_authors(struct http_request *r, void *state)
{
    struct page *p = r->context;

    if (p != NULL) {
        return p->ask.answer(&p->ask);
    }
    p = ask_begin(r, state, sizeof(*p));
    if (!answer_choose(&p->ask) || answer_from_cache(&p->ask) ||
        !page_take_num(r, p->ask.layer->settings->max_num, &p->num)) {
        return HTTP_DONE;
    }
    p->follows = http_query(r, "cursor", &p->cursor) && p->cursor.len > 0;
    if (ask_secret(&p->ask, on_secret)) {
        return HTTP_WAIT;
    }
    if (!take_cursor(p)) {
        return page_refuse_cursor(&p->ask);
    }
    look(p);
    return HTTP_WAIT;
}

/* ---- one ---- */

static void
take_author(struct one *o, const struct store_value *cells)
{
    o->author = ask_author(cells);
    o->author_edition = cells[AUTHOR_EDITION].n;
}

static int
write_author(const struct one *o, struct buf *body,
             const struct article_links *links)
{
    return o->ask.format->write_author(body, &o->author, links);
}

enum http_result
articles_author(struct http_request *r, void *state)
{
    static const struct one_kind kind = { SQL_AUTHOR, take_author,
                                          write_author };

    return one_answer(r, state, &kind);
}
