/*
 * The page for people, to try voices: three answers that never change.
 *
 * Its addresses are relative to {base}/, so that it works behind a proxy that
 * gives it another path; {base} without the slash leads there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/page.h"
#include "page.h"

#include "http/path.h"
#include "tts.h"

/* blob: is the sound that the page has been given, data: the icon that it does
 * not have. */
#define ALLOWED                                                 \
    "script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "media-src blob:; img-src data:"

/* The last segment of the path, as the client sent it: below it are the
 * addresses of the page. */
static struct str
last_segment(struct str target)
{
    struct str path = target;

    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '?' || path.ptr[i] == '#') {
            path.len = i;
        }
    }
    return http_path_last(path);
}

static enum http_result
lead_to_slash(struct http_request *r)
{
    struct buf b;

    buf_init(&b, r->target.len + 4);
    buf_printf(&b, "./%.*s/", STR_ARGS(last_segment(r->target)));
    http_set_header(r, "Location", buf_str(&b));
    buf_clear(&b);
    return http_reply(r, 307, "text/plain", STR("the page is at this path/\n"));
}

enum http_result
tts_on_page(struct http_request *r, void *state)
{
    (void)state;
    if (r->path.len == 0 || r->path.ptr[r->path.len - 1] != '/') {
        return lead_to_slash(r);
    }
    return http_reply_page(r, "text/html; charset=utf-8", ALLOWED, page_html);
}

enum http_result
tts_on_page_script(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/javascript; charset=utf-8", ALLOWED,
                           page_script);
}

enum http_result
tts_on_page_style(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/css; charset=utf-8", ALLOWED, page_style);
}
