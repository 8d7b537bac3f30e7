/*
 * yajl's events made into a tree.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "json/read.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/text.h"

#define MEMBERS_FIRST 64 /* places for names, at first */
#define NUMBER_TEXT(n) NUMBER_TEXT_(n)
#define NUMBER_TEXT_(n) #n

/* A member's name and the object that it is in. */
struct member {
    const struct json_value *in; /* NULL: a free place */
    struct str name;
    size_t hash;
};

struct json_reader {
    struct pool *pool;
    /* All names so far, found by their hash: who sends an object with very
     * many of them costs no more than their bytes. */
    struct member *members;
    size_t members_size, members_used;        /* size is a power of two, or 0 */
    struct json_value *open[JSON_READ_DEPTH]; /* what we are inside of */
    unsigned depth, values;
    struct json_value *root;
    struct str name;     /* of the member whose value comes next */
    const char *why;     /* our own refusal */
    struct errmsg err;   /* of what has failed */
    yajl_handle handle;  /* owned; NULL: it has ended */
    struct buf text;     /* of a string that does not go through yajl */
    bool in_string;      /* it is not whole yet */
    bool has_text;       /* it is, and yajl calls for it */
    size_t base;         /* bytes before this piece */
    size_t from;         /* bytes before those that yajl has now */
    size_t line, column; /* of its beginning, from 1 */
    size_t end;          /* of the outermost value, in this piece or before */
    bool fed;            /* something has come */
    bool finishing;      /* the whole text was read */
    bool trailed;        /* something stands behind the value */
    bool failed;
};

static void *
parse_alloc(void *unused, size_t n)
{
    (void)unused;
    return mem_alloc(n);
}

static void *
parse_resize(void *unused, void *p, size_t n)
{
    (void)unused;
    return mem_resize(p, n);
}

static void
parse_free(void *unused, void *p)
{
    (void)unused;
    mem_free_raw(p);
}

static int
refuse(struct json_reader *r, const char *why)
{
    r->why = why;
    return 0;
}

/* The outermost value ends here. */
static void
note_end(struct json_reader *r)
{
    r->end = r->from;
    if (!r->finishing) {
        r->end += yajl_get_bytes_consumed(r->handle);
    }
}

/* A new value where the reading is; NULL: refused. */
static struct json_value *
add(struct json_reader *r, enum json_kind kind)
{
    struct json_value *v, *in;

    if (r->values++ == JSON_READ_VALUES) {
        refuse(r, "JSON of more than " NUMBER_TEXT(
                      JSON_READ_VALUES) " values is not taken");
        return NULL;
    }
    v = pool_zero(r->pool, sizeof(*v));
    v->kind = kind;
    v->name = r->name;
    v->text = r->name = STR_NONE;
    if (r->depth == 0) {
        r->root = v;
        note_end(r);
        return v;
    }
    in = r->open[r->depth - 1];
    if (in->last != NULL) {
        in->last->next = v;
    } else {
        in->first = v;
    }
    in->last = v;
    return v;
}

static int
on_null(void *arg)
{
    return add(arg, JSON_NULL) != NULL;
}

static int
on_bool(void *arg, int truth)
{
    struct json_value *v = add(arg, JSON_BOOL);

    if (v != NULL) {
        v->truth = truth != 0;
    }
    return v != NULL;
}

static int
on_number(void *arg, const char *text, size_t n)
{
    struct json_reader *r = arg;
    struct json_value *v;

    if (n > JSON_READ_NUMBER) {
        return refuse(r, "JSON with a number of more than " NUMBER_TEXT(
                             JSON_READ_NUMBER) " bytes is not taken");
    }
    v = add(r, JSON_NUMBER);
    if (v != NULL) {
        v->text = pool_str(r->pool, str_of(text, n));
        v->number = strtod(v->text.ptr, NULL);
    }
    return v != NULL;
}

/* yajl has an empty string in place of one that was too long for it. */
static struct str
string_of(const struct json_reader *r, const unsigned char *text, size_t n)
{
    return r->has_text ? buf_str(&r->text) : str_of(text, n);
}

static int
on_string(void *arg, const unsigned char *text, size_t n)
{
    struct json_reader *r = arg;
    struct json_value *v = add(r, JSON_STRING);

    if (v != NULL) {
        v->text = pool_str(r->pool, string_of(r, text, n));
    }
    return v != NULL;
}

static int
open_value(struct json_reader *r, enum json_kind kind)
{
    struct json_value *v;

    if (r->depth == JSON_READ_DEPTH) {
        return refuse(r, "JSON of more than " NUMBER_TEXT(
                             JSON_READ_DEPTH) " arrays and objects in one "
                                              "another is not taken");
    }
    v = add(r, kind);
    if (v != NULL) {
        r->open[r->depth++] = v;
    }
    return v != NULL;
}

static int
on_object(void *arg)
{
    return open_value(arg, JSON_OBJECT);
}

static int
on_array(void *arg)
{
    return open_value(arg, JSON_ARRAY);
}

static int
on_close(void *arg)
{
    struct json_reader *r = arg;

    if (--r->depth == 0) {
        note_end(r);
    }
    return 1;
}

/* Where that member is, or would be. */
static struct member *
find_member(const struct json_reader *r, const struct member *sought)
{
    size_t mask = r->members_size - 1;
    size_t at = sought->hash;

    while (r->members[at & mask].in != NULL &&
           (r->members[at & mask].hash != sought->hash ||
            r->members[at & mask].in != sought->in ||
            !str_eq(r->members[at & mask].name, sought->name))) {
        at++;
    }
    return &r->members[at & mask];
}

/* Half of the places are free at least. */
static void
make_room(struct json_reader *r)
{
    struct member *before = r->members;
    size_t count = r->members_size;

    if (2 * (r->members_used + 1) <= count) {
        return;
    }
    r->members_size = count == 0 ? MEMBERS_FIRST : 2 * count;
    r->members = mem_zero(r->members_size * sizeof(*r->members));
    for (size_t i = 0; i < count; i++) {
        if (before[i].in != NULL) {
            *find_member(r, &before[i]) = before[i];
        }
    }
    mem_free(&before);
}

static int
on_name(void *arg, const unsigned char *text, size_t n)
{
    struct json_reader *r = arg;
    struct member sought = { r->open[r->depth - 1], string_of(r, text, n), 0 };
    struct member *m;

    sought.hash =
        hash_str(sought.name) + (uintptr_t)sought.in / sizeof(*sought.in);
    make_room(r);
    m = find_member(r, &sought);
    if (m->in != NULL) {
        return refuse(r, "not valid JSON: a name stands twice in an object");
    }
    r->name = sought.name = pool_str(r->pool, sought.name);
    *m = sought;
    r->members_used++;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_name,
    .yajl_end_map = on_close,
    .yajl_start_array = on_array,
    .yajl_end_array = on_close,
};

/* ---- texts ---- */

size_t
json_wrong_space(struct str text)
{
    size_t tab = str_find(text, '\v', 0);

    return str_find(str_first(text, tab), '\f', 0);
}

/* yajl lets surrogates, overlong forms and more than U+10FFFF pass, and makes
 * one of half a pair. */
static const char *
wrong_text(struct str text, size_t *at)
{
    *at = utf8_length(text);
    if (*at < text.len) {
        return "not valid JSON: not UTF-8";
    }
    *at = json_wrong_space(text);
    if (*at < text.len) {
        return "not valid JSON: a vertical tab or form feed";
    }
    *at = json_lone_surrogate(text);
    return *at < text.len ? "not valid JSON: half a surrogate pair" : NULL;
}

/* ---- the life of a reader ---- */

static void
let_go(struct json_reader *r)
{
    if (r->handle != NULL) {
        yajl_free(r->handle);
        r->handle = NULL;
    }
    buf_clear(&r->text);
    mem_free(&r->members);
}

static void
on_pool_free(void *arg)
{
    let_go(arg);
}

static void
begin(struct json_reader *r, struct pool *pool)
{
    yajl_alloc_funcs memory = { parse_alloc, parse_resize, parse_free, NULL };

    *r = (struct json_reader){
        .pool = pool, .name = STR_NONE, .line = 1, .column = 1
    };
    buf_init(&r->text, SIZE_MAX / 2); /* as long as the text at most */
    r->handle = yajl_alloc(&callbacks, &memory, r);
}

struct json_reader *
json_reader_new(struct pool *pool)
{
    struct json_reader *r = pool_zero(pool, sizeof(*r));

    begin(r, pool);
    pool_on_free(pool, on_pool_free, r);
    return r;
}

/* ---- a piece ---- */

/* For people, as editors count: from 1, in characters. */
static void
count_place(struct json_reader *r, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            r->line++;
            r->column = 1;
        } else {
            r->column += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
        }
    }
}

/* at: where it is wrong, in the piece. */
static void
fail(struct json_reader *r, struct str piece, size_t at)
{
    const char *why = r->why != NULL ? r->why : "not valid JSON";

    count_place(r, str_first(piece, at));
    errmsg_set(&r->err, "%s (line %zu, column %zu)", why, r->line, r->column);
    r->failed = true;
    let_go(r);
}

/* yajl takes the beginning of a text behind the value for nothing. */
static bool
trails(const struct json_reader *r, struct str piece)
{
    size_t i = r->end > r->base ? r->end - r->base : 0;

    if (r->root == NULL || r->depth > 0) {
        return false;
    }
    while (i < piece.len && memchr(" \t\r\n", piece.ptr[i], 4) != NULL) {
        i++;
    }
    return i < piece.len;
}

/* Gives yajl some bytes, which begin at *at of the piece.  False: they are
 * wrong at *at, which is behind them else. */
static bool
parse_some(struct json_reader *r, struct str some, size_t *at)
{
    size_t ate;

    r->from = r->base + *at;
    if (yajl_parse(r->handle, (const unsigned char *)some.ptr, some.len) !=
        yajl_status_ok) {
        ate = yajl_get_bytes_consumed(r->handle); /* with what is wrong */
        *at += ate - (ate > 0);
        return false;
    }
    *at += some.len;
    return true;
}

/* The bytes that yajl may have: up to a string that is escaped, or does not end
 * here. */
static size_t
easy_length(struct str s)
{
    size_t begin = str_find(s, '"', 0), end;

    while (begin < s.len) {
        end = str_find(s, '"', begin + 1);
        if (end == s.len || memchr(s.ptr + begin, '\\', end - begin) != NULL) {
            return begin;
        }
        begin = str_find(s, '"', end + 1);
    }
    return s.len;
}

/* On in a string, from *at. */
static bool
parse_string(struct json_reader *r, struct str piece, size_t *at)
{
    size_t taken = 0;
    enum json_string is =
        json_string_take(&r->text, str_skip(piece, *at), &taken);

    *at += taken;
    if (is != JSON_STRING_ENDS) {
        return is == JSON_STRING_GOES_ON;
    }
    r->in_string = false;
    r->has_text = true;
    *at -= 2; /* as if it was all of the string, and had come now */
    if (!parse_some(r, STR("\"\""), at)) {
        return false;
    }
    r->has_text = false;
    buf_take(&r->text, buf_len(&r->text));
    return true;
}

/* False: it is wrong at *at. */
static bool
parse(struct json_reader *r, struct str piece, size_t *at)
{
    *at = 0;
    while (*at < piece.len) {
        size_t easy;

        if (r->in_string) {
            if (!parse_string(r, piece, at)) {
                return false;
            }
            continue;
        }
        easy = easy_length(str_skip(piece, *at));
        if (!parse_some(r, str_first(str_skip(piece, *at), easy), at)) {
            return false;
        }
        r->in_string = *at < piece.len;
        *at += r->in_string; /* the quote */
    }
    r->trailed |= trails(r, piece);
    return true;
}

/* The end of the text, which is the end of this piece. */
static void
finish(struct json_reader *r, struct str piece)
{
    r->base += piece.len;
    r->from = r->base;
    r->finishing = true;
    if (r->in_string || yajl_complete_parse(r->handle) != yajl_status_ok ||
        r->root == NULL || r->trailed) {
        r->why = r->why != NULL ? r->why : "not valid JSON: it ends too early";
        fail(r, piece, piece.len);
        return;
    }
    let_go(r);
}

size_t
json_reader_feed(struct json_reader *r, struct str piece, bool last)
{
    size_t n = last ? piece.len : json_whole_length(piece), at;

    r->fed |= piece.len > 0;
    if (r->failed || r->finishing) {
        return piece.len;
    }
    piece = str_first(piece, n);
    r->why = wrong_text(piece, &at);
    if (r->why != NULL || !parse(r, piece, &at)) {
        if (r->why == NULL && last && at == n) {
            r->why = "not valid JSON: it ends too early";
        }
        fail(r, piece, at);
    } else if (last) {
        finish(r, piece);
    } else {
        count_place(r, piece);
        r->base += n;
    }
    return n;
}

struct json_reader *
json_reader_whole(struct pool *pool, struct str text)
{
    struct json_reader *r = json_reader_new(pool);

    json_reader_feed(r, text, true);
    return r;
}

bool
json_reader_is_empty(const struct json_reader *r)
{
    return !r->fed;
}

const struct json_value *
json_reader_end(struct json_reader *r, struct errmsg *err)
{
    if (!r->failed && !r->finishing) {
        json_reader_feed(r, STR_NONE, true);
    }
    if (r->failed) {
        *err = r->err;
        return NULL;
    }
    return r->root;
}

/* ---- looking at it ---- */

const struct json_value *
json_read(struct pool *pool, struct str text, struct errmsg *err)
{
    struct json_reader r;

    begin(&r, pool);
    json_reader_feed(&r, text, true);
    return json_reader_end(&r, err);
}

const struct json_value *
json_member(const struct json_value *v, const char *name)
{
    if (v == NULL || v->kind != JSON_OBJECT) {
        return NULL;
    }
    for (v = v->first; v != NULL; v = v->next) {
        if (str_eq(v->name, str_from(name))) {
            return v;
        }
    }
    return NULL;
}

struct str
json_member_str(const struct json_value *v, const char *name)
{
    const struct json_value *m = json_member(v, name);

    return m != NULL && m->kind == JSON_STRING ? m->text : STR_NONE;
}
