/*
 * Checks of a path that touch nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

int
path_try(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    if (strlen(path) >= sizeof(folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    str_copy(folder, sizeof(folder), str_from(path));
    slash = strrchr(folder, '/');
    if (slash == NULL) {
        str_copy(folder, sizeof(folder), STR("."));
    } else if (slash == folder) {
        folder[1] = '\0';
    } else {
        *slash = '\0';
    }
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS);
}
