/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/elsewhere.h"

#include <stdlib.h>

bool
elsewhere_variable(struct reader *r, const struct conf_key *key, void *field)
{
    const char *value =
        key->variable != NULL && r->variables ? getenv(key->variable) : NULL;
    struct scalar v = { .kind = SCALAR_STRING, .text = str_from(value) };
    struct errmsg unused;

    if (v.text.len == 0 || value_read(key, &v, r->pool, field, &unused) == -1) {
        return false;
    }
    origins_add(r->origins, r->pool, field,
                pool_printf(r->pool, "${env:%s}", key->variable).ptr);
    r->used_variable = true;
    return true;
}

bool
elsewhere_group(struct reader *r, const struct scope *in,
                const struct conf_key *key, const void *group, void *field)
{
    struct scalar v = { .kind = SCALAR_STRING, .text = key->otherwise(group) };
    struct errmsg err;

    if (v.text.len == 0) {
        return reader_missing(r, in, key);
    }
    if (value_read(key, &v, r->pool, field, &err) == -1) {
        return reader_mistake(r, in, key->name, in->at, err.text);
    }
    return true;
}
