/*
 * GET /articles: a page of them, ascending by (created_at, id).
 *
 * One row more than the page has is asked for: whether it is there says
 * whether there is a next page.  A page goes on behind the last row that was
 * shown, so rows that come or go in between make none of the others be shown
 * twice or not at all.
 *
 * An answer of the store is bounded.  The store leaves out contents that would
 * not fit even if all rows had as much, but gives their lengths.  The page is
 * then read again, with as many rows as fit.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "answer.h"
#include "page.h"

#define ROW_MOST (4 * (ARTICLES_TITLE_MOST + ARTICLES_NAME_MAX) + 512)
#define PAGE_MOST (STORE_ROWS_MAX - 65536) /* bytes of all rows */
#define FILTER_TEXT 32
#define SHOWN 3

struct page {
    struct ask ask;
    int64_t num;
    int64_t author; /* 0: of all authors */
    bool follows;   /* there is a cursor */
    struct str cursor;
    struct cursor after; /* shown before */
    bool again;          /* asked for as many as fit */

    /* The answer. */
    struct article *articles;
    size_t count;
    bool more;
    int64_t *shown; /* of each: SHOWN numbers that tell what it shows */
    struct cursor last;
};

static struct str
filter_of(const struct page *p, char dst[FILTER_TEXT])
{
    if (p->author == 0) {
        return STR("articles");
    }
    return str_of(dst, (size_t)snprintf(dst, FILTER_TEXT, "author %lld",
                                        (long long)p->author));
}

/* ---- the answers ---- */

static enum http_result
answer_page(struct ask *a)
{
    struct page *p = (struct page *)a;
    bool envelope = a->layer->settings->envelope;
    struct article_links links = { STR_NONE, STR_NONE };
    char filter[FILTER_TEXT];
    struct tag tag;
    struct buf *body = answer_body();

    page_tag(&tag, a, p->shown, SHOWN * p->count, p->more);
    if (!answer_is_expected(a, &tag)) {
        return HTTP_DONE;
    }
    if (p->more) {
        links.next = page_set_next(a, &p->last, filter_of(p, filter));
    }
    if (envelope) {
        links.self = answer_link(a->request, STR_NONE);
    }
    int written = a->format->write_articles(body, p->articles, p->count,
                                            envelope ? &links : NULL);

    return answer_send(a, 200, body, written);
}

/* ---- what the store says ---- */

static void on_page(void *arg, const struct store_result *r);

static void
look(struct page *p, int64_t limit, int64_t bytes)
{
    const struct store_value params[] = {
        store_int(p->after.created_at),
        store_int(p->after.id),
        store_int(limit),
        store_int(bytes),
        store_int(p->author),
    };
    enum articles_statement which = p->author == 0 ? SQL_PAGE : SQL_PAGE_OF;

    p->ask.call = store_read(&articles_statements[which], params,
                             p->author == 0 ? 4 : 5, on_page, p);
}

/* How many of the rows fit into one answer; all, if no content of them was
 * left out. */
static size_t
fitting(const struct store_rows *rows, size_t count)
{
    bool left_out = false;
    int64_t sum = 0;
    size_t fit = 0;

    for (size_t i = 0; i < count; i++) {
        const struct store_value *cells = &rows->cells[i * rows->columns];

        left_out |= cells[ITEM_CONTENT].type == STORE_NULL;
        sum += cells[ITEM_BYTES].n + ROW_MOST;
        fit += i == 0 || sum <= PAGE_MOST;
    }
    return left_out ? fit : SIZE_MAX;
}

static void
take_rows(struct page *p, const struct store_rows *rows)
{
    struct pool *pool = p->ask.request->pool;

    p->last = p->after;
    p->articles = pool_alloc(pool, (p->count + 1) * sizeof(*p->articles));
    p->shown = pool_alloc(pool, (p->count + 1) * SHOWN * sizeof(*p->shown));
    for (size_t i = 0; i < p->count; i++) {
        const struct store_value *cells = &rows->cells[i * rows->columns];

        p->articles[i] = ask_article(cells);
        p->shown[SHOWN * i] = cells[ITEM_ID].n;
        p->shown[SHOWN * i + 1] = cells[ITEM_EDITION].n;
        p->shown[SHOWN * i + 2] = cells[ITEM_AUTHOR_EDITION].n;
        p->last = (struct cursor){ cells[ITEM_CREATED_AT].n, cells[ITEM_ID].n };
    }
}

static void
on_page(void *arg, const struct store_result *r)
{
    struct page *p = arg;
    const struct store_rows *rows = r->answer;
    size_t fit;

    if (!ask_succeeded(&p->ask, r)) {
        return;
    }
    p->count = rows->rows < (size_t)p->num ? rows->rows : (size_t)p->num;
    p->more |= rows->rows > p->count;
    fit = p->again ? SIZE_MAX : fitting(rows, p->count);
    if (fit != SIZE_MAX) {
        p->again = true;
        p->more |= fit < p->count;
        look(p, (int64_t)fit, INT64_MAX);
        return;
    }
    take_rows(p, rows);
    ask_answer(&p->ask, answer_page);
}

/* ---- what is asked for ---- */

static bool
take_cursor(struct page *p)
{
    char filter[FILTER_TEXT];

    p->after = (struct cursor){ INT64_MIN, 0 };
    return !p->follows ||
           cursor_read(p->ask.request->pool, p->cursor, p->ask.layer->secret,
                       filter_of(p, filter), &p->after);
}

static void
look_first(struct page *p)
{
    look(p, p->num + 1, PAGE_MOST / (p->num + 1) - ROW_MOST);
}

static void
on_secret(struct ask *a)
{
    struct page *p = (struct page *)a;

    if (take_cursor(p)) {
        look_first(p);
    } else {
        ask_go_on(a, page_refuse_cursor);
    }
}

/* False: it is answered. */
static bool
take_parameters(struct page *p)
{
    struct http_request *r = p->ask.request;
    struct str author;

    if (!page_take_num(r, p->ask.layer->settings->max_num, &p->num)) {
        return false;
    }
    if (http_query(r, "author", &author) && author.len > 0 &&
        !str_to_int(author, 1, INT64_MAX, &p->author)) {
        page_refuse(r, "author must be the id of an author");
        return false;
    }
    p->follows = http_query(r, "cursor", &p->cursor) && p->cursor.len > 0;
    return true;
}

enum http_result
articles_list(struct http_request *r, void *state)
{
    struct page *p = r->context;

    if (p != NULL) {
        return p->ask.answer(&p->ask);
    }
    p = ask_begin(r, state, sizeof(*p));
    if (!answer_choose(&p->ask) || answer_from_cache(&p->ask) ||
        !take_parameters(p)) {
        return HTTP_DONE;
    }
    if (ask_secret(&p->ask, on_secret)) {
        return HTTP_WAIT;
    }
    if (!take_cursor(p)) {
        return page_refuse_cursor(&p->ask);
    }
    look_first(p);
    return HTTP_WAIT;
}
