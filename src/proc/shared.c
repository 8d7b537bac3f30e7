/*
 * Shared memory: a memfd mapped before the forks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/shared.h"

#include <sys/mman.h>
#include <unistd.h>

void *
shared_create(const char *name, size_t size, int *fd, struct errmsg *err)
{
    void *memory;

    *fd = memfd_create(name, MFD_CLOEXEC);
    if (*fd == -1) {
        errmsg_sys(err, "cannot make shared memory for %s", name);
        return NULL;
    }
    if (ftruncate(*fd, (off_t)size) == -1) {
        errmsg_sys(err, "cannot make %zu bytes of shared memory for %s", size,
                   name);
        goto fail;
    }
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, *fd, 0);
    if (memory != MAP_FAILED) {
        return memory;
    }
    errmsg_sys(err, "cannot map %zu bytes of shared memory for %s", size, name);
fail:
    close(*fd);
    *fd = -1;
    return NULL;
}

void
shared_destroy(void *memory, size_t size, int *fd)
{
    if (memory != NULL) {
        munmap(memory, size);
    }
    if (*fd != -1) {
        close(*fd);
        *fd = -1;
    }
}
