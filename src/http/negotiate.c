/*
 * Which form of a resource a client gets (RFC 9110, 12.5.1).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/accept.h"
#include "http/exchange.h"

/* Takes prefix off s, in any case. */
static bool
take(struct str *s, struct str prefix)
{
    if (!str_eq_nocase(str_first(*s, prefix.len), prefix)) {
        return false;
    }
    *s = str_skip(*s, prefix.len);
    return true;
}

/* Whose media types name which version: those of the layer of versions that
 * chose by Accept, whatever layers chose within it.  False: none did. */
static bool
find_vendor(const struct http_request *r, struct str *vendor,
            struct str *version)
{
    *vendor = r->api_vendor;
    *version = r->api_version;
    for (const struct http_api *a = r->api; vendor->len == 0 && a != NULL;
         a = a->outer) {
        if (a->by == HTTP_API_ACCEPT) {
            *vendor = a->vendor;
            *version = a->version;
        }
    }
    return vendor->len > 0;
}

/* How a member names a format. */
struct naming {
    enum http_closeness by;
    bool whole; /* it says this format, and not: in any */
};

/* Members with a higher rank say more of a format: those that name it before
 * those that leave it open, and among these a version is no more than its
 * vendor. */
static int
rank_of(struct naming n)
{
    if (n.whole) {
        return HTTP_BY_VERSION + 1 + (int)n.by;
    }
    return n.by < HTTP_BY_VENDOR ? (int)n.by : HTTP_BY_VENDOR;
}

/* Whether it is one of the vendor's media types, of the version that was
 * chosen or of none. */
static bool
names_vendor(const struct http_request *r, struct str minor,
             const struct http_format *f, struct naming *n)
{
    struct str vendor, chosen;

    if (!find_vendor(r, &vendor, &chosen) || !take(&minor, STR("vnd.")) ||
        !take(&minor, vendor)) {
        return false;
    }
    n->by = HTTP_BY_VENDOR;
    if (take(&minor, STR("-"))) {
        n->by = HTTP_BY_VERSION;
        if (!take(&minor, chosen)) {
            return false;
        }
    }
    n->whole = minor.len > 0 && !str_eq(minor, STR("+*"));
    return !n->whole ||
           (take(&minor, STR("+")) && str_eq_nocase(minor, str_from(f->name)));
}

static bool
names(const struct http_request *r, const struct http_media *range,
      const struct http_format *f, struct naming *n)
{
    struct str type = str_from(f->type), major = str_cut(&type, '/');
    struct str minor = http_media_minor(range);

    if (str_eq(range->name, STR("*/*"))) {
        *n = (struct naming){ HTTP_BY_ANY, false };
        return true;
    }
    if (str_eq_nocase(http_media_major(range), STR("application")) &&
        names_vendor(r, minor, f, n)) {
        return true;
    }
    if (!str_eq_nocase(http_media_major(range), major)) {
        return false;
    }
    n->whole = str_eq_nocase(minor, type);
    n->by = n->whole ? HTTP_BY_TYPE : HTTP_BY_MAJOR;
    return n->whole || str_eq(minor, STR("*"));
}

/* What the members of Accept say about a format. */
struct verdict {
    int rank;                      /* of the one that decides; -1: none */
    int quality;                   /* of that */
    int most[HTTP_BY_VERSION + 1]; /* the highest of each closeness */
};

/* The member with the highest rank decides; of several, the one that wishes
 * most. */
static struct verdict
judge_format(const struct http_request *r, const struct http_format *f)
{
    struct verdict v = { .rank = -1 };

    for (const struct http_media *m = http_accept_members(r); m != NULL;
         m = m->next) {
        struct naming n;
        int rank;

        if (!names(r, m, f, &n)) {
            continue;
        }
        rank = rank_of(n);
        if (rank > v.rank || (rank == v.rank && m->quality > v.quality)) {
            v.rank = rank;
            v.quality = m->quality;
        }
        if (m->quality > v.most[n.by]) {
            v.most[n.by] = m->quality;
        }
    }
    return v;
}

/* A member that does not decide may name the version more closely than the one
 * that does.  It counts for the version when it wishes as much. */
static struct http_wish
wish_of(const struct verdict *v)
{
    struct http_wish w = { v->quality, HTTP_BY_VERSION };

    while (w.by > HTTP_BY_ANY && v->most[w.by] < v->quality) {
        w.by--;
    }
    return w;
}

static bool
is_more(struct http_wish a, struct http_wish b)
{
    return a.quality > b.quality ||
           (a.quality == b.quality && a.quality > 0 && a.by > b.by);
}

static struct http_liking
judge(const struct http_request *r, const struct http_format *formats)
{
    struct http_liking l = { .best = { 0, HTTP_BY_ANY }, .place = -1 };

    for (int i = 0; formats[i].name != NULL; i++) {
        struct verdict v = judge_format(r, &formats[i]);
        struct http_wish w = wish_of(&v);

        if (w.quality > l.best.quality) {
            l.place = i;
        }
        if (is_more(w, l.best)) {
            l.best = w;
        }
        if (i == 0) {
            l.first = w.quality;
        }
    }
    return l;
}

/* Judges them once for each level of the walk: whether the layer fits, and
 * which format its handler takes then.  A client without an Accept welcomes
 * anything. */
static const struct http_liking *
liking_of(const struct http_request *r, const struct http_format *formats)
{
    struct exchange *x = exchange_of(r);
    struct http_liking *l = &x->liking;

    if (l->formats == formats && l->level == x->level) {
        return l;
    }
    if (http_accept_members(r) == NULL) {
        *l = (struct http_liking){ .best = { 1000, HTTP_BY_VERSION },
                                   .first = 1000 };
    } else {
        *l = judge(r, formats);
    }
    l->formats = formats;
    l->level = x->level;
    return l;
}

struct http_wish
http_best_wish(const struct http_request *r, const struct http_format *formats)
{
    return liking_of(r, formats)->best;
}

/* How much a member names pages; 0: none does. */
static int
wish_for_pages(const struct http_request *r)
{
    int most = 0;

    for (const struct http_media *m = http_accept_members(r); m != NULL;
         m = m->next) {
        if (m->quality > most && str_eq_nocase(m->name, STR("text/html"))) {
            most = m->quality;
        }
    }
    return most;
}

static bool
has_pages(const struct http_format *formats)
{
    for (int i = 0; formats[i].name != NULL; i++) {
        if (str_eq(str_from(formats[i].type), STR("text/html"))) {
            return true;
        }
    }
    return false;
}

int
http_choose_format(struct http_request *r, const struct http_format *formats)
{
    const struct http_liking *l = liking_of(r, formats);

    http_vary(r, STR("Accept"));
    /* A browser that would rather have a page names XML before "all types",
     * which nobody who looks at an address with it has asked for. */
    if (l->place > 0 && l->first > 0 && r->api_format.len == 0 &&
        !has_pages(formats)) {
        int pages = wish_for_pages(r);

        return pages > 0 && pages >= l->best.quality ? 0 : l->place;
    }
    return l->place;
}

struct str
http_vendor_type(struct http_request *r, const struct http_format *format)
{
    const struct naming whole = { HTTP_BY_VERSION, true };
    struct str vendor, version;
    struct verdict v;

    if (!find_vendor(r, &vendor, &version)) {
        return STR_NONE;
    }
    v = judge_format(r, format);
    if (v.rank != rank_of(whole) || v.quality == 0) {
        return STR_NONE;
    }
    return pool_printf(r->pool, "application/vnd.%.*s-%.*s+%s",
                       STR_ARGS(vendor), STR_ARGS(version), format->name);
}
