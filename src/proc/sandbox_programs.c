/*
 * The table of system calls of starters and programs.  It holds what ordinary
 * programs call: shells, Python, ffmpeg, curl, JavaScript engines, the C
 * libraries of Debian 12 and 13, old and new forms of the same thing.
 *
 * Landlock does not look at modes, owners, times and attributes of a file that
 * has a path: a program of weir's own user could change those of weir.  So they
 * are changed of files that are open alone.  Signals, priorities and limits can
 * reach any process of a user: what has no other use is for oneself alone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox_impl.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Numbers and values that the system's headers may not have yet; those of calls
 * are the same for all processors. */
#define FUTEX_WAITV 449
#define FCHMODAT2 452
#define MAP_SHADOW_STACK 453
#define FUTEX_WAKE_NEW 454
#define FUTEX_WAIT_NEW 455
#define FUTEX_REQUEUE_NEW 456
#define MSEAL 462
#define SETXATTRAT 463
#define GETXATTRAT 464
#define LISTXATTRAT 465
#define REMOVEXATTRAT 466
#define SET_ANONYMOUS_NAME 0x53564d41 /* PR_SET_VMA */
#define GET_AUXILIARY 0x41555856      /* PR_GET_AUXV */
#define SAME_FILE 1027                /* F_DUPFD_QUERY */
#define ONE_PROCESS 1                 /* IOPRIO_WHO_PROCESS */

/* ---- programs, and engines that are among them ---- */

static const int program_calls[] = {
    /* files, where Landlock lets them */
    SYS_mkdirat,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlinkat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mknodat,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_sync_file_range,
    SYS_vmsplice,
    SYS_statfs,
    SYS_chdir,
    SYS_fchdir,
    SYS_umask,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    GETXATTRAT,
    LISTXATTRAT,
    /* memory */
    SYS_mmap,
    SYS_mprotect,
    SYS_msync,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_mlockall,
    SYS_munlockall,
    SYS_mbind,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
    MAP_SHADOW_STACK,
    MSEAL,
    /* processes and threads */
    SYS_execve,
    SYS_wait4,
    SYS_waitid,
    SYS_getsid,
    SYS_getpgid,
    SYS_pidfd_open,
    SYS_capget,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_getattr,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_rr_get_interval,
    SYS_getpriority,
    SYS_ioprio_get,
    FUTEX_WAITV,
    FUTEX_WAKE_NEW,
    FUTEX_WAIT_NEW,
    FUTEX_REQUEUE_NEW,
    /* time */
    SYS_getitimer,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
#ifdef __x86_64__ /* newer processors have the general forms alone */
    SYS_creat,
    SYS_mkdir,
    SYS_rmdir,
    SYS_rename,
    SYS_unlink,
    SYS_link,
    SYS_symlink,
    SYS_mknod,
    SYS_fork,
    SYS_vfork,
    SYS_getpgrp,
    SYS_alarm,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_epoll_create,
    SYS_eventfd,
    SYS_signalfd,
    SYS_arch_prctl,
#endif
};

/* A file that is opened to be read is not emptied: before version 3 Landlock
 * lets it. */
static const struct sandbox_rule file_rules[] = {
    { SYS_openat, { NONE_OF(2, O_TRUNC) } },
    { SYS_openat, { MASKED(2, O_ACCMODE, O_WRONLY) } },
    { SYS_openat, { MASKED(2, O_ACCMODE, O_RDWR) } },
    { SYS_fchmod, { NEVER } }, /* but see below */
    { SYS_utimensat, { NEVER } },
    { SYS_truncate, { NEVER } },
    { SYS_fchmodat, { NEVER } },
    { FCHMODAT2, { NEVER } },
    { SYS_fchown, { NEVER } },
    { SYS_fchownat, { NEVER } },
    { SYS_setxattr, { NEVER } },
    { SYS_lsetxattr, { NEVER } },
    { SYS_fsetxattr, { NEVER } },
    { SETXATTRAT, { NEVER } },
    { SYS_removexattr, { NEVER } },
    { SYS_lremovexattr, { NEVER } },
    { SYS_fremovexattr, { NEVER } },
    { REMOVEXATTRAT, { NEVER } },
#ifdef __x86_64__
    { SYS_open, { NONE_OF(1, O_TRUNC) } },
    { SYS_open, { MASKED(1, O_ACCMODE, O_WRONLY) } },
    { SYS_open, { MASKED(1, O_ACCMODE, O_RDWR) } },
    { SYS_chmod, { NEVER } },
    { SYS_chown, { NEVER } },
    { SYS_lchown, { NEVER } },
    { SYS_utime, { NEVER } },
    { SYS_utimes, { NEVER } },
    { SYS_futimesat, { NEVER } },
#endif
};

/* Of files that are open: a program that writes nothing has none to change, but
 * for those that it reads. */
static const struct sandbox_rule mode_rules[] = {
    { SYS_fchmod, { NONE_OF(1, S_ISUID | S_ISGID) } },
    { SYS_utimensat, { IS_NULL(1) } },
};

/* Nobody is signalled because of a file, as F_SETOWN and FIOASYNC would; no
 * terminal is written to.  Descriptors that the starter makes for a program are
 * its own, so it may make them blocking. */
static const struct sandbox_rule descriptor_rules[] = {
    { SYS_fcntl, { IS(1, F_DUPFD) } },
    { SYS_fcntl, { IS(1, F_DUPFD_CLOEXEC) } },
    { SYS_fcntl, { IS(1, SAME_FILE) } },
    { SYS_fcntl, { IS(1, F_GETFD) } },
    { SYS_fcntl, { IS(1, F_SETFD) } },
    { SYS_fcntl, { IS(1, F_GETFL) } },
    { SYS_fcntl, { IS(1, F_SETFL), NONE_OF(2, O_ASYNC) } },
    { SYS_fcntl, { IS(1, F_GETLK) } },
    { SYS_fcntl, { IS(1, F_SETLK) } },
    { SYS_fcntl, { IS(1, F_SETLKW) } },
    { SYS_fcntl, { IS(1, F_OFD_GETLK) } },
    { SYS_fcntl, { IS(1, F_OFD_SETLK) } },
    { SYS_fcntl, { IS(1, F_OFD_SETLKW) } },
    { SYS_fcntl, { IS(1, F_GETOWN) } },
    { SYS_fcntl, { IS(1, F_GETPIPE_SZ) } },
    { SYS_fcntl, { IS(1, F_SETPIPE_SZ) } },
    { SYS_fcntl, { IS(1, F_GET_SEALS) } },
    { SYS_fcntl, { IS(1, F_ADD_SEALS) } },
    { SYS_ioctl, { IS(1, FIONBIO) } },
    { SYS_ioctl, { IS(1, FIONREAD) } },
    { SYS_ioctl, { IS(1, FIOCLEX) } },
    { SYS_ioctl, { IS(1, FIONCLEX) } },
    { SYS_ioctl, { IS(1, TIOCOUTQ) } },
    { SYS_ioctl, { IS(1, TCGETS) } },
    { SYS_ioctl, { IS(1, TIOCGWINSZ) } },
    { SYS_ioctl, { IS(1, TIOCGPGRP) } },
    { SYS_ioctl, { IS(1, FICLONE) } },
    { SYS_ioctl, { IS(1, FICLONERANGE) } },
};

/* The kernel divides the processors between sessions first (sched(7),
 * autogroups): a run stays in its own, and so has one share, however many
 * processes it makes. */
static const struct sandbox_rule process_rules[] = {
    { SYS_setsid, { NEVER } },
    { SYS_clone, { NONE_OF(0, NEW_NAMES) } },
    { SYS_execveat, { NONE_OF(4, AT_EMPTY_PATH) } },
    { SYS_personality, { IS(0, UINT32_MAX) } }, /* to read it */
    { SYS_personality, { IS(0, PER_LINUX) } },
    /* of itself: 0 */
    { SYS_prlimit64, { IS(0, 0) } },
    { SYS_setpriority, { IS(0, PRIO_PROCESS), IS(1, 0) } },
    { SYS_ioprio_set, { IS(0, ONE_PROCESS), IS(1, 0) } },
    { SYS_sched_setaffinity, { IS(0, 0) } },
    { SYS_sched_setparam, { IS(0, 0) } },
    { SYS_sched_setscheduler, { IS(0, 0), IS(1, SCHED_OTHER) } },
    { SYS_sched_setscheduler, { IS(0, 0), IS(1, SCHED_BATCH) } },
    { SYS_sched_setscheduler, { IS(0, 0), IS(1, SCHED_IDLE) } },
    { SYS_sched_setattr, { NEVER } },
    { SYS_prctl, { IS(0, PR_SET_NAME) } },
    { SYS_prctl, { IS(0, PR_GET_NAME) } },
    { SYS_prctl, { IS(0, PR_SET_PDEATHSIG) } },
    { SYS_prctl, { IS(0, PR_GET_PDEATHSIG) } },
    { SYS_prctl, { IS(0, PR_SET_DUMPABLE) } },
    { SYS_prctl, { IS(0, PR_GET_DUMPABLE) } },
    { SYS_prctl, { IS(0, PR_SET_NO_NEW_PRIVS) } },
    { SYS_prctl, { IS(0, PR_GET_NO_NEW_PRIVS) } },
    { SYS_prctl, { IS(0, PR_GET_SECCOMP) } },
    { SYS_prctl, { IS(0, PR_SET_CHILD_SUBREAPER) } },
    { SYS_prctl, { IS(0, PR_GET_CHILD_SUBREAPER) } },
    { SYS_prctl, { IS(0, PR_SET_TIMERSLACK) } },
    { SYS_prctl, { IS(0, PR_GET_TIMERSLACK) } },
    { SYS_prctl, { IS(0, PR_SET_THP_DISABLE) } },
    { SYS_prctl, { IS(0, PR_GET_THP_DISABLE) } },
    { SYS_prctl, { IS(0, PR_GET_KEEPCAPS) } },
    { SYS_prctl, { IS(0, PR_GET_SECUREBITS) } },
    { SYS_prctl, { IS(0, PR_CAPBSET_READ) } },
    { SYS_prctl, { IS(0, PR_CAP_AMBIENT) } },
    { SYS_prctl, { IS(0, PR_GET_TID_ADDRESS) } },
    { SYS_prctl, { IS(0, PR_GET_SPECULATION_CTRL) } },
    { SYS_prctl, { IS(0, SET_ANONYMOUS_NAME) } },
    { SYS_prctl, { IS(0, GET_AUXILIARY) } },
#ifdef __aarch64__
    { SYS_prctl, { IS(0, PR_SVE_SET_VL) } },
    { SYS_prctl, { IS(0, PR_SVE_GET_VL) } },
    { SYS_prctl, { IS(0, PR_PAC_RESET_KEYS) } },
    { SYS_prctl, { IS(0, PR_SET_TAGGED_ADDR_CTRL) } },
    { SYS_prctl, { IS(0, PR_GET_TAGGED_ADDR_CTRL) } },
#endif
};

/* Connections need these.  An option that connects by sending, or puts another
 * protocol onto a connection, is not among them. */
static const struct sandbox_rule option_rules[] = {
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_LINGER) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_SNDBUF) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_RCVBUF) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_SNDTIMEO) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_RCVTIMEO) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_REUSEADDR) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_OOBINLINE) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_PASSCRED) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_NODELAY) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_CORK) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_QUICKACK) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_MAXSEG) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_NOTSENT_LOWAT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_USER_TIMEOUT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPIDLE) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPINTVL) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPCNT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IP), IS(2, IP_TOS) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IP), IS(2, IP_RECVERR) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IP), IS(2, IP_MTU_DISCOVER) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IPV6), IS(2, IPV6_V6ONLY) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IPV6), IS(2, IPV6_TCLASS) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IPV6), IS(2, IPV6_RECVERR) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IPV6), IS(2, IPV6_MTU_DISCOVER) } },
};

/* ---- programs that are no engines ---- */

/* They filter themselves further, as the starter does for them. */
static const int more_calls[] = {
    SYS_setpgid,
    SYS_seccomp,
    SYS_landlock_create_ruleset,
    SYS_landlock_add_rule,
    SYS_landlock_restrict_self,
};

/* connect() itself is for those with a right to it; C libraries ask a name
 * service by it, and do without. */
static const struct sandbox_rule more_rules[] = {
    { SYS_prctl, { IS(0, PR_SET_SECCOMP) } },
    { SYS_socket, { IS(0, AF_UNIX), IS_TYPE(1, SOCK_STREAM) } },
    { SYS_connect, { NEVER } },
    { SYS_bind, { NEVER } }, /* a name of this machine has no path */
};

/* Names of interfaces come over a socket that is bound.  Its address is shorter
 * than those of TCP. */
static const struct sandbox_rule interface_rules[] = {
    { SYS_socket, { IS(0, AF_NETLINK), IS(2, 0) } },
    { SYS_bind, { IS(2, sizeof(struct sockaddr_nl)) } },
};

/* A file of memory would be a program in no folder, which Landlock does not
 * look at. */
static const struct sandbox_rule sealed_rules[] = {
    { SYS_memfd_create, { MASKED(1, NOT_EXECUTABLE, NOT_EXECUTABLE) } },
};

static const int unsealed_calls[] = { SYS_memfd_create };

/* Its flags lie in memory, where no filter looks. */
static const int kept_calls[] = { SYS_openat2 };

/* ---- engines ---- */

/* Landlock looks at connect() and bind() of TCP alone, so there are no other
 * sockets. */
#define TCP_SOCKET(family, protocol)                                \
    {                                                               \
        SYS_socket,                                                 \
        {                                                           \
            IS(0, family), IS_TYPE(1, SOCK_STREAM), IS(2, protocol) \
        }                                                           \
    }
static const struct sandbox_rule engine_rules[] = {
    TCP_SOCKET(AF_INET, 0),
    TCP_SOCKET(AF_INET, IPPROTO_TCP),
    TCP_SOCKET(AF_INET6, 0),
    TCP_SOCKET(AF_INET6, IPPROTO_TCP),
    { SYS_utimensat, { IS_NULL(1) } }, /* weir-fetch has that of the server */
    { SYS_bind, { NEVER } },
    { SYS_memfd_create, { NEVER } },
    { SYS_setpgid, { SPARES(1) } }, /* it could be signalled as a group */
};

static const int connect_calls[] = { SYS_connect };

/* ---- signals ---- */

static const int signal_calls[] = {
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_send_signal,
};

/* Its supervisor, and all. */
static const struct sandbox_rule spare_rules[] = {
    { SYS_kill, { SPARES(0) } },
    { SYS_tkill, { SPARES(0) } },
    { SYS_tgkill, { SPARES(0) } },
    { SYS_rt_sigqueueinfo, { SPARES(0) } },
    { SYS_rt_tgsigqueueinfo, { SPARES(0) } },
};

/* Its own group: whoever is in there is of its run.  The filter hands the other
 * calls on. */
static const struct sandbox_rule group_rules[] = {
    { SYS_kill, { IS(0, 0) } },
};

/* ---- supervisors and starters ---- */

static const int supervisor_calls[] = { SYS_process_vm_readv };

static const struct sandbox_rule hear_rules[] = {
    { SYS_ioctl, { IS(1, SECCOMP_IOCTL_NOTIF_RECV) } },
    { SYS_ioctl, { IS(1, SECCOMP_IOCTL_NOTIF_SEND) } },
    { SYS_ioctl, { IS(1, SECCOMP_IOCTL_NOTIF_ID_VALID) } },
    { SYS_ioctl, { IS(1, SECCOMP_IOCTL_NOTIF_ADDFD) } },
};

/* A process that it forks has a session and becomes another user; the filter of
 * a program has none of this. */
static const int starter_calls[] = {
    SYS_setsid,    SYS_setgroups, SYS_setuid,   SYS_setresuid,
    SYS_setresgid, SYS_setfsuid,  SYS_setfsgid, SYS_capset,
};

static const struct sandbox_rule starter_rules[] = {
    { SYS_prctl, { IS(0, PR_CAPBSET_DROP) } },
};

/* ---- the table ---- */

#define OF_THESE (OF_PROGRAM | OF_ENGINE)

/* clang-format off */
const struct sandbox_row sandbox_program_rows[] = {
    /* who has it           any arguments            certain arguments */
    { OF_THESE,             LIST(program_calls),     LIST(file_rules) },
    { OF_THESE,             NOTHING,                 LIST(descriptor_rules) },
    { OF_THESE,             NOTHING,                 LIST(process_rules) },
    { OF_THESE,             NOTHING,                 LIST(option_rules) },
    { OF_MODES,             NOTHING,                 LIST(mode_rules) },
    { OF_PROGRAM,           LIST(more_calls),        LIST(more_rules) },
    { OF_NAMES,             NOTHING,                 LIST(interface_rules) },
    { OF_SEALED,            NOTHING,                 LIST(sealed_rules) },
    { OF_UNSEALED,          LIST(unsealed_calls),    NOTHING },
    { OF_KEPT,              LIST(kept_calls),        NOTHING },
    { OF_ENGINE,            NOTHING,                 LIST(engine_rules) },
    { OF_FREE_ENGINE,       LIST(connect_calls),     NOTHING },
    { OF_SIGNALS,           LIST(signal_calls),      NOTHING },
    { OF_SPARING,           NOTHING,                 LIST(spare_rules) },
    { OF_ASKING,            NOTHING,                 LIST(group_rules) },
    { OF_SUPERVISOR,        LIST(supervisor_calls),  NOTHING },
    { OF_SUPERVISOR | OF_STARTER, NOTHING,           LIST(hear_rules) },
    { OF_STARTER,           LIST(starter_calls),     LIST(starter_rules) },
};
/* clang-format on */
const size_t sandbox_program_row_count =
    sizeof(sandbox_program_rows) / sizeof(sandbox_program_rows[0]);
