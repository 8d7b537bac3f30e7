/*
 * yajl's events told one by one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "json/walk.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/mem.h"
#include "base/utf8.h"

#define SMALL ((size_t)64 << 10) /* bytes that are taken as they are needed */
#define SPARES 2 /* yajl decodes a string in one, keeps a text's end in one */

struct walk {
    yajl_handle handle;
    json_on_step *on_step;
    void *arg;
    unsigned depth;
    bool complete;  /* the outermost value has begun */
    bool finishing; /* the whole text was read */
    size_t len;     /* of the text */
    size_t end;     /* of the outermost value */
    size_t spare_size;
    struct {
        char *bytes; /* owned; NULL: the text is short */
        bool used;
    } spare[SPARES];
};

static bool
is_spare(const struct walk *w, const void *p)
{
    return p != NULL && (p == w->spare[0].bytes || p == w->spare[1].bytes);
}

static void *
walk_alloc(void *unused, size_t n)
{
    (void)unused;
    return mem_alloc(n);
}

/* yajl cannot be told that there is no memory: what a long string takes was
 * set aside before it began. */
static void *
walk_resize(void *arg, void *p, size_t n)
{
    struct walk *w = arg;

    if (n <= SMALL) {
        return mem_resize(p, n);
    }
    if (is_spare(w, p)) {
        return p;
    }
    for (size_t i = 0; i < SPARES; i++) {
        if (!w->spare[i].used && n <= w->spare_size) {
            w->spare[i].used = true;
            p = mem_resize(p, SMALL);
            memcpy(w->spare[i].bytes, p, SMALL);
            mem_free_raw(p);
            return w->spare[i].bytes;
        }
    }
    return mem_resize(p, n);
}

static void
walk_free(void *arg, void *p)
{
    if (!is_spare(arg, p)) {
        mem_free_raw(p);
    }
}

/* -1: memory is out. */
static int
set_aside(struct walk *w)
{
    w->spare_size = 2 * (w->len + 1);
    for (size_t i = 0; w->spare_size > SMALL && i < SPARES; i++) {
        w->spare[i].bytes = try_alloc(w->spare_size);
        if (w->spare[i].bytes == NULL) {
            return -1;
        }
    }
    return 0;
}

static void
free_spares(struct walk *w)
{
    for (size_t i = 0; i < SPARES; i++) {
        mem_free(&w->spare[i].bytes);
    }
}

static int
tell(struct walk *w, struct json_step *s)
{
    w->complete = true;
    s->depth = w->depth;
    s->end = w->finishing ? w->len : yajl_get_bytes_consumed(w->handle);
    if (w->depth == 0) {
        w->end = s->end;
    }
    return w->on_step == NULL || w->on_step(w->arg, s);
}

static int
on_null(void *arg)
{
    struct json_step s = { .kind = JSON_NULL, .text = STR_NONE };

    return tell(arg, &s);
}

static int
on_bool(void *arg, int truth)
{
    struct json_step s = { .kind = JSON_BOOL, .text = STR_NONE };

    s.truth = truth != 0;
    return tell(arg, &s);
}

static int
on_number(void *arg, const char *text, size_t n)
{
    struct json_step s = { .kind = JSON_NUMBER, .text = str_of(text, n) };

    return tell(arg, &s);
}

static int
on_string(void *arg, const unsigned char *text, size_t n)
{
    struct json_step s = { .kind = JSON_STRING, .text = str_of(text, n) };

    return tell(arg, &s);
}

static int
on_name(void *arg, const unsigned char *text, size_t n)
{
    struct json_step s = { .is = JSON_STEP_NAME, .text = str_of(text, n) };

    return tell(arg, &s);
}

static int
begin(struct walk *w, enum json_kind kind)
{
    struct json_step s = { .kind = kind, .text = STR_NONE };

    if (w->depth == JSON_WALK_DEPTH || !tell(w, &s)) {
        return 0;
    }
    w->depth++;
    return 1;
}

static int
end(struct walk *w, enum json_kind kind)
{
    struct json_step s = { JSON_STEP_END, kind, .text = STR_NONE };

    w->depth--;
    return tell(w, &s);
}

static int
on_array(void *arg)
{
    return begin(arg, JSON_ARRAY);
}

static int
on_array_end(void *arg)
{
    return end(arg, JSON_ARRAY);
}

static int
on_object(void *arg)
{
    return begin(arg, JSON_OBJECT);
}

static int
on_object_end(void *arg)
{
    return end(arg, JSON_OBJECT);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_name,
    .yajl_end_map = on_object_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* yajl takes the beginning of a text behind the value for nothing. */
static bool
ends_there(const struct walk *w, struct str text)
{
    size_t i = w->end;

    while (i < text.len && memchr(" \t\r\n", text.ptr[i], 4) != NULL) {
        i++;
    }
    return i == text.len;
}

static bool
parse(struct walk *w, struct str text)
{
    yajl_alloc_funcs memory = { walk_alloc, walk_resize, walk_free, w };
    bool good;

    w->handle = yajl_alloc(&callbacks, &memory, w);
    yajl_config(w->handle, yajl_dont_validate_strings, 1);
    good = yajl_parse(w->handle, (const unsigned char *)text.ptr, text.len) ==
           yajl_status_ok;
    w->finishing = true;
    good = good && yajl_complete_parse(w->handle) == yajl_status_ok &&
           w->complete && ends_there(w, text);
    yajl_free(w->handle);
    return good;
}

int
json_walk(struct str text, json_on_step *on_step, void *arg)
{
    struct walk w = { .on_step = on_step, .arg = arg, .len = text.len };
    /* yajl lets some of it pass. */
    bool good = utf8_valid(text) && json_wrong_space(text) == text.len;

    good = good && set_aside(&w) == 0 && parse(&w, text);
    free_spares(&w);
    return good ? 0 : -1;
}
