/*
 * Fuzz target: cursors and entity tags of articles.
 *
 * 32 bytes of numbers, a line with the cursor, then headers.  What is written
 * is read as the same; what is read was written by us; a tag that was given
 * out is known again, alone or in a list, and no other is.
 *
 * covers: modules/articles/cursor.c modules/articles/tag.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/articles/cursor.h"
#include "../../modules/articles/tag.h"
#include "net/sha256.h"

#define HEADERS 16

static void
try_cursor(struct pool *pool, const struct cursor *c, struct str text,
           struct str filter)
{
    struct digest_key *secret = digest_key_new("secret", 6);
    char written[CURSOR_TEXT];
    struct cursor out = { 0, 0 };

    cursor_write(written, c, secret, filter);
    require(strlen(written) == CURSOR_TEXT - 1);
    require(cursor_read(pool, str_from(written), secret, filter, &out) &&
            out.id == c->id && out.created_at == c->created_at);
    if (cursor_read(pool, text, secret, filter, &out)) {
        cursor_write(written, &out, secret, filter);
        require(str_eq(text, str_from(written)));
    }
    digest_key_free(&secret);
}

/* With a header more, in front of the others. */
static bool
with(const struct http_request *was, const char *name, struct str value,
     bool (*asked)(const struct http_request *r, const struct tag *t),
     const struct tag *t)
{
    struct http_header headers[HEADERS + 1] = { { str_from(name), value } };
    struct http_request r = *was;

    memcpy(headers + 1, was->headers, was->header_count * sizeof(headers[0]));
    r.headers = headers;
    r.header_count++;
    return asked(&r, t);
}

static bool
mentions(const struct http_request *r, struct str what)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct str v = r->headers[i].value;

        if (memmem(v.ptr, v.len, what.ptr, what.len) != NULL ||
            str_eq(str_trim(v), STR("*"))) {
            return true;
        }
    }
    return false;
}

static void
try_tag(struct pool *pool, const struct http_request *r, const struct tag *t)
{
    struct str listed = pool_printf(pool, "W/\"a,b\" ,W/%s, \"c\"",
                                    t->text + (t->text[0] == 'W' ? 2 : 0));

    require(with(r, "If-None-Match", str_from(t->text), tag_is_known, t));
    require(with(r, "if-none-match", listed, tag_is_known, t));
    require(with(r, "If-Match", str_from(t->text), tag_is_expected, t));
    require(with(r, "if-match", listed, tag_is_expected, t));
    require(with(r, "If-Match", STR(" *"), tag_is_expected, t));
    if (!mentions(r, str_from(t->edition))) {
        require(!tag_is_known(r, t));
        require(tag_is_expected(r, t) == (http_header(r, "If-Match") == NULL));
    }
    require(!tag_is_known(r, t) || tag_is_asked_for(r));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_header headers[HEADERS];
    struct http_request r = { .headers = headers };
    struct str input = str_of(data, size), text, filter;
    struct pool *pool = pool_new(1024);
    struct cursor c;
    int64_t editions[2];
    struct tag item, list;

    take_bytes(&input, &c, sizeof(c));
    take_bytes(&input, editions, sizeof(editions));
    filter = str_cut(&input, '\n');
    text = str_cut(&input, '\n');
    while (input.len > 0 && r.header_count < HEADERS) {
        struct http_header *h = &headers[r.header_count];

        r.header_count += cut_field(str_cut(&input, '\n'), &h->name, &h->value);
    }
    try_cursor(pool, &c, text, filter);
    tag_of_item(&item, editions[0], editions[1], &article_format_json, false);
    tag_of_list(&list, (uint64_t)editions[0], &article_format_xml, true);
    try_tag(pool, &r, &item);
    try_tag(pool, &r, &list);
    pool_free(&pool);
    return 0;
}
