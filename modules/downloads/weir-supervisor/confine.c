/*
 * Landlock, on top of what the starter took away.
 *
 * Each version of Landlock knows more, and refuses what it does not know.  The
 * system's header may be older than its kernel, so newer numbers are here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/sandbox.h"
#include "supervise.h"

#define TRUNCATE (1ULL << 14) /* version 3 */
#define BIND (1ULL << 0)      /* 4 */
#define CONNECT (1ULL << 1)   /* 4 */
#define RULE_PORT 2           /* 4 */
#define SIGNALS (1ULL << 1)   /* 6 */
#define MAKE_OTHERS                                                 \
    (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |  \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_DIR |    \
     LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define CHANGE                                                        \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
     LANDLOCK_ACCESS_FS_MAKE_REG)

/* struct landlock_ruleset_attr as it has grown. */
struct ruleset {
    uint64_t fs, net, scoped;
};

/* struct landlock_net_port_attr. */
struct port_rule {
    uint64_t allowed, port;
};

static int
cannot_restrict(struct errmsg *err)
{
    return errmsg_sys(err, "cannot restrict files and ports");
}

static int
allow_path(int set, int path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = { access, path };

    return (int)syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH,
                        &rule, 0);
}

static int
allow(const struct supervise *s, int set, const struct ruleset *taken,
      struct errmsg *err)
{
    struct port_rule port = { CONNECT, s->port };
    uint64_t truncate = taken->fs & TRUNCATE;
    int null = open("/dev/null", O_PATH | O_CLOEXEC), rc;

    if (null == -1) {
        return errmsg_sys(err, "cannot open /dev/null");
    }
    rc = allow_path(set, null, LANDLOCK_ACCESS_FS_WRITE_FILE | truncate);
    close(null);
    if (rc == 0 && s->folder != -1) {
        rc = allow_path(set, s->folder, CHANGE | truncate);
    }
    if (rc == 0 && s->port != 0 && taken->net != 0) {
        rc = (int)syscall(SYS_landlock_add_rule, set, RULE_PORT, &port, 0);
    }
    return rc == -1 ? cannot_restrict(err) : 0;
}

static int
restrict_files(const struct supervise *s, int version, struct errmsg *err)
{
    struct ruleset taken = { .fs = CHANGE | MAKE_OTHERS };
    size_t size = sizeof(taken.fs);
    int set, rc;

    if (version >= SANDBOX_HOLDS_SIZES) {
        taken.fs |= TRUNCATE;
    }
    if (version >= SANDBOX_HOLDS_PORTS) {
        taken.net = BIND | CONNECT;
        size = offsetof(struct ruleset, scoped);
    }
    if (version >= SANDBOX_HOLDS_ABSTRACT) {
        taken.scoped = SIGNALS;
        size = sizeof(taken);
    }
    set = (int)syscall(SYS_landlock_create_ruleset, &taken, size, 0);
    if (set == -1) {
        return cannot_restrict(err);
    }
    rc = allow(s, set, &taken, err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, set, 0) == -1) {
        rc = cannot_restrict(err);
    }
    close(set);
    return rc;
}

int
supervise_confine(const struct supervise *s, bool *apart, struct errmsg *err)
{
    int version = sandbox_landlock_version();

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return errmsg_sys(err, "cannot give up new privileges");
    }
    if (version > 0 && restrict_files(s, version, err) == -1) {
        return -1;
    }
    *apart = version >= SANDBOX_HOLDS_ABSTRACT;
    return 0;
}

/* Its files are restricted already: what is taken here once more makes it a
 * domain, which traces none that is outside. */
int
supervise_nest(void)
{
    struct ruleset taken = { .fs = LANDLOCK_ACCESS_FS_MAKE_CHAR };
    int version = sandbox_landlock_version(), set, rc;
    size_t size = sizeof(taken.fs);

    if (version >= SANDBOX_HOLDS_ABSTRACT) {
        taken.scoped = SIGNALS;
        size = sizeof(taken);
    }
    if (version == 0) {
        return 0;
    }
    set = (int)syscall(SYS_landlock_create_ruleset, &taken, size, 0);
    if (set == -1) {
        return -1;
    }
    rc = (int)syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
    return rc;
}
