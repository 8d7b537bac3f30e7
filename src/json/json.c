/*
 * Writing JSON: yajl's generator with a buffer behind it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "json/json.h"

#include <stdio.h>
#include <yajl/yajl_gen.h>

#include "base/mem.h"
#include "base/utf8.h"

static void *
gen_alloc(void *unused, size_t n)
{
    (void)unused;
    return mem_alloc(n);
}

static void *
gen_resize(void *unused, void *p, size_t n)
{
    (void)unused;
    return mem_resize(p, n);
}

static void
gen_free(void *unused, void *p)
{
    (void)unused;
    mem_free_raw(p);
}

static void
gen_print(void *arg, const char *text, size_t len)
{
    struct json_out *o = arg;

    if (!o->failed && buf_add(o->to, text, len) == -1) {
        o->failed = true;
    }
}

static void
start(struct json_out *o, bool pretty)
{
    yajl_alloc_funcs memory = { gen_alloc, gen_resize, gen_free, NULL };

    o->gen = yajl_gen_alloc(&memory);
    yajl_gen_config(o->gen, yajl_gen_print_callback, gen_print, o);
    yajl_gen_config(o->gen, yajl_gen_beautify, pretty ? 1 : 0);
    yajl_gen_config(o->gen, yajl_gen_indent_string, "  ");
}

void
json_begin(struct json_out *o, struct buf *to, bool pretty)
{
    *o = (struct json_out){ .to = to };
    start(o, pretty);
}

void
json_begin_own(struct json_out *o, bool pretty)
{
    *o = (struct json_out){ .failed = false };
    buf_init(&o->own, SIZE_MAX / 2);
    o->to = &o->own;
    start(o, pretty);
}

int
json_end(struct json_out *o)
{
    yajl_gen_free(o->gen);
    o->gen = NULL;
    return o->complete && !o->failed ? 0 : -1;
}

int
json_end_pool(struct json_out *o, struct pool *p, struct str *text)
{
    int result = json_end(o);

    if (result == 0) {
        *text = pool_str(p, buf_str(&o->own));
    }
    buf_clear(&o->own);
    return result;
}

/* ---- order: yajl itself goes astray when it is not kept ---- */

static bool
in_object(const struct json_out *o)
{
    return o->depth > 0 && (o->objects >> (o->depth - 1) & 1) != 0;
}

/* May a value come now?  If not, all has failed. */
static bool
may_add(struct json_out *o)
{
    if (o->complete || (in_object(o) && !o->keyed)) {
        o->failed = true;
    }
    return !o->failed;
}

static void
added(struct json_out *o)
{
    o->keyed = false;
    o->complete = o->depth == 0;
}

static bool
may_open(struct json_out *o)
{
    if (o->depth == JSON_DEPTH) {
        o->failed = true;
    }
    return may_add(o);
}

static void
opened(struct json_out *o, bool object)
{
    uint64_t bit = (uint64_t)1 << o->depth;

    o->objects = object ? o->objects | bit : o->objects & ~bit;
    o->depth++;
    o->keyed = false;
}

void
json_open(struct json_out *o)
{
    if (may_open(o)) {
        yajl_gen_map_open(o->gen);
        opened(o, true);
    }
}

void
json_open_array(struct json_out *o)
{
    if (may_open(o)) {
        yajl_gen_array_open(o->gen);
        opened(o, false);
    }
}

void
json_close(struct json_out *o)
{
    if (o->depth == 0 || o->keyed) {
        o->failed = true;
    }
    if (o->failed) {
        return;
    }
    if (in_object(o)) {
        yajl_gen_map_close(o->gen);
    } else {
        yajl_gen_array_close(o->gen);
    }
    o->depth--;
    added(o);
}

/* ---- values ---- */

/* A copy of s with U+FFFD for each byte that is no UTF-8; -1: no memory. */
static int
mend(struct buf *out, struct str s)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);
        struct str one = n > 0 ? str_first(s, n) : STR("\xef\xbf\xbd");

        if (buf_add_str(out, one) == -1) {
            return -1;
        }
        s = str_skip(s, n > 0 ? n : 1);
    }
    return 0;
}

static void
write_string(struct json_out *o, struct str s)
{
    struct buf mended;

    buf_init(&mended, SIZE_MAX / 2);
    if (!utf8_valid(s)) {
        if (mend(&mended, s) == -1) {
            o->failed = true;
        }
        s = buf_str(&mended);
    }
    yajl_gen_string(o->gen, (const unsigned char *)s.ptr, s.len);
    buf_clear(&mended);
}

void
json_key(struct json_out *o, const char *key)
{
    if (!in_object(o) || o->keyed) {
        o->failed = true;
    }
    if (!o->failed) {
        write_string(o, str_from(key));
        o->keyed = true;
    }
}

void
json_str(struct json_out *o, struct str s)
{
    if (may_add(o)) {
        write_string(o, s);
        added(o);
    }
}

void
json_int(struct json_out *o, int64_t n)
{
    if (may_add(o)) {
        yajl_gen_integer(o->gen, n);
        added(o);
    }
}

void
json_thousandths(struct json_out *o, int64_t n)
{
    char text[32];
    uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    int len =
        snprintf(text, sizeof(text), "%s%llu.%03u", n < 0 ? "-" : "",
                 (unsigned long long)(size / 1000), (unsigned)(size % 1000));

    while (text[len - 1] == '0' && text[len - 2] != '.') {
        len--;
    }
    if (may_add(o)) {
        yajl_gen_number(o->gen, text, (size_t)len);
        added(o);
    }
}

void
json_bool(struct json_out *o, bool b)
{
    if (may_add(o)) {
        yajl_gen_bool(o->gen, b);
        added(o);
    }
}

void
json_null(struct json_out *o)
{
    if (may_add(o)) {
        yajl_gen_null(o->gen);
        added(o);
    }
}

void
json_put_str(struct json_out *o, const char *key, struct str s)
{
    json_key(o, key);
    json_str(o, s);
}

void
json_put_int(struct json_out *o, const char *key, int64_t n)
{
    json_key(o, key);
    json_int(o, n);
}

void
json_put_bool(struct json_out *o, const char *key, bool b)
{
    json_key(o, key);
    json_bool(o, b);
}

void
json_put_null(struct json_out *o, const char *key)
{
    json_key(o, key);
    json_null(o);
}
