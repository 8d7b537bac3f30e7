/*
 * Articles as JSON (RFC 8259).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format.h"
#include "json/json.h"
#include "json/read.h"

/* ---- writing ---- */

static void
put_time(struct json_out *o, const char *key, int64_t s)
{
    char text[ARTICLE_TIME_TEXT];

    json_put_str(o, key, article_time_write(text, s));
}

static void
put_author(struct json_out *o, const struct author *a)
{
    json_open(o);
    json_put_int(o, "id", a->id);
    json_put_str(o, "name", a->name);
    put_time(o, "created_at", a->created_at);
    put_time(o, "updated_at", a->updated_at);
    json_close(o);
}

static void
put_article(struct json_out *o, const struct article *a)
{
    json_open(o);
    json_put_int(o, "id", a->id);
    json_put_str(o, "title", a->title);
    json_put_str(o, "content", a->content);
    json_key(o, "author");
    put_author(o, &a->author);
    put_time(o, "updated_at", a->updated_at);
    put_time(o, "created_at", a->created_at);
    json_close(o);
}

static void
begin(struct json_out *o, struct buf *out, const struct article_links *links)
{
    json_begin(o, out, false);
    if (links != NULL) {
        json_open(o);
        json_key(o, "data");
    }
}

static int
end(struct json_out *o, struct buf *out, const struct article_links *links,
    bool pages)
{
    if (links != NULL) {
        json_key(o, "links");
        json_open(o);
        json_put_str(o, "self", links->self);
        if (pages && links->next.len > 0) {
            json_put_str(o, "next", links->next);
        } else if (pages) {
            json_put_null(o, "next");
        }
        json_close(o);
        json_close(o);
    }
    return json_end(o) == -1 ? -1 : buf_add_str(out, STR("\n"));
}

static int
write_article(struct buf *out, const struct article *a,
              const struct article_links *links)
{
    struct json_out o;

    begin(&o, out, links);
    put_article(&o, a);
    return end(&o, out, links, false);
}

static int
write_articles(struct buf *out, const struct article *a, size_t count,
               const struct article_links *links)
{
    struct json_out o;

    begin(&o, out, links);
    json_open_array(&o);
    for (size_t i = 0; i < count; i++) {
        put_article(&o, &a[i]);
    }
    json_close(&o);
    return end(&o, out, links, true);
}

static int
write_author(struct buf *out, const struct author *a,
             const struct article_links *links)
{
    struct json_out o;

    begin(&o, out, links);
    put_author(&o, a);
    return end(&o, out, links, false);
}

static int
write_authors(struct buf *out, const struct author *a, size_t count,
              const struct article_links *links)
{
    struct json_out o;

    begin(&o, out, links);
    json_open_array(&o);
    for (size_t i = 0; i < count; i++) {
        put_author(&o, &a[i]);
    }
    json_close(&o);
    return end(&o, out, links, true);
}

static int
write_error(struct buf *out, const struct article_error *e)
{
    struct json_out o;

    begin(&o, out, NULL);
    json_open(&o);
    json_put_str(&o, "message", e->message);
    json_put_str(&o, "type", STR("about:blank"));
    json_put_str(&o, "title", str_from(http_status_text(e->status)));
    json_put_int(&o, "status", e->status);
    json_put_str(&o, "detail", e->detail);
    json_close(&o);
    return end(&o, out, NULL, false);
}

/* ---- reading ---- */

/* The four hexadecimal digits behind "\u"; -1: there are none. */
static int
unit_at(struct str s, size_t at)
{
    int n = 0;

    if (at + 6 > s.len || s.ptr[at] != '\\' || s.ptr[at + 1] != 'u') {
        return -1;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = str_hex_digit(s.ptr[i]);

        if (digit < 0) {
            return -1;
        }
        n = n * 16 + digit;
    }
    return n;
}

/* "\ud800" without its other half stands for no character (8.2). */
static bool
has_lone_surrogate(struct str s)
{
    for (size_t at = str_find(s, '\\', 0); at < s.len;
         at = str_find(s, '\\', at)) {
        int unit = unit_at(s, at);

        if (unit >= 0xd800 && unit <= 0xdbff) {
            int low = unit_at(s, at + 6);

            if (low < 0xdc00 || low > 0xdfff) {
                return true;
            }
            at += 12;
        } else if (unit >= 0xdc00 && unit <= 0xdfff) {
            return true;
        } else {
            at += 2;
        }
    }
    return false;
}

static struct article_text
text_of(const struct json_value *in, const char *name)
{
    const struct json_value *v = json_member(in, name);

    if (v == NULL) {
        return (struct article_text){ GIVEN_NOT, STR_NONE };
    }
    if (v->kind == JSON_STRING) {
        return (struct article_text){ GIVEN_VALUE, v->text };
    }
    return (struct article_text){ v->kind == JSON_NULL ? GIVEN_NULL
                                                       : GIVEN_WRONG,
                                  STR_NONE };
}

static struct article_number
number_of(const struct json_value *in, const char *name)
{
    const struct json_value *v = json_member(in, name);
    struct article_number out = { GIVEN_NOT, 0 };

    if (v != NULL) {
        out.given = v->kind == JSON_NULL ? GIVEN_NULL : GIVEN_WRONG;
    }
    if (v != NULL && v->kind == JSON_NUMBER &&
        str_to_int(v->text, INT64_MIN, INT64_MAX, &out.n)) {
        out.given = GIVEN_VALUE;
    }
    return out;
}

static void
read_author(const struct json_value *root, struct article_input *in)
{
    const struct json_value *v = json_member(root, "author");

    if (v == NULL) {
        return;
    }
    if (v->kind != JSON_OBJECT) {
        in->author = v->kind == JSON_NULL ? GIVEN_NULL : GIVEN_WRONG;
        return;
    }
    in->author = GIVEN_VALUE;
    in->author_id = number_of(v, "id");
    in->author_name = text_of(v, "name");
}

static enum article_read
read_json(struct pool *pool, struct str body, struct article_input *in,
          struct errmsg *err)
{
    const struct json_value *root = json_read(pool, body, err);

    if (root == NULL) {
        return ARTICLE_BROKEN;
    }
    if (has_lone_surrogate(body)) {
        errmsg_set(err, "not valid JSON: half a surrogate pair");
        return ARTICLE_BROKEN;
    }
    if (root->kind != JSON_OBJECT) {
        errmsg_set(err, "the body must be a JSON object");
        return ARTICLE_WRONG;
    }
    in->title = text_of(root, "title");
    in->content = text_of(root, "content");
    in->created_at = text_of(root, "created_at");
    in->updated_at = text_of(root, "updated_at");
    read_author(root, in);
    return ARTICLE_READ;
}

const struct article_format article_format_json = {
    .name = "json",
    .type = "application/json",
    .suffix = "+json",
    .content_type = "application/json; charset=UTF-8",
    .problem_type = "application/problem+json",
    .patch_type = "application/merge-patch+json",
    .write_article = write_article,
    .write_articles = write_articles,
    .write_author = write_author,
    .write_authors = write_authors,
    .write_error = write_error,
    .read = read_json,
};
