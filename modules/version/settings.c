/*
 * The settings of a version layer and of its units.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <time.h>

#include "conf/rows.h"
#include "http/head_scan.h"
#include "units.h"

#define NAME_MAX_BYTES 64        /* of a version, a vendor, a parameter */
#define SECONDS_MAX 253402300799 /* the end of the year 9999 */

static const char *const strategy_words[] = { "path", "header",
                                              "accept_version_header", "param",
                                              NULL };
static const char *const unit_strategy_words[] = {
    "inherit", "path", "header", "accept_version_header", "param", NULL
};
static const char *const maybe_words[] = { "inherit", "false", "true", NULL };

/* ---- single values ---- */

/* Whether it can stand in a path segment, a header and a query. units_check(),
 * which knows the strategy, checks it for media types. */
static int
check_version(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (!http_is_token(c) || c == '*' || c == '%') {
            return errmsg_set(err,
                              "must be of letters, digits and -._~+, not "
                              "\"%.*s\"",
                              STR_ARGS(value));
        }
    }
    if (value.len == 0 || value.len > NAME_MAX_BYTES) {
        return errmsg_set(err, "must have 1 to %d bytes, not %zu",
                          NAME_MAX_BYTES, value.len);
    }
    if (str_eq(value, STR(".")) || str_eq(value, STR(".."))) {
        return errmsg_set(err, "must not be \"%.*s\"", STR_ARGS(value));
    }
    return 0;
}

/* Between "vnd." and '-' or '+'. */
static int
check_vendor(struct str value, struct errmsg *err)
{
    if (str_find(value, '+', 0) < value.len) {
        return errmsg_set(err, "must not have a \"+\" in it, as \"%.*s\" has",
                          STR_ARGS(value));
    }
    return check_version(value, err);
}

static int
check_prefix(struct str value, struct errmsg *err)
{
    struct str rest = str_starts(value, STR("/")) ? str_skip(value, 1) : value;

    while (rest.len > 0) {
        struct str segment = str_cut(&rest, '/');

        if (segment.len == 0 || str_eq(segment, STR(".")) ||
            str_eq(segment, STR(".."))) {
            return errmsg_set(err,
                              "must be segments of a path, as \"api\" or "
                              "\"/a/b\", not \"%.*s\"",
                              STR_ARGS(value));
        }
    }
    return 0;
}

static int
check_date(struct str value, struct errmsg *err)
{
    int64_t seconds;

    if (units_date(value, &seconds)) {
        return 0;
    }
    return errmsg_set(err,
                      "must be a date, as \"2026-01-02\", "
                      "\"2026-01-02T03:04:05Z\" or \"@1767323045\", not "
                      "\"%.*s\"",
                      STR_ARGS(value));
}

/* A URI, or a whole link-value (RFC 8288, 3). */
static int
check_link(struct str value, struct errmsg *err)
{
    bool whole = str_starts(value, STR("<"));
    bool bad =
        value.len == 0 || (whole && str_find(value, '>', 0) + 1 >= value.len);

    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        bad |= c < ' ' || c > '~';
        bad |= !whole && (c == ' ' || c == '<' || c == '>' || c == '"');
    }
    if (bad) {
        return errmsg_set(err,
                          "must be a URI, or \"<URI>; rel=...\" whole, not "
                          "\"%.*s\"",
                          STR_ARGS(value));
    }
    return 0;
}

/* "2026-01-02", or with "T03:04:05Z" behind it, in its form. */
static bool
looks_like_date(struct str text)
{
    static const char form[] = "0000-00-00T00:00:00Z";

    for (size_t i = 0; i < text.len && i < sizeof(form) - 1; i++) {
        char c = text.ptr[i];

        if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) {
            return false;
        }
    }
    return text.len == 10 || text.len == sizeof(form) - 1;
}

static int
digits(struct str text, size_t at, size_t count)
{
    int n = 0;

    for (size_t i = at; i < at + count && i < text.len; i++) {
        n = 10 * n + text.ptr[i] - '0';
    }
    return n;
}

bool
units_date(struct str text, int64_t *seconds)
{
    struct tm tm = { .tm_mday = 0 }, given;

    if (str_starts(text, STR("@"))) {
        return str_to_int(str_skip(text, 1), 0, SECONDS_MAX, seconds);
    }
    if (!looks_like_date(text)) {
        return false;
    }
    tm.tm_year = digits(text, 0, 4) - 1900;
    tm.tm_mon = digits(text, 5, 2) - 1;
    tm.tm_mday = digits(text, 8, 2);
    tm.tm_hour = digits(text, 11, 2);
    tm.tm_min = digits(text, 14, 2);
    tm.tm_sec = digits(text, 17, 2);
    given = tm;
    *seconds = (int64_t)timegm(&tm); /* makes the 30th of February a March */
    return tm.tm_mday == given.tm_mday && tm.tm_mon == given.tm_mon &&
           tm.tm_hour == given.tm_hour && tm.tm_min == given.tm_min &&
           tm.tm_sec == given.tm_sec;
}

/* ---- a unit ---- */

static int
check_twice(const struct unit_settings *s, struct errmsg *err)
{
    for (size_t i = 0; i < s->versions.count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(s->versions.items[i], s->versions.items[k])) {
                return errmsg_set(err, "version \"%.*s\" stands twice in it",
                                  STR_ARGS(s->versions.items[i]));
            }
        }
    }
    return 0;
}

static int
check_unit(const void *settings, struct errmsg *err)
{
    const struct unit_settings *s = settings;
    int64_t deprecated, sunset;

    if (s->layers.count == 0 && s->units.count == 0) {
        return errmsg_set(err, "a unit needs layers, or units within it");
    }
    if (units_date(s->deprecated, &deprecated) &&
        units_date(s->sunset, &sunset) && sunset < deprecated) {
        return errmsg_set(err, "sunset is before deprecated"); /* RFC 9745, 4 */
    }
    return check_twice(s, err);
}

static const struct conf_key unit_keys[13 + 1]; /* they hold themselves */

static const struct conf_key unit_keys[13 + 1] = {
    ROW_WHERE(unit_settings),
    ROW(unit_settings, versions, CONF_STRINGS, .preset = "",
        .max = VERSIONS_MAX, .check = check_version,
        .help = "The versions that the unit serves; none: any, after all "
                "units that name some."),
    ROW(unit_settings, layers, CONF_GROUPS, .keys = settings_layer_keys,
        .size = sizeof(struct http_layer_settings), .preset = "",
        .check_group = settings_check_layer,
        .help = "The modules that answer, asked in this order."),
    ROW(unit_settings, strategy, CONF_ENUM, .preset = "inherit",
        .words = unit_strategy_words, .help = "Instead of the layer's."),
    ROW(unit_settings, strict, CONF_ENUM, .preset = "inherit",
        .words = maybe_words, .help = "Instead of the layer's."),
    ROW(unit_settings, cascade, CONF_ENUM, .preset = "inherit",
        .words = maybe_words, .help = "Instead of the layer's."),
    ROW(unit_settings, vendor, CONF_STRING, .preset = "", .check = check_vendor,
        .help = "Instead of the layer's."),
    ROW(unit_settings, parameter, CONF_STRING, .max = NAME_MAX_BYTES,
        .preset = "", .help = "Instead of the layer's."),
    ROW(unit_settings, prefix, CONF_STRING, .max = 256, .preset = "",
        .check = check_prefix,
        .help = "Segments of the path before all else, also before the "
                "version."),
    ROW(unit_settings, deprecated, CONF_STRING, .preset = "",
        .check = check_date,
        .help = "Since when its versions are deprecated: header "
                "Deprecation."),
    ROW(unit_settings, sunset, CONF_STRING, .preset = "", .check = check_date,
        .help = "When its versions will be gone: header Sunset."),
    ROW(unit_settings, link, CONF_STRINGS, .preset = "", .max = 8,
        .check = check_link,
        .help = "Header Link: where the successor is, or a whole "
                "\"<URI>; rel=...\"."),
    ROW(unit_settings, units, CONF_GROUPS, .keys = unit_keys,
        .size = sizeof(struct unit_settings), .preset = "",
        .check_group = check_unit,
        .help = "More units behind this one, with what it says where they "
                "say nothing."),
    CONF_END,
};

/* ---- the layer ---- */

const struct conf_key version_keys[] = {
    ROW(version_settings, strategy, CONF_ENUM, .preset = "path",
        .words = strategy_words,
        .help = "Where a request names the version: /VERSION/..., Accept, "
                "Accept-Version or a parameter."),
    ROW(version_settings, vendor, CONF_STRING, .preset = "",
        .check = check_vendor,
        .help = "Of the media types application/vnd.VENDOR-VERSION+FORMAT; "
                "strategy header needs it."),
    ROW(version_settings, strict, CONF_BOOL, .preset = "false",
        .help = "Refuses requests that name no version that is served."),
    ROW(version_settings, parameter, CONF_STRING, .min = 1,
        .max = NAME_MAX_BYTES, .preset = "apiver",
        .help = "The parameter of strategy param, in the query or the "
                "body."),
    ROW(version_settings, cascade, CONF_BOOL, .preset = "true",
        .help = "Passes what no unit serves to the next layer; false: "
                "answers it here."),
    ROW(version_settings, unmatched_status, CONF_INT, .min = 404, .max = 406,
        .preset = "404",
        .help = "The answer when the version is not served and no other "
                "layer answers: 404 or 406."),
    ROW(version_settings, default_version, CONF_STRING, .preset = "",
        .check = check_version,
        .help = "The version of requests that name none; empty: the first "
                "unit that knows the path."),
    ROW(version_settings, units, CONF_GROUPS, .keys = unit_keys,
        .size = sizeof(struct unit_settings), .min = 1,
        .check_group = check_unit,
        .help = "The units, newer versions before older ones."),
    CONF_END,
};
