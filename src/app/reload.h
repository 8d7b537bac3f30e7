/*
 * Putting another configuration in force while weir runs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_RELOAD_H
#define APP_RELOAD_H

#include <stdbool.h>

struct master;

/* Told once, in a later turn; text: one or more lines. */
typedef void reload_done(void *arg, bool ok, const char *text);

void reload_ask(struct master *m, reload_done *done, void *arg);

/* Checks the file as a reload would; 0 or -1, text for mem_free(). */
int reload_test(struct master *m, char **text);

#endif
