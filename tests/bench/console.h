/*
 * How a run is steered: lines on standard input, signals, and time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_CONSOLE_H
#define BENCH_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

enum order { ORDER_NONE, ORDER_RESET, ORDER_STOP };

struct console {
    bool open; /* standard input is obeyed and has not ended */
    char line[64];
    size_t size;
};

/* Catches INT and TERM. With control, standard input is put into the epoll
 * set with a NULL pointer as its data. */
void console_open(struct console *c, bool control, int epoll);
/* Standard input is readable: what it says. */
enum order console_read(struct console *c);
/* A signal asked for the end. */
bool console_signalled(void);
/* Prints a line on standard output, at once. */
void console_say(const char *line);

#endif
