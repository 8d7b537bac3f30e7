/*
 * Articles as JSON (RFC 8259).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "format.h"
#include "json/json.h"
#include "json/read.h"

#define BLOCK 16 /* bytes of a text that are looked at together */
#define BLOCKS 4 /* that one branch decides about, in a long text */
#define MORE 512 /* bytes: an article has fewer beside its texts */

typedef uint8_t block __attribute__((vector_size(BLOCK)));

/* ---- writing ---- */

/* Texts come from the store, where only valid UTF-8 gets, so that they need
 * no mending; and pages are many and long.  A writer commits its bytes when it
 * has no room for more, and at the end, where it also tells a failure. */
struct writer {
    struct buf *to;
    char *begin, *at, *end; /* reserved in `to`; at: where to go on */
    unsigned rooms;         /* so often room was found: `to` may have moved */
    struct str author;      /* the last one, in the present room; or empty */
    bool full;
};

/* For n bytes, and some more if the buffer may have them. */
static void
find_room(struct writer *w, size_t n)
{
    buf_commit(w->to, (size_t)(w->at - w->begin));
    n += n + MORE <= buf_room(w->to) ? MORE : 0;
    w->begin = w->at = (char *)buf_reserve(w->to, n);
    w->end = w->at == NULL ? NULL : w->at + n;
    w->rooms++;
    w->author = STR_NONE;
    w->full |= w->at == NULL;
}

static inline void
add(struct writer *w, struct str s)
{
    if ((size_t)(w->end - w->at) < s.len) {
        find_room(w, s.len);
    }
    if (!w->full && s.len > 0) { /* ptr may be NULL */
        memcpy(w->at, s.ptr, s.len);
        w->at += s.len;
    }
}

static void
add_number(struct writer *w, int64_t n)
{
    char text[24];
    char *at = text + sizeof(text);
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (n < 0) {
        *--at = '-';
    }
    add(w, str_of(at, (size_t)(text + sizeof(text) - at)));
}

static void
add_escaped(struct writer *w, char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    char text[6] = {
        '\\', 'u', '0', '0', digits[(unsigned char)c >> 4], digits[c & 15]
    };

    for (size_t i = 0; shorts[i] != '\0'; i += 2) {
        if (shorts[i] == c) {
            text[1] = shorts[i + 1];
            add(w, str_of(text, 2));
            return;
        }
    }
    add(w, str_of(text, sizeof(text)));
}

static bool
is_plain(char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

/* Not 0 where is_plain() does not hold. */
static block
special(const char text[BLOCK])
{
    block bytes;

    memcpy(&bytes, text, sizeof(bytes));
    return (block)((bytes < ' ') | (bytes == '"') | (bytes == '\\'));
}

/* Whether is_plain() holds for all bytes of so many blocks. */
static inline bool
are_plain(const char *text, size_t blocks)
{
    uint64_t bad[BLOCK / sizeof(uint64_t)];
    block all = special(text);

    for (size_t i = 1; i < blocks; i++) {
        all |= special(text + i * BLOCK);
    }
    memcpy(bad, &all, sizeof(bad));
    return (bad[0] | bad[1]) == 0;
}

/* Bytes of s before the first that has to be escaped. */
static size_t
plain_length(struct str s)
{
    size_t i = 0;

    while (s.len - i >= BLOCKS * BLOCK && are_plain(s.ptr + i, BLOCKS)) {
        i += BLOCKS * BLOCK;
    }
    while (s.len - i >= BLOCK && are_plain(s.ptr + i, 1)) {
        i += BLOCK;
    }
    while (i < s.len && is_plain(s.ptr[i])) {
        i++;
    }
    return i;
}

static void
add_text(struct writer *w, struct str s)
{
    size_t n;

    add(w, STR("\""));
    while ((n = plain_length(s)) < s.len) {
        add(w, str_first(s, n));
        add_escaped(w, s.ptr[n]);
        s = str_skip(s, n + 1);
    }
    add(w, s);
    add(w, STR("\""));
}

static void
add_time(struct writer *w, int64_t s)
{
    char text[ARTICLE_TIME_TEXT];

    add(w, STR("\""));
    add(w, article_time_write(text, s));
    add(w, STR("\""));
}

static void
add_author(struct writer *w, const struct author *a)
{
    add(w, STR("{\"id\":"));
    add_number(w, a->id);
    add(w, STR(",\"name\":"));
    add_text(w, a->name);
    add(w, STR(",\"created_at\":"));
    add_time(w, a->created_at);
    add(w, STR(",\"updated_at\":"));
    add_time(w, a->updated_at);
    add(w, STR("}"));
}

static bool
is_same(const struct author *a, const struct author *b)
{
    return a->id == b->id && a->created_at == b->created_at &&
           a->updated_at == b->updated_at && str_eq(a->name, b->name);
}

/* Many articles of a list have the author of the one before them. */
static void
add_author_after(struct writer *w, const struct author *a,
                 const struct author *before)
{
    const char *from = w->at;
    unsigned room = w->rooms;
    bool again = before != NULL && is_same(a, before) && w->author.len > 0;

    if (again && (size_t)(w->end - w->at) >= w->author.len) {
        add(w, w->author);
        return;
    }
    add_author(w, a);
    if (room == w->rooms) {
        w->author = str_of(from, (size_t)(w->at - from));
    }
}

/* before: the article in front of it; NULL: none. */
static void
add_article(struct writer *w, const struct article *a,
            const struct article *before)
{
    add(w, STR("{\"id\":"));
    add_number(w, a->id);
    add(w, STR(",\"title\":"));
    add_text(w, a->title);
    add(w, STR(",\"content\":"));
    add_text(w, a->content);
    add(w, STR(",\"author\":"));
    add_author_after(w, &a->author, before != NULL ? &before->author : NULL);
    add(w, STR(",\"updated_at\":"));
    add_time(w, a->updated_at);
    add(w, STR(",\"created_at\":"));
    add_time(w, a->created_at);
    add(w, STR("}"));
}

/* bytes: about so many will come. */
static struct writer
begin(struct buf *out, size_t bytes, const struct article_links *links)
{
    struct writer w = { .to = out };

    find_room(&w, bytes < buf_room(out) ? bytes : buf_room(out));
    if (links != NULL) {
        add(&w, STR("{\"data\":"));
    }
    return w;
}

static int
end(struct writer *w, const struct article_links *links, bool pages)
{
    if (links != NULL) {
        add(w, STR(",\"links\":{\"self\":"));
        add_text(w, links->self);
        if (pages && links->next.len > 0) {
            add(w, STR(",\"next\":"));
            add_text(w, links->next);
        } else if (pages) {
            add(w, STR(",\"next\":null"));
        }
        add(w, STR("}}"));
    }
    add(w, STR("\n"));
    buf_commit(w->to, (size_t)(w->at - w->begin));
    return w->full ? -1 : 0;
}

/* Their length, if nothing in them is escaped. */
static size_t
length_of(const struct article *a, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes +=
            a[i].title.len + a[i].content.len + a[i].author.name.len + MORE;
    }
    return bytes;
}

static int
write_article(struct buf *out, const struct article *a,
              const struct article_links *links)
{
    struct writer w = begin(out, length_of(a, 1), links);

    add_article(&w, a, NULL);
    return end(&w, links, false);
}

static int
write_articles(struct buf *out, const struct article *a, size_t count,
               const struct article_links *links)
{
    struct writer w = begin(out, length_of(a, count), links);

    add(&w, STR("["));
    for (size_t i = 0; i < count; i++) {
        add(&w, i > 0 ? STR(",") : STR_NONE);
        add_article(&w, &a[i], i > 0 ? &a[i - 1] : NULL);
    }
    add(&w, STR("]"));
    return end(&w, links, true);
}

static int
write_author(struct buf *out, const struct author *a,
             const struct article_links *links)
{
    struct writer w = begin(out, MORE, links);

    add_author(&w, a);
    return end(&w, links, false);
}

static int
write_authors(struct buf *out, const struct author *a, size_t count,
              const struct article_links *links)
{
    struct writer w = begin(out, MORE, links);

    add(&w, STR("["));
    for (size_t i = 0; i < count; i++) {
        add(&w, i > 0 ? STR(",") : STR_NONE);
        add_author(&w, &a[i]);
    }
    add(&w, STR("]"));
    return end(&w, links, true);
}

/* Its words may have anything in them that a client sent. */
static int
write_error(struct buf *out, const struct article_error *e)
{
    struct json_out o;

    json_begin(&o, out, false);
    json_open(&o);
    json_put_str(&o, "message", e->message);
    json_put_str(&o, "type", STR("about:blank"));
    json_put_str(&o, "title", str_from(http_status_text(e->status)));
    json_put_int(&o, "status", e->status);
    json_put_str(&o, "detail", e->detail);
    json_close(&o);
    return json_end(&o) == -1 ? -1 : buf_add_str(out, STR("\n"));
}

/* ---- reading ---- */

static struct article_text
text_of(struct pool *pool, const struct json_value *in, const char *name)
{
    const struct json_value *v = json_member(in, name);

    if (v == NULL) {
        return (struct article_text){ GIVEN_NOT, STR_NONE };
    }
    if (v->kind == JSON_STRING) {
        return (struct article_text){ GIVEN_VALUE, pool_str(pool, v->text) };
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
read_author(struct pool *pool, const struct json_value *root,
            struct article_input *in)
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
    in->author_name = text_of(pool, v, "name");
}

static enum article_read
read_members(struct pool *pool, const struct json_value *root,
             struct article_input *in, struct errmsg *err)
{
    if (root->kind != JSON_OBJECT) {
        errmsg_set(err, "the body must be a JSON object");
        return ARTICLE_WRONG;
    }
    in->title = text_of(pool, root, "title");
    in->content = text_of(pool, root, "content");
    in->created_at = text_of(pool, root, "created_at");
    in->updated_at = text_of(pool, root, "updated_at");
    read_author(pool, root, in);
    return ARTICLE_READ;
}

/* The tree of a hostile body is many times as long as the body: it does not
 * wait for the store with the request. */
struct json_body {
    struct pool *own; /* owned */
    struct json_reader *reader;
};

static void
on_pool_free(void *arg)
{
    struct json_body *b = arg;

    pool_free(&b->own);
}

static void *
begin_json(struct pool *pool)
{
    struct json_body *b = pool_zero(pool, sizeof(*b));

    b->own = pool_new(4096);
    b->reader = json_reader_new(b->own);
    pool_on_free(pool, on_pool_free, b);
    return b;
}

static size_t
feed_json(void *reader, struct str piece, bool last)
{
    struct json_body *b = reader;

    return json_reader_feed(b->reader, piece, last);
}

static enum article_read
read_json(struct pool *pool, void *reader, struct article_input *in,
          struct errmsg *err)
{
    struct json_body *b = reader;
    const struct json_value *root = json_reader_end(b->reader, err);
    enum article_read result = ARTICLE_BROKEN;

    if (root != NULL) {
        result = read_members(pool, root, in, err);
    }
    pool_free(&b->own);
    return result;
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
    .begin = begin_json,
    .feed = feed_json,
    .read = read_json,
};
