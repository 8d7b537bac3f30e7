/*
 * Whose pages may make a browser change something here.
 *
 * A browser sends what any page wants it to send, from its own address and
 * with what it knows of its user; it says whose page that was
 * (Sec-Fetch-Site, Origin, and Referer where it says neither).  Programs that
 * say nothing of it are no browsers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/cors.h"
#include "http/filter/filter.h"

static const char message[] = "pages of other sites may change nothing here";

/* "a" for "http://a:80": a browser leaves out what is usual. */
static struct str
without_usual_port(struct str authority, struct str scheme)
{
    struct str port =
        str_eq_nocase(scheme, STR("https")) ? STR(":443") : STR(":80");

    return str_ends(authority, port)
               ? str_first(authority, authority.len - port.len)
               : authority;
}

/* "https://HOST:PORT/..." is of this host, as the client knows it.  A page that
 * came without TLS may be anybody's: where the client uses TLS, it is of
 * another site.  Not the other way round: a proxy that speaks TLS may not say
 * so. */
static bool
is_own(const struct http_request *r, struct str url)
{
    struct str rest = url;
    struct str scheme = str_cut(&rest, ':');
    struct str authority;

    if (!str_starts(rest, STR("//"))) {
        return false; /* "null" */
    }
    if (str_eq(r->scheme, STR("https")) &&
        !str_eq_nocase(scheme, STR("https"))) {
        return false;
    }
    rest = str_skip(rest, 2);
    authority = str_first(rest, str_find(rest, '/', 0));
    return authority.len > 0 &&
           str_eq_nocase(without_usual_port(authority, scheme),
                         without_usual_port(r->host, scheme));
}

static bool
is_same_site(const struct http_request *r)
{
    const struct str *site = http_header(r, "Sec-Fetch-Site");
    const struct str *origin = http_header(r, "Origin");
    const struct str *referer = http_header(r, "Referer");
    const struct http_cors *cors = r->location->cors;

    if (origin != NULL && cors != NULL && cors_allows(cors, *origin)) {
        return true;
    }
    if (site != NULL && !str_eq(*site, STR("same-origin")) &&
        !str_eq(*site, STR("none"))) { /* "none": the user wants it */
        return false;
    }
    if (origin != NULL) {
        return is_own(r, *origin);
    }
    return site != NULL || referer == NULL || is_own(r, *referer);
}

bool
http_check_site(struct http_request *r)
{
    return is_same_site(r) ||
           http_filter_answer(exchange_of(r), REFUSE_SITE, message);
}

/* ---- in the walk ---- */

static bool
is_safe(struct str method)
{
    return str_eq(method, STR("GET")) || str_eq(method, STR("HEAD")) ||
           str_eq(method, STR("OPTIONS"));
}

/* The layer has said to all pages that they may, and the location does not
 * narrow it. */
static bool
is_open(const struct http_location *l, const struct http_layer *layer)
{
    return layer->open && l->cors == NULL && l->auth == NULL &&
           access_allows_all(l->access);
}

enum filter_result
http_site_filter(struct exchange *x, const struct http_layer *layer)
{
    if (is_safe(x->pub.method) || is_open(x->pub.location, layer) ||
        is_same_site(&x->pub)) {
        return FILTER_PASS;
    }
    return http_filter_reject(x, REFUSE_SITE, message);
}
