/*
 * Parameters with their types, and the statements of a connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/prepared.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct one {
    unsigned serial; /* 0: not prepared */
    int count;
    Oid types[STORE_PARAMS];
};

struct pg_prepared {
    size_t count;
    struct one items[];
};

/* ---- parameters ---- */

static void
set_param(struct pg_params *p, size_t i, const struct store_value *v)
{
    p->values[i] = NULL;
    p->types[i] = 0;
    p->lengths[i] = p->formats[i] = 0;
    if (v->type == STORE_INT) {
        snprintf(p->numbers[i], sizeof(p->numbers[i]), "%" PRId64, v->n);
        p->values[i] = p->numbers[i];
        p->types[i] = PG_TYPE_INT8;
    } else if (v->type == STORE_TEXT) { /* whatever bytes are in it */
        p->values[i] = v->s.ptr;
        p->types[i] = PG_TYPE_TEXT;
        p->lengths[i] = (int)v->s.len;
        p->formats[i] = 1;
    }
}

void
pg_params_set(struct pg_params *p, const struct store_value *values,
              size_t count)
{
    p->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        set_param(p, i, &values[i]);
    }
}

/* ---- statements ---- */

static bool
fits(const struct one *o, const struct pg_params *p)
{
    if (o->serial == 0 || o->count != p->count) {
        return false;
    }
    for (int i = 0; i < p->count; i++) {
        if (p->types[i] != 0 && p->types[i] != o->types[i]) {
            return false;
        }
    }
    return true;
}

static void
print_name(unsigned serial, char *name)
{
    snprintf(name, PREPARED_NAME, "weir%u", serial);
}

bool
prepared_find(struct pg_prepared *const *all, struct schema_place place,
              struct pg_params *p, char *name)
{
    const struct one *o;

    if (all[place.schema] == NULL) {
        return false;
    }
    o = &all[place.schema]->items[place.statement];
    if (fits(o, p)) {
        print_name(o->serial, name);
        return true;
    }
    for (int i = 0; i < p->count && i < o->count; i++) {
        p->types[i] = p->types[i] != 0 ? p->types[i] : o->types[i];
    }
    return false;
}

void
prepared_add(struct pg_prepared **all, struct schema_place place,
             const struct pg_params *p, unsigned serial, char *name)
{
    struct pg_prepared *s = all[place.schema];
    struct one *o;

    if (s == NULL) {
        size_t n = schema_statements(schema_at(place.schema));

        s = all[place.schema] = mem_zero(sizeof(*s) + n * sizeof(s->items[0]));
        s->count = n;
    }
    assert(place.statement < s->count);
    o = &s->items[place.statement];
    o->serial = serial;
    o->count = p->count;
    memcpy(o->types, p->types, (size_t)p->count * sizeof(p->types[0]));
    print_name(serial, name);
}

void
prepared_forget(struct pg_prepared *const *all, struct schema_place place)
{
    if (all[place.schema] != NULL) {
        all[place.schema]->items[place.statement].serial = 0;
    }
}

void
prepared_clear(struct pg_prepared **all)
{
    for (size_t i = 0; i < SCHEMAS_MAX; i++) {
        mem_free(&all[i]);
    }
}

const char *
prepared_text(struct schema_place place)
{
    const struct store_statement *s = schema_statement(place);

    return s->postgres != NULL ? s->postgres : s->sql;
}
