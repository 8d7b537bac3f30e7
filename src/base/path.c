/*
 * Checks of a path that touch nothing; paths of programs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/places.h"
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

/* The folder of weir's own file, with a slash. */
static size_t
own_folder(char *dst)
{
    static const char gone[] = " (deleted)"; /* replaced while it runs */
    ssize_t n = readlink("/proc/self/exe", dst, PATH_MAX - 1);
    struct str self = str_of(dst, n > 0 ? (size_t)n : 0);

    if (str_ends(self, STR(gone))) {
        self.len -= sizeof(gone) - 1;
    }
    while (self.len > 0 && self.ptr[self.len - 1] != '/') {
        self.len--;
    }
    return self.len;
}

void
path_of_program(const char *name, char *dst)
{
    size_t len = 0;

    if (places_programs[0] == '\0') {
        len = own_folder(dst);
    } else {
        len = str_append(dst, PATH_MAX, len, str_from(places_programs));
        len = str_append(dst, PATH_MAX, len, STR("/"));
    }
    str_append(dst, PATH_MAX, len, str_from(name));
}
