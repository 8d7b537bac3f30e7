/*
 * Mistakes in the words of the settings: with the path of the key.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/reader.h"

#include <string.h>

#include "base/buf.h"
#include "conf/decimal.h"
#include "conf/expand.h"

static void
add_path(struct buf *out, const struct scope *in)
{
    if (in->name != NULL) {
        add_path(out, in->up);
        buf_printf(out, "%s.", in->name);
    }
}

bool
reader_mistake(struct reader *r, const struct scope *in, const char *name,
               size_t at, const char *text)
{
    bool sentence = str_starts(str_from(text), STR("must ")) ||
                    str_starts(str_from(text), STR("is "));
    struct buf path;

    buf_init(&path, 64 * 1024);
    add_path(&path, in);
    if (name != NULL) {
        buf_add_str(&path, str_first(str_from(name), 80));
    } else if (buf_len(&path) > 0) {
        path.tail--; /* the dot */
    } else {
        buf_printf(&path, "the file");
    }
    source_say(r->source, at, "%.*s%s%s", STR_ARGS(buf_str(&path)),
               sentence ? " " : ": ", text);
    buf_clear(&path);
    return false;
}

bool
reader_refuse(struct reader *r, const struct scope *in,
              const struct conf_key *key, const struct scalar *v, size_t at)
{
    struct errmsg err;

    value_refuse(key, v, &err);
    return reader_mistake(r, in, key->name, at, err.text);
}

bool
reader_missing(struct reader *r, const struct scope *in,
               const struct conf_key *key)
{
    struct errmsg err;

    value_refuse(key, NULL, &err);
    errmsg_prefix(&err, "is missing, it ");
    return reader_mistake(r, in, key->name, in->at, err.text);
}

/* ---- values ---- */

struct scalar
reader_scalar(const config_setting_t *c)
{
    struct scalar v;

    switch (config_setting_type(c)) {
    case CONFIG_TYPE_STRING:
        return (struct scalar){ .kind = SCALAR_STRING,
                                .text =
                                    str_from(config_setting_get_string(c)) };
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return (struct scalar){ .kind = SCALAR_INT,
                                .number = config_setting_get_int64(c) };
    case CONFIG_TYPE_BOOL:
        return (struct scalar){ .kind = SCALAR_BOOL,
                                .number = config_setting_get_bool(c) };
    case CONFIG_TYPE_GROUP:
        return (struct scalar){ .kind = SCALAR_OTHER, .text = STR("a group") };
    case CONFIG_TYPE_FLOAT:
        v = (struct scalar){ .kind = SCALAR_OTHER, .text = STR("a fraction") };
        v.is_fraction = decimal_of(config_setting_get_float(c), &v.number);
        return v;
    default:
        return (struct scalar){ .kind = SCALAR_OTHER, .text = STR("a list") };
    }
}

/* Was the text of the value refused before parsing?  Then tells why. */
static bool
is_bad(struct reader *r, const struct scope *in, const struct conf_key *key,
       const config_setting_t *c)
{
    size_t at = conf_value_token(r->source, c);
    struct token *t = &r->source->tokens[at];
    char shown[128] = "***";
    struct str text;

    if (t->bad == NULL) {
        return false;
    }
    if (!key->secret) {
        source_show(shown, sizeof(shown), source_text(r->source, at));
    }
    t->told = true;
    text = pool_printf(r->source->pool, "%s: %s", shown, t->bad);
    reader_mistake(r, in, key->name, at, text.ptr);
    return true;
}

struct place { /* of a value that is expanded */
    struct reader *reader;
    const struct scope *in;
    const struct conf_key *key;
    size_t at;
};

static void
on_mistake(void *arg, const char *text)
{
    const struct place *p = arg;

    reader_mistake(p->reader, p->in, p->key->name, p->at, text);
}

/* A value that was put into a text may be a number, or true and false. */
static struct scalar
scalar_for(const struct conf_key *key, struct str text, const char *from)
{
    struct scalar v = { .kind = SCALAR_STRING, .text = text, .from = from };

    if (key->type == CONF_INT &&
        str_to_int(text, INT64_MIN, INT64_MAX, &v.number)) {
        v.kind = SCALAR_INT;
    } else if (key->type == CONF_BOOL &&
               (str_eq(text, STR("true")) || str_eq(text, STR("false")))) {
        v.kind = SCALAR_BOOL;
        v.number = text.len == sizeof("true") - 1;
    }
    return v;
}

static bool
expand_value(struct reader *r, const struct scope *in,
             const struct conf_key *key, size_t at, struct scalar *v)
{
    struct place place = { r, in, key, at };
    struct expansion e = { .secret = key->secret,
                           .dollars = key->dollars,
                           .room = r->room,
                           .mistake = on_mistake,
                           .arg = &place };
    int rc = expand(&e, v->text);

    r->room = e.room;
    v->text = pool_str(r->source->pool, buf_str(&e.text));
    if (buf_len(&e.sources) > 0) {
        *v = scalar_for(key, v->text, pool_cstr(r->pool, buf_str(&e.sources)));
    }
    expand_clear(&e);
    return rc == 0;
}

bool
reader_value(struct reader *r, const struct scope *in,
             const struct conf_key *key, const config_setting_t *c,
             struct scalar *v)
{
    size_t at = conf_value_token(r->source, c);

    *v = reader_scalar(c);
    if (is_bad(r, in, key, c) ||
        (v->kind == SCALAR_STRING && strstr(v->text.ptr, "${") != NULL &&
         !expand_value(r, in, key, at, v))) {
        reader_wrong(r, c);
        return false;
    }
    return true;
}

void
reader_wrong(struct reader *r, const config_setting_t *c)
{
    r->source->tokens[conf_value_token(r->source, c)].wrong = true;
}

bool
reader_was_wrong(const struct reader *r, const config_setting_t *c)
{
    return r->source->tokens[conf_value_token(r->source, c)].wrong;
}
