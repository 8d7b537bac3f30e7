/*
 * Looking for a parameter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "param.h"

#include "base/utf8.h"
#include "http/path.h"
#include "json/walk.h"

#define LONGEST 4 /* bytes of a character (RFC 3629) */

static bool
is_coded(struct str s)
{
    return str_find(s, '%', 0) < s.len || str_find(s, '+', 0) < s.len;
}

static struct str
decoded(struct http_request *r, struct str s)
{
    return is_coded(s) ? http_query_decode(r->pool, s) : s;
}

bool
version_param_is_part(struct str key, struct str name)
{
    return key.len > name.len && str_starts(key, name) &&
           key.ptr[name.len] == '[';
}

/* The whole pairs at the beginning of a form. */
static struct str
whole_pairs(struct str pairs)
{
    while (pairs.len > 0 && pairs.ptr[pairs.len - 1] != '&') {
        pairs.len--;
    }
    return pairs;
}

/* In "a=b&c=d", as queries and forms have it.  The last one of that name, but
 * none of them may be broken. */
static enum param
in_pairs(struct http_request *r, struct str pairs, struct str name,
         struct str *value)
{
    enum param found = PARAM_ABSENT;

    while (pairs.len > 0) {
        struct str raw = str_cut(&pairs, '&');
        struct str key = decoded(r, str_cut(&raw, '='));

        if (version_param_is_part(key, name)) {
            found = PARAM_ODD;
        } else if (!str_eq(key, name)) {
            continue;
        } else if (!http_query_is_encoded(raw)) {
            return PARAM_BROKEN;
        } else {
            *value = decoded(r, raw);
            found = str_trim(*value).len > 0 ? PARAM_GIVEN : PARAM_ABSENT;
        }
    }
    return found;
}

static enum param
in_json(struct http_request *r, struct str name, struct str *value)
{
    struct errmsg err;
    const struct json_value *v = json_read(r->pool, r->body, &err);
    const struct json_value *m = json_member(v, pool_str(r->pool, name).ptr);

    if (m == NULL || m->kind == JSON_NULL) {
        return PARAM_ABSENT; /* a body that is no JSON is the module's case */
    }
    if (m->kind != JSON_STRING && m->kind != JSON_NUMBER) {
        return PARAM_ODD;
    }
    *value = m->text;
    return str_trim(m->text).len > 0 ? PARAM_GIVEN : PARAM_ABSENT;
}

/* A member of the outermost object, in a text that may be cut anywhere. */
struct look {
    struct http_request *r;
    struct str name, *value;
    size_t len; /* of the text */
    bool comes; /* it is the value that comes next */
    enum param found;
};

static bool
on_step(void *arg, const struct json_step *s)
{
    struct look *l = arg;

    if (s->is == JSON_STEP_NAME) {
        l->comes = s->depth == 1 && str_eq(s->text, l->name);
    }
    if (s->is != JSON_STEP_VALUE || !l->comes || s->end >= l->len) {
        return true;
    }
    l->comes = false;
    if (s->kind == JSON_STRING || s->kind == JSON_NUMBER) {
        *l->value = pool_str(l->r->pool, s->text);
        l->found = str_trim(*l->value).len > 0 ? PARAM_GIVEN : PARAM_ABSENT;
    } else {
        l->found = s->kind == JSON_NULL ? PARAM_ABSENT : PARAM_ODD;
    }
    return true;
}

/* A character that is cut at the end of the text is none. */
static struct str
whole_characters(struct str text)
{
    size_t whole = utf8_length(text);

    return text.len - whole < LONGEST ? str_first(text, whole) : text;
}

static enum param
in_cut_json(struct http_request *r, struct str name, struct str *value)
{
    struct str text = whole_characters(r->body);
    struct look l = { .r = r,
                      .name = name,
                      .value = value,
                      .len = text.len,
                      .found = PARAM_ABSENT };

    json_walk(text, on_step, &l);
    return l.found;
}

enum body_kind { BODY_OTHER, BODY_FORM, BODY_PARTS, BODY_JSON };

static struct str
type_of_body(const struct http_request *r)
{
    const struct str *header = http_header(r, "Content-Type");

    return header != NULL ? *header : STR_NONE;
}

static enum body_kind
kind_of_body(struct str rest)
{
    struct str type = str_trim(str_cut(&rest, ';'));

    if (str_eq_nocase(type, STR("application/x-www-form-urlencoded"))) {
        return BODY_FORM;
    }
    if (str_eq_nocase(type, STR("multipart/form-data"))) {
        return BODY_PARTS;
    }
    if (str_eq_nocase(type, STR("application/json")) ||
        (type.len > 5 &&
         str_eq_nocase(str_skip(type, type.len - 5), STR("+json")))) {
        return BODY_JSON;
    }
    return BODY_OTHER;
}

static enum param
in_body(struct http_request *r, enum body_kind kind, bool cut, struct str name,
        struct str *value)
{
    switch (kind) {
    case BODY_FORM:
        return in_pairs(r, cut ? whole_pairs(r->body) : r->body, name, value);
    case BODY_PARTS:
        return version_form_field(r->pool, type_of_body(r), r->body, name,
                                  value);
    case BODY_JSON:
        return cut ? in_cut_json(r, name, value) : in_json(r, name, value);
    case BODY_OTHER:
        break;
    }
    return PARAM_ABSENT;
}

enum param
version_param(struct http_request *r, struct str name,
              const struct http_choice *choice, struct str *value)
{
    enum param found = in_pairs(r, r->query, name, value);
    enum body_kind kind;

    if (found != PARAM_ABSENT) {
        return found;
    }
    kind = kind_of_body(type_of_body(r));
    if (kind != BODY_OTHER && !choice->body_read) {
        return PARAM_NEEDS_BODY;
    }
    return in_body(r, kind, choice->body_cut, name, value);
}
