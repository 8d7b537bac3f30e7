/*
 * The filter of system calls, made of the tables' rows for one process.
 *
 * A call that a child may not make raises SIGSYS, whose handler counts it and
 * makes the call return EPERM, so that a caller can go on.  Numbers from after
 * the table was made answer ENOSYS, as on a kernel without them: libraries
 * then do without.
 *
 * Programs have no such handler: it does not live through execve().  Arguments
 * that they may not use are EPERM by errno alone.  Calls of which their table
 * knows nothing are ENOSYS: they are handed on to a listener that counts them,
 * or to a tracer that is not there.  The strongest answer of all filters of a
 * process counts, errno before a listener before a tracer, so a starter's and a
 * supervisor's leave such a call to the filter of what they execute.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox_impl.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
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
#define CODE_MAX 2048

struct filter {
    struct sock_filter code[CODE_MAX];
    unsigned short len;
    /* The answers to calls that are known and not allowed, to those that
     * the table does not know, and to socket() and connect(), and to signals,
     * where they ask. */
    uint32_t refuse, unknown, connects, signals;
    bool foreign_kills; /* calls of another processor; else they are ENOSYS */
    pid_t spared;       /* of OTHERS */
};

static void
add(struct filter *f, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
    assert(f->len < CODE_MAX);
    f->code[f->len++] =
        (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
}

static void
load(struct filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void
load_call(struct filter *f)
{
    load(f, offsetof(struct seccomp_data, nr));
}

static void
give(struct filter *f, uint32_t action)
{
    add(f, BPF_RET | BPF_K, 0, 0, action);
}

/* If what was loaded is value. */
static void
give_if(struct filter *f, uint32_t value, uint32_t action)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    give(f, action);
}

static void
add_calls(struct filter *f, const int *calls, size_t count, uint32_t action)
{
    for (size_t i = 0; i < count; i++) {
        give_if(f, (uint32_t)calls[i], action);
    }
}

/* ---- certain arguments ---- */

/* Passes over the last instruction, a jump, unless one of the numbers was
 * loaded. */
static unsigned
add_others(struct filter *f)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, (uint32_t)f->spared);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, -(uint32_t)f->spared);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, UINT32_MAX);
    add(f, BPF_JMP | BPF_JA, 0, 0, 0);
    return f->len - 1U;
}

/* Goes on with the next instruction if the test is true; returns the place of
 * the jump that is made if it is not. */
static unsigned
add_test(struct filter *f, const struct sandbox_test *t)
{
    size_t at = offsetof(struct seccomp_data, args) +
                t->argument * sizeof(uint64_t) +
                (t->compare == UPPER ? sizeof(uint32_t) : 0);
    uint32_t value = t->compare == SELF ? (uint32_t)getpid() : t->value;

    load(f, at); /* both processors have the lower half first */
    if (t->compare == OTHERS) {
        return add_others(f);
    }
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, t->mask);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, value);
    return f->len - 1U;
}

static void
jump_here(struct filter *f, unsigned from)
{
    unsigned distance = f->len - from - 1;

    if (f->code[from].code == (BPF_JMP | BPF_JA)) {
        f->code[from].k = distance;
    } else {
        f->code[from].jf = (uint8_t)distance;
    }
}

/* A call that fails a test goes on to the next rule, with its number. */
static void
add_rule(struct filter *f, const struct sandbox_rule *r)
{
    unsigned jumps[SANDBOX_TESTS], count = 0;
    unsigned first = f->len;

    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)r->call);
    while (count < SANDBOX_TESTS && r->tests[count].compare != NO_TEST) {
        jumps[count] = add_test(f, &r->tests[count]);
        count++;
    }
    give(f, SECCOMP_RET_ALLOW);
    for (unsigned i = 0; i < count; i++) {
        jump_here(f, jumps[i]);
    }
    load_call(f);
    jump_here(f, first);
}

/* ---- all of it ---- */

static unsigned
rights_of(const struct rights *r)
{
    bool inet = r->connect_any || r->ports.count > 0;
    unsigned has = r->fork ? OF_FORK : 0U;

    has |= r->resize ? OF_RESIZE : 0U;
    has |= r->seal ? OF_SEAL : 0U;
    has |= r->write.count > 0 ? OF_WRITE : 0U;
    has |= rights_connects(r) ? OF_CONNECT : 0U;
    has |= inet ? OF_INET : 0U;
    return has;
}

bool
sandbox_seals_memory(void)
{
    int fd = memfd_create("weir", MFD_CLOEXEC | NOT_EXECUTABLE);

    if (fd != -1) {
        close(fd);
    }
    return fd != -1 || errno != EINVAL;
}

/* Whether Landlock holds that no file is emptied. */
static bool
keeps_files(const struct sandbox *s)
{
    return s->landlock && !sandbox_is_wide() &&
           sandbox_landlock_version() >= SANDBOX_HOLDS_SIZES;
}

/* Whether it has files of its own: all programs write to /dev/null. */
static bool
writes_below(const struct rights *r)
{
    for (size_t i = 0; i < r->write.count; i++) {
        if (!str_eq(r->write.items[i], STR("/dev/null"))) {
            return true;
        }
    }
    return false;
}

/* Whether Landlock holds that it signals its run alone. */
static bool
keeps_signals(const struct sandbox *s)
{
    return s->landlock && !sandbox_is_wide() &&
           sandbox_landlock_version() >= SANDBOX_HOLDS_ABSTRACT;
}

/* Whether somebody hears of its calls. */
static bool
is_heard(const struct sandbox *s)
{
    return s->kind == SANDBOX_PROGRAM && s->listener != NULL &&
           s->seccomp == SANDBOX_SECCOMP_ENFORCE && sandbox_can_hear();
}

/* Which rows are this process's.  A starter has all of its programs. */
static unsigned
who_is(const struct sandbox *s)
{
    static const struct rights none;
    const struct rights *rights = s->rights != NULL ? s->rights : &none;
    unsigned has = rights_of(rights);

    if (s->kind == SANDBOX_CHILD) {
        return has | OF_CHILD | (sandbox_is_wide() ? OF_SANITIZER : OF_NARROW);
    }
    has &= OF_CONNECT | OF_INET;
    has |= OF_PROGRAM | (sandbox_seals_memory() ? OF_SEALED : OF_UNSEALED);
    has |= (has & OF_CONNECT) != 0 ? OF_NAMES : 0U;
    has |= writes_below(rights) ? OF_MODES : 0U;
    has |= keeps_files(s) ? OF_KEPT : 0U;
    has |= s->kind != SANDBOX_PROGRAM ? OF_SUPERVISOR : 0U;
    has |= is_heard(s) && !keeps_signals(s) ? OF_ASKING : OF_SIGNALS;
    return s->kind == SANDBOX_STARTER ? has | OF_STARTER : has;
}

typedef void row_function(struct filter *f, const struct sandbox_row *row);

static void
each_row(struct filter *f, unsigned who, row_function *each)
{
    for (size_t i = 0; i < sandbox_row_count; i++) {
        if ((sandbox_rows[i].of & who) != 0) {
            each(f, &sandbox_rows[i]);
        }
    }
    for (size_t i = 0; i < sandbox_program_row_count; i++) {
        if ((sandbox_program_rows[i].of & who) != 0) {
            each(f, &sandbox_program_rows[i]);
        }
    }
}

static void
allow_certain(struct filter *f, const struct sandbox_row *row)
{
    for (size_t i = 0; i < row->rule_count; i++) {
        add_rule(f, &row->rules[i]);
    }
}

static void
allow_any(struct filter *f, const struct sandbox_row *row)
{
    add_calls(f, row->calls, row->call_count, SECCOMP_RET_ALLOW);
}

/* The kernel runs the filter for calls whose arguments are looked at, and for
 * no others that are allowed (since Linux 5.11): so these stand first. */
static void
allow(struct filter *f, unsigned who)
{
    each_row(f, who, allow_certain);
    each_row(f, who, allow_any);
}

/* A call that has come so far has arguments that no rule takes. */
static void
refuse(struct filter *f, const struct sandbox_row *row)
{
    int last = -1;

    for (size_t i = 0; i < row->rule_count; i++) {
        if (row->rules[i].call != last) {
            last = row->rules[i].call;
            give_if(f, (uint32_t)last, f->refuse);
        }
    }
}

static void
begin(struct filter *f)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
    give(f, f->foreign_kills ? SECCOMP_RET_KILL_PROCESS
                             : SECCOMP_RET_ERRNO | ENOSYS);
    load_call(f);
}

static void
build_child(struct filter *f, unsigned who)
{
    begin(f);
    allow(f, who);
    /* Its flags cannot be looked at: C libraries then use clone(). */
    give_if(f, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0, 2, FIRST_UNKNOWN);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 1, 0, X32_BIT);
    give(f, SECCOMP_RET_ERRNO | ENOSYS);
    give(f, f->refuse);
}

/* Those of a descriptor are not among them: nobody else can say whose it is. */
static const int asked_signals[] = { SYS_kill, SYS_tkill, SYS_tgkill,
                                     SYS_rt_sigqueueinfo,
                                     SYS_rt_tgsigqueueinfo };
#define ASKED_SIGNALS (sizeof(asked_signals) / sizeof(asked_signals[0]))

/* Flags of clone3() and openat2() cannot be looked at; callers have others,
 * where they may not have these. */
static void
build_program(struct filter *f, unsigned who)
{
    begin(f);
    if (f->connects != 0) {
        give_if(f, SYS_connect, f->connects);
        give_if(f, SYS_socket, f->connects);
    }
    allow(f, who);
    if (f->signals != 0) {
        add_calls(f, asked_signals, ASKED_SIGNALS, f->signals);
    }
    each_row(f, who, refuse);
    give_if(f, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    give_if(f, SYS_openat2, SECCOMP_RET_ERRNO | ENOSYS);
    give(f, f->unknown);
}

/* ---- in force ---- */

bool
sandbox_has_filter(void)
{
    uint32_t action = SECCOMP_RET_TRAP;

    return ARCH != 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int
install(const struct filter *f, unsigned flags)
{
    struct sock_fprog program = {
        .len = f->len,
        .filter = (struct sock_filter *)(uintptr_t)f->code,
    };

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* With a listener, which none of the filters before has, where it can be: else
 * nobody hears of calls. */
static int
install_heard(struct filter *f, int *listener)
{
    *listener = install(f, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    return *listener == -1 ? -1 : 0;
}

static int
filter_child(const struct sandbox *s)
{
    struct filter f = { .foreign_kills = true, .refuse = SECCOMP_RET_TRAP };

    if (s->seccomp != SANDBOX_SECCOMP_ENFORCE) {
        f.refuse = SECCOMP_RET_LOG;
    }
    build_child(&f, who_is(s));
    /* Threads that are there already get it too. */
    return install(&f, SECCOMP_FILTER_FLAG_TSYNC) == 0 ? 0 : -1;
}

static int
filter_program(const struct sandbox *s)
{
    bool heard = is_heard(s);
    unsigned who = who_is(s);
    struct filter f = { .refuse = SECCOMP_RET_ERRNO | EPERM,
                        .unknown = heard ? SECCOMP_RET_USER_NOTIF
                                         : SECCOMP_RET_TRACE };

    if (s->listener != NULL) {
        *s->listener = -1;
    }
    if (s->seccomp != SANDBOX_SECCOMP_ENFORCE) {
        f.refuse = f.unknown = SECCOMP_RET_LOG;
    }
    f.signals = (who & OF_ASKING) != 0 ? SECCOMP_RET_USER_NOTIF : 0;
    build_program(&f, who);
    return heard ? install_heard(&f, s->listener) : install(&f, 0);
}

int
sandbox_filter(const struct sandbox *s)
{
    return s->kind == SANDBOX_CHILD ? filter_child(s) : filter_program(s);
}

int
sandbox_engine_filter(unsigned flags, pid_t spared, int *listener)
{
    bool heard = sandbox_can_hear();
    bool asks = (flags & SANDBOX_ENGINE_ASKS) != 0;
    struct filter f = { .refuse = SECCOMP_RET_ERRNO | EACCES,
                        .unknown = heard ? SECCOMP_RET_USER_NOTIF
                                         : SECCOMP_RET_ERRNO | ENOSYS,
                        .spared = spared };
    unsigned who = OF_ENGINE | (asks ? 0U : OF_FREE_ENGINE);

    *listener = -1;
    if (!sandbox_has_filter()) {
        return 0;
    }
    if (asks) {
        f.connects = heard ? SECCOMP_RET_USER_NOTIF : f.refuse;
    }
    if (heard && (flags & SANDBOX_ENGINE_SIGNALS) != 0) {
        f.signals = SECCOMP_RET_USER_NOTIF;
    }
    build_program(&f, who | (f.signals != 0 ? OF_ASKING : OF_SPARING));
    return heard ? install_heard(&f, listener) : install(&f, 0);
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
