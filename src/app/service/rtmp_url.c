/*
 * Addresses of NetStreams for statistics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/rtmp_url.h"

#include <string.h>

/* Cuts "rtmp://user@host:1935/app" into scheme and host; false: it is no
 * such address. */
static bool
split(struct str url, struct str *scheme, struct str *host)
{
    const char *mark = memmem(url.ptr, url.len, "://", 3);

    if (mark == NULL) {
        return false;
    }
    *scheme = str_first(url, (size_t)(mark - url.ptr));
    url = str_skip(url, scheme->len + 3);
    *host = str_cut(&url, '/');
    while (str_find(*host, '@', 0) < host->len) {
        str_cut(host, '@');
    }
    return scheme->len > 0 && host->len > 0;
}

static void
add(char *dst, size_t *n, struct str s)
{
    *n = str_append(dst, RTMP_URL_MAX, *n, s);
}

struct str
rtmp_url(char dst[RTMP_URL_MAX], const struct rtmp_request *r, const char *used,
         struct str name, const struct addr *local,
         const struct line_mask *mask)
{
    char own[ADDR_TEXT];
    struct str scheme, host;
    size_t n = 0;

    if (!split(r->tc_url, &scheme, &host)) {
        scheme = str_from(used);
        host = str_from(addr_text(local, own));
    }
    add(dst, &n, scheme);
    add(dst, &n, STR("://"));
    add(dst, &n, host);
    add(dst, &n, STR("/"));
    add(dst, &n, name);
    if (mask != NULL && r->args.len > 0) {
        struct line_value args;

        line_value_masked(&args, mask, r->args, true);
        add(dst, &n, STR("?"));
        add(dst, &n, args.text);
    }
    return str_of(dst, n);
}
