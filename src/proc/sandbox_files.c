/*
 * Landlock: files, listening sockets, ports that are connected to.
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
#include "proc/reach.h"

#define FS_RIGHTS_1 ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)      /* version 2 */
#define FS_TRUNCATE (1ULL << 14)   /* 3 */
#define NET_BIND (1ULL << 0)       /* 4 */
#define NET_CONNECT (1ULL << 1)    /* 4 */
#define FS_IOCTL_DEV (1ULL << 15)  /* 5 */
#define SCOPE_ABSTRACT (1ULL << 0) /* 6 */
#define SCOPE_SIGNAL (1ULL << 1)   /* 6 */
#define RULE_PORT 2

#define READ_FILE LANDLOCK_ACCESS_FS_READ_FILE
#define READ_BELOW (READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define EXECUTE_FILE (READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)
#define EXECUTE_BELOW (READ_BELOW | EXECUTE_FILE)
#define WRITE_FILE (READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)
#define WRITE_BELOW                                                 \
    (READ_BELOW | WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |      \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | FS_REFER)
/* Of programs, too. */
#define MAKE_MORE                                                 \
    (LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
     LANDLOCK_ACCESS_FS_MAKE_SOCK)

/* struct landlock_ruleset_attr as it has grown. */
struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

/* struct landlock_net_port_attr. */
struct port_rule {
    uint64_t allowed;
    uint64_t port;
};

/* The rights that are taken away, of all that this kernel knows. */
static struct ruleset
taken(const struct sandbox *s, int version, size_t *size)
{
    bool any_port = s->rights != NULL && s->rights->connect_any;
    struct ruleset r = { .fs = FS_RIGHTS_1 };

    *size = sizeof(r.fs);
    r.fs |= version >= 2 ? FS_REFER : 0;
    r.fs |= version >= SANDBOX_HOLDS_SIZES ? FS_TRUNCATE : 0;
    r.fs |= version >= 5 ? FS_IOCTL_DEV : 0;
    if (version >= SANDBOX_HOLDS_PORTS) {
        r.net = any_port ? NET_BIND : NET_BIND | NET_CONNECT;
        *size = 2 * sizeof(uint64_t);
    }
    if (version >= SANDBOX_HOLDS_ABSTRACT) {
        /* A child's filter holds signals, and lets it ask who lives. */
        r.scoped = s->kind == SANDBOX_CHILD ? SCOPE_ABSTRACT
                                            : SCOPE_ABSTRACT | SCOPE_SIGNAL;
        *size = sizeof(r);
    }
    return r;
}

/* ---- what is given back ---- */

struct rules {
    int fd; /* the ruleset */
    struct ruleset taken;
};

/* The rights that are given for a directory and for anything else. */
struct access {
    uint64_t below, file;
};

static int
add_path(const struct rules *r, struct str path, const struct access *a)
{
    struct landlock_path_beneath_attr below = { .allowed_access = 0 };
    char name[PATH_MAX];
    struct stat st;
    int rc = -1;

    str_copy(name, sizeof(name), path);
    below.parent_fd = reach_open(name, O_PATH);
    if (below.parent_fd != -1 && fstat(below.parent_fd, &st) == 0) {
        below.allowed_access =
            (S_ISDIR(st.st_mode) ? a->below : a->file) & r->taken.fs;
        rc = (int)syscall(SYS_landlock_add_rule, r->fd,
                          LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    }
    if (below.parent_fd != -1) {
        int why = errno;

        close(below.parent_fd);
        errno = why;
    }
    return rc;
}

static void
add_paths(const struct rules *r, const struct rights_paths *paths,
          const struct access *a, const char *what)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (add_path(r, paths->items[i], a) == -1) {
            log_warn("sandbox: \"%.*s\" will not be %s: %s",
                     STR_ARGS(paths->items[i]), what, strerror(errno));
        }
    }
}

static int
add_ports(const struct rules *r, const struct rights_ports *ports)
{
    if ((r->taken.net & NET_CONNECT) == 0) {
        return 0;
    }
    for (size_t i = 0; i < ports->count; i++) {
        struct port_rule rule = { NET_CONNECT, ports->items[i] };

        if (syscall(SYS_landlock_add_rule, r->fd, RULE_PORT, &rule, 0) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A child executes nothing: its programs are for its starter. */
static int
add_rules(const struct rules *r, const struct sandbox *s)
{
    static const struct access reads = { READ_BELOW, READ_FILE };
    static const struct access executes = { EXECUTE_BELOW, EXECUTE_FILE };
    struct access writes = { WRITE_BELOW, WRITE_FILE };

    if (s->kind != SANDBOX_CHILD) {
        writes.below |= MAKE_MORE;
        add_paths(r, &s->rights->programs, &executes, "executable");
    }
    add_paths(r, &s->rights->read, &reads, "readable");
    add_paths(r, &s->rights->write, &writes, "writable");
    return add_ports(r, &s->rights->ports);
}

int
sandbox_restrict(const struct sandbox *s)
{
    size_t size;
    struct rules r = { .taken = taken(s, sandbox_landlock_version(), &size) };
    int rc = 0, why;

    r.fd = (int)syscall(SYS_landlock_create_ruleset, &r.taken, size, 0);
    if (r.fd == -1) {
        return -1;
    }
    if (s->rights != NULL) {
        rc = add_rules(&r, s);
    }
    if (rc == 0) {
        rc = (int)syscall(SYS_landlock_restrict_self, r.fd, 0);
    }
    why = errno;
    close(r.fd);
    errno = why;
    return rc;
}
