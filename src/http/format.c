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

/* The same for the vendor's media types, of the version that was chosen. */
static enum closeness
vendor_closeness(const struct http_request *r, struct str minor,
                 const struct http_format *f)
{
    bool version;

    if (r->api_vendor.len == 0 || !take(&minor, STR("vnd.")) ||
        !take(&minor, r->api_vendor)) {
        return CLOSE_NOT;
    }
    version = take(&minor, STR("-"));
    if (version && !take(&minor, r->api_version)) {
        return CLOSE_NOT;
    }
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
          const struct http_format *f)
{
    struct str minor = str_from(f->type), major = str_cut(&minor, '/');
    enum closeness close = CLOSE_NOT;

    if (str_eq(range->name, STR("*/*"))) {
        return CLOSE_ANY;
    }
    if (str_eq_nocase(range->major, STR("application"))) {
        close = vendor_closeness(r, range->minor, f);
    }
    if (close != CLOSE_NOT || !str_eq_nocase(range->major, major)) {
        return close;
    }
    if (str_eq_nocase(range->minor, minor)) {
        return CLOSE_TYPE;
    }
    return str_eq(range->minor, STR("*")) ? CLOSE_MAJOR : CLOSE_NOT;
}

/* What the closest member wishes; of several as close, the most.  Anything is
 * welcome to who says nothing. */
static int
wish(const struct http_request *r, const struct http_format *f, bool *says)
{
    enum closeness best = CLOSE_NOT;
    int quality = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        struct str list = r->headers[i].value;
        struct http_media range;

        if (!str_eq_nocase(r->headers[i].name, STR("Accept"))) {
            continue;
        }
        while (http_media_next(&list, &range)) {
            enum closeness close = closeness(r, &range, f);

            *says = true;
            if (close > best || (close == best && close != CLOSE_NOT &&
                                 range.quality > quality)) {
                best = close;
                quality = range.quality;
            }
        }
    }
    return quality;
}

int
http_choose_format(struct http_request *r, const struct http_format *formats)
{
    int chosen = -1, most = 0;
    bool says = false;

    http_vary(r, STR("Accept"));
    for (int i = 0; formats[i].name != NULL; i++) {
        int quality = wish(r, &formats[i], &says);

        if (quality > most) {
            most = quality;
            chosen = i;
        }
    }
    return says ? chosen : 0;
}
