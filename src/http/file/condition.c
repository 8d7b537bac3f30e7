/*
 * Comparing what clients have with what there is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/condition.h"

#include "http/file/date.h"

/* ---- entity tags (8.8.3) ---- */

static bool
is_weak(struct str tag)
{
    return str_starts(tag, STR("W/"));
}

/* Without W/, for the weak comparison. */
static struct str
opaque(struct str tag)
{
    return is_weak(tag) ? str_skip(tag, 2) : tag;
}

/* Takes the next tag off a list; a comma may stand within its quotes.  An
 * empty one when there is none or the list is malformed. */
static struct str
next_tag(struct str *list)
{
    struct str s = *list;

    while (s.len > 0 && (*s.ptr == ',' || *s.ptr == ' ' || *s.ptr == '\t')) {
        s = str_skip(s, 1);
    }
    size_t begin = is_weak(s) ? 2 : 0;
    size_t end = str_find(s, '"', begin + 1);

    *list = STR_NONE;
    if (s.len <= begin || s.ptr[begin] != '"' || end >= s.len) {
        return STR_NONE;
    }
    *list = str_skip(s, end + 1);
    return str_first(s, end + 1);
}

static bool
list_has(struct str list, struct str tag, bool strong)
{
    if (str_eq(str_trim(list), STR("*"))) {
        return true;
    }
    while (list.len > 0) {
        struct str given = next_tag(&list);

        if (strong && (is_weak(given) || is_weak(tag))) {
            continue;
        }
        if (given.len > 0 && str_eq(opaque(given), opaque(tag))) {
            return true;
        }
    }
    return false;
}

enum match { NO_FIELD, MATCHES, MATCHES_NOT };

/* A list may be cut over several fields of its name (5.3). */
static enum match
match_tags(const struct http_request *r, const char *name, struct str tag,
           bool strong)
{
    enum match result = NO_FIELD;

    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_eq_nocase(r->headers[i].name, str_from(name))) {
            continue;
        }
        result = MATCHES_NOT;
        if (list_has(r->headers[i].value, tag, strong)) {
            return MATCHES;
        }
    }
    return result;
}

/* ---- dates ---- */

/* The date of that field; false when there is none that counts. */
static bool
date_of(const struct http_request *r, const char *name, int64_t *date)
{
    const struct str *value = http_header(r, name);

    return value != NULL && http_date_parse(*value, date);
}

/* ---- in their order (13.2.2) ---- */

static bool
is_read(const struct http_request *r)
{
    return str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD"));
}

static bool
state_is_as_expected(const struct http_request *r,
                     const struct http_validators *v)
{
    enum match match = match_tags(r, "If-Match", v->tag, true);
    int64_t date;

    if (match != NO_FIELD) {
        return match == MATCHES;
    }
    return !date_of(r, "If-Unmodified-Since", &date) || v->modified <= date;
}

enum http_verdict
http_judge_conditions(const struct http_request *r,
                      const struct http_validators *v)
{
    int64_t date;

    if (!state_is_as_expected(r, v)) {
        return HTTP_FAILED;
    }
    enum match match = match_tags(r, "If-None-Match", v->tag, false);

    if (match == MATCHES) {
        return is_read(r) ? HTTP_NOT_MODIFIED : HTTP_FAILED;
    }
    if (match == NO_FIELD && is_read(r) &&
        date_of(r, "If-Modified-Since", &date) && v->modified <= date) {
        return HTTP_NOT_MODIFIED;
    }
    return HTTP_PERFORM;
}

bool
http_range_counts(const struct http_request *r, const struct http_validators *v,
                  int64_t now)
{
    const struct str *value = http_header(r, "If-Range");
    int64_t date;

    if (value == NULL) {
        return true;
    }
    if (http_date_parse(*value, &date)) {
        /* 8.8.2.2: within a second it may have changed again. */
        return date == v->modified && v->modified < now;
    }
    return !is_weak(v->tag) && str_eq(*value, v->tag);
}
