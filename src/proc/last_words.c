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
#include "proc/last_words.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "proc/shared.h"

#define STACK_SIZE 65536 /* a stack that has overflown is of no use */

static struct {
    struct last_words *all; /* shared; NULL while there is no room */
    uint32_t slots;
    size_t size;
    int fd;
    struct last_words *own; /* NULL: not a child */
} words = { .fd = -1 };

static _Alignas(16) char stack[STACK_SIZE];

int
last_words_create(uint32_t slots, struct errmsg *err)
{
    size_t size = slots * sizeof(struct last_words);

    words.all = shared_create("weir last words", size, &words.fd, err);
    if (words.all == NULL) {
        return -1;
    }
    words.slots = slots;
    words.size = size;
    return 0;
}

void
last_words_destroy(void)
{
    shared_destroy(words.all, words.size, &words.fd);
    words.all = words.own = NULL;
    words.slots = 0;
}

int
last_words_signal(void)
{
    return words.all != NULL ? SIGRTMIN + 1 : 0;
}

const struct last_words *
last_words_of(uint32_t slot)
{
    const struct last_words *w = slot < words.slots ? &words.all[slot] : NULL;

    return w != NULL && atomic_load(&w->signal) != 0 ? w : NULL;
}

void
last_words_forget(uint32_t slot)
{
    if (slot < words.slots) {
        struct last_words *w = &words.all[slot];

        atomic_store(&w->count, 0);
        atomic_store(&w->whole, false);
        atomic_store(&w->signal, 0);
    }
}

/* ---- registers ---- */

#if defined(__x86_64__)

/* In the order of gregs. */
static const char *const names[] = { "r8",  "r9",  "r10", "r11", "r12", "r13",
                                     "r14", "r15", "rdi", "rsi", "rbp", "rbx",
                                     "rdx", "rax", "rcx", "rsp", "rip" };
#define NAMES (sizeof(names) / sizeof(names[0]))

static void
copy_registers(struct last_words *w, const ucontext_t *c)
{
    for (unsigned i = 0; i < NAMES; i++) {
        w->registers[i] = (uint64_t)c->uc_mcontext.gregs[i];
    }
    w->ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
    w->sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
}

/* Who called a function that is none: the return address is on top. */
static uint64_t
caller(const struct last_words *w)
{
    uint64_t address;

    memcpy(&address, (const void *)(uintptr_t)w->sp, sizeof(address));
    return address;
}

#elif defined(__aarch64__)

static const char *const names[] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30"
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static void
copy_registers(struct last_words *w, const ucontext_t *c)
{
    for (unsigned i = 0; i < NAMES; i++) {
        w->registers[i] = c->uc_mcontext.regs[i];
    }
    w->ip = c->uc_mcontext.pc;
    w->sp = c->uc_mcontext.sp;
}

static uint64_t
caller(const struct last_words *w)
{
    return w->registers[30];
}

#else /* the walk alone */

static const char *const names[] = { NULL };
#define NAMES 0U

static void
copy_registers(struct last_words *w, const ucontext_t *c)
{
    (void)c;
    w->ip = w->sp = 0;
}

static uint64_t
caller(const struct last_words *w)
{
    (void)w;
    return 0;
}

#endif

const char *
last_words_register(unsigned i)
{
    return i < NAMES ? names[i] : NULL;
}

/* ---- the handler ---- */

struct walk {
    struct last_words *w;
    bool inside; /* of what was interrupted: behind the handler's frames */
};

static _Unwind_Reason_Code
on_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    struct last_words *w = walk->w;
    uint64_t ip = _Unwind_GetIP(context);
    uint32_t n = atomic_load(&w->count);

    if (!walk->inside) {
        walk->inside = ip == w->ip;
        return _URC_NO_REASON;
    }
    if (n == LAST_WORDS_FRAMES || ip == 0) {
        return _URC_END_OF_STACK;
    }
    w->frames[n] = ip;
    atomic_store(&w->count, n + 1);
    return _URC_NO_REASON;
}

static void
say(struct last_words *w, int number, const siginfo_t *info,
    const void *context)
{
    struct walk walk = { .w = w, .inside = NAMES == 0 };
    int none = 0;

    /* Of two threads that crash the first is heard. */
    if (!atomic_compare_exchange_strong(&w->signal, &none, number)) {
        return;
    }
    copy_registers(w, context);
    w->code = info->si_code;
    w->thread = gettid();
    w->sender = info->si_code <= 0 ? info->si_pid : 0;
    w->address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    _Unwind_Backtrace(on_frame, &walk);
    if (atomic_load(&w->count) == 0) {
        w->frames[0] = caller(w);
        atomic_store(&w->count, 1);
    }
    atomic_store(&w->whole, true);
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
last_words_listen(uint32_t slot)
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
    sigaction(last_words_signal(), &action, NULL);
}
