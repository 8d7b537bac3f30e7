/*
 * A child: one request, from its packet to its end.
 *
 * It waits for a packet, which the kernel gives to one of those that wait.  Its
 * descriptors (request.h) are then the child's: to one it says how it goes
 * on, to the others it writes the answer (output.h).
 *
 * It has limits of its own, says itself when its processor time is used up, and
 * ends when the zygote does or nobody wants the answer any more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_CHILD_H
#define MODULES_TTS_WEIR_SPEAKER_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct child_options {
    pid_t zygote;
    int taken;      /* pipe: its own number, once it has a request */
    unsigned rate;  /* Hz of the library's samples */
    int64_t memory; /* bytes of addresses; 0: any */
    int64_t cpu;    /* seconds of processor time; 0: any */
};

/* All of a child's life. */
void child_run(const struct child_options *o) __attribute__((noreturn));

#endif
