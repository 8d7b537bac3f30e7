/*
 * Parameters as libpq wants them, and which statements a connection has
 * prepared for which types of them.
 *
 * The type of a parameter is that of its value: a number is a bigint, a text
 * is text.  A parameter that was always NULL has the type that the server
 * finds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_PREPARED_H
#define STORE_POSTGRES_PREPARED_H

#include "store/postgres/libpq.h"
#include "store/schema.h"

/* Of the server's catalogue: src/include/catalog/pg_type.dat. */
enum {
    PG_TYPE_BOOL = 16,
    PG_TYPE_BYTES = 17,
    PG_TYPE_INT8 = 20,
    PG_TYPE_INT2 = 21,
    PG_TYPE_INT4 = 23,
    PG_TYPE_TEXT = 25,
    PG_TYPE_NUMERIC = 1700,
};

#define PREPARED_NAME 16

struct pg_params {
    int count;
    Oid types[STORE_PARAMS]; /* 0: the server finds it */
    const char *values[STORE_PARAMS];
    int lengths[STORE_PARAMS], formats[STORE_PARAMS];
    char numbers[STORE_PARAMS][24];
};

/* Texts are borrowed. */
void pg_params_set(struct pg_params *p, const struct store_value *values,
                   size_t count);

struct pg_prepared;

/* all: SCHEMAS_MAX tables, NULL while not used.  false: it is not prepared for
 * such types.  Fills types that p leaves open. */
bool prepared_find(struct pg_prepared *const *all, struct schema_place place,
                   struct pg_params *p, char *name);
void prepared_add(struct pg_prepared **all, struct schema_place place,
                  const struct pg_params *p, unsigned serial, char *name);
void prepared_forget(struct pg_prepared *const *all, struct schema_place place);
void prepared_clear(struct pg_prepared **all);

/* The text of a statement for this database. */
const char *prepared_text(struct schema_place place);

#endif
