/*
 * The filter of system calls: a list of what a worker needs, some of it only
 * with certain arguments; all else is refused.
 *
 * A refused call raises SIGSYS, whose handler counts it and makes the call
 * return EPERM, so that a caller can go on.  Numbers from after this list was
 * made answer ENOSYS, as on a kernel without them: libraries then do without.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox_impl.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "proc/metrics.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0U /* no filter */
#endif

#define X32_BIT 0x40000000U
#define FIRST_UNKNOWN 451U /* Linux 6.3 */
#define CODE_MAX 512
#define NEW_NAMES 0x7e020080UL /* CLONE_NEW*: name spaces */

static const int plain[] = {
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
    SYS_openat2,
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
    SYS_memfd_create,
    /* memory */
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mincore,
    SYS_membarrier,
    /* events and sockets; not bind and listen */
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
    SYS_socketpair,
    SYS_connect,
    SYS_accept,
    SYS_accept4,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    SYS_io_uring_enter,
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

/* For the sanitizers: they stop the process to look for leaks, in a thread
 * of their own kind, and write their reports. */
static const int wide[] = {
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

struct filter {
    struct sock_filter code[CODE_MAX];
    unsigned short len;
    uint32_t refuse; /* what happens to calls that are not allowed */
};

static void
add(struct filter *f, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
    f->code[f->len++] =
        (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
}

static void
load(struct filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void
give(struct filter *f, uint32_t action)
{
    add(f, BPF_RET | BPF_K, 0, 0, action);
}

/* If what was loaded is value: allowed. */
static void
allow_if(struct filter *f, uint32_t value)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    give(f, SECCOMP_RET_ALLOW);
}

/* The lower half of an argument; both processors have it first. */
static void
load_argument(struct filter *f, unsigned i)
{
    load(f, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t));
}

/* The rules between begin() and end() are for one call alone, which is refused
 * when none of them allows it. */
static unsigned
begin(struct filter *f, int call)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)call);
    return f->len;
}

static void
end(struct filter *f, unsigned first)
{
    give(f, f->refuse);
    f->code[first - 1].jf = (uint8_t)(f->len - first);
}

static void
allow_masked(struct filter *f, int call, unsigned argument, uint32_t mask,
             uint32_t value)
{
    unsigned first = begin(f, call);

    load_argument(f, argument);
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    allow_if(f, value);
    end(f, first);
}

static void
allow_values(struct filter *f, int call, unsigned argument,
             const uint32_t *values, unsigned count)
{
    unsigned first = begin(f, call);

    load_argument(f, argument);
    for (unsigned i = 0; i < count; i++) {
        allow_if(f, values[i]);
    }
    end(f, first);
}

/* ---- with certain arguments ---- */

#define VALUES(call, argument, ...)                                   \
    do {                                                              \
        static const uint32_t values[] = { __VA_ARGS__ };             \
        allow_values(f, call, argument, values,                       \
                     (unsigned)(sizeof(values) / sizeof(values[0]))); \
    } while (0)

/* Locks, and harmless commands.  Neither seals nor the receiver of a file's
 * signals.  A descriptor that does not block never may: the master shares
 * eventfds and sockets, and must not be made to wait for them. */
static void
add_fcntl(struct filter *f)
{
    static const uint32_t commands[] = { F_GETFD,         F_SETFD,    F_GETFL,
                                         F_DUPFD_CLOEXEC, F_GETLK,    F_SETLK,
                                         F_SETLKW,        F_GET_SEALS };
    unsigned first = begin(f, SYS_fcntl);

    load_argument(f, 1);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        allow_if(f, commands[i]);
    }
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, F_SETFL);
    load_argument(f, 2);
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, O_NONBLOCK);
    allow_if(f, O_NONBLOCK);
    end(f, first);
}

/* Signals to this process alone; 0, which asks whether there is one, to
 * all. */
static void
add_signals(struct filter *f)
{
    uint32_t self = (uint32_t)getpid();
    unsigned first = begin(f, SYS_kill);

    load_argument(f, 1);
    allow_if(f, 0);
    load_argument(f, 0);
    allow_if(f, self);
    end(f, first);
    allow_masked(f, SYS_tgkill, 0, UINT32_MAX, self);
}

/* Reading limits, not setting them: a pointer of both halves 0. */
static void
add_limits(struct filter *f)
{
    size_t upper =
        offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t) + 4;
    unsigned first = begin(f, SYS_prlimit64);

    load_argument(f, 2);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    load(f, upper);
    allow_if(f, 0);
    end(f, first);
}

/* The options of connections.  Those that turn a listening socket, which all
 * workers share, against the others are left out: filters, locks on them, the
 * choice among sockets of one port. */
static void
add_socket_options(struct filter *f)
{
    static const int allowed[][2] = {
        { SOL_SOCKET, SO_KEEPALIVE },
        { SOL_SOCKET, SO_LINGER },
        { SOL_SOCKET, SO_SNDBUF },
        { SOL_SOCKET, SO_RCVBUF },
        { IPPROTO_TCP, TCP_NODELAY },
        { IPPROTO_TCP, TCP_NOTSENT_LOWAT },
        { IPPROTO_TCP, TCP_USER_TIMEOUT },
        { IPPROTO_TCP, TCP_KEEPIDLE },
        { IPPROTO_TCP, TCP_KEEPINTVL },
        { IPPROTO_TCP, TCP_KEEPCNT },
        { IPPROTO_TCP, TCP_ULP },
        { SOL_TLS, TLS_TX },
        { SOL_TLS, TLS_RX },
        { IPPROTO_IP, IP_RECVERR },
        { IPPROTO_IPV6, IPV6_RECVERR },
    };
    unsigned first = begin(f, SYS_setsockopt);

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        load_argument(f, 1);
        add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)allowed[i][0]);
        load_argument(f, 2);
        allow_if(f, (uint32_t)allowed[i][1]);
    }
    end(f, first);
}

static void
add_narrow(struct filter *f)
{
    allow_masked(f, SYS_clone, 0, CLONE_THREAD | NEW_NAMES, CLONE_THREAD);
    allow_masked(f, SYS_mmap, 2, PROT_EXEC, 0);
    allow_masked(f, SYS_mprotect, 2, PROT_EXEC, 0);
    allow_masked(f, SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
#ifdef __x86_64__
    allow_masked(f, SYS_open, 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
#endif
    VALUES(SYS_prctl, 0, PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE,
           PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_NO_NEW_PRIVS,
           PR_GET_SECCOMP);
    add_signals(f);
    add_limits(f);
}

static void
add_calls(struct filter *f, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        allow_if(f, (uint32_t)calls[i]);
    }
}

static void
build(struct filter *f, bool file_sizes)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
    give(f, SECCOMP_RET_KILL_PROCESS);
    load(f, offsetof(struct seccomp_data, nr));
    add_calls(f, plain, sizeof(plain) / sizeof(plain[0]));
    if (sandbox_is_wide()) {
        add_calls(f, wide, sizeof(wide) / sizeof(wide[0]));
    } else {
        add_narrow(f);
    }
    if (file_sizes) {
        allow_if(f, SYS_ftruncate);
    }
    add_fcntl(f);
    VALUES(SYS_socket, 0, AF_UNIX, AF_INET, AF_INET6);
    add_socket_options(f);
    VALUES(SYS_ioctl, 1, FIONREAD, FIOCLEX, TCGETS);
    /* Its flags cannot be looked at: C libraries then use clone(). */
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3);
    give(f, SECCOMP_RET_ERRNO | ENOSYS);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0, 2, FIRST_UNKNOWN);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 1, 0, X32_BIT);
    give(f, SECCOMP_RET_ERRNO | ENOSYS);
    give(f, f->refuse);
}

/* ---- in force ---- */

bool
sandbox_has_filter(void)
{
    uint32_t action = SECCOMP_RET_TRAP;

    return ARCH != 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int
sandbox_filter(bool enforce, bool file_sizes)
{
    struct filter f = {
        .refuse = enforce ? SECCOMP_RET_TRAP : SECCOMP_RET_LOG,
    };

    build(&f, file_sizes);
    struct sock_fprog program = { .len = f.len, .filter = f.code };

    /* Threads that are there already get it too. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                &program) != 0) {
        return -1;
    }
    return 0;
}

/* ---- refused calls ---- */

static _Atomic unsigned refused;
static _Atomic int last_refused;

static void
answer(ucontext_t *c)
{
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
    c->uc_mcontext.regs[0] = (uint64_t)-EPERM;
#else
    (void)c;
#endif
}

static void
on_refused(int number, siginfo_t *info, void *context)
{
    (void)number;
    atomic_store(&last_refused, info->si_syscall);
    atomic_fetch_add(&refused, 1);
    metric_add_shared(&proc_metrics[PROC_SANDBOX_REFUSED], 0, 1);
    answer(context);
}

int
sandbox_catch(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
    sigset_t set;

    action.sa_sigaction = on_refused;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    if (sigprocmask(SIG_UNBLOCK, &set, NULL) == -1) {
        return -1;
    }
    return sigaction(SIGSYS, &action, NULL);
}

unsigned
sandbox_refused(int *last)
{
    *last = atomic_load(&last_refused);
    return atomic_load(&refused);
}
