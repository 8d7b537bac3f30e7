/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "fetcher/lines.h"
#include "json/walk.h"

#define SMUGGLE STR("#__youtubedl_smuggle")

enum key { /* members that are looked at */
           KEY_OTHER,
           KEY_TYPE,
           KEY_ID,
           KEY_TITLE,
           KEY_EXT,
           KEY_URL,
           KEY_WEBPAGE_URL,
           KEY_ORIGINAL_URL,
           KEY_UPLOADER,
           KEY_LIVE_STATUS,
           KEY_RELEASE_TIMESTAMP,
           KEY_PROTOCOL,
           KEY_PLAYLIST_COUNT,
           KEY_ENTRIES,
           KEY_FORMATS,
           KEYS
};

static const char *const key_names[KEYS] = {
    [KEY_OTHER] = "",
    [KEY_TYPE] = "_type",
    [KEY_ID] = "id",
    [KEY_TITLE] = "title",
    [KEY_EXT] = "ext",
    [KEY_URL] = "url",
    [KEY_WEBPAGE_URL] = "webpage_url",
    [KEY_ORIGINAL_URL] = "original_url",
    [KEY_UPLOADER] = "uploader",
    [KEY_LIVE_STATUS] = "live_status",
    [KEY_RELEASE_TIMESTAMP] = "release_timestamp",
    [KEY_PROTOCOL] = "protocol",
    [KEY_PLAYLIST_COUNT] = "playlist_count",
    [KEY_ENTRIES] = "entries",
    [KEY_FORMATS] = "formats",
};

struct thing { /* the list, or one of it */
    struct str texts[KEYS];
    bool formats;        /* it has some */
    bool by_http;        /* one of them can be had by http */
    char protocol[32];   /* of another */
    int64_t release;     /* s since 1970; -1: unknown */
    int64_t count;       /* the list's own */
    bool flat, too_long; /* not looked into; an address is */
};

struct found {
    struct pool *pool;
    struct thing top, one;
    enum key top_key, one_key, format_key;
    bool object;                  /* the whole is one */
    bool list, in_entries;        /* it has entries; these are they */
    unsigned formats;             /* depth of the array that is read; 0: none */
    struct extracted_item *items; /* owned until the end */
    size_t count, room, seen, most;
};

/* ---- texts ---- */

struct str
found_without_smuggle(struct str url)
{
    const char *at = memmem(url.ptr, url.len, SMUGGLE.ptr, SMUGGLE.len);

    return at == NULL ? url : str_first(url, (size_t)(at - url.ptr));
}

bool
found_address(struct str url)
{
    struct str scheme = str_first(url, str_find(url, ':', 0));

    if (!str_eq_nocase(scheme, STR("http")) &&
        !str_eq_nocase(scheme, STR("https"))) {
        return false;
    }
    if (!str_starts(str_skip(url, scheme.len), STR("://")) ||
        url.len <= scheme.len + 3 || url.len > DOWNLOAD_URL_MAX ||
        !utf8_valid(url)) {
        return false;
    }
    for (size_t i = 0; i < url.len; i++) {
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static struct str
cut_text(struct str s, size_t max)
{
    return str_first(s, utf8_length(str_first(s, max)));
}

/* The last part of its path, without its ending. */
static struct str
name_of_address(struct str url)
{
    struct str path = str_first(url, str_find(url, '?', 0));
    size_t from, end;

    path = str_first(path, str_find(path, '#', 0));
    while (path.len > 0 && path.ptr[path.len - 1] == '/') {
        path.len--;
    }
    for (from = path.len; from > 0 && path.ptr[from - 1] != '/';) {
        from--;
    }
    path = str_skip(path, from);
    for (end = path.len; end > 0 && path.ptr[end - 1] != '.';) {
        end--;
    }
    return end > 1 ? str_first(path, end - 1) : path;
}

/* ---- one member ---- */

static enum key
key_of(struct str name)
{
    for (int k = KEY_OTHER + 1; k < KEYS; k++) {
        if (str_eq(name, str_from(key_names[k]))) {
            return (enum key)k;
        }
    }
    return KEY_OTHER;
}

static void
set_text(struct found *f, struct thing *t, enum key k, struct str text)
{
    bool address =
        k == KEY_URL || k == KEY_WEBPAGE_URL || k == KEY_ORIGINAL_URL;
    size_t max =
        k == KEY_TITLE || k == KEY_UPLOADER ? FOUND_TITLE_MAX : FOUND_ID_MAX;

    if (address) {
        text = found_without_smuggle(text);
        t->too_long |= text.len > DOWNLOAD_URL_MAX;
        max = DOWNLOAD_URL_MAX;
    }
    if (t->texts[k].len == 0) { /* of a member that stands twice, the first */
        t->texts[k] = pool_str(f->pool, cut_text(text, max));
    }
}

static void
set_protocol(struct thing *t, struct str protocol)
{
    static const char *const good[] = {
        "http",
        "https",
        "m3u8",
        "m3u8_native",
        "http_dash_segments",
        "ism",
        "f4m",
        "http_dash_segments_generator",
    };

    t->formats = true;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (str_eq(protocol, str_from(good[i]))) {
            t->by_http = true;
            return;
        }
    }
    str_escape(t->protocol, sizeof(t->protocol), str_first(protocol, 20));
}

static void
set_member(struct found *f, struct thing *t, enum key k,
           const struct json_step *s)
{
    if (k == KEY_OTHER || k == KEY_ENTRIES) {
        return;
    }
    if (s->kind == JSON_NUMBER && k == KEY_RELEASE_TIMESTAMP) {
        t->release = line_number(s->text);
    } else if (s->kind == JSON_NUMBER && k == KEY_PLAYLIST_COUNT) {
        t->count = line_number(s->text);
    } else if (s->kind == JSON_STRING && k == KEY_PROTOCOL) {
        set_protocol(t, s->text);
    } else if (s->kind == JSON_STRING ||
               (s->kind == JSON_NUMBER && k == KEY_ID)) {
        set_text(f, t, k, s->text);
    } else if (s->kind == JSON_ARRAY && k == KEY_FORMATS) {
        f->formats = s->depth;
    }
}

static void
begin_thing(struct thing *t)
{
    memset(t, 0, sizeof(*t));
    t->release = t->count = -1;
}

/* ---- items ---- */

static struct str
say_note(struct pool *p, const struct thing *t)
{
    time_t when = (time_t)t->release;
    char text[40];
    struct tm tm;

    if (!str_eq(t->texts[KEY_LIVE_STATUS], STR("is_upcoming")) ||
        t->release < 0 || gmtime_r(&when, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S +0000", &tm) == 0) {
        return STR_NONE;
    }
    return pool_printf(p, "Live stream is scheduled to start at %s", text);
}

static struct str
say_refusal(struct pool *p, const struct thing *t, struct str url)
{
    char shown[200];

    str_escape(shown, sizeof(shown), str_first(url, 150));
    if (t->too_long) {
        return pool_printf(p,
                           "The engine names an address of more than %d "
                           "bytes.",
                           DOWNLOAD_URL_MAX);
    }
    if (url.len == 0) {
        return STR("The engine names no address.");
    }
    if (!found_address(url)) {
        return pool_printf(p,
                           "The engine names the address \"%s\"; only http "
                           "and https are allowed.",
                           shown);
    }
    if (t->formats && !t->by_http) {
        return pool_printf(p,
                           "\"%s\" can only be had by %s; weir takes "
                           "http and https are allowed.",
                           shown, t->protocol);
    }
    return STR_NONE;
}

static struct str
address_of(const struct thing *t)
{
    if (t->texts[KEY_WEBPAGE_URL].len > 0) {
        return t->texts[KEY_WEBPAGE_URL];
    }
    return t->texts[t->texts[KEY_URL].len > 0 ? KEY_URL : KEY_ORIGINAL_URL];
}

static struct str
or_text(struct str a, struct str b)
{
    return a.len > 0 ? a : b;
}

static void
fill_item(struct pool *p, const struct thing *t, struct extracted_item *i)
{
    struct str name;

    memset(i, 0, sizeof(*i));
    i->url = i->fetch = or_text(address_of(t), STR_NONE);
    name = pool_str(p, cut_text(name_of_address(i->url), FOUND_ID_MAX));
    i->id = or_text(or_text(t->texts[KEY_ID], name), STR("download"));
    i->title = or_text(t->texts[KEY_TITLE], i->id);
    i->ext = or_text(t->texts[KEY_EXT], STR_NONE);
    i->uploader = or_text(t->texts[KEY_UPLOADER], STR_NONE);
    i->note = say_note(p, t);
    i->msg = say_refusal(p, t, i->url);
}

static bool
is_flat(const struct thing *t)
{
    return str_starts(or_text(t->texts[KEY_TYPE], STR_NONE), STR("url"));
}

/* The end of one of the list. */
static void
add_item(struct found *f)
{
    struct extracted_item *i;

    if (f->count == f->most) {
        return;
    }
    if (f->count == f->room) {
        f->room = f->room == 0 ? 16 : 2 * f->room;
        f->items = mem_resize(f->items, f->room * sizeof(*f->items));
    }
    i = &f->items[f->count++];
    fill_item(f->pool, &f->one, i);
    i->index = (int64_t)f->seen;
    i->item = is_flat(&f->one) ? 0 : i->index; /* for now */
}

/* ---- the walk ---- */

static void
on_name(struct found *f, const struct json_step *s)
{
    if (f->formats > 0) {
        if (s->depth == f->formats + 2) {
            f->format_key = key_of(s->text);
        }
    } else if (s->depth == 1) {
        f->top_key = key_of(s->text);
    } else if (f->in_entries && s->depth == 3) {
        f->one_key = key_of(s->text);
    }
}

static void
on_value(struct found *f, const struct json_step *s)
{
    if (f->formats > 0) {
        if (s->depth == f->formats + 2 && f->format_key == KEY_PROTOCOL &&
            s->kind == JSON_STRING) {
            set_protocol(f->in_entries ? &f->one : &f->top, s->text);
        }
    } else if (s->depth == 0) {
        f->object = s->kind == JSON_OBJECT;
    } else if (s->depth == 1) {
        f->in_entries = s->kind == JSON_ARRAY && f->top_key == KEY_ENTRIES;
        f->list |= f->in_entries;
        set_member(f, &f->top, f->top_key, s);
    } else if (f->in_entries && s->depth == 2) {
        f->seen++;
        begin_thing(&f->one);
    } else if (f->in_entries && s->depth == 3) {
        set_member(f, &f->one, f->one_key, s);
    }
}

static void
on_end(struct found *f, const struct json_step *s)
{
    if (f->formats > 0) {
        f->formats = s->depth == f->formats ? 0 : f->formats;
    } else if (f->in_entries && s->depth == 2 && s->kind == JSON_OBJECT) {
        add_item(f);
    } else if (s->depth == 1) {
        f->in_entries = false;
    }
}

static bool
on_step(void *arg, const struct json_step *s)
{
    struct found *f = arg;

    if (s->is == JSON_STEP_NAME) {
        on_name(f, s);
    } else if (s->is == JSON_STEP_VALUE) {
        on_value(f, s);
    } else {
        on_end(f, s);
    }
    return true;
}

/* ---- items of one address ---- */

static int
compare_items(const void *a, const void *b)
{
    const struct extracted_item *x = a, *y = b;
    int by_url = str_compare(x->url, y->url);

    return by_url != 0 ? by_url : (x->index > y->index) - (x->index < y->index);
}

static int
compare_places(const void *a, const void *b)
{
    const struct extracted_item *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* Those from i on that have the address of the first. */
static size_t
count_alike(const struct found *f, size_t i)
{
    size_t n = 1;

    while (i + n < f->count && str_eq(f->items[i].url, f->items[i + n].url)) {
        n++;
    }
    return n;
}

/* Of the list, those included that were not asked for. */
static size_t
whole_count(const struct found *f)
{
    return f->top.count > (int64_t)f->seen ? (size_t)f->top.count : f->seen;
}

/* Several of one page are told apart by their places on it; one that stands in
 * a list twice is one. */
static void
tell_apart(struct found *f, struct extracted_item *items, size_t n)
{
    bool page = whole_count(f) > 1 &&
                str_eq(items[0].url, or_text(address_of(&f->top), STR_NONE));

    for (size_t i = 0; i < n; i++) {
        if ((n > 1 || page) && items[i].item > 0 && items[i].msg.len == 0) {
            items[i].url =
                pool_printf(f->pool, "%.*s#%lld", STR_ARGS(items[i].fetch),
                            (long long)items[i].item);
        } else {
            items[i].item = 0;
        }
        if (i > 0 && items[i].item == 0 && items[i].msg.len == 0) {
            items[i].index = 0; /* it goes */
        }
    }
}

static void
make_unique(struct found *f)
{
    size_t kept = 0;

    if (f->count == 0) {
        return;
    }
    qsort(f->items, f->count, sizeof(*f->items), compare_items);
    for (size_t i = 0, n; i < f->count; i += n) {
        n = count_alike(f, i);
        tell_apart(f, &f->items[i], n);
    }
    qsort(f->items, f->count, sizeof(*f->items), compare_places);
    while (kept < f->count && f->items[kept].index == 0) {
        kept++;
    }
    f->count -= kept;
    memmove(f->items, f->items + kept, f->count * sizeof(*f->items));
}

/* ---- all of it ---- */

static void
take_list(struct found *f, struct extracted *x)
{
    size_t whole = whole_count(f);

    x->left_out = whole > f->most ? whole - f->most : 0;
    make_unique(f);
    x->playlist = true;
    x->playlist_id = or_text(f->top.texts[KEY_ID], STR_NONE);
    x->playlist_title = or_text(f->top.texts[KEY_TITLE], x->playlist_id);
    x->playlist_uploader = or_text(f->top.texts[KEY_UPLOADER], STR_NONE);
}

static void
take_one(struct found *f, struct extracted *x)
{
    f->items = mem_zero(sizeof(*f->items));
    f->count = 1;
    fill_item(f->pool, &f->top, f->items);
    if (f->items->msg.len > 0) {
        x->ok = false;
        x->msg = f->items->msg;
    }
}

void
found_read(struct pool *p, struct str json, struct str error, int64_t limit,
           struct extracted *x)
{
    struct found f = { .pool = p };
    struct extracted_item *copy;

    f.most = limit > 0 && limit < EXTRACT_ITEMS ? (size_t)limit : EXTRACT_ITEMS;
    begin_thing(&f.top);
    begin_thing(&f.one);
    x->ok = json_walk(json, on_step, &f) == 0 && f.object;
    if (x->ok) {
        (f.list ? take_list : take_one)(&f, x);
    } else {
        x->msg = pool_str(p, or_text(error, STR("The engine found nothing that "
                                                "it could download there.")));
    }
    copy = pool_alloc(p, (f.count + 1) * sizeof(*copy));
    if (f.count > 0) {
        memcpy(copy, f.items, f.count * sizeof(*copy));
    }
    x->items = copy;
    x->count = x->ok ? f.count : 0;
    mem_free(&f.items);
}
