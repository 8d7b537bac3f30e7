/*
 * Catching the signals of a crash.
 *
 * The stack is walked by the unwinder of the compiler's library: the tables
 * it reads are in every binary, no frame pointer is needed.  It is called
 * once while all is well, so that nothing is loaded or allocated later.  A
 * fault in the handler itself kills at once, because the signals are blocked
 * there: what was written until then is what the master gets.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/crash_dump.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "proc/shared.h"

#define STACK_SIZE 65536 /* a stack that has overflown is of no use */

/* A slot's place.  All processes can write to it. */
struct words {
    _Atomic int signal;     /* 0: nothing was said */
    _Atomic uint32_t whole; /* 1: nothing is going to be added */
    _Atomic uint32_t count; /* of said.frames; said.count is not used */
    struct crash_dump said;
};

static struct {
    struct words *all; /* shared; NULL while there is no room */
    uint32_t slots;
    struct words *own; /* NULL: not a child */
} words;

static _Alignas(16) char stack[STACK_SIZE];

int
crash_dump_create(uint32_t slots, struct errmsg *err)
{
    words.all = shared_create("weir last words", slots * sizeof(struct words),
                              SHARED_ALL, err);
    if (words.all == NULL) {
        return -1;
    }
    words.slots = slots;
    return 0;
}

void
crash_dump_destroy(void)
{
    shared_destroy(words.all);
    words.all = words.own = NULL;
    words.slots = 0;
}

int
crash_dump_signal(void)
{
    return words.all != NULL ? SIGRTMIN + 1 : 0;
}

bool
crash_dump_read(uint32_t slot, struct crash_dump *out)
{
    const struct words *w = slot < words.slots ? &words.all[slot] : NULL;
    int number = w != NULL ? atomic_load(&w->signal) : 0;
    uint32_t count;

    if (number == 0) {
        return false;
    }
    count = atomic_load(&w->count);
    *out = w->said;
    out->signal = number;
    out->count = count < LAST_WORDS_FRAMES ? count : LAST_WORDS_FRAMES;
    return true;
}

bool
crash_dump_whole(uint32_t slot)
{
    const struct words *w = slot < words.slots ? &words.all[slot] : NULL;

    return w != NULL && atomic_load(&w->signal) != 0 &&
           atomic_load(&w->whole) != 0;
}

void
crash_dump_forget(uint32_t slot)
{
    if (slot < words.slots) {
        struct words *w = &words.all[slot];

        atomic_store(&w->count, 0);
        atomic_store(&w->whole, 0);
        atomic_store(&w->signal, 0);
    }
}

/* ---- registers ---- */

#if defined(__x86_64__)
#define POINTERS true

static void
copy_pointers(struct crash_dump *w, const ucontext_t *c)
{
    w->ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
    w->sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
}

/* The caller of an address that is no function: the return address is on top of
 * the stack. */
static uint64_t
caller(const ucontext_t *c)
{
    uint64_t address;

    memcpy(&address, (const void *)(uintptr_t)c->uc_mcontext.gregs[REG_RSP],
           sizeof(address));
    return address;
}

#elif defined(__aarch64__)
#define POINTERS true

static void
copy_pointers(struct crash_dump *w, const ucontext_t *c)
{
    w->ip = c->uc_mcontext.pc;
    w->sp = c->uc_mcontext.sp;
}

static uint64_t
caller(const ucontext_t *c)
{
    return c->uc_mcontext.regs[30];
}

#else /* the walk alone */
#define POINTERS false

static void
copy_pointers(struct crash_dump *w, const ucontext_t *c)
{
    (void)c;
    w->ip = w->sp = 0;
}

static uint64_t
caller(const ucontext_t *c)
{
    (void)c;
    return 0;
}

#endif

/* ---- the handler ---- */

struct walk {
    struct words *w;
    bool inside; /* of what was interrupted: behind the handler's frames */
};

static _Unwind_Reason_Code
on_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    struct words *w = walk->w;
    uint64_t ip = _Unwind_GetIP(context);
    uint32_t n = atomic_load(&w->count);

    if (!walk->inside) {
        walk->inside = ip == w->said.ip;
        return _URC_NO_REASON;
    }
    if (n >= LAST_WORDS_FRAMES || ip == 0) {
        return _URC_END_OF_STACK;
    }
    w->said.frames[n] = ip;
    atomic_store(&w->count, n + 1);
    return _URC_NO_REASON;
}

static void
say(struct words *w, int number, const siginfo_t *info, const void *context)
{
    struct walk walk = { .w = w, .inside = !POINTERS };
    int none = 0;

    /* Of two threads that crash the first is heard. */
    if (!atomic_compare_exchange_strong(&w->signal, &none, number)) {
        return;
    }
    copy_pointers(&w->said, context);
    w->said.code = info->si_code;
    w->said.thread = gettid();
    w->said.sender = info->si_code <= 0 ? info->si_pid : 0;
    w->said.address =
        info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    _Unwind_Backtrace(on_frame, &walk);
    if (atomic_load(&w->count) == 0) {
        w->said.frames[0] = caller(context);
        atomic_store(&w->count, 1);
    }
    atomic_store(&w->whole, 1);
}

static void
on_crash(int number, siginfo_t *info, void *context)
{
    say(words.own, number, info, context);
    /* It is blocked here, so it comes when the handler is left. */
    signal(number, SIG_DFL);
    raise(number);
}

static void
on_question(int number, siginfo_t *info, void *context)
{
    int before = errno;

    say(words.own, number, info, context);
    errno = before;
}

/* ---- listening ---- */

static _Unwind_Reason_Code
stop_at_once(struct _Unwind_Context *context, void *arg)
{
    (void)context;
    (void)arg;
    return _URC_END_OF_STACK;
}

static void
use_own_stack(void)
{
    stack_t now, own = { .ss_sp = stack, .ss_size = sizeof(stack) };

    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
        sigaltstack(&own, NULL);
    }
}

void
crash_dump_listen(uint32_t slot)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    struct sigaction action = { .sa_flags =
                                    SA_SIGINFO | SA_ONSTACK | SA_RESTART };

    if (slot >= words.slots) {
        return;
    }
    words.own = &words.all[slot];
    use_own_stack();
    _Unwind_Backtrace(stop_at_once, NULL);
    sigfillset(&action.sa_mask);
    action.sa_sigaction = on_crash;
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        sigaction(crashes[i], &action, NULL);
    }
    action.sa_sigaction = on_question;
    sigaction(crash_dump_signal(), &action, NULL);
}
