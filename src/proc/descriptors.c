/*
 * A table of descriptors, by number, with the slot whose child keeps each.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/descriptors.h"

#include <assert.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define NOBODY 0
#define EVERYBODY UINT32_MAX /* else: slot + 1 */
#define FEW 65536            /* descriptors that there may be, at least */

static struct {
    uint32_t *keepers; /* owned */
    size_t count;
} kept;

/* ---- the list ---- */

static void
note(int fd, uint32_t keeper)
{
    size_t needed = (size_t)fd + 1;

    assert(fd >= 0);
    if (needed > kept.count) {
        size_t count = 2 * needed;

        kept.keepers = mem_resize(kept.keepers, count * sizeof(*kept.keepers));
        for (size_t i = kept.count; i < count; i++) {
            kept.keepers[i] = NOBODY;
        }
        kept.count = count;
    }
    kept.keepers[fd] = keeper;
}

void
descriptors_keep(int fd)
{
    note(fd, EVERYBODY);
}

void
descriptors_keep_for(uint32_t slot, int fd)
{
    note(fd, slot + 1);
}

void
descriptors_close(int fd)
{
    if ((size_t)fd < kept.count) {
        kept.keepers[fd] = NOBODY;
    }
    close(fd);
}

/* ---- closing ---- */

static int
close_by_range(unsigned first, unsigned last)
{
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, first, last, 0);
#else
    (void)first;
    (void)last;
    return -1;
#endif
}

void
descriptors_close_range(unsigned first, unsigned last)
{
    struct rlimit limit = { .rlim_cur = FEW };

    if (first > last || close_by_range(first, last) == 0) {
        return;
    }
    /* A kernel without that call: one by one. */
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t fd = first; fd <= last && fd < limit.rlim_cur; fd++) {
        close((int)fd);
    }
}

void
descriptors_close_others(uint32_t slot, const int *own, size_t count)
{
    unsigned first = STDERR_FILENO + 1;

    for (size_t i = 0; i < count; i++) {
        descriptors_keep_for(slot, own[i]);
    }
    for (unsigned fd = first; fd < kept.count; fd++) {
        if (kept.keepers[fd] == EVERYBODY || kept.keepers[fd] == slot + 1) {
            descriptors_close_range(first, fd - 1);
            first = fd + 1;
        }
    }
    descriptors_close_range(first, UINT_MAX);
}

void
descriptors_close_from(unsigned first)
{
    descriptors_close_range(first, UINT_MAX);
}
