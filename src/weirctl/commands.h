/*
 * The commands of weir's control socket, from "weir -C" when weirctl is built:
 * for help without a server, and for completion.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WEIRCTL_COMMANDS_H
#define WEIRCTL_COMMANDS_H

struct command {
    const char *words;     /* "show sess"; NULL ends the table */
    const char *arguments; /* empty: none */
    const char *level;
    const char *help;
};

extern const struct command commands[]; /* build/commands.c */

#endif
