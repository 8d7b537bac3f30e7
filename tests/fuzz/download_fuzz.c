/*
 * Fuzz target: what clients of downloads send, and the bytes of it between
 * processes.
 *
 * The first byte says which.  A wish that is taken keeps the rules of
 * request.h; packed for the fetcher, it is unpacked as the same.  One that is
 * refused says why in UTF-8.
 *
 * covers: modules/downloads/request.c modules/downloads/request_wire.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/downloads/request.h"
#include "base/utf8.h"
#include "json/read.h"

enum { AS_WISH, AS_TEXTS, AS_DELETE, AS_START, AS_BYTES, WAYS };

static bool
has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

/* Whether a part of it begins so. */
static bool
has_part(struct str s, struct str begin)
{
    while (s.len > 0) {
        if (str_starts(str_cut(&s, '/'), begin)) {
            return true;
        }
    }
    return false;
}

static void
look_at_rules(const struct download_wish *w)
{
    struct str scheme = str_first(w->url, str_find(w->url, ':', 0));

    require(str_eq_nocase(scheme, STR("http")) ||
            str_eq_nocase(scheme, STR("https")));
    require(w->url.len <= DOWNLOAD_URL_MAX && !has_control(w->url));
    require(w->quality.len <= DOWNLOAD_WORD_MAX && !has_control(w->quality));
    require(w->format.len <= DOWNLOAD_WORD_MAX && !has_control(w->format));
    require(w->folder.len <= DOWNLOAD_FOLDER_MAX && !has_control(w->folder));
    require(w->prefix.len <= DOWNLOAD_WORD_MAX && !has_control(w->prefix));
    require(!str_starts(w->folder, STR("/")) && !has_part(w->folder, STR(".")));
    require(!str_starts(w->prefix, STR("/")));
    require(w->strict >= -1 && w->strict <= 1);
    require(w->limit >= -1 && w->limit <= DOWNLOAD_LIMIT_MAX);
}

static void
pack_wish(struct download_wish *w)
{
    struct download_wish again;
    struct buf b;

    look_at_rules(w);
    require(utf8_valid(w->url) && utf8_valid(w->folder));
    w->instance = STR("main");
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    download_wish_pack(w, &b);
    require(download_wish_unpack(buf_str(&b), &again) == 0);
    require(str_eq(again.url, w->url) && str_eq(again.quality, w->quality));
    require(str_eq(again.format, w->format) && str_eq(again.folder, w->folder));
    require(str_eq(again.prefix, w->prefix) && again.strict == w->strict);
    require(again.limit == w->limit && again.auto_start == w->auto_start);
    buf_clear(&b);
}

static bool
is_among(const struct str *ids, size_t count, struct str id)
{
    while (count > 0 && !str_eq(ids[count - 1], id)) {
        count--;
    }
    return count > 0;
}

/* Each comes out once, in order. */
static void
pack_ids(struct pool *pool, struct download_ids *i)
{
    struct download_ids again;
    size_t next = 0;
    struct buf b;

    require(i->count > 0 && i->count <= DOWNLOAD_IDS_MAX);
    i->instance = STR("main");
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    download_ids_pack(i, &b);
    require(download_ids_unpack(pool, buf_str(&b), &again) == 0);
    require(again.done == i->done);
    for (size_t n = 0; n < i->count; n++) {
        if (!is_among(again.ids, next, i->ids[n])) {
            require(next < again.count);
            require(str_eq(again.ids[next++], i->ids[n]));
        }
    }
    require(next == again.count);
    buf_clear(&b);
}

/* Of another process, which may send anything. */
static void
unpack(struct pool *pool, struct str bytes)
{
    struct downloads_answer a;
    struct download_wish w;
    struct download_ids i;
    struct str body;

    if (download_wish_unpack(bytes, &w) == 0) {
        look_at_rules(&w);
    }
    if (download_ids_unpack(pool, bytes, &i) == 0) {
        require(i.count > 0 && i.count <= DOWNLOAD_IDS_MAX);
    }
    if (downloads_answer_unpack(bytes, &a, &body) == 0) {
        require(a.status >= 200 && a.status <= 599 && body.len <= bytes.len);
    }
}

static void
parse(struct pool *pool, unsigned how, struct str input)
{
    struct download_wish w;
    struct download_ids i;
    struct errmsg err = { .text = "" };
    bool bad;

    if (how == AS_WISH || how == AS_TEXTS) {
        bad = download_wish_parse(json_reader_whole(pool, input),
                                  how == AS_TEXTS, &w, &err) == -1;
        if (!bad) {
            pack_wish(&w);
        }
    } else {
        bad = download_ids_parse(pool, json_reader_whole(pool, input),
                                 how == AS_DELETE, &i, &err) == -1;
        if (!bad) {
            pack_ids(pool, &i);
        }
    }
    require(!bad || (err.text[0] != '\0' && utf8_valid(str_from(err.text))));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    unsigned how = take_byte(&input) % WAYS;
    struct pool *pool = pool_new(1024);

    if (how == AS_BYTES) {
        unpack(pool, input);
    } else {
        parse(pool, how, str_first(input, DOWNLOADS_BODY_MAX));
    }
    pool_free(&pool);
    return 0;
}
