/*
 * Reading a body and checking each of its fields.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "input.h"

#include <string.h>

#include "answer.h"

struct check {
    const struct articles_settings *settings;
    bool patch;
    struct draft *draft;
    struct errmsg *err;
};

static size_t
characters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    }
    return n;
}

static bool
is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (str_find(STR(" \t\r\n"), s.ptr[i], 0) == 4) {
            return false;
        }
    }
    return true;
}

static bool
wrong(const struct check *c, const char *field, const char *what)
{
    errmsg_set(c->err, "%s %s", field, what);
    return false;
}

/* A string that must be there unless the body is a patch. */
static bool
check_text(const struct check *c, const char *field,
           const struct article_text *in, bool *has, struct str *out)
{
    if (in->given == GIVEN_NOT && c->patch) {
        return true;
    }
    if (in->given == GIVEN_NOT || in->given == GIVEN_NULL) {
        return wrong(c, field, "is required");
    }
    if (in->given == GIVEN_WRONG) {
        return wrong(c, field, "must be a string");
    }
    if (in->text.len == 0) {
        return wrong(c, field, "must not be empty");
    }
    if (memchr(in->text.ptr, '\0', in->text.len) != NULL) {
        return wrong(c, field, "must not have U+0000 in it");
    }
    *has = true;
    *out = in->text;
    return true;
}

static bool
check_title(const struct check *c, const struct article_input *in)
{
    struct draft *d = c->draft;

    if (!check_text(c, "title", &in->title, &d->has_title, &d->title)) {
        return false;
    }
    if (d->has_title && is_blank(d->title)) {
        return wrong(c, "title", "must not be blank");
    }
    if (characters(d->title) > (size_t)c->settings->max_title) {
        errmsg_set(c->err, "title must have at most %lld characters",
                   (long long)c->settings->max_title);
        return false;
    }
    return true;
}

static bool
check_content(const struct check *c, const struct article_input *in)
{
    struct draft *d = c->draft;

    if (!check_text(c, "content", &in->content, &d->has_content, &d->content)) {
        return false;
    }
    if (d->content.len > (size_t)c->settings->max_content) {
        errmsg_set(c->err, "content must have at most %lld bytes",
                   (long long)c->settings->max_content);
        return false;
    }
    return true;
}

static bool
check_name(const struct check *c, const struct article_text *in)
{
    bool has = false;

    if (in->given == GIVEN_NOT || in->given == GIVEN_NULL ||
        (in->given == GIVEN_VALUE && in->text.len == 0)) {
        return true;
    }
    if (!check_text(c, "author.name", in, &has, &c->draft->author_name)) {
        return false;
    }
    if (characters(in->text) > ARTICLES_NAME_MAX) {
        errmsg_set(c->err, "author.name must have at most %d characters",
                   ARTICLES_NAME_MAX);
        return false;
    }
    return true;
}

static bool
check_author_id(const struct check *c, const struct article_number *id)
{
    if (id->given == GIVEN_NOT && c->patch) {
        return true;
    }
    if (id->given == GIVEN_NOT || id->given == GIVEN_NULL) {
        return wrong(c, "author.id", "is required");
    }
    if (id->given == GIVEN_WRONG || id->n < 1) {
        return wrong(c, "author.id",
                     "must be a whole number from 1 to 9223372036854775807");
    }
    c->draft->author_id = id->n;
    return true;
}

static bool
check_author(const struct check *c, const struct article_input *in)
{
    if (in->author == GIVEN_NOT && c->patch) {
        return true;
    }
    if (in->author == GIVEN_WRONG) {
        return wrong(c, "author", "must be an object with an id");
    }
    if (in->author != GIVEN_VALUE) {
        return wrong(c, "author", "is required, with its id");
    }
    c->draft->has_author = true;
    return check_author_id(c, &in->author_id) &&
           check_name(c, &in->author_name);
}

static bool
check_time(const struct check *c, const char *field,
           const struct article_text *in, bool *has, int64_t *out)
{
    if (in->given == GIVEN_NOT || in->given == GIVEN_NULL) {
        return true;
    }
    if (in->given == GIVEN_WRONG || !article_time_read(in->text, out)) {
        return wrong(c, field, "must be a time like 2026-01-02T03:04:05Z");
    }
    *has = true;
    return true;
}

static bool
check_all(const struct check *c, const struct article_input *in)
{
    struct draft *d = c->draft;

    return check_title(c, in) && check_content(c, in) && check_author(c, in) &&
           check_time(c, "created_at", &in->created_at, &d->has_created_at,
                      &d->created_at) &&
           check_time(c, "updated_at", &in->updated_at, &d->has_updated_at,
                      &d->updated_at);
}

/* ---- the body, as it comes ---- */

/* Bytes that one of a text may take (JSON's "\\u0001"), and of all that stands
 * beside the texts. */
#define ESCAPED 6
#define BESIDE_TEXTS (1 << 20)
#define CHARACTER 4 /* bytes of UTF-8 */

struct input_body {                      /* in the request's pool */
    const struct article_format *format; /* NULL: none of ours */
    void *reader;                        /* the format's */
    struct digest_sum *sum;              /* owned; NULL: nobody asks for it */
    bool is_empty;
};

static uint64_t
most(const void *state)
{
    const struct articles *layer = state;
    const struct articles_settings *s = layer->settings;
    int64_t texts =
        s->max_content + CHARACTER * (s->max_title + ARTICLES_NAME_MAX);

    return (uint64_t)(ESCAPED * texts + BESIDE_TEXTS);
}

static void
on_pool_free(void *arg)
{
    struct input_body *b = arg;

    digest_free(&b->sum);
}

static void *
begin(struct http_request *r, bool patch)
{
    const struct str *type = http_header(r, "Content-Type");
    struct input_body *b = pool_zero(r->pool, sizeof(*b));

    b->is_empty = true;
    b->format = article_format_of_body(type != NULL ? *type : STR_NONE, patch);
    if (b->format != NULL) {
        b->reader = b->format->begin(r->pool);
    }
    if (http_header(r, "Idempotency-Key") != NULL) {
        b->sum = digest_begin_sha256();
        pool_on_free(r->pool, on_pool_free, b);
    }
    return b;
}

static void *
begin_whole(struct http_request *r, void *state)
{
    (void)state;
    return begin(r, false);
}

static void *
begin_patch(struct http_request *r, void *state)
{
    (void)state;
    return begin(r, true);
}

static size_t
take_piece(void *fed, struct str piece, bool last)
{
    struct input_body *b = fed;
    size_t took = piece.len;

    if (b->format != NULL) {
        took = b->format->feed(b->reader, piece, last);
    }
    if (b->sum != NULL) {
        digest_add(b->sum, piece.ptr, took);
    }
    b->is_empty = b->is_empty && took == 0;
    return took;
}

static void
on_long(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    metric_add(&articles_metrics[ARTICLES_REFUSED], ARTICLES_REFUSED_BODY, 1);
}

const struct http_feed input_feed = {
    .most = most,
    .begin = begin_whole,
    .piece = take_piece,
    .on_long = on_long,
};

const struct http_feed input_patch_feed = {
    .most = most,
    .begin = begin_patch,
    .piece = take_piece,
    .on_long = on_long,
};

void
input_digest(const struct http_request *r, uint8_t out[DIGEST_SHA256])
{
    const struct input_body *b = r->fed;

    digest_end(b->sum, out);
}

/* ---- what it says ---- */

static bool
is_chosen(struct http_request *r, bool patch)
{
    const struct input_body *b = r->fed;
    struct str types;

    if (b->format != NULL) {
        return true;
    }
    types = article_types(r->pool, patch);
    http_set_header(r, patch ? "Accept-Patch" : "Accept-Post", types);
    answer_refuse(r, ARTICLES_REFUSED_TYPE, 415, "Unsupported Media Type",
                  "Content-Type must be one of: %.*s", STR_ARGS(types));
    return false;
}

/* Bodies are taken as they are: a compressed one would be made of few bytes
 * as large as it likes. */
static bool
is_plain(struct http_request *r)
{
    const struct str *coding = http_header(r, "Content-Encoding");

    if (coding == NULL || coding->len == 0 ||
        str_eq_nocase(str_trim(*coding), STR("identity"))) {
        return true;
    }
    http_set_header(r, "Accept-Encoding", STR("identity"));
    answer_refuse(r, ARTICLES_REFUSED_TYPE, 415, "Unsupported Media Type",
                  "the body must not be compressed (Content-Encoding: %.*s)",
                  (int)(coding->len < 40 ? coding->len : 40), coding->ptr);
    return false;
}

static bool
read_body(struct http_request *r, struct article_input *in)
{
    const struct input_body *b = r->fed;
    struct errmsg err = { "" };
    enum article_read result = ARTICLE_WRONG;

    if (b->is_empty) {
        errmsg_set(&err, "the body is empty");
    } else {
        result = b->format->read(r->pool, b->reader, in, &err);
    }
    if (result == ARTICLE_BROKEN) {
        answer_refuse(r, ARTICLES_REFUSED_UNPARSABLE, 422, err.text, NULL);
    } else if (result == ARTICLE_WRONG) {
        answer_refuse(r, ARTICLES_REFUSED_BODY, 400, err.text, NULL);
    }
    return result == ARTICLE_READ;
}

bool
input_take(struct http_request *r, const struct articles *layer, bool patch,
           struct draft *d)
{
    struct article_input in = { .author = GIVEN_NOT };
    struct errmsg err = { "" };
    const struct check check = { layer->settings, patch, d, &err };

    *d = (struct draft){ .title = STR_NONE };
    if (!is_plain(r) || !is_chosen(r, patch) || !read_body(r, &in)) {
        return false;
    }
    if (!check_all(&check, &in)) {
        answer_refuse(r, ARTICLES_REFUSED_BODY, 400, err.text, NULL);
        return false;
    }
    return true;
}
