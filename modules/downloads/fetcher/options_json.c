/*
 * The options as the original has them: an object with the names of the
 * engine's API.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/options_impl.h"
#include "json/read.h"

static bool
is_scalar(const struct json_value *v)
{
    return v->kind == JSON_STRING || v->kind == JSON_NUMBER;
}

/* The texts of an array, with a letter in between; false: they are not all
 * texts, or have such letters themselves. */
static bool
join(struct options_parsing *p, const struct json_value *v, char between,
     struct str *out)
{
    struct str all = STR_NONE;

    for (const struct json_value *e = v->first; e != NULL; e = e->next) {
        if (!is_scalar(e) || e->text.len + all.len > OPTION_VALUE_MAX ||
            str_find(e->text, between, 0) < e->text.len) {
            return false;
        }
        all = all.ptr[0] == '\0'
                  ? e->text
                  : pool_printf(p->pool, "%.*s%c%.*s", STR_ARGS(all), between,
                                STR_ARGS(e->text));
    }
    *out = all;
    return true;
}

/* A text, or each of an array. */
static int
json_lines(struct options_parsing *p, struct option_given *g,
           const struct json_value *v)
{
    const struct json_value *e = v->kind == JSON_ARRAY ? v->first : v;

    for (; e != NULL; e = e->next) {
        if (!is_scalar(e)) {
            return option_wrong(p, g, "a text, or texts in an array");
        }
        g->value = e->text;
        if (option_take(p, g) == -1) {
            return -1;
        }
        if (e == v) {
            break;
        }
    }
    return 0;
}

static int
json_list(struct options_parsing *p, struct option_given *g,
          const struct json_value *v)
{
    g->value = v->text;
    if (v->kind == JSON_ARRAY && !join(p, v, ',', &g->value)) {
        return option_wrong(p, g, "texts without commas in an array");
    }
    if (v->kind != JSON_ARRAY && v->kind != JSON_STRING) {
        return option_wrong(p, g, "a text, or texts in an array");
    }
    return option_take(p, g);
}

static int
json_headers(struct options_parsing *p, struct option_given *g,
             const struct json_value *v)
{
    if (v->kind != JSON_OBJECT) {
        return option_wrong(p, g, "an object of texts");
    }
    for (const struct json_value *e = v->first; e != NULL; e = e->next) {
        if (e->kind != JSON_STRING || e->text.len > OPTION_VALUE_MAX * 4 ||
            e->name.len > OPTION_SHOWN) {
            return option_wrong(p, g, "an object of texts");
        }
        g->value = pool_printf(p->pool, "%.*s:%.*s", STR_ARGS(e->name),
                               STR_ARGS(e->text));
        if (option_take(p, g) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
json_extractor(struct options_parsing *p, struct option_given *g,
               struct str name, const struct json_value *v)
{
    struct str all = STR_NONE;

    for (const struct json_value *e = v->first; e != NULL; e = e->next) {
        struct str value = e->text;

        if (e->name.len > OPTION_SHOWN || value.len > OPTION_VALUE_MAX ||
            all.len > OPTION_VALUE_MAX ||
            (e->kind == JSON_ARRAY ? !join(p, e, ',', &value)
                                   : !is_scalar(e))) {
            return option_wrong(p, g,
                                "{\"EXTRACTOR\": {\"NAME\": [\"VALUE\"]}}");
        }
        all = pool_printf(p->pool, "%.*s%s%.*s=%.*s", STR_ARGS(all),
                          all.len > 0 ? ";" : "", STR_ARGS(e->name),
                          STR_ARGS(value));
    }
    g->value = pool_printf(p->pool, "%.*s:%.*s", STR_ARGS(name), STR_ARGS(all));
    return option_take(p, g);
}

static int
json_extractors(struct options_parsing *p, struct option_given *g,
                const struct json_value *v)
{
    for (const struct json_value *e = v->first; e != NULL; e = e->next) {
        if (v->kind != JSON_OBJECT || e->kind != JSON_OBJECT ||
            e->name.len > OPTION_SHOWN) {
            return option_wrong(p, g,
                                "{\"EXTRACTOR\": {\"NAME\": [\"VALUE\"]}}");
        }
        if (json_extractor(p, g, e->name, e) == -1) {
            return -1;
        }
    }
    return v->kind == JSON_OBJECT ? 0
                                  : option_wrong(p, g, "an object of objects");
}

static int
json_option(struct options_parsing *p, const struct option_row *r,
            const struct json_value *v)
{
    struct option_given g = { .row = r, .name = v->name, .value = v->text };

    switch (r->kind) {
    case OPTION_FLAG:
        return v->kind == JSON_BOOL ? option_add_flag(p, r, v->truth)
                                    : option_wrong(p, &g, "true or false");
    case OPTION_LIST:
        return json_list(p, &g, v);
    case OPTION_LINES:
        return json_lines(p, &g, v);
    case OPTION_HEADERS:
        return json_headers(p, &g, v);
    case OPTION_EXTRACTOR:
        return json_extractors(p, &g, v);
    case OPTION_IGNORED:
        return 0;
    case OPTION_TEXT:
    case OPTION_FORMAT:
    case OPTION_NAME:
    case OPTION_WHOLE:
    case OPTION_SECONDS:
    case OPTION_BYTES:
    case OPTION_TRIES:
    case OPTION_COOKIES:
        break;
    }
    return is_scalar(v) ? option_take(p, &g)
                        : option_wrong(p, &g, "a text or a number");
}

/* ---- postprocessors ---- */

static const struct option_row *
find_member(const struct option_processor *o, struct str name)
{
    for (const struct option_row *r = o->rows; r->api != NULL; r++) {
        if (str_eq(name, str_from(r->api))) {
            return r;
        }
    }
    return NULL;
}

static int
json_members(struct options_parsing *p, const struct option_processor *o,
             const struct json_value *v)
{
    if (o->word != NULL && option_add(p, str_from(o->word)) == -1) {
        return -1;
    }
    for (const struct json_value *m = v->first; m != NULL; m = m->next) {
        const struct option_row *r = find_member(o, m->name);

        if (m->kind == JSON_NULL || str_eq(m->name, STR("key"))) {
            continue;
        }
        if (r == NULL) {
            return errmsg_set(p->err,
                              "\"%.*s\" is nothing that a postprocessor %s "
                              "may have here",
                              STR_ARGS(str_first(m->name, OPTION_SHOWN)),
                              o->key);
        }
        if (json_option(p, r, m) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
json_processor(struct options_parsing *p, const struct json_value *v)
{
    struct str key = json_member_str(v, "key");

    for (const struct option_processor *o = option_processors; o->key != NULL;
         o++) {
        if (str_eq(key, str_from(o->key))) {
            return json_members(p, o, v);
        }
    }
    return errmsg_set(p->err, "the postprocessor \"%.*s\" is refused%s",
                      STR_ARGS(str_first(key, OPTION_SHOWN)),
                      str_eq(key, STR("Exec")) ? ": it would run a program"
                                               : "; downloads(7) has the list");
}

static int
json_member_option(struct options_parsing *p, const struct json_value *v)
{
    const struct option_row *r = option_find_api(v->name);

    if (str_eq(v->name, STR("postprocessors"))) {
        for (const struct json_value *e = v->first; e != NULL; e = e->next) {
            if (json_processor(p, e) == -1) {
                return -1;
            }
        }
        return v->kind == JSON_ARRAY
                   ? 0
                   : errmsg_set(p->err, "\"postprocessors\" must be an array "
                                        "of objects");
    }
    if (r == NULL) {
        return option_refuse(p, v->name);
    }
    return v->kind == JSON_NULL ? 0 : json_option(p, r, v);
}

int
options_parse_json(struct options_parsing *p, struct str text)
{
    const struct json_value *v = json_read(p->pool, text, p->err);

    if (v == NULL) {
        return -1;
    }
    for (const struct json_value *m = v->first; m != NULL; m = m->next) {
        if (json_member_option(p, m) == -1) {
            return -1;
        }
    }
    return 0;
}
