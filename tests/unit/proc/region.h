/*
 * Shared memory by its name, for tests that write to it what its owners never
 * would.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_REGION_H
#define TESTS_REGION_H

#include <stdio.h>
#include <string.h>

struct region {
    uint8_t *bytes;
    size_t size;
};

/* The first mapping of the memfd of that name in this process. */
static inline struct region
region_find(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    struct region r = { NULL, 0 };
    char line[512], what[128];

    assert_non_null(maps);
    snprintf(what, sizeof(what), "/memfd:%s ", name);
    while (r.bytes == NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to;

        if (strstr(line, what) != NULL &&
            sscanf(line, "%lx-%lx", &from, &to) == 2) {
            r.bytes = (uint8_t *)from;
            r.size = to - from;
        }
    }
    fclose(maps);
    if (r.bytes == NULL) {
        fail_msg("there is no %s", name);
    }
    return r;
}

#endif
