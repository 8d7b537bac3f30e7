/*
 * A field of a form as browsers and curl -F send it (RFC 7578).
 *
 * The body is walked once, and may be its beginning alone (HTTP_LOOK): a part
 * that is cut short is none.  Files are passed over, and so is whatever else is
 * no field of that name: what is wrong with a body is the module's case.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "http/http.h"
#include "param.h"

#define BOUNDARY_MAX 70 /* bytes: RFC 2046, 5.1.1 */

/* Takes "; name=value" or "; name=\"value\"" off the rest of a header's
 * value. */
static bool
next_param(struct str *rest, struct str *name, struct str *value)
{
    size_t end;

    *rest = str_skip(*rest, str_find(*rest, ';', 0) + 1);
    if (rest->len == 0) {
        return false;
    }
    end = str_find(*rest, '=', 0);
    *name = str_trim(str_first(*rest, end));
    *rest = str_skip(*rest, end + 1);
    if (str_starts(*rest, STR("\""))) {
        *rest = str_skip(*rest, 1);
        end = str_find(*rest, '"', 0);
        *value = str_first(*rest, end);
        *rest = str_skip(*rest, end + 1);
    } else {
        end = str_find(*rest, ';', 0);
        *value = str_trim(str_first(*rest, end));
        *rest = str_skip(*rest, end);
    }
    return true;
}

/* Where what stands in s from there on, s.len if it does not. */
static size_t
find(struct str s, struct str what)
{
    const char *hit = memmem(s.ptr, s.len, what.ptr, what.len);

    return hit != NULL ? (size_t)(hit - s.ptr) : s.len;
}

/* ---- a part ---- */

/* The name of a field by its Content-Disposition; false: it is none. */
static bool
read_disposition(struct str value, struct str *name)
{
    struct str key, word, kind = value;
    bool named = false, file = false;

    kind = str_trim(str_cut(&kind, ';'));
    while (next_param(&value, &key, &word)) {
        if (str_eq_nocase(key, STR("name"))) {
            *name = word;
            named = true;
        }
        file |= str_eq_nocase(key, STR("filename"));
    }
    return named && !file && str_eq_nocase(kind, STR("form-data"));
}

static bool
field_name(struct str head, struct str *name)
{
    while (head.len > 0) {
        struct str value = str_cut(&head, '\n');
        struct str key = str_trim(str_cut(&value, ':'));

        if (str_eq_nocase(key, STR("Content-Disposition"))) {
            value.len -= str_ends(value, STR("\r")) ? 1 : 0;
            return read_disposition(value, name);
        }
    }
    return false;
}

/* Head, empty line and content of a part; the head may be empty. */
static enum param
read_part(struct str part, struct str name, enum param found, struct str *value)
{
    struct str key, content;
    size_t end = find(part, STR("\r\n\r\n"));

    content = str_trim(str_skip(part, end + 4));
    if (end == part.len || !field_name(str_first(part, end), &key)) {
        return found;
    }
    if (version_param_is_part(key, name)) {
        return PARAM_ODD;
    }
    if (!str_eq(key, name)) {
        return found;
    }
    *value = content;
    return content.len > 0 ? PARAM_GIVEN : PARAM_ABSENT;
}

/* ---- the body ---- */

/* "\r\n--BOUNDARY", in the pool; empty: there is none. */
static struct str
delimiter_of(struct pool *pool, struct str type)
{
    struct str key, value;

    while (next_param(&type, &key, &value)) {
        if (str_eq_nocase(key, STR("boundary")) && value.len > 0 &&
            value.len <= BOUNDARY_MAX) {
            return pool_printf(pool, "\r\n--%.*s", STR_ARGS(value));
        }
    }
    return STR_NONE;
}

enum param
version_form_field(struct pool *pool, struct str type, struct str body,
                   struct str name, struct str *value)
{
    struct str delimiter = delimiter_of(pool, type);
    enum param found = PARAM_ABSENT;

    if (delimiter.len == 0) {
        return found;
    }
    if (str_starts(body, str_skip(delimiter, 2))) {
        body = str_skip(body, delimiter.len - 2);
    } else { /* behind a preamble */
        body = str_skip(body, find(body, delimiter) + delimiter.len);
    }
    while (body.len > 0 && !str_starts(body, STR("--"))) {
        size_t end = find(body, delimiter);

        if (end == body.len) { /* cut short */
            break;
        }
        found = read_part(str_first(body, end), name, found, value);
        body = str_skip(body, end + delimiter.len);
    }
    return found;
}
