/*
 * Fuzz target: bodies of articles, JSON and XML, and what is checked of them.
 *
 * The first byte says what the body is and what it is for.  A body that is
 * taken has texts within their bounds, UTF-8 without U+0000; written as an
 * article it is read as the same; one that is refused is refused once, with a
 * reason; a time is read as the same when it is written again.
 *
 * covers: modules/articles/input.c
 * covers: modules/articles/format.c:article_format_of_body,article_types
 * covers: modules/articles/format.c:article_time_read,article_time_write
 * covers: modules/articles/format.c:take_date,take_clock,take_offset
 * covers: modules/articles/format.c:take_number,take_char,skip_fraction
 * covers: modules/articles/format_json.c:read_json,read_members,read_author
 * covers: modules/articles/format_json.c:text_of,number_of
 * covers: modules/articles/format_xml.c:read_xml,read_author,stands_twice
 * covers: modules/articles/format_xml.c:text_of,time_of,number_of,is_nil
 * covers: modules/articles/format_xml.c:collapse
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/articles/answer.h"
#include "../../modules/articles/input.h"
#include "base/utf8.h"
#include "http/exchange.h"
#include "xml/read.h"

#define TITLE_MAX 20
#define CONTENT_MAX 200

enum { IS_XML = 1, IS_PATCH = 2, HAS_OTHER_TYPE = 4 };

static unsigned refused;

/* In place of the module's, which would bring all of it. */
struct metric articles_metrics[ARTICLES_METRIC_COUNT];

/* In place of the module's, which answers. */
enum http_result
answer_refuse(struct http_request *r, enum articles_refused why, int status,
              const char *message, const char *format, ...)
{
    (void)r;
    (void)format;
    require(why < ARTICLES_REFUSED_REASONS && message[0] != '\0');
    require(status == 400 || status == 415 || status == 422);
    refused++;
    return HTTP_DONE;
}

static const char *const types[] = {
    "application/json",
    "application/xml",
    "application/merge-patch+json",
    "text/xml; charset=utf-8",
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
is_good(struct str s)
{
    return s.len > 0 && utf8_valid(s) && memchr(s.ptr, '\0', s.len) == NULL;
}

static void
look_at(const struct draft *d, bool patch)
{
    require(patch || (d->has_title && d->has_content && d->has_author));
    require(!d->has_title ||
            (is_good(d->title) && characters(d->title) <= TITLE_MAX));
    require(!d->has_content ||
            (is_good(d->content) && d->content.len <= CONTENT_MAX));
    require(!d->has_author || patch || d->author_id > 0);
    require(d->author_name.len == 0 || is_good(d->author_name));
}

static void
try_time(bool has, int64_t s)
{
    char text[ARTICLE_TIME_TEXT];
    int64_t again;

    if (has) {
        require(article_time_read(article_time_write(text, s), &again) &&
                again == s);
    }
}

/* XML has no way to write other control characters, nor to keep a CR. */
static bool
is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < ' ' ||
            (unsigned char)s.ptr[i] >= 0xef) { /* nor U+FFFE */
            return false;
        }
    }
    return true;
}

/* Its answer to a GET, sent back, is the same article. */
static void
send_back(struct pool *pool, const struct draft *d,
          const struct article_format *f)
{
    struct article a = { .title = d->title,
                         .content = d->content,
                         .author = { .id = 1, .name = d->author_name } };
    struct article_input in = { .author = GIVEN_NOT };
    struct errmsg err;
    struct buf out;

    if (f != &article_format_json &&
        (!is_plain(a.title) || !is_plain(a.content))) {
        return;
    }
    buf_init(&out, 1 << 20);
    require(f->write_article(&out, &a, NULL) == 0);
    require(article_read(f, pool, buf_str(&out), &in, &err) == ARTICLE_READ);
    require(str_eq(in.title.text, a.title));
    require(str_eq(in.content.text, a.content));
    require(in.author_id.n == 1);
    buf_clear(&out);
}

static void
run(struct pool *pool, struct str body, struct str type, bool patch)
{
    static const struct articles_settings settings = { .max_title = TITLE_MAX,
                                                       .max_content =
                                                           CONTENT_MAX };
    static struct exchange x;
    struct articles layer = { .settings = &settings };
    struct http_header header = { STR("Content-Type"), type };
    const struct http_feed *feed = patch ? &input_patch_feed : &input_feed;
    size_t took;
    struct draft d;
    bool taken;

    memset(&x, 0, sizeof(x));
    x.pub = (struct http_request){ .pool = pool,
                                   .headers = &header,
                                   .header_count = 1 };
    refused = 0;
    x.pub.fed = feed->begin(&x.pub, &layer);
    took = feed->piece(x.pub.fed, str_first(body, body.len / 2), false);
    require(took <= body.len / 2);
    feed->piece(x.pub.fed, str_skip(body, took), true);
    taken = input_take(&x.pub, &layer, patch, &d);
    require(refused == !taken);
    if (taken) {
        look_at(&d, patch);
        try_time(d.has_created_at, d.created_at);
        try_time(d.has_updated_at, d.updated_at);
        if (d.has_title && d.has_content) {
            send_back(pool, &d, article_format_of_body(type, patch));
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size), type;
    unsigned how = take_byte(&input);
    struct pool *pool = pool_new(1024);

    xml_init();
    type = str_from(types[how & (IS_XML | IS_PATCH)]);
    if ((how & HAS_OTHER_TYPE) != 0) {
        type = str_cut(&input, '\n');
    }
    run(pool, input, type, (how & IS_PATCH) != 0);
    pool_free(&pool);
    return 0;
}
