/*
 * The schemas of this weir, in the order of their registration, which all its
 * processes agree on: they are forks of the master that made the list.
 *
 * Schema 0 is the keeper's own (store/ledger.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/store.h"

#define SCHEMAS_MAX 16

/* The place of a statement, by which processes name it to each other. */
struct schema_place {
    uint16_t schema, statement;
};

size_t schema_count(void);
const struct store_schema *schema_at(size_t i); /* NULL behind the last */
size_t schema_migrations(const struct store_schema *s);
size_t schema_statements(const struct store_schema *s);

/* false: it is in no table that was registered. */
bool schema_find(const struct store_statement *s, struct schema_place *out);
/* NULL: there is none. */
const struct store_statement *schema_statement(struct schema_place p);

/* "6c62272e07bb0142": differs when the text does; dst has 17 bytes. */
void schema_checksum(const char *text, char *dst);

/* Drops all but schema 0, for tests. */
void schema_forget(void);

#endif
