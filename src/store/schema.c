/*
 * The list of schemas.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "store/ledger.h"

static struct {
    const struct store_schema *items[SCHEMAS_MAX];
    size_t count;
} all = { .items = { &ledger_schema }, .count = 1 };

void
store_register(const struct store_schema *s)
{
    for (size_t i = 0; i < all.count; i++) {
        if (all.items[i] == s) {
            return;
        }
    }
    assert(all.count < SCHEMAS_MAX);
    all.items[all.count++] = s;
}

void
schema_forget(void)
{
    all.count = 1;
}

size_t
schema_count(void)
{
    return all.count;
}

const struct store_schema *
schema_at(size_t i)
{
    return i < all.count ? all.items[i] : NULL;
}

size_t
schema_migrations(const struct store_schema *s)
{
    size_t n = 0;

    while (s->migrations[n].sqlite != NULL) {
        n++;
    }
    return n;
}

size_t
schema_statements(const struct store_schema *s)
{
    size_t n = 0;

    while (s->statements[n].name != NULL) {
        n++;
    }
    return n;
}

bool
schema_find(const struct store_statement *s, struct schema_place *out)
{
    for (size_t i = 0; i < all.count; i++) {
        const struct store_statement *table = all.items[i]->statements;
        size_t n = schema_statements(all.items[i]);

        if (s >= table && s < table + n) {
            *out = (struct schema_place){ (uint16_t)i, (uint16_t)(s - table) };
            return true;
        }
    }
    return false;
}

const struct store_statement *
schema_statement(struct schema_place p)
{
    const struct store_schema *s = schema_at(p.schema);

    if (s == NULL || p.statement >= schema_statements(s)) {
        return NULL;
    }
    return &s->statements[p.statement];
}

void
schema_checksum(const char *text, char *dst)
{
    static const uint8_t key[16] = "weir migrations";

    snprintf(dst, 17, "%016" PRIx64, hash_keyed(key, str_from(text)));
}
