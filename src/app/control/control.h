/*
 * The control socket: a unix stream socket of the master, by which operators
 * and programs inspect and command weir.
 *
 * A command is a line; its answer is lines of text, or one JSON document when
 * the command ends with --json, and then an empty line, which no answer holds.
 * An answer that begins with "ERR CODE " is a failure.  Several commands may
 * stand on a line with ";" between them.
 *
 * No client can hold the master up: lines, clients, answers and time are
 * bounded, and a client that does not read its answer is dropped.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CONTROL_CONTROL_H
#define APP_CONTROL_CONTROL_H

#include <stdio.h>

#include "app/control/verb.h"
#include "app/master/master.h"
#include "app/module.h"
#include "base/buf.h"

/* For master_run(). */
extern const struct master_socket control_for_master;

/* ---- the table of commands ---- */

/* Lines for those whose words begin with prefix; returns how many. */
size_t control_help(struct buf *out, struct str prefix);
/* weir -C: a line for each: words, arguments, level, help. */
void control_print_commands(FILE *out);

/* For module_check_table(). */
extern const struct own_names control_own_names;

#define CONTROL_LINE_MAX 8192 /* bytes of a line */

#endif
