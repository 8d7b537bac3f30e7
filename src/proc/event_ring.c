/*
 * A ring of records with a state word each: the record's number, whether it is
 * being written, and by whom.  A writer that finds a place to which another
 * process still writes, a whole round later, gives way, unless that process is
 * dead.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/event_ring.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/shared.h"

struct place {
    _Alignas(64) _Atomic uint64_t state;
    int64_t wall_ms;
    uint32_t tag;
    int32_t pid;
    _Atomic uint32_t len;
    char text[RECENT_TEXT];
};

struct head {
    _Alignas(64) _Atomic uint64_t last; /* number drawn last */
    struct place places[];
};

struct recent {
    struct head *head; /* shared */
    uint32_t count;
    uint64_t cleared; /* for this process this one and older are forgotten */
};

struct recent *
recent_create(const char *name, uint32_t count, struct errmsg *err)
{
    struct recent *r = mem_zero(sizeof(*r));

    r->count = count;
    r->head =
        shared_create(name, sizeof(struct head) + count * sizeof(struct place),
                      SHARED_ALL, err);
    if (r->head == NULL) {
        mem_free(&r);
    }
    return r;
}

void
recent_destroy(struct recent **r)
{
    if (*r != NULL) {
        shared_destroy((*r)->head);
        mem_free(r);
    }
}

/* ---- the state of a place ---- */

#define PID_BITS 23                       /* more than Linux gives */
#define WALL_MAX INT64_C(253402300800000) /* the end of the year 9999 */

static uint64_t
state_of(uint64_t n, pid_t writer)
{
    uint64_t pid = (uint64_t)writer & ((UINT64_C(1) << PID_BITS) - 1);

    return n << PID_BITS | pid;
}

/* The process that writes to it; 0: it is whole, or empty. */
static pid_t
writer_of(uint64_t state)
{
    return (pid_t)(state & ((UINT64_C(1) << PID_BITS) - 1));
}

static bool
is_free(uint64_t state)
{
    pid_t writer = writer_of(state);

    return writer == 0 || (kill(writer, 0) == -1 && errno == ESRCH);
}

/* ---- writing ---- */

/* A number that is still to come, nobody has drawn: somebody has written over
 * it, or over the number that was drawn last. */
static bool
is_older(struct recent *r, uint64_t state, uint64_t n)
{
    uint64_t number = state >> PID_BITS;

    return number < n || number > atomic_load(&r->head->last);
}

/* Takes the place for record n, which is newer than what is there. */
static bool
begin(struct recent *r, struct place *p, uint64_t n)
{
    uint64_t state = atomic_load(&p->state);

    return is_older(r, state, n) && is_free(state) &&
           atomic_compare_exchange_strong(&p->state, &state,
                                          state_of(n, getpid()));
}

void
recent_put(struct recent *r, uint32_t tag, struct str text)
{
    if (r == NULL) {
        return;
    }
    uint64_t n = atomic_fetch_add(&r->head->last, 1) + 1;
    struct place *p = &r->head->places[n % r->count];
    if (!begin(r, p, n)) {
        return;
    }
    text = str_first(text, RECENT_TEXT);
    p->wall_ms = clock_wall_ms();
    p->tag = tag;
    p->pid = (int32_t)getpid();
    atomic_store_explicit(&p->len, (uint32_t)text.len, memory_order_relaxed);
    memcpy(p->text, text.ptr, text.len);
    atomic_store(&p->state, state_of(n, 0));
}

/* ---- reading ---- */

static bool
copy(struct place *p, uint64_t n, struct recent_record *out)
{
    uint32_t len;

    if (atomic_load(&p->state) != state_of(n, 0)) {
        return false;
    }
    out->number = n;
    out->wall_ms = p->wall_ms > 0 && p->wall_ms < WALL_MAX ? p->wall_ms : 0;
    out->tag = p->tag;
    out->pid = p->pid;
    len = atomic_load_explicit(&p->len, memory_order_relaxed);
    out->len = len < RECENT_TEXT ? len : RECENT_TEXT;
    memcpy(out->text, p->text, out->len);
    out->text[out->len] = '\0';
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&p->state) == state_of(n, 0);
}

bool
recent_next(struct recent *r, uint64_t after, struct recent_record *out)
{
    uint64_t last = recent_last(r);

    if (last == 0) {
        return false;
    }
    after = after > r->cleared ? after : r->cleared;
    if (after >= last) {
        return false; /* so the loop ends, whatever last is */
    }
    if (last > r->count && after < last - r->count) {
        after = last - r->count;
    }
    for (uint64_t n = after; n < last; n++) {
        if (copy(&r->head->places[(n + 1) % r->count], n + 1, out)) {
            return true;
        }
    }
    return false;
}

uint64_t
recent_last(struct recent *r)
{
    return r != NULL ? atomic_load(&r->head->last) : 0;
}

void
recent_clear(struct recent *r)
{
    if (r != NULL) {
        r->cleared = recent_last(r);
    }
}
