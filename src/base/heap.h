/*
 * Giving memory that was freed back to the system.
 *
 * The C library keeps freed memory that lies between allocations in use, and
 * thousands of connections that end at once leave many such holes.  A process
 * that serves therefore looks at its heap now and then.  When much less is in
 * use than the process has touched, it gives the whole free pages back.  That
 * takes about 0.13 ms a megabyte.  Memory that is used again within a second is
 * not given back.  A piece of HEAP_LARGE bytes or more never lies in the heap:
 * the system has it back as soon as it is freed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>

#define HEAP_LARGE (256 * 1024)
#define HEAP_LOOK_MS 250 /* how often heap_look() wants to be called */

/* Once, before anything large is allocated. */
void heap_tune(void);
/* Gives back free pages when there are enough of them; false: nothing was given
 * back. */
bool heap_look(void);

#endif
