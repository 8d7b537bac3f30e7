/*
 * The filter of system calls, made of the table's rows for one process.
 *
 * A call that a child may not make raises SIGSYS, whose handler counts it and
 * makes the call return EPERM, so that a caller can go on.  Numbers from after
 * the table was made answer ENOSYS, as on a kernel without them: libraries
 * then do without.
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
#define CODE_MAX 1024

struct filter {
    struct sock_filter code[CODE_MAX];
    unsigned short len;
    uint32_t refuse; /* what happens to calls that are not allowed */
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
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, t->mask);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, value);
    return f->len - 1U;
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
        f->code[jumps[i]].jf = (uint8_t)(f->len - jumps[i] - 1);
    }
    load_call(f);
    f->code[first].jf = (uint8_t)(f->len - first - 1);
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

/* Which rows are this process's. */
static unsigned
who_is(const struct sandbox *s)
{
    static const struct rights none;
    unsigned has = rights_of(s->rights != NULL ? s->rights : &none);

    if (s->kind != SANDBOX_CHILD) {
        return has | OF_PROGRAM;
    }
    return has | OF_CHILD | (sandbox_is_wide() ? OF_SANITIZER : OF_NARROW);
}

static void
add_rows(struct filter *f, unsigned who)
{
    for (size_t i = 0; i < sandbox_row_count; i++) {
        const struct sandbox_row *row = &sandbox_rows[i];

        if ((row->of & who) == 0) {
            continue;
        }
        add_calls(f, row->calls, row->call_count, SECCOMP_RET_ALLOW);
        for (size_t j = 0; j < row->rule_count; j++) {
            add_rule(f, &row->rules[j]);
        }
    }
}

static void
build(struct filter *f, const struct sandbox *s)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
    give(f, SECCOMP_RET_KILL_PROCESS);
    load_call(f);
    add_rows(f, who_is(s));
    /* Its flags cannot be looked at: C libraries then use clone(). */
    give_if(f, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 0, 2, FIRST_UNKNOWN);
    add(f, BPF_JMP | BPF_JGE | BPF_K, 1, 0, X32_BIT);
    give(f, SECCOMP_RET_ERRNO | ENOSYS);
    if (s->kind == SANDBOX_CHILD) {
        give(f, f->refuse);
    } else {
        add_calls(f, sandbox_never, sandbox_never_count, f->refuse);
        add(f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
        give(f, f->refuse);
        give(f, SECCOMP_RET_ALLOW);
    }
}

/* ---- in force ---- */

bool
sandbox_has_filter(void)
{
    uint32_t action = SECCOMP_RET_TRAP;

    return ARCH != 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static uint32_t
how_to_refuse(const struct sandbox *s)
{
    if (s->seccomp != SANDBOX_SECCOMP_ENFORCE) {
        return SECCOMP_RET_LOG;
    }
    return s->kind == SANDBOX_CHILD ? SECCOMP_RET_TRAP
                                    : SECCOMP_RET_ERRNO | EPERM;
}

int
sandbox_filter(const struct sandbox *s)
{
    struct filter f = { .refuse = how_to_refuse(s) };

    build(&f, s);
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
