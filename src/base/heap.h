/*
 * Giving memory that was freed back to the system.
 *
 * The C library keeps what is freed between things that live on, and thousands
 * of connections that end at once leave nothing but such places.  So a process
 * that serves looks at its heap now and then and, when it holds much less than
 * it has touched, gives the whole free pages back.  That takes about 0.13 ms a
 * megabyte.  Memory that is used again within a second is not given back; a
 * piece of HEAP_LARGE bytes or more never lies in the heap and goes when it is
 * freed.
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
/* Gives back what is worth it; false: nothing. */
bool heap_look(void);

#endif
