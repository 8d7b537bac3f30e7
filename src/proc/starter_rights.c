/*
 * The rights of a starter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter_impl.h"

#include <limits.h>
#include <stdlib.h>

#include "base/pool.h"

static struct str
folder_of(struct str path)
{
    while (path.len > 1 && path.ptr[path.len - 1] != '/') {
        path.len--;
    }
    return path;
}

/* Landlock holds files, not their names: one that is installed anew is another
 * file.  So the starter has the folders.  Each run has the files alone that
 * have the names then (starter_execute.c). */
static void
execute_beside(struct rights *r, const struct rights_paths *programs,
               struct pool *pool)
{
    for (size_t i = 0; i < programs->count; i++) {
        struct str path = programs->items[i];
        char real[PATH_MAX];

        rights_execute(r, folder_of(path));
        if (realpath(pool_cstr(pool, path), real) != NULL) {
            rights_execute(r, folder_of(pool_str(pool, str_from(real))));
        }
    }
}

void
starter_rights(struct rights *r, const struct rights *programs,
               const struct cgroup *cgroup, struct pool *pool)
{
    if (programs != NULL) {
        rights_add(r, programs);
        execute_beside(r, &programs->programs, pool);
    }
    rights_read(r, STR("/proc"));
    rights_write(r, STR("/dev/null"));
    if (cgroup->folder != -1) {
        rights_write(r, str_from(cgroup->path));
    }
}
