/*
 * Mistakes in the words of the settings: with the path of the key.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/reader.h"

#include "base/buf.h"

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

bool
reader_is_bad(struct reader *r, const struct scope *in,
              const struct conf_key *key, const config_setting_t *c)
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
