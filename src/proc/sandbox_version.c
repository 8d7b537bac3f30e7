/*
 * The kernel's version of Landlock.  The Makefile compiles this again with an
 * older one, for tests: what the kernel knows beyond that is not used.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef LANDLOCK_MOST
#define LANDLOCK_MOST 1000
#endif

int
sandbox_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);

    if (version > LANDLOCK_MOST) {
        return LANDLOCK_MOST;
    }
    return version > 0 ? (int)version : 0;
}
