/*
 * The log files of the master, which its two threads share: the drain thread of
 * proc/logring.c and the thread of the loop.
 *
 * The drain thread writes to files and closes those that are given up; the
 * thread of the loop does all else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_LOG_FILES_H
#define PROC_LOG_FILES_H

#include "base/buf.h"
#include "proc/logring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum file_state {
    FILE_FREE,
    FILE_OPEN,
    FILE_CLOSING, /* the thread closes it when nothing is left to write */
};

struct log_file {
    _Atomic int state; /* enum file_state; changed under `table` */
    char *path;        /* owned; read and changed under `table` */
    int fd;            /* owned; -1: closed */
    _Atomic bool regular;
    /* The thread's: */
    struct buf pending; /* PENDING_MAX, allocated by logring_open() */
    uint64_t lost;      /* lines, not yet told */
    int error;          /* errno of the last write; 0: it was fine */
    bool told;          /* that it cannot be written */
    bool stalled;
};

struct log_files {
    struct log_file at[LOGRING_FILES];
    _Atomic unsigned count; /* free ones included */
    pthread_mutex_t table;  /* held for a moment only */
};
extern struct log_files log_files;

void log_files_destroy(void); /* the thread is gone */

/* ---- the drain thread's ---- */

/* Writes pending bytes, as many as the file takes. */
void log_file_flush(struct log_file *f);
/* Flushes all files; returns whether any of them takes nothing now. */
bool log_files_flush(void);
/* Logs once that a file cannot be written, and how much it lost when it can be
 * written again.  Returns whether there was something to log. */
bool log_file_report(struct log_file *f);
/* The files that are being given up, a bit each. */
uint64_t log_files_given_up(void);
/* Closes those of them that have nothing left to write.  The caller has found
 * the rings empty since they were given up. */
void log_files_close(uint64_t given_up);

#endif
