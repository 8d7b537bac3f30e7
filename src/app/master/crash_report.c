/*
 * Formatting last words: what happened, the way there, and how to get files
 * and lines of it.  A child wrote them: they are bounded, and nothing in them
 * is used but to be told.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/crash_report.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/crash_dump.h"
#include "proc/symbols.h"

#define LINE 1500 /* of the places for addr2line */

struct report {
    struct crash_dump w;
    char who[CHILD_NAME + 24]; /* "worker 0 (pid 12)" */
    char places[LINE];         /* " 0x12 0x34", of our own code */
    size_t len;
};

static void
tell_what(const struct report *r)
{
    const struct crash_dump *w = &r->w;
    char cause[64] = "";

    if (w->signal == crash_dump_signal()) {
        log_crit("%s made no turn of its loop; it was in:", r->who);
        return;
    }
    if (w->sender != 0 && w->sender != w->thread) {
        snprintf(cause, sizeof(cause), ", sent by process %d", (int)w->sender);
    } else if (w->code > 0) {
        snprintf(cause, sizeof(cause), ", address 0x%llx",
                 (unsigned long long)w->address);
    }
    log_crit("%s crashed: signal %d (%s)%s, in thread %d, stack pointer "
             "0x%llx",
             r->who, w->signal, strsignal(w->signal), cause, (int)w->thread,
             (unsigned long long)w->sp);
}

static void
tell_frame(struct report *r, unsigned number, uint64_t address)
{
    char place[256];
    uint64_t offset;

    if (symbols_tell(address, number > 0, place, sizeof(place), &offset)) {
        int n = snprintf(r->places + r->len, sizeof(r->places) - r->len,
                         " 0x%llx", (unsigned long long)offset);

        if (n > 0 && (size_t)n < sizeof(r->places) - r->len) {
            r->len += (size_t)n;
        }
    }
    log_crit("%s #%u %s", r->who, number, place);
}

static void
tell_lines(const struct report *r)
{
    char program[PATH_MAX], id[80];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    symbols_build_id(id, sizeof(id));
    program[n > 0 ? n : 0] = '\0';
    if (r->len > 0) {
        log_crit("%s build id %s; for files and lines: addr2line -pfie "
                 "%.300s%.*s",
                 r->who, id, program, (int)r->len, r->places);
    }
}

bool
crash_report(const struct child *c)
{
    struct report r = { .len = 0 };
    char name[CHILD_NAME];

    if (!crash_dump_read(c->slot, &r.w)) {
        return false;
    }
    snprintf(r.who, sizeof(r.who), "%s (pid %d)", child_name(c, name),
             (int)c->pid);
    tell_what(&r);
    tell_frame(&r, 0, r.w.ip);
    for (uint32_t i = 0; i < r.w.count; i++) {
        tell_frame(&r, i + 1, r.w.frames[i]);
    }
    tell_lines(&r);
    crash_dump_forget(c->slot);
    return true;
}
