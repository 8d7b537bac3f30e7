/*
 * Header lines that tell a client about versions: which one it got, which ones
 * there are, and until when (RFC 9745, RFC 8594, RFC 8288).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "table.h"

#include "base/clock.h"

void
version_dates(const struct unit *u, int64_t *deprecated, int64_t *sunset)
{
    const struct unit_settings *s = u->settings, *v = u->of_version;

    if (!units_date(s->deprecated.len > 0 ? s->deprecated : v->deprecated,
                    deprecated)) {
        *deprecated = -1;
    }
    if (!units_date(s->sunset.len > 0 ? s->sunset : v->sunset, sunset)) {
        *sunset = -1;
    }
}

static struct str
add_dates(struct pool *pool, struct str lines, const struct unit *u)
{
    int64_t deprecated, sunset;
    char date[32];

    version_dates(u, &deprecated, &sunset);
    if (deprecated >= 0) {
        lines = pool_printf(pool, "%.*sDeprecation: @%lld\r\n", STR_ARGS(lines),
                            (long long)deprecated);
    }
    if (sunset >= 0) {
        clock_http_date(date, sizeof(date), sunset * 1000);
        lines = pool_printf(pool, "%.*sSunset: %s\r\n", STR_ARGS(lines), date);
    }
    return lines;
}

static struct str
add_link(struct pool *pool, struct str lines, struct str link)
{
    if (str_starts(link, STR("<"))) {
        return pool_printf(pool, "%.*sLink: %.*s\r\n", STR_ARGS(lines),
                           STR_ARGS(link));
    }
    return pool_printf(pool, "%.*sLink: <%.*s>; rel=\"successor-version\"\r\n",
                       STR_ARGS(lines), STR_ARGS(link));
}

struct str
version_lines(struct pool *pool, const struct unit *u, struct str version,
              struct str supported)
{
    const struct unit_settings *s = u->settings, *v = u->of_version;
    const struct conf_strings *links = s->link.count > 0 ? &s->link : &v->link;
    struct str lines = STR_NONE;

    if (version.len > 0) {
        lines = pool_printf(pool, "API-Version: %.*s\r\n", STR_ARGS(version));
    }
    if (supported.len > 0) {
        lines = pool_printf(pool, "%.*sAPI-Supported-Versions: %.*s\r\n",
                            STR_ARGS(lines), STR_ARGS(supported));
    }
    lines = add_dates(pool, lines, u);
    for (size_t i = 0; i < links->count; i++) {
        lines = add_link(pool, lines, links->items[i]);
    }
    return lines;
}
