/*
 * Landlock: files and listening sockets.
 *
 * Each version of Landlock knows more rights.  We must not ask for rights that
 * the kernel does not know, so the sets are by version; the headers of the
 * system may be older than its kernel, so the newer numbers are here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define FS_RIGHTS_1 ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)      /* version 2 */
#define FS_TRUNCATE (1ULL << 14)   /* 3 */
#define NET_BIND (1ULL << 0)       /* 4 */
#define FS_IOCTL_DEV (1ULL << 15)  /* 5 */
#define SCOPE_ABSTRACT (1ULL << 0) /* 6 */

/* struct landlock_ruleset_attr as it has grown. */
struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

int
sandbox_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);

    return version > 0 ? (int)version : 0;
}

static int
new_ruleset(void)
{
    int version = sandbox_landlock_version();
    struct ruleset r = { .fs = FS_RIGHTS_1 };
    size_t size = sizeof(r.fs);

    r.fs |= version >= 2 ? FS_REFER : 0;
    r.fs |= version >= 3 ? FS_TRUNCATE : 0;
    r.fs |= version >= 5 ? FS_IOCTL_DEV : 0;
    if (version >= 4) {
        r.net = NET_BIND;
        size = 2 * sizeof(uint64_t);
    }
    if (version >= 6) {
        r.scoped = SCOPE_ABSTRACT;
        size = sizeof(r);
    }
    return (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
}

static int
allow_reading(int ruleset, struct str path)
{
    struct landlock_path_beneath_attr below = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
    };
    char name[PATH_MAX];
    struct stat st;
    int rc = -1;

    str_copy(name, sizeof(name), path);
    below.parent_fd = open(name, O_PATH | O_CLOEXEC);
    if (below.parent_fd != -1 && fstat(below.parent_fd, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            below.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
        }
        rc = (int)syscall(SYS_landlock_add_rule, ruleset,
                          LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    }
    if (below.parent_fd != -1) {
        int why = errno;

        close(below.parent_fd);
        errno = why;
    }
    return rc;
}

int
sandbox_restrict_files(const struct str *paths, size_t count)
{
    int ruleset = new_ruleset();
    int rc, why;

    if (ruleset == -1) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (allow_reading(ruleset, paths[i]) == -1) {
            log_warn("sandbox: \"%.*s\" will not be readable: %s",
                     STR_ARGS(paths[i]), strerror(errno));
        }
    }
    rc = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    why = errno;
    close(ruleset);
    errno = why;
    return rc;
}
