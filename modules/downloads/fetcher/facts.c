/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/facts.h"

#include <stdio.h>

#include "fetcher/place.h"

#define NAME_BYTES 4096
#define ENDING STR(".%(ext)s")

static struct str without_ending(struct str template)
{
    return str_ends(template, ENDING)
               ? str_first(template, template.len - ENDING.len)
               : template;
}

/* As many digits as the whole list needs. */
static struct str
index_text(struct pool *p, const struct extracted *x, int64_t index)
{
    char most[24];
    int digits = snprintf(most, sizeof(most), "%zu", x->count + x->left_out);

    return pool_printf(p, "%0*lld", digits, (long long)index);
}

/* The name of its file.  A list has names of its own, without the prefix. */
static int
fill_name(struct pool *p, const struct facts_source *from,
          const struct extracted_item *i, struct buf *to, struct errmsg *err)
{
    const struct extracted *x = from->found;
    struct str prefix = from->wish->prefix;
    struct str list =
        x->playlist_title.len > 0 ? x->playlist_title : STR("playlist");
    const struct place_field fields[] = {
        { "title", i->title },
        { "id", i->id },
        { "ext", i->ext },
        { "uploader", i->uploader },
        { "playlist", list },
        { "playlist_title", list },
        { "playlist_id", x->playlist_id },
        { "playlist_index", index_text(p, x, i->index) },
        { "playlist_uploader", x->playlist_uploader },
        { "prefix", prefix },
        { NULL, STR_NONE },
    };
    struct str template = without_ending(
        x->playlist ? from->plan->playlist_template : from->plan->template);

    if (!x->playlist && prefix.len > 0) {
        template = pool_printf(p, "%%(prefix)s.%.*s", STR_ARGS(template));
    }
    return place_fill(template, fields, to, err);
}

static struct str
behind_prefix(struct pool *p, struct str prefix, struct str s)
{
    return prefix.len == 0
               ? s
               : pool_printf(p, "%.*s.%.*s", STR_ARGS(prefix), STR_ARGS(s));
}

int
facts_make(struct pool *p, const struct facts_source *from,
           const struct extracted_item *item, struct entry_facts *out,
           struct errmsg *err)
{
    const struct download_wish *w = from->wish;
    struct buf name;
    int rc;

    buf_init(&name, NAME_BYTES);
    rc = fill_name(p, from, item, &name, err);
    *out = (struct entry_facts){
        .url = item->url,
        .asked = w->url,
        .fetch = item->fetch,
        .item = item->item,
        .id = behind_prefix(p, w->prefix, item->id),
        .title = behind_prefix(p, w->prefix, item->title),
        .quality = w->quality,
        .format = w->format,
        .folder = w->folder,
        .prefix = w->prefix,
        .name = pool_str(p, buf_str(&name)),
        .note = item->note,
        .limit = w->limit,
    };
    buf_clear(&name);
    return rc;
}
