/*
 * Finds what lies at an address of code: the object, the place in it, the
 * function.
 *
 * All of weir's processes are forks of one: an address means the same in
 * each.  Reads the program's own file; for the master alone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SYMBOLS_H
#define PROC_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "weir+0x1234 (loop_turn+0x42)", "libc.so.6+0x99 (abort+0x12)", or "0x1234"
 * when nothing is known. before: address is a return address, and the call
 * before it is meant.  True when address is in the program itself; *offset is
 * then its place there. */
bool symbols_tell(uint64_t address, bool before, char *dst, size_t size,
                  uint64_t *offset);
/* The program's build id in hexadecimal digits; "" if it has none. */
void symbols_build_id(char *dst, size_t size);

#endif
