/*
 * Paths of locations, and whether a request's path fits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/locate.h"

/* ---- as they stand in the file ---- */

static int
check_path(struct str path, struct errmsg *err)
{
    if (!str_starts(path, STR("/"))) {
        return errmsg_set(err, "must start with '/', not \"%.*s\"",
                          STR_ARGS(path));
    }
    if (path.len > 1 && str_ends(path, STR("/"))) {
        return errmsg_set(err, "must not end with '/': \"%.*s\"",
                          STR_ARGS(path));
    }
    return 0;
}

static int
parse_pattern(struct pool *pool, struct str text, struct http_location *out,
              struct errmsg *err)
{
    bool any_case = str_starts(text, STR("~*"));
    struct str pattern = str_trim(str_skip(text, any_case ? 2 : 1));

    out->kind = HTTP_PATH_PATTERN;
    out->pattern =
        regex_new(pool, pattern, any_case ? REGEX_NOCASE : REGEX_CASE, err);
    return out->pattern == NULL ? -1 : 0;
}

int
http_location_parse(struct pool *pool, struct str text,
                    struct http_location *out, struct errmsg *err)
{
    out->name = text;
    out->path = STR("/");
    out->exact = STR_NONE;
    if (str_starts(text, STR("~"))) {
        return parse_pattern(pool, text, out, err);
    }
    if (str_starts(text, STR("="))) {
        out->kind = HTTP_PATH_EXACT;
        out->exact = str_trim(str_skip(text, 1));
        if (!str_starts(out->exact, STR("/"))) {
            return check_path(out->exact, err);
        }
        return 0;
    }
    out->kind = HTTP_PATH_BEGIN;
    out->path = text;
    return check_path(text, err);
}

static int
rank(const struct http_location *l)
{
    switch (l->kind) {
    case HTTP_PATH_EXACT:
        return 0;
    case HTTP_PATH_PATTERN:
        return 1;
    case HTTP_PATH_BEGIN:
        break;
    }
    return 2;
}

int
http_location_order(const void *a, const void *b)
{
    const struct http_location *x = a, *y = b;

    if (x->kind != y->kind) {
        return rank(x) < rank(y) ? -1 : 1;
    }
    if (x->kind == HTTP_PATH_PATTERN) {
        return x->order < y->order ? -1 : 1;
    }
    if (x->path.len != y->path.len) {
        return x->path.len < y->path.len ? 1 : -1;
    }
    return str_compare(x->path, y->path);
}

/* ---- a request's ---- */

static bool
lies_under(struct str path, struct str location)
{
    if (location.len <= 1) { /* "/" */
        return true;
    }
    return str_starts(path, location) &&
           (path.len == location.len || path.ptr[location.len] == '/');
}

static enum http_fit
fits_pattern(struct pool *pool, const struct http_location *l, struct str path,
             struct http_groups *groups)
{
    struct regex_match *m = pool_alloc(pool, sizeof(*m));

    switch (regex_match(l->pattern, path, m)) {
    case REGEX_YES:
        *groups = (struct http_groups){ l->pattern, m };
        return HTTP_FITS;
    case REGEX_LIMIT:
        return HTTP_FITS_LIMIT;
    case REGEX_NO:
        break;
    }
    return HTTP_FITS_NOT;
}

enum http_fit
http_location_fits(struct pool *pool, const struct http_location *l,
                   struct str path, struct http_groups *groups)
{
    switch (l->kind) {
    case HTTP_PATH_BEGIN:
        return lies_under(path, l->path) ? HTTP_FITS : HTTP_FITS_NOT;
    case HTTP_PATH_EXACT:
        return str_eq(path, l->exact) ? HTTP_FITS : HTTP_FITS_NOT;
    case HTTP_PATH_PATTERN:
        break;
    }
    return fits_pattern(pool, l, path, groups);
}
