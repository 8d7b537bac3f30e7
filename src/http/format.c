/*
 * Which form of a resource a client gets (RFC 9110, 12.5.1).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/accept.h"

/* How closely a member names a format, from a whole vendor type down. */
enum closeness {
    CLOSE_NOT,
    CLOSE_ANY,     /* * / * */
    CLOSE_MAJOR,   /* application / * */
    CLOSE_VENDOR,  /* application/vnd.acme, -v2: in whatever form */
    CLOSE_TYPE,    /* application/json */
    CLOSE_FORMAT,  /* application/vnd.acme+json */
    CLOSE_VERSION, /* application/vnd.acme-v2+json */
};

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

/* The same for the vendor's media types, of the version that was chosen. */
static enum closeness
vendor_closeness(const struct http_request *r, struct str minor,
                 const struct http_format *f, enum http_closeness *by)
{
    struct str vendor, chosen;
    bool version;

    *by = HTTP_BY_TYPE; /* if it is one */
    if (!find_vendor(r, &vendor, &chosen) || !take(&minor, STR("vnd.")) ||
        !take(&minor, vendor)) {
        return CLOSE_NOT;
    }
    version = take(&minor, STR("-"));
    if (version && !take(&minor, chosen)) {
        return CLOSE_NOT;
    }
    *by = version ? HTTP_BY_VERSION : HTTP_BY_VENDOR;
    if (minor.len == 0 || str_eq(minor, STR("+*"))) {
        return CLOSE_VENDOR;
    }
    if (!take(&minor, STR("+")) || !str_eq_nocase(minor, str_from(f->name))) {
        return CLOSE_NOT;
    }
    return version ? CLOSE_VERSION : CLOSE_FORMAT;
}

static enum closeness
closeness(const struct http_request *r, const struct http_media *range,
          const struct http_format *f, enum http_closeness *by)
{
    struct str minor = str_from(f->type), major = str_cut(&minor, '/');
    enum closeness close = CLOSE_NOT;

    *by = HTTP_BY_ANY;
    if (str_eq(range->name, STR("*/*"))) {
        return CLOSE_ANY;
    }
    *by = HTTP_BY_TYPE;
    if (str_eq_nocase(range->major, STR("application"))) {
        close = vendor_closeness(r, range->minor, f, by);
    }
    if (close != CLOSE_NOT || !str_eq_nocase(range->major, major)) {
        return close;
    }
    if (str_eq_nocase(range->minor, minor)) {
        return CLOSE_TYPE;
    }
    *by = HTTP_BY_MAJOR;
    return str_eq(range->minor, STR("*")) ? CLOSE_MAJOR : CLOSE_NOT;
}

/* What the members of Accept say about a format. */
struct wish {
    enum closeness close;
    int quality;                   /* of the closest */
    int most[HTTP_BY_VERSION + 1]; /* the highest of each kind */
};

static void
add_wishes(const struct http_request *r, const struct http_format *f,
           struct str list, struct wish *w)
{
    struct http_media range;

    while (http_media_next(&list, &range)) {
        enum http_closeness by;
        enum closeness close = closeness(r, &range, f, &by);

        if (close == CLOSE_NOT) {
            continue;
        }
        if (close > w->close ||
            (close == w->close && range.quality > w->quality)) {
            w->close = close;
            w->quality = range.quality;
        }
        if (range.quality > w->most[by]) {
            w->most[by] = range.quality;
        }
    }
}

/* The closest member counts; of several as close, the one with the highest
 * quality.  A client without an Accept header accepts every format.  When
 * another member of the same quality names a version, it counts for the
 * version. */
static struct http_wish
wish(const struct http_request *r, const struct http_format *f)
{
    struct wish w = { .close = CLOSE_NOT };
    struct http_wish best = { 0, HTTP_BY_VERSION };

    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, STR("Accept"))) {
            add_wishes(r, f, r->headers[i].value, &w);
        }
    }
    best.quality = w.quality;
    while (best.by > HTTP_BY_ANY && w.most[best.by] < w.quality) {
        best.by--;
    }
    return best;
}

static bool
says_anything(const struct http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct str list = r->headers[i].value;
        struct http_media range;

        if (str_eq_nocase(r->headers[i].name, STR("Accept")) &&
            http_media_next(&list, &range)) {
            return true;
        }
    }
    return false;
}

static bool
is_more(struct http_wish a, struct http_wish b)
{
    return a.quality > b.quality ||
           (a.quality == b.quality && a.quality > 0 && a.by > b.by);
}

struct http_wish
http_best_wish(const struct http_request *r, const struct http_format *formats)
{
    struct http_wish best = { 0, HTTP_BY_ANY };

    if (!says_anything(r)) {
        return (struct http_wish){ 1000, HTTP_BY_VERSION };
    }
    for (int i = 0; formats[i].name != NULL; i++) {
        struct http_wish w = wish(r, &formats[i]);

        best = is_more(w, best) ? w : best;
    }
    return best;
}

/* How much a member names pages; 0: none does. */
static int
wish_for_pages(const struct http_request *r)
{
    int most = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        struct str list = r->headers[i].value;
        struct http_media range;

        while (str_eq_nocase(r->headers[i].name, STR("Accept")) &&
               http_media_next(&list, &range)) {
            if (str_eq_nocase(range.name, STR("text/html")) &&
                range.quality > most) {
                most = range.quality;
            }
        }
    }
    return most;
}

/* A browser that would rather have a page names XML before "all types", which
 * nobody who looks at an address with it has asked for. */
static int
choose_for_browser(const struct http_request *r,
                   const struct http_format *formats, int chosen, int most)
{
    int pages = 0;

    for (int i = 0; formats[i].name != NULL; i++) {
        if (str_eq(str_from(formats[i].type), STR("text/html"))) {
            return chosen;
        }
    }
    if (chosen > 0 && r->api_format.len == 0) {
        pages = wish_for_pages(r);
    }
    return pages >= most && pages > 0 && wish(r, &formats[0]).quality > 0
               ? 0
               : chosen;
}

int
http_choose_format(struct http_request *r, const struct http_format *formats)
{
    int chosen = -1, most = 0;

    http_vary(r, STR("Accept"));
    if (!says_anything(r)) {
        return 0;
    }
    for (int i = 0; formats[i].name != NULL; i++) {
        int quality = wish(r, &formats[i]).quality;

        if (quality > most) {
            most = quality;
            chosen = i;
        }
    }
    return choose_for_browser(r, formats, chosen, most);
}

struct str
http_vendor_type(struct http_request *r, const struct http_format *format)
{
    struct wish w = { .close = CLOSE_NOT };
    struct str vendor, version;

    if (!find_vendor(r, &vendor, &version)) {
        return STR_NONE;
    }
    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, STR("Accept"))) {
            add_wishes(r, format, r->headers[i].value, &w);
        }
    }
    if (w.close != CLOSE_VERSION || w.quality == 0) {
        return STR_NONE;
    }
    return pool_printf(r->pool, "application/vnd.%.*s-%.*s+%s",
                       STR_ARGS(vendor), STR_ARGS(version), format->name);
}
