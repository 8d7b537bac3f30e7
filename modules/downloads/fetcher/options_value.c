/*
 * Values of options, by their kinds.
 *
 * A value is written behind its word with '=', so that none can be taken for
 * an option.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "fetcher/options_impl.h"
#include "fetcher/selection.h"
#include "http/head_scan.h"

/* ---- words ---- */

static int
add(struct options_parsing *p, bool secret, struct str word)
{
    struct options_words *o = p->out;
    size_t *count = secret ? &o->secret_count : &o->count;

    /* Two are added for secrets and cookies. */
    if (*count >= OPTIONS_ARGUMENTS - 2) {
        return errmsg_set(p->err, "the options are more than %d",
                          OPTIONS_ARGUMENTS - 2);
    }
    (secret ? o->secrets : o->items)[(*count)++] = pool_cstr(p->pool, word);
    return 0;
}

int
option_add(struct options_parsing *p, struct str word)
{
    return add(p, false, word);
}

int
option_add_flag(struct options_parsing *p, const struct option_row *r, bool on)
{
    const char *word = on ? r->word : r->off;

    return word == NULL ? 0 : add(p, false, str_from(word));
}

static int
add_value(struct options_parsing *p, const struct option_row *r,
          struct str value)
{
    return add(p, r->secret,
               pool_printf(p->pool, "%s=%.*s", r->word, STR_ARGS(value)));
}

/* ---- values ---- */

int
option_wrong(struct options_parsing *p, const struct option_given *g,
             const char *allowed)
{
    struct str name = str_first(g->name, OPTION_SHOWN);

    /* The value may be a secret. */
    return errmsg_set(p->err, "\"%.*s\" must be %s", STR_ARGS(name), allowed);
}

static bool
has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static int
take_text(struct options_parsing *p, const struct option_given *g)
{
    if (g->value.len == 0 || g->value.len > OPTION_VALUE_MAX ||
        has_control(g->value)) {
        return option_wrong(
            p, g, "a text of 1 to 1024 bytes without control characters");
    }
    return add_value(p, g->row, g->value);
}

/* ytdlp.c puts its filter by protocol behind it. */
static int
take_format(struct options_parsing *p, const struct option_given *g)
{
    if (g->value.len > 0 && !has_control(g->value) &&
        !selection_is_selector(g->value)) {
        return option_wrong(p, g,
                            "one format selector, without ',', '\\' and '#'");
    }
    return take_text(p, g);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("._+-/:>", c) != NULL);
}

static int
take_name(struct options_parsing *p, const struct option_given *g)
{
    bool fits = g->value.len > 0 && g->value.len <= 128;

    for (size_t i = 0; i < g->value.len && fits; i++) {
        fits = is_name_char(g->value.ptr[i]);
    }
    return fits
               ? add_value(p, g->row, g->value)
               : option_wrong(p, g, "1 to 128 letters, digits and \"._+-/:>\"");
}

static int
take_whole(struct options_parsing *p, const struct option_given *g)
{
    int64_t n;

    if (str_to_int(g->value, g->row->min, g->row->max, &n)) {
        return add_value(p, g->row, g->value);
    }
    return errmsg_set(p->err,
                      "\"%.*s\" must be a whole number from %lld to %lld",
                      STR_ARGS(str_first(g->name, OPTION_SHOWN)),
                      (long long)g->row->min, (long long)g->row->max);
}

/* "12", "1.5"; at most so much before the point. */
static bool
is_decimal(struct str s, int64_t max)
{
    struct str rest = s, whole = str_cut(&rest, '.');
    int64_t n;

    if (!str_to_int(whole, 0, max, &n) || rest.len > 6) {
        return false;
    }
    return whole.len == s.len ||
           (rest.len > 0 && str_to_int(rest, 0, 999999, &n));
}

static int
take_seconds(struct options_parsing *p, const struct option_given *g)
{
    return is_decimal(g->value, 86400)
               ? add_value(p, g->row, g->value)
               : option_wrong(p, g, "seconds, from 0 to 86400");
}

static int
take_bytes(struct options_parsing *p, const struct option_given *g)
{
    struct str number = g->value;

    if (number.len > 0 &&
        strchr("kKmMgGtT", number.ptr[number.len - 1]) != NULL) {
        number.len--;
    }
    return is_decimal(number, INT64_MAX / 2)
               ? add_value(p, g->row, g->value)
               : option_wrong(p, g,
                              "bytes: a number, perhaps with K, M, G or T");
}

static int
take_tries(struct options_parsing *p, const struct option_given *g)
{
    int64_t n;

    return str_to_int(g->value, 0, 100, &n) || str_eq(g->value, STR("infinite"))
               ? add_value(p, g->row, g->value)
               : option_wrong(p, g, "a number from 0 to 100, or \"infinite\"");
}

/* Headers that say for whom a request is, or how it goes on, are not the
 * file's. */
static bool
is_own_header(struct str name)
{
    struct str own = STR("Host,Connection,Content-Length,Transfer-Encoding,"
                         "Upgrade,TE,Trailer,Keep-Alive");

    while (own.len > 0) {
        if (str_eq_nocase(str_cut(&own, ','), name)) {
            return true;
        }
    }
    return str_eq_nocase(str_first(name, 6), STR("Proxy-"));
}

static int
take_header(struct options_parsing *p, const struct option_given *g)
{
    struct str value = g->value, name = str_cut(&value, ':');
    bool fits = name.len > 0 && name.len < g->value.len &&
                g->value.len <= OPTION_VALUE_MAX * 4 && !has_control(value);

    for (size_t i = 0; i < name.len && fits; i++) {
        fits = http_is_token((unsigned char)name.ptr[i]);
    }
    if (!fits) {
        return option_wrong(p, g,
                            "headers: a name, and a value without control "
                            "characters");
    }
    if (is_own_header(name)) {
        return errmsg_set(p->err, "the header \"%.*s\" is not for options",
                          STR_ARGS(str_first(name, OPTION_SHOWN)));
    }
    return add_value(p, g->row, g->value);
}

static int
take_extractor(struct options_parsing *p, const struct option_given *g)
{
    return str_find(g->value, ':', 0) < g->value.len
               ? take_text(p, g)
               : option_wrong(p, g, "EXTRACTOR:NAME=VALUE");
}

/* ---- cookies ---- */

static bool
is_below(struct str path)
{
    if (path.len == 0 || path.len > OPTION_VALUE_MAX || path.ptr[0] == '/' ||
        path.ptr[path.len - 1] == '/' || has_control(path)) {
        return false;
    }
    while (path.len > 0) {
        struct str part = str_cut(&path, '/');

        if (part.len == 0 || str_eq(part, STR(".")) ||
            str_eq(part, STR(".."))) {
            return false;
        }
    }
    return true;
}

static int
take_cookies(struct options_parsing *p, const struct option_given *g)
{
    struct str path = g->value, folder = p->folder;

    if (folder.len > 0 && str_starts(path, folder) &&
        str_find(path, '/', folder.len) == folder.len) {
        path = str_skip(path, folder.len + 1);
    }
    if (!is_below(path)) {
        return errmsg_set(p->err,
                          "\"%.*s\" is refused: its file must lie in the "
                          "folder of this one, or below it",
                          STR_ARGS(str_first(g->name, OPTION_SHOWN)));
    }
    if (p->out->cookies.len > 0) {
        return errmsg_set(p->err, "there is one file of cookies, not two");
    }
    p->out->cookies = pool_str(p->pool, path);
    return add_value(p, g->row, STR(OPTIONS_COOKIES));
}

int
option_take(struct options_parsing *p, const struct option_given *g)
{
    switch (g->row->kind) {
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_LINES:
        return take_text(p, g);
    case OPTION_FORMAT:
        return take_format(p, g);
    case OPTION_NAME:
        return take_name(p, g);
    case OPTION_WHOLE:
        return take_whole(p, g);
    case OPTION_SECONDS:
        return take_seconds(p, g);
    case OPTION_BYTES:
        return take_bytes(p, g);
    case OPTION_TRIES:
        return take_tries(p, g);
    case OPTION_HEADERS:
        return take_header(p, g);
    case OPTION_EXTRACTOR:
        return take_extractor(p, g);
    case OPTION_COOKIES:
        return take_cookies(p, g);
    case OPTION_FLAG:
    case OPTION_IGNORED:
        break;
    }
    return 0;
}

/* An option that no row has. */
int
option_refuse(struct options_parsing *p, struct str name)
{
    const char *why = option_refusal(name), *near = option_nearest(name);
    struct str shown = str_first(name, OPTION_SHOWN);

    if (why != NULL) {
        return errmsg_set(p->err, "\"%.*s\" is refused: %s", STR_ARGS(shown),
                          why);
    }
    if (near != NULL) {
        return errmsg_set(p->err,
                          "\"%.*s\" is no option that may stand here; did you "
                          "mean \"%s\"?",
                          STR_ARGS(shown), near);
    }
    return errmsg_set(p->err,
                      "\"%.*s\" is no option that may stand here; "
                      "downloads(7) has the list",
                      STR_ARGS(shown));
}
