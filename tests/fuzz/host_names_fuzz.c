/*
 * Fuzz target: names of servers, and hosts that clients ask for.
 *
 * A host finds the name that it is spelled like; what is found was added.
 *
 * covers: src/net/host_names.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/hash.h"
#include "net/host_names.h"

#define NAMES_MAX 16

/* Names a line each, up to an empty one; then hosts. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_of(data, size), names[NAMES_MAX], line;
    struct pool *pool = pool_new(256);
    struct host_names *table;
    struct errmsg err = { "" };
    size_t count = 0;

    hash_init();
    table = host_names_new(pool, NAMES_MAX);
    while (count < NAMES_MAX && (line = str_cut(&text, '\n')).len > 0) {
        bool good = host_name_check(line, &err) == 0;

        require((host_names_add(table, line, count, &err) == 0) == good);
        require(host_name_same(line, line));
        names[count++] = line;
    }
    while (text.len > 0) {
        struct str host = host_of_authority(str_cut(&text, '\n'));
        struct host_found found;

        if (host_names_find(table, host, &found) == HOST_FOUND) {
            require(found.value < count);
            require(str_eq(found.name, names[found.value]));
            require(found.by != HOST_EXACT || host_name_same(host, found.name));
        }
    }
    pool_free(&pool);
    return 0;
}
