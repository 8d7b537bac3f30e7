/*
 * Pages for people, which modules have.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/http.h"

#define PAGE_MAX 65536 /* bytes */
#define POLICY_MAX 1024

enum http_result
http_reply_page(struct http_request *r, const char *type, const char *allowed,
                const char *const *pieces)
{
    enum http_result result;
    struct buf text, policy;
    int rc = 0;

    buf_init(&text, PAGE_MAX);
    for (; *pieces != NULL; pieces++) {
        rc |= buf_add_str(&text, str_from(*pieces));
    }
    buf_init(&policy, POLICY_MAX);
    rc |= buf_printf(&policy,
                     "default-src 'none'; %s; base-uri 'none'; "
                     "form-action 'none'; frame-ancestors 'none'",
                     allowed);
    if (rc == 0) {
        http_set_header(r, "Content-Security-Policy", buf_str(&policy));
        http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
        http_set_header(r, "Cache-Control", STR("no-cache"));
        result = http_reply(r, 200, type, buf_str(&text));
    } else {
        result = http_error(r, 500,
                            "the page is longer than %d bytes, or what "
                            "it may load than %d",
                            PAGE_MAX, POLICY_MAX);
    }
    buf_clear(&policy);
    buf_clear(&text);
    return result;
}
