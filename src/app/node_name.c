/*
 * Names a node by its host and pid file where no name is configured.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/node_name.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bus.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36

/* Replaces bytes that are not printable ASCII, which a name cannot have. */
static void
make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        *text = *text > ' ' && *text <= '~' ? *text : '_';
    }
}

struct str
node_name(const struct settings *s, char *dst)
{
    char host[HOST_NAME_MAX + 1] = "", path[PATH_MAX];
    struct str pid;
    size_t room;

    if (s->store.node.len > 0) {
        str_copy(dst, LEASE_NODE_MAX + 1, s->store.node);
        return str_from(dst);
    }
    gethostname(host, sizeof(host) - 1);
    pid = realpath(s->pid.ptr, path) != NULL ? str_from(path) : s->pid;
    /* Of a path that is too long the end tells more. */
    room = LEASE_NODE_MAX - 1 - str_from(host).len;
    pid = str_skip(pid, pid.len > room ? pid.len - room : 0);
    snprintf(dst, LEASE_NODE_MAX + 1, "%s:%.*s", host, STR_ARGS(pid));
    make_plain(dst);
    return str_from(dst);
}

static void
read_boot_id(char *dst)
{
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? read(fd, dst, BOOT_ID_LEN) : 0;

    dst[n > 0 ? n : 0] = '\0';
    if (fd != -1) {
        close(fd);
    }
}

struct str
node_place(const struct settings *s, char *dst)
{
    char boot[BOOT_ID_LEN + 1];
    struct stat st;

    read_boot_id(boot);
    if (boot[0] != '\0' && stat(s->pid.ptr, &st) == 0) {
        snprintf(dst, LEASE_NODE_MAX + 1, "%s %llx:%llx", boot,
                 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    } else { /* of this start alone */
        snprintf(dst, LEASE_NODE_MAX + 1, "start %llx",
                 (unsigned long long)store_boot());
    }
    return str_from(dst);
}
