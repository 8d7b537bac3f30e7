/*
 * Articles with their authors, kept in the store.
 *
 *     GET POST           /articles        pages, ascending by (created_at, id)
 *     GET DELETE         /articles/:id
 *     PUT PATCH          /articles/:id    where edit = true
 *     GET                /authors, /authors/:id
 *     GET                /openapi.json    what the layer serves
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "articles.h"

#include "answer.h"
#include "app/worker.h"
#include "conf/rows.h"
#include "input.h"
#include "net/sha256.h"
#include "xml/read.h"

static const struct conf_key keys[] = {
    ROW(articles_settings, write_access, CONF_STRINGS,
        .preset = "allow loopback, deny all", .check = access_check_rule,
        .help = "Clients that may create, change and delete articles, beside "
                "access of the location: rules as there.  Others are answered "
                "403."),
    ROW(articles_settings, envelope, CONF_BOOL, .preset = "false",
        .help =
            "Answers have the article, or the list of them, as data, beside "
            "links to themselves and to the next page."),
    ROW(articles_settings, edit, CONF_BOOL, .preset = "false",
        .help = "PUT and PATCH change articles; without it they are 405."),
    ROW(articles_settings, max_num, CONF_INT, .min = 1,
        .max = ARTICLES_NUM_MOST, .preset = "100",
        .help = "The most articles of a page, whatever num says."),
    ROW(articles_settings, max_title, CONF_INT, .min = 1,
        .max = ARTICLES_TITLE_MOST, .preset = "255",
        .help = "How many characters a title may have."),
    ROW(articles_settings, max_content, CONF_SIZE, .min = 1,
        .max = ARTICLES_CONTENT_MOST, .preset = "1M",
        .help = "How many bytes of UTF-8 a content may have; the body of the "
                "request must fit client_max_body_size besides."),
    ROW(articles_settings, idempotency_time, CONF_TIME, .min = 1000,
        .max = (int64_t)30 * 24 * 3600 * 1000, .preset = "24h",
        .help = "How long a POST with an Idempotency-Key gets the same answer "
                "again."),
    ROW(articles_settings, cache, CONF_SIZE, .min = 65536, .or_zero = true,
        .preset = "4M",
        .help =
            "Memory of each worker for answers that it has made, to give them "
            "again as long as nothing in the store has changed; 0: none."),
    CONF_END,
};

/* ---- what is counted ---- */

static const char *
refused_name(unsigned i)
{
    static const char *const names[ARTICLES_REFUSED_REASONS] = {
        [ARTICLES_REFUSED_ACCESS] = "write_access",
        [ARTICLES_REFUSED_PARAMETER] = "parameter",
        [ARTICLES_REFUSED_BODY] = "body",
        [ARTICLES_REFUSED_UNPARSABLE] = "unparsable",
        [ARTICLES_REFUSED_TYPE] = "content_type",
        [ARTICLES_REFUSED_ACCEPT] = "accept",
        [ARTICLES_REFUSED_NOT_FOUND] = "not_found",
        [ARTICLES_REFUSED_TITLE] = "title",
        [ARTICLES_REFUSED_CONDITION] = "condition",
        [ARTICLES_REFUSED_KEY] = "idempotency_key",
        [ARTICLES_REFUSED_RACE] = "race",
        [ARTICLES_REFUSED_STORE] = "store",
    };

    return names[i];
}

static const char *
changed_name(unsigned i)
{
    static const char *const names[ARTICLES_CHANGES] = {
        [ARTICLES_CREATED] = "created",
        [ARTICLES_REPLAYED] = "replayed",
        [ARTICLES_EDITED] = "edited",
        [ARTICLES_DELETED] = "deleted",
    };

    return names[i];
}

struct metric articles_metrics[] = {
    [ARTICLES_REFUSED] = { .name = "weir_articles_refused_total",
                           .help = "Requests for articles that were refused.",
                           .labels = { { "reason", refused_name,
                                         ARTICLES_REFUSED_REASONS } } },
    [ARTICLES_CHANGED] = { .name = "weir_articles_changes_total",
                           .help = "Articles that were created, edited and "
                                   "deleted, and answers to POST that were "
                                   "given again.",
                           .labels = { { "action", changed_name,
                                         ARTICLES_CHANGES } } },
    [ARTICLES_METRIC_COUNT] = METRIC_END,
};

/* ---- routes ---- */

/* Each path with and without a slash behind it: ask_begin() takes it off. */
#define DESCRIPTION                                    \
    {                                                  \
        "GET", "/openapi.json", articles_openapi, NULL \
    }
#define LIST(path)                                    \
    { "GET", path, articles_list, NULL },             \
        { "POST", path, articles_post, &input_feed }, \
    {                                                 \
        "OPTIONS", path, articles_options_list, NULL  \
    }
#define ITEM(path)                                   \
    { "GET", path, articles_item, NULL },            \
        { "DELETE", path, articles_remove, NULL },   \
    {                                                \
        "OPTIONS", path, articles_options_item, NULL \
    }
#define EDIT(path)                                       \
    { "PUT", path, articles_put, &input_feed },          \
    {                                                    \
        "PATCH", path, articles_patch, &input_patch_feed \
    }
#define AUTHORS(path, handler)                       \
    { "GET", path, handler, NULL },                  \
    {                                                \
        "OPTIONS", path, articles_options_read, NULL \
    }
#define READ                                                           \
    LIST("/articles"), LIST("/articles/"), ITEM("/articles/:id"),      \
        ITEM("/articles/:id/"), AUTHORS("/authors", articles_authors), \
        AUTHORS("/authors/", articles_authors),                        \
        AUTHORS("/authors/:id", articles_author),                      \
        AUTHORS("/authors/:id/", articles_author), DESCRIPTION

static const struct http_route routes[] = { READ, { .path = NULL } };

static const struct http_route edit_routes[] = {
    READ,
    EDIT("/articles/:id"),
    EDIT("/articles/:id/"),
    { .path = NULL },
};

/* ---- life ---- */

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    struct pool *pool = layer->worker->pool;
    struct articles *a = pool_zero(pool, sizeof(*a));

    (void)err;
    a->settings = layer->settings;
    a->writers = access_parse(pool, a->settings->write_access.items,
                              a->settings->write_access.count);
    xml_init();
    a->cache = cache_new(a->settings->cache);
    *state = a;
    *r = a->settings->edit ? edit_routes : routes;
    return 0;
}

static void
describe(const void *state, struct http_layer *layer)
{
    const struct articles *a = state;

    layer->formats = article_accepts;
    layer->open = access_allows_all(a->writers);
}

static void
stop(void *state)
{
    struct articles *a = state;

    cache_free(&a->cache);
    digest_key_free(&a->secret);
}

const struct module articles_module = {
    .name = "articles",
    .about = "articles with their authors: GET, POST, DELETE /articles",
    .keys = keys,
    .settings_size = sizeof(struct articles_settings),
    .start = start,
    .describe = describe,
    .stop = stop,
    .store = &articles_schema,
    .error_body = answer_error_body,
    .metrics = articles_metrics,
};
