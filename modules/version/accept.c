/*
 * Members of Accept, as marks on what is served.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "accept.h"

#include "http/accept.h"

/* Of two that exclude, the one that excludes more. */
static void
set(struct mark *m, int quality, struct str format)
{
    if (quality > m->quality ||
        (quality == m->quality && quality == 0 && format.len == 0)) {
        m->quality = quality;
        m->format = format;
    }
}

/* "acme-v2" beside one vendor; false if it is no type of its. */
static bool
mark_vendor(struct marks *m, const struct version_table *t, unsigned vendor,
            struct str type, const struct mark *wish)
{
    struct str name = t->vendors[vendor];

    if (!str_eq_nocase(str_first(type, name.len), name)) {
        return false;
    }
    type = str_skip(type, name.len);
    if (type.len == 0) {
        set(&m->vendors[vendor], wish->quality, wish->format);
        return true;
    }
    for (unsigned i = 0; type.ptr[0] == '-' && i < t->name_count; i++) {
        if (t->names[i].vendor == vendor &&
            str_eq_nocase(t->names[i].version, str_skip(type, 1))) {
            set(&m->names[i], wish->quality, wish->format);
            return true;
        }
    }
    return false;
}

/* "acme-v2+json", what is behind "vnd.". */
static void
mark_vnd(struct marks *m, const struct version_table *t, struct str format,
         int quality)
{
    struct str type = str_cut(&format, '+');
    struct mark wish = { quality, format };

    if (str_eq(format, STR("*"))) {
        wish.format = STR_NONE;
    }
    for (unsigned i = 0; i < t->vendor_count; i++) {
        if (!mark_vendor(m, t, i, type, &wish) && quality > 0) {
            m->unknown[i] = true;
        }
    }
}

static void
mark(struct marks *m, const struct version_table *t,
     const struct http_media *media)
{
    struct str minor = http_media_minor(media);

    if (str_eq(media->name, STR("*/*"))) {
        set(&m->any, media->quality, STR_NONE);
    } else if (!str_eq_nocase(http_media_major(media), STR("application"))) {
        m->other |= media->quality > 0;
    } else if (str_eq_nocase(str_first(minor, 4), STR("vnd."))) {
        mark_vnd(m, t, str_skip(minor, 4), media->quality);
    } else if (str_eq_nocase(minor, STR("json"))) {
        set(&m->json, media->quality, minor);
    } else if (str_eq(minor, STR("*"))) {
        set(&m->major, media->quality, STR_NONE);
    } else {
        m->other |= media->quality > 0;
    }
}

static struct marks *
new_marks(struct pool *pool, const struct version_table *t)
{
    static const struct mark none = { -1, { "", 0 } };
    size_t count = t->vendor_count + t->name_count;
    struct marks *m = pool_alloc(pool, sizeof(*m) + count * sizeof(none) +
                                           t->vendor_count * sizeof(bool));

    m->any = m->major = m->json = none;
    m->other = false;
    m->vendors = (struct mark *)(m + 1);
    m->names = m->vendors + t->vendor_count;
    m->unknown = (bool *)(m->vendors + count);
    for (size_t i = 0; i < count; i++) {
        m->vendors[i] = none;
    }
    for (size_t i = 0; i < t->vendor_count; i++) {
        m->unknown[i] = false;
    }
    return m;
}

struct marks *
version_read_accept(const struct http_request *r, const struct version_table *t)
{
    struct marks *m = new_marks(r->pool, t);

    for (const struct http_media *media = http_accept_members(r); media != NULL;
         media = media->next) {
        mark(m, t, media);
    }
    return m;
}
