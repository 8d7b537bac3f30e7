/*
 * Shared memory: memfds mapped before the forks, and the list of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/shared.h"

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct region {
    struct list link;
    const char *name;
    void *memory;
    size_t size;
    size_t beside; /* bytes of a guard */
    enum shared_writers writers;
    int fd; /* owned; -1 in a child */
};

static struct list regions = { &regions, &regions };
static bool unsealed; /* the kernel has no seal against later writers */

/* No other size, no other seals, no other writers but who has it mapped. */
static int
seal(const struct region *r)
{
    if (fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == -1) {
        return -1;
    }
    if (r->writers != SHARED_ALL &&
        fcntl(r->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == -1) {
        unsealed = true;
    }
    return fcntl(r->fd, F_ADD_SEALS, F_SEAL_SEAL);
}

/* Neither in core dumps nor, where it is allowed, on a swap device. */
static void
keep_secret(const struct region *r)
{
    madvise(r->memory, r->size, MADV_DONTDUMP);
    mlock(r->memory, r->size);
}

#ifdef SHARED_GUARDS

/* On both sides of a region, so that an index gone wild reaches nothing: 2^32
 * times 2 KB for what is large, 256 bytes for the rest and for arrays of small
 * elements.  The arena's segments of 64 KB would want more than there are
 * addresses. */
static size_t
guard(size_t size, size_t element)
{
    bool is_large = size >= (size_t)16 << 20 && element > 256;

    return (size_t)(is_large ? 8 : 1) << 40;
}

#else

static size_t
guard(size_t size, size_t element)
{
    (void)size;
    (void)element;
    return 0;
}

#endif

/* The region's memory between its guards; MAP_FAILED. */
static void *
map_between_guards(const struct region *r)
{
    uint8_t *all = mmap(NULL, r->size + 2 * r->beside, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (all == MAP_FAILED) {
        return all;
    }
    return mmap(all + r->beside, r->size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE | MAP_FIXED, r->fd, 0);
}

static int
map(struct region *r)
{
    if (ftruncate(r->fd, (off_t)r->size) == -1) {
        return -1;
    }
    r->memory = map_between_guards(r);
    if (r->memory == MAP_FAILED) {
        return -1;
    }
    if (r->writers == SHARED_SECRET) {
        keep_secret(r);
    }
    return seal(r);
}

static void
drop(struct region *r)
{
    if (r->memory != NULL && r->memory != MAP_FAILED) {
        munmap((uint8_t *)r->memory - r->beside, r->size + 2 * r->beside);
    }
    if (r->fd != -1) {
        close(r->fd);
    }
    mem_free(&r);
}

void *
shared_create(const char *name, size_t size, enum shared_writers writers,
              struct errmsg *err)
{
    return shared_create_array(name, 1, size, writers, err);
}

void *
shared_create_array(const char *name, size_t count, size_t element,
                    enum shared_writers writers, struct errmsg *err)
{
    size_t size = count * element;
    struct region *r = mem_zero(sizeof(*r));

    r->name = name;
    r->size = size;
    r->beside = guard(size, element);
    r->writers = writers;
    r->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->fd == -1 || map(r) == -1) {
        errmsg_sys(err, "cannot make %zu bytes of shared memory for %s", size,
                   name);
        drop(r);
        return NULL;
    }
    list_append(&regions, &r->link);
    return r->memory;
}

void
shared_destroy(void *memory)
{
    LIST_EACH (node, &regions) {
        struct region *r = LIST_ITEM(node, struct region, link);

        if (memory != NULL && r->memory == memory) {
            list_remove(&r->link);
            drop(r);
            return;
        }
    }
    assert(memory == NULL);
}

bool
shared_empty(void *at, size_t size)
{
    return madvise(at, size, MADV_REMOVE) == 0;
}

/* In the place of the mapping that came with the fork. */
static int
map_for_reading(const struct region *r)
{
    if (mmap(r->memory, r->size, PROT_READ,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, r->fd, 0) == MAP_FAILED) {
        return -1;
    }
    if (r->writers == SHARED_SECRET) {
        madvise(r->memory, r->size, MADV_DONTDUMP);
    }
    return 0;
}

int
shared_enter_child(struct errmsg *err)
{
    LIST_EACH (node, &regions) {
        struct region *r = LIST_ITEM(node, struct region, link);

        if (r->writers != SHARED_ALL && map_for_reading(r) == -1) {
            return errmsg_sys(err, "cannot map %s for reading", r->name);
        }
        close(r->fd);
        r->fd = -1;
    }
    return 0;
}

bool
shared_is_sealed(void)
{
    return !unsealed;
}
