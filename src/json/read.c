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

/* A member's name and the object that it is in. */
struct member {
    const struct json_value *in; /* NULL: a free place */
    struct str name;
};

struct reading {
    struct pool *pool;
    /* All names so far, found by their hash: who sends an object with very
     * many of them costs no more than their bytes. */
    struct member *members;
    size_t members_size, members_used;        /* size is a power of two, or 0 */
    struct json_value *open[JSON_READ_DEPTH]; /* what we are inside of */
    unsigned depth, values;
    struct json_value *root;
    struct str name; /* of the member whose value comes next */
    const char *why; /* our own refusal */
    yajl_handle handle;
    bool finishing; /* the whole text was read */
    size_t len;     /* of the text */
    size_t end;     /* of the outermost value */
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
refuse(struct reading *r, const char *why)
{
    r->why = why;
    return 0;
}

/* The outermost value ends here. */
static void
note_end(struct reading *r)
{
    r->end = r->finishing ? r->len : yajl_get_bytes_consumed(r->handle);
}

/* A new value where the reading is; NULL: refused. */
static struct json_value *
add(struct reading *r, enum json_kind kind)
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
    struct reading *r = arg;
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
    struct reading *r = arg;
    struct json_value *v = add(r, JSON_STRING);

    if (v != NULL) {
        v->text = pool_str(r->pool, str_of(text, n));
    }
    return v != NULL;
}

static int
open_value(struct reading *r, enum json_kind kind)
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
    struct reading *r = arg;

    if (--r->depth == 0) {
        note_end(r);
    }
    return 1;
}

/* Where that member is, or would be. */
static struct member *
find_member(const struct reading *r, const struct json_value *in,
            struct str name)
{
    size_t mask = r->members_size - 1;
    size_t at = hash_str(name) + (uintptr_t)in / sizeof(*in);

    while (r->members[at & mask].in != NULL &&
           (r->members[at & mask].in != in ||
            !str_eq(r->members[at & mask].name, name))) {
        at++;
    }
    return &r->members[at & mask];
}

/* Half of the places are free at least. */
static void
make_room(struct reading *r)
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
            *find_member(r, before[i].in, before[i].name) = before[i];
        }
    }
    mem_free(&before);
}

static int
on_name(void *arg, const unsigned char *text, size_t n)
{
    struct reading *r = arg;
    const struct json_value *in = r->open[r->depth - 1];
    struct member *m;

    make_room(r);
    m = find_member(r, in, str_of(text, n));
    if (m->in != NULL) {
        return refuse(r, "not valid JSON: a name stands twice in an object");
    }
    r->name = pool_str(r->pool, str_of(text, n));
    *m = (struct member){ in, r->name };
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

/* ---- all of it ---- */

/* yajl takes the beginning of a text behind the value for nothing. */
static bool
ends_there(const struct reading *r, struct str text)
{
    size_t i = r->end;

    while (i < text.len && memchr(" \t\r\n", text.ptr[i], 4) != NULL) {
        i++;
    }
    return i == text.len;
}

static bool
parse(struct reading *r, struct str text, size_t *at)
{
    yajl_alloc_funcs memory = { parse_alloc, parse_resize, parse_free, NULL };
    yajl_handle h = yajl_alloc(&callbacks, &memory, r);
    yajl_status status;

    r->handle = h;
    r->len = text.len;
    status = yajl_parse(h, (const unsigned char *)text.ptr, text.len);
    *at = yajl_get_bytes_consumed(h); /* with what is wrong */
    *at -= *at > 0;
    r->finishing = true;
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(h);
        *at = text.len;
    }
    yajl_free(h);
    mem_free(&r->members);
    return status == yajl_status_ok && r->root != NULL && ends_there(r, text);
}

/* For people, as editors count: from 1, in characters. */
static void
tell_place(struct errmsg *err, const char *why, struct str text, size_t at)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
        }
    }
    errmsg_set(err, "%s (line %zu, column %zu)", why, line, column);
}

const struct json_value *
json_read(struct pool *pool, struct str text, struct errmsg *err)
{
    struct reading r = { .pool = pool, .name = STR_NONE };

    size_t at;

    r.why = wrong_text(text, &at);
    if (r.why == NULL && parse(&r, text, &at)) {
        return r.root;
    }
    if (r.why == NULL && at == text.len) {
        r.why = "not valid JSON: it ends too early";
    }
    tell_place(err, r.why != NULL ? r.why : "not valid JSON", text, at);
    return NULL;
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
