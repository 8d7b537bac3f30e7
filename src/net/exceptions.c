/*
 * The table of exceptions: few rows, walked from the first to the last.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/exceptions.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "proc/shared.h"

unsigned exceptions_of_kind[EXCEPTION_KINDS];

static struct {
    struct exception rows[EXCEPTIONS];
    uint32_t version;         /* grows with each change; never 0 then */
    _Atomic uint64_t *struck; /* shared: one for each row */
} table;

int
exceptions_create(struct errmsg *err)
{
    table.struck = shared_create(
        "weir-exceptions", EXCEPTIONS * sizeof(*table.struck), SHARED_ALL, err);
    return table.struck == NULL ? -1 : 0;
}

void
exceptions_destroy(void)
{
    shared_destroy(table.struck);
    memset(&table, 0, sizeof(table));
    memset(exceptions_of_kind, 0, sizeof(exceptions_of_kind));
}

const struct exception *
exception_row(size_t i)
{
    assert(i < EXCEPTIONS);
    return &table.rows[i];
}

uint64_t
exception_struck(size_t i)
{
    assert(i < EXCEPTIONS);
    return atomic_load_explicit(&table.struck[i], memory_order_relaxed);
}

/* ---- changes ---- */

static void
changed(void)
{
    memset(exceptions_of_kind, 0, sizeof(exceptions_of_kind));
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        exceptions_of_kind[table.rows[i].kind]++;
    }
    table.version += table.version == UINT32_MAX ? 2 : 1;
}

static bool
same_subject(const struct exception *a, const struct exception *b)
{
    return a->kind == b->kind && strcmp(a->stream, b->stream) == 0 &&
           a->net.bits == b->net.bits && addr_eq(&a->net.addr, &b->net.addr);
}

static struct exception *
find(const struct exception *e)
{
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        if (same_subject(&table.rows[i], e)) {
            return &table.rows[i];
        }
    }
    return NULL;
}

static struct exception *
find_free(void)
{
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        if (table.rows[i].kind == EXCEPTION_FREE) {
            atomic_store(&table.struck[i], 0);
            return &table.rows[i];
        }
    }
    return NULL;
}

int
exceptions_set(const struct exception *e, struct errmsg *err)
{
    struct exception *row = find(e);

    row = row != NULL ? row : find_free();
    if (row == NULL) {
        return errmsg_set(err,
                          "there are %d exceptions already, which is the most: "
                          "take one back",
                          EXCEPTIONS);
    }
    *row = *e;
    changed();
    return 0;
}

bool
exceptions_remove(const struct exception *e)
{
    struct exception *row = find(e);

    if (row == NULL) {
        return false;
    }
    *row = (struct exception){ .kind = EXCEPTION_FREE };
    changed();
    return true;
}

void
exceptions_take(const struct exception *rows)
{
    memcpy(table.rows, rows, sizeof(table.rows));
    changed();
}

/* ---- which one holds ---- */

const struct exception *
exception_of_client(enum exception_kind kind, const struct addr *client)
{
    const struct exception *best = NULL;

    for (size_t i = 0; exceptions_of_kind[kind] > 0 && i < EXCEPTIONS; i++) {
        const struct exception *e = &table.rows[i];

        if (e->kind == kind && e->stream[0] == '\0' &&
            access_net_has(&e->net, client) &&
            (best == NULL || e->net.bits > best->net.bits)) {
            best = e;
        }
    }
    return best;
}

const struct exception *
exception_of_stream(enum exception_kind kind, struct str stream)
{
    for (size_t i = 0; exceptions_of_kind[kind] > 0 && i < EXCEPTIONS; i++) {
        const struct exception *e = &table.rows[i];

        if (e->kind == kind && e->stream[0] != '\0' &&
            str_eq(str_from(e->stream), stream)) {
            return e;
        }
    }
    return NULL;
}

void
exception_strikes(const struct exception *e)
{
    atomic_fetch_add_explicit(&table.struck[e - table.rows], 1,
                              memory_order_relaxed);
}

bool
debug_mark_look(struct debug_mark *mark, const struct addr *client,
                struct str stream)
{
    if (mark->version != table.version) {
        const struct exception *e =
            exception_of_client(EXCEPTION_DEBUG, client);

        if (e == NULL) {
            e = exception_of_stream(EXCEPTION_DEBUG, stream);
        }
        mark->version = table.version;
        mark->row = e != NULL ? (uint8_t)(e - table.rows + 1) : 0;
    }
    if (mark->row != 0) {
        exception_strikes(&table.rows[mark->row - 1]);
    }
    return mark->row != 0;
}
