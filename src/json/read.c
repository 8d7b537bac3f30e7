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

#define MEMBERS_FIRST 64 /* places for names, at first */
#define NUMBER_TEXT(n) NUMBER_TEXT_(n)
#define NUMBER_TEXT_(n) #n
#define LONGEST 4 /* bytes of a character (RFC 3629) */

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
    size_t base;         /* bytes before this piece */
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
    r->end = r->base;
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

static int
on_string(void *arg, const unsigned char *text, size_t n)
{
    struct json_reader *r = arg;
    struct json_value *v = add(r, JSON_STRING);

    if (v != NULL) {
        v->text = pool_str(r->pool, str_of(text, n));
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
    struct member sought = { r->open[r->depth - 1], str_of(text, n), 0 };
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

/* "\ud800" without its other half stands for no character (8.2).  Where it
 * is; s.len: nowhere. */
static size_t
lone_surrogate(struct str s)
{
    for (size_t at = str_find(s, '\\', 0); at < s.len;
         at = str_find(s, '\\', at)) {
        int unit = unit_at(s, at);

        if (unit >= 0xd800 && unit <= 0xdbff) {
            int low = unit_at(s, at + 6);

            if (low < 0xdc00 || low > 0xdfff) {
                return at;
            }
            at += 12;
        } else if (unit >= 0xdc00 && unit <= 0xdfff) {
            return at;
        } else {
            at += 2;
        }
    }
    return s.len;
}

size_t
json_wrong_space(struct str text)
{
    size_t tab = str_find(text, '\v', 0);

    return str_find(str_first(text, tab), '\f', 0);
}

/* Bytes of the escape there, with the other half of a pair; 0: it may go on
 * behind the end of s. */
static size_t
escape_length(struct str s, size_t at)
{
    int unit = unit_at(s, at);
    size_t n = unit < 0 ? 2 : unit >= 0xd800 && unit <= 0xdbff ? 12 : 6;

    if (unit < 0 && at + 6 > s.len &&
        (at + 1 == s.len || s.ptr[at + 1] == 'u')) {
        return 0;
    }
    return at + n <= s.len ? n : 0;
}

/* The bytes of a piece that can be judged without those behind it: it ends
 * neither in a character nor in an escape. */
static size_t
whole_length(struct str piece)
{
    size_t whole = utf8_length(piece), n;
    struct str s =
        str_first(piece, piece.len - whole < LONGEST ? whole : piece.len);
    size_t at = str_find(s, '\\', 0);

    while (at < s.len) {
        n = escape_length(s, at);
        if (n == 0) {
            return at;
        }
        at = str_find(s, '\\', at + n);
    }
    return s.len;
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
    *at = lone_surrogate(text);
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

/* False: it is wrong at *at. */
static bool
parse(struct json_reader *r, struct str piece, size_t *at)
{
    yajl_status status =
        yajl_parse(r->handle, (const unsigned char *)piece.ptr, piece.len);

    *at = yajl_get_bytes_consumed(r->handle); /* with what is wrong */
    *at -= *at > 0;
    r->trailed |= trails(r, piece);
    return status == yajl_status_ok;
}

/* The end of the text, which is the end of this piece. */
static void
finish(struct json_reader *r, struct str piece)
{
    r->base += piece.len;
    r->finishing = true;
    if (yajl_complete_parse(r->handle) != yajl_status_ok || r->root == NULL ||
        r->trailed) {
        r->why = r->why != NULL ? r->why : "not valid JSON: it ends too early";
        fail(r, piece, piece.len);
        return;
    }
    let_go(r);
}

size_t
json_reader_feed(struct json_reader *r, struct str piece, bool last)
{
    size_t n = last ? piece.len : whole_length(piece), at;

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
