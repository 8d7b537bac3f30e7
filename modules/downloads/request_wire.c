/*
 * Requests and answers as they go between processes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request.h"

#include <stdlib.h>

#include "base/pack.h"

#define RETRY_MOST 86400      /* s */
#define ANSWER_MOST (1 << 30) /* bytes of a memfd */

void
download_client_pack(const struct tally_holder *client, struct buf *to)
{
    struct pack p = { .to = to };

    share_pack(&p, client);
}

struct str
download_client_unpack(struct str bytes, struct tally_holder *client)
{
    struct unpack u = { .rest = bytes };

    *client = share_unpack(&u);
    return u.bad ? STR_NONE : u.rest;
}

void
download_wish_pack(const struct download_wish *w, struct buf *to)
{
    struct pack p = { .to = to };

    pack_text(&p, w->instance);
    pack_text(&p, w->url);
    pack_text(&p, w->quality);
    pack_text(&p, w->format);
    pack_text(&p, w->folder);
    pack_text(&p, w->prefix);
    pack_int(&p, w->strict);
    pack_int(&p, w->limit);
    pack_u8(&p, w->auto_start);
}

int
download_wish_unpack(struct str bytes, struct download_wish *out)
{
    struct unpack u = { .rest = bytes };
    struct errmsg err;
    int64_t strict;

    out->instance = unpack_text(&u);
    out->url = unpack_text(&u);
    out->quality = unpack_text(&u);
    out->format = unpack_text(&u);
    out->folder = unpack_text(&u);
    out->prefix = unpack_text(&u);
    strict = unpack_int(&u);
    out->limit = unpack_int(&u);
    out->auto_start = unpack_u8(&u) != 0;
    if (!unpack_ends(&u) || out->instance.len > DOWNLOADS_NAME_MAX ||
        strict < -1 || strict > 1 || out->limit < -1 ||
        out->limit > DOWNLOAD_LIMIT_MAX) {
        return -1;
    }
    out->strict = (int)strict;
    return download_wish_check(out, &err);
}

void
download_ids_pack(const struct download_ids *i, struct buf *to)
{
    struct pack p = { .to = to };

    pack_text(&p, i->instance);
    pack_u8(&p, i->done);
    pack_int(&p, (int64_t)i->count);
    for (size_t n = 0; n < i->count; n++) {
        pack_text(&p, i->ids[n]);
    }
}

static int
compare_ids(const void *a, const void *b)
{
    const struct str *const *x = a, *const *y = b;
    int order = str_compare(**x, **y);

    return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Of equal ones the first stays: each id goes through all entries that it
 * names.  Returns how many are left. */
static size_t
drop_doubles(struct pool *p, struct str *ids, size_t count)
{
    const struct str **sorted = pool_alloc(p, (count + 1) * sizeof(*sorted));
    bool *again = pool_zero(p, count + 1);
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        sorted[i] = &ids[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_ids);
    for (size_t i = 1; i < count; i++) {
        again[sorted[i] - ids] = str_eq(*sorted[i], *sorted[i - 1]);
    }
    for (size_t i = 0; i < count; i++) {
        if (!again[i]) {
            ids[left++] = ids[i];
        }
    }
    return left;
}

int
download_ids_unpack(struct pool *p, struct str bytes, struct download_ids *out)
{
    struct unpack u = { .rest = bytes };
    struct str *ids;
    bool fits = true;

    out->instance = unpack_text(&u);
    out->done = unpack_u8(&u) != 0;
    out->count = unpack_count(&u, PACK_TEXT);
    if (u.bad || out->count == 0 || out->count > DOWNLOAD_IDS_MAX ||
        out->instance.len > DOWNLOADS_NAME_MAX) {
        return -1;
    }
    out->ids = ids = pool_alloc(p, out->count * sizeof(*ids));
    for (size_t n = 0; n < out->count; n++) {
        ids[n] = unpack_text(&u);
        fits = fits && ids[n].len <= DOWNLOAD_URL_MAX;
    }
    if (!unpack_ends(&u) || !fits) {
        return -1;
    }
    out->count = drop_doubles(p, ids, out->count);
    return 0;
}

/* ---- answers ---- */

void
downloads_answer_pack(struct buf *to, const struct downloads_answer *a,
                      struct str body)
{
    struct pack p = { .to = to };

    pack_u32(&p, a->status);
    pack_u32(&p, a->retry_after);
    pack_int(&p, (int64_t)a->length);
    pack_text(&p, body);
}

int
downloads_answer_unpack(struct str bytes, struct downloads_answer *a,
                        struct str *body)
{
    struct unpack u = { .rest = bytes };

    a->status = unpack_u32(&u);
    a->retry_after = unpack_u32(&u);
    a->length = (uint64_t)unpack_int(&u);
    *body = unpack_text(&u);
    return unpack_ends(&u) && a->status >= 200 && a->status <= 599 &&
                   a->retry_after <= RETRY_MOST && a->length <= ANSWER_MOST
               ? 0
               : -1;
}
