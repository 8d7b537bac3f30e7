/*
 * A VFS for processes that stand in a folder that they could not have walked
 * to.
 *
 * SQLite makes every path absolute and walks it from the root.  Below a folder
 * that is its owner's alone, as root's home is, a process that has become
 * another user can do nothing with such a path, but can use a relative one: it
 * was started there.  Where that is closed to it, too, there is the folder that
 * it holds (proc/reach.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/place.h"

#include <limits.h>
#include <sqlite3.h>
#include <string.h>

#include "proc/reach.h"

static struct {
    sqlite3_vfs vfs;
    int (*full_name)(sqlite3_vfs *vfs, const char *name, int size, char *dst);
} place;

static int
full_name(sqlite3_vfs *vfs, const char *name, int size, char *dst)
{
    int rc = place.full_name(vfs, name, size, dst);
    char room[PATH_MAX];
    size_t len;

    if (rc != SQLITE_CANTOPEN && rc != SQLITE_CANTOPEN_FULLPATH) {
        return rc;
    }
    name = reach_name(name, room);
    len = strlen(name);
    if (len >= (size_t)size) {
        return rc;
    }
    memcpy(dst, name, len + 1);
    return SQLITE_OK;
}

const char *
sqlite_place(void)
{
    const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

    if (usual == NULL) {
        return NULL;
    }
    if (place.full_name == NULL) {
        place.vfs = *usual;
        place.vfs.zName = "weir";
        place.vfs.pNext = NULL;
        place.vfs.xFullPathname = full_name;
        place.full_name = usual->xFullPathname;
        if (sqlite3_vfs_register(&place.vfs, 0) != SQLITE_OK) {
            place.full_name = NULL;
            return NULL;
        }
    }
    return place.vfs.zName;
}
