/*
 * Orders from standard input and from signals.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "console.h"

#include "common.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static volatile sig_atomic_t signalled;

static void
on_signal(int number)
{
    signalled = number;
}

void
console_open(struct console *c, bool control, int epoll)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct epoll_event event = { .events = EPOLLIN };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    *c = (struct console){ .open = control };
    if (!control) {
        return;
    }
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) == -1) {
        fatal("--control needs a pipe or a terminal on standard input");
    }
}

static enum order
read_line(struct console *c)
{
    c->line[c->size] = '\0';
    c->size = 0;
    if (strcmp(c->line, "reset") == 0) {
        return ORDER_RESET;
    }
    return strcmp(c->line, "stop") == 0 ? ORDER_STOP : ORDER_NONE;
}

enum order
console_read(struct console *c)
{
    char byte;
    ssize_t n;

    while ((n = read(STDIN_FILENO, &byte, 1)) == 1) {
        if (byte == '\n') {
            return read_line(c);
        }
        if (c->size < sizeof(c->line) - 1) {
            c->line[c->size++] = byte;
        }
    }
    return n == 0 ? ORDER_STOP : ORDER_NONE;
}

bool
console_signalled(void)
{
    return signalled != 0;
}

void
console_say(const char *line)
{
    puts(line);
    fflush(stdout);
}
