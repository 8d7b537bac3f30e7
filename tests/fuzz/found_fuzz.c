/*
 * Fuzz target: the JSON of an extraction.
 *
 * The first byte is the limit.  Whatever it says, there are no more items than
 * that, each has an address that may be kept or a reason why it has not, and no
 * text is longer than its bound.
 *
 * covers: modules/downloads/fetcher/found.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/downloads/fetcher/found.h"
#include "base/utf8.h"

static void
require_text(struct str s, size_t least, size_t most)
{
    require(s.len >= least && s.len <= most && s.ptr != NULL && utf8_valid(s));
}

static void
look_at(const struct extracted_item *i, bool list)
{
    require_text(i->id, 1, FOUND_ID_MAX);
    require_text(i->title, 1, FOUND_TITLE_MAX);
    require_text(i->ext, 0, FOUND_ID_MAX);
    require_text(i->uploader, 0, FOUND_TITLE_MAX);
    require_text(i->note, 0, 200);
    require_text(i->msg, 0, 1000);
    require(list == (i->index > 0) && i->item <= i->index);
    if (i->msg.len == 0) {
        require(found_address(i->fetch));
        require(found_without_smuggle(i->fetch).len == i->fetch.len);
        require(str_starts(i->url, i->fetch));
        require((i->item > 0) == (i->url.len > i->fetch.len));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    int64_t limit = take_byte(&input);
    struct pool *pool = pool_new(4096);
    struct extracted x = { .msg = STR_NONE };

    found_read(pool, input, STR_NONE, limit, &x);
    require(x.ok || (x.count == 0 && x.msg.len > 0));
    require(limit == 0 || x.count <= (size_t)limit);
    require(x.playlist || x.count == (x.ok ? 1 : 0));
    for (size_t i = 0; i < x.count; i++) {
        look_at(&x.items[i], x.playlist);
        require(i == 0 || x.items[i].index > x.items[i - 1].index);
    }
    if (x.ok && x.playlist) {
        require_text(x.playlist_id, 0, FOUND_ID_MAX);
        require_text(x.playlist_title, 0, FOUND_TITLE_MAX);
        require_text(x.playlist_uploader, 0, FOUND_TITLE_MAX);
    }
    pool_free(&pool);
    return 0;
}
