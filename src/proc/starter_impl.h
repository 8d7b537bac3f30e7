/*
 * The parts of the starter.
 *
 *   starter_serve.c    its process
 *   starter_rights.c   its rights
 *   starter_execute.c  from its fork to the program
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_STARTER_IMPL_H
#define PROC_STARTER_IMPL_H

#include "proc/cgroup.h"
#include "proc/starter_wire.h"

/* The starter, right after its fork: serves the role at the other end of the
 * socket until that is gone, ends all runs and exits. */
void starter_serve(const struct starter_options *o, const struct cgroup *cgroup,
                   int socket) __attribute__((noreturn));

/* Adds rights as wide as those of programs, which inherit them, and what it
 * needs itself.  Paths are the pool's, or borrowed. */
struct pool;
void starter_rights(struct rights *r, const struct rights *programs,
                    const struct cgroup *cgroup, struct pool *pool);

/* A process that the starter has forked: becomes the program.  passed: the
 * descriptors of r, in order.  If it cannot, it writes why to report, which is
 * closed on exec, and exits. */
void starter_execute(const struct starter_options *o,
                     const struct starter_request *r, const int *passed,
                     int report) __attribute__((noreturn));

#endif
