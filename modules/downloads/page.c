/*
 * The page for people, to watch the queue: three answers that never change.
 *
 * Its addresses are relative to {base}/, so that it works behind a proxy that
 * gives it another path.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/page.h"
#include "page.h"

#include "downloads.h"

/* data: is the icon that the page does not have. */
#define ALLOWED                                                 \
    "script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "media-src 'self'; img-src data:"

enum http_result
downloads_on_page(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/html; charset=utf-8", ALLOWED,
                           downloads_page_html);
}

enum http_result
downloads_on_page_script(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/javascript; charset=utf-8", ALLOWED,
                           downloads_page_script);
}

enum http_result
downloads_on_page_style(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/css; charset=utf-8", ALLOWED,
                           downloads_page_style);
}
