/*
 * Sends of the bare loop made by one system call (io_uring), as many at a
 * time as there is room for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SUBMISSION_H
#define BENCH_SUBMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBMISSION_ROOM 64

struct submission;

struct submission *submission_new(void); /* ends the program if it cannot */
void submission_free(struct submission **s);
/* A send without waiting; false: no room left behind it, flush now. */
bool submission_add(struct submission *s, int fd, const uint8_t *bytes,
                    size_t n, void *of);
/* Makes the sends and tells of each: bytes, or -errno. */
void submission_flush(struct submission *s,
                      void (*on_sent)(void *arg, void *of, int sent),
                      void *arg);

#endif
