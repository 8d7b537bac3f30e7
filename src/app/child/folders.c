/*
 * Folders of a role.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/life.h"
#include "proc/reach.h"

/* One that was there stays as it is: it may be somebody's.  Weir does without
 * one that cannot be made now, as on a disk that is not there: its role says
 * so, too. */
static int
make(const char *path, const struct privilege_ids *owner, struct errmsg *err)
{
    int fd, rc = 0;

    if (mkdir(path, 0755) == -1) {
        if (errno != EEXIST) {
            log_warn("cannot make the folder \"%s\": %s", path,
                     strerror(errno));
        }
        return 0;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1 ||
        (geteuid() == 0 && fchown(fd, owner->uid, owner->gid) == -1)) {
        rc = errmsg_sys(err, "cannot give \"%s\" to its user", path);
    }
    if (fd != -1) {
        close(fd);
    }
    return rc;
}

int
folders_make(const struct rights *r, const struct settings *s,
             struct errmsg *err)
{
    struct privilege_ids owner;

    if (r->write.count > 0 &&
        privilege_ids(s->user, s->group, &owner, err) == -1) {
        return -1;
    }
    for (size_t i = 0; i < r->write.count; i++) {
        char path[PATH_MAX];

        str_copy(path, sizeof(path), r->write.items[i]);
        if (make(path, &owner, err) == -1) {
            return -1;
        }
    }
    return 0;
}

int
folders_check(const struct rights *r, bool all, struct errmsg *err)
{
    for (size_t i = 0; i < r->write.count; i++) {
        char path[PATH_MAX];
        struct reach way;

        str_copy(path, sizeof(path), r->write.items[i]);
        way = reach_of(path);
        if (faccessat(way.at, way.path, W_OK | X_OK, 0) == -1 &&
            (all || errno != ENOENT)) {
            return errmsg_sys(err, "%s cannot write into the folder %s",
                              privilege_who(), path);
        }
    }
    return 0;
}
