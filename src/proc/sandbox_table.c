/*
 * The table of system calls: who may make which, some of them only with
 * certain arguments.  sandbox_rows, at the end, is the whole of it.
 *
 * A process has the rows of its kind and those of its rights.  No row takes
 * away a call that another row allows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox_impl.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- everybody ---- */

/* To send can be to connect, which Landlock does not look at.  A process that
 * connects to nothing has sockets, too.  The kernel takes no such flag from a
 * message itself. */
static const struct sandbox_rule send_rules[] = {
    { SYS_sendto, { NONE_OF(3, MSG_FASTOPEN) } },
    { SYS_sendmsg, { NONE_OF(2, MSG_FASTOPEN) } },
    { SYS_sendmmsg, { NONE_OF(3, MSG_FASTOPEN) } },
};

/* A datagram takes an address of its own, also from one end of a pair: it
 * would reach any socket of this machine that has a path, which Landlock does
 * not look at.  A stream goes to the other end alone. */
static const struct sandbox_rule pair_rules[] = {
    { SYS_socketpair, { IS(0, AF_UNIX), IS_TYPE(1, SOCK_STREAM) } },
    { SYS_socketpair, { IS(0, AF_UNIX), IS_TYPE(1, SOCK_SEQPACKET) } },
};

static const int everybodys[] = {
    /* files that are open, and looking at those that may be read */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_close,
    SYS_close_range,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_fadvise64,
    SYS_readahead,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_copy_file_range,
    SYS_getcwd,
    SYS_fstatfs,
    /* memory */
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mincore,
    SYS_membarrier,
    /* events and sockets that are there */
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_signalfd4,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    /* threads, time, signals to oneself */
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_set_tid_address,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_gettimeofday,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_times,
    SYS_getrusage,
    SYS_getcpu,
    SYS_sysinfo,
    SYS_uname,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_getrandom,
#ifdef __x86_64__ /* newer processors have the general forms alone */
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_dup2,
    SYS_pipe,
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
    SYS_time,
    SYS_getdents,
    SYS_pause,
#endif
};

/* ---- every child ---- */

static const int base[] = {
    SYS_openat2, /* Landlock holds it; nobody writes but to what it names */
    SYS_memfd_create,
    /* of sockets that are there: not bind and listen */
    SYS_accept,
    SYS_accept4,
    SYS_io_uring_enter,
};

/* A descriptor is not made blocking: eventfds and sockets are shared with the
 * master, which must not be made to wait for them.  Neither seals nor who is
 * signalled of a file are set.
 *
 * Of options of sockets, what connections need.  Not what turns a listening
 * socket, which all workers share, against the others: filters, locks on them,
 * the choice among sockets of one port.
 *
 * Limits are read and not set.  Signals go to this process alone; 0, which
 * asks whether there is one, to all. */
static const struct sandbox_rule base_rules[] = {
    { SYS_fcntl, { IS(1, F_GETFD) } },
    { SYS_fcntl, { IS(1, F_SETFD) } },
    { SYS_fcntl, { IS(1, F_GETFL) } },
    { SYS_fcntl, { IS(1, F_SETFL), MASKED(2, O_NONBLOCK, O_NONBLOCK) } },
    { SYS_fcntl, { IS(1, F_DUPFD_CLOEXEC) } },
    { SYS_fcntl, { IS(1, F_GETLK) } },
    { SYS_fcntl, { IS(1, F_SETLK) } },
    { SYS_fcntl, { IS(1, F_SETLKW) } },
    { SYS_fcntl, { IS(1, F_GET_SEALS) } },
    { SYS_ioctl, { IS(1, FIONREAD) } },
    { SYS_ioctl, { IS(1, FIOCLEX) } },
    { SYS_ioctl, { IS(1, TCGETS) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_LINGER) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_SNDBUF) } },
    { SYS_setsockopt, { IS(1, SOL_SOCKET), IS(2, SO_RCVBUF) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_NODELAY) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_NOTSENT_LOWAT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_USER_TIMEOUT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPIDLE) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPINTVL) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_KEEPCNT) } },
    { SYS_setsockopt, { IS(1, IPPROTO_TCP), IS(2, TCP_ULP) } },
    { SYS_setsockopt, { IS(1, SOL_TLS), IS(2, TLS_TX) } },
    { SYS_setsockopt, { IS(1, SOL_TLS), IS(2, TLS_RX) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IP), IS(2, IP_RECVERR) } },
    { SYS_setsockopt, { IS(1, IPPROTO_IPV6), IS(2, IPV6_RECVERR) } },
};

/* Threads and no processes; no code; files are opened to be read. */
static const struct sandbox_rule narrow_rules[] = {
    { SYS_clone, { MASKED(0, CLONE_THREAD | NEW_NAMES, CLONE_THREAD) } },
    { SYS_mmap, { NONE_OF(2, PROT_EXEC) } },
    { SYS_mprotect, { NONE_OF(2, PROT_EXEC) } },
    { SYS_openat, { NONE_OF(2, O_ACCMODE | O_CREAT | O_TRUNC) } },
#ifdef __x86_64__
    { SYS_open, { NONE_OF(1, O_ACCMODE | O_CREAT | O_TRUNC) } },
#endif
    { SYS_prctl, { IS(0, PR_SET_NAME) } },
    { SYS_prctl, { IS(0, PR_GET_NAME) } },
    { SYS_prctl, { IS(0, PR_GET_DUMPABLE) } },
    { SYS_prctl, { IS(0, PR_SET_PDEATHSIG) } },
    { SYS_prctl, { IS(0, PR_GET_PDEATHSIG) } },
    { SYS_prctl, { IS(0, PR_GET_NO_NEW_PRIVS) } },
    { SYS_prctl, { IS(0, PR_GET_SECCOMP) } },
    { SYS_kill, { IS(1, 0) } },
    { SYS_kill, { IS_SELF(0) } },
    { SYS_tgkill, { IS_SELF(0) } },
    { SYS_prlimit64, { IS_NULL(2) } },
};

/* The sanitizers stop the process to look for leaks, in a thread of their own
 * kind, and write their reports. */
static const int sanitizer[] = {
    SYS_ptrace,      SYS_clone,          SYS_wait4,
    SYS_prctl,       SYS_kill,           SYS_tgkill,
    SYS_openat,      SYS_mmap,           SYS_mprotect,
    SYS_prlimit64,   SYS_unlinkat,       SYS_mkdirat,
    SYS_personality, SYS_sched_getparam, SYS_sched_getscheduler,
#ifdef __x86_64__
    SYS_arch_prctl,  SYS_open,           SYS_fork,
    SYS_unlink,      SYS_mkdir,          SYS_getrlimit,
#endif
};

/* ---- rights ---- */

/* A process that it made is ended by the descriptor that clone() gave: a
 * number could be anybody's. */
static const int fork_calls[] = {
    SYS_wait4,
    SYS_waitid,
    SYS_pidfd_send_signal,
#ifdef __x86_64__
    SYS_fork,
#endif
};

static const struct sandbox_rule fork_rules[] = {
    { SYS_clone, { NONE_OF(0, NEW_NAMES) } },
};

static const int resize_calls[] = { SYS_ftruncate };

static const struct sandbox_rule seal_rules[] = {
    { SYS_fcntl, { IS(1, F_ADD_SEALS) } },
};

/* Where, Landlock says.  Hard and symbolic links are not made. */
static const int write_calls[] = {
    SYS_openat,   SYS_mkdirat,   SYS_renameat,  SYS_renameat2,
    SYS_unlinkat, SYS_ftruncate, SYS_fallocate, SYS_sync_file_range,
#ifdef __x86_64__
    SYS_open,     SYS_mkdir,     SYS_rename,    SYS_unlink,
    SYS_rmdir,
#endif
};

/* Modes and times of files that are open alone, which Landlock does not look
 * at; who executes them does not become their owner. */
static const struct sandbox_rule write_rules[] = {
    { SYS_fchmod, { NONE_OF(1, S_ISUID | S_ISGID) } },
    { SYS_utimensat, { IS_NULL(1) } },
};

static const int connect_calls[] = { SYS_connect };

static const struct sandbox_rule connect_rules[] = {
    { SYS_socket, { IS(0, AF_UNIX), IS_TYPE(1, SOCK_STREAM) } },
};

/* Of another protocol that streams (MPTCP, SCTP, SMC), Landlock does not look
 * at the port. */
static const struct sandbox_rule inet_rules[] = {
    { SYS_socket, { IS(0, AF_INET), IS(2, 0) } },
    { SYS_socket, { IS(0, AF_INET), IS(2, IPPROTO_TCP) } },
    { SYS_socket, { IS(0, AF_INET), IS(2, IPPROTO_UDP) } },
    { SYS_socket, { IS(0, AF_INET6), IS(2, 0) } },
    { SYS_socket, { IS(0, AF_INET6), IS(2, IPPROTO_TCP) } },
    { SYS_socket, { IS(0, AF_INET6), IS(2, IPPROTO_UDP) } },
};

/* ---- the table ---- */

/* clang-format off */
const struct sandbox_row sandbox_rows[] = {
    /* who has it               any arguments          certain arguments */
    { OF_ALL,                   LIST(everybodys),      LIST(send_rules) },
    { OF_ALL,                   NOTHING,               LIST(pair_rules) },
    { OF_CHILD,                 LIST(base),            LIST(base_rules) },
    { OF_NARROW,                NOTHING,               LIST(narrow_rules) },
    { OF_SANITIZER,             LIST(sanitizer),       NOTHING },
    { OF_FORK,                  LIST(fork_calls),      LIST(fork_rules) },
    { OF_RESIZE,                LIST(resize_calls),    NOTHING },
    { OF_SEAL,                  NOTHING,               LIST(seal_rules) },
    { OF_WRITE,                 LIST(write_calls),     LIST(write_rules) },
    { OF_CONNECT,               LIST(connect_calls),   LIST(connect_rules) },
    { OF_INET,                  NOTHING,               LIST(inet_rules) },
};
/* clang-format on */
const size_t sandbox_row_count = sizeof(sandbox_rows) / sizeof(sandbox_rows[0]);
