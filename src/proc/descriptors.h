/*
 * The descriptors that children of the master keep open.
 *
 * The list names the descriptors to keep, not those to close, so that a child
 * closes a descriptor that nobody thought of.  Code of the master that opens a
 * descriptor for children names it here; a child closes all others right after
 * its fork (life_fork()).  Memory that is mapped stays mapped without its
 * descriptor.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_DESCRIPTORS_H
#define PROC_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

/* Every child keeps fd / the child in that slot alone does. */
void descriptors_keep(int fd);
void descriptors_keep_for(uint32_t slot, int fd);
/* Closes fd, which children keep no longer. */
void descriptors_close(int fd);

/* Child: closes all but standard input, output and error, what is kept for
 * every child or for that slot, and the count descriptors in own. */
void descriptors_close_others(uint32_t slot, const int *own, size_t count);

/* Closes those from first to last, both of them too. */
void descriptors_close_range(unsigned first, unsigned last);
/* Closes first and all above it. */
void descriptors_close_from(unsigned first);

#endif
