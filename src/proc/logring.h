/*
 * Log lines on their way to files: a bounded ring for each slot, which one
 * thread of the master empties.  The rings of children lie in shared memory,
 * which any child can write to; the master's own ring does not.
 *
 * Writers never wait: a line that does not fit is dropped and counted
 * (slot->log_dropped), and the drain thread reports it in the error log: "N log
 * lines were dropped (FILE)".  When a file cannot be written (a full disk), the
 * drain thread logs that once, with the reason.  The lines of a process killed
 * by -9 are still written, except one that it had not finished.  Only the
 * master opens log files, so workers need no right to write anywhere, and USR1
 * is the master's alone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_LOGRING_H
#define PROC_LOGRING_H

#include "base/errmsg.h"
#include "base/str.h"

#define LOGRING_FILES 64    /* log files at most; 0 is the error log */
#define LOGRING_SIZE 262144 /* bytes a slot, touched lazily */

/* Master, before any fork and after slots_create(). */
int logring_create(struct errmsg *err);
/* Opens a file for appending ("stderr" and "stdout" as well); its number, or
 * -1 with err.  The first is the error log, number 0; after that the same path
 * twice gives the same number, which is never 0. */
int logring_open(struct str path, struct errmsg *err);
/* Whether logring_open() could open path: 0, or -1 with err.  Makes no file. */
int logring_try(const char *path, struct errmsg *err);
/* The error log, with the lines that wait, goes to another file from now on. -1
 * with err: it stays where it was. */
int logring_move(struct str path, struct errmsg *err);
/* Nobody writes to this file any more (never 0; a file that is not open is
 * fine).  The drain thread closes it when all its lines are written; then
 * another file may get its number. */
void logring_close(int file);
int logring_reopen(struct errmsg *err); /* USR1 */
/* Starts the drain thread (master) / stops it when all lines are written (waits
 * at most 1 s for a stalled file). */
int logring_start(struct errmsg *err);
void logring_stop(void);
void logring_destroy(void); /* after logring_stop(); closes the files */

/* Any process, any thread: a whole line with its newline, 64 KB at most.
 * Control characters in it become '?', its last byte a newline. */
void logring_write(int file, const char *line, size_t len);
/* The error log, for log_set_sink(). */
void logring_sink(void *arg, const char *line, size_t len);

#endif
