/*
 * Answers: their form, their headers, errors, links.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "http/filter/cors.h"
#include "http/path.h"

#define TEXT_MAX 512         /* bytes of an error's words */
#define BODY_MAX (32 << 20)  /* bytes: what the store gives, escaped */
#define BODY_KEPT 65536      /* bytes */
#define ERROR_MAX 8192       /* the same of an error */
#define RETRY_AFTER STR("1") /* seconds */
/* Headers that scripts of other origins may see: all of ours, and those of a
 * layer of versions in front of us. */
#define EXPOSED                                                         \
    STR("X-Cursor, Link, ETag, Location, Retry-After, X-Request-ID, "   \
        "Idempotent-Replayed, Accept-Post, Accept-Patch, API-Version, " \
        "API-Supported-Versions, Deprecation, Sunset")

/* ---- what the browser is told ---- */

bool
answer_is_open(const struct http_request *r)
{
    return r->location->cors == NULL && access_allows_all(r->location->access);
}

/* Whether that origin may read answers, by cors or by our own headers. */
static bool
may_read(const struct http_request *r, struct str origin)
{
    const struct http_cors *cors = r->location->cors;

    return cors != NULL ? cors_allows(cors, origin) : answer_is_open(r);
}

void
answer_set_headers(struct http_request *r)
{
    const struct str *origin = http_header(r, "Origin");

    http_set_header(r, "Cache-Control", STR("no-cache"));
    if (answer_is_open(r)) {
        http_set_header(r, "Access-Control-Allow-Origin", STR("*"));
    }
    if (origin != NULL && may_read(r, *origin)) {
        http_set_header(r, "Access-Control-Expose-Headers", EXPOSED);
    }
}

/* ---- answers ---- */

bool
answer_choose(struct ask *a)
{
    int chosen = http_choose_format(a->request, article_accepts);

    if (chosen >= 0) {
        a->format = article_formats[chosen];
        return true;
    }
    answer_refuse(a->request, ARTICLES_REFUSED_ACCEPT, 406, "Not Acceptable",
                  "there is: %.*s",
                  STR_ARGS(article_types(a->request->pool, false)));
    return false;
}

bool
answer_is_expected(struct ask *a, const struct tag *t)
{
    if (tag_is_expected(a->request, t)) {
        a->tag = pool_str(a->request->pool, str_from(t->text));
        http_set_header(a->request, "ETag", a->tag);
        return true;
    }
    answer_refuse(a->request, ARTICLES_REFUSED_CONDITION, 412,
                  "Precondition Failed", "it is not the one of If-Match");
    return false;
}

/* The vendor's type for clients that name it, else the format's own. */
static const char *
type_of(const struct ask *a)
{
    const struct http_format format = { a->format->name, a->format->type };
    struct str type = http_vendor_type(a->request, &format);

    if (type.len == 0) {
        return a->format->content_type;
    }
    return pool_printf(a->request->pool, "%.*s; charset=UTF-8", STR_ARGS(type))
        .ptr;
}

/* After a rewrite it is what the target has become, which may be by a header.
 */
static struct str
key_of(struct http_request *r)
{
    struct str path;

    if (!http_is_rewritten(r)) {
        return r->target;
    }
    path = http_path_encode(r->pool, r->path);
    return pool_printf(r->pool, "%.*s?%.*s", STR_ARGS(path),
                       STR_ARGS(r->query));
}

bool
answer_from_cache(struct ask *a)
{
    struct http_request *r = a->request;
    const struct cached *c;

    if (a->layer->cache == NULL) {
        return false;
    }
    a->version = store_version();
    c = cache_find(a->layer->cache, a->version, a->format, key_of(r));
    if (c == NULL || http_header(r, "If-Match") != NULL) {
        return false;
    }
    http_set_header(r, "ETag", c->tag);
    if (c->cursor.len > 0) {
        http_set_header(r, "X-Cursor", c->cursor);
        http_set_header(r, "Link", c->link);
    }
    answer_set_headers(r);
    if (tag_text_is_known(r, c->tag)) {
        http_not_modified(r, type_of(a), c->body.len);
    } else {
        http_reply(r, 200, type_of(a), c->body);
    }
    return true;
}

static void
keep(const struct ask *a, struct str body)
{
    cache_put(a->layer->cache, &(struct cached){ .version = a->version,
                                                 .format = a->format,
                                                 .target = key_of(a->request),
                                                 .body = body,
                                                 .tag = a->tag,
                                                 .cursor = a->cursor,
                                                 .link = a->link });
}

struct buf *
answer_body(void)
{
    static struct buf body = { .limit = BODY_MAX };

    buf_take(&body, buf_len(&body)); /* of an answer that was refused */
    return &body;
}

/* Its memory is kept for the next answer, if it is not much. */
static void
leave_body(struct buf *body)
{
    buf_take(body, buf_len(body));
    if (body->size > BODY_KEPT) {
        buf_clear(body);
    }
}

enum http_result
answer_send(struct ask *a, int status, struct buf *body, int written)
{
    struct http_request *r = a->request;

    if (written == -1) {
        answer_refuse(r, ARTICLES_REFUSED_STORE, 500, "the answer is too long",
                      NULL);
    } else {
        answer_set_headers(r);
        keep(a, buf_str(body));
        if (a->tag.len > 0 && tag_text_is_known(r, a->tag)) {
            http_not_modified(r, type_of(a), buf_len(body));
        } else {
            http_reply(r, status, type_of(a), buf_str(body));
        }
    }
    leave_body(body);
    return HTTP_DONE;
}

/* ---- errors ---- */

static bool
names_type(const struct http_request *r, const char *type)
{
    for (const struct http_media *m = http_accept_members(r); m != NULL;
         m = m->next) {
        if (m->quality > 0 && str_eq_nocase(m->name, str_from(type))) {
            return true;
        }
    }
    return false;
}

/* The form of an error, which everybody gets one of, and its type: problem
 * details are called so towards who names them. */
static const struct article_format *
choose_error(struct http_request *r, const char **type)
{
    int chosen = http_choose_format(r, article_accepts);
    const struct article_format *f = NULL;

    for (size_t i = 0; chosen < 0 && article_formats[i] != NULL; i++) {
        if (names_type(r, article_formats[i]->problem_type)) {
            f = article_formats[i];
            break;
        }
    }
    if (f == NULL) {
        f = article_formats[chosen < 0 ? 0 : chosen];
    }
    *type = names_type(r, f->problem_type) ? f->problem_type : f->content_type;
    return f;
}

static enum http_result
send_error(struct http_request *r, const struct article_error *e)
{
    const char *type;
    const struct article_format *f = choose_error(r, &type);
    struct buf b;

    buf_init(&b, ERROR_MAX);
    f->write_error(&b, e);
    answer_set_headers(r);
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_reply(r, e->status, type, buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

enum http_result
answer_refuse(struct http_request *r, enum articles_refused why, int status,
              const char *message, const char *format, ...)
{
    char detail[TEXT_MAX];
    va_list args;

    str_copy(detail, sizeof(detail), str_from(message));
    if (format != NULL) {
        va_start(args, format);
        vsnprintf(detail, sizeof(detail), format, args);
        va_end(args);
    }
    metric_add(&articles_metrics[ARTICLES_REFUSED], why, 1);
    http_note(r, "%s", detail);
    return send_error(r, &(struct article_error){ .status = status,
                                                  .message = str_from(message),
                                                  .detail = str_from(detail) });
}

enum http_result
answer_not_found(struct http_request *r)
{
    return answer_refuse(r, ARTICLES_REFUSED_NOT_FOUND, 404, ANSWER_NOT_FOUND,
                         NULL);
}

enum http_result
answer_missing(struct ask *a)
{
    return answer_not_found(a->request);
}

enum http_result
answer_condition(struct ask *a)
{
    return answer_refuse(a->request, ARTICLES_REFUSED_CONDITION, 412,
                         "Precondition Failed",
                         "the article is not as If-Match or If-None-Match "
                         "want it");
}

enum http_result
answer_race(struct ask *a)
{
    http_set_header(a->request, "Retry-After", STR("1"));
    return answer_refuse(a->request, ARTICLES_REFUSED_RACE, 503,
                         "Service Unavailable",
                         "the article is being edited all the time");
}

enum http_result
answer_refuse_store(struct http_request *r, enum store_status status)
{
    bool never = status == STORE_FAILED || status == STORE_CONFLICT ||
                 status == STORE_MISSING;

    if (!never) {
        http_set_header(r, "Retry-After", RETRY_AFTER);
    }
    return answer_refuse(r, ARTICLES_REFUSED_STORE, never ? 500 : 503,
                         store_status_text(status), NULL);
}

/* Other modules of the location have errors of their own: this one's are
 * those below its paths. */
static bool
is_ours(const struct http_request *r)
{
    return r->location->layer_count == 1 ||
           str_starts(r->route_path, STR("/articles")) ||
           str_starts(r->route_path, STR("/authors"));
}

const char *
answer_error_body(struct http_request *r, int status, struct str message,
                  struct buf *out)
{
    const struct article_error e = { status, message, message };
    const struct article_format *f;
    const char *type;

    if (!is_ours(r)) {
        return NULL;
    }
    f = choose_error(r, &type);
    answer_set_headers(r);
    return f->write_error(out, &e) == 0 ? type : NULL;
}

/* ---- who may write ---- */

bool
answer_may_write(struct http_request *r, const struct articles *layer)
{
    char peer[ADDR_TEXT];

    if (!access_allows(layer->writers, &r->client)) {
        log_limited(LOG_INFO, "articles: %s may not write (write_access)",
                    addr_text(&r->client, peer));
        answer_refuse(r, ARTICLES_REFUSED_ACCESS, 403, "Forbidden",
                      "write_access does not let you change articles");
        return false;
    }
    return access_allows_all(layer->writers) || http_check_host(r);
}

/* ---- links ---- */

static bool
may_stand_in_query(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           (c != '\0' && str_find(STR("-._~!$()*+,;=:@/?%"), c, 0) < 18);
}

static void
add_encoded(struct buf *b, struct str raw)
{
    for (size_t i = 0; i < raw.len; i++) {
        if (may_stand_in_query(raw.ptr[i])) {
            buf_add(b, &raw.ptr[i], 1);
        } else {
            buf_printf(b, "%%%02X", (unsigned char)raw.ptr[i]);
        }
    }
}

struct str
answer_link(struct http_request *r, struct str cursor)
{
    struct str rest = r->query, link;
    struct buf b;
    char mark = '?';

    buf_init(&b, 4 * r->query.len + 4 * r->path.len + 256);
    buf_add_str(&b, http_path_encode(r->pool, r->path));
    while (rest.len > 0) {
        struct str pair = str_cut(&rest, '&'), value = pair;
        struct str name = str_cut(&value, '=');

        if (pair.len == 0 ||
            (cursor.len > 0 && http_query_is(name, STR("cursor")))) {
            continue;
        }
        buf_add(&b, &mark, 1);
        add_encoded(&b, pair);
        mark = '&';
    }
    if (cursor.len > 0) {
        buf_add(&b, &mark, 1);
        buf_join(&b, STRS(STR("cursor="), cursor));
    }
    link = pool_str(r->pool, buf_str(&b));
    buf_clear(&b);
    return link;
}

struct str
answer_item_path(struct http_request *r, int64_t id)
{
    struct str path = http_path_encode(r->pool, r->path);

    return pool_printf(r->pool, "%.*s/%lld%s%.*s", STR_ARGS(path),
                       (long long)id, r->api_query.len > 0 ? "?" : "",
                       STR_ARGS(r->api_query));
}
