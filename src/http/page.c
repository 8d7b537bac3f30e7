/*
 * Pages for people, which modules have.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/page.h"
#include "http/escape.h"
#include "http/exchange.h"
#include "http/path.h"
#include "net/access.h"

#define PAGE_MAX 65536 /* bytes */
#define POLICY_MAX 1024
#define UP_MAX 16 /* folders between a page and the console */

const char http_page_console[] = "";

/* ---- the console ---- */

static bool
has_console(const struct http_location *l)
{
    for (size_t i = 0; i < l->layer_count; i++) {
        if (l->layers[i].console) {
            return l->kind == HTTP_PATH_BEGIN;
        }
    }
    return false;
}

/* The one with the shortest path; NULL: there is none. */
static const struct http_location *
find_console(const struct http_request *r)
{
    const struct http_server *s = exchange_of(r)->c->server;
    const struct http_location *found = NULL;

    for (size_t i = 0; s != NULL && i < s->location_count; i++) {
        const struct http_location *l = &s->locations[i];

        if (has_console(l) && access_allows(l->access, &r->client) &&
            (found == NULL || l->path.len < found->path.len)) {
            found = l;
        }
    }
    return found;
}

static size_t
count_slashes(struct str path)
{
    size_t count = 0;

    for (size_t i = 0; i < path.len; i++) {
        count += path.ptr[i] == '/';
    }
    return count;
}

/* From the folder of a path to "/"; empty: it is too far. */
static struct str
way_up(struct str path)
{
    static const char way[3 * UP_MAX + 1] =
        "../../../../../../../../../../../../../../../../";
    size_t up = count_slashes(path) - 1;

    if (up > UP_MAX) {
        return STR_NONE;
    }
    return up == 0 ? STR("./") : str_of(way, 3 * up);
}

struct str
http_console(struct http_request *r)
{
    const struct http_location *l = find_console(r);

    if (l == NULL || count_slashes(r->path) == 0 || http_is_rewritten(r)) {
        return STR_NONE;
    }
    struct str way = way_up(r->path);
    struct str down = http_path_encode(r->pool, str_skip(l->path, 1));

    if (way.len == 0) {
        return STR_NONE;
    }
    return pool_join(r->pool,
                     STRS(way, down, down.len > 0 ? STR("/") : STR_NONE));
}

static int
add_console(struct buf *b, struct http_request *r)
{
    struct str to = http_console(r);

    if (to.len == 0) {
        return 0;
    }
    return buf_add_str(b, STR("<p class=\"console\"><a href=\"")) |
           http_html_text(b, to) |
           buf_add_str(b, STR("\">\xe2\x86\x90 Console</a></p>\n"));
}

/* ---- pages of modules ---- */

static int
add_pieces(struct buf *b, struct http_request *r, const char *const *pieces)
{
    int rc = 0;

    for (; *pieces != NULL; pieces++) {
        rc |= *pieces == http_page_console ? add_console(b, r)
                                           : buf_add_str(b, str_from(*pieces));
    }
    return rc;
}

enum http_result
http_reply_page(struct http_request *r, const char *type, const char *allowed,
                const char *const *pieces)
{
    enum http_result result;
    struct buf text, policy;
    int rc;

    buf_init(&text, PAGE_MAX);
    buf_init(&policy, POLICY_MAX);
    rc = add_pieces(&text, r, pieces);
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

/* ---- small pages ---- */

/* In the colours of the console. */
static const char style[] =
    ":root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;\n"
    "  --ground: #f6f7f7; --text: #1b2426; --soft: #566468; --rule: #dce2e3;\n"
    "  --accent: #0f766e; }\n"
    "@media (prefers-color-scheme: dark) { :root {\n"
    "  --ground: #111718; --text: #e2e9ea; --soft: #9aa9ac; --rule: #2c383b;\n"
    "  --accent: #5eead4; } }\n"
    "body { max-width: 60rem; margin: 0 auto; overflow-wrap: anywhere;\n"
    "  padding: 1rem clamp(.75rem, 3vw, 2rem) 3rem;\n"
    "  background: var(--ground); color: var(--text); }\n"
    "h1 { font-size: 1.3rem; }\n"
    "a { color: var(--accent); }\n"
    "table { width: 100%; border-collapse: collapse; }\n"
    "td { border-top: 1px solid var(--rule); padding: 0 0 0 1rem;\n"
    "  color: var(--soft); white-space: nowrap; text-align: right; }\n"
    "td:first-child { padding: 0; white-space: normal; text-align: left; }\n"
    "td a, .console a { display: block; padding: .75rem 0; }\n"
    ".console a { display: inline-block; text-decoration: none; }\n"
    "@media (max-width: 30rem) { .date { display: none; } }\n";

void
http_page_begin(struct buf *b, struct str title)
{
    buf_add_str(
        b, STR("<!DOCTYPE html>\n<html lang=\"en\"><head>"
               "<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" "
               "content=\"width=device-width, initial-scale=1\">\n<title>"));
    http_html_text(b, title);
    buf_printf(b, "</title>\n<style>\n%s</style></head>\n<body><h1>", style);
    http_html_text(b, title);
    buf_add_str(b, STR("</h1>\n"));
}

void
http_page_end(struct buf *b, struct http_request *r)
{
    add_console(b, r);
    buf_add_str(b, STR("</body></html>\n"));
}
