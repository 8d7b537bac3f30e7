/*
 * Landlock, and filters of system calls, on top of what the starter took away.
 *
 * Each version of Landlock knows more, and refuses what it does not know.  The
 * system's header may be older than its kernel, so newer numbers are here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
allow_path(int set, int path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = { access, path };

    return (int)syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH,
                        &rule, 0);
}

static int
allow(const struct supervise *s, int set, const struct ruleset *taken)
{
    struct port_rule port = { CONNECT, s->port };
    uint64_t truncate = taken->fs & TRUNCATE;
    int null = open("/dev/null", O_PATH | O_CLOEXEC), rc;

    rc = allow_path(set, null, LANDLOCK_ACCESS_FS_WRITE_FILE | truncate);
    close(null);
    if (rc == 0 && s->folder != -1) {
        rc = allow_path(set, s->folder, CHANGE | truncate);
    }
    if (rc == 0 && s->port != 0 && taken->net != 0) {
        rc = (int)syscall(SYS_landlock_add_rule, set, RULE_PORT, &port, 0);
    }
    return rc;
}

static int
restrict_files(const struct supervise *s, int version)
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
        return -1;
    }
    rc = allow(s, set, &taken) == -1
             ? -1
             : (int)syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
    return rc;
}

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define X32_BIT 0x40000000U
#define MEMFD_SECRET 447 /* Linux 5.14, of both processors */
#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define REFUSE_CALL(call) IS(call, 0, 1), REFUSE
#define REFUSE_FLAG(call, argument, flag)                                     \
    IS(call, 0, 4), LOAD(args[argument]),                                     \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(flag), 0, 1), REFUSE, \
        ALLOW

static int
add_filter(struct sock_filter *filter, size_t count)
{
    const struct sock_fprog program = { (unsigned short)count, filter };

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Landlock looks at connect() and bind() of TCP alone.  So no other sockets are
 * made, nothing connects by sending, and nothing listens, which binds a socket
 * to any port.  A ring would make calls that no filter sees. */
static int
restrict_sockets(void)
{
    static struct sock_filter filter[] = {
        LOAD(arch),
        IS(NATIVE, 1, 0),
        REFUSE, /* a processor's other calls have other numbers */
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
        REFUSE,
        REFUSE_CALL(SYS_listen),
        REFUSE_CALL(SYS_accept),
        REFUSE_CALL(SYS_accept4),
        REFUSE_CALL(SYS_io_uring_setup),
        REFUSE_FLAG(SYS_sendto, 3, MSG_FASTOPEN),
        REFUSE_FLAG(SYS_sendmsg, 2, MSG_FASTOPEN),
        REFUSE_FLAG(SYS_sendmmsg, 3, MSG_FASTOPEN),
        IS(SYS_setsockopt, 0, 6),
        LOAD(args[1]),
        IS(IPPROTO_TCP, 0, 3),
        LOAD(args[2]),
        IS(TCP_ULP, 0, 1),
        REFUSE, /* one of them makes it a socket of SMC */
        ALLOW,
        IS(SYS_socket, 1, 0),
        ALLOW,
        LOAD(args[0]),
        IS(AF_INET, 2, 0),
        IS(AF_INET6, 1, 0),
        REFUSE,
        LOAD(args[1]),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
                 ~(uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC)),
        IS(SOCK_STREAM, 1, 0),
        REFUSE,
        LOAD(args[2]),
        IS(0, 2, 0),
        IS(IPPROTO_TCP, 1, 0),
        REFUSE, /* MPTCP, SCTP, SMC */
        ALLOW,
    };

    return add_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

/* Kernel objects that have no process end with nobody, and those of others can
 * be reached.  A file of memory is a program that Landlock does not look at,
 * and so it is not made.  The engine itself is executed by its path, or from a
 * folder. */
static int
restrict_objects(void)
{
    static struct sock_filter filter[] = {
        LOAD(nr), /* the other filter has looked at the processor */
        REFUSE_CALL(SYS_shmget),
        REFUSE_CALL(SYS_shmat),
        REFUSE_CALL(SYS_shmctl),
        REFUSE_CALL(SYS_msgget),
        REFUSE_CALL(SYS_msgsnd),
        REFUSE_CALL(SYS_msgrcv),
        REFUSE_CALL(SYS_msgctl),
        REFUSE_CALL(SYS_semget),
        REFUSE_CALL(SYS_semop),
        REFUSE_CALL(SYS_semtimedop),
        REFUSE_CALL(SYS_semctl),
        REFUSE_CALL(SYS_mq_open),
        REFUSE_CALL(SYS_mq_unlink),
        REFUSE_CALL(SYS_add_key),
        REFUSE_CALL(SYS_request_key),
        REFUSE_CALL(SYS_keyctl),
        REFUSE_CALL(SYS_memfd_create),
        REFUSE_CALL(MEMFD_SECRET),
        REFUSE_FLAG(SYS_execveat, 4, AT_EMPTY_PATH),
        ALLOW,
    };

    return add_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

int
supervise_confine(const struct supervise *s, bool *apart, struct errmsg *err)
{
    int version = sandbox_landlock_version();

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return errmsg_sys(err, "cannot give up new privileges");
    }
    if (version > 0 && restrict_files(s, version) == -1) {
        return errmsg_sys(err, "cannot restrict files and ports");
    }
    if ((restrict_sockets() == -1 || restrict_objects() == -1) &&
        errno != EINVAL && errno != ENOSYS) {
        return errmsg_sys(err, "cannot filter system calls");
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
