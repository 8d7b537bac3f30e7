/*
 * Loading libpq and finding its functions by their names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/libpq.h"

#include <dlfcn.h>
#include <string.h>

#define FILE_NAME "libpq.so.5" /* its interface since PostgreSQL 8.2 */

struct libpq libpq;

/* Into the member at *slot; a pointer to a function is none to an object. */
static int
find(void *library, const char *name, void *slot, struct errmsg *err)
{
    void *found = dlsym(library, name);

    if (found == NULL) {
        return errmsg_set(err,
                          FILE_NAME " has no %s: weir needs that of "
                                    "PostgreSQL 14 or later",
                          name);
    }
    memcpy(slot, &found, sizeof(found));
    return 0;
}

int
libpq_load(struct errmsg *err)
{
    static void *library;

    if (library != NULL) {
        return 0;
    }
    void *opened = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (opened == NULL) {
        return errmsg_set(err, "needs libpq, which cannot be loaded: %s",
                          dlerror());
    }
#define LIBPQ_FIND(name)                                    \
    if (find(opened, "PQ" #name, &libpq.name, err) == -1) { \
        return -1;                                          \
    }
    LIBPQ_FUNCTIONS(LIBPQ_FIND)
#undef LIBPQ_FIND
    library = opened;
    return 0;
}
