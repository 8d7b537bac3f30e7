/*
 * Patterns that get requests before a location that guards its paths.
 *
 * "~ \.png$" has its turn before "/admin", so a request for /admin/x.png passes
 * by the auth and access of "/admin".  That may be meant, so it is a warning.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "app/settings/rows.h"
#include "base/log.h"

bool
settings_restricts(const struct http_location_settings *l)
{
    for (size_t i = 0; i < l->access.count; i++) {
        if (!str_eq(l->access.items[i], STR("allow all"))) {
            return true;
        }
    }
    return false;
}

/* The guard that one has and the other has not; NULL: there is none. */
static const char *
lacks(const struct http_location_settings *guarded,
      const struct http_location_settings *l)
{
    if (guarded->auth.count > 0 && l->auth.count == 0) {
        return "auth";
    }
    return settings_restricts(guarded) && !settings_restricts(l) ? "access"
                                                                 : NULL;
}

static bool
is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* How a path must begin to fit: the text behind "^", up to the first byte that
 * is not itself.  Empty: it may begin in any way. */
static struct str
beginning(struct str pattern)
{
    size_t n = 0;

    if (!str_starts(pattern, STR("^"))) {
        return STR_NONE;
    }
    pattern = str_skip(pattern, 1);
    while (n < pattern.len && !is_one_of(pattern.ptr[n], "\\[](){}.*+?|^$")) {
        n++;
    }
    if (n < pattern.len && pattern.ptr[n] == '|') {
        return STR_NONE;
    }
    if (n > 0 && n < pattern.len && is_one_of(pattern.ptr[n], "*?{")) {
        n--; /* the byte before may be missing */
    }
    return str_first(pattern, n);
}

/* Whether a path below that location may fit. */
static bool
reaches(struct str pattern, struct str location)
{
    struct str begins = beginning(pattern);
    size_t n = begins.len < location.len ? begins.len : location.len;

    if (location.len > 1 && begins.len > n && begins.ptr[n] != '/') {
        return false; /* "/adminx" */
    }
    return str_same_nocase(begins.ptr, location.ptr, n);
}

static void
warn_of(const struct http_server_settings *s,
        const struct http_location_settings *l)
{
    const struct http_location_settings *all = s->locations.items;
    bool any_case = str_starts(l->path, STR("~*"));
    struct str pattern = str_trim(str_skip(l->path, any_case ? 2 : 1));

    for (size_t i = 0; i < s->locations.count; i++) {
        const char *what = lacks(&all[i], l);

        if (what != NULL && str_starts(all[i].path, STR("/")) &&
            reaches(pattern, all[i].path)) {
            log_warn("%s:%d: location \"%.*s\" may get requests for paths of "
                     "\"%.*s\" (line %d) and lacks its %s",
                     l->where.file, l->where.line, STR_ARGS(l->path),
                     STR_ARGS(all[i].path), all[i].where.line, what);
            return;
        }
    }
}

void
settings_warn_bypass(const struct settings *s)
{
    for (size_t i = 0; i < s->http.servers.count; i++) {
        const struct http_server_settings *h =
            settings_http_server(&s->http, i);
        const struct http_location_settings *all = h->locations.items;

        for (size_t k = 0; k < h->locations.count; k++) {
            if (str_starts(all[k].path, STR("~"))) {
                warn_of(h, &all[k]);
            }
        }
    }
}
